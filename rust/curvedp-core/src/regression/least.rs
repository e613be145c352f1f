//! Lower bounds of the norm of the gradients around a geodesic.
//!
//! Let N be the norm at (p, v) and m, q dual vectors: N = <m, g_p> + <q, g_v>, the sum over records of
//! -<w_i, u_i>/n with w_i = c(R)m + t_i g(R)q. At any other (p', v') N is at least the same sum with m and q
//! carried along, and record by record u_i turns or shortens only as far as its residual and the way of its
//! prediction allow, w_i as far as the Jacobi fields change. Rotations that all residuals make together cost
//! nothing to first order: that is what keeps boxes large far from the data.
//!
//! Proof: docs/proofs/geodesic-regression.md, Lemma 5. It uses that the curvature is constant but for flat
//! factors, as it is on all spaces of dimension up to 3.

use super::Geodesic;
use super::k_norm::{GradientNorm, KNorm};
use super::spectrum::{Spectrum, jacobi_fields};
use crate::elementary::{cosh, sinhc};
use crate::manifold::Manifold;
use crate::moments::Range;
use crate::rejection::chart::{Clipped, length, spread};

/// How far a geodesic of a box may be from that in its middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbourhood {
    /// Way of the footpoint.
    shift: f64,
    /// Change of the velocity, carried along.
    change: f64,
    /// Largest |v|.
    speed: f64,
    /// Bounds C and G on Jacobi fields.
    start: f64,
    field: f64,
    /// Largest |c'| and |g'|.
    start_rate: f64,
    field_rate: f64,
    /// Square root of the largest absolute curvature.
    root: f64,
    clipped: Clipped,
}

impl Neighbourhood {
    /// Of the geodesics with normal coordinates |a| <= `farthest`, |w| <= `speed`, at most `half_a` and
    /// `half_w` from one of them; records in a ball of radius `radius`.
    pub(super) fn new(
        manifold: &dyn Manifold,
        (farthest, speed): (f64, f64),
        (half_a, half_w): (f64, f64),
        (radius, tau): (f64, f64),
    ) -> Self {
        let (lower, upper) = manifold.curvature_bounds();
        let root = lower.abs().max(upper.abs()).sqrt();
        let shift = spread(manifold, farthest) * half_a * SLACK;
        let carried = 0.5 * root * root * farthest * speed * shift;
        let x = 0.5 * speed * (-lower).max(0.0).sqrt();
        let angle = 0.5 * speed * root;
        let (start_rate, field_rate) = if x > 0.0 {
            (x * sinhc(x), 0.5 * x * sinhc(x))
        } else {
            (angle.min(1.0), (angle / 3.0).min(0.5))
        };
        Self {
            shift,
            change: (half_w + carried) * SLACK,
            speed,
            start: cosh(x),
            field: sinhc(x),
            start_rate,
            field_rate,
            root,
            clipped: Clipped::new(manifold, tau, farthest + 0.5 * speed + radius),
        }
    }

    /// How far the prediction at a time may move.
    fn moved(&self, time: f64) -> f64 {
        self.start * self.shift + time * self.field * self.change
    }

    /// How much w may change at a time, for dual vectors of lengths `m` and `q`.
    fn bent(&self, time: f64, m: f64, q: f64) -> f64 {
        let k = self.root * self.root;
        let size = self.start * m + time * self.field * q;
        let area = time * (self.start * self.shift + 0.5 * time * self.field * self.change);
        let fields = self.start_rate * m + time * self.field_rate * q;
        k * self.speed * area * size
            + std::f64::consts::SQRT_2 * self.root * time * self.change * fields
    }
}

/// Covers the rounding of what is computed from it.
const SLACK: f64 = 1.0 + 1e-9;

/// Space for the residuals of a sample.
#[derive(Default)]
pub(super) struct Work {
    residuals: Vec<f64>,
    lengths: Vec<f64>,
}

