//! Manifolds that one global chart maps isometrically onto Euclidean space.
//!
//! Every map is the Euclidean one seen through the chart: exp_p(v) = chart^-1(chart(p) + D chart_p v).

use super::{condition, from_triangle, is_spd, project_spd, snap, to_tangent, triangle_size};
use crate::cascade::{ADDITIONS, PIECE};
use crate::manifold::checked::Checked;
use crate::manifold::curvature::scalar;
use crate::manifold::{Euclidean, LogSums, Manifold};
use crate::messages::Start;
use crate::roots::Space;
use crate::rows::Rows;
use crate::simd::matrices::packed_len;

/// Rows that are added up before they are added to the sum of the others.
const SUMMED: usize = 64;
const _: () = assert!(SUMMED + PIECE.div_ceil(SUMMED) <= ADDITIONS);

/// An isometric chart phi of symmetric positive definite matrices, all or some, onto R^dim and its
/// derivative.
pub trait FlatChart: Send + Sync {
    /// m
    fn order(&self) -> usize;
    /// Number of coordinates.
    fn dim(&self) -> usize {
        packed_len(self.order())
    }
    /// See [`Manifold::belongs`].
    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        is_spd(self.order(), point, tolerance)
    }
    /// See [`Manifold::project`].
    fn project(&self, point: &mut [f64]) -> bool {
        project_spd(self.order(), point)
    }
    /// See [`Manifold::snap`].
    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        snap(self.order(), records, valid);
    }
    /// See [`Manifold::short_size`].
    fn short_size(&self) -> Option<usize> {
        triangle_size(self.order())
    }
    /// See [`Manifold::from_short`].
    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        from_triangle(self.order(), rows, out);
    }
    /// See [`Manifold::to_tangent`].
    fn to_tangent(&self, vector: Rows, out: &mut [f64]) {
        to_tangent(self.order(), vector, out);
    }
    /// See [`Manifold::clip_limit`].
    fn clip_limit(&self) -> f64;
    /// See [`Manifold::start`].
    fn start(&self) -> Start {
        Start::Determinant { order: self.order(), is_complex: false }
    }
    /// phi(point)
    fn chart(&self, point: Rows, out: &mut [f64]);
    /// phi^-1(coords)
    fn unchart(&self, coords: Rows, out: &mut [f64]);
    /// D phi_base(tangent)
    fn push(&self, tangent: Rows, base: Rows, out: &mut [f64]);
    /// (D phi_base)^-1(coords)
    fn pull(&self, coords: Rows, base: Rows, out: &mut [f64]);
}

/// The manifold that a [`FlatChart`] flattens.
#[derive(Clone, Copy, Debug)]
pub struct Flat<C>(pub C);

impl<C: FlatChart> Flat<C> {
    fn charted(&self, rows: Rows, count: usize) -> Vec<f64> {
        let count = if rows.is_shared() { 1 } else { count };
        let mut coords = vec![0.0; count * self.dim()];
        self.0.chart(rows, &mut coords);
        coords
    }

    fn pushed(&self, tangent: Rows, base: Rows, count: usize) -> Vec<f64> {
        let mut coords = vec![0.0; count * self.dim()];
        self.0.push(tangent, base, &mut coords);
        coords
    }

    /// phi(a) - phi(b). Where the two are close the difference would cancel; there the fundamental
    /// theorem phi(a) - phi(b) = int_0^1 D phi_{b + s(a-b)}(a - b) ds is used with three Gauss-Legendre
    /// nodes, whose relative error 720/2016000 h^6 in the logarithms' difference h, at most twice the switch,
    /// is below 1e-16.
    fn difference(&self, a: Rows, b: Rows, out: &mut [f64]) {
        const SWITCH: f64 = 3e-3;
        let dim = self.dim();
        let count = out.len() / dim;
        let (of_a, of_b) = (self.charted(a, count), self.charted(b, count));
        for (i, row) in out.chunks_exact_mut(dim).enumerate() {
            let x = &of_a[if a.is_shared() { 0 } else { i * dim }..][..dim];
            let y = &of_b[if b.is_shared() { 0 } else { i * dim }..][..dim];
            for k in 0..dim {
                row[k] = x[k] - y[k];
            }
            if row.iter().map(|x| x * x).sum::<f64>() < SWITCH * SWITCH {
                self.integrated_difference(a.row(i), b.row(i), row);
            }
        }
    }

