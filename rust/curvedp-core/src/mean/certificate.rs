//! Accuracy of a computed mean that is certain beforehand: stopping threshold, safe step and number of
//! evaluations from public values alone. Proofs: docs/proofs/frechet-mean-solver.md.
//!
//! With s = sqrt(kappa) for the upper curvature bound kappa > 0 and k = cos(s r): wherever the gradient
//! norm g at a point of the ball satisfies s g < k, the distance to the mean is at most asin(s g/k)/s;
//! where kappa <= 0 it is at most g.

use crate::ball::SLACK;
use crate::cascade::roundings;
use crate::manifold::Manifold;

/// Most evaluations that a plan may take: beyond, in balls close to the largest allowed one, the solver
/// could run for hours, and there is no plan.
const MAX_EVALUATIONS: usize = 100_000_000;

/// Unit roundoff.
const U: f64 = f64::EPSILON / 2.0;

/// Step lengths, limits and accuracy of the iteration, fixed before it sees a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Certified distance between the returned and the true mean.
    pub tolerance: f64,
    /// The iteration stops at a computed gradient norm of at most this.
    pub gradient_target: f64,
    /// Length t of a step exp_p(t * descent) that never leaves the ball and always makes progress (on
    /// negative curvature with projection).
    pub safe_step: f64,
    /// Safe steps that always suffice to halve the gradient norm.
    pub steps_per_halving: usize,
    /// Evaluations of the gradient that always suffice.
    pub max_evaluations: usize,
}

/// The certified distance is at most this part of the noise's scale: what is said of the error of a release is said of
/// its noise.
const LARGEST_SHARE: f64 = 0.125;

impl Plan {
    /// True if the mean is near beside noise of that scale.
    #[must_use]
    pub fn is_within(&self, scale: f64) -> bool {
        self.tolerance <= LARGEST_SHARE * scale
    }
}

/// Positive curvature scaled to 1: sqrt(kappa) and cos(r sqrt(kappa)); (0, 1) where kappa <= 0.
fn scaling(manifold: &dyn Manifold, radius: f64) -> (f64, f64) {
    let (_, upper) = manifold.curvature_bounds();
    if upper > 0.0 { (upper.sqrt(), (upper.sqrt() * radius).cos()) } else { (0.0, 1.0) }
}

/// Distance to the mean that a gradient norm certifies at a point of the ball; infinite if none.
pub fn certified_dist(manifold: &dyn Manifold, radius: f64, gradient_norm: f64) -> f64 {
    let (s, k) = scaling(manifold, radius);
    if s == 0.0 {
        gradient_norm
    } else if k > 0.0 && s * gradient_norm < k {
        (s * gradient_norm / k).asin() / s
    } else {
        f64::INFINITY
    }
}

/// Bound on the rounding error of the computed gradient at a point of a ball of radius `radius` about the
/// manifold's origin, for n records in that ball, and of this point's coordinates in the chart at the origin.
pub fn rounding_error(manifold: &dyn Manifold, radius: f64, n: usize) -> f64 {
    manifold.log_error(radius)
        + 1.01 * U * roundings(n) * 2.0 * radius
        + manifold.chart_error(radius)
}

/// The plan that certifies a distance of `tolerance` (or, where rounding forbids it, the smallest
/// distance that can be certified) for n records in a ball of the given radius. None if the ball is too
/// large for that in double precision and in reasonable time.
pub fn plan(manifold: &dyn Manifold, radius: f64, n: usize, tolerance: f64) -> Option<Plan> {
    let radius = radius * (1.0 + SLACK);
    let (s, k) = scaling(manifold, radius);
    let rounding = rounding_error(manifold, radius, n);
    // records and iterates are known to lie in the ball
    let entry = manifold.dist_origin_error(radius) <= 0.01 * radius;
    if !(entry && k > 0.0 && rounding >= 0.0 && rounding.is_finite()) {
        return None;
    }
    let (tolerance, gradient_target) = if s == 0.0 {
        let tolerance = tolerance.max(10.0 * rounding);
        (tolerance, tolerance - rounding)
    } else {
        if 10.0 * s * rounding >= k {
            return None;
        }
        let tolerance = tolerance.max((10.0 * s * rounding / k).asin() / s);
        let angle = (s * tolerance).min(std::f64::consts::FRAC_PI_2);
        (tolerance, k * angle.sin() / s - rounding)
    };
    if !(tolerance < radius || radius == 0.0) {
        return None;
    }
    let (safe_step, progress) = safe_step(manifold, radius);
    let steps_per_halving = steps_per_halving(progress * k);
    let max_evaluations = if s == 0.0 {
        let halvings = halvings(1.15 * 2.0 * radius / gradient_target);
        1 + halvings * (1 + steps_per_halving)
    } else {
        let scaled = s * radius;
        let early = 1 + halvings(1.15 * 2.0 * scaled / (0.875 * k));
        let late = halvings(0.875 * k / (s * gradient_target));
        let energy = (23.1 * scaled * scaled / (progress * k * k)).ceil() as usize;
        1 + 2 * early + energy + late * (1 + steps_per_halving)
    };
    if max_evaluations > MAX_EVALUATIONS {
        return None;
    }
    Some(Plan { tolerance, gradient_target, safe_step, steps_per_halving, max_evaluations })
}

/// A step length that keeps exp_p(t * descent) in the ball (after projection on negative curvature), and
/// the share c/k of the excess energy F - F* that it removes, k = cos(r sqrt(kappa)), lowered by 1/8 for
/// gradients known up to g/8.
fn safe_step(manifold: &dyn Manifold, radius: f64) -> (f64, f64) {
    let (lower, upper) = manifold.curvature_bounds();
    if lower < 0.0 {
        let smoothness = smoothness(manifold, 2.0 * radius);
        return (1.0 / smoothness, 0.875 / smoothness);
    }
    let angle = radius * upper.sqrt();
    let t = match manifold.roots().double {
        _ if lower == upper => 1.0,
        1.. => 1.0 - (0.5 * angle).tan().powi(2),
        _ if angle > 0.0 => angle / angle.tan(),
        _ => 1.0,
    };
    (t, 0.875 * t * (1.0 - 0.5 * t))
}

/// Largest eigenvalue of the Hessian of half the squared distance to a point at most `dist` away.
pub(super) fn smoothness(manifold: &dyn Manifold, dist: f64) -> f64 {
    let x = dist * (-manifold.curvature_bounds().0).max(0.0).sqrt();
    if x > 1e-4 { x / x.tanh() } else { 1.0 + x * x / 3.0 }
}

/// Safe steps after which the gradient norm has halved, when each shrinks the excess energy by the factor
/// 1 - c.
fn steps_per_halving(c: f64) -> usize {
    const RATIO: f64 = 6.62; // (18/7)^2: squared ratio of gradient norms, both known up to 1/8
    let geometric = ((RATIO / c).ln() / -(-c).ln_1p()).ceil();
    let additive = 1.0 + (RATIO * (1.0 / c - 1.0)).ceil();
    geometric.min(additive).max(1.0) as usize
}

fn halvings(ratio: f64) -> usize {
    if ratio > 1.0 { ratio.log2().ceil() as usize } else { 0 }
}