/// Lower bound of the norm of the gradients in a neighbourhood of a geodesic, and the mean of |t|.
pub(super) fn least_norm(
    law: &KNorm,
    at: &Geodesic,
    around: &Neighbourhood,
    work: &mut Work,
) -> f64 {
    let (manifold, times) = (law.sample.manifold, law.sample.times);
    let dim = manifold.dim();
    let spectrum = Spectrum::new(manifold, &at.velocity);
    let longest = Range::new(law.max_residual, dim);
    work.residuals.resize(times.len() * dim, 0.0);
    let Work { residuals, lengths } = work;
    manifold.log_along(law.sample.points, times, &at.velocity, &at.footpoint, residuals);
    lengths.clear();
    let spaces = spectrum.eigenvalues.len();
    let (mut g_p, mut g_v) = (vec![0.0; dim * spaces], vec![0.0; dim * spaces]);
    for (u, &t) in residuals.chunks_exact_mut(dim).zip(times) {
        lengths.push(length(u));
        longest.clip(u);
        for (k, &eigenvalue) in spectrum.eigenvalues.iter().enumerate() {
            let (c, g) = jacobi_fields(eigenvalue, t);
            let part = k * dim..(k + 1) * dim;
            for ((p, v), u) in g_p[part.clone()].iter_mut().zip(&mut g_v[part]).zip(&*u) {
                *p -= c * u;
                *v -= g * u;
            }
        }
    }
    let (m, q) = law.norm.dual(&spectrum.assemble(&g_p), &spectrum.assemble(&g_v));
    let (m_length, q_length) = (length(&m), length(&q));
    let (m, q) = (spectrum.split(&m), spectrum.split(&q));
    let (mut sum, mut bent) = (0.0, 0.0);
    let mut w = vec![0.0; dim];
    for ((u, length), &t) in residuals.chunks_exact(dim).zip(lengths).zip(times) {
        w.fill(0.0);
        for (k, &eigenvalue) in spectrum.eigenvalues.iter().enumerate() {
            let (c, g) = jacobi_fields(eigenvalue, t);
            let parts = m[k * dim..(k + 1) * dim].iter().zip(&q[k * dim..(k + 1) * dim]);
            w.iter_mut().zip(parts).for_each(|(w, (m, q))| *w -= c * m + g * q);
        }
        let product: f64 = w.iter().zip(u).map(|(w, u)| w * u).sum();
        let size = w.iter().map(|w| w * w).sum::<f64>().sqrt();
        sum += around.clipped.least(product, size, *length, around.moved(t.abs()));
        bent += around.bent(t.abs(), m_length, q_length);
    }
    let tau = around.clipped.tau();
    let largest = around.start * m_length + around.field * q_length;
    (sum - tau * bent) / times.len() as f64 - 1e-9 * tau * largest
}

impl GradientNorm {
    /// (m, q) with <m, g_p> + <q, g_v> = N(g_p, g_v), and no larger than N(g_p', g_v') for other gradients;
    /// 0 at 0.
    pub(super) fn dual(self, g_p: &[f64], g_v: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let unit = |x: Vec<f64>| -> Vec<f64> {
            let size = length(&x);
            x.into_iter().map(|x| if size > 0.0 { x / size } else { 0.0 }).collect()
        };
        let combine = |a: &[f64], b: &[f64], f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
        };
        match self {
            Self::SumOfNorms => {
                let plus = unit(combine(g_p, g_v, &|p, v| 0.5 * p + v));
                let minus = unit(combine(g_p, g_v, &|p, v| 0.5 * p - v));
                let m = combine(&plus, &minus, &|a, b| 0.5 * (a + b));
                (m, combine(&plus, &minus, &|a, b| a - b))
            }
            Self::Weighted { slope_weight: s } => {
                let norm = self.of(g_p, g_v);
                let scaled = |x: &[f64], factor: f64| -> Vec<f64> {
                    x.iter().map(|x| if norm > 0.0 { factor * x / norm } else { 0.0 }).collect()
                };
                (scaled(g_p, 1.0), scaled(g_v, s * s))
            }
        }
    }
}
