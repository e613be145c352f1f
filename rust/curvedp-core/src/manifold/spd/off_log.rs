//! Correlation matrices with the off-log metric: the entries of the matrix logarithm above its diagonal are
//! an isometric chart onto Euclidean space (Archakov and Hansen 2021).

use super::flat::FlatChart;
use super::{
    LogEuclidean, for_size, is_spd, is_symmetric, project_spd, require_definite, symmetrize,
};
use crate::manifold::{CLIP_LENGTH, RECORD_TOLERANCE};
use crate::messages::Start;
use crate::rows::Rows;
use crate::simd::elementary::ln;
use crate::simd::matrices::{packed, packed_len};

/// Steps of the fixed-point iteration for a diagonal; it took up to 400 at distance 16 from the identity.
const STEPS: usize = 1000;

/// C -> the entries above the diagonal of log C, times sqrt 2.
#[derive(Clone, Copy, Debug)]
pub struct OffLog {
    m: usize,
    log: LogEuclidean,
}

impl OffLog {
    /// m x m matrices, m >= 2.
    pub fn new(m: usize) -> Self {
        Self { m, log: LogEuclidean::new(m) }
    }

    /// Coordinates of a symmetric matrix without those of its diagonal.
    fn off(&self, symmetric: &[f64], out: &mut [f64]) {
        for (above, entry) in self.above().zip(out) {
            *entry = symmetric[above];
        }
    }

    /// Coordinates of the symmetric matrices with these entries off the diagonal, and 0 on it.
    fn hollow(&self, coords: Rows, count: usize) -> Vec<f64> {
        let size = packed_len(self.m);
        let mut full = vec![0.0; count * size];
        for (i, row) in full.chunks_exact_mut(size).enumerate() {
            for (above, entry) in self.above().zip(coords.row(i)) {
                row[above] = *entry;
            }
        }
        full
    }

    /// Places above the diagonal among the coordinates of a symmetric matrix.
    fn above(&self) -> impl Iterator<Item = usize> {
        let m = self.m;
        (0..m).flat_map(move |i| (i + 1..m).map(move |j| packed(m, i, j)))
    }

    /// Diagonals of D exp_L(E) for the diagonal matrix E, L = log base.
    fn slope(&self, diagonal: &[f64], base: &[f64]) -> Vec<f64> {
        let m = self.m;
        let mut coords = vec![0.0; packed_len(m)];
        (0..m).for_each(|i| coords[packed(m, i, i)] = diagonal[i]);
        let mut moved = vec![0.0; m * m];
        self.log.pull(Rows::shared(&coords), Rows::shared(base), &mut moved);
        (0..m).map(|i| moved[i * m + i]).collect()
    }

