//! Private statistics of many disjoint groups of records, each a release of its own.
//!
//! A group is treated as a data set of its own: its records are projected on its ball, the statistic is
//! computed, and noise from the group's own streams is added. Neither other groups nor the number of threads
//! have any influence.

mod adaptive;
mod means;
mod moments;
mod variance;
mod vectors;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use crate::ball::{Frame, Points};
use crate::error::Error;
use crate::exact::Effort;
use crate::law::{Budget, MeanLaw, STEPS_PER_SCALE};
use crate::mean::Plan;
use crate::noise::{
    Drawing, GroupId, GroupInput, GroupKeys, GroupStreams, IsotropicNoise, add_on_grid,
};
use crate::parallel::{Interrupt, Pace, attended, pass};
use crate::release::{Grid, Placement, flat_grid_step};
use crate::rows::Rows;
use crate::tally::{Counted, Tally};

pub use adaptive::{
    AdaptiveMeans, AdaptiveSchedule, BIAS, EXPECTED_SHRINKAGE, MOST_OUTSIDE, RadiusLaw,
};
pub use means::Means;
pub use moments::{BasePoints, Bounds, Moment, Moments};
pub use variance::{VarianceDesign, Variances, Within};
pub use vectors::add_to_vectors;

/// Entries of records in a task: enough work for a thread, few enough to stay in cache.
const TASK: usize = 1 << 13;

/// Groups in a task, whose maps of single points are computed together, as long as their records stay in
/// the next larger cache.
const TOGETHER: usize = 32;

/// Groups with more entries than this are spread over all threads, one group after the other.
const LARGE: usize = 1 << 18;

/// Everything about the release of a group that is fixed before a record is seen: a function of its ball,
/// the number of its records and public parameters.
#[derive(Clone, Copy)]
pub struct Design<'a> {
    /// The share min(1, k/n) of the records that one unit may replace.
    pub replaced: f64,
    /// The mean, if one is released.
    pub mean: Option<GroupMean<'a>>,
}

/// Accuracy, noise and grid of a group's mean.
#[derive(Clone, Copy)]
pub struct GroupMean<'a> {
    /// Accuracy of the mean.
    pub plan: Plan,
    /// The noise.
    pub noise: &'a IsotropicNoise,
    /// The place where it is drawn.
    pub placement: Placement,
    /// Mean square of its length.
    pub mean_square: f64,
    /// The grid.
    pub grid: Grid,
}

impl Design<'_> {
    /// How the noise of its mean is drawn.
    fn drawing(&self) -> Option<(Placement, Drawing)> {
        self.mean.map(|mean| (mean.placement, mean.noise.drawing()))
    }
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
    /// The number of its design; -1 for a group that is skipped.
    pub choice: &'a [i32],
    /// Names of the groups, one after the other; group g is named by its number if there are none.
    pub ids: Option<Ids<'a>>,
    /// Counts the records of all groups, those that are skipped too, if they are to be counted.
    pub tally: Option<&'a Tally>,
}

/// Byte strings, one after the other.
#[derive(Clone, Copy)]
pub struct Ids<'a> {
    /// The bytes of all.
    pub bytes: &'a [u8],
    /// String g takes the bytes `offsets[g]..offsets[g + 1]`.
    pub offsets: &'a [usize],
}

impl<'a> Ids<'a> {
    /// What names a group: its name, or its number if there are no names.
    #[must_use]
    pub fn id(ids: Option<Self>, group: usize) -> GroupId<'a> {
        ids.map_or(GroupId::Number(group as u64), |ids| GroupId::Name(ids.get(group)))
    }

    fn get(&self, i: usize) -> &'a [u8] {
        &self.bytes[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The leading 64 bits of the SHA-256 of each string, one entry of `out` for each.
    pub fn hashes(&self, out: &mut [u64]) {
        for (i, hash) in out.iter_mut().enumerate() {
            let digest: [u8; 32] = Sha256::digest(self.get(i)).into();
            *hash = u64::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"));
        }
    }
}

/// Everything that the noise of a group depends on.
#[must_use]
pub fn input<'a>(
    id: GroupId<'a>,
    frame: &'a Frame,
    design: Option<&Design>,
    records: Rows<'a>,
) -> GroupInput<'a> {
    GroupInput {
        id,
        center: frame.center(),
        radius: frame.ball().radius,
        scale: design
            .and_then(|own| own.mean)
            .map_or(f64::NAN, |mean| mean.noise.profile().scale()),
        records: records.data(),
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

    /// The records of groups with one ball, projected on it, moved into its frame and counted.
    fn enter(&self, groups: Range<usize>, interrupt: Interrupt) -> Result<Points, Error> {
        let (frame, records) = (self.frame(groups.start), self.records(groups.clone()));
        let counted = Counted::from(self.tally, self.offsets[groups.start]);
        let entries = self.entries(groups);
        let count = entries / records.size();
        if entries > LARGE {
            frame.enter(records, count, counted, interrupt)
        } else {
            Ok(frame.enter_here(records, count, counted))
        }
    }

    fn input(&self, group: usize) -> GroupInput<'_> {
        let id = Ids::id(self.ids, group);
        input(id, self.frame(group), self.design(group), self.records(group..group + 1))
    }

    /// The groups from `start` on that make the next task: at least one, all with the same ball and noise that is
    /// drawn in the same way.
    fn task(&self, start: usize) -> Range<usize> {
        let mut end = start + 1;
        let way = self.design(start).map(Design::drawing);
        while end < self.count()
            && self.frames.len() == 1
            && self.design(end).map(Design::drawing) == way
            && self.entries(start..end + 1) <= if end - start < TOGETHER { 4 * TASK } else { TASK }
            && end - start < TASK
        {
            end += 1;
        }
        start..end
    }
}

