//! Geodesic regression.

use curvedp_core::regression::{self, Geodesic, Limits, Position, Sample, Units};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, row, rows};
use crate::call::run;
use crate::groups::offsets;
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

/// See [`regression::contributions`].
pub fn contributions<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    (points, times, ends): (Input<'py>, Input<'py>, PyReadonlyArray1<'py, i64>),
    (footpoint, velocities): (PyReadonlyArray1<'py, f64>, Input<'py>),
    whitening: Input<'py>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (inner, count, covariates) = (&*manifold.inner, points.shape()[0], times.shape()[1]);
    let ends = offsets(&ends, count, "ends of units")?;
    let width = (covariates + 1) * inner.dim();
    let filled = ends.windows(2).all(|end| end[0] < end[1]);
    if covariates == 0
        || !filled
        || times.shape()[0] != count
        || velocities.shape()[0] != covariates
        || whitening.shape() != [width, width]
    {
        return Err(PyValueError::new_err("points, covariates and units do not match"));
    }
    let units = Units {
        manifold: inner,
        points: rows(&points, count, inner.point_size())?,
        times: times.in_order()?,
        covariates,
        ends: &ends,
    };
    let _ = rows(&velocities, covariates, inner.dim())?;
    let at = Position {
        footpoint: row(&footpoint, inner.point_size())?,
        velocities: velocities.in_order()?,
        whitening: whitening.in_order()?,
    };
    let found = run(py, |interrupt| regression::contributions(&units, &at, interrupt))?;
    PyArray1::from_vec(py, found).reshape([ends.len() - 1, width])
}

/// The mean of rows, each shortened; see [`regression::clipped_mean`].
#[pyfunction]
pub fn clipped_mean<'py>(
    py: Python<'py>,
    rows: Input<'py>,
    max_length: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let width = rows.shape()[1];
    if rows.shape()[0] == 0 || width == 0 {
        return Err(PyValueError::new_err("a mean of no rows does not exist"));
    }
    let data = rows.in_order()?;
    let mean = run(py, |interrupt| regression::clipped_mean(data, width, max_length, interrupt))?;
    Ok(PyArray1::from_vec(py, mean))
}
