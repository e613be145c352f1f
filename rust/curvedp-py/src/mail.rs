//! `_core.GaussianKernel` and the other kernels of PrivateMail.

use curvedp_core::mail;
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, Output, OutputVector, output, output_vector};
use crate::call::run;

enum Precision {
    Double(mail::GaussianKernel<f64>),
    Single(mail::GaussianKernel<f32>),
}

/// Bytes that the weights of n rows take, in single or double precision.
#[pyfunction]
pub fn size_of_tiles(count: usize, single: bool) -> u64 {
    if single {
        mail::GaussianKernel::<f32>::size_of_tiles(count)
    } else {
        mail::GaussianKernel::<f64>::size_of_tiles(count)
    }
}

/// The Gaussian kernel of the rows of a matrix, with weights in [floor, 1] and 0 on the diagonal.
#[pyclass(frozen, module = "curvedp._core")]
pub struct GaussianKernel {
    inner: Precision,
}

#[pymethods]
impl GaussianKernel {
    /// As many tiles are kept in memory as `memory_limit` bytes hold.
    #[new]
    fn new(
        py: Python<'_>,
        rows: Input<'_>,
        bandwidth: f64,
        floor: f64,
        memory_limit: u64,
        single: bool,
    ) -> PyResult<Self> {
        let size = rows.shape()[1];
        let (rows, _) = entries(&rows)?;
        let inner = run(py, |interrupt| {
            use mail::GaussianKernel as Kernel;
            Ok(if single {
                let kernel = Kernel::new(rows, size, bandwidth, floor, memory_limit, interrupt);
                Precision::Single(kernel?)
            } else {
                let kernel = Kernel::new(rows, size, bandwidth, floor, memory_limit, interrupt);
                Precision::Double(kernel?)
            })
        })?;
        Ok(Self { inner })
    }

    /// True if all weights are kept in memory.
    #[getter]
    fn is_kept(&self) -> bool {
        match &self.inner {
            Precision::Double(kernel) => kernel.is_kept(),
            Precision::Single(kernel) => kernel.is_kept(),
        }
    }

    /// out = W Z
    fn product(&self, py: Python<'_>, z: Input<'_>, mut out: Output<'_>) -> PyResult<()> {
        let (z, width) = entries(&z)?;
        let (out, count) = output(&mut out, width)?;
        let rows = match &self.inner {
            Precision::Double(kernel) => kernel.count(),
            Precision::Single(kernel) => kernel.count(),
        };
        if z.len() != out.len() || count != rows {
            return Err(PyValueError::new_err(format!("expected {rows} rows, got {count}")));
        }
        run(py, |interrupt| match &self.inner {
            Precision::Double(kernel) => kernel.product(z, width, out, interrupt),
            Precision::Single(kernel) => kernel.product(z, width, out, interrupt),
        })
    }
}

/// See [`mail::label_sums`].
pub fn label_sums(
    py: Python<'_>,
    codes: PyReadonlyArray1<'_, i64>,
    classes: usize,
    weight: f64,
    z: Input<'_>,
    mut out: Output<'_>,
    mut degrees: OutputVector<'_>,
) -> PyResult<()> {
    let (z, width) = entries(&z)?;
    let (out, count) = output(&mut out, width)?;
    let degrees = output_vector(&mut degrees)?;
    let codes: Vec<usize> = codes.as_array().iter().map(|&code| code as usize).collect();
    if z.len() != out.len() || codes.len() != count || degrees.len() != count {
        return Err(PyValueError::new_err("codes, z, out and degrees must have as many rows"));
    }
    if codes.iter().any(|&code| code >= classes) {
        return Err(PyValueError::new_err("codes must lie between 0 and classes - 1"));
    }
    run(py, |_| {
        mail::label_sums(&codes, classes, weight, z, width, out, degrees);
        Ok(())
    })
}

/// See [`mail::diameter`].
pub fn diameter(py: Python<'_>, rows: Input<'_>) -> PyResult<f64> {
    let (rows, size) = entries(&rows)?;
    run(py, |interrupt| mail::diameter(rows, size, interrupt))
}

/// All entries and the length of a row, of at least one row and column.
fn entries<'a>(array: &'a Input<'_>) -> PyResult<(&'a [f64], usize)> {
    let data = array.in_order()?;
    if data.is_empty() {
        return Err(PyValueError::new_err("expected at least one row and one column"));
    }
    Ok((data, array.shape()[1]))
}
