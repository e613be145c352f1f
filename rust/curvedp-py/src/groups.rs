//! Private means of many groups.

use std::cell::RefCell;

use curvedp_core::error::Error;
use curvedp_core::groups::{self, Design, Groups, Ids};
use curvedp_core::noise;
use curvedp_core::release::{self, Grid, Placement};
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
        Ok(Self { inner: noise::GroupKeys::Numbered { key, first: 0 } })
    }

    /// Sub-streams of a given key.
    #[staticmethod]
    fn numbered(key: [u8; 32]) -> Self {
        Self { inner: noise::GroupKeys::Numbered { key, first: 0 } }
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

/// Releases the mean of each group of records into `out`; `choice` is the number of the group's design, or
/// -1. `progress` is called with the number of groups done.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // one call for all groups, made in one place
#[pyo3(signature = (frames, records, row_offsets, designs, choice, chart, keys, ids, progress, out))]
pub fn group_means(
    py: Python<'_>,
    frames: Vec<Py<Frame>>,
    records: Input<'_>,
    row_offsets: PyReadonlyArray1<'_, i64>,
    designs: Vec<Py<GroupDesign>>,
    choice: PyReadonlyArray1<'_, i32>,
    chart: bool,
    keys: &GroupKeys,
    ids: Option<(PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, i64>)>,
    progress: Option<Py<PyAny>>,
    mut out: Output<'_>,
) -> PyResult<()> {
    let mismatch = || PyValueError::new_err("frames, designs, groups and output do not match");
    let frames: Vec<_> = frames.iter().map(|frame| &frame.get().inner).collect();
    let size = frames.first().ok_or_else(mismatch)?.outer().manifold.point_size();
    let dim = frames[0].ball().manifold.dim();
    let row_count = records.shape()[0];
    let row_offsets = offsets(&row_offsets, row_count, "offsets")?;
    let count = row_offsets.len() - 1;
    let designs: Vec<_> = designs
        .iter()
        .map(|design| {
            let GroupDesign { plan, noise, grid } = design.get();
            Design { plan: plan.get().inner, noise: &noise.get().inner, grid: *grid }
        })
        .collect();
    let choice = choice.as_slice()?;
    let (out, have) = output(&mut out, size)?;
    let empty = |g: &usize| choice[*g] >= 0 && row_offsets[*g] == row_offsets[g + 1];
    if have != count
        || choice.len() != count
        || (frames.len() != 1 && frames.len() != count)
        || frames.iter().any(|frame| frame.outer().manifold.point_size() != size)
        || designs.iter().any(|design| design.noise.dim() != dim)
        || choice.iter().any(|&number| number >= designs.len() as i32)
        || (0..count).any(|g| empty(&g))
    {
        return Err(mismatch());
    }
    let names = ids
        .as_ref()
        .map(|(bytes, ends)| {
            let bytes = bytes.as_slice()?;
            Ok::<_, PyErr>((bytes, offsets(ends, bytes.len(), "id offsets")?))
        })
        .transpose()?;
    let ids = names.as_ref().map(|(bytes, offsets)| Ids { bytes, offsets });
    if ids.is_some_and(|ids| ids.offsets.len() != count + 1) {
        return Err(mismatch());
    }
    let records = if row_count == 1 {
        curvedp_core::rows::Rows::new(records.as_slice()?, size)
    } else {
        rows(&records, row_count, size)?
    };
    let placement = if chart { Placement::Chart } else { Placement::Intrinsic };
    let groups =
        Groups { records, offsets: &row_offsets, frames: &frames, designs: &designs, choice, ids };
    run(py, |interrupt| {
        let raised = RefCell::new(None);
        let report = |done: usize| {
            let call =
                |progress: &Py<PyAny>| Python::attach(|py| progress.call1(py, (done,)).map(|_| ()));
            let outcome = progress.as_ref().map_or(Ok(()), call);
            outcome.map_err(|error| raised.replace(Some(error))).is_err() || interrupt()
        };
        let outcome = groups::frechet_means(&groups, placement, &keys.inner, out, &report);
        match raised.into_inner() {
            Some(error) => Ok(Err(error)),
            None => outcome.map(Ok),
        }
    })?
}

/// Shortens rows of coordinates to length `limit`, in place; see [`release::clip_coords`].
#[pyfunction]
pub fn clip_coords(py: Python<'_>, mut coords: Output<'_>, limit: f64) -> PyResult<()> {
    let dim = coords.shape()[1];
    let (coords, _) = output(&mut coords, dim)?;
    run(py, |_| {
        if dim > 0 {
            release::clip_coords(coords, dim, limit);
        }
        Ok::<_, Error>(())
    })
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
