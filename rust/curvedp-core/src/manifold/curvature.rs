//! Functions of the curvature operator R_u v = R(v, u)u on locally symmetric spaces.
//!
//! Curvature is parallel there, so Jacobi fields along exp_p(tu) are explicit: with eigenvalues k_j of
//! R_u, the Hessian of ½rho(., exp_p u)^2 at p is h(R_u) with h(k) = √k cot √k (√-k coth √-k for k < 0), and
//! the differential of exp_p at u is g(R_u), g(k) = sin √k/√k (sinh √-k/√-k), followed by parallel
//! transport along the geodesic.

use super::Manifold;
use crate::roots::Roots;
use crate::rows::Rows;
use crate::simd::elementary::{cot_excess, coth_excess, sinc, sinhc};
use crate::vector::norm;

/// h(k) - 1: excess of an eigenvalue of the Hessian over that of flat space.
pub fn hessian_excess(k: f64) -> f64 {
    if k > 0.0 { -k * cot_excess(k) } else { -k * coth_excess(-k) }
}

/// g(k), by which a Jacobi field differs from that of flat space.
pub(super) fn jacobi_growth(k: f64) -> f64 {
    if k > 0.0 { sinc(k.sqrt()) } else { sinhc((-k).sqrt()) }
}

/// f(R_u) as a matrix, on a space of rank 1 or without curvature. Coordinates of complex projective space are real and
/// imaginary parts in turn.
pub(super) fn function(roots: Roots, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
    let (dim, length) = (u.len(), norm(u));
    let square = length * length;
    let planes = roots.planes().unwrap_or_default();
    let [.., (_, kappa)] = planes[..] else {
        return scalar(dim, f(0.0), out);
    };
    let across = f(kappa * square);
    scalar(dim, across, out);
    if length == 0.0 {
        return;
    }
    add_projection(u, length, f(0.0) - across, out);
    if let [(_, along), _] = planes[..] {
        let turned: Vec<f64> = u.chunks_exact(2).flat_map(|z| [-z[1], z[0]]).collect();
        add_projection(&turned, length, f(along * square) - across, out);
    }
}

/// out <- c I
pub(super) fn scalar(dim: usize, c: f64, out: &mut [f64]) {
    out.fill(0.0);
    out.iter_mut().step_by(dim + 1).for_each(|x| *x = c);
}

/// Adds c (u/|u|)(u/|u|)^T.
fn add_projection(u: &[f64], length: f64, c: f64, out: &mut [f64]) {
    let unit: Vec<f64> = u.iter().map(|x| x / length).collect();
    for (row, x) in out.chunks_exact_mut(u.len()).zip(&unit) {
        let factor = c * x;
        row.iter_mut().zip(&unit).for_each(|(out, y)| *out += factor * y);
    }
}

/// See [`Manifold::exp_differential`]: transport after g(R_u).
pub(super) fn exp_differential<M: Manifold + ?Sized>(
    manifold: &M,
    coords: &[f64],
    base: &[f64],
    out: &mut [f64],
) {
    let (dim, size) = (manifold.dim(), manifold.point_size());
    let mut fields = vec![0.0; dim * dim];
    manifold.curvature_function(coords, &jacobi_growth, &mut fields);
    let mut velocity = vec![0.0; size];
    let mut end = vec![0.0; size];
    manifold.from_coords(Rows::shared(coords), Rows::shared(base), &mut velocity);
    manifold.exp_coords(Rows::shared(coords), Rows::shared(base), &mut end);
    // the matrix g(R_u) is symmetric: its rows are the images of the basis vectors
    let mut tangent = vec![0.0; dim * size];
    let mut carried = vec![0.0; dim * size];
    manifold.from_coords(Rows::new(&fields, dim), Rows::shared(base), &mut tangent);
    manifold.transport_along(Rows::new(&tangent, size), &velocity, base, &end, &mut carried);
    manifold.coords(Rows::new(&carried, size), Rows::shared(&end), &mut fields);
    for i in 0..dim {
        for j in 0..dim {
            out[i * dim + j] = fields[j * dim + i];
        }
    }
}

/// Logarithm of the volume element of exp at the tangent vector with the given coordinates: ln det g(R_u).
/// NaN from the first conjugate point on.
pub fn log_jacobian(manifold: &dyn Manifold, coords: &[f64]) -> f64 {
    trace(manifold, coords, |k| jacobi_growth(k).ln())
}

/// [`log_jacobian`] for rows of coordinates.
pub fn log_jacobians(manifold: &dyn Manifold, coords: Rows, out: &mut [f64]) {
    let Some(planes) = manifold.roots().planes() else {
        let rows = out.iter_mut().enumerate();
        return rows.for_each(|(i, out)| *out = log_jacobian(manifold, coords.row(i)));
    };
    for (i, out) in out.iter_mut().enumerate() {
        let square: f64 = coords.row(i).iter().map(|x| x * x).sum();
        *out = planes.iter().map(|(n, kappa)| n * jacobi_growth(kappa * square).ln()).sum();
    }
}

