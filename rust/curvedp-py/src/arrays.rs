//! NumPy arrays as rows.

use curvedp_core::rows::Rows;
use numpy::{PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods};
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

/// The rows of `array`, which must have `size` columns and either `count` rows or one that serves all.
pub fn rows<'a>(array: &'a Input<'_>, count: usize, size: usize) -> PyResult<Rows<'a>> {
    let (have, width) = (array.shape()[0], array.shape()[1]);
    let data = array.as_slice().map_err(|_| contiguous())?;
    if width != size || (have != count && have != 1) {
        return Err(PyValueError::new_err(format!(
            "expected {count} rows of {size} entries, got {have} rows of {width}"
        )));
    }
    Ok(if have == 1 { Rows::shared(data) } else { Rows::new(data, size) })
}

/// One row of `size` entries.
pub fn row<'a>(array: &'a numpy::PyReadonlyArray1<'_, f64>, size: usize) -> PyResult<&'a [f64]> {
    let data = array.as_slice().map_err(|_| contiguous())?;
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
    Ok((array.as_slice_mut().map_err(|_| contiguous())?, count))
}

/// The entries of a vector.
pub fn output_vector<'a>(array: &'a mut OutputVector<'_>) -> PyResult<&'a mut [f64]> {
    array.as_slice_mut().map_err(|_| contiguous())
}
