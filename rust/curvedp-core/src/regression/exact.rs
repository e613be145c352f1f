//! The K-norm gradient in normal coordinates of the tangent bundle, with bounds on boxes: what exact draws need.

use super::Geodesic;
use super::k_norm::KNorm;
use super::lipschitz::Modulus;
use crate::error::Error;
use crate::manifold::log_jacobian;
use crate::noise::Stream;
use crate::parallel::Interrupt;
use crate::rejection::chart::{MAX_DIM, largest_log_jacobian, length, lengths, shortened};
use crate::rejection::{self, Bound, Bounded};

/// The density of (a, w), p = exp_c(a), v = w carried from c, with respect to Lebesgue measure.
pub(super) struct Chart<'a> {
    pub(super) law: &'a KNorm<'a>,
    pub(super) modulus: Modulus<'a>,
}

/// Draws a geodesic exactly, and tells how many gradients that took. `factor` is the largest norm that a
/// residual of length 1 adds to the norm of the gradients, times the number of records.
///
/// # Errors
/// [`Error::Parameter`] if the tangent bundle has more than [`MAX_DIM`] dimensions; [`Error::Interrupted`].
pub fn sample_k_norm(
    law: &KNorm,
    factor: f64,
    stream: &mut Stream,
    interrupt: Interrupt,
) -> Result<(Geodesic, usize), Error> {
    let (manifold, times) = (law.sample.manifold, law.sample.times);
    let dim = 2 * manifold.dim();
    if dim > MAX_DIM {
        let allowed = "at most 6 for exact draws";
        let value = dim as f64;
        return Err(Error::Parameter { name: "dimension of the tangent bundle", allowed, value });
    }
    let modulus = Modulus::new(manifold, times, law.support.radius, law.max_residual, factor);
    let (coords, evaluations) = rejection::sample(&Chart { law, modulus }, stream, interrupt)?;
    Ok((law.support.geodesic(manifold, &coords), evaluations))
}

impl Chart<'_> {
    /// Log density at a point of the support.
    fn value(&self, coords: &[f64]) -> f64 {
        let manifold = self.law.sample.manifold;
        let norm = self.law.norm(&self.law.support.geodesic(manifold, coords));
        -norm / self.law.scale + log_jacobian(manifold, &coords[..coords.len() / 2])
    }
}

impl Bounded for Chart<'_> {
    fn extent(&self) -> Vec<f64> {
        let dim = self.law.sample.manifold.dim();
        let support = &self.law.support;
        [vec![support.radius; dim], vec![support.max_speed; dim]].concat()
    }

    fn log_density(&self, point: &[f64]) -> Option<f64> {
        let (a, w) = point.split_at(point.len() / 2);
        let inside =
            length(a) <= self.law.support.radius && length(w) <= self.law.support.max_speed;
        inside.then(|| self.value(point))
    }

    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound> {
        let dim = center.len() / 2;
        let support = &self.law.support;
        let (a, w) = center.split_at(dim);
        let (half_a, half_w) = half.split_at(dim);
        let (nearest, farthest) = lengths(a, half_a);
        let (slowest, fastest) = lengths(w, half_w);
        if nearest > support.radius || slowest > support.max_speed {
            return None;
        }
        // the projection on a ball brings no point of the ball farther away
        let inner = [shortened(a, support.radius), shortened(w, support.max_speed)].concat();
        let norm = self.law.norm(&support.geodesic(self.law.sample.manifold, &inner));
        let (shift, speed) = (farthest.min(support.radius), fastest.min(support.max_speed));
        let (rate_a, rate_w) = self.modulus.rates(shift, speed);
        let slack = rate_a * length(half_a) + rate_w * length(half_w);
        let least = (norm * (1.0 - 1e-9) - slack).max(0.0);
        let log_density =
            -least / self.law.scale + largest_log_jacobian(self.law.sample.manifold, shift);
        let cost = |j: usize| if j < dim { rate_a * half[j] } else { rate_w * half[j] };
        let axis = (0..2 * dim).max_by(|i, j| cost(*i).total_cmp(&cost(*j))).unwrap_or(0);
        Some(Bound { log_density, axis })
    }
}
