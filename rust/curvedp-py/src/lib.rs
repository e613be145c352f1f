//! The extension module `curvedp._core`: a thin binding over `curvedp_core`.
//!
//! Python coerces, validates and allocates; these functions fill C-contiguous float64 arrays with the
//! interpreter lock released.

mod arrays;
mod bingham;
mod call;
mod chains;
mod conformal;
mod descriptors;
mod frame;
mod graph;
mod groups;
mod k_norm;
mod logistic;
mod mail;
mod manifold;
mod masks;
mod mean;
mod messages;
mod moments;
mod noise;
mod regression;
mod solve;

/// Compiled kernels of curvedp.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bingham::Bingham;
    #[pymodule_export]
    use crate::chains::{Chains, isotropic_chains};
    #[pymodule_export]
    use crate::conformal::conformal_chains;
    #[pymodule_export]
    use crate::descriptors::{image_covariance, time_series_covariance};
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::graph::{Graph, Laplacian, bump_counts, bump_density, nearest};
    #[pymodule_export]
    use crate::groups::{
        ExcessDiameter, GroupDesign, GroupKeys, GroupStatistic, Groups, HessianTrace, LogMoment,
        flat_grid_step, hash_names, solver_tolerance,
    };
    #[pymodule_export]
    use crate::k_norm::{KNormMean, KNormRegression, published_footpoint, published_shooting};
    #[pymodule_export]
    use crate::logistic::logistic_gradient;
    #[pymodule_export]
    use crate::mail::{GaussianKernel, size_of_tiles};
    #[pymodule_export]
    use crate::manifold::Manifold;
    #[pymodule_export]
    use crate::masks::MaskKey;
    #[pymodule_export]
    use crate::mean::{Descent, Plan};
    #[pymodule_export]
    use crate::messages::{MessageSums, square_root_column, start_bound, start_point, tail_bound};
    #[pymodule_export]
    use crate::noise::{
        GridQuantile, Noise, RankExponential, Stream, choose, largest_laplace_scale,
    };
    #[pymodule_export]
    use crate::regression::clipped_mean;
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

    /// Keeps kernels that the calling thread calls on it; see [`curvedp_core::parallel::set_alone`].
    #[pyfunction]
    fn set_alone(alone: bool) {
        curvedp_core::parallel::set_alone(alone);
    }

    /// A noise scale of at least sensitivity/budget; see [`curvedp_core::law::outward_scale`].
    #[pyfunction]
    fn outward_scale(sensitivity: f64, budget: f64) -> f64 {
        curvedp_core::law::outward_scale(sensitivity, budget)
    }

    /// Bound on the rounding error of the means of `dist_moments` and of the first two of `log_moments` over n
    /// records, relative to the largest length (Euclidean or Frobenius norm) that a term may have.
    #[pyfunction]
    fn summation_error(n: usize) -> f64 {
        curvedp_core::moments::summation_error(n)
    }

    /// Coordinates of a symmetric matrix; see [`curvedp_core::moments::vecd`].
    #[pyfunction]
    fn vecd(
        matrix: crate::arrays::Input<'_>,
        stretch: f64,
        mut out: crate::arrays::OutputVector<'_>,
    ) -> PyResult<()> {
        crate::moments::vecd(&matrix, stretch, crate::arrays::output_vector(&mut out)?)
    }

    /// Shortens rows to `max_length`, each by itself; see [`curvedp_core::release::shorten`].
    #[pyfunction]
    fn shorten(
        py: Python<'_>,
        mut rows: crate::arrays::Output<'_>,
        max_length: f64,
    ) -> PyResult<()> {
        let width = numpy::PyUntypedArrayMethods::shape(&**rows)[1].max(1);
        let rows = crate::arrays::InOrderMut::in_order_mut(&mut rows)?;
        py.detach(|| curvedp_core::release::shorten(rows, width, max_length));
        Ok(())
    }

    /// Sums over the other rows, weighted by whether their labels are the same, and the weights' sums.
    #[pyfunction]
    fn label_sums(
        py: Python<'_>,
        codes: numpy::PyReadonlyArray1<'_, i64>,
        classes: usize,
        weight: f64,
        z: crate::arrays::Input<'_>,
        out: crate::arrays::Output<'_>,
        degrees: crate::arrays::OutputVector<'_>,
    ) -> PyResult<()> {
        crate::mail::label_sums(py, codes, classes, weight, z, out, degrees)
    }

    /// Upper bound, exact up to rounding, on the largest distance between two rows.
    #[pyfunction]
    fn diameter(py: Python<'_>, rows: crate::arrays::Input<'_>) -> PyResult<f64> {
        crate::mail::diameter(py, rows)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("PIECE", curvedp_core::cascade::PIECE)?;
        module.add("BOUNDARY_SLACK", curvedp_core::ball::SLACK)?;
        module.add("MOST_OUTSIDE", curvedp_core::groups::MOST_OUTSIDE)?;
        module.add("EXPECTED_SHRINKAGE", curvedp_core::groups::EXPECTED_SHRINKAGE)?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("BIAS", curvedp_core::groups::BIAS)?;
        module.add("COUNT_UNIT", curvedp_core::messages::COUNT_UNIT)?;
        module.add("ROUND_BOUND", curvedp_core::messages::ROUND_BOUND)?;
        module.add("SCALE_BINS", curvedp_core::messages::SCALE_BINS)?;
        module.add("STEPS_PER_SCALE", curvedp_core::law::STEPS_PER_SCALE)?;
        crate::call::silence_panics();
        Ok(())
    }
}
