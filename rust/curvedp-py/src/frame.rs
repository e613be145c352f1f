//! `_core.Frame`: a public ball with its centre moved to the manifold's origin.

use std::sync::Arc;

use curvedp_core::ball;
use curvedp_core::cascade::PIECE;
use curvedp_core::law::STEPS_PER_SCALE;
use curvedp_core::mean::{self, RestrictedBounds};
use curvedp_core::release::Grid;
use curvedp_core::rows::Rows;
use curvedp_core::tally::{Counted, Tally};
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, Output, output, row, rows};
use crate::call::run;
use crate::groups::{offsets, placement};
use crate::manifold::Manifold;
use crate::mean::Plan;

/// The frame of the ball B(center, radius).
#[pyclass(frozen, module = "curvedp._core")]
pub struct Frame {
    pub(crate) inner: ball::Frame,
}

#[pymethods]
impl Frame {
    #[new]
    fn new(manifold: &Manifold, center: PyReadonlyArray1<'_, f64>, radius: f64) -> PyResult<Self> {
        let center = row(&center, manifold.inner.point_size())?;
        Ok(Self { inner: ball::Frame::new(Arc::clone(&manifold.inner), center, radius) })
    }

    /// The manifold on which centred points live.
    #[getter]
    fn manifold(&self) -> Manifold {
        Manifold { inner: Arc::clone(self.inner.centred()) }
    }

    /// True if points of the frame stand in numbers for wide balls: triangular factors, chart coordinates.
    #[getter]
    fn is_precise(&self) -> bool {
        self.inner.is_precise()
    }

