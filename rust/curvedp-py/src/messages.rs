//! `_core.MessageSums`: sums of bounded integer messages of records.

use std::sync::Arc;

use curvedp_core::messages;
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, row};
use crate::call::{run, to_python};
use crate::groups::offsets;
use crate::manifold::Manifold;

type Integers<'py> = Bound<'py, PyArray1<i64>>;

/// Records whose messages are added; units by their ends.
#[pyclass(module = "curvedp._core")]
pub struct MessageSums {
    inner: messages::MessageSums,
    point_size: usize,
}

#[pymethods]
impl MessageSums {
    #[new]
    #[pyo3(signature = (manifold, records, unit_ends=None))]
    fn new(
        py: Python<'_>,
        manifold: &Manifold,
        records: Input<'_>,
        unit_ends: Option<PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<Self> {
        let (count, width) = (records.shape()[0], records.shape()[1]);
        let point_size = manifold.inner.point_size();
        if width != point_size {
            let message = format!("expected rows of {point_size} entries, got {width}");
            return Err(PyValueError::new_err(message));
        }
        let units = unit_ends.map(|ends| offsets(&ends, count, "unit_ends")).transpose()?;
        let data = records.in_order()?;
        let kernels = Arc::clone(&manifold.inner);
        let inner =
            run(py, |interrupt| messages::MessageSums::new(kernels, data, units, interrupt))?;
        Ok(Self { inner, point_size })
    }

    /// The sum of start messages; None where the space has none.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Option<Integers<'py>>> {
        let sum = run(py, |interrupt| self.inner.start(interrupt))?;
        Ok(sum.map(|sum| PyArray1::from_vec(py, sum)))
    }

    /// The sum of columns of the square root, by the distance from `base`.
    fn tail<'py>(
        &mut self,
        py: Python<'py>,
        base: PyReadonlyArray1<'py, f64>,
        largest: f64,
        bins: usize,
    ) -> PyResult<Integers<'py>> {
        let base = row(&base, self.point_size)?;
        let sum = run(py, |interrupt| self.inner.tail(base, largest, bins, interrupt))?;
        Ok(PyArray1::from_vec(py, sum))
    }

    /// Units in each bin of distances from `base`, times `COUNT_UNIT`; levels fall.
    fn histogram<'py>(
        &mut self,
        py: Python<'py>,
        base: PyReadonlyArray1<'py, f64>,
        levels: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Integers<'py>> {
        let (base, levels) = (row(&base, self.point_size)?, levels.in_order()?);
        let sum = run(py, |interrupt| self.inner.histogram(base, levels, interrupt))?;
        Ok(PyArray1::from_vec(py, sum))
    }

    /// The sum of clipped logarithms at `base`.
    fn round<'py>(
        &mut self,
        py: Python<'py>,
        base: PyReadonlyArray1<'py, f64>,
        radius: f64,
    ) -> PyResult<Integers<'py>> {
        let base = row(&base, self.point_size)?;
        let sum = run(py, |interrupt| self.inner.round(base, radius, interrupt))?;
        Ok(PyArray1::from_vec(py, sum))
    }

    /// The sum of columns of the square root, by the scale of positive definite matrices.
    fn scale<'py>(&self, py: Python<'py>, bins: usize) -> PyResult<Integers<'py>> {
        let sum = run(py, |interrupt| self.inner.scale(bins, interrupt))?;
        let none = || PyValueError::new_err("only positive definite matrices have a scale");
        sum.map(|sum| PyArray1::from_vec(py, sum)).ok_or_else(none)
    }
}

/// Bounds of a start message: add or remove, replace, what each record counts, weights of entries.
#[pyfunction]
pub fn start_bound<'py>(
    py: Python<'py>,
    manifold: &Manifold,
) -> PyResult<Option<(f64, f64, f64, Integers<'py>)>> {
    let bound = messages::start_bound(&*manifold.inner).map_err(to_python)?;
    Ok(bound.map(|b| (b.add, b.replace, b.unit, PyArray1::from_vec(py, b.weights))))
}

/// Bounds of tail counts: add or remove, replace.
#[pyfunction]
pub fn tail_bound(bins: usize) -> PyResult<(f64, f64)> {
    messages::tail_bound(bins).map_err(to_python)
}

/// The first column of the square root of the matrix of prefix sums.
#[pyfunction]
pub fn square_root_column(py: Python<'_>, bins: usize) -> PyResult<Integers<'_>> {
    let column = messages::square_root_column(bins).map_err(to_python)?;
    Ok(PyArray1::from_vec(py, column))
}

/// The point of a noisy sum of start messages, how far the sum decides it, and the order of its noise.
#[pyfunction]
pub fn start_point<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    vector: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, usize)> {
    let vector = vector.in_order()?;
    let kernels = &*manifold.inner;
    let (point, signal, size) = run(py, |_| messages::start_point(kernels, vector))?;
    Ok((PyArray1::from_vec(py, point), signal, size))
}
