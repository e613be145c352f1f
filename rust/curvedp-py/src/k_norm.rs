//! `_core.KNormRegression` and `_core.KNormMean`: draws from K-norm gradient mechanisms, exact and by chains.

use curvedp_chains::{Footpoint, Shooting, Walk};
use curvedp_core::ball;
use curvedp_core::error::Error;
use curvedp_core::mean;
use curvedp_core::parallel::Interrupt;
use curvedp_core::regression::{self, Geodesic, GradientNorm, Sample, Support};
use curvedp_core::rows::Rows;
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Input, row, rows};
use crate::call::run;
use crate::chains::{Chains, PlanArguments, run_chains};
use crate::frame::Frame;
use crate::manifold::Manifold;
use crate::noise::Stream;

/// Drawn points, and the number of gradients that they took: that number depends on the records.
type Draws<'py> = (Bound<'py, PyArray1<f64>>, usize);

/// The K-norm gradient of geodesic regression, in the frame of a ball.
#[pyclass(frozen, module = "curvedp._core")]
pub struct KNormRegression {
    frame: ball::Frame,
    norm: GradientNorm,
    max_residual: f64,
    scale: f64,
    max_speed: f64,
}

impl KNormRegression {
    fn law<'a>(&'a self, sample: Sample<'a>) -> regression::KNorm<'a> {
        let ball = self.frame.ball();
        let support =
            Support { center: ball.center, radius: ball.radius, max_speed: self.max_speed };
        let &Self { norm, max_residual, scale, .. } = self;
        regression::KNorm { sample, norm, max_residual, scale, support }
    }

    fn sample<'a>(
        &'a self,
        points: &'a Input<'_>,
        times: &'a PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Sample<'a>> {
        sample(self.frame.ball().manifold, points, times)
    }
}

#[pymethods]
impl KNormRegression {
    /// `slope_weight` None is the sum of norms.
    #[new]
    #[pyo3(signature = (frame, max_residual, scale, max_speed, slope_weight))]
    fn new(
        frame: &Frame,
        max_residual: f64,
        scale: f64,
        max_speed: f64,
        slope_weight: Option<f64>,
    ) -> Self {
        let norm = slope_weight.map_or(GradientNorm::SumOfNorms, |slope_weight| {
            GradientNorm::Weighted { slope_weight }
        });
        Self { frame: frame.inner.clone(), norm, max_residual, scale, max_speed }
    }

    /// Independent exact draws on the lattice of a step: footpoint, then coordinates of the velocity, one after the
    /// other.
    fn sample_exact<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        times: PyReadonlyArray1<'py, f64>,
        count: usize,
        stream: &Stream,
        step: f64,
    ) -> PyResult<Draws<'py>> {
        let law = self.law(self.sample(&points, &times)?);
        let (drawn, evaluations) = with_stream(py, stream, |stream, interrupt| {
            regression::sample_k_norm(&law, step, count, stream, interrupt)
        })?;
        let rows = drawn.into_iter().flat_map(|g| [g.footpoint, g.velocity].concat());
        Ok((PyArray1::from_vec(py, rows.collect()), evaluations))
    }

    /// Metropolis chains from the given normal coordinates (a, w): footpoint exp_c(a), velocity w carried there.
    fn run_chains(
        &self,
        py: Python<'_>,
        points: Input<'_>,
        times: PyReadonlyArray1<'_, f64>,
        starts: Input<'_>,
        plan: PlanArguments,
        stream: &Stream,
    ) -> PyResult<Chains> {
        let law = self.law(self.sample(&points, &times)?);
        let starts = all_rows(&starts, 2 * law.sample.manifold.dim())?;
        let walk = Walk::new(law);
        let starts = starts.into_iter().map(|coords| walk.state(coords)).collect();
        run_chains(py, &walk, starts, plan, stream)
    }
}

/// The K-norm gradient of the Fréchet mean, in the frame of a ball.
#[pyclass(frozen, module = "curvedp._core")]
pub struct KNormMean {
    frame: ball::Frame,
    max_residual: f64,
    scale: f64,
}

impl KNormMean {
    fn law<'a>(&'a self, points: &'a Input<'_>) -> PyResult<mean::KNorm<'a>> {
        let ball = self.frame.ball();
        let (manifold, count) = (ball.manifold, points.shape()[0]);
        let points = records(points, manifold.point_size())?;
        let &Self { max_residual, scale, .. } = self;
        let (center, radius) = (ball.center, ball.radius);
        Ok(mean::KNorm { manifold, points, count, max_residual, scale, center, radius })
    }
}

