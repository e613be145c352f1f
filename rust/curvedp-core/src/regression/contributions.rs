//! What each unit adds to a whitened Gauss-Newton step of regression on one or several covariates.
//!
//! Predictions are q_i = exp_p(w_i), w_i = sum_j t_ij v_j, and u_i is the residual log_{q_i} y_i carried back
//! to p. Record i contributes B_i = W b_i, b_i = (c(R_{w_i}) u_i, t_i1 g(R_{w_i}) u_i, ..., t_iq g(R_{w_i}) u_i),
//! W a public matrix; a unit contributes the mean of its records' B_i.
//!
//! Basis of the privacy proof: what a unit contributes depends on its own records, the geodesic and W alone,
//! and [`clipped_mean`] shortens it last. So nothing here has to be accurate for the guarantee to hold.

use super::spectrum::{Spectrum, jacobi_fields};
use crate::cascade::{PIECE, ROWS, cascade};
use crate::error::Error;
use crate::manifold::{Manifold, Range};
use crate::parallel::{Interrupt, map};
use crate::rows::Rows;
use crate::simd::vectorize;

/// Units in one piece of work.
const UNITS: usize = 256;

/// Records of units, the records of one unit after the other.
#[derive(Clone, Copy)]
pub struct Units<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// The points y_i.
    pub points: Rows<'a>,
    /// The covariates t_i, `covariates` for each point.
    pub times: &'a [f64],
    /// The number of covariates q, at least 1.
    pub covariates: usize,
    /// Unit j has the records `ends[j]..ends[j + 1]`, at least one.
    pub ends: &'a [usize],
}

/// p, the coordinates of v_1, ..., v_q at p, and W.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    /// The footpoint.
    pub footpoint: &'a [f64],
    /// Coordinates of the velocities, one after the other.
    pub velocities: &'a [f64],
    /// W, symmetric, row by row, (q + 1) `dim` of them.
    pub whitening: &'a [f64],
}

/// The contributions of all units, one row of (q + 1) d entries for each.
pub fn contributions(
    units: &Units,
    at: &Position,
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    let count = units.ends.len() - 1;
    let spectrum = (units.covariates == 1).then(|| Spectrum::new(units.manifold, at.velocities));
    let piece = |i: usize| {
        let own = i * UNITS..((i + 1) * UNITS).min(count);
        Piece::new(units, at, spectrum.as_ref()).of(own)
    };
    Ok(map(count.div_ceil(UNITS), interrupt, piece)?.concat())
}

/// The work on some units.
struct Piece<'a> {
    units: &'a Units<'a>,
    at: &'a Position<'a>,
    /// Of the one velocity, where there is one.
    spectrum: Option<&'a Spectrum>,
    dim: usize,
    /// c(R_w) and g(R_w) as matrices.
    fields: [Vec<f64>; 2],
}

impl<'a> Piece<'a> {
    fn new(units: &'a Units<'a>, at: &'a Position<'a>, spectrum: Option<&'a Spectrum>) -> Self {
        let dim = units.manifold.dim();
        let size = if spectrum.is_some() { 0 } else { dim * dim };
        Self { units, at, spectrum, dim, fields: [vec![0.0; size], vec![0.0; size]] }
    }

    fn of(mut self, own: std::ops::Range<usize>) -> Vec<f64> {
        let (ends, dim, q) = (self.units.ends, self.dim, self.units.covariates);
        let mut out = vec![0.0; own.len() * (q + 1) * dim];
        let mut own_features = vec![0.0; (q + 1) * dim];
        let mut logs = vec![0.0; ROWS * dim];
        let (first, last) = (ends[own.start], ends[own.end]);
        let mut unit = own.start;
        for start in (first..last).step_by(ROWS) {
            let rows = start..(start + ROWS).min(last);
            let logs = &mut logs[..rows.len() * dim];
            self.residuals(rows.clone(), logs);
            for (i, u) in rows.zip(logs.chunks_exact(dim)) {
                while i >= ends[unit + 1] {
                    unit += 1;
                }
                self.features(i, u, &mut own_features);
                let share = 1.0 / (ends[unit + 1] - ends[unit]) as f64;
                let sum = out.chunks_exact_mut((q + 1) * dim).nth(unit - own.start);
                if let Some(sum) = sum {
                    self.add_whitened(&own_features, share, sum);
                }
            }
        }
        out
    }

    /// Residuals of records, carried back to the footpoint.
    fn residuals(&self, rows: std::ops::Range<usize>, out: &mut [f64]) {
        let Units { manifold, points, times, covariates: q, .. } = *self.units;
        let Position { footpoint, velocities, .. } = *self.at;
        if q == 1 {
            let times = &times[rows.clone()];
            return manifold.log_along(points.range(rows), times, velocities, footpoint, out);
        }
        for (i, out) in rows.zip(out.chunks_exact_mut(self.dim)) {
            let velocity = self.velocity(i);
            manifold.log_along(points.range(i..i + 1), &[1.0], &velocity, footpoint, out);
        }
    }

