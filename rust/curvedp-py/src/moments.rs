//! Moments of logarithms and the differential of exp.

use curvedp_core::moments;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, row, rows};
use crate::call::run;
use crate::manifold::Manifold;

/// Mean logarithm, mean of its square as a matrix, mean excess of the Hessian.
pub type LogMoments<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>);

fn counted(points: &Input<'_>, max_dist: f64) -> PyResult<usize> {
    if max_dist.is_nan() || max_dist < 0.0 {
        return Err(PyValueError::new_err("max_dist must be a nonnegative number or infinite"));
    }
    match points.shape()[0] {
        0 => Err(PyValueError::new_err("the moments of no points do not exist")),
        count => Ok(count),
    }
}

fn matrix<'py>(
    py: Python<'py>,
    entries: Vec<f64>,
    dim: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, entries).reshape([dim, dim])
}

/// See [`moments::dist_moments`].
pub fn dist_moments(
    py: Python<'_>,
    manifold: &Manifold,
    points: Input<'_>,
    base: PyReadonlyArray1<'_, f64>,
    max_dist: f64,
) -> PyResult<(f64, f64)> {
    let manifold = &*manifold.inner;
    let count = counted(&points, max_dist)?;
    let points = rows(&points, count, manifold.point_size())?;
    let base = row(&base, manifold.point_size())?;
    run(py, |interrupt| moments::dist_moments(manifold, points, count, base, max_dist, interrupt))
}

/// See [`moments::log_moments`].
pub fn log_moments<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    points: Input<'py>,
    base: PyReadonlyArray1<'py, f64>,
    max_dist: f64,
    hessian: bool,
) -> PyResult<LogMoments<'py>> {
    let manifold = &*manifold.inner;
    let count = counted(&points, max_dist)?;
    let points = rows(&points, count, manifold.point_size())?;
    let base = row(&base, manifold.point_size())?;
    let means = run(py, |interrupt| {
        moments::log_moments(manifold, points, count, base, max_dist, hessian, interrupt)
    })?;
    let dim = manifold.dim();
    let excess = means.excess.map(|excess| matrix(py, excess, dim)).transpose()?;
    Ok((PyArray1::from_vec(py, means.first), matrix(py, means.second, dim)?, excess))
}

/// The matrix of D exp_base at the tangent vector with the given coordinates.
pub fn exp_differential<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    coords: PyReadonlyArray1<'py, f64>,
    base: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let manifold = &*manifold.inner;
    let dim = manifold.dim();
    let coords = row(&coords, dim)?;
    let base = row(&base, manifold.point_size())?;
    let entries = run(py, |_| {
        let mut out = vec![0.0; dim * dim];
        manifold.exp_differential(coords, base, &mut out);
        Ok(out)
    })?;
    matrix(py, entries, dim)
}

/// The matrix of the curvature operator of the tangent vector with the given coordinates.
pub fn curvature_operator<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    coords: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let manifold = &*manifold.inner;
    let dim = manifold.dim();
    let coords = row(&coords, dim)?;
    let entries = run(py, |_| {
        let mut out = vec![0.0; dim * dim];
        manifold.curvature_function(coords, &|k| k, &mut out);
        Ok(out)
    })?;
    matrix(py, entries, dim)
}

/// See [`curvedp_core::moments::vecd`].
pub fn vecd(matrix: &Input<'_>, stretch: f64, out: &mut [f64]) -> PyResult<()> {
    let dim = matrix.shape()[0];
    if dim == 0 || matrix.shape()[1] != dim || out.len() != dim * (dim + 1) / 2 {
        return Err(PyValueError::new_err("matrix and output do not match"));
    }
    moments::vecd(matrix.in_order()?, dim, stretch, out);
    Ok(())
}
