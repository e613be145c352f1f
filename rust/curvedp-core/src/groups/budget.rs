//! What noise is calibrated to.

use crate::noise::{Profile, Stream, laplace};

/// A share of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// epsilon-DP: Laplace noise of scale Delta/epsilon.
    Pure(f64),
    /// mu-GDP: Gaussian noise of scale Delta/mu.
    Gaussian(f64),
}

impl Budget {
    /// The noise's scale for a statistic that moves by at most `sensitivity`.
    pub(super) fn scale(self, sensitivity: f64) -> f64 {
        match self {
            Self::Pure(epsilon) => sensitivity / epsilon,
            Self::Gaussian(mu) => sensitivity / mu,
        }
    }

    /// The shape of the noise.
    pub(super) fn profile(self, scale: f64) -> Profile {
        match self {
            Self::Pure(_) => Profile::Laplace { scale },
            Self::Gaussian(_) => Profile::Gaussian { scale },
        }
    }

    /// Noise on the real line.
    pub(super) fn noise(self, scale: f64, stream: &mut Stream) -> f64 {
        match self {
            Self::Pure(_) => laplace(scale, stream),
            Self::Gaussian(_) => scale * stream.normal(),
        }
    }
}
