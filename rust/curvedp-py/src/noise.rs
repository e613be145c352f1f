//! `_core.Stream` and `_core.Noise`: randomness and isotropic noise.

use std::sync::{Mutex, MutexGuard};

use curvedp_core::error::Error;
use curvedp_core::exact::Effort;
use curvedp_core::noise::{self, Drawing, IsotropicNoise, Profile};
use curvedp_core::release::Grid;
use curvedp_core::roots::Space;
use curvedp_core::rows::Rows;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{InOrder, InOrderMut, Output, OutputVector, output, output_vector, row};
use crate::call::{run, to_python};
use crate::frame::Frame;

/// Random numbers of one release: ChaCha20 with a key from the operating system, or with a given key.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Stream {
    inner: Mutex<noise::Stream>,
    owner: Owner,
}

/// The process that asked the operating system for a key; none for a key that was given.
#[derive(Clone, Copy)]
pub(crate) struct Owner(Option<u32>);

impl Owner {
    pub(crate) const GIVEN: Self = Self(None);

    /// This process.
    pub(crate) fn here() -> Self {
        Self(Some(std::process::id()))
    }

    /// Refuses a key that another process asked for.
    pub(crate) fn check(self) -> PyResult<()> {
        if self.0.is_some_and(|owner| owner != std::process::id()) {
            // parent and child would draw the same noise, which their releases' difference cancels
            let message = "the stream belongs to the process that forked this one: make a new one";
            return Err(PyRuntimeError::new_err(message));
        }
        Ok(())
    }
}

#[pymethods]
impl Stream {
    /// A stream with a fresh key from the operating system.
    #[staticmethod]
    fn from_os() -> PyResult<Self> {
        let stream = noise::Stream::from_os().map_err(|e| to_python(e.into()))?;
        Ok(Self::new(stream, Owner::here()))
    }

    /// Sub-stream `stream_id` of a 32-byte key.
    #[staticmethod]
    fn from_key(key: [u8; 32], stream_id: u64) -> Self {
        Self::new(noise::Stream::from_key(key, stream_id), Owner::GIVEN)
    }

    /// Stream `number` of groups that draw from one key: g S + s is stage s of group g of S stages each.
    #[staticmethod]
    fn of_groups(key: [u8; 32], number: u64) -> Self {
        Self::new(noise::numbered_stream(key, number), Owner::GIVEN)
    }

    /// Fills `out` with uniforms on (0, 1).
    fn uniform(&self, py: Python<'_>, mut out: OutputVector<'_>) -> PyResult<()> {
        let out = output_vector(&mut out)?;
        self.fill(py, out, |_, stream| stream.uniform_open())
    }

    /// Fills `out` with standard exponentials.
    fn exponential(&self, py: Python<'_>, mut out: OutputVector<'_>) -> PyResult<()> {
        let out = output_vector(&mut out)?;
        self.fill(py, out, |_, stream| stream.exponential())
    }

    /// Fills `out` with independent numbers with that noise, in doubles; see [`Profile::draw`].
    fn noise(
        &self,
        py: Python<'_>,
        profile: &str,
        scale: f64,
        mut out: OutputVector<'_>,
    ) -> PyResult<()> {
        let profile = profile_of(profile, scale)?;
        profile.check().map_err(|e| to_python(e.into()))?;
        let out = output_vector(&mut out)?;
        self.fill(py, out, |_, stream| profile.draw(stream))
    }

    /// Writes `counts` + x into `out`, integers x of probability proportional to exp(-rate |x|), drawn exactly: sums of
    /// integers, each rounded to the nearest double.
    fn add_discrete_laplace(
        &self,
        py: Python<'_>,
        rate: f64,
        counts: PyReadonlyArray1<'_, i64>,
        mut out: OutputVector<'_>,
    ) -> PyResult<()> {
        let law = noise::DiscreteLaplace::new(rate).map_err(|e| to_python(e.into()))?;
        let (counts, out) = (counts.in_order()?, output_vector(&mut out)?);
        if counts.len() != out.len() {
            return Err(PyValueError::new_err("counts and output do not match"));
        }
        self.fill(py, out, |place, stream| law.add(counts[place], stream))
    }
}