/// No [`log_jacobian`] of a vector up to that long is larger: ln g is concave and falls, so its mean is at most its
/// value at the mean eigenvalue, for which there is a lower bound.
pub fn log_jacobian_bound(manifold: &dyn Manifold, length: f64) -> f64 {
    let roots = manifold.roots();
    if roots.curvature >= 0.0 || roots.count() == 0 {
        return 0.0;
    }
    let count = roots.count() as f64;
    count * jacobi_growth(roots.ricci() / count * (length * length)).ln()
}

/// The trace of f(R_u).
fn trace(manifold: &dyn Manifold, u: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    manifold.roots().trace(&manifold.spectrum(u), f)
}

/// |D exp|^2 at the tangent vector with the given coordinates, in Frobenius norm: that of g(R_u), since
/// parallel transport is orthogonal.
pub fn exp_growth(manifold: &dyn Manifold, coords: &[f64]) -> f64 {
    trace(manifold, coords, |k| jacobi_growth(k) * jacobi_growth(k))
}

/// The largest curvature kappa, and the largest quotient of |h(R_u) - 1|^2 and (h(kappa |u|^2) - 1)^2, which is at most
/// that of the trace of R_u and kappa |u|^2; for curvature >= 0.
pub(super) fn excess(roots: Roots) -> (f64, f64) {
    let (_, kappa) = roots.curvature_bounds();
    (kappa, roots.ricci() / kappa)
}

/// Largest Frobenius distance between two matrices G = Hess ½rho(., x)^2 - I: a public property of a
/// manifold (docs/proofs/log-moments.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExcessDiameter {
    /// factor |h(kappa s^2) - 1|
    Constant {
        /// kappa
        curvature: f64,
        /// factor
        factor: f64,
    },
    /// On shapes: h(4 s^2) - 1 once, h(s^2) - 1 as often as this.
    Complex(f64),
}

impl ExcessDiameter {
    /// That of a manifold; none where all G are 0.
    pub fn of(manifold: &dyn Manifold) -> Option<Self> {
        let roots = manifold.roots();
        let constant = |curvature, square: f64| Self::Constant { curvature, factor: square.sqrt() };
        Some(match roots.planes().as_deref() {
            Some([]) => return None,
            // G = (h - 1)(I - u u^T): they differ most when one is 0 or the directions are orthogonal
            Some([(across, curvature)]) => constant(*curvature, across.max(2.0)),
            Some([_, (across, _), ..]) => Self::Complex(*across),
            // all G >= 0, so tr(G G') >= 0: sqrt 2 times the largest norm, at u = diag(m - 1, -1, ..., -1)
            None if roots.curvature < 0.0 => {
                let (order, others) = (roots.rank as f64, roots.rank as f64 - 1.0);
                let square = roots.differences as f64 * (2.0 * others);
                constant(roots.curvature * order / others, square)
            }
            // all G <= 0, so sqrt 2 times the largest norm; no eigenvalue is below c = h(kappa s^2) - 1, and h - 1 lies
            // above its chord
            None => {
                let (curvature, square) = excess(roots);
                constant(curvature, 2.0 * square)
            }
        })
    }

    /// For points within a distance; infinite from the conjugate distance on.
    pub fn within(self, dist: f64) -> f64 {
        let excess = |kappa: f64| {
            let k = kappa * (dist * dist);
            let conjugate = std::f64::consts::PI * std::f64::consts::PI;
            if k < conjugate { hessian_excess(k).abs() } else { f64::INFINITY }
        };
        match self {
            Self::Constant { curvature, factor } => factor * excess(curvature),
            Self::Complex(across) => {
                let along = excess(4.0);
                along.hypot(f64::max(along, across.sqrt() * excess(1.0)))
            }
        }
    }
}

/// The trace of Hess ½rho^2 at a distance, averaged over directions: a public property of a manifold.
#[derive(Clone, Debug)]
pub struct HessianTrace {
    /// Dimension.
    pub dim: f64,
    /// Curvatures of planes through the direction, with their numbers.
    pub curvatures: Vec<(f64, f64)>,
    /// Factor of the squared distance, where the mean over directions is known to second order only.
    pub quadratic: f64,
}

impl HessianTrace {
    /// That of a manifold: exact but on SPD(m) and HPD(m), where it is known to second order from the mean Ricci
    /// curvature, and on Grassmannians and rotation groups, where all curvatures but 0 count as their mean.
    pub fn of(manifold: &dyn Manifold) -> Self {
        let (roots, dim) = (manifold.roots(), manifold.dim() as f64);
        let (mut curvatures, mut quadratic) = (vec![], 0.0);
        if let Some(planes) = roots.planes() {
            curvatures = planes;
        } else if roots.curvature < 0.0 {
            quadratic = -roots.ricci() / 3.0 * (dim - 1.0) / dim;
        } else {
            let count = roots.count() as f64;
            // the flat factor has a share in the mean direction
            let share = if roots.has_flat_factor() { (dim - 1.0) / dim } else { 1.0 };
            curvatures.push((count, share * (roots.ricci() / count)));
        }
        Self { dim, curvatures, quadratic }
    }

    /// dim + sum of number * (h(kappa s^2) - 1) + quadratic s^2
    pub fn at(&self, dist: f64) -> f64 {
        let square = dist * dist;
        let excess = |&(number, kappa): &(f64, f64)| number * hessian_excess(kappa * square);
        self.dim + self.quadratic * square + self.curvatures.iter().map(excess).sum::<f64>()
    }
}
