//! NumPy arrays as rows.

use curvedp_core::rows::Rows;
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyReadonlyArray, PyReadonlyArray2, PyReadwriteArray, PyReadwriteArray1,
    PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// C-contiguous input rows.
pub type Input<'py> = PyReadonlyArray2<'py, f64>;
/// C-contiguous output rows.
pub type Output<'py> = PyReadwriteArray2<'py, f64>;
/// Contiguous output entries.
pub type OutputVector<'py> = PyReadwriteArray1<'py, f64>;

fn contiguous() -> PyErr {
    PyValueError::new_err("array must be C-contiguous")
}

/// The entries of an array in the order of its axes, the last fastest. (`as_slice` gives those of a Fortran-ordered
/// one, too, and as they lie: each record would be made of entries of others.)
pub trait InOrder<T> {
    fn in_order(&self) -> PyResult<&[T]>;
}

/// The same, to be written.
pub trait InOrderMut<T> {
    fn in_order_mut(&mut self) -> PyResult<&mut [T]>;
}

impl<T: Element, D: Dimension> InOrder<T> for PyReadonlyArray<'_, T, D> {
    fn in_order(&self) -> PyResult<&[T]> {
        if self.is_c_contiguous() { Ok(self.as_slice()?) } else { Err(contiguous()) }
    }
}

impl<T: Element, D: Dimension> InOrderMut<T> for PyReadwriteArray<'_, T, D> {
    fn in_order_mut(&mut self) -> PyResult<&mut [T]> {
        if self.is_c_contiguous() { Ok(self.as_slice_mut()?) } else { Err(contiguous()) }
    }
}

/// The rows of `array`, which must have `size` columns and either `count` rows or one that serves all.
pub fn rows<'a>(array: &'a Input<'_>, count: usize, size: usize) -> PyResult<Rows<'a>> {
    let (have, width) = (array.shape()[0], array.shape()[1]);
    let data = array.in_order()?;
    if width != size || (have != count && have != 1) {
        return Err(PyValueError::new_err(format!(
            "expected {count} rows of {size} entries, got {have} rows of {width}"
        )));
    }
    Ok(if have == 1 { Rows::shared(data) } else { Rows::new(data, size) })
}

/// One row of `size` entries.
pub fn row<'a>(array: &'a numpy::PyReadonlyArray1<'_, f64>, size: usize) -> PyResult<&'a [f64]> {
    let data = array.in_order()?;
    if data.len() != size {
        let have = data.len();
        return Err(PyValueError::new_err(format!("expected {size} entries, got {have}")));
    }
    Ok(data)
}

/// The entries of `array`, which must have `size` columns, and its number of rows.
pub fn output<'a>(array: &'a mut Output<'_>, size: usize) -> PyResult<(&'a mut [f64], usize)> {
    let (count, width) = (array.shape()[0], array.shape()[1]);
    if width != size {
        return Err(PyValueError::new_err(format!("expected rows of {size} entries, got {width}")));
    }
    Ok((array.in_order_mut()?, count))
}

/// The entries of a vector.
pub fn output_vector<'a>(array: &'a mut OutputVector<'_>) -> PyResult<&'a mut [f64]> {
    array.in_order_mut()
}