#[pymethods]
impl KNormMean {
    #[new]
    fn new(frame: &Frame, max_residual: f64, scale: f64) -> Self {
        Self { frame: frame.inner.clone(), max_residual, scale }
    }

    /// Independent exact draws on the lattice of a step in normal coordinates.
    fn sample_exact<'py>(
        &self,
        py: Python<'py>,
        points: Input<'py>,
        count: usize,
        stream: &Stream,
        step: f64,
    ) -> PyResult<Draws<'py>> {
        let law = self.law(&points)?;
        let (drawn, evaluations) = with_stream(py, stream, |stream, interrupt| {
            law.sample(step, count, stream, interrupt)
        })?;
        Ok((PyArray1::from_vec(py, drawn.concat()), evaluations))
    }

    /// Metropolis chains from the given points of the frame.
    fn run_chains(
        &self,
        py: Python<'_>,
        points: Input<'_>,
        starts: Input<'_>,
        plan: PlanArguments,
        stream: &Stream,
    ) -> PyResult<Chains> {
        let law = self.law(&points)?;
        let starts = all_rows(&starts, law.manifold.point_size())?;
        run_chains(py, &law, starts.into_iter().map(<[f64]>::to_vec).collect(), plan, stream)
    }
}

/// A chain of the published law of the footpoint, with the velocity of an estimate carried along; it starts at
/// the estimate.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one argument for each argument in Python")]
pub fn published_footpoint(
    py: Python<'_>,
    manifold: &Manifold,
    points: Input<'_>,
    times: PyReadonlyArray1<'_, f64>,
    footpoint: PyReadonlyArray1<'_, f64>,
    velocity: PyReadonlyArray1<'_, f64>,
    scale: f64,
    plan: PlanArguments,
    stream: &Stream,
) -> PyResult<Chains> {
    let sample = sample(&*manifold.inner, &points, &times)?;
    let footpoint = row(&footpoint, manifold.inner.point_size())?.to_vec();
    let velocity = row(&velocity, manifold.inner.dim())?.to_vec();
    let estimate = Geodesic { footpoint, velocity };
    let law = Footpoint::new(sample, &estimate, scale);
    run_chains(py, &law, vec![law.start()], plan, stream)
}

/// A chain of the published law of the velocity at a footpoint, from the given velocity.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one argument for each argument in Python")]
pub fn published_shooting(
    py: Python<'_>,
    manifold: &Manifold,
    points: Input<'_>,
    times: PyReadonlyArray1<'_, f64>,
    footpoint: PyReadonlyArray1<'_, f64>,
    velocity: PyReadonlyArray1<'_, f64>,
    scale: f64,
    plan: PlanArguments,
    stream: &Stream,
) -> PyResult<Chains> {
    let sample = sample(&*manifold.inner, &points, &times)?;
    let footpoint = row(&footpoint, manifold.inner.point_size())?;
    let velocity = row(&velocity, manifold.inner.dim())?.to_vec();
    run_chains(py, &Shooting::new(sample, footpoint, scale), vec![velocity], plan, stream)
}

fn sample<'a>(
    manifold: &'a dyn curvedp_core::manifold::Manifold,
    points: &'a Input<'_>,
    times: &'a PyReadonlyArray1<'_, f64>,
) -> PyResult<Sample<'a>> {
    let count = points.shape()[0];
    let points = records(points, manifold.point_size())?;
    Ok(Sample { manifold, points, times: row(times, count)? })
}

fn records<'a>(points: &'a Input<'_>, size: usize) -> PyResult<Rows<'a>> {
    let count = points.shape()[0];
    if count == 0 {
        return Err(PyValueError::new_err("there must be at least one record"));
    }
    rows(points, count, size)
}

fn all_rows<'a>(array: &'a Input<'_>, size: usize) -> PyResult<Vec<&'a [f64]>> {
    let count = array.shape()[0];
    let found = rows(array, count, size)?;
    Ok(found.data().chunks_exact(size).collect())
}

/// Runs a kernel that draws from a stream.
fn with_stream<T: Send>(
    py: Python<'_>,
    stream: &Stream,
    kernel: impl FnOnce(&mut curvedp_core::noise::Stream, Interrupt) -> Result<T, Error> + Send,
) -> PyResult<T> {
    run(py, |interrupt| {
        let mut open = match stream.open() {
            Ok(open) => open,
            Err(error) => return Ok(Err(error)),
        };
        kernel(&mut open, interrupt).map(Ok)
    })?
}
