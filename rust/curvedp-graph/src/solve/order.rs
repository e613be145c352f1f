//! The order of rows: one that keeps neighbours close in memory, where there is such an order.

use super::sliced::WIDTH;
use super::sums::blocks;
use crate::graph::{Csr, Laplacian};
use curvedp_core::parallel::pass;

/// A numbering of the nodes as rows.
pub(super) struct Order {
    /// The node of every row, and the row of every node.
    pub nodes: Vec<u32>,
    pub rows: Vec<u32>,
}

/// Rows that are sorted by their length, so that those of a slice are about equally long.
const WINDOW: usize = 32 * WIDTH;

/// Nodes whose edges tell how far apart an order puts neighbours.
const PROBES: usize = 128;

/// Factor by which the order of the graph must bring neighbours closer together than that of the nodes does.
/// Otherwise the nodes keep their order, in which the matrix is read once from its beginning to its end.
const CLOSER: f64 = 1.5;

impl Order {
    pub fn new(laplacian: &Laplacian) -> Self {
        let weights = &laplacian.weights;
        let size = weights.size();
        let own = || (0..size as u32).collect::<Vec<_>>();
        let places = inverse(&laplacian.order);
        let span = CLOSER * distance(weights, |node| places[node as usize]);
        let closer = span < distance(weights, |node| node);
        let mut nodes = if closer { laplacian.order.to_vec() } else { own() };
        pass(nodes.chunks_mut(WINDOW).collect(), |window: &mut [u32]| {
            window.sort_by_key(|&node| weights.row(node as usize).0.len());
        });
        let rows = inverse(&nodes);
        Self { nodes, rows }
    }

    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// A vector over nodes as one over rows.
    pub fn gather(&self, values: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; values.len()];
        blocks(&mut result, |range, result| {
            let nodes = &self.nodes[range];
            nodes.iter().zip(result).for_each(|(&node, x)| *x = values[node as usize]);
            0.0
        });
        result
    }
}

/// The mean distance in memory of neighbours that stand at these places, from a few of them.
fn distance(edges: &Csr, place: impl Fn(u32) -> u32) -> f64 {
    let (mut sum, mut count) = (0.0, 0_usize);
    for node in (0..edges.size()).step_by(edges.size().div_ceil(PROBES).max(1)) {
        let (columns, here) = (edges.row(node).0, place(node as u32));
        sum += columns.iter().map(|&j| f64::from(here.abs_diff(place(j)))).sum::<f64>();
        count += columns.len();
    }
    sum / count.max(1) as f64
}

fn inverse(nodes: &[u32]) -> Vec<u32> {
    let mut rows = vec![0; nodes.len()];
    for (row, &node) in nodes.iter().enumerate() {
        rows[node as usize] = row as u32;
    }
    rows
}
