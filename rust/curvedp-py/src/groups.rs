//! Private statistics of many groups.

use std::cell::RefCell;

use curvedp_core::error::Error;
use curvedp_core::groups::{
    self, AdaptiveMeans, AdaptiveSchedule, Budget, Design, Ids, MeanLaw, Means, Regions, Statistic,
    VarianceDesign, Variances,
};
use curvedp_core::manifold;
use curvedp_core::noise;
use curvedp_core::release::{self, Grid, Placement};
use curvedp_core::rows::Rows;
use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Input, Output, output, rows};
use crate::call::{run, to_python};
use crate::frame::Frame;
use crate::mean::Plan;
use crate::noise::Noise;

/// Plan, noise and grid of the groups with one ball and one number of records.
#[pyclass(frozen, module = "curvedp._core")]
pub struct GroupDesign {
    plan: Py<Plan>,
    noise: Py<Noise>,
    grid: Grid,
}

#[pymethods]
impl GroupDesign {
    #[new]
    fn new(plan: Py<Plan>, noise: Py<Noise>, step: f64, clip_radius: f64) -> Self {
        Self { plan, noise, grid: Grid { step, clip_radius } }
    }
}

impl GroupDesign {
    fn as_design(&self) -> Design<'_> {
        Design { plan: self.plan.get().inner, noise: &self.noise.get().inner, grid: self.grid }
    }
}

/// Where groups get their randomness; see [`noise::GroupKeys`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct GroupKeys {
    inner: noise::GroupKeys,
}

#[pymethods]
impl GroupKeys {
    /// Sub-streams of a fresh key from the operating system: for one call.
    #[staticmethod]
    fn fresh() -> PyResult<Self> {
        let key = noise::fresh_key().map_err(|error| to_python(error.into()))?;
        Ok(Self { inner: noise::GroupKeys::Numbered(key) })
    }

    /// Sub-streams of a given key.
    #[staticmethod]
    fn numbered(key: [u8; 32]) -> Self {
        Self { inner: noise::GroupKeys::Numbered(key) }
    }

    /// Keys derived from a secret, the parameters that all groups share, and the groups' input.
    #[staticmethod]
    fn derived(secret: [u8; 32], context: &[u8]) -> Self {
        let keys = noise::DerivedKeys::new(&secret, context);
        Self { inner: noise::GroupKeys::Derived(keys) }
    }
}

/// Nondecreasing offsets that begin at 0 and end at `total`.
fn offsets(array: &PyReadonlyArray1<'_, i64>, total: usize, name: &str) -> PyResult<Vec<usize>> {
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
    inner: manifold::HessianTrace,
}

#[pymethods]
impl HessianTrace {
    #[new]
    fn new(dim: usize, curvatures: Vec<(f64, f64)>, quadratic: f64) -> Self {
        Self { inner: manifold::HessianTrace { dim: dim as f64, curvatures, quadratic } }
    }

    /// The trace at a distance.
    fn at(&self, dist: f64) -> f64 {
        self.inner.at(dist)
    }

    /// A noisy mean squared distance from a noisy point, less what that point's noise adds.
    fn without_noise(&self, noisy: f64, spread: f64, max_dist: f64) -> f64 {
        self.inner.without_noise(noisy, spread, max_dist)
    }
}

/// How far two Hessians can be apart; see [`manifold::ExcessDiameter`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct ExcessDiameter {
    inner: manifold::ExcessDiameter,
}

#[pymethods]
impl ExcessDiameter {
    /// On a space where one curvature counts.
    #[staticmethod]
    fn constant(curvature: f64, factor: f64) -> Self {
        Self { inner: manifold::ExcessDiameter::Constant { curvature, factor } }
    }

    /// On shapes.
    #[staticmethod]
    fn complex(across: f64) -> Self {
        Self { inner: manifold::ExcessDiameter::Complex(across) }
    }

    /// For points within a distance.
    fn within(&self, dist: f64) -> f64 {
        self.inner.within(dist)
    }
}

