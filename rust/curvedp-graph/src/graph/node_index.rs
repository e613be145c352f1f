//! The node nearest to one point at a time.

use super::candidates::{Best, Refined};
use super::embedding::{Embedded, Embedder};
use super::kd_tree::{Candidates, KdTree, LEAF};
use super::nodes::{Nodes, tree_pays};
use curvedp_core::error::Error;
use curvedp_core::parallel::Interrupt;
use curvedp_core::rows::Rows;
use curvedp_core::simd::lanes::lane_sums;
use curvedp_core::simd::vectorize;

/// Nodes ready to be asked for the nearest to a point. Of nodes that rounding cannot tell apart any may
/// be the answer.
pub struct NodeIndex<'a> {
    nodes: Nodes<'a>,
    search: Search<'a>,
}

enum Search<'a> {
    /// In a tree of images, with room for rounding.
    Tree(Embedder<'a>, KdTree, f64),
    /// Among all images.
    Images(Embedder<'a>, Embedded),
    /// Among all nodes.
    Distances,
}

impl<'a> NodeIndex<'a> {
    /// # Errors
    /// [`Error::Parameter`] for nodes that are not finite, [`Error::Interrupted`].
    pub fn new(nodes: &Nodes<'a>, interrupt: Interrupt) -> Result<Self, Error> {
        let mut search = Search::Distances;
        if let Some(embedder) = Embedder::new(nodes) {
            let images = embedder.embed(nodes.points, nodes.count, interrupt)?;
            images.check()?;
            if tree_pays(images.dim, nodes.count) || !embedder.exact {
                let slack = embedder.slack(&images);
                search = Search::Tree(embedder, KdTree::new(images.dim, &images.coords), slack);
            } else {
                search = Search::Images(embedder, images);
            }
        }
        Ok(Self { nodes: *nodes, search })
    }

    /// The node nearest to a point; 0 if it is no point. `stack` is scratch.
    pub fn nearest(&self, point: &[f64], stack: &mut Vec<(u32, f64)>) -> usize {
        let Nodes { manifold, points, count } = self.nodes;
        let found = match &self.search {
            Search::Tree(embedder, tree, slack) => {
                let image = embedder.image(point);
                if embedder.exact {
                    let mut closest = One { key: f64::INFINITY, node: u32::MAX };
                    vectorize(
                        #[inline(always)]
                        || tree.search(&image, None, &mut closest, stack),
                    );
                    closest.node
                } else {
                    let best = Best::new(1, u32::MAX);
                    let (nodes, query) = (&self.nodes, point);
                    let gathered = Vec::new();
                    let mut list = Refined { nodes, query, slack: *slack, best, gathered };
                    tree.search(&image, None, &mut list, stack);
                    list.best.list[0].1
                }
            }
            Search::Images(embedder, images) => {
                let image = embedder.image(point);
                vectorize(
                    #[inline(always)]
                    || nearest_image(images, &image),
                )
            }
            Search::Distances => {
                let mut dists = vec![0.0; count];
                manifold.dist(Rows::shared(point), points.range(0..count), &mut dists);
                let mut best = Best::new(1, u32::MAX);
                dists.iter().zip(0..).for_each(|(&dist, node)| best.insert(dist, node));
                best.list[0].1
            }
        };
        if (found as usize) < count { found as usize } else { 0 }
    }
}

/// The first of the images nearest to another.
#[inline(always)]
fn nearest_image(images: &Embedded, image: &[f64]) -> u32 {
    let square = |x: f64, y: f64| (x - y) * (x - y);
    let mut best = (f64::INFINITY, u32::MAX);
    for (row, node) in images.coords.chunks_exact(images.dim).zip(0..) {
        let (sums, x, y) = lane_sums(row, image, square);
        let rest = x.iter().zip(y).map(|(x, y)| square(*x, *y));
        let squared = sums.iter().sum::<f64>() + rest.sum::<f64>();
        if squared < best.0 {
            best = (squared, node);
        }
    }
    best.1
}

/// The point at the least distance so far.
struct One {
    key: f64,
    node: u32,
}

impl Candidates for One {
    #[inline(always)]
    fn bound(&self) -> f64 {
        self.key
    }

    #[inline(always)]
    fn offer(&mut self, points: &[u32], squared: &[f64; LEAF]) {
        let least = squared.iter().fold(f64::INFINITY, |least, &s| least.min(s));
        if least < self.key {
            self.key = least;
            let place = squared.iter().position(|&s| s == least);
            self.node = place.and_then(|s| points.get(s)).copied().unwrap_or(u32::MAX);
        }
    }
}
