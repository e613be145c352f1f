//! The K-norm gradient in normal coordinates of the tangent bundle, with bounds on boxes: what exact draws need.

use std::cell::RefCell;

use super::Geodesic;
use super::k_norm::KNorm;
use super::least::{Affine, Neighbourhood, Work, least_norm};
use crate::error::Error;
use crate::manifold::log_jacobian;
use crate::noise::Stream;
use crate::parallel::Interrupt;
use crate::rejection::chart::{MAX_DIM, largest_log_jacobian, length, lengths, shortened};
use crate::rejection::{self, Bound, Bounded, log_mean_exp};

/// The density of (a, w), p = exp_c(a), v = w carried from c, with respect to Lebesgue measure.
pub(super) struct Chart<'a> {
    law: &'a KNorm<'a>,
    /// Mean of |t|.
    mean_time: f64,
    work: RefCell<Work>,
}

/// Draws independent geodesics exactly, and tells how many gradients that took.
///
/// # Errors
/// [`Error::Parameter`] if the tangent bundle has more than [`MAX_DIM`] dimensions; [`Error::Interrupted`].
pub fn sample_k_norm(
    law: &KNorm,
    count: usize,
    stream: &mut Stream,
    interrupt: Interrupt,
) -> Result<(Vec<Geodesic>, usize), Error> {
    let manifold = law.sample.manifold;
    let dim = 2 * manifold.dim();
    if dim > MAX_DIM {
        let allowed = "at most 6 for exact draws";
        let value = dim as f64;
        return Err(Error::Parameter { name: "dimension of the tangent bundle", allowed, value });
    }
    let (points, evaluations) = rejection::sample(&Chart::new(law), count, stream, interrupt)?;
    let geodesics = points.iter().map(|coords| law.support.geodesic(manifold, coords));
    Ok((geodesics.collect(), evaluations))
}

impl<'a> Chart<'a> {
    pub(super) fn new(law: &'a KNorm<'a>) -> Self {
        let times = law.sample.times;
        let mean_time = times.iter().map(|t| t.abs()).sum::<f64>() / times.len() as f64;
        Self { law, mean_time, work: RefCell::default() }
    }

    /// Affine lower bound of the norm of the gradients on the part of a box in the support, its value that at
    /// the centre.
    pub(super) fn least_norm(&self, center: &[f64], half: &[f64]) -> Affine {
        let support = &self.law.support;
        let (a, w) = center.split_at(center.len() / 2);
        let (half_a, half_w) = half.split_at(half.len() / 2);
        // the projection on a ball brings no point of the ball farther away
        let inner = [shortened(a, support.radius), shortened(w, support.max_speed)].concat();
        let at = support.geodesic(self.law.sample.manifold, &inner);
        let around = Neighbourhood::new(
            self.law.sample.manifold,
            (lengths(a, half_a).1.min(support.radius), lengths(w, half_w).1.min(support.max_speed)),
            (length(half_a), length(half_w)),
            (support.radius, self.law.max_residual),
        );
        let Affine { value, slope } =
            least_norm(self.law, &at, &around, &mut self.work.borrow_mut());
        let steps = center.iter().zip(&inner).zip(&slope).map(|((c, i), s)| s * (c - i));
        Affine { value: value + steps.sum::<f64>(), slope }
    }
}

impl Bounded for Chart<'_> {
    fn extent(&self) -> Vec<f64> {
        let dim = self.law.sample.manifold.dim();
        let support = &self.law.support;
        [vec![support.radius; dim], vec![support.max_speed; dim]].concat()
    }

    fn log_density(&self, point: &[f64]) -> Option<f64> {
        let (manifold, support) = (self.law.sample.manifold, &self.law.support);
        let (a, w) = point.split_at(point.len() / 2);
        let inside = length(a) <= support.radius && length(w) <= support.max_speed;
        inside.then(|| {
            let norm = self.law.norm(&support.geodesic(manifold, point));
            -norm / self.law.scale + log_jacobian(manifold, a)
        })
    }

    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound> {
        let (manifold, support) = (self.law.sample.manifold, &self.law.support);
        let dim = center.len() / 2;
        let (nearest, farthest) = lengths(&center[..dim], &half[..dim]);
        if nearest > support.radius || lengths(&center[dim..], &half[dim..]).0 > support.max_speed {
            return None;
        }
        let scale = self.law.scale;
        let least = self.least_norm(center, half);
        let mut slope = [0.0; MAX_DIM];
        slope.iter_mut().zip(&least.slope).for_each(|(to, from)| *to = -from / scale);
        let mut height = -least.value / scale;
        // 0 is a lower bound, too
        if height + log_mean_exp(&slope, half) >= 0.0 {
            (height, slope) = (0.0, [0.0; MAX_DIM]);
        }
        let log_density = height + largest_log_jacobian(manifold, farthest.min(support.radius));
        let cost = |j: usize| if j < dim { half[j] } else { self.mean_time.max(0.05) * half[j] };
        let axis = (0..2 * dim).max_by(|i, j| cost(*i).total_cmp(&cost(*j))).unwrap_or(0);
        Some(Bound { log_density, slope, axis })
    }
}
