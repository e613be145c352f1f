//! Numerical core of curvedp: geometry, noise and the hot loops of the mechanisms, in pure Rust.

pub mod elementary;
pub mod manifold;
pub mod noise;
pub mod rows;
pub mod simd;
