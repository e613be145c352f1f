//! The mean without a public domain: for non-private estimates only.

use super::certificate::{certified_dist, rounding_error};
use super::quasi_newton::Memory;
use super::{Evaluation, Sample};
use crate::batch;
use crate::error::Error;
use crate::parallel::Interrupt;
use crate::rows::Rows;

/// A Fréchet mean with what is known of its accuracy.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The mean.
    pub point: Vec<f64>,
    /// |mean log_p x_i| at the returned point.
    pub gradient_norm: f64,
    /// Distance to the true minimiser that the gradient certifies; infinite if the points lie in no ball
    /// on which the mean is unique.
    pub certified_dist: f64,
    /// mean rho(p, x_i)^2: the Fréchet variance.
    pub variance: f64,
    /// Evaluations of the gradient.
    pub evaluations: usize,
    /// True if the gradient norm reached the tolerance or the limit of rounding.
    pub converged: bool,
}

/// Quasi-Newton descent with steps halved when they make no progress, from `start` until the gradient norm
/// is at most `tolerance` or no longer falls because of rounding.
pub fn unconstrained(
    sample: &Sample,
    start: &[f64],
    tolerance: f64,
    max_evaluations: usize,
    interrupt: Interrupt,
) -> Result<Estimate, Error> {
    let mut p = start.to_vec();
    let mut here = sample.evaluate(&p, interrupt)?;
    let mut memory = Memory::default();
    let (mut damping, mut evaluations, mut failures) = (1.0, 1, 0);
    while here.gradient_norm > tolerance && evaluations < max_evaluations && failures < 6 {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let mut step = vec![0.0; here.descent.len()];
        memory.step(&here.descent, here.curvature, &mut step);
        step.iter_mut().for_each(|x| *x *= damping);
        let next = sample.exp(&p, &step);
        let there = sample.evaluate(&next, interrupt)?;
        evaluations += 1;
        if improves(&here, &there) {
            let descents = (here.descent.as_slice(), there.descent.as_slice());
            memory.update(sample.manifold, (&p, &next), &step, descents);
            (p, here) = (next, there);
            failures = 0;
            damping = f64::min(1.0, 1.5 * damping);
        } else if !memory.clear() {
            failures += 1;
            damping *= 0.5;
        }
    }
    let radius = largest_dist(sample, &p, interrupt)?;
    let rounding = rounding_error(sample.manifold, radius, sample.count);
    let (_, upper) = sample.manifold.curvature_bounds();
    let unique = upper <= 0.0 || radius * upper.sqrt() < std::f64::consts::FRAC_PI_2;
    let unique = unique && 2.0 * radius < sample.manifold.injectivity_radius();
    // away from the manifold's origin the coordinates of the mean itself are known that well only
    let entries = sample.manifold.point_size() as f64;
    let place = 8.0 * entries * f64::EPSILON * sample.manifold.conditioning(&p);
    let gradient = here.gradient_norm + rounding + place;
    Ok(Estimate {
        certified_dist: if unique {
            certified_dist(sample.manifold, radius, gradient)
        } else {
            f64::INFINITY
        },
        converged: here.gradient_norm <= tolerance.max(10.0 * rounding),
        point: p,
        gradient_norm: here.gradient_norm,
        variance: here.mean_squared_dist,
        evaluations,
    })
}

/// Progress: a smaller gradient, or far from the minimum a smaller value of F.
fn improves(here: &Evaluation, there: &Evaluation) -> bool {
    let decrease = here.mean_squared_dist - there.mean_squared_dist;
    there.gradient_norm < here.gradient_norm
        || decrease > 0.5 * here.gradient_norm * here.gradient_norm / here.curvature
}

fn largest_dist(sample: &Sample, p: &[f64], interrupt: Interrupt) -> Result<f64, Error> {
    let mut dist = vec![0.0; sample.count];
    batch::dist(sample.manifold, Rows::shared(p), sample.points, &mut dist, interrupt)?;
    Ok(dist.iter().fold(0.0, |acc, &x| f64::max(acc, x)))
}