    /// The diagonal matrix E with diag(D exp_L(E)) = `wanted`, by conjugate gradients: the map is the
    /// Hessian of the convex function tr exp(L + E).
    fn solve(&self, wanted: &[f64], base: &[f64]) -> Vec<f64> {
        let mut solution = vec![0.0; self.m];
        let (mut rest, mut direction) = (wanted.to_vec(), wanted.to_vec());
        let mut square = dot(&rest, &rest);
        let enough = square * f64::EPSILON * f64::EPSILON;
        for _ in 0..4 * self.m {
            if square <= enough {
                break;
            }
            let slope = self.slope(&direction, base);
            let length = square / dot(&direction, &slope);
            for i in 0..self.m {
                solution[i] += length * direction[i];
                rest[i] -= length * slope[i];
            }
            let before = std::mem::replace(&mut square, dot(&rest, &rest));
            for i in 0..self.m {
                direction[i] = rest[i] + square / before * direction[i];
            }
        }
        solution
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Divides rows and columns by the roots of the diagonal; false where one is not positive and finite.
fn to_unit_diagonal(m: usize, matrix: &mut [f64]) -> bool {
    let roots: Vec<f64> = (0..m).map(|i| matrix[i * m + i].sqrt()).collect();
    for i in 0..m {
        for j in 0..m {
            let entry = matrix[i * m + j] / roots[i] / roots[j];
            matrix[i * m + j] = if i == j && entry > 0.5 { 1.0 } else { entry };
        }
    }
    roots.iter().all(|root| *root > 0.0 && root.is_finite())
}

impl FlatChart for OffLog {
    fn order(&self) -> usize {
        self.m
    }

    fn dim(&self) -> usize {
        self.m * (self.m - 1) / 2
    }

    fn start(&self) -> Start {
        Start::None
    }

    fn clip_limit(&self) -> f64 {
        CLIP_LENGTH
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        let unit = (0..self.m).all(|i| (point[i * (self.m + 1)] - 1.0).abs() <= tolerance);
        unit && is_spd(self.m, point, tolerance)
    }

    /// The correlations of the closest positive definite matrix; twice, as small variances amplify the
    /// rounding of the first.
    fn project(&self, point: &mut [f64]) -> bool {
        let mut step = || project_spd(self.m, point) && to_unit_diagonal(self.m, point);
        step() && step() && is_spd(self.m, point, 0.0)
    }

    /// A covariance matrix stands for its correlations.
    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        for (row, valid) in records.chunks_exact_mut(self.m * self.m).zip(valid.iter_mut()) {
            *valid = is_symmetric(self.m, row, RECORD_TOLERANCE);
            symmetrize(self.m, row);
            *valid &= to_unit_diagonal(self.m, row);
        }
        for_size!(self.m, require_definite(records, valid));
    }

    /// The entries above the diagonal, row by row.
    fn short_size(&self) -> Option<usize> {
        Some(self.dim())
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        for (t, matrix) in out.chunks_exact_mut(self.m * self.m).enumerate() {
            let mut entries = rows.row(t).iter();
            for i in 0..self.m {
                matrix[i * self.m + i] = 1.0;
                for (j, entry) in (i + 1..self.m).zip(&mut entries) {
                    matrix[i * self.m + j] = *entry;
                    matrix[j * self.m + i] = *entry;
                }
            }
        }
    }

    fn to_tangent(&self, vector: Rows, out: &mut [f64]) {
        super::to_tangent(self.m, vector, out);
        for matrix in out.chunks_exact_mut(self.m * self.m) {
            matrix.iter_mut().step_by(self.m + 1).for_each(|x| *x = 0.0);
        }
    }

    fn chart(&self, point: Rows, out: &mut [f64]) {
        let size = packed_len(self.m);
        let mut logs = vec![0.0; out.len() / self.dim() * size];
        self.log.chart(point, &mut logs);
        for (row, log) in out.chunks_exact_mut(self.dim()).zip(logs.chunks_exact(size)) {
            self.off(log, row);
        }
    }

    /// The diagonal d of the logarithm follows from its other entries S: d <- d - log diag exp(S + d), a
    /// contraction. What it leaves of rounding is divided out.
    fn unchart(&self, coords: Rows, out: &mut [f64]) {
        let (m, size) = (self.m, packed_len(self.m));
        let near = 16.0 * m as f64 * f64::EPSILON;
        let mut logs = self.hollow(coords, out.len() / (m * m));
        let mut open: Vec<usize> = (0..out.len() / (m * m)).collect();
        for _ in 0..STEPS {
            let rows: Vec<f64> =
                open.iter().flat_map(|i| logs[i * size..][..size].iter().copied()).collect();
            let mut found = vec![0.0; open.len() * m * m];
            self.log.unchart(Rows::new(&rows, size), &mut found);
            let mut matrices = found.chunks_exact(m * m);
            open.retain(|i| {
                let matrix = matrices.next().expect("a matrix for each row");
                out[i * m * m..][..m * m].copy_from_slice(matrix);
                let mut off = 0.0_f64;
                for j in 0..m {
                    let excess = ln(matrix[j * m + j]);
                    logs[i * size + packed(m, j, j)] -= excess;
                    off = off.max(excess.abs());
                }
                off > near
            });
            if open.is_empty() {
                break;
            }
        }
        for matrix in out.chunks_exact_mut(m * m) {
            to_unit_diagonal(m, matrix);
        }
    }

    fn push(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let size = packed_len(self.m);
        let mut pushed = vec![0.0; out.len() / self.dim() * size];
        self.log.push(tangent, base, &mut pushed);
        for (row, pushed) in out.chunks_exact_mut(self.dim()).zip(pushed.chunks_exact(size)) {
            self.off(pushed, row);
        }
    }

    /// D exp_L(X + E) with the diagonal matrix E that makes its diagonal 0.
    fn pull(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let (m, size) = (self.m, packed_len(self.m));
        let mut logs = self.hollow(coords, out.len() / (m * m));
        self.log.pull(Rows::new(&logs, size), base, out);
        for (i, (log, matrix)) in
            logs.chunks_exact_mut(size).zip(out.chunks_exact(m * m)).enumerate()
        {
            let diagonal: Vec<f64> = (0..m).map(|j| -matrix[j * m + j]).collect();
            let wanted = self.solve(&diagonal, base.row(i));
            (0..m).for_each(|j| log[packed(m, j, j)] = wanted[j]);
        }
        self.log.pull(Rows::new(&logs, size), base, out);
        for matrix in out.chunks_exact_mut(m * m) {
            matrix.iter_mut().step_by(m + 1).for_each(|x| *x = 0.0);
        }
    }
}
