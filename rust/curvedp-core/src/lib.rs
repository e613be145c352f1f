//! Numerical core of curvedp: geometry, noise and the hot loops of the mechanisms, in pure Rust.

pub mod ball;
pub mod batch;
pub mod cascade;
pub mod descriptors;
pub mod error;
pub mod exact;
pub mod groups;
pub mod law;
pub mod logistic;
pub mod mail;
pub mod manifold;
pub mod masks;
pub mod mean;
pub mod messages;
pub mod moments;
pub mod noise;
pub mod parallel;
pub mod regression;
pub mod rejection;
pub mod release;
pub mod roots;
pub mod rows;
pub mod simd;
pub mod tally;
pub mod twofold;
pub mod vector;
