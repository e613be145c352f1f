//! The restricted minimum V_s = min F over the points within s of a ball's centre, F(q) = mean rho(q, x_i)^2, to a
//! public error. Proofs: docs/proofs/frechet-variance.md.
//!
//! The mean of all records and of the centre, the latter with weight lambda n, minimises F + lambda rho(c, .)^2. For
//! every lambda it gives a bound from below (weak duality), and lambda is sought at which it lies at distance s.

use super::certificate::{Plan, rounding_error, smoothness};
use super::{Anchor, Sample, in_ball};
use crate::ball::{Ball, SLACK};
use crate::error::Error;
use crate::moments::{dist_moments, summation_error};
use crate::parallel::Interrupt;

/// Share of the sensitivity up to which F may lie above the restricted minimum.
const GAP_SHARE: f64 = 1.0 / 512.0;

/// Solutions for one lambda each; bisection alone needs fewer.
const MOST_SOLUTIONS: usize = 256;

/// Sensitivity and error of a restricted minimum, from public values alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestrictedBounds {
    /// s: largest distance of the minimiser from the centre.
    pub within: f64,
    /// Longest distance from such a point to a record: r + s.
    pub reach: f64,
    /// Largest change when a unit's records are replaced: (r + s)^2 min(k, n)/n.
    pub sensitivity: f64,
    /// Bound on the distance of the computed number from V_s.
    pub tolerance: f64,
    /// The part of `tolerance` that is left to the choice of lambda.
    gap: f64,
}

/// Bound on the error of a computed distance between two points of a ball.
#[must_use]
pub fn dist_error(ball: &Ball) -> f64 {
    rounding_error(ball.manifold, ball.radius * (1.0 + SLACK), 1)
}

impl RestrictedBounds {
    /// For n records in a ball, a share of which is replaced, and means that `plan` certifies.
    #[must_use]
    pub fn new(ball: &Ball, plan: &Plan, n: usize, replaced: f64, within: f64) -> Self {
        let radius = ball.radius * (1.0 + SLACK);
        let reach = radius + within;
        let sensitivity = reach * reach * replaced;
        let error = dist_error(ball);
        let off = plan.tolerance + error;
        // so much that bisection ends, though distances from the centre are known up to `off`
        let gap = (GAP_SHARE * sensitivity).max(9.0 * reach * off);
        // the mean, or a weighted one, is off by at most the plan's tolerance
        let steep = smoothness(ball.manifold, 2.0 * radius);
        let multiplier = if within * reach > 0.5 * gap { 1.0 + 2.0 * reach / within } else { 1.0 };
        let solving = steep * off * off * (2.0 + multiplier);
        let rounding = 4.0 * reach * error + error * error + summation_error(n) * reach * reach;
        let tolerance = gap + 1.01 * (solving + rounding);
        Self { within, reach, sensitivity, tolerance, gap }
    }
}

/// F at a point within s of the centre, at most `bounds.tolerance` from the restricted minimum; `mean` is the mean
/// of the points of the sample, as `plan` certifies it.
pub fn restricted_minimum(
    sample: &Sample,
    ball: &Ball,
    plan: &Plan,
    mean: &[f64],
    bounds: &RestrictedBounds,
    interrupt: Interrupt,
) -> Result<f64, Error> {
    let RestrictedBounds { within, reach, .. } = *bounds;
    let to_mean = ball.dist_to_center(mean);
    let point = if to_mean <= within || within >= ball.radius {
        mean.to_vec()
    } else {
        minimiser(sample, ball, plan, to_mean, bounds, interrupt)?
    };
    let (points, n) = (sample.points, sample.count);
    Ok(dist_moments(ball.manifold, points, n, &point, reach, interrupt)?.0)
}

/// A point within s of the centre at which F exceeds its minimum there by at most the gap and what the tolerance of
/// `plan` adds.
fn minimiser(
    sample: &Sample,
    ball: &Ball,
    plan: &Plan,
    to_mean: f64,
    bounds: &RestrictedBounds,
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    let RestrictedBounds { within, reach, gap, .. } = *bounds;
    let mut inside = ball.center.to_vec();
    if within * reach <= 0.5 * gap {
        return Ok(inside);
    }
    let error = dist_error(ball);
    // lambda lies between these; the last pairs of 1/(1 + lambda) and the distance, which are nearly proportional
    let (mut low, mut high) = (0.0, 2.0 * reach / within);
    let mut last = [(0.0, 0.0), (1.0, to_mean)];
    for step in 0..MOST_SOLUTIONS {
        let [(x0, d0), (x1, d1)] = last;
        let wished = (within - 0.25 * gap / reach).max(0.5 * within);
        let x = x1 + (wished - d1) * (x0 - x1) / (d0 - d1);
        let mut lambda = 1.0 / x - 1.0;
        if !(low < lambda && lambda < high) || step % 3 == 2 {
            lambda = 0.5 * (low + high);
        }
        let weight = lambda * sample.count as f64;
        let anchored = Sample { anchor: Some(Anchor { point: ball.center, weight }), ..*sample };
        let point = in_ball(&anchored, ball, plan, interrupt)?;
        let dist = ball.dist_to_center(&point);
        last = [last[1], (1.0 / (1.0 + lambda), dist)];
        if dist > within {
            low = lambda;
            continue;
        }
        (high, inside) = (lambda, point);
        let nearest = (dist - error).max(0.0);
        if lambda * (within - nearest) * (within + nearest) <= gap {
            break;
        }
    }
    Ok(inside)
}
