//! Energy and gradient at a geodesic, residuals clipped.
//!
//! Basis of the privacy proofs: the term that a record adds depends on that record, the geodesic and the
//! clipping length alone, and its norm is at most the clipping length times that of the Jacobi fields,
//! whatever the record. Terms are summed in a fixed order; [`crate::moments::summation_error`] bounds the
//! rounding of the sum.

use super::spectrum::{Spectrum, jacobi_fields};
use super::{Geodesic, Sample};
use crate::cascade::{PIECE, ROWS, cascade};
use crate::error::Error;
use crate::manifold::Range;
use crate::parallel::Interrupt;
use crate::rows::Rows;
use crate::simd::vectorize;

/// Energy and gradient.
#[derive(Clone, Debug)]
pub struct Energy {
    /// (1/2n) sum min(|e_i|, tau)^2
    pub value: f64,
    /// grad_p E in coordinates at p.
    pub footpoint_gradient: Vec<f64>,
    /// grad_v E in coordinates at p.
    pub velocity_gradient: Vec<f64>,
    /// For every eigenvalue of R_v the means of c^2, c t g and t^2 g^2: the matrix of the Gauss-Newton
    /// method, which is block diagonal in the eigenspaces.
    pub(super) normal: Vec<[f64; 3]>,
}

/// Sums over records, before the projections on the eigenspaces.
struct Sums {
    energy: f64,
    footpoint: Vec<f64>,
    velocity: Vec<f64>,
    normal: Vec<[f64; 3]>,
}

impl Sums {
    fn zero(dim: usize, eigenvalues: usize) -> Self {
        let vectors = vec![0.0; dim * eigenvalues];
        Self {
            energy: 0.0,
            footpoint: vectors.clone(),
            velocity: vectors,
            normal: vec![[0.0; 3]; eigenvalues],
        }
    }

    fn add(&mut self, other: &Self) {
        self.energy += other.energy;
        add_scaled(&mut self.footpoint, 1.0, &other.footpoint);
        add_scaled(&mut self.velocity, 1.0, &other.velocity);
        for (sum, term) in self.normal.iter_mut().zip(&other.normal) {
            add_scaled(sum, 1.0, term);
        }
    }

    /// Adds a record with the clipped residual `u` at time `t`.
    #[inline(always)]
    fn add_record(&mut self, eigenvalues: &[f64], u: &[f64], t: f64) {
        let rows = self.footpoint.chunks_exact_mut(u.len());
        let rows = rows.zip(self.velocity.chunks_exact_mut(u.len())).zip(&mut self.normal);
        for (&k, ((footpoint, velocity), normal)) in eigenvalues.iter().zip(rows) {
            let (c, g) = jacobi_fields(k, t);
            add_scaled(footpoint, c, u);
            add_scaled(velocity, g, u);
            add_scaled(normal, 1.0, &[c * c, c * g, g * g]);
        }
    }
}

#[inline(always)]
fn add_scaled(sum: &mut [f64], scale: f64, terms: &[f64]) {
    sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += scale * term);
}

/// Energy and gradient of the sample at a geodesic; residuals longer than `max_residual` are shortened
/// to it, and those that are not finite count 0.
pub fn energy(
    sample: &Sample,
    geodesic: &Geodesic,
    max_residual: f64,
    interrupt: Interrupt,
) -> Result<Energy, Error> {
    let Sample { manifold, points, times } = *sample;
    let (dim, count) = (manifold.dim(), times.len());
    let spectrum = Spectrum::new(manifold, &geodesic.velocity);
    let longest = Range::new(max_residual, dim);
    let zero = || Sums::zero(dim, spectrum.eigenvalues.len());
    let piece = |i: usize| {
        let range = i * PIECE..((i + 1) * PIECE).min(count);
        let mut sums = zero();
        let mut logs = vec![0.0; ROWS.min(range.len()) * dim];
        for first in range.clone().step_by(ROWS) {
            let rows = first..(first + ROWS).min(range.end);
            let logs = &mut logs[..rows.len() * dim];
            residuals(sample, geodesic, points.range(rows.clone()), &times[rows.clone()], logs);
            let mut block = zero();
            vectorize(
                #[inline(always)]
                || {
                    for (u, &t) in logs.chunks_exact_mut(dim).zip(&times[rows]) {
                        block.energy += longest.clip(u);
                        block.add_record(&spectrum.eigenvalues, u, t);
                    }
                },
            );
            sums.add(&block);
        }
        sums
    };
    let sums = cascade(count.div_ceil(PIECE), usize::MAX, interrupt, piece, Sums::add)?;
    let sums = sums.unwrap_or_else(zero);
    let gradient = |vectors: &[f64]| -> Vec<f64> {
        spectrum.assemble(vectors).into_iter().map(|x| -x / count as f64).collect()
    };
    Ok(Energy {
        value: 0.5 * sums.energy / count as f64,
        footpoint_gradient: gradient(&sums.footpoint),
        velocity_gradient: gradient(&sums.velocity),
        normal: sums.normal.iter().map(|sum| sum.map(|x| x / count as f64)).collect(),
    })
}

fn residuals(sample: &Sample, geodesic: &Geodesic, points: Rows, times: &[f64], out: &mut [f64]) {
    let Geodesic { footpoint, velocity } = geodesic;
    sample.manifold.log_along(points, times, velocity, footpoint, out);
}
