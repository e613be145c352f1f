//! Parts of bounds on boxes of normal coordinates a, with p = exp_c(a), |a| <= r: lengths and volume
//! elements, and the change in direction and length of a record's clipped residual as its base point moves.
//!
//! Proofs: docs/proofs/kng-mean.md.

use crate::manifold::Manifold;
use crate::simd::elementary::{sin_cos, sinhc};
use crate::vector::length;
use std::f64::consts::{FRAC_PI_2, PI};

/// Largest number of coordinates in which boxes become fine enough, mostly within seconds.
pub const MAX_DIM: usize = 6;

/// Least and largest length of the points of a box.
pub(crate) fn lengths(center: &[f64], half: &[f64]) -> (f64, f64) {
    let of = |f: &dyn Fn(f64, f64) -> f64| {
        center.iter().zip(half).map(|(c, h)| f(c.abs(), *h).powi(2)).sum::<f64>().sqrt()
    };
    (of(&|c, h| (c - h).max(0.0)), of(&|c, h| c + h))
}

/// The vector at a length of at most `limit`: no vector that short is farther from it than from `x`.
pub(crate) fn shortened(x: &[f64], limit: f64) -> Vec<f64> {
    let length = length(x);
    let scale = if length > limit { limit / length } else { 1.0 };
    x.iter().map(|x| x * scale).collect()
}

/// ln of the mean of exp(slope . x) over the box of the given half widths about 0.
pub(crate) fn log_mean_exp(slope: &[f64; MAX_DIM], half: &[f64]) -> f64 {
    let of_axis = |(slope, half): (&f64, &f64)| {
        let k = (slope * half).abs();
        // ln(sinh(k)/k)
        if k < 1e-3 { k * k / 6.0 } else { k + (-(-2.0 * k).exp_m1() / (2.0 * k)).ln() }
    };
    slope.iter().zip(half).map(of_axis).sum()
}

/// Upper bound of the logarithm of the volume element of exp_c within distance `dist`.
pub(crate) fn largest_log_jacobian(manifold: &dyn Manifold, dist: f64) -> f64 {
    (manifold.dim() - 1) as f64 * spread(manifold, dist).ln() + 1e-12
}

/// Largest |d exp_c u|/|u| within distance `dist`: sinh(x)/x for negative curvature, 1 otherwise.
pub(crate) fn spread(manifold: &dyn Manifold, dist: f64) -> f64 {
    sinhc((-manifold.curvature_bounds().0).max(0.0).sqrt() * dist)
}

/// Largest slope of the logarithm of the volume element of exp_c within distance `dist` on a symmetric space: a
/// sum of at most dim - 1 terms ln sinh(x)/x or ln sin(x)/x of linear functions x of slope at most the root of
/// the curvature.
pub(crate) fn log_jacobian_slope(manifold: &dyn Manifold, dist: f64) -> f64 {
    let (lower, upper) = manifold.curvature_bounds();
    let (falling, rising) = ((-lower).max(0.0).sqrt(), upper.max(0.0).sqrt());
    let angle = rising * dist / PI;
    let positive = if angle < 1.0 {
        rising * rising * dist / 3.0 / (1.0 - angle * angle)
    } else {
        f64::INFINITY
    };
    (manifold.dim() - 1) as f64 * (falling * (falling * dist / 3.0).min(1.0) + positive)
}

/// Bounds on the change of a record's residual min(1, tau/s) log_q y, s = rho(q, y), as q moves: compared
/// after transport along the way of q, it moves at most as fast as q times a rate, and where s > tau it turns
/// at a rate of at most 1/s + a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clipped {
    tau: f64,
    /// Roots of the curvature, where it is negative and where it is positive.
    roots: [f64; 2],
}

impl Clipped {
    /// The derivative of log_q y in q is minus the Hessian of s^2/2: eigenvalue 1 along, s ct(s) across,
    /// ct = √k cot √k s, or the hyperbolic one; clipping leaves tau/s of the part across.
    pub(crate) fn new(manifold: &dyn Manifold, tau: f64) -> Self {
        let (lower, upper) = manifold.curvature_bounds();
        Self { tau, roots: [(-lower).max(0.0).sqrt(), upper.max(0.0).sqrt()] }
    }

    /// Least <w, u'> that is possible when q moves by at most `moved`, for w of length `size` and the clipped
    /// residual u, <w, u> = `product`, of a residual of length `length`.
    #[inline(always)]
    pub(crate) fn least(&self, product: f64, size: f64, length: f64, moved: f64) -> f64 {
        let worst = -self.tau * size;
        let reach = length + moved;
        let angle = self.roots[1] * reach;
        let beyond = if angle >= PI {
            return worst;
        } else if angle > FRAC_PI_2 {
            (self.roots[1] / angle.tan()).abs()
        } else {
            0.0
        };
        let longest = self.tau.min(reach);
        if length - moved <= self.tau {
            let rate = convexity(self.roots[0] * longest).max(longest * beyond);
            return (product - size * rate * moved).max(worst);
        }
        let angle = self.roots[0].max(beyond) * moved - (-moved / length).ln_1p();
        if angle >= PI {
            return worst;
        }
        let (sin, cos) = sin_cos(angle);
        // product = |worst| cos(phi), and the angle between them grows to phi + angle at most
        if product <= worst * cos {
            return worst;
        }
        // with room for what cancels
        let across = (worst * worst - product * product).max(0.0);
        product * cos - (across + 16.0 * f64::EPSILON * worst * worst).sqrt() * sin
    }
}

/// A bound on x coth x.
#[inline(always)]
fn convexity(x: f64) -> f64 {
    1.0 + (x * x / 3.0).min(x)
}
