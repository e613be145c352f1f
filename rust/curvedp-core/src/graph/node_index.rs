//! The node nearest to one point at a time.

use super::candidates::{Best, Refined};
use super::embedding::Embedder;
use super::kd_tree::{Candidates, KdTree, LEAF};
use super::knn::{Nodes, tree_pays};
use crate::error::Error;
use crate::parallel::Interrupt;
use crate::rows::Rows;

/// Nodes ready to be asked for the nearest to a point. Of nodes that rounding cannot tell apart any may
/// be the answer.
pub struct NodeIndex<'a> {
    nodes: Nodes<'a>,
    tree: Option<(Embedder<'a>, KdTree, f64)>,
}

impl<'a> NodeIndex<'a> {
    /// # Errors
    /// [`Error::Parameter`] for nodes that are not finite, [`Error::Interrupted`].
    pub fn new(nodes: &Nodes<'a>, interrupt: Interrupt) -> Result<Self, Error> {
        let mut tree = None;
        if let Some(embedder) = Embedder::new(nodes) {
            let images = embedder.embed(nodes.points, nodes.count, interrupt)?;
            images.check()?;
            if tree_pays(images.dim, nodes.count) {
                let slack = embedder.slack(&images);
                tree = Some((embedder, KdTree::new(images.dim, &images.coords), slack));
            }
        }
        Ok(Self { nodes: *nodes, tree })
    }

    /// The node nearest to a point; 0 for what is no point. `stack` is scratch.
    pub fn nearest(&self, point: &[f64], stack: &mut Vec<(u32, f64)>) -> usize {
        let Nodes { manifold, points, count } = self.nodes;
        let found = match &self.tree {
            Some((embedder, tree, slack)) => {
                let image = embedder.image(point);
                if embedder.exact {
                    let mut closest = One { key: f64::INFINITY, node: u32::MAX };
                    tree.search(&image, None, &mut closest, stack);
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
            None => {
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
