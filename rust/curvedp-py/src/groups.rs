//! Private statistics of many groups.

use std::cell::RefCell;

use curvedp_core::error::Error;
use curvedp_core::groups::{
    self, AdaptiveMeans, AdaptiveSchedule, BasePoints, Bounds, Design, GroupMean, Ids, Means,
    Moment, Moments, RadiusLaw, Statistic, VarianceDesign, Variances, Within,
};
use curvedp_core::law::{Budget, MeanLaw};
use curvedp_core::manifold;
use curvedp_core::noise::{self, Drawing};
use curvedp_core::release::{self, Grid, Placement};
use curvedp_core::rows::Rows;
use curvedp_core::tally::Tally;
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};

use crate::arrays::{InOrder, InOrderMut, Input, Output, output, rows};
use crate::call::{run, to_python};
use crate::frame::Frame;
use crate::manifold::Manifold;
use crate::mean::Plan;
use crate::noise::{Noise, Owner, Stream, check_step};

/// A share of the budget: true if it is epsilon, and epsilon or mu.
type Share = (bool, f64);

/// Plan and noise of a mean, whether it is drawn in the chart at the centre, mean square of its length, step and clip
/// radius.
type MeanParts = (Py<Plan>, Py<Noise>, bool, f64, f64, f64);

/// Columns by name, and how many records were points outside the ball and no points, if they were counted: of all
/// groups, and of each, shape (2, groups).
type Released<'py> = (Bound<'py, PyDict>, Option<(u64, u64)>, Option<Bound<'py, PyArray2<f64>>>);

/// See [`GroupStatistic::variance`].
type VarianceParts<'a> = (PyRef<'a, Plan>, Share, f64, Option<(Share, f64)>);

/// The attributes of an object that says how a radius is found; see [`RadiusLaw`].
#[derive(FromPyObject)]
struct RadiusParts {
    level: f64,
    slope: f64,
    scale: f64,
    low: f64,
    high: f64,
    factor: f64,
    top: f64,
}

/// What a [`GroupMean`] borrows, held for Python.
struct HeldMean {
    plan: Py<Plan>,
    noise: Py<Noise>,
    placement: Placement,
    mean_square: f64,
    grid: Grid,
}

/// Shared by the groups with one ball and one number of records: the share of their records that a unit may
/// replace and, where a mean is released, its plan, noise and grid.
#[pyclass(frozen, module = "curvedp._core")]
pub struct GroupDesign {
    replaced: f64,
    mean: Option<HeldMean>,
}

#[pymethods]
impl GroupDesign {
    #[new]
    fn new(replaced: f64, mean: Option<MeanParts>) -> Self {
        let mean = mean.map(|(plan, noise, chart, mean_square, step, clip_radius)| HeldMean {
            plan,
            noise,
            placement: placement(chart),
            mean_square,
            grid: Grid { step, clip_radius },
        });
        Self { replaced, mean }
    }
}

impl GroupDesign {
    fn as_design(&self) -> Design<'_> {
        let mean = self.mean.as_ref().map(|held| GroupMean {
            plan: held.plan.get().inner,
            noise: &held.noise.get().inner,
            placement: held.placement,
            mean_square: held.mean_square,
            grid: held.grid,
        });
        Design { replaced: self.replaced, mean }
    }
}

/// Source of randomness of groups; see [`noise::GroupKeys`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct GroupKeys {
    inner: noise::GroupKeys,
    owner: Owner,
}

impl GroupKeys {
    /// The keys, in the process that they belong to.
    fn open(&self) -> PyResult<&noise::GroupKeys> {
        self.owner.check().map(|()| &self.inner)
    }
}

#[pymethods]
impl GroupKeys {
    /// Sub-streams of a fresh key from the operating system: for one call.
    #[staticmethod]
    fn fresh() -> PyResult<Self> {
        let key = noise::fresh_key().map_err(|error| to_python(error.into()))?;
        Ok(Self { inner: noise::GroupKeys::Numbered(key), owner: Owner::here() })
    }

    /// The first stream of numbered ones.
    fn first(&self) -> PyResult<Stream> {
        match self.open()? {
            noise::GroupKeys::Numbered(key) => {
                Ok(Stream::new(noise::numbered_stream(*key, 0), self.owner))
            }
            noise::GroupKeys::Derived(_) => Err(PyValueError::new_err("keys have no numbers")),
        }
    }

