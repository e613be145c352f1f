//! What bounds on boxes of normal coordinates need: a, with p = exp_c(a), |a| <= r.

use crate::elementary::{cosh, sinhc};
use crate::manifold::Manifold;

/// Largest number of coordinates in which boxes are fine enough for a draw within seconds.
pub const MAX_DIM: usize = 6;

/// Least and largest length of the points of a box.
pub(crate) fn lengths(center: &[f64], half: &[f64]) -> (f64, f64) {
    let of = |f: &dyn Fn(f64, f64) -> f64| {
        center.iter().zip(half).map(|(c, h)| f(c.abs(), *h).powi(2)).sum::<f64>().sqrt()
    };
    (of(&|c, h| (c - h).max(0.0)), of(&|c, h| c + h))
}

/// Euclidean norm.
pub(crate) fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The vector at a length of at most `limit`: no vector that short is farther from it than from `x`.
pub(crate) fn shortened(x: &[f64], limit: f64) -> Vec<f64> {
    let length = length(x);
    let scale = if length > limit { limit / length } else { 1.0 };
    x.iter().map(|x| x * scale).collect()
}

/// Upper bound of the logarithm of the volume element of exp_c within distance `dist`.
pub(crate) fn largest_log_jacobian(manifold: &dyn Manifold, dist: f64) -> f64 {
    (manifold.dim() - 1) as f64 * spread(manifold, dist).ln() + 1e-12
}

/// Largest |d exp_c u|/|u| within distance `dist`: sinh(x)/x for negative curvature, 1 otherwise.
pub(crate) fn spread(manifold: &dyn Manifold, dist: f64) -> f64 {
    sinhc((-manifold.curvature_bounds().0).max(0.0).sqrt() * dist)
}

/// Largest norm of the derivative in q of min(1, tau/s) log_q y, s = rho(q, y) up to `reach`, which is less
/// than the injectivity radius: that of the Hessian of s^2/2, of which clipping leaves tau/s of the part across.
pub(crate) fn residual_rate(manifold: &dyn Manifold, tau: f64, reach: f64) -> f64 {
    let (lower, upper) = manifold.curvature_bounds();
    let tau = tau.min(reach);
    let x = (-lower).max(0.0).sqrt() * tau;
    let angle = upper.max(0.0).sqrt() * reach;
    let beyond = if angle > std::f64::consts::FRAC_PI_2 {
        (tau * upper.sqrt() / angle.tan()).abs()
    } else {
        1.0
    };
    (cosh(x) / sinhc(x)).max(beyond)
}