    /// The centre in the frame.
    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.ball().center)
    }

    /// Projects records on the ball, in the coordinates of the manifold.
    fn project(&self, py: Python<'_>, records: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let size = self.inner.manifold().point_size();
        let (out, count) = output(&mut out, size)?;
        let records = rows(&records, count, size)?;
        run(py, |interrupt| self.inner.project(records, out, interrupt))
    }

    /// Projects records on the ball and moves them into the frame. Returns how many were points outside the ball, and
    /// how many no points.
    fn enter(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        mut out: Output<'_>,
    ) -> PyResult<(u64, u64)> {
        let size = self.inner.manifold().point_size();
        let (out, count) = output(&mut out, self.inner.ball().manifold.point_size())?;
        let records = rows(&records, count, size)?;
        let tally = Tally::default();
        let counted = Counted::from(Some(&tally), 0);
        run(py, |interrupt| self.inner.enter_into(records, out, counted, interrupt))?;
        Ok(tally.counts())
    }

    /// Writes 0 for points of the ball, 1 for points outside and 2 for what stands for no point.
    fn categories(&self, py: Python<'_>, records: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let (out, count) = output(&mut out, 1)?;
        let records = rows(&records, count, self.inner.manifold().point_size())?;
        run(py, |interrupt| self.inner.categories(records, out, interrupt))
    }

    /// Moves points of the manifold into the frame as they are.
    fn centre(&self, py: Python<'_>, points: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let (out, count) = output(&mut out, self.inner.ball().manifold.point_size())?;
        let points = rows(&points, count, self.inner.manifold().point_size())?;
        run(py, |_| {
            self.inner.centre(points, out);
            Ok(())
        })
    }

    /// Moves points of the frame back to the manifold.
    fn leave(&self, py: Python<'_>, points: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let (out, count) = output(&mut out, self.inner.manifold().point_size())?;
        let points = rows(&points, count, self.inner.ball().manifold.point_size())?;
        run(py, |_| {
            self.inner.leave(points, out);
            Ok(())
        })
    }

    /// The largest distance that a point of the ball can have from a point of the frame.
    fn reach(&self, point: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let manifold = self.inner.ball().manifold;
        let mut dist = [f64::NAN];
        let point = Rows::shared(row(&point, manifold.point_size())?);
        manifold.dist_origin(point, &mut dist);
        Ok(self.inner.reach(dist[0]))
    }

    /// Moves released points of the manifold to the ball; those in it stay as they are.
    fn keep(&self, py: Python<'_>, points: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let size = self.inner.manifold().point_size();
        let (out, count) = output(&mut out, size)?;
        let points = rows(&points, count, size)?;
        run(py, |_| {
            self.inner.keep(points, out);
            Ok(())
        })
    }

    /// Estimated distance of the exact mean from the centre, from a released point of the manifold, and by how much the
    /// chart stretches noise there; see [`ball::Ball::place`].
    fn place(
        &self,
        released: PyReadonlyArray1<'_, f64>,
        mean_square: f64,
        chart: bool,
    ) -> PyResult<[f64; 2]> {
        let (size, ball) = (self.inner.manifold().point_size(), self.inner.ball());
        let mut inner = vec![0.0; ball.manifold.point_size()];
        self.inner.centre(Rows::shared(row(&released, size)?), &mut inner);
        Ok(ball.place(&inner, mean_square, placement(chart)))
    }

    /// Bound on the error of a computed distance between two points of the ball.
    #[getter]
    fn dist_error(&self) -> f64 {
        mean::dist_error(&self.inner.ball())
    }

    /// Sensitivity and error of the least mean squared distance from a point within s of the centre, for n records,
    /// a share of which is replaced.
    fn restricted_bounds(&self, plan: &Plan, n: usize, replaced: f64, within: f64) -> (f64, f64) {
        let bounds = RestrictedBounds::new(&self.inner.ball(), &plan.inner, n, replaced, within);
        (bounds.sensitivity, bounds.tolerance)
    }

    /// True for records that are points of the ball.
    fn contains(&self, py: Python<'_>, records: Input<'_>) -> PyResult<Vec<bool>> {
        let (count, size) = (records.shape()[0], self.inner.manifold().point_size());
        let records = rows(&records, count, size)?;
        run(py, |_| {
            let mut inside = vec![false; count];
            self.inner.contains(records, &mut inside);
            Ok(inside)
        })
    }

    /// Sensitivity of the mean of n records, `moved` of which a unit replaces.
    fn sensitivity(&self, n: f64, moved: f64) -> f64 {
        self.inner.ball().sensitivity(n, moved)
    }

    /// Largest distance between the logarithms of two points of the ball, taken at one point of it.
    #[getter]
    fn log_diameter(&self) -> f64 {
        self.inner.ball().log_diameter()
    }

    /// Lipschitz constant of the chart at the centre.
    #[getter]
    fn lipschitz(&self) -> f64 {
        self.inner.ball().lipschitz()
    }

    /// Distance from the centre at which releases are clipped; infinite for no clipping.
    #[getter]
    fn clip_radius(&self) -> f64 {
        self.inner.clip_radius()
    }

    /// The step of the public grid for noise of a scale, in the chart at the centre or at the point itself, or None if
    /// rounding errors leave none.
    fn grid_step(&self, scale: f64, in_chart: bool) -> Option<f64> {
        let (ball, clip_radius) = (self.inner.ball(), self.inner.clip_radius());
        let grid = ball.grid(scale, STEPS_PER_SCALE, clip_radius, placement(in_chart));
        grid.map(|grid| grid.step)
    }

    /// The least scale of noise for which there is a grid; infinite if there is none.
    fn least_scale(&self, in_chart: bool) -> f64 {
        self.inner.ball().least_scale(self.inner.clip_radius(), placement(in_chart))
    }

    /// Clips points of the frame and rounds them to the public grid, in place.
    fn round_to_grid(&self, py: Python<'_>, mut points: Output<'_>, step: f64) -> PyResult<()> {
        let clip_radius = self.inner.clip_radius();
        let (points, _) = output(&mut points, self.inner.ball().manifold.point_size())?;
        run(py, |_| {
            self.inner.ball().round_to_grid(points, |_| Grid { step, clip_radius });
            Ok(())
        })
    }

    /// The accuracy that can be promised for the mean of n records, or None if the ball is too large for
    /// double precision.
    fn plan(&self, n: usize, tolerance: f64) -> Option<Plan> {
        let ball = self.inner.ball();
        mean::plan(ball.manifold, ball.radius, n, tolerance).map(|inner| Plan { inner })
    }

    /// Sums of the logarithms at `base` over every PIECE points of the frame: rows of a tangent vector in
    /// coordinates, the sum of squared distances and that of curvatures.
    fn piece_sums(
        &self,
        py: Python<'_>,
        points: Input<'_>,
        base: PyReadonlyArray1<'_, f64>,
        mut out: Output<'_>,
    ) -> PyResult<()> {
        let manifold = self.inner.ball().manifold;
        let count = points.shape()[0];
        let base = row(&base, manifold.point_size())?;
        let width = manifold.dim() + 2;
        let (out, pieces) = output(&mut out, width)?;
        if points.shape()[1] != manifold.point_size() || pieces != count.div_ceil(PIECE) {
            return Err(PyValueError::new_err("points and sums do not match"));
        }
        let points = Rows::new(points.in_order()?, manifold.point_size());
        run(py, |interrupt| {
            let sample = mean::Sample { manifold, points, count, weights: None, anchor: None };
            for (row, (sum, sums)) in
                out.chunks_exact_mut(width).zip(sample.piece_sums(base, interrupt)?)
            {
                row[..sum.len()].copy_from_slice(&sum);
                row[sum.len()] = sums.squared_dist;
                row[sum.len() + 1] = sums.curvature;
            }
            Ok(())
        })
    }

    /// One record for each unit, of which unit j has the records `ends[j]` to `ends[j + 1]`: its only one, or the mean of
    /// its records on the ball.
    fn of_units(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        ends: PyReadonlyArray1<'_, i64>,
        mut out: Output<'_>,
    ) -> PyResult<()> {
        let size = self.inner.manifold().point_size();
        let ends = offsets(&ends, records.shape()[0], "ends")?;
        let (out, count) = output(&mut out, size)?;
        if records.shape()[1] != size || count + 1 != ends.len() {
            return Err(PyValueError::new_err("records, units and output do not match"));
        }
        let records = Rows::new(records.in_order()?, size);
        run(py, |interrupt| mean::of_units(&self.inner, records, &ends, out, interrupt))
    }

    /// The mean of points of the frame, within the plan's tolerance.
    fn mean<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        plan: &Plan,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let ball = self.inner.ball();
        let count = points.shape()[0];
        let points = rows(&points, count, ball.manifold.point_size())?;
        let plan = plan.inner;
        let mean = run(py, |interrupt| {
            let ball = self.inner.ball();
            let sample = mean::Sample {
                manifold: ball.manifold,
                points,
                count,
                weights: None,
                anchor: None,
            };
            mean::in_ball(&sample, &ball, &plan, interrupt)
        })?;
        Ok(PyArray1::from_vec(py, mean))
    }
}
