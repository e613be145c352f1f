//! Multinomial logistic regression.

use curvedp_core::logistic::{self, Labelled, Step};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, rows};
use crate::call::run;
use crate::groups::offsets;

/// The mean gradient of units of labelled records, shortened to `max_length`; see [`logistic::mean_gradient`].
#[pyfunction]
pub fn logistic_gradient<'py>(
    py: Python<'py>,
    coords: Input<'py>,
    codes: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    weights: Input<'py>,
    features: (f64, f64),
    max_length: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (count, dim) = (coords.shape()[0], coords.shape()[1]);
    let ends = offsets(&ends, count, "ends of units")?;
    let codes = codes.in_order()?;
    let filled = ends.len() > 1 && ends.windows(2).all(|end| end[0] < end[1]);
    if !filled || dim == 0 || codes.len() != count {
        return Err(PyValueError::new_err("coordinates, classes and units do not match"));
    }
    let classes = weights.shape()[0];
    let _ = rows(&weights, classes, dim + 1)?;
    let records = Labelled { coords: coords.in_order()?, dim, codes, ends: &ends };
    let (scale, constant) = features;
    let step = Step { weights: weights.in_order()?, scale, constant, max_length };
    let mean = run(py, |interrupt| logistic::mean_gradient(&records, &step, interrupt))?;
    PyArray1::from_vec(py, mean).reshape([classes, dim + 1])
}
