//! `_core.MaskKey`: pairwise masks of sums.

use curvedp_core::masks::{self, Peer};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::call::run;

/// A key pair of one site; it cannot be copied, pickled or shown.
#[pyclass(module = "curvedp._core")]
pub struct MaskKey {
    inner: masks::MaskKey,
}

#[pymethods]
impl MaskKey {
    /// A fresh pair, or that of a secret which the caller keeps.
    #[new]
    #[pyo3(signature = (secret=None))]
    fn new(py: Python<'_>, secret: Option<PyBackedBytes>) -> PyResult<Self> {
        let inner = match secret {
            None => run(py, |_| Ok(masks::MaskKey::fresh()?))?,
            Some(secret) => masks::MaskKey::from_secret(
                (&*secret)
                    .try_into()
                    .map_err(|_| PyValueError::new_err("secret must have 32 bytes"))?,
            ),
        };
        Ok(Self { inner })
    }

    /// The public key, 32 bytes.
    #[getter]
    fn public<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.public())
    }

    /// The mask for a context, from each peer's public key and whether its words are added.
    fn mask<'py>(
        &mut self,
        py: Python<'py>,
        peers: Vec<(PyBackedBytes, bool)>,
        context: PyBackedBytes,
        length: usize,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let peers = peers.iter().enumerate().map(|(i, (public, adds))| {
            let public = (**public).try_into().map_err(|_| {
                let size = public.len();
                PyValueError::new_err(format!(
                    "the public key of peer {i} has {size} bytes, not 32"
                ))
            })?;
            Ok(Peer { public, adds: *adds })
        });
        let peers: Vec<Peer> = peers.collect::<PyResult<_>>()?;
        let mask = run(py, |_| self.inner.mask(&peers, &context, length))?;
        Ok(PyArray1::from_vec(py, mask))
    }
}