    fn integrated_difference(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        const NODE: f64 = 0.112_701_665_379_258_31; // (1 - sqrt(3/5))/2
        const WEIGHTS: [(f64, f64); 3] =
            [(NODE, 5.0 / 18.0), (0.5, 8.0 / 18.0), (1.0 - NODE, 5.0 / 18.0)];
        let step: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let mut part = vec![0.0; out.len()];
        out.fill(0.0);
        for (node, weight) in WEIGHTS {
            let base: Vec<f64> = b.iter().zip(&step).map(|(b, e)| b + node * e).collect();
            self.0.push(Rows::shared(&step), Rows::shared(&base), &mut part);
            for (out, part) in out.iter_mut().zip(&part) {
                *out += weight * part;
            }
        }
    }

    /// phi^-1(phi(base) + coords), consuming the coordinates.
    fn step(&self, mut coords: Vec<f64>, base: Rows, out: &mut [f64]) {
        let dim = self.dim();
        let origin = self.charted(base, coords.len() / dim);
        for (i, row) in coords.chunks_exact_mut(dim).enumerate() {
            let start = &origin[if base.is_shared() { 0 } else { i * dim }..][..dim];
            for k in 0..dim {
                row[k] += start[k];
            }
        }
        self.0.unchart(Rows::new(&coords, dim), out);
    }
}

impl<C: FlatChart> Manifold for Flat<C> {
    fn point_size(&self) -> usize {
        self.0.order() * self.0.order()
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn space(&self) -> Space {
        Space::flat(self.dim())
    }

    fn clip_limit(&self) -> f64 {
        self.0.clip_limit()
    }

    fn start(&self) -> Start {
        self.0.start()
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        self.0.belongs(point, tolerance)
    }

    fn project(&self, point: &mut [f64]) -> bool {
        self.0.project(point)
    }

    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        self.0.snap(records, valid);
    }

    fn short_size(&self) -> Option<usize> {
        self.0.short_size()
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        self.0.from_short(rows, out);
    }

    fn to_tangent(&self, vector: Rows, _base: Rows, out: &mut [f64]) {
        self.0.to_tangent(vector, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let coords = self.pushed(tangent, base, out.len() / self.point_size());
        self.step(coords, base, out);
    }

    fn exp_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let count = out.len() / self.point_size();
        let rows = (0..count).flat_map(|i| coords.row(i).iter().copied()).collect();
        self.step(rows, base, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let mut coords = vec![0.0; out.len() / self.point_size() * self.dim()];
        self.difference(point, base, &mut coords);
        self.0.pull(Rows::new(&coords, self.dim()), base, out);
    }

    fn log_coords(&self, point: Rows, base: Rows, out: &mut [f64]) {
        self.difference(point, base, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let dim = self.dim();
        let mut coords = vec![0.0; out.len() * dim];
        self.difference(a, b, &mut coords);
        for (entry, row) in out.iter_mut().zip(coords.chunks_exact(dim)) {
            *entry = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        }
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let coords = self.pushed(tangent, base, out.len() / self.point_size());
        self.0.pull(Rows::new(&coords, self.dim()), end, out);
    }

    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]) {
        let dim = self.dim();
        let x = self.pushed(a, base, out.len());
        let y = self.pushed(b, base, out.len());
        for (entry, (x, y)) in out.iter_mut().zip(x.chunks_exact(dim).zip(y.chunks_exact(dim))) {
            *entry = x.iter().zip(y).map(|(x, y)| x * y).sum();
        }
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.0.push(tangent, base, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        self.0.pull(coords, base, out);
    }

    fn conditioning(&self, point: &[f64]) -> f64 {
        condition(self.0.order(), point)
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(Euclidean::new(self.dim())))
    }

    /// The identity matrix, whose coordinates are 0.
    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.point_size()];
        self.0.unchart(Rows::shared(&vec![0.0; self.dim()]), &mut origin);
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.difference(point, Rows::shared(center), out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.exp_coords(point, Rows::shared(center), out);
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let dim = self.dim();
        let coords = self.charted(points, count);
        let origin = self.charted(Rows::shared(base), 1);
        let mut block = vec![0.0; dim];
        let mut sums = LogSums::default();
        for (i, row) in coords.chunks_exact(dim).enumerate() {
            let weight = weights.map_or(1.0, |w| w[i]);
            let mut square = 0.0;
            for k in 0..dim {
                let difference = row[k] - origin[k];
                block[k] += weight * difference;
                square += difference * difference;
            }
            sums.squared_dist += weight * square;
            sums.curvature += weight;
            if i % SUMMED == SUMMED - 1 || i + 1 == count {
                for k in 0..dim {
                    sum[k] += block[k];
                    block[k] = 0.0;
                }
            }
        }
        sums
    }

    fn exp_differential(&self, coords: &[f64], _base: &[f64], out: &mut [f64]) {
        scalar(coords.len(), 1.0, out);
    }
}