/// Numbers between two looks at the interrupt flag.
const FILLED_PER_LOOK: usize = 1 << 16;

impl Stream {
    pub(crate) fn new(inner: noise::Stream, owner: Owner) -> Self {
        Self { inner: Mutex::new(inner), owner }
    }

    /// 256 random bits. Like every draw, without the interpreter lock, for which the thread that holds the
    /// stream may be waiting.
    pub(crate) fn key(&self, py: Python<'_>) -> PyResult<[u8; 32]> {
        py.detach(|| {
            let mut stream = self.open()?;
            let mut key = [0; 32];
            key.chunks_exact_mut(8).for_each(|part| {
                part.copy_from_slice(&stream.bits().to_le_bytes());
            });
            Ok(key)
        })
    }

    fn fill(
        &self,
        py: Python<'_>,
        out: &mut [f64],
        draw: impl Fn(usize, &mut noise::Stream) -> f64 + Sync,
    ) -> PyResult<()> {
        run(py, |interrupt| {
            let mut stream = match self.open() {
                Ok(stream) => stream,
                Err(error) => return Ok(Err(error)),
            };
            for (place, x) in out.iter_mut().enumerate() {
                if place > 0 && place % FILLED_PER_LOOK == 0 && interrupt() {
                    return Err(Error::Interrupted);
                }
                *x = draw(place, &mut stream);
            }
            Ok(Ok(()))
        })?
    }

    /// The generator, in the process that it belongs to.
    pub(crate) fn open(&self) -> PyResult<MutexGuard<'_, noise::Stream>> {
        self.owner.check()?;
        self.inner.lock().map_err(|_| PyRuntimeError::new_err("the stream is in an unknown state"))
    }
}

/// A space by its name; see [`Space::named`].
pub(crate) fn space(kind: &str, size: usize, parameter: f64) -> PyResult<Space> {
    Space::named(kind, size, parameter)
        .ok_or_else(|| PyValueError::new_err(format!("unknown space {kind:?}")))
}

/// See [`Space::largest_laplace_scale`]; the arguments are the first of [`Noise`].
#[pyfunction]
pub fn largest_laplace_scale(
    py: Python<'_>,
    kind: &str,
    size: usize,
    parameter: f64,
) -> PyResult<f64> {
    let space = space(kind, size, parameter)?;
    run(py, |_| Ok(space.largest_laplace_scale()))
}

/// The exponential mechanism on ranks; see [`noise::RankExponential`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct RankExponential {
    inner: noise::RankExponential,
}

#[pymethods]
impl RankExponential {
    #[new]
    fn new(level: f64, low: f64, high: f64, log_uniform: bool, scale: f64) -> Self {
        Self { inner: noise::RankExponential { level, low, high, log_uniform, scale } }
    }

    /// Fills `out` with independent draws around the quantile of `values`.
    fn sample(
        &self,
        py: Python<'_>,
        values: PyReadonlyArray1<'_, f64>,
        stream: &Stream,
        mut out: OutputVector<'_>,
    ) -> PyResult<()> {
        let values = values.in_order()?;
        let out = output_vector(&mut out)?;
        let intervals = run(py, |_| Ok(self.inner.intervals(values)))?;
        let effort = effort(out.len());
        stream.fill(py, out, |_, stream| self.inner.sample(&intervals, stream, effort))
    }
}

/// Quantiles of numbers on a public grid; see [`noise::GridQuantile`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct GridQuantile {
    inner: noise::GridQuantile,
}

#[pymethods]
impl GridQuantile {
    /// `measure` is (first point, last point, powers of ten, whether octaves weigh the same), `spacing` the first point's
    /// value and the distance of neighbours.
    #[new]
    fn new(
        levels: Vec<f64>,
        ends: (f64, f64),
        measure: (u64, u64, u32, bool),
        spacing: (f64, f64),
        scale: f64,
        coin_bits: u32,
    ) -> PyResult<Self> {
        let (first, last, decimals, octaves) = measure;
        let measure = noise::GridMeasure { first, last, decimals, octaves }.checked();
        let measure = measure.filter(|_| coin_bits <= 32 && !levels.is_empty());
        let measure = measure.ok_or_else(|| PyValueError::new_err("the grid has no law"))?;
        let inner = noise::GridQuantile { levels, ends, measure, spacing, scale, coin_bits };
        Ok(Self { inner })
    }

