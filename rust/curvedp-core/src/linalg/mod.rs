//! Small dense linear algebra on many matrices at once.

pub mod jacobi;
pub mod lanes;
