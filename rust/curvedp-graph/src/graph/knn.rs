//! Exact k nearest neighbours on every manifold.
//!
//! Neighbours are sought among the images of an [`Embedding`](curvedp_core::manifold::Embedding), with room for rounding,
//! and chosen by their true distance: the result is that of comparing all distances, ties going to the
//! smaller index.

use std::ops::Range;
use std::sync::OnceLock;

use super::brute;
use super::candidates::{Best, Closest, ROUNDING, Refined};
use super::csr::Csr;
use super::edges::Graph;
use super::embedding::{Embedded, Embedder};
use super::kd_tree::KdTree;
use super::nodes::Nodes;
use curvedp_core::batch;
use curvedp_core::error::Error;
use curvedp_core::parallel::{Interrupt, map};
use curvedp_core::rows::Rows;
use curvedp_core::simd::vectorize;

/// Queries handled together.
const TOGETHER: usize = 128;

/// Queries whose results wait to be put in their places, in pieces.
const WAITING: usize = 256;

/// Queries whose images are compared with those of all nodes, which takes less than making a tree.
const FEW: usize = 4;

/// True if comparing many queries with all nodes in single precision takes less than a tree.
fn blocks_pay(dim: usize, count: usize) -> bool {
    dim > 8 && dim + 8 > count.ilog2() as usize
}

/// The k nearest neighbours of every query, nearest first: rows of `k` entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// Neighbours of a query.
    pub k: usize,
    /// Indices of nodes.
    pub indices: Vec<u32>,
    /// Geodesic distances.
    pub dists: Vec<f64>,
}

impl Neighbours {
    /// The edges between nodes of which one is a neighbour of the other.
    pub fn graph(&self) -> Graph {
        let k = self.k;
        let edge = |e: usize| {
            let (i, j) = ((e / k) as u32, self.indices[e]);
            (i.min(j), i.max(j), e)
        };
        // where both directions occur the two distances may differ in the last place
        let mut edges: Vec<(u32, u32, usize)> = (0..self.indices.len()).map(edge).collect();
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.0, edge.1));
        let triples = edges.iter().map(|&(i, j, e)| (i, j, self.dists[e]));
        Graph::new(Csr::symmetric(self.indices.len() / k, triples))
    }
}

/// The k nearest other nodes of every node.
pub fn neighbours(nodes: &Nodes, k: usize, interrupt: Interrupt) -> Result<Neighbours, Error> {
    search(nodes, None, nodes.count, k, interrupt)
}

/// The k nodes nearest to every query.
pub fn nearest(
    nodes: &Nodes,
    (queries, count): (Rows, usize),
    k: usize,
    interrupt: Interrupt,
) -> Result<Neighbours, Error> {
    search(nodes, Some(queries), count, k, interrupt)
}

fn search(
    nodes: &Nodes,
    queries: Option<Rows>,
    count: usize,
    k: usize,
    interrupt: Interrupt,
) -> Result<Neighbours, Error> {
    let available = nodes.count - usize::from(queries.is_none() && nodes.count > 0);
    if k == 0 || k > available {
        let allowed = "at least 1 and at most the number of nodes to choose from";
        return Err(Error::Parameter { name: "k", allowed, value: k as f64 });
    }
    if nodes.count > u32::MAX as usize / 2 {
        let allowed = "below 2^31";
        return Err(Error::Parameter { name: "nodes", allowed, value: nodes.count as f64 });
    }
    let job = Job::new(nodes, queries, k, available, interrupt)?;
    let mut result = Neighbours { k, indices: vec![0; count * k], dists: vec![0.0; count * k] };
    for first in (0..count).step_by(WAITING * TOGETHER) {
        let part = WAITING.min((count - first).div_ceil(TOGETHER));
        let pieces = map(part, interrupt, |i| {
            let start = first + i * TOGETHER;
            job.piece(start..(start + TOGETHER).min(count))
        })?;
        for (position, row) in (first..).zip(pieces.iter().flat_map(|found| found.chunks_exact(k)))
        {
            let query = job.query(position) * k;
            for (e, &(dist, node)) in row.iter().enumerate() {
                // a query that is no point may be near to nothing
                let known = (node as usize) < nodes.count;
                result.indices[query + e] = if known { node } else { 0 };
                result.dists[query + e] = if known { dist } else { f64::NAN };
            }
        }
    }
    Ok(result)
}

