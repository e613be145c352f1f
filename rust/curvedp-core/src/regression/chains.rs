//! Random-walk Metropolis chains of the K-norm gradient: on the tangent bundle, velocities carried along, and
//! the published pair (Kulkarni and Soto 2025, appendix A): the footpoint with the velocity of an estimate
//! carried to it, then the velocity at that footpoint.
//!
//! A proposal on the tangent bundle moves p along a normal tangent vector, changes v by another and carries it
//! to the new footpoint. Transport is an isometry and the law of the shift depends on the curvature along it
//! alone, which is the same from both ends: proposals are symmetric with respect to the Sasaki volume.

use super::k_norm::{KNorm, carried};
use super::{Geodesic, Sample, energy};
use crate::chains::Target;
use crate::manifold::Manifold;
use crate::noise::Stream;
use crate::rejection::chart::length;
use crate::rows::Rows;

/// How much longer steps of the velocity are than those of the footpoint: 12 (h_+ - h_-)/2 against h_+ + h_-
/// where h_+- are the halves of the gradient on flat space, covariates spread evenly.
const SLOPE_STEP: f64 = 6.0;

impl Target for KNorm<'_> {
    type State = Geodesic;

    fn log_density(&self, state: &mut Geodesic) -> f64 {
        KNorm::log_density(self, state)
    }

    fn propose(&self, from: &Geodesic, scale: f64, stream: &mut Stream, to: &mut Geodesic) -> f64 {
        let manifold = self.sample.manifold;
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
        self.sample.manifold.point_size() + self.sample.manifold.dim()
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
    /// The records.
    pub sample: Sample<'a>,
    /// The non-private fit.
    pub estimate: &'a Geodesic,
    /// sigma
    pub scale: f64,
}

/// The published law of the velocity at a footpoint: exp(-|grad_v E(p, v)|/sigma).
pub struct Shooting<'a> {
    /// The records.
    pub sample: Sample<'a>,
    /// p
    pub footpoint: &'a [f64],
    /// sigma
    pub scale: f64,
}

impl Target for Footpoint<'_> {
    type State = Vec<f64>;

    fn log_density(&self, footpoint: &mut Vec<f64>) -> f64 {
        let Geodesic { footpoint: start, velocity } = self.estimate;
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
