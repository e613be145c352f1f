//! The K-norm gradient on the tangent bundle: the law of (p, v) with density exp(-N(grad E)/sigma) with respect
//! to the Sasaki volume of {p in B(c, r), |v| <= V} (Reimherr and Awan 2019; Soto et al. 2022; Kulkarni and
//! Soto 2025, both gradients at once).

use super::{Geodesic, Sample, energy};
use crate::manifold::Manifold;
use crate::rows::Rows;
use crate::vector::length;

/// A norm of both gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GradientNorm {
    /// |g_p/2 + g_v| + |g_p/2 - g_v|
    SumOfNorms,
    /// sqrt(|g_p|^2 + s^2 |g_v|^2)
    Weighted {
        /// s
        slope_weight: f64,
    },
}

impl GradientNorm {
    /// The norm of a pair of gradients.
    #[must_use]
    pub fn of(self, g_p: &[f64], g_v: &[f64]) -> f64 {
        let square = |x: f64| x * x;
        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            g_p.iter().zip(g_v).map(|(p, v)| f(*p, *v)).sum::<f64>().sqrt()
        };
        match self {
            Self::SumOfNorms => sum(&|p, v| square(0.5 * p + v)) + sum(&|p, v| square(0.5 * p - v)),
            Self::Weighted { slope_weight } => sum(&|p, v| p * p + square(slope_weight * v)),
        }
    }
}

/// The law of the K-norm gradient, up to a constant.
#[derive(Clone, Copy)]
pub struct KNorm<'a> {
    /// The records.
    pub sample: Sample<'a>,
    /// The norm of the gradients.
    pub norm: GradientNorm,
    /// Length tau at which residuals are clipped.
    pub max_residual: f64,
    /// sigma.
    pub scale: f64,
    /// The geodesics allowed.
    pub support: Support<'a>,
}

/// The geodesics exp_p(t v) with p in B(c, r) and |v| <= V.
#[derive(Clone, Copy)]
pub struct Support<'a> {
    /// c
    pub center: &'a [f64],
    /// r
    pub radius: f64,
    /// V
    pub max_speed: f64,
}

impl KNorm<'_> {
    /// Norm of the gradients at a geodesic.
    #[must_use]
    pub fn norm(&self, geodesic: &Geodesic) -> f64 {
        match energy(&self.sample, geodesic, self.max_residual, &|| false) {
            Ok(at) => self.norm.of(&at.footpoint_gradient, &at.velocity_gradient),
            Err(_) => f64::NAN, // only an interrupt ends it early, and there is none
        }
    }

    /// Log density with respect to the Sasaki volume; minus infinity outside the support.
    #[must_use]
    pub fn log_density(&self, geodesic: &Geodesic) -> f64 {
        if self.support.contains(self.sample.manifold, geodesic) {
            -self.norm(geodesic) / self.scale
        } else {
            f64::NEG_INFINITY
        }
    }
}

impl Support<'_> {
    /// True if a geodesic belongs to it.
    #[must_use]
    pub fn contains(&self, manifold: &dyn Manifold, geodesic: &Geodesic) -> bool {
        let mut dist = [f64::NAN];
        let footpoint = Rows::shared(&geodesic.footpoint);
        manifold.dist(Rows::shared(self.center), footpoint, &mut dist);
        dist[0] <= self.radius && length(&geodesic.velocity) <= self.max_speed
    }

    /// The geodesic with normal coordinates (a, w): p = exp_c(a), v is w carried there from c.
    #[must_use]
    pub fn geodesic(&self, manifold: &dyn Manifold, coords: &[f64]) -> Geodesic {
        let (a, w) = coords.split_at(coords.len() / 2);
        let origin = Rows::shared(self.center);
        let mut footpoint = vec![0.0; manifold.point_size()];
        manifold.exp_coords(Rows::shared(a), origin, &mut footpoint);
        let velocity = carried(manifold, w, self.center, &footpoint);
        Geodesic { footpoint, velocity }
    }
}

/// Coordinates at `end` of the tangent vector at `base` carried along the shortest geodesic.
#[must_use]
pub fn carried(manifold: &dyn Manifold, coords: &[f64], base: &[f64], end: &[f64]) -> Vec<f64> {
    let mut tangent = vec![0.0; manifold.point_size()];
    let mut moved = vec![0.0; manifold.point_size()];
    let mut result = vec![0.0; coords.len()];
    let (from, to) = (Rows::shared(base), Rows::shared(end));
    manifold.from_coords(Rows::shared(coords), from, &mut tangent);
    manifold.parallel_transport(Rows::shared(&tangent), from, to, &mut moved);
    manifold.coords(Rows::shared(&moved), to, &mut result);
    result
}