/// Groups of consecutive records, with their balls, designs and names: what is public of them.
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
        let choice = choice.as_slice()?.to_vec();
        let outer = |frame: &Py<Frame>| frame.get().inner.manifold().point_size();
        let first = frames.first().ok_or_else(mismatch)?;
        let (size, dim) = (outer(first), first.get().inner.ball().manifold.dim());
        if choice.len() != count
            || (frames.len() != 1 && frames.len() != count)
            || frames.iter().any(|frame| outer(frame) != size)
            || designs.iter().any(|design| design.get().noise.get().inner.dim() != dim)
            || choice.iter().any(|&number| number >= designs.len() as i32)
            || (0..count).any(|g| choice[g] >= 0 && offsets[g] == offsets[g + 1])
        {
            return Err(mismatch());
        }
        let read = |(bytes, ends): (PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, i64>)| {
            let bytes = bytes.as_slice()?.to_vec();
            let ends = self::offsets(&ends, bytes.len(), "id offsets")?;
            if ends.len() == count + 1 { Ok((bytes, ends)) } else { Err(mismatch()) }
        };
        let ids = ids.map(read).transpose()?;
        Ok(Self { frames, offsets, designs, choice, ids })
    }

    /// Releases the mean of each group of records into a row of `out`. `progress` is called with the number
    /// of groups done.
    fn means(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        chart: bool,
        keys: &GroupKeys,
        progress: Option<Py<PyAny>>,
        out: Output<'_>,
    ) -> PyResult<()> {
        self.release(py, &records, &means(chart), keys, progress.as_ref(), out)
    }

    /// Releases the variance of each group; see [`Variances`] for the columns of `out`. `designs` holds the
    /// share of the records and the noise of the mean for each design.
    #[allow(clippy::too_many_arguments)] // one call for all groups, made in one place
    fn variances(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        chart: bool,
        designs: Vec<(f64, f64)>,
        budget: (bool, f64),
        max_dist: f64,
        steps_per_scale: f64,
        hessian: &HessianTrace,
        keys: &GroupKeys,
        progress: Option<Py<PyAny>>,
        out: Output<'_>,
    ) -> PyResult<()> {
        let designs: Vec<_> = designs
            .into_iter()
            .map(|(share, mean_noise)| VarianceDesign { share, mean_noise })
            .collect();
        if designs.len() != self.designs.len() {
            return Err(PyValueError::new_err("designs do not match"));
        }
        let (pure, amount) = budget;
        let statistic = Variances {
            means: means(chart),
            designs: &designs,
            budget: budget_of(pure, amount),
            max_dist,
            steps_per_scale,
            hessian: &hessian.inner,
        };
        self.release(py, &records, &statistic, keys, progress.as_ref(), out)
    }

    /// Releases the mean and the moments of each group that a confidence region is made of; see [`Regions`] for
    /// the columns of `out`. `moved` holds the share of the records for each design, `shares` what is left of
    /// mu for the second moment and, where it is not known, the Hessian.
    #[allow(clippy::too_many_arguments)] // one call for all groups, made in one place
    fn regions(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        chart: bool,
        moved: Vec<f64>,
        shares: (f64, Option<f64>),
        max_dist: f64,
        steps_per_scale: f64,
        diameter: Option<&ExcessDiameter>,
        keys: &GroupKeys,
        progress: Option<Py<PyAny>>,
        out: Output<'_>,
    ) -> PyResult<()> {
        if moved.len() != self.designs.len() {
            return Err(PyValueError::new_err("designs do not match"));
        }
        let statistic = Regions {
            means: means(chart),
            moved: &moved,
            second: Budget::Gaussian(shares.0),
            hessian: shares
                .1
                .zip(diameter)
                .map(|(mu, diameter)| (Budget::Gaussian(mu), diameter.inner)),
            max_dist,
            steps_per_scale,
        };
        self.release(py, &records, &statistic, keys, progress.as_ref(), out)
    }

    /// Releases the adaptive mean of each group; see [`AdaptiveMeans`] for the columns of `out`. `schedules`
    /// holds for each design the levels of quantiles, their noise in ranks and the means' shares.
    #[allow(clippy::too_many_arguments)] // one call for all groups, made in one place
    fn adaptive_means(
        &self,
        py: Python<'_>,
        records: Input<'_>,
        rule: &AdaptiveRule,
        schedules: Vec<Vec<(f64, f64, f64)>>,
        keys: &GroupKeys,
        progress: Option<Py<PyAny>>,
        out: Output<'_>,
    ) -> PyResult<()> {
        if schedules.len() != self.designs.len() {
            return Err(PyValueError::new_err("designs do not match"));
        }
        let of = |(level, scale, share)| (level, scale, budget_of(rule.pure, share));
        let schedules: Vec<_> = schedules
            .into_iter()
            .map(|stages| AdaptiveSchedule { stages: stages.into_iter().map(of).collect() })
            .collect();
        let statistic = AdaptiveMeans {
            means: Means { placement: rule.law.placement },
            law: rule.law,
            schedules: &schedules,
            records_per_unit: rule.records_per_unit,
            smallest_shrinkage: rule.smallest_shrinkage,
            inflation: rule.inflation,
        };
        self.release(py, &records, &statistic, keys, progress.as_ref(), out)
    }
}