    /// Keys of a part of the call, for calls that use these alone.
    fn part(&self, number: u64) -> Self {
        Self { inner: self.inner.part(number), owner: self.owner }
    }

    /// Sub-streams of a given key.
    #[staticmethod]
    fn numbered(key: [u8; 32]) -> Self {
        Self { inner: noise::GroupKeys::Numbered(key), owner: Owner::GIVEN }
    }

    /// Keys derived from a secret, the parameters that all groups share, and the groups' input.
    #[staticmethod]
    fn derived(secret: [u8; 32], context: &[u8]) -> Self {
        let keys = noise::DerivedKeys::new(&secret, context);
        Self { inner: noise::GroupKeys::Derived(keys), owner: Owner::GIVEN }
    }
}

/// Nondecreasing offsets that begin at 0 and end at `total`.
pub fn offsets(
    array: &PyReadonlyArray1<'_, i64>,
    total: usize,
    name: &str,
) -> PyResult<Vec<usize>> {
    let values: Option<Vec<usize>> =
        array.as_array().iter().map(|&offset| usize::try_from(offset).ok()).collect();
    let fits = |o: &Vec<usize>| o.first() == Some(&0) && o.last() == Some(&total) && o.is_sorted();
    values.filter(fits).ok_or_else(|| {
        PyValueError::new_err(format!("{name} must begin at 0, never decrease and end at {total}"))
    })
}

/// The trace of the mean Hessian of the squared distance; see [`manifold::HessianTrace`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct HessianTrace {
    pub(crate) inner: manifold::HessianTrace,
}

#[pymethods]
impl HessianTrace {
    /// The trace at a distance.
    fn at(&self, dist: f64) -> f64 {
        self.inner.at(dist)
    }
}

/// Bound on the distance between two Hessians; see [`manifold::ExcessDiameter`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct ExcessDiameter {
    pub(crate) inner: manifold::ExcessDiameter,
}

#[pymethods]
impl ExcessDiameter {
    /// For points within a distance.
    fn within(&self, dist: f64) -> f64 {
        self.inner.within(dist)
    }
}

/// Groups of consecutive records by their public properties: balls, designs and names.
#[pyclass(frozen, module = "curvedp._core")]
pub struct Groups {
    frames: Vec<Py<Frame>>,
    offsets: Vec<usize>,
    designs: Vec<Py<GroupDesign>>,
    choice: Vec<i32>,
    ids: Option<(Vec<u8>, Vec<usize>)>,
}

#[pymethods]
impl Groups {
    /// `frames` holds one for all groups or one for each, `choice` the number of each group's design or -1,
    /// `ids` their names, one after the other, and where each begins.
    #[new]
    fn new(
        frames: Vec<Py<Frame>>,
        row_offsets: PyReadonlyArray1<'_, i64>,
        designs: Vec<Py<GroupDesign>>,
        choice: PyReadonlyArray1<'_, i32>,
        ids: Option<(PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, i64>)>,
    ) -> PyResult<Self> {
        let mismatch = || PyValueError::new_err("frames, designs and groups do not match");
        let total = row_offsets.as_array().last().map_or(0, |&end| end.max(0) as usize);
        let offsets = offsets(&row_offsets, total, "offsets")?;
        let count = offsets.len() - 1;
        let choice = choice.in_order()?.to_vec();
        let outer = |frame: &Py<Frame>| frame.get().inner.manifold().point_size();
        let first = frames.first().ok_or_else(mismatch)?;
        let (size, dim) = (outer(first), first.get().inner.ball().manifold.dim());
        if choice.len() != count
            || (frames.len() != 1 && frames.len() != count)
            || frames.iter().any(|frame| outer(frame) != size)
            || designs.iter().any(|design| {
                design.get().mean.as_ref().is_some_and(|mean| mean.noise.get().inner.dim() != dim)
            })
            || choice.iter().any(|&number| number >= designs.len() as i32)
        {
            return Err(mismatch());
        }
        let read = |(bytes, ends): (PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, i64>)| {
            let bytes = bytes.in_order()?.to_vec();
            let ends = self::offsets(&ends, bytes.len(), "id offsets")?;
            if ends.len() == count + 1 { Ok((bytes, ends)) } else { Err(mismatch()) }
        };
        let ids = ids.map(read).transpose()?;
        Ok(Self { frames, offsets, designs, choice, ids })
    }

