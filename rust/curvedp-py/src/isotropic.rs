//! `_core.IsotropicLaw`: Markov chains for isotropic noise.

use curvedp_core::chains::{self, Plan};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;

use crate::arrays::{Input, rows};
use crate::call::{run, to_python};
use crate::k_norm::{Chains, PlanArguments};
use crate::noise::{Stream, law_of};

/// Where chains start: rows of normal coordinates, or how many shall start far apart.
#[derive(FromPyObject)]
enum Starts<'py> {
    Count(usize),
    Coords(Input<'py>),
}

/// The law of isotropic noise, for chains; its arguments are those of `Noise`.
#[pyclass(frozen, module = "curvedp._core")]
pub struct IsotropicLaw {
    inner: chains::IsotropicLaw,
    dim: usize,
}

#[pymethods]
impl IsotropicLaw {
    #[new]
    fn new(space: &str, size: usize, parameter: f64, profile: &str, scale: f64) -> PyResult<Self> {
        let (space, profile) = law_of(space, size, parameter, profile, scale)?;
        let inner =
            chains::IsotropicLaw::new(space, profile).map_err(|error| to_python(error.into()))?;
        Ok(Self { inner, dim: space.dim() })
    }

    /// A first step that suits the law.
    #[getter]
    fn first_step(&self) -> f64 {
        self.inner.first_step()
    }

    /// The distance from the centre up to which chains may start.
    #[getter]
    fn farthest(&self) -> f64 {
        self.inner.farthest()
    }

    /// Rows kept are normal coordinates and the distance.
    fn run_chains(
        &self,
        py: Python<'_>,
        starts: Starts<'_>,
        plan: PlanArguments,
        stream: &Stream,
    ) -> PyResult<Chains> {
        let (burn_in, draws, thinning, scale, acceptance) = plan;
        let plan = Plan { burn_in, draws, thinning, scale, acceptance };
        let key = stream.key(py)?;
        let rows = match &starts {
            Starts::Count(count) => self.inner.starts(*count, key),
            Starts::Coords(coords) => rows(coords, coords.shape()[0], self.dim)?.data().to_vec(),
        };
        let chains = run(py, |interrupt| self.inner.run(&rows, &plan, key, interrupt))?;
        Ok(Chains::new(chains, self.dim + 1))
    }
}
