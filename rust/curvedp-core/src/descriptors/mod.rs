//! Descriptors: images and time series turned into symmetric positive definite matrices, each record
//! on its own.
//!
//! Every kernel is total: a record from which no covariance can be computed becomes `ridge * I`.

pub mod covariance;
pub mod features;
pub mod image;
pub mod time_series;

#[cfg(test)]
mod tests;