/// Appends rows of `size` entries.
fn push_rows<'a>(size: usize, rows: impl Iterator<Item = &'a [f64]>, out: &mut Vec<f64>) {
    /// Rows of a length that the compiler knows need no call each.
    fn short<'a, const N: usize>(rows: impl Iterator<Item = &'a [f64]>, out: &mut Vec<f64>) {
        for row in rows.filter_map(|row| row.first_chunk::<N>()) {
            out.extend_from_slice(row);
        }
    }
    match size {
        2 => short::<2>(rows, out),
        3 => short::<3>(rows, out),
        4 => short::<4>(rows, out),
        _ => rows.for_each(|row| out.extend_from_slice(row)),
    }
}

/// Search structure for candidates.
enum Index {
    Tree(KdTree),
    /// In single precision; a tree, made when it is first needed, for queries whose neighbours that does
    /// not tell apart.
    Blocks(brute::Blocks, OnceLock<KdTree>),
    /// None: images are compared one by one.
    Scan,
    /// None, nor images.
    Distances,
}

struct Job<'a> {
    nodes: Nodes<'a>,
    queries: Option<Rows<'a>>,
    k: usize,
    available: usize,
    embedder: Option<Embedder<'a>>,
    images: Embedded,
    slack: f64,
    query_images: Option<Embedded>,
    index: Index,
}

impl<'a> Job<'a> {
    fn new(
        nodes: &Nodes<'a>,
        queries: Option<Rows<'a>>,
        k: usize,
        available: usize,
        interrupt: Interrupt,
    ) -> Result<Self, Error> {
        let nodes = *nodes;
        let is_few = queries.is_some_and(|queries| queries.data().len() <= FEW * queries.size());
        let embedder = Embedder::new(&nodes);
        let mut images = Embedded { dim: 1, coords: Vec::new() };
        let (mut slack, mut query_images) = (0.0, None);
        let mut index = Index::Distances;
        if let Some(embedder) = &embedder {
            images = embedder.embed(nodes.points, nodes.count, interrupt)?;
            images.check()?;
            slack = embedder.slack(&images);
            query_images = match queries {
                None => None,
                Some(queries) => {
                    let count = queries.data().len() / queries.size();
                    Some(embedder.embed(queries, count, interrupt)?)
                }
            };
            index = if embedder.exact && is_few {
                Index::Scan
            } else if !embedder.exact || !blocks_pay(images.dim, nodes.count) {
                Index::Tree(KdTree::new(images.dim, &images.coords))
            } else {
                let queries = query_images.as_ref().map(|images: &Embedded| &images.coords[..]);
                let blocks = brute::Blocks::new(images.dim, &images.coords, queries);
                Index::Blocks(blocks, OnceLock::new())
            };
        }
        Ok(Self { nodes, queries, k, available, embedder, images, slack, query_images, index })
    }

    /// The query at a position in the order of work: near ones follow each other.
    fn query(&self, position: usize) -> usize {
        match &self.index {
            Index::Tree(tree) if self.queries.is_none() => tree.order[position] as usize,
            _ => position,
        }
    }

