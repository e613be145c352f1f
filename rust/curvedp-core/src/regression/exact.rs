//! The K-norm gradient in normal coordinates of the tangent bundle, with bounds on boxes, for exact draws.

use std::cell::RefCell;

use super::Geodesic;
use super::k_norm::KNorm;
use super::least::{Least, Neighbourhood, Patch, least_norm};
use super::model::{Line, MAX, Model, Residuals, Vector};
use crate::error::Error;
use crate::manifold::Range;
use crate::mean::rounding_error;
use crate::noise::Stream;
use crate::parallel::Interrupt;
use crate::rejection::chart::{MAX_DIM, lengths, log_mean_exp};
use crate::rejection::{self, Bound, Bounded, Exponent};
use crate::vector::length;

/// The density of (a, w), p = exp_c(a), v = w carried from c, with respect to Lebesgue measure; a and w along
/// the axes of the space's factors.
pub(super) struct Chart<'a> {
    law: &'a KNorm<'a>,
    pub(super) model: Model,
    longest: Range,
    /// Twice the rounding of a residual.
    room: f64,
    work: RefCell<Vec<Residuals>>,
}

/// Draws independent geodesics on a lattice of normal coordinates, steps at most `step`, exactly, and returns them with the
/// number of gradients computed.
///
/// # Errors
/// [`Error::Parameter`] if the tangent bundle has more than [`MAX_DIM`] dimensions; [`Error::Interrupted`].
pub fn sample_k_norm(
    law: &KNorm,
    step: f64,
    count: usize,
    stream: &mut Stream,
    interrupt: Interrupt,
) -> Result<(Vec<Geodesic>, usize), Error> {
    let dim = 2 * law.sample.manifold.dim();
    if dim > MAX_DIM {
        let allowed = "at most 6 for exact draws";
        let value = dim as f64;
        return Err(Error::Parameter { name: "dimension of the tangent bundle", allowed, value });
    }
    let chart = Chart::new(law);
    let (points, evaluations) = rejection::sample(&chart, step, count, stream, interrupt)?;
    Ok((points.iter().map(|point| chart.geodesic(point)).collect(), evaluations))
}

impl<'a> Chart<'a> {
    pub(super) fn new(law: &'a KNorm<'a>) -> Self {
        let model = Model::of(&law.sample, law.support.center);
        let (manifold, support) = (law.sample.manifold, &law.support);
        let longest = Range::new(law.max_residual, manifold.dim());
        // no residual is longer than 2 r + V/2
        let reach = support.radius + 0.25 * support.max_speed;
        let room = 2.0 * rounding_error(manifold, reach, law.sample.times.len());
        Self { law, model, longest, room, work: RefCell::default() }
    }

    /// a and w of a point of the chart.
    fn split(&self, point: &[f64]) -> [Vector; 2] {
        let dim = self.model.space.dim();
        [&point[..dim], &point[dim..]].map(|part| {
            let mut vector = [0.0; MAX];
            vector[..dim].copy_from_slice(part);
            vector
        })
    }

    /// The geodesic at a point of the chart.
    pub(super) fn geodesic(&self, point: &[f64]) -> Geodesic {
        let parts = self.split(point);
        let coords = parts.map(|part| self.model.space.leave(&part)).concat();
        self.law.support.geodesic(self.law.sample.manifold, &coords)
    }

    /// Affine lower bound of the norm of the gradients on the part of a box in the support, its value that at
    /// the centre.
    pub(super) fn least_norm(&self, center: &[f64], half: &[f64]) -> Least {
        let (space, support) = (&self.model.space, &self.law.support);
        let limits = [support.radius, support.max_speed];
        let (center, half) = (self.split(center), self.split(half));
        let inner: [Vector; 2] = std::array::from_fn(|i| shortened(&center[i], limits[i]));
        let farthest = std::array::from_fn(|i| {
            let parts = (space.curved_part(&center[i]), space.curved_part(&half[i]));
            lengths(parts.0, parts.1).1.min(limits[i])
        });
        let patch = Patch { half: [&half[0], &half[1]], centred: inner == center, farthest };
        let around = Neighbourhood::new(space, &patch, self.law.max_residual);
        let line = Line::new(space, &inner[0], &inner[1]);
        let work = &mut self.work.borrow_mut();
        let mut least = least_norm(&self.model, self.law.norm, &line, &around, self.room, work);
        for (slope, (center, inner)) in least.slope.iter().zip(center.iter().zip(&inner)) {
            let steps = slope.iter().zip(center.iter().zip(inner));
            least.value += steps.map(|(s, (c, i))| s * (c - i)).sum::<f64>();
        }
        least
    }
}

/// The vector at a length of at most `limit`: no vector that short is farther from it than from `x`.
fn shortened(x: &Vector, limit: f64) -> Vector {
    let length = length(x);
    if length > limit { x.map(|x| x * (limit / length)) } else { *x }
}

impl Bounded for Chart<'_> {
    fn extent(&self) -> Vec<f64> {
        let dim = self.model.space.dim();
        let support = &self.law.support;
        [vec![support.radius; dim], vec![support.max_speed; dim]].concat()
    }

    fn scale(&self) -> f64 {
        self.law.scale
    }

    fn exponent(&self, point: &[f64]) -> Option<Exponent> {
        let (space, support) = (&self.model.space, &self.law.support);
        let [a, w] = self.split(point);
        let inside = length(&a) <= support.radius && length(&w) <= support.max_speed;
        inside.then(|| {
            let line = Line::new(space, &a, &w);
            let [g_p, g_v] = self.model.gradients(&line, &self.longest);
            let norm = self.law.norm.of(&g_p, &g_v);
            Exponent { volume: space.log_jacobian(length(space.curved_part(&a))), norm }
        })
    }

    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound> {
        let (space, support) = (&self.model.space, &self.law.support);
        let dim = space.dim();
        let ranges = [0, dim].map(|i| lengths(&center[i..i + dim], &half[i..i + dim]));
        if ranges[0].0 > support.radius || ranges[1].0 > support.max_speed {
            return None;
        }
        let scale = self.law.scale;
        let least = self.least_norm(center, half);
        let mut slope = [0.0; MAX_DIM];
        let slopes = least.slope.iter().flat_map(|slope| &slope[..dim]);
        slope.iter_mut().zip(slopes).for_each(|(to, from)| *to = -from / scale);
        let mut height = -least.value / scale;
        // 0 is a lower bound, too
        if height + log_mean_exp(&slope, half) >= 0.0 {
            (height, slope) = (0.0, [0.0; MAX_DIM]);
        }
        let curved = lengths(&center[space.flat..dim], &half[space.flat..dim]);
        let widest = if space.is_hyperbolic() { curved.1.min(support.radius) } else { curved.0 };
        let log_density = height + space.log_jacobian(widest) + 1e-12;
        // halving a coordinate takes its share of the square of the half diagonal
        let square = |i: usize| half[i..i + dim].iter().map(|h| h * h).sum::<f64>();
        let weights = [least.loss[0] / square(0), least.loss[1] / square(dim)];
        let gain = |i: usize| weights[i / dim] * half[i] * half[i];
        let axis = (0..2 * dim).max_by(|i, j| gain(*i).total_cmp(&gain(*j))).unwrap_or(0);
        Some(Bound { log_density, slope, axis })
    }
}