    /// w_i = sum_j t_ij v_j
    fn velocity(&self, i: usize) -> Vec<f64> {
        let q = self.units.covariates;
        let mut sum = vec![0.0; self.dim];
        let velocities = self.at.velocities.chunks_exact(self.dim);
        for (t, v) in self.units.times[i * q..(i + 1) * q].iter().zip(velocities) {
            sum.iter_mut().zip(v).for_each(|(sum, v)| *sum += t * v);
        }
        sum
    }

    /// b_i from the residual.
    fn features(&mut self, i: usize, u: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let q = self.units.covariates;
        let times = &self.units.times[i * q..(i + 1) * q];
        let (start, fields) = out.split_at_mut(self.dim);
        if let Some(spectrum) = self.spectrum {
            let split = spectrum.split(u);
            for (&k, part) in spectrum.eigenvalues.iter().zip(split.chunks_exact(self.dim)) {
                let (c, g) = jacobi_fields(k, times[0]);
                start.iter_mut().zip(part).for_each(|(sum, x)| *sum += c * x);
                fields.iter_mut().zip(part).for_each(|(sum, x)| *sum += g * x);
            }
            return;
        }
        let velocity = self.velocity(i);
        let manifold = self.units.manifold;
        manifold.curvature_function(&velocity, &|k| jacobi_fields(k, 1.0).0, &mut self.fields[0]);
        manifold.curvature_function(&velocity, &|k| jacobi_fields(k, 1.0).1, &mut self.fields[1]);
        multiply(&self.fields[0], u, start);
        let (first, others) = fields.split_at_mut(self.dim);
        multiply(&self.fields[1], u, first);
        for (field, t) in others.chunks_exact_mut(self.dim).zip(&times[1..]) {
            field.iter_mut().zip(&*first).for_each(|(x, g)| *x = t * g);
        }
        first.iter_mut().for_each(|x| *x *= times[0]);
    }

    /// Adds `share` times W b, a sum of rows of W: entries next to each other are independent.
    fn add_whitened(&self, b: &[f64], share: f64, sum: &mut [f64]) {
        let rows = self.at.whitening.chunks_exact(b.len());
        vectorize(
            #[inline(always)]
            || {
                for (row, b) in rows.zip(b) {
                    let b = share * b;
                    sum.iter_mut().zip(row).for_each(|(sum, w)| *sum += w * b);
                }
            },
        );
    }
}

/// The product of a symmetric matrix and a vector.
fn multiply(matrix: &[f64], x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (row, x) in matrix.chunks_exact(out.len()).zip(x) {
        out.iter_mut().zip(row).for_each(|(out, m)| *out += m * x);
    }
}

/// The mean of rows of `width` entries, each shortened to `max_length`; one that is not finite counts 0.
///
/// Rounding: [`crate::moments::summation_error`].
pub fn clipped_mean(
    rows: &[f64],
    width: usize,
    max_length: f64,
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    mean_of_clipped(
        rows.len() / width,
        width,
        max_length,
        interrupt,
        || (),
        #[inline(always)]
        |i, (), out| {
            out.copy_from_slice(&rows[i * width..(i + 1) * width]);
            out.iter().map(|x| x * x).sum()
        },
    )
}

/// The mean of `count` rows of `width` entries, each shortened to `max_length`; one that is not finite counts 0.
/// `write` writes row i, with `scratch` of its own, and returns its squared length, of which each entry's square has been
/// rounded at most `width` times.
///
/// Rounding: [`crate::moments::summation_error`].
pub(crate) fn mean_of_clipped<S>(
    count: usize,
    width: usize,
    max_length: f64,
    interrupt: Interrupt,
    scratch: impl Fn() -> S + Sync,
    write: impl Fn(usize, &mut S, &mut [f64]) -> f64 + Sync,
) -> Result<Vec<f64>, Error> {
    let longest = Range::new(max_length, width);
    let piece = |i: usize| {
        let (mut sum, mut row, mut own) = (vec![0.0; width], vec![0.0; width], scratch());
        let rows = i * PIECE..((i + 1) * PIECE).min(count);
        for start in rows.clone().step_by(ROWS) {
            let mut partial = vec![0.0; width];
            let block = start..(start + ROWS).min(rows.end);
            vectorize(
                #[inline(always)]
                || {
                    for i in block {
                        let (scale, _) = longest.scale(write(i, &mut own, &mut row));
                        if scale == 1.0 {
                            partial.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x);
                        } else if scale > 0.0 {
                            partial.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x * scale);
                        }
                    }
                },
            );
            sum.iter_mut().zip(&partial).for_each(|(sum, x)| *sum += x);
        }
        sum
    };
    let add = |sum: &mut Vec<f64>, other: &Vec<f64>| {
        sum.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
    };
    let sum = cascade(count.div_ceil(PIECE), usize::MAX, interrupt, piece, add)?;
    let mut mean = sum.unwrap_or_else(|| vec![0.0; width]);
    mean.iter_mut().for_each(|x| *x /= count as f64);
    Ok(mean)
}
