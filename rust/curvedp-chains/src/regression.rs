//! Random-walk Metropolis chains of the K-norm gradient: on the tangent bundle, velocities carried along, and
//! the published pair (Kulkarni and Soto 2025, appendix A): the footpoint with the velocity of an estimate
//! carried to it, then the velocity at that footpoint.
//!
//! A proposal on the tangent bundle moves p along a normal tangent vector, changes v by another and carries it
//! to the new footpoint. Transport is an isometry and the law of the shift depends on the curvature along it
//! alone, which is the same from both ends: proposals are symmetric with respect to the Sasaki volume.

use super::Target;
use curvedp_core::manifold::Manifold;
use curvedp_core::noise::Stream;
use curvedp_core::regression::{Geodesic, Gradients, KNorm, Sample, Vector, carried, energy};
use curvedp_core::rows::Rows;
use curvedp_core::vector::length;

/// Ratio of the steps of the velocity to those of the footpoint: 12 (h_+ - h_-)/2 against h_+ + h_-
/// where h_+- are the halves of the gradient on flat space, covariates spread evenly.
const SLOPE_STEP: f64 = 6.0;

/// These entries, zeros behind them.
fn vector(entries: &[f64]) -> Vector {
    let mut vector = Vector::default();
    vector[..entries.len()].copy_from_slice(entries);
    vector
}

/// The walk on the tangent bundle towards the law of a K-norm gradient. In few dimensions its states hold
/// normal coordinates (a, w) instead of footpoint and velocity.
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

    /// The state at the geodesic with these normal coordinates, orthonormal ones of the manifold.
    #[must_use]
    pub fn state(&self, coords: &[f64]) -> Geodesic {
        let manifold = self.law.sample.manifold;
        let Some(gradients) = &self.gradients else {
            return self.law.support.geodesic(manifold, coords);
        };
        let (a, w) = coords.split_at(manifold.dim());
        let [footpoint, velocity] = [a, w].map(|x| gradients.enter(x)[..a.len()].to_vec());
        Geodesic { footpoint, velocity }
    }
}

impl Target for Walk<'_> {
    type State = Geodesic;

    fn log_density(&self, state: &mut Geodesic) -> f64 {
        let (law, support) = (&self.law, &self.law.support);
        let Some(gradients) = &self.gradients else {
            return law.log_density(state);
        };
        let Geodesic { footpoint: a, velocity: w } = state;
        if length(a) > support.radius || length(w) > support.max_speed {
            return f64::NEG_INFINITY;
        }
        let [g_p, g_v] = gradients.at(&vector(a), &vector(w));
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
        if let Some(gradients) = &self.gradients {
            let (a, shift) = (vector(&from.footpoint), vector(&shift));
            let b = gradients.moved(&a, &shift);
            let w = gradients.around(&a, &shift, &b, &vector(&velocity));
            to.footpoint.copy_from_slice(&b[..manifold.dim()]);
            to.velocity.copy_from_slice(&w[..manifold.dim()]);
            return 0.0;
        }
        moved(manifold, &from.footpoint, &shift, &mut to.footpoint);
        to.velocity = carried(manifold, &velocity, &from.footpoint, &to.footpoint);
        0.0
    }

    fn width(&self) -> usize {
        self.law.sample.manifold.point_size() + self.law.sample.manifold.dim()
    }

    fn describe(&self, state: &Geodesic, row: &mut [f64]) {
        let manifold = self.law.sample.manifold;
        let mut write = |Geodesic { footpoint, velocity }: &Geodesic| {
            let (to_footpoint, to_velocity) = row.split_at_mut(footpoint.len());
            to_footpoint.copy_from_slice(footpoint);
            to_velocity.copy_from_slice(velocity);
        };
        match &self.gradients {
            Some(gradients) => {
                let parts = [&state.footpoint, &state.velocity];
                let coords = parts.map(|part| gradients.leave(part)).concat();
                write(&self.law.support.geodesic(manifold, &coords));
            }
            None => write(state),
        }
    }
}

/// The published law of the footpoint: exp(-|grad_p E(p, v)|/sigma), v that of `estimate` carried to p.
/// Residuals are not clipped and the footpoint may be anywhere. In few dimensions states are normal
/// coordinates about the estimate.
pub struct Footpoint<'a> {
    sample: Sample<'a>,
    estimate: &'a Geodesic,
    scale: f64,
    gradients: Option<Gradients>,
    velocity: Vector,
}

impl<'a> Footpoint<'a> {
    /// With sigma = `scale`; `estimate` is the non-private fit.
    #[must_use]
    pub fn new(sample: Sample<'a>, estimate: &'a Geodesic, scale: f64) -> Self {
        let gradients = Gradients::about(&estimate.footpoint, &sample, f64::INFINITY);
        let enter = |gradients: &Gradients| gradients.enter(&estimate.velocity);
        let velocity = gradients.as_ref().map_or(Vector::default(), enter);
        Self { sample, estimate, scale, gradients, velocity }
    }

    /// The state at the estimate.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        match self.gradients {
            Some(_) => vec![0.0; self.estimate.velocity.len()],
            None => self.estimate.footpoint.clone(),
        }
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

    fn log_density(&self, state: &mut Vec<f64>) -> f64 {
        if let Some(gradients) = &self.gradients {
            return -length(&gradients.at(&vector(state), &self.velocity)[0]) / self.scale;
        }
        let Geodesic { footpoint: start, velocity } = self.estimate;
        let velocity = carried(self.sample.manifold, velocity, start, state);
        let at = Geodesic { footpoint: std::mem::take(state), velocity };
        let norm = gradient_norms(&self.sample, &at).0;
        *state = at.footpoint;
        -norm / self.scale
    }

    fn propose(&self, from: &Vec<f64>, scale: f64, stream: &mut Stream, to: &mut Vec<f64>) -> f64 {
        let manifold = self.sample.manifold;
        if let Some(gradients) = &self.gradients {
            let mut shift = Vector::default();
            uniform_in_ball(stream, scale, &mut shift[..from.len()]);
            let end = gradients.moved(&vector(from), &shift);
            to.copy_from_slice(&end[..from.len()]);
            return 0.0;
        }
        let mut shift = vec![0.0; manifold.dim()];
        uniform_in_ball(stream, scale, &mut shift);
        moved(manifold, from, &shift, to);
        0.0
    }

    fn width(&self) -> usize {
        self.sample.manifold.point_size()
    }

    fn describe(&self, state: &Vec<f64>, row: &mut [f64]) {
        match &self.gradients {
            Some(gradients) => {
                let origin = &self.estimate.footpoint;
                moved(self.sample.manifold, origin, &gradients.leave(state), row);
            }
            None => row.copy_from_slice(state),
        }
    }
}

impl Target for Shooting<'_> {
    type State = Vec<f64>;

    fn log_density(&self, velocity: &mut Vec<f64>) -> f64 {
        if let Some(gradients) = &self.gradients {
            let velocity = gradients.enter(velocity);
            return -length(&gradients.at(&Vector::default(), &velocity)[1]) / self.scale;
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