/// How means follow from balls, for adaptive means; see [`groups::MeanLaw`].
#[pyclass(frozen, module = "curvedp._core")]
pub struct AdaptiveRule {
    law: MeanLaw,
    pure: bool,
    records_per_unit: f64,
    smallest_shrinkage: f64,
    inflation: f64,
}

#[pymethods]
impl AdaptiveRule {
    /// `space` is that of [`crate::noise::Noise`]; `pure` says whether shares of the budget are epsilon.
    #[new]
    #[allow(clippy::too_many_arguments)] // one call, made in one place
    fn new(
        chart: bool,
        space: (String, usize, f64),
        stretched: bool,
        tolerance_share: f64,
        clip_radius: f64,
        steps_per_scale: f64,
        pure: bool,
        records_per_unit: f64,
        smallest_shrinkage: f64,
        inflation: f64,
    ) -> PyResult<Self> {
        let (kind, size, parameter) = space;
        let law = MeanLaw {
            placement: placement(chart),
            space: crate::noise::space(&kind, size, parameter)?,
            stretched,
            tolerance_share,
            clip_radius,
            steps_per_scale,
        };
        Ok(Self { law, pure, records_per_unit, smallest_shrinkage, inflation })
    }
}

fn budget_of(pure: bool, amount: f64) -> Budget {
    if pure { Budget::Pure(amount) } else { Budget::Gaussian(amount) }
}

pub(crate) fn placement(chart: bool) -> Placement {
    if chart { Placement::Chart } else { Placement::Intrinsic }
}

fn means(chart: bool) -> Means {
    Means { placement: placement(chart) }
}

impl Groups {
    fn release(
        &self,
        py: Python<'_>,
        records: &Input<'_>,
        statistic: &impl Statistic,
        keys: &GroupKeys,
        progress: Option<&Py<PyAny>>,
        mut out: Output<'_>,
    ) -> PyResult<()> {
        let count = self.offsets.len() - 1;
        let frames: Vec<_> = self.frames.iter().map(|frame| &frame.get().inner).collect();
        let size = frames[0].manifold().point_size();
        let row_count = records.shape()[0];
        if row_count != self.offsets[count] {
            return Err(PyValueError::new_err("records and groups do not match"));
        }
        let records = if row_count == 1 {
            Rows::new(records.as_slice()?, size)
        } else {
            rows(records, row_count, size)?
        };
        let designs: Vec<_> = self.designs.iter().map(|design| design.get().as_design()).collect();
        let groups = groups::Groups {
            records,
            offsets: &self.offsets,
            frames: &frames,
            designs: &designs,
            choice: &self.choice,
            ids: self.ids.as_ref().map(|(bytes, offsets)| Ids { bytes, offsets }),
        };
        let (out, have) = output(&mut out, statistic.width(&groups))?;
        if have != count {
            return Err(PyValueError::new_err("groups and output do not match"));
        }
        run(py, |interrupt| {
            let raised = RefCell::new(None);
            let report = |done: usize| {
                let call = |progress: &Py<PyAny>| {
                    Python::attach(|py| progress.call1(py, (done,)).map(|_| ()))
                };
                let outcome = progress.map_or(Ok(()), call);
                outcome.map_err(|error| raised.replace(Some(error))).is_err() || interrupt()
            };
            let outcome = groups::release(&groups, statistic, &keys.inner, out, &report);
            match raised.into_inner() {
                Some(error) => Ok(Err(error)),
                None => outcome.map(Ok),
            }
        })?
    }
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
    let bytes = bytes.as_slice()?;
    let offsets = offsets(&name_offsets, bytes.len(), "name offsets")?;
    let out = out.as_slice_mut()?;
    if out.len() + 1 != offsets.len() {
        return Err(PyValueError::new_err("names and output do not match"));
    }
    run(py, |_| {
        Ids { bytes, offsets: &offsets }.hashes(out);
        Ok::<_, Error>(())
    })
}