    /// The randomness of a stage of a group, of whose releases every one draws from `stages`.
    fn stream(
        &self,
        records: Input<'_>,
        keys: &GroupKeys,
        group: usize,
        stages: u64,
        stage: u64,
    ) -> PyResult<Stream> {
        if group + 1 >= self.offsets.len() || stage >= stages {
            return Err(PyValueError::new_err("there is no such stream"));
        }
        let frame = &self.frames[if self.frames.len() == 1 { 0 } else { group }].get().inner;
        let own = self.choice[group].try_into().ok().map(|i: usize| self.designs[i].get());
        let design = own.map(GroupDesign::as_design);
        let records = self.rows_of(&records)?.range(self.offsets[group]..self.offsets[group + 1]);
        let input =
            |group| groups::input(Ids::id(self.ids(), group), frame, design.as_ref(), records);
        let streams = keys.open()?.streams(group..group + 1, stages, input);
        Ok(Stream::new(streams.stream(0, stage), keys.owner))
    }

    /// Adds noise on flat space to a row of `vectors` for each group, whose design's number is that of its law and
    /// grid step; rows of groups without one stay as they are. The randomness is that of [`Groups::stream`] for the
    /// only stage.
    fn add_noise(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        keys: &GroupKeys,
        laws: Vec<(PyRef<'_, Noise>, f64)>,
        mut vectors: Output<'_>,
    ) -> PyResult<()> {
        let width = vectors.shape()[1];
        let (vectors, count) = output(&mut vectors, width)?;
        let misfits = |(noise, _): &(PyRef<'_, Noise>, f64)| {
            noise.inner.drawing() != Drawing::Chart || noise.inner.dim() != width
        };
        if count + 1 != self.offsets.len()
            || laws.len() != self.designs.len()
            || laws.iter().any(misfits)
        {
            return Err(PyValueError::new_err("laws, vectors and groups do not match"));
        }
        laws.iter().try_for_each(|(_, step)| check_step(*step))?;
        let laws: Vec<_> = laws.iter().map(|(law, step)| (law.inner.profile(), *step)).collect();
        let keys = keys.open()?;
        self.with(&records, None, |groups| {
            run(py, |interrupt| {
                groups::add_to_vectors(groups, &laws, keys, (vectors, width), interrupt)
            })
        })?
    }

    /// Releases a statistic of each group of records: arrays by name, one row for each group, NaN for groups
    /// that have no design. `progress` is called with the number of groups done. With `count`, which says whether
    /// of each group, also how many records were points outside the ball, and how many no points.
    fn release<'py>(
        &self,
        py: Python<'py>,
        records: Input<'py>,
        statistic: &GroupStatistic,
        keys: &GroupKeys,
        progress: Option<Py<PyAny>>,
        count: Option<bool>,
    ) -> PyResult<Released<'py>> {
        let (statistic, drawn) = (&*statistic.inner, keys.open()?);
        let is_empty = |g: usize| self.choice[g] >= 0 && self.offsets[g] == self.offsets[g + 1];
        if (0..self.choice.len()).any(is_empty)
            || statistic.has_means() && self.designs.iter().any(|own| own.get().mean.is_none())
        {
            return Err(PyValueError::new_err("designs do not match"));
        }
        let rows = self.offsets.len() - 1;
        let tally = match count {
            None => None,
            Some(false) => Some(Tally::default()),
            Some(true) => Some(Tally::of_each(self.offsets[rows]).map_err(to_python)?),
        };
        let columns = self.with(&records, None, |groups| statistic.columns(groups))?;
        let width = columns.iter().map(|column| column.width).sum();
        let out = PyArray2::<f64>::zeros(py, [rows, width], false);
        let mut entries = out.try_readwrite()?;
        let entries = entries.in_order_mut()?;
        self.with(&records, tally.as_ref(), |groups| {
            run(py, |interrupt| {
                let raised = RefCell::new(None);
                let report = |done: usize| {
                    let call = |progress: &Py<PyAny>| {
                        Python::attach(|py| progress.call1(py, (done,)).map(|_| ()))
                    };
                    let outcome = progress.as_ref().map_or(Ok(()), call);
                    outcome.map_err(|error| raised.replace(Some(error))).is_err() || interrupt()
                };
                let outcome = groups::release(groups, statistic, drawn, entries, &report);
                match raised.into_inner() {
                    Some(error) => Ok(Err(error)),
                    None => outcome.map(Ok),
                }
            })
        })???;
        let named = PyDict::new(py);
        let mut start = 0;
        for column in columns {
            let end = start + column.width as isize;
            named.set_item(
                column.name,
                out.get_item((PySlice::full(py), PySlice::new(py, start, end, 1)))?,
            )?;
            start = end;
        }
        let each = tally.as_ref().filter(|_| count == Some(true)).map(|tally| {
            let counts = PyArray2::<f64>::zeros(py, [2, rows], false);
            let mut written = counts.try_readwrite()?;
            let (outside, no_point) = written.in_order_mut()?.split_at_mut(rows);
            tally.write_counts(&self.offsets, outside, no_point);
            drop(written);
            PyResult::Ok(counts)
        });
        Ok((named, tally.map(|tally| tally.counts()), each.transpose()?))
    }
}

