//! The non-private fit: Gauss-Newton steps on the tangent bundle, damped where the energy would not fall
//! (Levenberg and Marquardt).
//!
//! The Gauss-Newton matrix mean J^T J, J = (c(R_{tv}), t g(R_{tv})), is block diagonal in the eigenspaces of
//! R_v: a 2 x 2 system for each eigenvalue. At v = 0 it is that of linear regression in the chart at p, so a
//! start at the Fréchet mean with v = 0 takes the linear regression in its chart as first step.

use super::energy::{Energy, energy};
use super::spectrum::Spectrum;
use super::{Geodesic, Sample};
use crate::error::Error;
use crate::manifold::Manifold;
use crate::parallel::Interrupt;
use crate::rows::Rows;

/// Damping at the first refused step, and by how much it changes.
const FIRST_DAMPING: f64 = 1e-3;
const DAMPING_FACTOR: f64 = 8.0;
const MAX_DAMPING: f64 = 1e12;

/// Energies closer than this, relatively, differ by rounding: the gradient decides.
const ENERGY_ROUNDING: f64 = 1e-14;

/// Steps that do not shorten the gradient after which rounding is taken to have been reached.
const PATIENCE: usize = 3;

/// Stopping rule and the geodesics allowed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Length of the gradient (both parts) at which to stop.
    pub tolerance: f64,
    /// Most evaluations of the energy.
    pub max_evaluations: usize,
    /// Largest length of the velocity; may be infinite.
    pub max_speed: f64,
}

/// A fitted geodesic.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The geodesic.
    pub geodesic: Geodesic,
    /// Its energy (1/2n) sum |e_i|^2.
    pub energy: f64,
    /// Length of the gradient (both parts), that of the part inside where the velocity is longest.
    pub gradient_norm: f64,
    /// Evaluations of the energy.
    pub evaluations: usize,
    /// True if the gradient reached the tolerance.
    pub converged: bool,
}

/// The geodesic of least energy near a start.
pub fn fit(
    sample: &Sample,
    start: Geodesic,
    limits: &Limits,
    interrupt: Interrupt,
) -> Result<Fit, Error> {
    let evaluate = |geodesic: &Geodesic| energy(sample, geodesic, f64::INFINITY, interrupt);
    let mut geodesic = start;
    let mut here = evaluate(&geodesic)?;
    let mut gradient_norm = free_gradient_norm(&geodesic, &here, limits);
    let mut best = (gradient_norm, geodesic.clone(), here.value);
    let (mut evaluations, mut damping, mut stalled) = (1, 0.0, 0);
    while best.0 > limits.tolerance && evaluations < limits.max_evaluations && stalled < PATIENCE {
        if evaluations > 1 && interrupt() {
            return Err(Error::Interrupted);
        }
        let next = step(sample.manifold, &geodesic, &here, damping, limits.max_speed);
        let there = evaluate(&next)?;
        let norm = free_gradient_norm(&next, &there, limits);
        evaluations += 1;
        let fall = here.value - there.value;
        let rounding = ENERGY_ROUNDING * here.value;
        if fall > rounding || (fall >= -rounding && norm < gradient_norm) {
            damping = if damping > FIRST_DAMPING { damping / DAMPING_FACTOR } else { 0.0 };
            (geodesic, here, gradient_norm) = (next, there, norm);
        } else {
            if fall.abs() <= rounding {
                stalled += 1;
            }
            damping = (damping * DAMPING_FACTOR).max(FIRST_DAMPING);
            if damping > MAX_DAMPING {
                break;
            }
        }
        if gradient_norm < best.0 || here.value < best.2 * (1.0 - ENERGY_ROUNDING) {
            best = (gradient_norm, geodesic.clone(), here.value);
        }
    }
    let (gradient_norm, geodesic, energy) = best;
    let converged = gradient_norm <= limits.tolerance;
    Ok(Fit { geodesic, energy, gradient_norm, evaluations, converged })
}

/// Length of the gradient; where the velocity is as long as allowed, without the part that pulls it
/// outward.
fn free_gradient_norm(geodesic: &Geodesic, energy: &Energy, limits: &Limits) -> f64 {
    let velocity = &geodesic.velocity;
    let speed = dot(velocity, velocity).sqrt();
    let mut square = dot(&energy.footpoint_gradient, &energy.footpoint_gradient)
        + dot(&energy.velocity_gradient, &energy.velocity_gradient);
    let along = dot(velocity, &energy.velocity_gradient) / speed;
    if speed >= limits.max_speed * (1.0 - 1e-12) && along < 0.0 {
        square -= along * along;
    }
    square.max(0.0).sqrt()
}

/// The geodesic after a damped Gauss-Newton step.
fn step(
    manifold: &dyn Manifold,
    geodesic: &Geodesic,
    energy: &Energy,
    damping: f64,
    max_speed: f64,
) -> Geodesic {
    let spectrum = Spectrum::new(manifold, &geodesic.velocity);
    let mut footpoint = spectrum.split(&energy.footpoint_gradient);
    let mut velocity = spectrum.split(&energy.velocity_gradient);
    let dim = geodesic.velocity.len();
    let parts = footpoint.chunks_exact_mut(dim).zip(velocity.chunks_exact_mut(dim));
    for ((footpoint, velocity), normal) in parts.zip(&energy.normal) {
        for (x, y) in footpoint.iter_mut().zip(velocity) {
            (*x, *y) = solve(*normal, damping, [-*x, -*y]);
        }
    }
    let mut change = spectrum.assemble(&velocity);
    change.iter_mut().zip(&geodesic.velocity).for_each(|(change, v)| *change += v);
    let mut next = moved(manifold, geodesic, &spectrum.assemble(&footpoint), &change);
    let speed = dot(&next.velocity, &next.velocity).sqrt();
    if speed > max_speed {
        next.velocity.iter_mut().for_each(|v| *v *= max_speed / speed);
    }
    next
}

/// The solution of ((a, b), (b, d)) x = y with the diagonal multiplied by 1 + damping; what no record
/// determines is left as it is.
fn solve([a, b, d]: [f64; 3], damping: f64, [x, y]: [f64; 2]) -> (f64, f64) {
    let floor = 1e-13 * (a + d);
    let (a, d) = (a * (1.0 + damping) + floor, d * (1.0 + damping) + floor);
    let determinant = a * d - b * b;
    if determinant > 0.0 {
        ((d * x - b * y) / determinant, (a * y - b * x) / determinant)
    } else {
        (0.0, 0.0)
    }
}

/// The geodesic at exp_p(shift) whose velocity is the given one carried there.
pub(super) fn moved(
    manifold: &dyn Manifold,
    geodesic: &Geodesic,
    shift: &[f64],
    velocity: &[f64],
) -> Geodesic {
    let size = manifold.point_size();
    let from = Rows::shared(&geodesic.footpoint);
    let mut footpoint = vec![0.0; size];
    let mut tangent = vec![0.0; size];
    let mut carried = vec![0.0; size];
    let mut coords = vec![0.0; velocity.len()];
    manifold.exp_coords(Rows::shared(shift), from, &mut footpoint);
    manifold.from_coords(Rows::shared(velocity), from, &mut tangent);
    let to = Rows::shared(&footpoint);
    manifold.parallel_transport(Rows::shared(&tangent), from, to, &mut carried);
    manifold.coords(Rows::shared(&carried), to, &mut coords);
    Geodesic { footpoint, velocity: coords }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
