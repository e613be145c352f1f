//! The one error type of the core.

use thiserror::Error;

use crate::masks::MaskError;
use crate::noise::NoiseError;

/// The reason that a computation could not be done.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Error {
    /// The caller's interrupt flag was raised.
    #[error("interrupted")]
    Interrupted,
    /// The system has no more memory.
    #[error("out of memory")]
    Memory,
    /// A noise law that does not exist or cannot be drawn.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A mask that would hide nothing.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// No such manifold.
    #[error("unknown manifold kind {0:?}")]
    UnknownManifold(String),
    /// No such pixel feature.
    #[error("unknown pixel feature {0:?}")]
    UnknownFeature(String),
    /// A size or parameter outside its domain.
    #[error("{name} must be {allowed}, got {value:e}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The values allowed.
        allowed: &'static str,
        /// The value given.
        value: f64,
    },
}

/// That many copies of a number, or [`Error::Memory`].
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, Error> {
    let mut found = Vec::new();
    found.try_reserve_exact(count).map_err(|_| Error::Memory)?;
    found.resize(count, value);
    Ok(found)
}
