//! `_core.image_covariance` and `_core.time_series_covariance`.

use curvedp_core::descriptors::features::Feature;
use curvedp_core::descriptors::image::{ImageCovariance, Pixels};
use curvedp_core::descriptors::time_series::TimeSeriesCovariance;
use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyReadonlyArray4, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Output, output, row};
use crate::call::{run, to_python};

/// Images of shape (n, height, width, channels).
#[derive(FromPyObject)]
pub enum Images<'py> {
    /// One byte for each level.
    Bytes(PyReadonlyArray4<'py, u8>),
    /// Floating-point levels.
    Floats(PyReadonlyArray4<'py, f64>),
}

/// Covariance descriptors of images, one row of `out` for each.
#[pyfunction]
pub fn image_covariance(
    py: Python<'_>,
    images: Images<'_>,
    features: Vec<String>,
    gray_weights: PyReadonlyArray1<'_, f64>,
    value_range: (f64, f64),
    ridge: f64,
    mut out: Output<'_>,
) -> PyResult<()> {
    let shape = match &images {
        Images::Bytes(images) => images.shape(),
        Images::Floats(images) => images.shape(),
    };
    let [count, height, width, channels] = shape.try_into()?;
    let gray_weights = row(&gray_weights, channels)?;
    let features = Feature::parse(&features, channels).map_err(to_python)?;
    let out = square(&mut out, count, features.len())?;
    let task = ImageCovariance {
        height: at_least_one(height)?,
        width: at_least_one(width)?,
        gray_weights,
        features: &features,
        value_range,
        ridge,
    };
    let pixels = match &images {
        Images::Bytes(images) => Pixels::Bytes(images.in_order()?),
        Images::Floats(images) => Pixels::Floats(images.in_order()?),
    };
    run(py, |interrupt| task.descriptors(pixels, out, interrupt))
}

/// Covariances of time series of shape (n, channels, samples), one row of `out` for each.
#[pyfunction]
pub fn time_series_covariance(
    py: Python<'_>,
    signals: PyReadonlyArray3<'_, f64>,
    shrinkage: f64,
    ridge: f64,
    mut out: Output<'_>,
) -> PyResult<()> {
    let [count, channels, samples] = signals.shape().try_into()?;
    let out = square(&mut out, count, channels)?;
    let task = TimeSeriesCovariance { channels, samples: at_least_one(samples)?, shrinkage, ridge };
    let signals = signals.in_order()?;
    run(py, |interrupt| task.covariances(signals, out, interrupt))
}

/// The entries of `count` m x m matrices, m >= 1.
fn square<'a>(out: &'a mut Output<'_>, count: usize, m: usize) -> PyResult<&'a mut [f64]> {
    let m = at_least_one(m)?;
    let (entries, rows) = output(out, m * m)?;
    if rows != count {
        return Err(PyValueError::new_err(format!("expected {count} rows, got {rows}")));
    }
    Ok(entries)
}

fn at_least_one(size: usize) -> PyResult<usize> {
    if size > 0 { Ok(size) } else { Err(PyValueError::new_err("an axis has no entries")) }
}
