//! Graphs on public nodes: exact nearest neighbours, Laplacians, shortest paths.

mod brute;
mod candidates;
mod csr;
mod embedding;
mod kd_tree;
mod knn;
mod laplacian;
mod shortest_paths;

pub use csr::Csr;
pub use embedding::Embedding;
pub use knn::{Neighbours, Nodes, nearest, neighbours};
pub use laplacian::{Assembly, Laplacian, Normalization, laplacian};
pub use shortest_paths::shortest_paths;
