//! `_core.Plan`, `_core.Descent` and the non-private mean.

use std::sync::{Mutex, MutexGuard};

use curvedp_core::cascade::PIECE;
use curvedp_core::manifold::LogSums;
use curvedp_core::mean;
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, row, rows};
use crate::call::run;
use crate::frame::Frame;
use crate::manifold::Manifold;

/// The accuracy of a mean, fixed before a record is seen.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Plan {
    pub(crate) inner: mean::Plan,
}

#[pymethods]
impl Plan {
    #[getter]
    fn tolerance(&self) -> f64 {
        self.inner.tolerance
    }

    #[getter]
    fn gradient_target(&self) -> f64 {
        self.inner.gradient_target
    }

    #[getter]
    fn safe_step(&self) -> f64 {
        self.inner.safe_step
    }

    #[getter]
    fn max_evaluations(&self) -> usize {
        self.inner.max_evaluations
    }

    /// True if the mean is as near as was asked for, or near beside noise of that scale.
    fn is_within(&self, scale: f64) -> bool {
        self.inner.is_within(scale)
    }
}

/// The iteration for the mean of points in a ball, whose gradients the caller sums.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Descent {
    frame: Py<Frame>,
    inner: Mutex<mean::Descent>,
}

impl Descent {
    fn open(&self) -> PyResult<MutexGuard<'_, mean::Descent>> {
        self.inner
            .lock()
            .map_err(|_| PyRuntimeError::new_err("the iteration is in an unknown state"))
    }
}

#[pymethods]
impl Descent {
    #[new]
    fn new(frame: Py<Frame>, plan: &Plan) -> Self {
        let inner = Mutex::new(mean::Descent::new(&frame.get().inner.ball(), &plan.inner));
        Self { frame, inner }
    }

    /// The point of the frame at which the gradient is wanted; None once the mean is found.
    fn wanted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let state = self.open()?;
        Ok(state.wanted().map(|point| PyArray1::from_slice(py, point)))
    }

    /// The last point.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.open()?.point()))
    }

    /// Takes the sums over all pieces of n points; see `Frame.piece_sums`.
    fn advance(&self, py: Python<'_>, sums: Input<'_>, n: usize) -> PyResult<()> {
        let ball = self.frame.get().inner.ball();
        let dim = ball.manifold.dim();
        let count = n.div_ceil(PIECE).max(1);
        if sums.shape() != [count, dim + 2] {
            return Err(PyValueError::new_err(format!(
                "expected {count} rows of {} sums",
                dim + 2
            )));
        }
        let pieces = sums.in_order()?.chunks_exact(dim + 2).map(|row| {
            let (sum, rest) = row.split_at(dim);
            (sum.to_vec(), LogSums { squared_dist: rest[0], curvature: rest[1] })
        });
        let pieces = pieces.collect();
        run(py, |_| Ok(self.open().map(|mut state| state.advance(&ball, pieces, n))))?
    }
}

/// Point, gradient norm, certified distance, variance, evaluations, converged.
pub type Estimate<'py> = (Bound<'py, PyArray1<f64>>, f64, f64, f64, usize, bool);

/// The Fréchet mean of points, without privacy.
pub fn estimate<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    (points, weights): (Input<'py>, Option<PyReadonlyArray1<'py, f64>>),
    start: PyReadonlyArray1<'py, f64>,
    (tolerance, max_evaluations): (f64, usize),
) -> PyResult<Estimate<'py>> {
    let manifold = &*manifold.inner;
    let (count, size) = (points.shape()[0], manifold.point_size());
    if count == 0 {
        return Err(PyValueError::new_err("the mean of no points does not exist"));
    }
    let points = rows(&points, count, size)?;
    let weights = weights.as_ref().map(|w| row(w, count)).transpose()?;
    let start = row(&start, size)?;
    let mean = run(py, |interrupt| {
        let sample = mean::Sample { manifold, points, count, weights, anchor: None };
        mean::unconstrained(&sample, start, tolerance, max_evaluations, interrupt)
    })?;
    let point = PyArray1::from_vec(py, mean.point);
    let (gradient, dist) = (mean.gradient_norm, mean.certified_dist);
    Ok((point, gradient, dist, mean.variance, mean.evaluations, mean.converged))
}
