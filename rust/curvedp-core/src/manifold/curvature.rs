//! Functions of the curvature operator R_u v = R(v, u)u on locally symmetric spaces.
//!
//! Curvature is parallel there, so Jacobi fields along exp_p(tu) are explicit: with eigenvalues k_j of
//! R_u, the Hessian of ½rho(., exp_p u)^2 at p is h(R_u) with h(k) = √k cot √k (√-k coth √-k for k < 0), and
//! the differential of exp_p at u is g(R_u), g(k) = sin √k/√k (sinh √-k/√-k), followed by parallel
//! transport along the geodesic.

use super::Manifold;
use super::{grassmann, hpd, spd, special_orthogonal};
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

/// The curvature operators R_u: the restricted roots of a symmetric space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curvature {
    /// R_u = 0.
    Flat,
    /// R_u = kappa |u|^2 across u, 0 along it.
    Constant(f64),
    /// CP^m: R_u = 4|u|^2 along iu, |u|^2 across u and iu, 0 along u. Coordinates are real and imaginary
    /// parts in turn.
    Complex,
    /// SPD(m), m >= 2, with the affine-invariant metric: -(l_i - l_j)^2/4 for each pair of eigenvalues l of
    /// the matrix u, and 0.
    Matrices(usize),
    /// HPD(m), m >= 2: -(l_i - l_j)^2/4 twice for each pair of eigenvalues l of the Hermitian matrix u, and 0.
    Hermitian(usize),
    /// Grassmannians, both numbers at least 2: (t_i - t_j)^2 and (t_i + t_j)^2 for each pair of singular values t of
    /// the matrix u, t_i^2 as often as rows and columns differ, and 0.
    Subspaces {
        /// Rows of u.
        rows: usize,
        /// Columns of u.
        columns: usize,
    },
    /// SO(n), n >= 4: ((t_i - t_j)/2)^2 and ((t_i + t_j)/2)^2 twice for each pair of angles t of the skew matrix u, if n
    /// is odd (t_i/2)^2 twice for each, and 0.
    Rotations(usize),
}

impl Curvature {
    /// The same with CP^1, a sphere of radius 1/2, as a space of constant curvature.
    pub(super) fn reduced(self, dim: usize) -> Self {
        if (self, dim) == (Self::Complex, 2) { Self::Constant(4.0) } else { self }
    }

    /// Lower and upper bound of the sectional curvatures.
    pub(super) fn bounds(self, dim: usize) -> (f64, f64) {
        match self.reduced(dim) {
            Self::Flat => (0.0, 0.0),
            Self::Constant(kappa) => (kappa, kappa),
            Self::Complex => (1.0, 4.0),
            Self::Matrices(_) | Self::Hermitian(_) => (-0.5, 0.0),
            Self::Subspaces { .. } => (0.0, 2.0),
            Self::Rotations(_) => (0.0, 0.5),
        }
    }

    /// Number and curvature of the planes through a direction, leaving out flat ones, where they are the same
    /// for every direction.
    pub fn planes(self, dim: usize) -> Option<Vec<(f64, f64)>> {
        match self {
            Self::Flat => Some(vec![]),
            Self::Constant(kappa) => Some(vec![(dim as f64 - 1.0, kappa)]),
            Self::Complex => Some(vec![(1.0, 4.0), (dim as f64 - 2.0, 1.0)]),
            Self::Matrices(_)
            | Self::Hermitian(_)
            | Self::Subspaces { .. }
            | Self::Rotations(_) => None,
        }
    }

    /// The largest curvature kappa, and the largest quotient of |h(R_u) - 1|^2 and (h(kappa |u|^2) - 1)^2, which is at most
    /// that of the trace of R_u and kappa |u|^2; of the spaces of curvature >= 0 that have no constant planes.
    pub(super) fn excess(self) -> Option<(f64, f64)> {
        match self {
            Self::Subspaces { rows, columns } => Some((2.0, 0.5 * ((rows + columns) as f64 - 2.0))),
            Self::Rotations(n) => Some((0.5, n as f64 - 2.0)),
            _ => None,
        }
    }

    /// The trace of f(R_u).
    pub(super) fn trace(self, u: &[f64], f: &dyn Fn(f64) -> f64) -> f64 {
        match self {
            Self::Matrices(m) => return spd::curvature_trace(m, u, f),
            Self::Hermitian(m) => return hpd::hermitian_trace(m, u, f),
            Self::Rotations(n) => return special_orthogonal::rotation_trace(n, u, f),
            _ => {}
        }
        if let Self::Subspaces { rows, columns } = self {
            return grassmann::curvature_trace(rows, columns, u, f);
        }
        let square = norm(u) * norm(u);
        let planes = self.planes(u.len()).unwrap_or_default();
        let flat = u.len() as f64 - planes.iter().map(|(count, _)| count).sum::<f64>();
        let curved = planes.iter().filter(|(count, _)| *count > 0.0);
        flat * f(0.0) + curved.map(|(count, kappa)| count * f(kappa * square)).sum::<f64>()
    }

