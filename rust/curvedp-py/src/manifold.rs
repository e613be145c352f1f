//! `_core.Manifold`: batched geometry.

use std::sync::Arc;

use curvedp_core::batch;
use curvedp_core::error::Error;
use curvedp_core::manifold;
use curvedp_core::parallel::{Interrupt, for_rows};
use curvedp_core::rows::Rows;
use numpy::{PyArray2, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrderMut, Input, Output, OutputVector, output, output_vector, row, rows};
use crate::call::{run, to_python};
use crate::groups::{ExcessDiameter, HessianTrace};
use crate::mean::{self, Estimate};
use crate::moments::{self, LogMoments};
use crate::regression;

/// A manifold: `kind` names it, `size` and `parameter` fix it (see `curvedp_core::manifold::build`).
#[pyclass(frozen, module = "curvedp._core")]
pub struct Manifold {
    pub(crate) inner: Arc<dyn manifold::Manifold>,
}

#[pymethods]
impl Manifold {
    #[new]
    fn new(kind: &str, size: usize, parameter: f64) -> PyResult<Self> {
        let inner = manifold::build(kind, size, parameter).map_err(to_python)?;
        Ok(Self { inner: inner.into() })
    }

    #[getter]
    fn point_size(&self) -> usize {
        self.inner.point_size()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    #[getter]
    fn curvature_bounds(&self) -> (f64, f64) {
        self.inner.curvature_bounds()
    }

    #[getter]
    fn injectivity_radius(&self) -> f64 {
        self.inner.injectivity_radius()
    }

    /// Number and curvature of the planes through a direction, leaving out flat ones; None where they differ
    /// from direction to direction.
    #[getter]
    fn planes(&self) -> Option<Vec<(f64, f64)>> {
        self.inner.roots().planes()
    }

    /// Dimension of a maximal flat.
    #[getter]
    fn rank(&self) -> usize {
        self.inner.roots().rank
    }

    /// Largest number of eigenspaces of a curvature operator; functions of it are sums over them.
    #[getter]
    fn eigenspaces(&self) -> usize {
        self.inner.roots().eigenspaces()
    }

    /// The trace of the Hessian of half the squared distance, averaged over directions.
    #[getter]
    fn hessian_trace(&self) -> HessianTrace {
        HessianTrace { inner: manifold::HessianTrace::of(&*self.inner) }
    }

    /// Bound on the distance between two Hessians; None where all are the identity.
    #[getter]
    fn hessian_diameter(&self) -> Option<ExcessDiameter> {
        manifold::ExcessDiameter::of(&*self.inner).map(|inner| ExcessDiameter { inner })
    }

    /// The space of isotropic noise, as the first arguments of [`crate::noise::Noise`].
    #[getter]
    fn noise_space(&self) -> (&'static str, usize, f64) {
        self.inner.space().name()
    }

    /// True if a point is a class of rows, whose average means nothing.
    #[getter]
    fn is_quotient(&self) -> bool {
        self.inner.is_quotient()
    }

    /// Distance from the centre within which releases on a small ball stay; infinite for no clipping.
    #[getter]
    fn clip_limit(&self) -> f64 {
        self.inner.clip_limit()
    }

    fn belongs(
        &self,
        py: Python<'_>,
        points: Input<'_>,
        tolerance: f64,
        mut out: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let out = out.in_order_mut()?;
        let points = rows(&points, out.len(), self.inner.point_size())?;
        run(py, |interrupt| {
            for (piece, flags) in out.chunks_mut(ROWS_PER_LOOK).enumerate() {
                look(piece, interrupt)?;
                for (i, flag) in flags.iter_mut().enumerate() {
                    let row = points.row(piece * ROWS_PER_LOOK + i);
                    *flag = self.inner.belongs(row, tolerance);
                }
            }
            Ok(())
        })
    }

    /// Projects `points` in place; `found` tells which have a projection.
    fn project(
        &self,
        py: Python<'_>,
        points: Output<'_>,
        found: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        self.in_place(py, points, found, |points, found| {
            for (row, found) in points.chunks_exact_mut(size).zip(found) {
                *found = self.inner.project(row);
            }
        })
    }

    /// Rounds records onto the manifold, in place; `valid` tells which stand for a point.
    fn snap(
        &self,
        py: Python<'_>,
        records: Output<'_>,
        valid: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        self.in_place(py, records, valid, |records, valid| self.inner.snap(records, valid))
    }

    /// Entries of the short form of a point; None if there is none.
    #[getter]
    fn short_size(&self) -> Option<usize> {
        self.inner.short_size()
    }

    /// Points from their short forms.
    fn from_short(&self, py: Python<'_>, short: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let width = self
            .inner
            .short_size()
            .ok_or_else(|| PyValueError::new_err("a point of this manifold has no short form"))?;
        let size = self.inner.point_size();
        let (out, count) = output(&mut out, size)?;
        let short = rows(&short, count, width)?;
        run(py, |interrupt| {
            for_rows(out, size, batch::piece_rows(size), interrupt, |first, piece| {
                let range = first..first + piece.len() / size;
                self.inner.from_short(short.range(range), piece);
            })
        })
    }

    fn to_tangent(
        &self,
        py: Python<'_>,
        vector: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        self.binary(py, (vector, size), base, out, size, |m, a, b, out| m.to_tangent(a, b, out))
    }

    fn exp(
        &self,
        py: Python<'_>,
        tangent: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        self.binary(py, (tangent, size), base, out, size, |m, a, b, out| m.exp(a, b, out))
    }

    fn log(
        &self,
        py: Python<'_>,
        point: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        self.binary(py, (point, size), base, out, size, |m, a, b, out| m.log(a, b, out))
    }

    fn coords(
        &self,
        py: Python<'_>,
        tangent: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let (size, dim) = (self.inner.point_size(), self.inner.dim());
        self.binary(py, (tangent, size), base, out, dim, |m, a, b, out| m.coords(a, b, out))
    }

    fn from_coords(
        &self,
        py: Python<'_>,
        coords: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let (size, dim) = (self.inner.point_size(), self.inner.dim());
        self.binary(py, (coords, dim), base, out, size, |m, a, b, out| m.from_coords(a, b, out))
    }

    fn exp_coords(
        &self,
        py: Python<'_>,
        coords: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let (size, dim) = (self.inner.point_size(), self.inner.dim());
        self.binary(py, (coords, dim), base, out, size, |m, a, b, out| m.exp_coords(a, b, out))
    }

    fn log_coords(
        &self,
        py: Python<'_>,
        point: Input<'_>,
        base: Input<'_>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let (size, dim) = (self.inner.point_size(), self.inner.dim());
        self.binary(py, (point, size), base, out, dim, |m, a, b, out| m.log_coords(a, b, out))
    }

    fn dist(
        &self,
        py: Python<'_>,
        a: Input<'_>,
        b: Input<'_>,
        mut out: OutputVector<'_>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        let out = output_vector(&mut out)?;
        let (a, b) = (rows(&a, out.len(), size)?, rows(&b, out.len(), size)?);
        run(py, |interrupt| batch::dist(&*self.inner, a, b, out, interrupt))
    }

    #[pyo3(signature = (a, b, out))]
    fn pairwise_dist(
        &self,
        py: Python<'_>,
        a: Input<'_>,
        b: Option<Input<'_>>,
        mut out: Output<'_>,
    ) -> PyResult<()> {
        use numpy::PyUntypedArrayMethods;
        let size = self.inner.point_size();
        let columns = b.as_ref().map_or(a.shape()[0], |b| b.shape()[0]);
        let (out, count) = output(&mut out, columns)?;
        let all = |array, n| rows(array, n, size).map(|rows| Rows::new(rows.data(), size));
        let b = b.as_ref().map(|b| all(b, columns)).transpose()?;
        let a = all(&a, count)?;
        run(py, |interrupt| batch::pairwise_dist(&*self.inner, a, b, out, interrupt))
    }

    fn parallel_transport(
        &self,
        py: Python<'_>,
        tangent: Input<'_>,
        base: Input<'_>,
        end: Input<'_>,
        mut out: Output<'_>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        let (out, count) = output(&mut out, size)?;
        let inputs =
            [rows(&tangent, count, size)?, rows(&base, count, size)?, rows(&end, count, size)?];
        run(py, |interrupt| {
            batch::ternary(size, inputs, out, interrupt, |[v, p, q], out| {
                self.inner.parallel_transport(v, p, q, out);
            })
        })
    }

    fn inner(
        &self,
        py: Python<'_>,
        a: Input<'_>,
        b: Input<'_>,
        base: Input<'_>,
        mut out: OutputVector<'_>,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        let out = output_vector(&mut out)?;
        let count = out.len();
        let inputs = [rows(&a, count, size)?, rows(&b, count, size)?, rows(&base, count, size)?];
        run(py, |interrupt| {
            batch::ternary(1, inputs, out, interrupt, |[a, b, p], out| {
                self.inner.inner(a, b, p, out);
            })
        })
    }

    /// The Fréchet mean of points, without privacy.
    #[pyo3(signature = (points, weights, start, tolerance, max_evaluations))]
    fn mean<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        start: PyReadonlyArray1<'py, f64>,
        tolerance: f64,
        max_evaluations: usize,
    ) -> PyResult<Estimate<'py>> {
        mean::estimate(py, self, (points, weights), start, (tolerance, max_evaluations))
    }

    /// Means of min(rho(base, x_i), R)^2 and of its square, R = max_dist.
    fn dist_moments(
        &self,
        py: Python<'_>,
        points: Input<'_>,
        base: PyReadonlyArray1<'_, f64>,
        max_dist: f64,
    ) -> PyResult<(f64, f64)> {
        moments::dist_moments(py, self, points, base, max_dist)
    }

    /// Means of u_i = log_base x_i clipped to length R, of u_i u_i^T and, if asked for, of the Hessian of
    /// ½rho(., exp_base u_i)^2 minus the identity, in orthonormal coordinates at `base`.
    fn log_moments<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        base: PyReadonlyArray1<'py, f64>,
        max_dist: f64,
        hessian: bool,
    ) -> PyResult<LogMoments<'py>> {
        moments::log_moments(py, self, points, base, max_dist, hessian)
    }

    /// Logarithm of the volume element of exp at tangent vectors with these coordinates, at any base point.
    fn log_volume_density(
        &self,
        py: Python<'_>,
        coords: Input<'_>,
        mut out: OutputVector<'_>,
    ) -> PyResult<()> {
        let out = output_vector(&mut out)?;
        let coords = rows(&coords, out.len(), self.inner.dim())?;
        run(py, |interrupt| {
            for (piece, part) in out.chunks_mut(ROWS_PER_LOOK).enumerate() {
                look(piece, interrupt)?;
                let first = piece * ROWS_PER_LOOK;
                let rows = coords.range(first..first + part.len());
                manifold::log_jacobians(&*self.inner, rows, part);
            }
            Ok(())
        })
    }

    /// A bound on it at vectors up to that long.
    fn log_volume_bound(&self, length: f64) -> f64 {
        manifold::log_jacobian_bound(&*self.inner, length)
    }

    /// Bound on the rounding error of the gradient of a mean of n records, at points within `radius` of the origin.
    fn gradient_rounding(&self, radius: f64, n: usize) -> f64 {
        curvedp_core::mean::rounding_error(&*self.inner, radius, n)
    }

    /// Bound on the rounding error of the third mean of `log_moments` over n records, relative to the
    /// largest Frobenius norm that a term may have.
    fn hessian_error(&self, n: usize) -> f64 {
        curvedp_core::moments::hessian_error(&*self.inner, n)
    }

    /// True if points near this centre of a ball keep their digits.
    fn carries(&self, center: PyReadonlyArray1<'_, f64>) -> PyResult<bool> {
        Ok(self.inner.carries(row(&center, self.inner.point_size())?))
    }

    /// The differential of exp_base at the tangent vector with the given coordinates, from orthonormal
    /// coordinates at `base` to those at its end point.
    fn exp_differential<'py>(
        &self,
        py: Python<'py>,
        coords: PyReadonlyArray1<'py, f64>,
        base: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        moments::exp_differential(py, self, coords, base)
    }

    /// The curvature operator v -> R(v, u)u of the tangent vector u with the given coordinates.
    fn curvature_operator<'py>(
        &self,
        py: Python<'py>,
        coords: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        moments::curvature_operator(py, self, coords)
    }

    /// Energy of the geodesic exp_footpoint(t velocity) with residuals clipped at `max_residual`, and its
    /// gradients; velocity and gradients in coordinates at the footpoint.
    fn regression_energy<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        times: PyReadonlyArray1<'py, f64>,
        footpoint: PyReadonlyArray1<'py, f64>,
        velocity: PyReadonlyArray1<'py, f64>,
        max_residual: f64,
    ) -> PyResult<regression::Energy<'py>> {
        regression::energy(py, self, (points, times), (footpoint, velocity), max_residual)
    }

    /// What each unit contributes to a whitened Gauss-Newton step, shape (units, (q + 1) dim): `times` has
    /// the shape (n, q), unit j the records `ends[j]` to `ends[j + 1]`, `velocities` the shape (q, dim).
    #[expect(clippy::too_many_arguments, reason = "one argument for each argument in Python")]
    fn regression_contributions<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        times: Input<'py>,
        ends: PyReadonlyArray1<'py, i64>,
        footpoint: PyReadonlyArray1<'py, f64>,
        velocities: Input<'py>,
        whitening: Input<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (records, at) = ((points, times, ends), (footpoint, velocities));
        regression::contributions(py, self, records, at, whitening)
    }

    /// The geodesic of least energy near a start, with a velocity no longer than `max_speed`.
    #[expect(clippy::too_many_arguments, reason = "one argument for each argument in Python")]
    fn regression_fit<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        times: PyReadonlyArray1<'py, f64>,
        footpoint: PyReadonlyArray1<'py, f64>,
        velocity: PyReadonlyArray1<'py, f64>,
        tolerance: f64,
        max_evaluations: usize,
        max_speed: f64,
    ) -> PyResult<regression::Fit<'py>> {
        let limits = (tolerance, max_evaluations, max_speed);
        regression::fit(py, self, (points, times), (footpoint, velocity), limits)
    }
}

