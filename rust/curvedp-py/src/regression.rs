//! Geodesic regression.

use curvedp_core::regression::{self, Geodesic, Limits, Sample};
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Input, row, rows};
use crate::call::run;
use crate::manifold::Manifold;

/// Energy, gradient of the footpoint, gradient of the velocity.
pub type Energy<'py> = (f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Footpoint, coordinates of the velocity, energy, gradient norm, evaluations, converged.
pub type Fit<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, f64, f64, usize, bool);

fn sample<'a>(
    manifold: &'a Manifold,
    points: &'a Input<'_>,
    times: &'a PyReadonlyArray1<'_, f64>,
) -> PyResult<Sample<'a>> {
    let manifold = &*manifold.inner;
    let count = points.shape()[0];
    if count == 0 {
        return Err(PyValueError::new_err("a regression on no points does not exist"));
    }
    let points = rows(points, count, manifold.point_size())?;
    Ok(Sample { manifold, points, times: row(times, count)? })
}

fn geodesic(
    manifold: &Manifold,
    footpoint: &PyReadonlyArray1<'_, f64>,
    velocity: &PyReadonlyArray1<'_, f64>,
) -> PyResult<Geodesic> {
    let footpoint = row(footpoint, manifold.inner.point_size())?.to_vec();
    let velocity = row(velocity, manifold.inner.dim())?.to_vec();
    Ok(Geodesic { footpoint, velocity })
}

/// See [`regression::energy`].
pub fn energy<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    (points, times): (Input<'py>, PyReadonlyArray1<'py, f64>),
    (footpoint, velocity): (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    max_residual: f64,
) -> PyResult<Energy<'py>> {
    let sample = sample(manifold, &points, &times)?;
    let at = geodesic(manifold, &footpoint, &velocity)?;
    let found = run(py, |interrupt| regression::energy(&sample, &at, max_residual, interrupt))?;
    let footpoint = PyArray1::from_vec(py, found.footpoint_gradient);
    Ok((found.value, footpoint, PyArray1::from_vec(py, found.velocity_gradient)))
}

/// See [`regression::fit`].
pub fn fit<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    (points, times): (Input<'py>, PyReadonlyArray1<'py, f64>),
    (footpoint, velocity): (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    (tolerance, max_evaluations, max_speed): (f64, usize, f64),
) -> PyResult<Fit<'py>> {
    let sample = sample(manifold, &points, &times)?;
    let start = geodesic(manifold, &footpoint, &velocity)?;
    let limits = Limits { tolerance, max_evaluations, max_speed };
    let found = run(py, |interrupt| regression::fit(&sample, start, &limits, interrupt))?;
    let footpoint = PyArray1::from_vec(py, found.geodesic.footpoint);
    let velocity = PyArray1::from_vec(py, found.geodesic.velocity);
    let (energy, gradient) = (found.energy, found.gradient_norm);
    Ok((footpoint, velocity, energy, gradient, found.evaluations, found.converged))
}