/// A statistic that is released of each group; see [`groups::Statistic`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct GroupStatistic {
    inner: Box<dyn Statistic + Send + Sync>,
}

#[pymethods]
impl GroupStatistic {
    /// The mean: "value".
    #[staticmethod]
    fn mean() -> Self {
        Self { inner: Box::new(Means) }
    }

    /// Moments of the logarithms at the private mean, or at `points`, one for each group; see [`Moments`]. `budgets`
    /// holds for each design whether the share of each moment is epsilon, and the share.
    #[staticmethod]
    #[pyo3(signature = (points, moments, budgets, max_dist))]
    fn moments(
        points: Option<Input<'_>>,
        moments: Vec<PyRef<'_, LogMoment>>,
        budgets: Vec<Vec<Share>>,
        max_dist: f64,
    ) -> PyResult<Self> {
        if budgets.iter().any(|own| own.len() != moments.len()) {
            return Err(PyValueError::new_err("moments and budgets do not match"));
        }
        let base_points = match points {
            None => BasePoints::Means,
            Some(points) => BasePoints::Given(points.in_order()?.to_vec()),
        };
        let moments: Vec<_> = moments.iter().map(|own| own.inner).collect();
        let of = |own: Vec<_>| own.into_iter().map(budget_of).collect();
        let budgets = budgets.into_iter().map(of).collect();
        Ok(Self { inner: Box::new(Moments { base_points, moments, budgets, max_dist }) })
    }

    /// The variance; see [`Variances`]. `designs` holds for each the plan of the mean, its share of the budget, and
    /// either s or the share for the distance of the mean from the centre and the margin above it in noise scales.
    #[staticmethod]
    fn variance(designs: Vec<VarianceParts<'_>>) -> Self {
        let of = |(plan, budget, within, released): VarianceParts<'_>| VarianceDesign {
            plan: plan.inner,
            budget: budget_of(budget),
            within: released.map_or(Within::Public(within), |(share, margin)| {
                Within::Released(budget_of(share), margin)
            }),
        };
        Self { inner: Box::new(Variances { designs: designs.into_iter().map(of).collect() }) }
    }

    /// The adaptive mean. `schedules` holds for each design how radii are found and the shares of the budget of the
    /// means after them; `laws` whether noise is drawn in the chart at the centre, and there with a scale that is
    /// stretched.
    #[staticmethod]
    #[pyo3(signature = (manifold, schedules, laws, *, records_per_unit))]
    fn adaptive_mean(
        manifold: &Manifold,
        schedules: Vec<Vec<(RadiusParts, Share)>>,
        laws: Vec<(bool, bool)>,
        records_per_unit: f64,
    ) -> PyResult<Self> {
        if schedules.len() != laws.len() {
            return Err(PyValueError::new_err("schedules and laws do not match"));
        }
        let of = |(parts, share): (RadiusParts, Share)| {
            let RadiusParts { level, slope, scale, low, high, factor, top } = parts;
            (RadiusLaw { level, slope, scale, low, high, factor, top }, budget_of(share))
        };
        let schedules = schedules
            .into_iter()
            .zip(laws)
            .map(|(stages, (chart, stretched))| AdaptiveSchedule {
                law: MeanLaw::new(&*manifold.inner, placement(chart), stretched),
                stages: stages.into_iter().map(of).collect(),
            })
            .collect();
        Ok(Self { inner: Box::new(AdaptiveMeans { schedules, records_per_unit }) })
    }
}

/// A moment of the logarithms; see [`Moment`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct LogMoment {
    inner: Moment,
}