/// Neighbouring numbers of a group's release.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Their name.
    pub name: String,
    /// Number of entries.
    pub width: usize,
}

impl Column {
    fn new(name: &str, width: usize) -> Self {
        Self { name: name.to_owned(), width }
    }
}

/// A statistic that is released of each group.
pub trait Statistic: Sync {
    /// The numbers that a group's release consists of, in order.
    fn columns(&self, groups: &Groups) -> Vec<Column>;

    /// Streams that a group draws from.
    fn stages(&self) -> u64;

    /// True if it releases a mean, which each design then has.
    fn has_means(&self) -> bool {
        true
    }

    /// Releases the groups of a task, all of which have a design: one row of `out` each.
    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error>;
}

/// Releases a statistic of every group: one row of `out` each, NaN for groups without a design.
pub fn release(
    groups: &Groups,
    statistic: &dyn Statistic,
    keys: &GroupKeys,
    out: &mut [f64],
    report: Report,
) -> Result<(), Error> {
    let done = AtomicUsize::new(0);
    attended(&|| report(done.load(Ordering::Relaxed)), |interrupt| {
        release_here(groups, statistic, keys, out, &done, interrupt)
    })?;
    if report(groups.count()) { Err(Error::Interrupted) } else { Ok(()) }
}

/// As [`release`], on this thread and others; `done` counts the groups.
fn release_here(
    groups: &Groups,
    statistic: &dyn Statistic,
    keys: &GroupKeys,
    out: &mut [f64],
    done: &AtomicUsize,
    interrupt: Interrupt,
) -> Result<(), Error> {
    let width: usize = statistic.columns(groups).iter().map(|column| column.width).sum();
    let count = groups.count();
    let mut rest = out;
    let mut start = 0;
    let mut pace = Pace::start();
    let one = |range: Range<usize>, out: &mut [f64], interrupt: Interrupt| {
        if groups.design(range.start).is_none() {
            out.fill(f64::NAN);
            if groups.tally.is_some() && groups.entries(range.clone()) > 0 {
                groups.enter(range, interrupt)?;
            }
            return Ok(());
        }
        let streams = keys.streams(range.clone(), statistic.stages(), |group| groups.input(group));
        statistic.release(&Task { groups, range, streams, interrupt }, out)
    };
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
            let (part, after) = std::mem::take(&mut rest).split_at_mut(task.len() * width);
            rest = after;
            tasks.push((task, part));
        }
        // nothing asks for an end within a task: its errors are those of public parameters
        pass(tasks, |(task, out)| one(task, out, &|| false))
            .into_iter()
            .collect::<Result<(), _>>()?;
        if let Some(task) = large {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(width);
            rest = after;
            end = task.end;
            one(task, part, interrupt)?;
        }
        start = end;
        done.store(start, Ordering::Relaxed);
        if start < count && interrupt() {
            return Err(Error::Interrupted);
        }
        pace.adapt();
    }
    Ok(())
}

/// Consecutive groups with one ball, released together.
pub struct Task<'a> {
    groups: &'a Groups<'a>,
    range: Range<usize>,
    streams: GroupStreams,
    interrupt: Interrupt<'a>,
}

impl Task<'_> {
    fn frame(&self) -> &Frame {
        self.groups.frame(self.range.start)
    }

    /// How its noise is drawn: that of a single release in a time that says nothing about it.
    fn effort(&self) -> Effort {
        if self.groups.count() == 1 { Effort::Steady } else { Effort::Least }
    }

    /// Accuracy, noise and grid of its groups' means, in order; of a statistic that releases means.
    fn means(&self) -> impl Iterator<Item = GroupMean<'_>> {
        self.designs().filter_map(|(_, design)| design.mean)
    }

    /// The designs of its groups, in order.
    fn designs(&self) -> impl Iterator<Item = (usize, &Design<'_>)> {
        let number = |group: usize| usize::try_from(self.groups.choice[group]).unwrap_or(0);
        self.range.clone().map(move |g| (number(g), &self.groups.designs[number(g)]))
    }

    /// The rows of its records that belong to each group.
    fn rows(&self) -> Vec<Range<usize>> {
        let offsets = &self.groups.offsets[self.range.start..=self.range.end];
        offsets.windows(2).map(|own| own[0] - offsets[0]..own[1] - offsets[0]).collect()
    }

    /// Adds the noise of a stage of a group to a vector up to `largest` long and rounds to the grid.
    fn disturb(
        &self,
        group: usize,
        stage: u64,
        share: Budget,
        scale: f64,
        largest: f64,
        coords: &mut [f64],
    ) -> Result<(), Error> {
        let noise = share.profile(scale);
        noise.check()?;
        let mut stream = self.streams.stream(group, stage);
        let step = flat_grid_step(scale, largest, STEPS_PER_SCALE);
        add_on_grid(noise, coords, step, &mut stream, self.effort());
        Ok(())
    }

    /// Its records, projected on the ball, moved into its frame and counted: once for each task.
    fn enter(&self) -> Result<Points, Error> {
        self.groups.enter(self.range.clone(), self.interrupt)
    }
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
