//! `_core.Bingham`: directions of large variance.

use curvedp_core::error::Error;
use curvedp_core::noise;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Output, output};
use crate::call::run;
use crate::noise::{Stream, effort};

/// Directions with a density in proportion to e^(rate x'Sx); see [`noise::Bingham`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct Bingham {
    inner: noise::Bingham,
    dim: usize,
}

#[pymethods]
impl Bingham {
    /// `score` is S in units of 2^-`exponent`, row by row; `vectors` are guesses of its eigenvectors, in columns.
    #[new]
    fn new(
        py: Python<'_>,
        score: PyReadonlyArray1<'_, i64>,
        exponent: i32,
        rate: f64,
        vectors: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Self> {
        let (score, vectors) = (score.in_order()?.to_vec(), vectors.in_order()?);
        let dim = score.len().isqrt();
        let law = run(py, |_| Ok(noise::Bingham::new(score, exponent, rate, vectors)))?;
        let inner = law.ok_or_else(|| PyValueError::new_err("score and rate have no law"))?;
        Ok(Self { inner, dim })
    }

    /// Fills each row of `out` with an independent direction, of either sign.
    fn sample(&self, py: Python<'_>, stream: &Stream, mut out: Output<'_>) -> PyResult<()> {
        let (out, _) = output(&mut out, self.dim)?;
        let effort = effort(out.len());
        run(py, |interrupt| {
            let mut stream = match stream.open() {
                Ok(stream) => stream,
                Err(error) => return Ok(Err(error)),
            };
            for row in out.chunks_exact_mut(self.dim) {
                if !self.inner.draw(&mut stream, effort, interrupt, row) {
                    return Err(Error::Interrupted);
                }
            }
            Ok(Ok(()))
        })?
    }
}
