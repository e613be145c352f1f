//! The extension module `curvedp._core`: a thin binding over `curvedp_core`.
//!
//! Python coerces, validates and allocates; these functions fill C-contiguous float64 arrays with the
//! interpreter lock released.

mod arrays;
mod call;
mod frame;
mod graph;
mod manifold;
mod mean;
mod noise;
mod solve;

/// Compiled kernels of curvedp.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::graph::{Graph, Laplacian, nearest};
    #[pymodule_export]
    use crate::manifold::Manifold;
    #[pymodule_export]
    use crate::mean::Plan;
    #[pymodule_export]
    use crate::noise::{Noise, Stream};
    #[pymodule_export]
    use crate::solve::HelmholtzSolver;

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

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::call::silence_panics();
        Ok(())
    }
}