    fn query_point(&self, query: usize) -> &'a [f64] {
        self.queries.unwrap_or(self.nodes.points).row(query)
    }

    fn image(&self, query: usize) -> &[f64] {
        let images = self.query_images.as_ref().unwrap_or(&self.images);
        &images.coords[query * images.dim..][..images.dim]
    }

    /// The node that is no neighbour of a query: itself.
    fn excluded(&self, query: usize) -> u32 {
        if self.queries.is_none() { query as u32 } else { u32::MAX }
    }

    fn piece(&self, positions: Range<usize>) -> Vec<(f64, u32)> {
        match (&self.index, &self.embedder) {
            (Index::Tree(tree), Some(embedder)) if !embedder.exact => self.refine(tree, positions),
            (Index::Tree(_) | Index::Blocks(..) | Index::Scan, _) => self.filter(positions),
            (Index::Distances, _) => self.compare_all(positions),
        }
    }

    /// Images order distances: candidates by image, then the true distance of all that rounding could
    /// have misplaced.
    fn filter(&self, positions: Range<usize>) -> Vec<(f64, u32)> {
        let room = self.k + 1;
        let mut keys = vec![f64::INFINITY; room * positions.len()];
        let mut nodes = vec![u32::MAX; room * positions.len()];
        let rows = keys.chunks_exact_mut(room).zip(nodes.chunks_exact_mut(room));
        let mut lists: Vec<Closest> = positions
            .clone()
            .zip(rows)
            .map(|(p, (keys, nodes))| Closest {
                keys,
                nodes,
                excluded: self.excluded(self.query(p)),
            })
            .collect();
        self.collect(positions.clone(), &mut lists);
        let (slack, rounding) = match &self.index {
            Index::Blocks(blocks, _) => (self.slack * blocks.unit, blocks.rounding),
            _ => (self.slack, 0.0),
        };
        // where the list does not tell, another one
        let ends: Vec<Result<usize, Vec<u32>>> = lists
            .iter()
            .zip(positions.clone())
            .map(|(list, p)| self.settled(list, slack, rounding).ok_or_else(|| self.longer(p)))
            .collect();
        let candidates: Vec<&[u32]> = lists
            .iter()
            .zip(&ends)
            .map(|(list, end)| match end {
                Ok(end) => &list.nodes[..*end],
                Err(longer) => longer,
            })
            .collect();
        self.choose(&candidates, positions)
    }

    /// All candidates that may be among the k nearest of a query for which k + 1 do not tell.
    fn longer(&self, position: usize) -> Vec<u32> {
        let excluded = self.excluded(self.query(position));
        let mut room = self.k + 1;
        loop {
            room = (2 * room).min(self.available);
            let (mut keys, mut nodes) = (vec![f64::INFINITY; room], vec![u32::MAX; room]);
            let mut list = Closest { keys: &mut keys, nodes: &mut nodes, excluded };
            self.search_images(position..position + 1, std::slice::from_mut(&mut list));
            if let Some(end) = self.settled(&list, self.slack, 0.0) {
                nodes.truncate(end);
                return nodes;
            }
        }
    }

    /// Number of candidates that may be among the k nearest; none if the list is too short to say.
    fn settled(&self, list: &Closest, slack: f64, rounding: f64) -> Option<usize> {
        let reach = list.keys[self.k - 1].max(0.0).sqrt() * (1.0 + ROUNDING) + 2.0 * slack;
        let limit = reach * reach + rounding;
        let end = list.keys.partition_point(|&key| key <= limit && key < f64::INFINITY);
        (end < list.keys.len() || list.keys.len() >= self.available).then_some(end)
    }

    fn collect(&self, positions: Range<usize>, lists: &mut [Closest]) {
        match &self.index {
            Index::Blocks(blocks, _) => {
                let images = self.query_images.as_ref().unwrap_or(&self.images);
                let rows = positions.start * images.dim..positions.end * images.dim;
                blocks.collect(&images.coords[rows], lists);
            }
            _ => self.search_images(positions, lists),
        }
    }

    fn search_images(&self, positions: Range<usize>, lists: &mut [Closest]) {
        let (tree, ordered) = match &self.index {
            Index::Tree(tree) => (tree, self.queries.is_none()),
            Index::Blocks(_, tree) => {
                let Embedded { dim, coords } = &self.images;
                (tree.get_or_init(|| KdTree::new(*dim, coords)), false)
            }
            Index::Scan => return self.scan(positions, lists),
            Index::Distances => return,
        };
        let mut stack = Vec::new();
        vectorize(
            #[inline(always)]
            || {
                for (position, list) in positions.zip(lists) {
                    let own = ordered.then(|| tree.leaf_of(position));
                    tree.search(self.image(self.query(position)), own, list, &mut stack);
                }
            },
        );
    }

    fn scan(&self, positions: Range<usize>, lists: &mut [Closest]) {
        for (position, list) in positions.zip(lists) {
            let image = self.image(self.query(position));
            for (node, row) in self.images.coords.chunks_exact(self.images.dim).enumerate() {
                let squared = row.iter().zip(image).map(|(x, y)| (x - y) * (x - y)).sum();
                list.insert(squared, node as u32);
            }
        }
    }

    /// True distances of all candidates, and the k least of each query.
    fn choose(&self, candidates: &[&[u32]], positions: Range<usize>) -> Vec<(f64, u32)> {
        let size = self.nodes.points.size();
        let total = candidates.iter().map(|nodes| nodes.len()).sum();
        let (mut from, mut to) = (Vec::new(), Vec::new());
        from.reserve(total * size);
        to.reserve(total * size);
        for (nodes, position) in candidates.iter().zip(positions) {
            let query = self.query_point(self.query(position));
            let rows = nodes.iter().map(|&node| self.nodes.points.row(node as usize));
            push_rows(size, std::iter::repeat_n(query, nodes.len()), &mut from);
            push_rows(size, rows, &mut to);
        }
        let mut dists = vec![0.0; total];
        self.nodes.manifold.dist(Rows::new(&from, size), Rows::new(&to, size), &mut dists);
        let mut chosen = Vec::with_capacity(candidates.len() * self.k);
        let mut rest = dists.as_slice();
        let mut row: Vec<(f64, u32)> = Vec::new();
        for nodes in candidates {
            row.clear();
            row.extend(rest.iter().copied().zip(nodes.iter().copied()));
            row.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            row.resize(self.k, (f64::NAN, u32::MAX));
            chosen.extend_from_slice(&row);
            rest = &rest[nodes.len()..];
        }
        chosen
    }

    /// Images bound distances below: the true distance of whatever the bound does not exclude.
    fn refine(&self, tree: &KdTree, positions: Range<usize>) -> Vec<(f64, u32)> {
        let mut chosen = Vec::with_capacity(positions.len() * self.k);
        let mut stack = Vec::new();
        for position in positions {
            let query = self.query(position);
            let mut list = Refined {
                nodes: &self.nodes,
                query: self.query_point(query),
                slack: self.slack,
                best: Best::new(self.k, self.excluded(query)),
                gathered: Vec::new(),
            };
            let own = self.queries.is_none().then(|| tree.leaf_of(position));
            tree.search(self.image(query), own, &mut list, &mut stack);
            chosen.extend_from_slice(&list.best.list);
        }
        chosen
    }

    fn compare_all(&self, positions: Range<usize>) -> Vec<(f64, u32)> {
        let rows = batch::piece_rows(self.nodes.points.size());
        let mut chosen = Vec::with_capacity(positions.len() * self.k);
        let mut dists = vec![0.0; rows];
        for query in positions {
            let mut best = Best::new(self.k, self.excluded(query));
            let base = Rows::shared(self.query_point(query));
            for start in (0..self.nodes.count).step_by(rows) {
                let end = (start + rows).min(self.nodes.count);
                let dists = &mut dists[..end - start];
                self.nodes.manifold.dist(base, self.nodes.points.range(start..end), dists);
                for (e, &dist) in dists.iter().enumerate() {
                    best.insert(dist, (start + e) as u32);
                }
            }
            chosen.extend_from_slice(&best.list);
        }
        chosen
    }
}
