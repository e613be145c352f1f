//! `_core.conformal_chains`: Metropolis-Hastings chains in a conformal metric.

use curvedp_chains::Plan;
use curvedp_core::rows::Rows;
use curvedp_graph::conformal::{ConformalLaplace, Distance};
use curvedp_graph::graph::Nodes;
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Input, row, rows};
use crate::chains::{Chains, PlanArguments, with_key};
use crate::manifold::Manifold;
use crate::noise::Stream;

/// One chain from every row of `starts`; rows kept are coordinates of log_center and the distance.
#[pyfunction]
#[pyo3(signature = (
    manifold, points, sigma, center, starts, plan, stream, *, rate, volume, path_lengths, line_steps
))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python function")]
pub fn conformal_chains(
    py: Python<'_>,
    manifold: &Manifold,
    points: Input<'_>,
    sigma: PyReadonlyArray1<'_, f64>,
    center: PyReadonlyArray1<'_, f64>,
    starts: Input<'_>,
    plan: PlanArguments,
    stream: &Stream,
    rate: f64,
    volume: bool,
    path_lengths: Option<PyReadonlyArray1<'_, f64>>,
    line_steps: usize,
) -> PyResult<Chains> {
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
    let (burn_in, draws, thinning, scale, acceptance) = plan;
    let plan = Plan { burn_in, draws, thinning, scale, acceptance };
    with_key(py, stream, manifold.dim() + 1, |key, interrupt| {
        let law = ConformalLaplace::new(&nodes, sigma, center, rate, volume, distance, interrupt)?;
        let states = starts.chunks_exact(size).map(|start| law.state(start)).collect();
        curvedp_chains::run(&law, states, &plan, key, interrupt)
    })
}
