//! Lower bounds of the norm of the gradients around a geodesic.
//!
//! Let N be the norm at (p, v) and m, q dual vectors: N = <m, g_p> + <q, g_v>, the sum over records of
//! -<w_i, u_i>/n with w_i = c(R)m + t_i g(R)q. At any other (p', v') N is at least the same sum with m and q
//! carried along, and record by record u_i turns or shortens only as far as its residual and the way of its
//! prediction allow, w_i as far as the Jacobi fields change. Rotations that all residuals make together cost
//! nothing to first order: that keeps boxes large far from the data. Residuals too short to be clipped change
//! nearly as on flat space, by -(xi + t_i omega): that affine part keeps boxes large near the minimum.
//!
//! Proof: docs/proofs/geodesic-regression.md, Lemma 5. It uses that the curvature is constant but for flat
//! factors, as it is on all spaces of dimension up to 3.

use super::k_norm::{GradientNorm, KNorm, carried};
use super::spectrum::{Spectrum, jacobi_fields};
use super::{Geodesic, Sample};
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
    /// Largest distances in coordinates, |a - a_0| and |w - w_0|.
    half: (f64, f64),
    /// How far d exp_c, c, g and the Hessian of s^2/2 up to 2 tau are from the identity.
    excess: Excess,
    /// Turning of vectors carried along the geodesic from c instead of along the way of the footpoint.
    holonomy: f64,
    /// What carrying adds to the change of the velocity.
    carried: f64,
}

/// Deviations from flat space.
#[derive(Clone, Copy, Debug)]
struct Excess {
    spread: f64,
    start: f64,
    field: f64,
    hessian: f64,
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
        let holonomy = 0.5 * root * root * farthest * shift;
        let carried = holonomy * speed;
        let x = 0.5 * speed * (-lower).max(0.0).sqrt();
        let angle = 0.5 * speed * root;
        let (start_rate, field_rate) = if x > 0.0 {
            (x * sinhc(x), 0.5 * x * sinhc(x))
        } else {
            (angle.min(1.0), (angle / 3.0).min(0.5))
        };
        let reach = farthest + 0.5 * speed + radius;
        let excess = if x > 0.0 || lower < 0.0 {
            let y = (-lower).sqrt() * (2.0 * tau).min(reach);
            Excess {
                spread: spread(manifold, farthest) - 1.0,
                start: cosh(x) - 1.0,
                field: sinhc(x) - 1.0,
                hessian: cosh(y) / sinhc(y) - 1.0,
            }
        } else {
            let y = root * (2.0 * tau).min(reach);
            Excess {
                spread: (root * farthest).powi(2) / 6.0,
                start: angle * angle / 2.0,
                field: angle * angle / 6.0,
                hessian: if y > 1e-6 { 1.0 - y / y.tan() } else { 1e-12 },
            }
        };
        Self {
            shift,
            half: (half_a, half_w),
            excess,
            holonomy,
            carried,
            change: (half_w + carried) * SLACK,
            speed,
            start: cosh(x),
            field: sinhc(x),
            start_rate,
            field_rate,
            root,
            clipped: Clipped::new(manifold, tau, reach),
        }
    }

    /// How far the prediction at a time may move.
    fn moved(&self, time: f64) -> f64 {
        self.start * self.shift + time * self.field * self.change
    }

    /// How far the change of a residual that is nowhere clipped is from -(xi + t omega), and what its product
    /// with w loses by that; `moved` and `bent` as at this time.
    fn remainder(&self, time: f64, size: f64, moved: f64, bent: f64) -> f64 {
        let (half_a, half_w) = self.half;
        let squared = 4.0 * time * time;
        let Excess { spread, start, field, hessian } = self.excess;
        let linear = hessian * moved
            + squared * (start * self.shift + time * field * self.change)
            + spread * half_a
            + time * self.carried
            + self.holonomy * (half_a + time * half_w);
        (size + bent) * linear + bent * (self.shift + time * self.change)
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
    fields: Vec<(f64, f64)>,
}

/// An affine lower bound: a value at a geodesic, and the slope in (a, w).
pub(super) struct Affine {
    pub(super) value: f64,
    pub(super) slope: Vec<f64>,
}

