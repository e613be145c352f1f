//! The extension module `curvedp._core`: a thin binding over `curvedp_core`.
//!
//! Python coerces, validates and allocates; these functions fill C-contiguous float64 arrays with the
//! interpreter lock released.

mod arrays;
mod call;
mod frame;
mod manifold;
mod mean;
mod moments;
mod noise;
mod regression;

/// Compiled kernels of curvedp.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::manifold::Manifold;
    #[pymodule_export]
    use crate::mean::Plan;
    #[pymodule_export]
    use crate::noise::{Noise, Stream};

    /// Sets the number of threads for later calls; 0 restores the default.
    #[pyfunction]
    fn set_num_threads(threads: usize) {
        curvedp_core::parallel::set_num_threads(threads);
    }

    /// The number of threads that a large batch uses.
    #[pyfunction]
    fn num_threads() -> usize {
        curvedp_core::parallel::num_threads()
    }

    /// Bound on the rounding error of a mean of n terms, relative to the largest length of a term.
    #[pyfunction]
    fn summation_error(n: usize) -> f64 {
        curvedp_core::moments::summation_error(n)
    }

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::call::silence_panics();
        Ok(())
    }
}
