//! `_core.Chains` and `_core.isotropic_chains`: Markov chains.

use curvedp_chains::{Chain, Isotropic, Plan, Target, diagnose};
use curvedp_core::error::Error;
use curvedp_core::parallel::Interrupt;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::call::{run, to_python};
use crate::manifold::Manifold;
use crate::noise::{Stream, law_of};

/// Burn-in, draws, thinning, first scale, acceptance rate to adapt to.
pub(crate) type PlanArguments = (usize, usize, usize, f64, Option<f64>);

/// Chains that have run.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Chains {
    chains: Vec<Chain>,
    width: usize,
}

#[pymethods]
impl Chains {
    /// The states that were kept, chain by chain, `width` numbers each.
    fn draws<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let all: Vec<f64> = self.chains.iter().flat_map(|c| c.draws.iter().copied()).collect();
        PyArray1::from_vec(py, all)
    }

    #[getter]
    fn width(&self) -> usize {
        self.width
    }

    /// Share of proposals accepted after burning in, for each chain.
    #[getter]
    fn acceptance(&self) -> Vec<f64> {
        self.chains.iter().map(|chain| chain.acceptance).collect()
    }

    /// Scale of these proposals, for each chain.
    #[getter]
    fn scale(&self) -> Vec<f64> {
        self.chains.iter().map(|chain| chain.scale).collect()
    }

    /// (effective sample size, split R-hat) of each of the `width` numbers.
    fn diagnose(&self) -> Vec<(f64, f64)> {
        let found = diagnose(&self.chains, self.width);
        found.into_iter().map(|d| (d.effective_sample_size, d.r_hat)).collect()
    }
}

/// Chains of the isotropic law about the origin whose parameters are those of `Noise`; without a first scale,
/// with one that suits it. Rows kept are normal coordinates and the distance.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one argument for each argument in Python")]
pub fn isotropic_chains(
    py: Python<'_>,
    manifold: &Manifold,
    space: (String, usize, f64),
    profile: &str,
    scale: f64,
    count: usize,
    plan: (usize, usize, usize, Option<f64>, Option<f64>),
    stream: &Stream,
) -> PyResult<Chains> {
    let (space, profile) = law_of(&space.0, space.1, space.2, profile, scale)?;
    let law = Isotropic::new(&*manifold.inner, space, profile);
    let law = law.map_err(|error| to_python(error.into()))?;
    let (burn_in, draws, thinning, scale, acceptance) = plan;
    let scale = scale.unwrap_or_else(|| law.first_scale());
    let plan = Plan { burn_in, draws, thinning, scale, acceptance };
    with_key(py, stream, manifold.inner.dim() + 1, |key, interrupt| {
        law.run(law.starts(count, key), &plan, key, interrupt)
    })
}

/// Runs chains of a target with a key drawn from a stream.
pub(crate) fn run_chains<T: Target>(
    py: Python<'_>,
    target: &T,
    starts: Vec<T::State>,
    (burn_in, draws, thinning, scale, acceptance): PlanArguments,
    stream: &Stream,
) -> PyResult<Chains> {
    let plan = Plan { burn_in, draws, thinning, scale, acceptance };
    with_key(py, stream, target.width(), |key, interrupt| {
        curvedp_chains::run(target, starts, &plan, key, interrupt)
    })
}

/// Runs chains that keep `width` numbers of each state, with a key drawn from a stream.
pub(crate) fn with_key(
    py: Python<'_>,
    stream: &Stream,
    width: usize,
    chains: impl FnOnce([u8; 32], Interrupt) -> Result<Vec<Chain>, Error> + Send,
) -> PyResult<Chains> {
    let key = stream.key(py)?;
    let chains = run(py, |interrupt| chains(key, interrupt))?;
    Ok(Chains { chains, width })
}