    /// Mass of the points `first`..`stop`, and of all.
    fn mass(&self, first: u64, stop: u64) -> (u128, u128) {
        (self.inner.measure.between(first, stop), self.inner.measure.total())
    }

    /// Numbers of the grid points of `values`, in order.
    fn points(&self, py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<Vec<u64>> {
        let values = values.in_order()?;
        run(py, |_| Ok(self.inner.points(values)))
    }

    /// Fills `out` with independent draws around the quantiles of `values`, one after the other: numbers of grid
    /// points.
    fn sample(
        &self,
        py: Python<'_>,
        values: PyReadonlyArray1<'_, f64>,
        stream: &Stream,
        mut out: PyReadwriteArray1<'_, u64>,
    ) -> PyResult<()> {
        let values = values.in_order()?;
        let out = out.in_order_mut()?;
        let (law, effort) = (&self.inner, effort(out.len()));
        run(py, |interrupt| {
            let points = law.points(values);
            let cells = law.cells(&points);
            let mut stream = match stream.open() {
                Ok(stream) => stream,
                Err(error) => return Ok(Err(error)),
            };
            for (number, draw) in out.chunks_exact_mut(law.levels.len()).enumerate() {
                if number > 0 && number % DRAWS_PER_LOOK == 0 && interrupt() {
                    return Err(Error::Interrupted);
                }
                law.sample(&points, &cells, &mut stream, effort, draw);
            }
            Ok(Ok(()))
        })?
    }
}

/// Fills `out` with independent indices, each with a probability in proportion to
/// e^(log_weights[i] - lengths[i]/scale), drawn exactly.
#[pyfunction]
pub fn choose(
    py: Python<'_>,
    log_weights: PyReadonlyArray1<'_, f64>,
    lengths: PyReadonlyArray1<'_, f64>,
    scale: f64,
    stream: &Stream,
    mut out: OutputVector<'_>,
) -> PyResult<()> {
    let (log_weights, lengths) = (log_weights.in_order()?, lengths.in_order()?);
    let out = output_vector(&mut out)?;
    let choice = run(py, |_| Ok(noise::Choice::new(log_weights, lengths, scale)))?;
    let refused = || PyValueError::new_err("weights, lengths and scale have no law");
    let (choice, effort) = (choice.ok_or_else(refused)?, effort(out.len()));
    stream.fill(py, out, |_, stream| choice.draw(stream, effort) as f64)
}

/// Isotropic noise on a homogeneous space.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Noise {
    pub(crate) inner: IsotropicNoise,
}

#[pymethods]
impl Noise {
    /// On the space called so, see [`Space::named`].
    #[new]
    fn new(space: &str, size: usize, parameter: f64, profile: &str, scale: f64) -> PyResult<Self> {
        let (space, profile) = law_of(space, size, parameter, profile, scale)?;
        let inner = IsotropicNoise::new(space, profile).map_err(|e| to_python(e.into()))?;
        Ok(Self { inner })
    }

    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    /// E t, t the distance from the centre.
    #[getter]
    fn expected_dist(&self) -> f64 {
        self.inner.expected_dist()
    }

    /// E min(t, limit)
    fn expected_dist_within(&self, limit: f64) -> f64 {
        self.inner.expected_dist_within(limit)
    }

    /// sqrt(E t^2)
    #[getter]
    fn root_mean_square_dist(&self) -> f64 {
        self.inner.root_mean_square_dist()
    }

    /// Expected fraction of proposals that the sampler accepts.
    #[getter]
    fn acceptance(&self) -> f64 {
        self.inner.acceptance()
    }

