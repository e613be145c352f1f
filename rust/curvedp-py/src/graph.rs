//! `_core.nearest`, `_core.Graph` and `_core.Laplacian`.

use std::sync::Arc;

use curvedp_graph::graph::{self, Assembly, Csr, Neighbours, Nodes, Normalization};
use curvedp_graph::solve;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{InOrder, Input, row, rows};
use crate::call::run;
use crate::manifold::Manifold;

/// Offsets, columns and entries of compressed sparse rows.
pub type Rows<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Pairs of nodes, shape (m, 2).
type Edges<'py> = PyReadonlyArray2<'py, i64>;

/// Indices and distances, `k` of each for every query.
pub type Nearest<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

fn compressed<'py>(py: Python<'py>, matrix: &Csr) -> Rows<'py> {
    (
        PyArray1::from_iter(py, matrix.offsets.iter().map(|&e| e as i64)),
        PyArray1::from_iter(py, matrix.columns.iter().map(|&j| i64::from(j))),
        PyArray1::from_slice(py, &matrix.values),
    )
}

fn found<'py>(py: Python<'py>, neighbours: Neighbours) -> Nearest<'py> {
    (
        PyArray1::from_iter(py, neighbours.indices.iter().map(|&i| i64::from(i))),
        PyArray1::from_vec(py, neighbours.dists),
    )
}

/// The k nodes nearest to every query, or the k nearest other nodes of every node.
#[pyfunction]
#[pyo3(signature = (manifold, points, queries, k))]
pub fn nearest<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    points: Input<'py>,
    queries: Option<Input<'py>>,
    k: usize,
) -> PyResult<Nearest<'py>> {
    let manifold = &*manifold.inner;
    let size = manifold.point_size();
    let count = points.shape()[0];
    let nodes = Nodes { manifold, points: every_row(&points, size)?, count };
    let neighbours = match &queries {
        None => run(py, |interrupt| graph::neighbours(&nodes, k, interrupt))?,
        Some(queries) => {
            let asked = (every_row(queries, size)?, queries.shape()[0]);
            run(py, |interrupt| graph::nearest(&nodes, asked, k, interrupt))?
        }
    };
    Ok(found(py, neighbours))
}

/// Units of all records at every node, spread by the bump kernel.
#[pyfunction]
pub fn bump_counts<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    points: Input<'py>,
    volumes: PyReadonlyArray1<'py, f64>,
    records: Input<'py>,
    reach: f64,
    units: u64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let manifold = &*manifold.inner;
    let size = manifold.point_size();
    let count = points.shape()[0];
    let nodes = Nodes { manifold, points: every_row(&points, size)?, count };
    let volumes = row(&volumes, count)?;
    let asked = (every_row(&records, size)?, records.shape()[0]);
    let units = run(py, |stop| graph::bump_counts(&nodes, volumes, asked, reach, units, stop))?;
    Ok(PyArray1::from_vec(py, units))
}

/// Density of the bump kernel at the points themselves.
#[pyfunction]
pub fn bump_density<'py>(
    py: Python<'py>,
    manifold: &Manifold,
    points: Input<'py>,
    reach: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let manifold = &*manifold.inner;
    let count = points.shape()[0];
    let nodes = Nodes { manifold, points: every_row(&points, manifold.point_size())?, count };
    let density = run(py, |stop| graph::bump_density(&nodes, reach, stop))?;
    Ok(PyArray1::from_vec(py, density))
}

/// The rows of an array, one for each point even if there is one point alone.
fn every_row<'a>(array: &'a Input<'_>, size: usize) -> PyResult<curvedp_core::rows::Rows<'a>> {
    let all = rows(array, array.shape()[0], size)?;
    Ok(curvedp_core::rows::Rows::new(all.data(), size))
}

/// The symmetric matrix with one value for each of ascending edges, the smaller node first.
fn symmetric(size: usize, edges: &Edges<'_>, values: &PyReadonlyArray1<'_, f64>) -> PyResult<Csr> {
    let edges = edges.in_order().ok().filter(|_| edges.shape()[1] == 2);
    let edges = edges.ok_or_else(|| PyValueError::new_err("edges must be contiguous pairs"))?;
    let values = row(values, edges.len() / 2)?;
    let pairs = edges.chunks_exact(2).map(|edge| (edge[0], edge[1]));
    let inside = |&(i, j): &(i64, i64)| 0 <= i && i < j && (j as u64) < size as u64;
    if size > u32::MAX as usize
        || !pairs.clone().all(|edge| inside(&edge))
        || !pairs.clone().is_sorted()
    {
        return Err(PyValueError::new_err("edges must ascend, the smaller node first"));
    }
    let triples = pairs.zip(values).map(|((i, j), &value)| (i as u32, j as u32, value));
    Ok(Csr::symmetric(size, triples))
}

/// A graph with symmetric edge lengths.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Graph {
    inner: graph::Graph,
}

