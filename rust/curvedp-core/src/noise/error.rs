//! Errors of requested noise laws. Only public parameters enter.

use thiserror::Error;

/// A noise law that cannot be built, with the numbers that say why.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoiseError {
    /// A parameter outside its range.
    #[error("{name} must be {expected}, got {value:e}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The values allowed.
        expected: &'static str,
        /// The value given.
        value: f64,
    },
    /// The density has no finite integral: volume grows faster than the profile falls.
    #[error(
        "no Laplace law of scale {scale} exists: the volume grows at rate \
         {growth_rate}, so the scale must be below {scale_limit}"
    )]
    Existence {
        /// The requested scale.
        scale: f64,
        /// Exponential rate at which the volume of a sphere grows with its radius.
        growth_rate: f64,
        /// 1 / growth_rate: every smaller scale exists.
        scale_limit: f64,
    },
    /// The exact sampler would reject nearly every proposal.
    #[error(
        "the expected acceptance {expected:.3e} of the exact sampler at scale {scale} is below \
         the floor {floor:.0e}: scales up to {scale_limit:.6} can be served"
    )]
    Acceptance {
        /// The requested scale.
        scale: f64,
        /// Expected fraction of accepted proposals, computed from public parameters.
        expected: f64,
        /// The smallest fraction that is served.
        floor: f64,
        /// A scale that is served, within 1e-3 relative of the largest.
        scale_limit: f64,
    },
    /// A moment of the law leaves the range of double precision.
    #[error("a law of scale {scale} in dimension {dim} leaves the range of double precision")]
    Range {
        /// The requested scale.
        scale: f64,
        /// Dimension of the space.
        dim: usize,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes: {reason}")]
    Entropy {
        /// The system's message.
        reason: String,
    },
}