/// Rows handled between two looks at the interrupt flag where a kernel is not spread over threads.
const ROWS_PER_LOOK: usize = 4096;

fn look(piece: usize, interrupt: Interrupt) -> Result<(), Error> {
    if piece > 0 && interrupt() { Err(Error::Interrupted) } else { Ok(()) }
}

impl Manifold {
    fn in_place(
        &self,
        py: Python<'_>,
        mut points: Output<'_>,
        mut flags: PyReadwriteArray1<'_, bool>,
        kernel: impl Fn(&mut [f64], &mut [bool]) + Send + Sync,
    ) -> PyResult<()> {
        let size = self.inner.point_size();
        let (points, count) = output(&mut points, size)?;
        let flags = flags.in_order_mut()?;
        if flags.len() != count {
            let have = flags.len();
            return Err(PyValueError::new_err(format!("expected {count} flags, got {have}")));
        }
        run(py, |interrupt| {
            let pieces = points.chunks_mut(ROWS_PER_LOOK * size);
            for (piece, (rows, flags)) in pieces.zip(flags.chunks_mut(ROWS_PER_LOOK)).enumerate() {
                look(piece, interrupt)?;
                kernel(rows, flags);
            }
            Ok(())
        })
    }

    fn binary(
        &self,
        py: Python<'_>,
        (a, a_size): (Input<'_>, usize),
        base: Input<'_>,
        mut out: Output<'_>,
        width: usize,
        kernel: impl Fn(&dyn manifold::Manifold, Rows, Rows, &mut [f64]) + Sync + Send,
    ) -> PyResult<()> {
        let (out, count) = output(&mut out, width)?;
        let a = rows(&a, count, a_size)?;
        let base = rows(&base, count, self.inner.point_size())?;
        run(py, |interrupt| {
            batch::binary(width, a, base, out, interrupt, |a, b, out| {
                kernel(&*self.inner, a, b, out);
            })
        })
    }
}