#[pymethods]
impl Graph {
    /// Joins every node with its k nearest neighbours.
    #[staticmethod]
    fn knn(py: Python<'_>, manifold: &Manifold, points: Input<'_>, k: usize) -> PyResult<Self> {
        let manifold = &*manifold.inner;
        let count = points.shape()[0];
        let nodes = Nodes { manifold, points: every_row(&points, manifold.point_size())?, count };
        if count == 1 {
            return Ok(Self { inner: graph::Graph::new(Csr::symmetric(1, std::iter::empty())) });
        }
        let inner = run(py, |interrupt| {
            graph::neighbours(&nodes, k, interrupt).map(|neighbours| neighbours.graph())
        })?;
        Ok(Self { inner })
    }

    /// Joins the nodes of given edges, which ascend and have the smaller node first.
    #[staticmethod]
    fn joined(size: usize, edges: Edges<'_>, lengths: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        Ok(Self { inner: graph::Graph::new(symmetric(size, &edges, &lengths)?) })
    }

    /// The operator with given weights on edges as in `joined`, and given masses.
    fn weighted(
        &self,
        edges: Edges<'_>,
        weights: PyReadonlyArray1<'_, f64>,
        mass: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Laplacian> {
        let size = self.inner.lengths.size();
        let weights = symmetric(size, &edges, &weights)?;
        let mass = row(&mass, size)?.to_vec();
        let order = Arc::clone(&self.inner.order);
        Ok(Laplacian { inner: Arc::new(graph::Laplacian::new(weights, mass, order)) })
    }

    /// Mean of the squared lengths of the edges, 0 if there are none.
    fn mean_square_length(&self) -> f64 {
        let lengths = &self.inner.lengths.values;
        let total: f64 =
            lengths.chunks(1024).map(|part| part.iter().map(|x| x * x).sum::<f64>()).sum();
        total / lengths.len().max(1) as f64
    }

    /// The matrix of edge lengths.
    fn lengths<'py>(&self, py: Python<'py>) -> Rows<'py> {
        compressed(py, &self.inner.lengths)
    }

    /// See `curvedp_graph::graph::laplacian`.
    #[pyo3(signature = (dim, bandwidth, volumes, normalization, scaled))]
    fn laplacian(
        &self,
        py: Python<'_>,
        dim: usize,
        bandwidth: f64,
        volumes: Option<PyReadonlyArray1<'_, f64>>,
        normalization: &str,
        scaled: bool,
    ) -> PyResult<Laplacian> {
        let normalization = match normalization {
            "unnormalised" => Normalization::Unnormalised,
            "random-walk" => Normalization::RandomWalk,
            "density-corrected" => Normalization::DensityCorrected,
            other => {
                return Err(PyValueError::new_err(format!("no normalization {other:?}")));
            }
        };
        let volumes = volumes.as_ref().map(|v| row(v, self.inner.lengths.size())).transpose()?;
        let assembly = Assembly { dim, bandwidth, volumes, normalization, scaled };
        let inner = run(py, |_| Ok(graph::laplacian(&self.inner, &assembly)))?;
        Ok(Laplacian { inner: Arc::new(inner) })
    }

    /// Least start value plus length of the path, over all starting nodes.
    #[pyo3(signature = (start, factors))]
    fn shortest_paths<'py>(
        &self,
        py: Python<'py>,
        start: PyReadonlyArray1<'py, f64>,
        factors: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let size = self.inner.lengths.size();
        let start = row(&start, size)?;
        let factors = factors.as_ref().map(|f| row(f, size)).transpose()?;
        let dists = run(py, |interrupt| {
            graph::shortest_paths(&self.inner.lengths, factors, start, interrupt)
        })?;
        Ok(PyArray1::from_vec(py, dists))
    }
}

/// The operator (L f)_i = (1/m_i) sum_j w_ij (f_i - f_j).
#[pyclass(frozen, module = "curvedp._core")]
pub struct Laplacian {
    pub(crate) inner: Arc<graph::Laplacian>,
}

#[pymethods]
impl Laplacian {
    /// The symmetric matrix diag(sum_j w_ij) - w.
    fn stiffness<'py>(&self, py: Python<'py>) -> Rows<'py> {
        compressed(py, &self.inner.stiffness())
    }

    /// The masses.
    fn mass<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.mass)
    }

    /// An upper bound of the spectrum.
    fn spectral_bound(&self) -> f64 {
        self.inner.spectral_bound()
    }

    /// sum_k c_k T_k(2L/b - 1) f.
    fn chebyshev<'py>(
        &self,
        py: Python<'py>,
        coefficients: PyReadonlyArray1<'py, f64>,
        bound: f64,
        f: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let coefficients = row(&coefficients, coefficients.shape()[0])?;
        let f = row(&f, self.inner.mass.len())?;
        let values =
            run(py, |interrupt| solve::chebyshev(&self.inner, coefficients, bound, f, interrupt))?;
        Ok(PyArray1::from_vec(py, values))
    }
}
