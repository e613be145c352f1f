//! Random-walk Metropolis chains of the K-norm gradient: on the tangent bundle, velocities carried along, and
//! the published pair (Kulkarni and Soto 2025, appendix A): the footpoint with the velocity of an estimate
//! carried to it, then the velocity at that footpoint.
//!
//! A proposal on the tangent bundle moves p along a normal tangent vector, changes v by another and carries it
//! to the new footpoint. Transport is an isometry and the law of the shift depends on the curvature along it
//! alone, which is the same from both ends: proposals are symmetric with respect to the Sasaki volume.

use super::k_norm::{KNorm, carried};
use super::model::{Line, MAX, Model};
use super::{Geodesic, Sample, energy};
use crate::chains::Target;
use crate::manifold::Manifold;
use crate::moments::Range;
use crate::noise::Stream;
use crate::rejection::chart::length;
use crate::rows::Rows;

/// How much longer steps of the velocity are than those of the footpoint: 12 (h_+ - h_-)/2 against h_+ + h_-
/// where h_+- are the halves of the gradient on flat space, covariates spread evenly.
const SLOPE_STEP: f64 = 6.0;

/// Both gradients, in normal coordinates about a point: fast, in few dimensions.
struct Gradients {
    model: Model,
    longest: Range,
}

impl Gradients {
    /// None where the manifold has more dimensions than the model.
    fn about(origin: &[f64], sample: &Sample, max_residual: f64) -> Option<Self> {
        let dim = sample.manifold.dim();
        let longest = Range::new(max_residual, dim);
        (dim <= MAX).then(|| Self { model: Model::of(sample, origin), longest })
    }

    /// Where p = exp(a) and v is w carried there.
    fn at(&self, a: &[f64], w: &[f64]) -> [[f64; MAX]; 2] {
        let space = &self.model.space;
        let line = Line::new(space, &space.enter(a), &space.enter(w));
        self.model.gradients(&line, &self.longest)
    }
}

/// The walk on the tangent bundle towards the law of a K-norm gradient.
pub struct Walk<'a> {
    law: KNorm<'a>,
    gradients: Option<Gradients>,
}

impl<'a> Walk<'a> {
    /// With that law as its limit.
    #[must_use]
    pub fn new(law: KNorm<'a>) -> Self {
        let gradients = Gradients::about(law.support.center, &law.sample, law.max_residual);
        Self { law, gradients }
    }
}

impl Target for Walk<'_> {
    type State = Geodesic;

    fn log_density(&self, state: &mut Geodesic) -> f64 {
        let (law, manifold) = (&self.law, self.law.sample.manifold);
        let Some(gradients) = &self.gradients else {
            return law.log_density(state);
        };
        let mut a = [0.0; MAX];
        let a = &mut a[..manifold.dim()];
        let (center, footpoint) = (law.support.center, &state.footpoint);
        manifold.log_coords(Rows::shared(footpoint), Rows::shared(center), a);
        if length(a) > law.support.radius || length(&state.velocity) > law.support.max_speed {
            return f64::NEG_INFINITY;
        }
        let w = carried(manifold, &state.velocity, footpoint, center);
        let [g_p, g_v] = gradients.at(a, &w);
        -law.norm.of(&g_p, &g_v) / law.scale
    }

    fn propose(&self, from: &Geodesic, scale: f64, stream: &mut Stream, to: &mut Geodesic) -> f64 {
        let manifold = self.law.sample.manifold;
        let normal = |stream: &mut Stream, scale: f64| -> Vec<f64> {
            (0..manifold.dim()).map(|_| scale * stream.normal()).collect()
        };
        let shift = normal(stream, scale);
        let mut velocity = normal(stream, SLOPE_STEP * scale);
        if length(&shift) >= manifold.injectivity_radius() {
            return f64::NEG_INFINITY; // past the cut locus the way back is another one
        }
        velocity.iter_mut().zip(&from.velocity).for_each(|(x, v)| *x += v);
        moved(manifold, &from.footpoint, &shift, &mut to.footpoint);
        to.velocity = carried(manifold, &velocity, &from.footpoint, &to.footpoint);
        0.0
    }

    fn width(&self) -> usize {
        self.law.sample.manifold.point_size() + self.law.sample.manifold.dim()
    }

    fn describe(&self, state: &Geodesic, row: &mut [f64]) {
        let (footpoint, velocity) = row.split_at_mut(state.footpoint.len());
        footpoint.copy_from_slice(&state.footpoint);
        velocity.copy_from_slice(&state.velocity);
    }
}