    /// f(R_u) as a matrix.
    pub(super) fn function(self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        let (dim, length) = (u.len(), norm(u));
        let operator = self.reduced(dim);
        let square = length * length;
        let across = match operator {
            Self::Matrices(m) => return spd::curvature_function(m, u, f, out),
            Self::Hermitian(m) => return hpd::hermitian_function(m, u, f, out),
            Self::Subspaces { rows, columns } => {
                return grassmann::curvature_function(rows, columns, u, f, out);
            }
            Self::Rotations(n) => return special_orthogonal::rotation_function(n, u, f, out),
            Self::Constant(kappa) if length > 0.0 => f(kappa * square),
            Self::Complex if length > 0.0 => f(square),
            _ => f(0.0),
        };
        scalar(dim, across, out);
        if operator == Self::Flat || length == 0.0 {
            return;
        }
        add_projection(u, length, f(0.0) - across, out);
        if operator == Self::Complex {
            let turned: Vec<f64> = u.chunks_exact(2).flat_map(|z| [-z[1], z[0]]).collect();
            add_projection(&turned, length, f(4.0 * square) - across, out);
        }
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
    manifold.curvature().trace(coords, &|k| jacobi_growth(k).ln())
}

/// |D exp|^2 at the tangent vector with the given coordinates, in Frobenius norm: that of g(R_u), since
/// parallel transport is orthogonal.
pub fn exp_growth(manifold: &dyn Manifold, coords: &[f64]) -> f64 {
    manifold.curvature().trace(coords, &|k| jacobi_growth(k) * jacobi_growth(k))
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
        let dim = manifold.dim() as f64;
        match manifold.curvature() {
            Curvature::Flat => None,
            Curvature::Complex => Some(Self::Complex(dim - 2.0)),
            // all G >= 0, so tr(G G') >= 0: sqrt 2 times the largest norm, at u = diag(m - 1, -1, ..., -1)
            Curvature::Matrices(m) => Some(Self::of_matrices(m, 1.0)),
            Curvature::Hermitian(m) => Some(Self::of_matrices(m, 2.0)),
            // all G <= 0, so sqrt 2 times the largest norm; no eigenvalue is below c = h(kappa s^2) - 1, and h - 1 lies
            // above its chord
            curvature @ (Curvature::Subspaces { .. } | Curvature::Rotations(_)) => {
                let (curvature, square) = curvature.excess()?;
                Some(Self::Constant { curvature, factor: (2.0 * square).sqrt() })
            }
            // G = (h - 1)(I - u u^T): they differ most when one is 0 or the directions are orthogonal
            Curvature::Constant(curvature) => {
                Some(Self::Constant { curvature, factor: (dim - 1.0).max(2.0).sqrt() })
            }
        }
    }

    /// With that number of eigenvectors of G for each pair of eigenvalues of u.
    fn of_matrices(m: usize, multiplicity: f64) -> Self {
        let m = m as f64;
        let factor = (multiplicity * (2.0 * (m - 1.0))).sqrt();
        Self::Constant { curvature: -0.25 * m / (m - 1.0), factor }
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
    /// curvature -(m/4)(dim - 1)/dim, twice that for Hermitian matrices, and on Grassmannians and rotation groups, where
    /// all curvatures but 0 count as their mean.
    pub fn of(manifold: &dyn Manifold) -> Self {
        let (curvature, dim) = (manifold.curvature(), manifold.dim() as f64);
        let quadratic = match curvature {
            Curvature::Matrices(m) => m as f64 / 12.0 * (dim - 1.0) / dim,
            Curvature::Hermitian(m) => m as f64 / 6.0 * (dim - 1.0) / dim,
            _ => 0.0,
        };
        let curvatures = match curvature {
            Curvature::Subspaces { rows, columns } => {
                let curved = dim - rows.min(columns) as f64;
                vec![(curved, ((rows + columns) as f64 - 2.0) / curved)]
            }
            Curvature::Rotations(n) => {
                let curved = dim - (n / 2) as f64;
                vec![(curved, 0.5 * (n as f64 - 2.0) / curved)]
            }
            _ => curvature.planes(manifold.dim()).unwrap_or_default(),
        };
        Self { dim, curvatures, quadratic }
    }

    /// dim + sum of number * (h(kappa s^2) - 1) + quadratic s^2
    pub fn at(&self, dist: f64) -> f64 {
        let square = dist * dist;
        let excess = |&(number, kappa): &(f64, f64)| number * hessian_excess(kappa * square);
        self.dim + self.quadratic * square + self.curvatures.iter().map(excess).sum::<f64>()
    }
}
