//! `_core.conformal_chains`: Metropolis-Hastings chains in a conformal metric.

use curvedp_core::chains::{self, Plan};
use curvedp_core::conformal::{ConformalLaplace, Distance};
use curvedp_core::graph::Nodes;
use curvedp_core::rows::Rows;
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Input, row, rows};
use crate::call::run;
use crate::manifold::Manifold;
use crate::noise::Stream;

/// Kept rows of all chains, acceptance rates, steps; effective sample sizes and R-hats of the columns.
pub type Chains<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// One chain from every row of `starts`; rows kept are coordinates of log_center and the distance.
#[pyfunction]
#[pyo3(signature = (
    manifold, points, sigma, center, starts, stream, *, rate, volume, path_lengths, line_steps, burn_in,
    draws, thinning, step, acceptance
))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python function")]
pub fn conformal_chains<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    points: Input<'py>,
    sigma: PyReadonlyArray1<'py, f64>,
    center: PyReadonlyArray1<'py, f64>,
    starts: Input<'py>,
    stream: &Stream,
    rate: f64,
    volume: bool,
    path_lengths: Option<PyReadonlyArray1<'py, f64>>,
    line_steps: usize,
    burn_in: usize,
    draws: usize,
    thinning: usize,
    step: f64,
    acceptance: Option<f64>,
) -> PyResult<Chains<'py>> {
    let manifold = &*manifold.inner;
    let size = manifold.point_size();
    let count = points.shape()[0];
    let data = rows(&points, count, size)?.data();
    let nodes = Nodes { manifold, points: Rows::new(data, size), count };
    let sigma = row(&sigma, count)?;
    let center = row(&center, size)?;
    let distance = match &path_lengths {
        Some(lengths) => Distance::Graph(row(lengths, count)?.to_vec()),
        None => Distance::Line(line_steps),
    };
    let starts = rows(&starts, starts.shape()[0], size)?.data();
    let plan = Plan { burn_in, draws, thinning, scale: step, acceptance };
    let key = stream.key(py)?;
    let (chains, diagnoses) = run(py, |interrupt| {
        let law = ConformalLaplace::new(&nodes, sigma, center, rate, volume, distance, interrupt)?;
        let states = starts.chunks_exact(size).map(|start| law.state(start)).collect();
        let chains = chains::run(&law, states, &plan, key, interrupt)?;
        let diagnoses = chains::diagnose(&chains, manifold.dim() + 1);
        Ok((chains, diagnoses))
    })?;
    let kept: Vec<f64> = chains.iter().flat_map(|chain| chain.draws.iter().copied()).collect();
    Ok((
        PyArray1::from_vec(py, kept),
        PyArray1::from_iter(py, chains.iter().map(|chain| chain.acceptance)),
        PyArray1::from_iter(py, chains.iter().map(|chain| chain.scale)),
        PyArray1::from_iter(py, diagnoses.iter().map(|d| d.effective_sample_size)),
        PyArray1::from_iter(py, diagnoses.iter().map(|d| d.r_hat)),
    ))
}
