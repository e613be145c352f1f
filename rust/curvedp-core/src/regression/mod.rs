//! Geodesic regression (Fletcher 2011): the geodesic exp_p(t v) closest to points y_i at times t_i.
//!
//! Predictions are q_i = exp_p(t_i v), residuals e_i = log_{q_i} y_i, the energy is
//! E(p, v) = (1/2n) sum |e_i|^2. With R_v the curvature operator, c(k) = cos √k and g(k) = sin √k/√k (the
//! hyperbolic functions for k < 0), and u_i the residual carried back to p along the geodesic,
//!
//! grad_p E = -(1/n) sum c(R_{t_i v}) u_i,    grad_v E = -(1/n) sum t_i g(R_{t_i v}) u_i,
//!
//! since Jacobi fields of a symmetric space are functions of the curvature operator carried along: the
//! first is d_p exp(p, t v)^† with v moved parallel, the second d_v exp(p, t v)^† (Kulkarni and Soto,
//! equations 5 to 8).

mod contributions;
mod energy;
mod exact;
mod fit;
mod gradients;
mod k_norm;
mod least;
mod model;
mod space;
mod spectrum;
#[cfg(test)]
mod tests;

pub(crate) use contributions::mean_of_clipped;
pub use contributions::{Position, Units, clipped_mean, contributions};
pub use energy::{Energy, energy};
pub use exact::sample_k_norm;
pub use fit::{Fit, Limits, fit};
pub use gradients::Gradients;
pub use k_norm::{GradientNorm, KNorm, Support, carried};
pub use model::Vector;

use crate::manifold::Manifold;
use crate::rows::Rows;

/// Points with the times at which they were seen.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// The points y_i, one for each time.
    pub points: Rows<'a>,
    /// The times t_i, at least one.
    pub times: &'a [f64],
}

/// A geodesic exp_p(t v).
#[derive(Clone, Debug, PartialEq)]
pub struct Geodesic {
    /// The footpoint p.
    pub footpoint: Vec<f64>,
    /// Coordinates of v at p.
    pub velocity: Vec<f64>,
}
