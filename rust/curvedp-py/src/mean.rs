//! `_core.Plan` and the non-private mean.

use curvedp_core::mean;
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Input, row, rows};
use crate::call::run;
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
        let sample = mean::Sample { manifold, points, count, weights };
        mean::unconstrained(&sample, start, tolerance, max_evaluations, interrupt)
    })?;
    let point = PyArray1::from_vec(py, mean.point);
    let (gradient, dist) = (mean.gradient_norm, mean.certified_dist);
    Ok((point, gradient, dist, mean.variance, mean.evaluations, mean.converged))
}
