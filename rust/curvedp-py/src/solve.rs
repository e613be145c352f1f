//! `_core.HelmholtzSolver`: (L + upsilon) sigma = h with a certificate.

use std::sync::Arc;

use curvedp_graph::solve::{Method, Solver};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::row;
use crate::call::run;
use crate::graph::Laplacian;

/// Values, iterations, residual, error, greatest error, converged.
pub type Solved<'py> = (Bound<'py, PyArray1<f64>>, usize, f64, f64, f64, bool);

/// A system that is ready to be solved for many right-hand sides.
#[pyclass(frozen, module = "curvedp._core")]
pub struct HelmholtzSolver {
    inner: Solver,
    size: usize,
}

#[pymethods]
impl HelmholtzSolver {
    #[new]
    fn new(
        py: Python<'_>,
        laplacian: &Laplacian,
        upsilon: f64,
        method: &str,
        count: usize,
    ) -> PyResult<Self> {
        let method = match method {
            "auto" => Method::Auto,
            "jacobi" => Method::Jacobi,
            "multigrid" => Method::Multigrid,
            other => return Err(PyValueError::new_err(format!("no method {other:?}"))),
        };
        let size = laplacian.inner.mass.len();
        let operator = Arc::clone(&laplacian.inner);
        let inner = run(py, |_| Solver::new(operator, upsilon, method, count))?;
        Ok(Self { inner, size })
    }

    /// The method in use.
    #[getter]
    fn method(&self) -> &'static str {
        match self.inner.method() {
            Method::Auto => "auto",
            Method::Jacobi => "jacobi",
            Method::Multigrid => "multigrid",
        }
    }

    /// Solves for one right-hand side.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        rhs: PyReadonlyArray1<'py, f64>,
        tolerance: f64,
    ) -> PyResult<Solved<'py>> {
        let rhs = row(&rhs, self.size)?;
        let solution = run(py, |interrupt| self.inner.solve(rhs, tolerance, interrupt))?;
        let values = PyArray1::from_vec(py, solution.values);
        let (residual, error) = (solution.residual, solution.error);
        let (greatest, converged) = (solution.max_error, solution.converged);
        Ok((values, solution.iterations, residual, error, greatest, converged))
    }
}
