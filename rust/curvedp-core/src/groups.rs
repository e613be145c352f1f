//! Private Fréchet means of many disjoint groups of records, each a release of its own.
//!
//! What happens to a group is what happens to a data set alone: its records are projected on its ball,
//! their mean is found within the tolerance of its plan, noise from its own stream is placed around the
//! mean, and the point is rounded to its grid. Neither other groups nor the number of threads have any
//! influence.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::ball::Frame;
use crate::error::Error;
use crate::mean::{Plan, in_ball_each};
use crate::noise::{GroupInput, GroupKeys, IsotropicNoise};
use crate::parallel::{Pace, pass};
use crate::release::{Grid, Placement};
use crate::rows::Rows;

/// Entries of records in a task: enough work for a thread, few enough to stay in cache.
const TASK: usize = 1 << 15;

/// Groups with more entries than this are spread over all threads, one group after the other.
const LARGE: usize = 1 << 18;

/// Everything about a group's release that is fixed before a record is seen: a function of its ball, the
/// number of its records and public parameters.
#[derive(Clone, Copy)]
pub struct Design<'a> {
    /// Accuracy of the mean.
    pub plan: Plan,
    /// The noise.
    pub noise: &'a IsotropicNoise,
    /// The grid.
    pub grid: Grid,
}

/// Groups of consecutive records.
#[derive(Clone, Copy)]
pub struct Groups<'a> {
    /// All records.
    pub records: Rows<'a>,
    /// Group g holds the records `offsets[g]..offsets[g + 1]`.
    pub offsets: &'a [usize],
    /// Its ball, or one for all groups.
    pub frames: &'a [&'a Frame],
    /// The designs in use.
    pub designs: &'a [Design<'a>],
    /// The number of its design; -1 for a group that is passed over.
    pub choice: &'a [i32],
    /// Names of the groups, one after the other; group g is named by its number if there are none.
    pub ids: Option<Ids<'a>>,
}

/// Byte strings, one after the other.
#[derive(Clone, Copy)]
pub struct Ids<'a> {
    /// The bytes of all.
    pub bytes: &'a [u8],
    /// String g takes the bytes `offsets[g]..offsets[g + 1]`.
    pub offsets: &'a [usize],
}

impl Ids<'_> {
    /// The leading 64 bits of the SHA-256 of each string, one entry of `out` for each.
    pub fn hashes(&self, out: &mut [u64]) {
        for (hash, range) in out.iter_mut().zip(self.offsets.windows(2)) {
            let digest: [u8; 32] = Sha256::digest(&self.bytes[range[0]..range[1]]).into();
            *hash = u64::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"));
        }
    }
}

/// Reads how many groups are done; true ends the work with [`Error::Interrupted`].
pub type Report<'a> = &'a dyn Fn(usize) -> bool;

impl Groups<'_> {
    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    fn frame(&self, group: usize) -> &Frame {
        self.frames[if self.frames.len() == 1 { 0 } else { group }]
    }

    fn design(&self, group: usize) -> Option<&Design<'_>> {
        usize::try_from(self.choice[group]).ok().map(|number| &self.designs[number])
    }

    fn records(&self, groups: Range<usize>) -> Rows<'_> {
        self.records.range(self.offsets[groups.start]..self.offsets[groups.end])
    }

    fn entries(&self, groups: Range<usize>) -> usize {
        (self.offsets[groups.end] - self.offsets[groups.start]) * self.records.size()
    }

    /// The groups from `start` on that make the next task: at least one, all with the same ball.
    fn task(&self, start: usize) -> Range<usize> {
        let mut end = start + 1;
        let left_out = self.design(start).is_none();
        while end < self.count()
            && self.frames.len() == 1
            && self.design(end).is_none() == left_out
            && self.entries(start..end + 1) <= TASK
            && end - start < TASK
        {
            end += 1;
        }
        start..end
    }
}

