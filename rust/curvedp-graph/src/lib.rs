//! Graphs on public meshes, their sparse Laplacians, solvers of Helmholtz-Poisson equations, and the mechanism
//! of the conformal mean, in pure Rust.

pub mod conformal;
pub mod graph;
pub mod solve;