    /// Adds noise to the rows of `vectors` and rounds them to multiples of `step`, a power of two, in exact
    /// arithmetic: on flat space only.
    fn add_on_grid(
        &self,
        py: Python<'_>,
        stream: &Stream,
        step: f64,
        mut vectors: Output<'_>,
    ) -> PyResult<()> {
        let dim = self.inner.dim();
        let (vectors, count) = output(&mut vectors, dim)?;
        if self.inner.drawing() != Drawing::Chart {
            return Err(PyValueError::new_err("only noise on flat space is added to vectors"));
        }
        check_step(step)?;
        let effort = effort(count * dim);
        run(py, |interrupt| {
            for (look, part) in vectors.chunks_mut(DRAWS_PER_LOOK.div_ceil(dim) * dim).enumerate() {
                if look > 0 && interrupt() {
                    return Err(Error::Interrupted);
                }
                let mut stream = match stream.open() {
                    Ok(stream) => stream,
                    Err(error) => return Ok(Err(error)),
                };
                for row in part.chunks_exact_mut(dim) {
                    noise::add_on_grid(self.inner.profile(), row, step, &mut stream, effort);
                }
            }
            Ok(Ok(()))
        })?
    }

    /// Releases around a point of a ball's frame, as points of the manifold: noise is added, on flat space in the
    /// chart at the centre, else at the point itself, clipped and rounded to the public grid (step, clip radius).
    fn release(
        &self,
        py: Python<'_>,
        frame: &Frame,
        true_value: PyReadonlyArray1<'_, f64>,
        stream: &Stream,
        grid: (f64, f64),
        mut out: Output<'_>,
    ) -> PyResult<()> {
        let frame = &frame.inner;
        let (dim, width) = (self.inner.dim(), frame.centred().point_size());
        if frame.centred().dim() != dim {
            return Err(misfit(dim, frame.centred().dim()));
        }
        check_step(grid.0)?;
        let true_value = row(&true_value, width)?;
        let size = frame.manifold().point_size();
        let (out, count) = output(&mut out, size)?;
        let grid = Grid { step: grid.0, clip_radius: grid.1 };
        run(py, |interrupt| {
            let rows = count.min(DRAWS_PER_LOOK);
            let mut drawn = vec![0.0; rows * width];
            let effort = effort(count * dim);
            for (look, part) in out.chunks_mut(DRAWS_PER_LOOK * size).enumerate() {
                if look > 0 && interrupt() {
                    return Err(Error::Interrupted);
                }
                let drawn = &mut drawn[..part.len() / size * width];
                let mut stream = match stream.open() {
                    Ok(stream) => stream,
                    Err(error) => return Ok(Err(error)),
                };
                let draws = |_, draw: &mut dyn FnMut(&mut noise::Stream)| draw(&mut stream);
                let law = |_| (&self.inner, grid);
                let ball = frame.ball();
                ball.release(Rows::shared(true_value), law, draws, effort, drawn);
                frame.leave(Rows::new(drawn, width), part);
            }
            Ok(Ok(()))
        })?
    }
}

fn misfit(dim: usize, have: usize) -> PyErr {
    PyValueError::new_err(format!(
        "noise of dimension {dim} does not fit a manifold of dimension {have}"
    ))
}

/// The space and the profile that Python names.
pub(crate) fn law_of(
    space: &str,
    size: usize,
    parameter: f64,
    profile: &str,
    scale: f64,
) -> PyResult<(Space, Profile)> {
    Ok((self::space(space, size, parameter)?, profile_of(profile, scale)?))
}

fn profile_of(name: &str, scale: f64) -> PyResult<Profile> {
    Ok(match name {
        "laplace" => Profile::Laplace { scale },
        "gaussian" => Profile::Gaussian { scale },
        other => return Err(PyValueError::new_err(format!("unknown profile {other:?}"))),
    })
}

/// Coordinates from which on their noise may take a time of its own.
const MANY: usize = 10_000;

/// How the noise of a release with so many coordinates is drawn.
pub(crate) fn effort(coordinates: usize) -> Effort {
    if coordinates < MANY { Effort::Steady } else { Effort::Least }
}

/// Refuses grid steps that are not powers of two.
pub(crate) fn check_step(step: f64) -> PyResult<()> {
    if step.is_normal() && step > 0.0 && step < 1e280 && step.to_bits() << 12 == 0 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("a grid steps by a power of two, not by {step}")))
}

/// Draws between two looks at the interrupt flag; their coordinates stay in cache.
const DRAWS_PER_LOOK: usize = 512;