/// Releases the mean of every group: one row of `out` each, NaN for groups without a design.
pub fn frechet_means(
    groups: &Groups,
    placement: Placement,
    keys: &GroupKeys,
    out: &mut [f64],
    report: Report,
) -> Result<(), Error> {
    let (size, count) = (groups.records.size(), groups.count());
    let mut rest = out;
    let mut start = 0;
    let mut pace = Pace::new();
    while start < count {
        let mut tasks = Vec::new();
        let mut large = None;
        let mut end = start;
        while end < count && tasks.len() < pace.pieces() {
            let task = groups.task(end);
            if groups.entries(task.clone()) > LARGE {
                large = Some(task);
                break;
            }
            end = task.end;
            let (part, after) = std::mem::take(&mut rest).split_at_mut(task.len() * size);
            rest = after;
            tasks.push((task, part));
        }
        pass(tasks, |(task, out)| {
            // not a record's doing: nothing asks for an end within a task
            let _ = release(groups, task, placement, keys, out, &|| false);
        });
        if let Some(task) = large {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(size);
            rest = after;
            end = task.end;
            release(groups, task, placement, keys, part, &|| report(start))?;
        }
        start = end;
        if report(start) && start < count {
            return Err(Error::Interrupted);
        }
        pace.adapt();
    }
    Ok(())
}

/// Releases the means of a task's groups.
fn release(
    groups: &Groups,
    task: Range<usize>,
    placement: Placement,
    keys: &GroupKeys,
    out: &mut [f64],
    interrupt: &dyn Fn() -> bool,
) -> Result<(), Error> {
    if groups.design(task.start).is_none() {
        out.fill(f64::NAN);
        return Ok(());
    }
    let frame = groups.frame(task.start);
    let (ball, size) = (frame.ball(), groups.records.size());
    let (width, dim) = (ball.manifold.point_size(), ball.manifold.dim());
    let first = groups.offsets[task.start];
    let mut points = vec![0.0; groups.entries(task.clone()) / size * width];
    if groups.entries(task.clone()) > LARGE {
        frame.enter(groups.records(task.clone()), &mut points, interrupt)?;
    } else {
        frame.enter_piece(groups.records(task.clone()), &mut points);
    }
    let own = |group: usize| groups.offsets[group] - first..groups.offsets[group + 1] - first;
    let ranges: Vec<_> = task.clone().map(own).collect();
    let plans: Vec<_> = task.clone().filter_map(|g| Some(&groups.design(g)?.plan)).collect();
    let mut means = vec![0.0; task.len() * width];
    in_ball_each(&ball, Rows::new(&points, width), &ranges, &plans, &mut means, interrupt)?;
    let mut coords = vec![0.0; task.len() * dim];
    for (group, noise) in task.clone().zip(coords.chunks_exact_mut(dim)) {
        if let Some(design) = groups.design(group) {
            let mut stream = stream(groups, keys, group, design);
            design.noise.sample_coords(&mut stream, noise);
        }
    }
    let grids = |i: usize| {
        let design = groups.design(task.start + i);
        design.map_or(Grid { step: 1.0, clip_radius: 0.0 }, |design| design.grid)
    };
    let mut drawn = vec![0.0; means.len()];
    ball.place(placement, &means, &mut coords, grids, &mut drawn);
    ball.round_to_grid(&mut drawn, grids);
    frame.leave(Rows::new(&drawn, width), out);
    Ok(())
}

/// The randomness of one group.
fn stream(
    groups: &Groups,
    keys: &GroupKeys,
    group: usize,
    design: &Design,
) -> crate::noise::Stream {
    let outer = groups.frame(group).outer();
    let number = (group as u64).to_le_bytes();
    let id = groups
        .ids
        .map_or(&number[..], |ids| &ids.bytes[ids.offsets[group]..ids.offsets[group + 1]]);
    keys.stream(
        group,
        &GroupInput {
            id,
            center: outer.center,
            radius: outer.radius,
            scale: design.noise.profile().scale(),
            records: groups.records(group..group + 1).data(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_leading_bits_of_sha_256() {
        let mut out = [0; 2];
        Ids { bytes: b"abc", offsets: &[0, 0, 3] }.hashes(&mut out);
        assert_eq!(out, [0xe3b0_c442_98fc_1c14, 0xba78_16bf_8f01_cfea]); // FIPS 180-4 examples
    }
}
