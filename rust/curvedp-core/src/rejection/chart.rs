//! Parts of bounds on boxes of normal coordinates a, with p = exp_c(a), |a| <= r: lengths and volume
//! elements, and the change in direction and length of a record's clipped residual as its base point moves.

use crate::manifold::Manifold;
use crate::simd::elementary::{cosh, sin_cos, sinhc};
use crate::vector::length;

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

/// Bounds on the change of a record's residual min(1, tau/s) log_q y, s = rho(q, y), as q moves: compared
/// after transport along the way of q, it moves at most `rate` times as fast as q, and where s > tau it turns
/// at a rate of at most 1/s + `turning`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clipped {
    tau: f64,
    rate: f64,
    turning: f64,
}

impl Clipped {
    /// For residuals that are nowhere longer than `reach`, which is less than the injectivity radius.
    ///
    /// The derivative of log_q y in q is minus the Hessian of s^2/2: eigenvalue 1 along, s ct(s) across,
    /// ct = √k cot √k s, or the hyperbolic one; clipping leaves tau/s of the part across.
    pub(crate) fn new(manifold: &dyn Manifold, tau: f64, reach: f64) -> Self {
        let (lower, upper) = manifold.curvature_bounds();
        let negative_root = (-lower).max(0.0).sqrt();
        let longest = tau.min(reach);
        let x = negative_root * longest;
        let angle = upper.max(0.0).sqrt() * reach;
        let beyond = if angle > std::f64::consts::FRAC_PI_2 {
            (upper.sqrt() / angle.tan()).abs()
        } else {
            0.0
        };
        let rate = (cosh(x) / sinhc(x)).max(longest * beyond);
        Self { tau: longest, rate, turning: negative_root.max(beyond) }
    }

    /// Least <w, u'> that is possible when q moves by at most `moved`, for w of length `size` and the clipped
    /// residual u, <w, u> = `product`, of a residual of length `length`.
    #[inline(always)]
    pub(crate) fn least(&self, product: f64, size: f64, length: f64, moved: f64) -> f64 {
        let worst = -self.tau * size;
        if length - moved <= self.tau {
            return (product - size * self.rate * moved).max(worst);
        }
        let angle = self.turning * moved - (-moved / length).ln_1p();
        if angle >= std::f64::consts::PI {
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