#[pymethods]
impl LogMoment {
    /// The mean of rho^4.
    #[staticmethod]
    fn fourth() -> Self {
        Self { inner: Moment::Fourth }
    }

    /// Both at once: the mean of (a, c (a^2 - a)), a = (rho/R)^2.
    #[staticmethod]
    fn distances(c: f64) -> Self {
        Self { inner: Moment::Distances(c) }
    }

    /// The second moment of the logarithms.
    #[staticmethod]
    fn covariance() -> Self {
        Self { inner: Moment::Covariance }
    }

    /// Twice the mean deviation of the Hessian of half the squared distance from I.
    #[staticmethod]
    fn hessian() -> Self {
        Self { inner: Moment::Hessian }
    }

    /// Numbers that it consists of.
    fn size(&self, dim: usize) -> usize {
        self.inner.size(dim)
    }

    /// Sensitivity, bound on the rounding error, and bound on the norm, for n records of which a share is
    /// replaced.
    fn bounds(
        &self,
        manifold: &Manifold,
        n: usize,
        replaced: f64,
        max_dist: f64,
    ) -> (f64, f64, f64) {
        let Bounds { sensitivity, tolerance, magnitude } =
            self.inner.bounds(&*manifold.inner, n, replaced, max_dist);
        (sensitivity, tolerance, magnitude)
    }
}

fn budget_of((pure, amount): Share) -> Budget {
    if pure { Budget::Pure(amount) } else { Budget::Gaussian(amount) }
}

pub(crate) fn placement(chart: bool) -> Placement {
    if chart { Placement::Chart } else { Placement::Intrinsic }
}

impl Groups {
    fn ids(&self) -> Option<Ids<'_>> {
        self.ids.as_ref().map(|(bytes, offsets)| Ids { bytes, offsets })
    }

    /// The records, one row each.
    fn rows_of<'a>(&self, records: &'a Input<'_>) -> PyResult<Rows<'a>> {
        let size = self.frames[0].get().inner.manifold().point_size();
        let row_count = records.shape()[0];
        if self.offsets.last() != Some(&row_count) {
            return Err(PyValueError::new_err("records and groups do not match"));
        }
        if row_count == 1 {
            Ok(Rows::new(records.in_order()?, size))
        } else {
            rows(records, row_count, size)
        }
    }

    /// Calls `work` with the groups and their records, which it may count.
    fn with<T>(
        &self,
        records: &Input<'_>,
        tally: Option<&Tally>,
        work: impl FnOnce(&groups::Groups) -> T,
    ) -> PyResult<T> {
        let records = self.rows_of(records)?;
        let frames: Vec<_> = self.frames.iter().map(|frame| &frame.get().inner).collect();
        let designs: Vec<_> = self.designs.iter().map(|design| design.get().as_design()).collect();
        let groups = groups::Groups {
            records,
            offsets: &self.offsets,
            frames: &frames,
            designs: &designs,
            choice: &self.choice,
            ids: self.ids(),
            tally,
        };
        Ok(work(&groups))
    }
}

/// The solver's tolerance for a mean; see [`curvedp_core::law::solver_tolerance`].
#[pyfunction]
pub fn solver_tolerance(sensitivity: f64, budget: f64) -> f64 {
    curvedp_core::law::solver_tolerance(sensitivity, budget)
}

/// The step of the public grid for vectors; see [`release::flat_grid_step`].
#[pyfunction]
pub fn flat_grid_step(scale: f64, largest: f64, steps_per_scale: f64) -> f64 {
    release::flat_grid_step(scale, largest, steps_per_scale)
}

/// The hash of each name; see [`Ids::hashes`].
#[pyfunction]
pub fn hash_names(
    py: Python<'_>,
    bytes: PyReadonlyArray1<'_, u8>,
    name_offsets: PyReadonlyArray1<'_, i64>,
    mut out: PyReadwriteArray1<'_, u64>,
) -> PyResult<()> {
    let bytes = bytes.in_order()?;
    let offsets = offsets(&name_offsets, bytes.len(), "name offsets")?;
    let out = out.in_order_mut()?;
    if out.len() + 1 != offsets.len() {
        return Err(PyValueError::new_err("names and output do not match"));
    }
    run(py, |_| {
        Ids { bytes, offsets: &offsets }.hashes(out);
        Ok::<_, Error>(())
    })
}