/// Affine lower bound of the norm of the gradients in a neighbourhood of a geodesic.
pub(super) fn least_norm(
    law: &KNorm,
    at: &Geodesic,
    around: &Neighbourhood,
    work: &mut Work,
) -> Affine {
    let (manifold, times) = (law.sample.manifold, law.sample.times);
    let dim = manifold.dim();
    let spectrum = Spectrum::new(manifold, &at.velocity);
    let (g_p, g_v) = work.fill(law, at, &spectrum);
    let (m, q) = law.norm.dual(&g_p, &g_v);
    let (m_length, q_length) = (length(&m), length(&q));
    let (m, q) = (spectrum.split(&m), spectrum.split(&q));
    let clipped = around.clipped;
    let tau = clipped.tau();
    let (mut value, mut footpoint, mut velocity) = (0.0, vec![0.0; dim], vec![0.0; dim]);
    let mut w = vec![0.0; dim];
    let spaces = spectrum.eigenvalues.len();
    let rows = work.residuals.chunks_exact(dim).zip(work.fields.chunks_exact(spaces));
    for (((u, fields), length), &t) in rows.zip(&work.lengths).zip(times) {
        w.fill(0.0);
        for ((c, g), (m, q)) in fields.iter().zip(m.chunks_exact(dim).zip(q.chunks_exact(dim))) {
            w.iter_mut().zip(m.iter().zip(q)).for_each(|(w, (m, q))| *w -= c * m + g * q);
        }
        let product: f64 = w.iter().zip(u).map(|(w, u)| w * u).sum();
        let size = w.iter().map(|w| w * w).sum::<f64>().sqrt();
        let time = t.abs();
        let moved = around.moved(time);
        let bent = around.bent(time, m_length, q_length);
        if *length <= tau - 0.5 * moved {
            let over = (length + moved - tau).max(0.0);
            value += product
                - around.remainder(time, size, moved, bent)
                - over * (size + bent)
                - (tau + over) * bent;
            for ((w, footpoint), velocity) in w.iter().zip(&mut footpoint).zip(&mut velocity) {
                *footpoint -= w;
                *velocity -= t * w;
            }
        } else {
            value += clipped.least(product, size, *length, moved) - tau * bent;
        }
    }
    let count = times.len() as f64;
    let largest = around.start * m_length + around.field * q_length;
    let slope = [footpoint, velocity].map(|slope| {
        let slope = carried(manifold, &slope, &at.footpoint, law.support.center);
        slope.into_iter().map(|x| x / count).collect::<Vec<f64>>()
    });
    Affine { value: value / count - 1e-9 * tau * largest, slope: slope.concat() }
}

impl Work {
    /// Clipped residuals, their lengths before, Jacobi fields; returns both gradients times the number of
    /// records.
    fn fill(&mut self, law: &KNorm, at: &Geodesic, spectrum: &Spectrum) -> (Vec<f64>, Vec<f64>) {
        let Sample { manifold, points, times } = law.sample;
        let dim = manifold.dim();
        let longest = Range::new(law.max_residual, dim);
        self.residuals.resize(times.len() * dim, 0.0);
        manifold.log_along(points, times, &at.velocity, &at.footpoint, &mut self.residuals);
        self.lengths.clear();
        self.fields.clear();
        let spaces = spectrum.eigenvalues.len();
        let (mut g_p, mut g_v) = (vec![0.0; dim * spaces], vec![0.0; dim * spaces]);
        for (u, &t) in self.residuals.chunks_exact_mut(dim).zip(times) {
            self.lengths.push(length(u));
            longest.clip(u);
            let sums = g_p.chunks_exact_mut(dim).zip(g_v.chunks_exact_mut(dim));
            for (&eigenvalue, (g_p, g_v)) in spectrum.eigenvalues.iter().zip(sums) {
                let (c, g) = jacobi_fields(eigenvalue, t);
                self.fields.push((c, g));
                for ((p, v), u) in g_p.iter_mut().zip(g_v).zip(&*u) {
                    *p -= c * u;
                    *v -= g * u;
                }
            }
        }
        (spectrum.assemble(&g_p), spectrum.assemble(&g_v))
    }
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
