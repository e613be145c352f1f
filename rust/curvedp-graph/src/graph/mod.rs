//! Graphs on public nodes: exact nearest neighbours, Laplacians, shortest paths.

mod brute;
mod bump;
mod candidates;
mod csr;
mod edges;
mod embedding;
mod kd_tree;
mod knn;
mod laplacian;
mod node_index;
mod nodes;
mod shortest_paths;
#[cfg(test)]
mod tests;

pub use bump::{bump_counts, bump_density};
pub use csr::Csr;
pub use edges::Graph;
pub use knn::{Neighbours, nearest, neighbours};
pub use laplacian::{Assembly, Laplacian, Normalization, laplacian};
pub use node_index::NodeIndex;
pub use nodes::Nodes;
pub use shortest_paths::shortest_paths;
