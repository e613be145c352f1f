//! How fast the gradients change along the tangent bundle: the modulus of continuity of their norm in normal
//! coordinates (a, w), p = exp_c(a), v = w carried from c.
//!
//! |N(a', w') - N(a, w)| <= A |a' - a| + W |w' - w| for all (a, w), (a', w') with |a| <= rho, |w| <= omega in
//! the support, with k the largest absolute value of a sectional curvature, k_- that of the negative ones,
//! C = cosh x, G = sinh(x)/x, x = √k_- omega/2, S = sinh(√k_- rho)/(√k_- rho) and m_j the mean of |t_i|^j:
//!
//! A = S (P + k rho omega W/2),    P = c C (K + tau k omega m_1),
//! W = c G (K m_1 + tau k omega m_2/2) + √(2k) tau D m_1.
//!
//! K bounds the derivative of a clipped residual, D those of the Jacobi fields, c is the factor of one record
//! in the norm. Proof: docs/proofs/geodesic-regression.md, Lemma 5. It uses that the curvature is constant but
//! for flat factors, as it is on all spaces of dimension up to 3.

use crate::elementary::{cosh, sinhc};
use crate::manifold::Manifold;
use crate::rejection::chart::{residual_rate, spread};

/// Everything that the modulus depends on besides the part of the support.
#[derive(Clone, Copy)]
pub struct Modulus<'a> {
    manifold: &'a dyn Manifold,
    /// Square root of the largest absolute curvature.
    root: f64,
    /// The same of the negative curvatures.
    negative_root: f64,
    max_residual: f64,
    /// Radius of the ball of the records.
    radius: f64,
    /// Largest norm that a residual of length 1 may add.
    factor: f64,
    /// Means of |t| and t^2.
    moments: [f64; 2],
}

impl<'a> Modulus<'a> {
    /// Of records in a ball, seen at `times`.
    pub fn new(
        manifold: &'a dyn Manifold,
        times: &[f64],
        radius: f64,
        max_residual: f64,
        factor: f64,
    ) -> Self {
        let (lower, upper) = manifold.curvature_bounds();
        let mean = |f: &dyn Fn(f64) -> f64| {
            times.iter().map(|t| f(*t)).sum::<f64>() / times.len() as f64 * (1.0 + 1e-9)
        };
        Self {
            manifold,
            root: lower.abs().max(upper.abs()).sqrt(),
            negative_root: (-lower).max(0.0).sqrt(),
            max_residual,
            radius,
            factor,
            moments: [mean(&f64::abs), mean(&|t| t * t)],
        }
    }

    /// (A, W) where |a| <= `shift` and |w| <= `speed`.
    pub fn rates(&self, shift: f64, speed: f64) -> (f64, f64) {
        let [m_1, m_2] = self.moments;
        let k = self.root * self.root;
        let x = 0.5 * speed * self.negative_root;
        let (c, g) = (cosh(x), sinhc(x));
        let spread = spread(self.manifold, shift);
        let reach = shift + 0.5 * speed + self.radius;
        let residual = residual_rate(self.manifold, self.max_residual, reach);
        let bending = self.max_residual * k * speed;
        let turning = std::f64::consts::SQRT_2 * self.root * self.max_residual;
        let footpoint = self.factor * c * (residual + bending * m_1);
        let velocity = self.factor * g * (residual * m_1 + 0.5 * bending * m_2)
            + turning * self.field_rate(0.5 * speed) * m_1;
        let carried = 0.5 * k * shift * speed * velocity;
        (spread * (footpoint + carried) * SLACK, velocity * SLACK)
    }

    /// D: largest |c'| + |g'| along geodesics up to `dist` long.
    fn field_rate(&self, dist: f64) -> f64 {
        let x = self.root * dist;
        if self.negative_root > 0.0 { 1.5 * x * sinhc(x) } else { x.min(1.0) + (x / 3.0).min(0.5) }
    }
}

/// Covers the rounding of the constants and of the values they are applied to.
const SLACK: f64 = 1.0 + 1e-9;