/// The published law of the footpoint: exp(-|grad_p E(p, v)|/sigma), v that of `estimate` carried to p.
/// Residuals are not clipped and the footpoint may be anywhere.
pub struct Footpoint<'a> {
    sample: Sample<'a>,
    estimate: &'a Geodesic,
    scale: f64,
    gradients: Option<Gradients>,
}

impl<'a> Footpoint<'a> {
    /// With sigma = `scale`; `estimate` is the non-private fit.
    #[must_use]
    pub fn new(sample: Sample<'a>, estimate: &'a Geodesic, scale: f64) -> Self {
        let gradients = Gradients::about(&estimate.footpoint, &sample, f64::INFINITY);
        Self { sample, estimate, scale, gradients }
    }
}

/// The published law of the velocity at a footpoint: exp(-|grad_v E(p, v)|/sigma).
pub struct Shooting<'a> {
    sample: Sample<'a>,
    footpoint: &'a [f64],
    scale: f64,
    gradients: Option<Gradients>,
}

impl<'a> Shooting<'a> {
    /// At p = `footpoint`, with sigma = `scale`.
    #[must_use]
    pub fn new(sample: Sample<'a>, footpoint: &'a [f64], scale: f64) -> Self {
        let gradients = Gradients::about(footpoint, &sample, f64::INFINITY);
        Self { sample, footpoint, scale, gradients }
    }
}

impl Target for Footpoint<'_> {
    type State = Vec<f64>;

    fn log_density(&self, footpoint: &mut Vec<f64>) -> f64 {
        let Geodesic { footpoint: start, velocity } = self.estimate;
        if let Some(gradients) = &self.gradients {
            let mut a = [0.0; MAX];
            let a = &mut a[..velocity.len()];
            let manifold = self.sample.manifold;
            manifold.log_coords(Rows::shared(footpoint), Rows::shared(start), a);
            return -length(&gradients.at(a, velocity)[0]) / self.scale;
        }
        let velocity = carried(self.sample.manifold, velocity, start, footpoint);
        let at = Geodesic { footpoint: std::mem::take(footpoint), velocity };
        let norm = gradient_norms(&self.sample, &at).0;
        *footpoint = at.footpoint;
        -norm / self.scale
    }

    fn propose(&self, from: &Vec<f64>, scale: f64, stream: &mut Stream, to: &mut Vec<f64>) -> f64 {
        let manifold = self.sample.manifold;
        let mut shift = vec![0.0; manifold.dim()];
        uniform_in_ball(stream, scale, &mut shift);
        moved(manifold, from, &shift, to);
        0.0
    }

    fn width(&self) -> usize {
        self.sample.manifold.point_size()
    }

    fn describe(&self, state: &Vec<f64>, row: &mut [f64]) {
        row.copy_from_slice(state);
    }
}

impl Target for Shooting<'_> {
    type State = Vec<f64>;

    fn log_density(&self, velocity: &mut Vec<f64>) -> f64 {
        if let Some(gradients) = &self.gradients {
            return -length(&gradients.at(&[0.0; MAX][..velocity.len()], velocity)[1]) / self.scale;
        }
        let footpoint = self.footpoint.to_vec();
        let at = Geodesic { footpoint, velocity: std::mem::take(velocity) };
        let norm = gradient_norms(&self.sample, &at).1;
        *velocity = at.velocity;
        -norm / self.scale
    }

    fn propose(&self, from: &Vec<f64>, scale: f64, stream: &mut Stream, to: &mut Vec<f64>) -> f64 {
        uniform_in_ball(stream, scale, to);
        to.iter_mut().zip(from).for_each(|(x, v)| *x += v);
        0.0
    }

    fn width(&self) -> usize {
        self.sample.manifold.dim()
    }

    fn describe(&self, state: &Vec<f64>, row: &mut [f64]) {
        row.copy_from_slice(state);
    }
}

/// Lengths of both gradients, residuals as they are.
fn gradient_norms(sample: &Sample, geodesic: &Geodesic) -> (f64, f64) {
    match energy(sample, geodesic, f64::INFINITY, &|| false) {
        Ok(at) => (length(&at.footpoint_gradient), length(&at.velocity_gradient)),
        Err(_) => (f64::NAN, f64::NAN), // only an interrupt ends it early, and there is none
    }
}

/// exp_base(shift)
fn moved(manifold: &dyn Manifold, base: &[f64], shift: &[f64], end: &mut [f64]) {
    manifold.exp_coords(Rows::shared(shift), Rows::shared(base), end);
}

/// A point drawn uniformly from a ball about 0.
fn uniform_in_ball(stream: &mut Stream, radius: f64, out: &mut [f64]) {
    stream.fill_normal(out);
    let size = radius * stream.uniform_open().powf(1.0 / out.len() as f64) / length(out);
    out.iter_mut().for_each(|x| *x *= size);
}
