//! The edges between neighbouring nodes.

use std::sync::Arc;

use super::csr::Csr;

/// A graph with symmetric edge lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Length of every edge, at both of its nodes.
    pub lengths: Csr,
    /// The nodes breadth first, from the first of every component: neighbours stay close together.
    pub order: Arc<[u32]>,
}

impl Graph {
    /// The graph of a symmetric matrix of lengths.
    pub fn new(lengths: Csr) -> Self {
        let order = breadth_first(&lengths).into();
        Self { lengths, order }
    }
}

fn breadth_first(edges: &Csr) -> Vec<u32> {
    let size = edges.size();
    let mut order = Vec::with_capacity(size);
    let mut seen = vec![false; size];
    for first in 0..size {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut next = order.len();
        order.push(first as u32);
        while next < order.len() {
            for &j in edges.row(order[next] as usize).0 {
                if !std::mem::replace(&mut seen[j as usize], true) {
                    order.push(j);
                }
            }
            next += 1;
        }
    }
    order
}
