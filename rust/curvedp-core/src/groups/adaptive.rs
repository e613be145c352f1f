//! Private adaptive means: a mean on the public ball, the radius of a smaller ball about it, a mean of the
//! records projected on that one, and so on (docs/proofs/adaptive-mean.md).

use super::means::{leave_noisy, noisy_means};
use super::{Budget, Column, Groups, MeanLaw, Statistic, Task};
use crate::ball::{Frame, Points};
use crate::batch;
use crate::error::Error;
use crate::law::MeanDesign;
use crate::mean::{Sample, in_ball};
use crate::noise::{RankExponential, Stream};
use crate::rows::Rows;

/// The adaptive mean of every group, stage by stage.
///
/// The last mean and the ball on which it was taken, then the same of all stages: of a mean the released
/// point, of a radius the point that distances were taken from and the released quantile. What a stage does
/// not have is NaN.
pub struct AdaptiveMeans {
    /// One for each design of a mean.
    pub schedules: Vec<AdaptiveSchedule>,
    /// Records of one unit.
    pub records_per_unit: f64,
}

/// Radii are sought from this fraction of the ball's radius on.
pub const SMALLEST_SHRINKAGE: f64 = 1e-3;

/// The factor from a released quantile of distances to the radius of the next ball.
#[must_use]
pub fn inflation(dim: usize) -> f64 {
    1.0 + 0.4 / (dim as f64).sqrt()
}

/// The stages after the first mean: a radius and a mean on the ball that it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveSchedule {
    /// The law of the means' noise.
    pub law: MeanLaw,
    /// Level of the quantile of distances, its noise in ranks, and the share of the budget for the mean.
    pub stages: Vec<(f64, f64, Budget)>,
}

/// Numbers that are reported of a stage, beside two points.
const NUMBERS: [&str; 6] =
    ["radius", "quantile", "sensitivity", "tolerance", "scale", "expected_error"];

impl Statistic for AdaptiveMeans {
    fn columns(&self, groups: &Groups) -> Vec<Column> {
        let (size, stages) = (groups.records.size(), self.most_stages());
        let own = NUMBERS.map(|name| Column::new(name, 1));
        let all = NUMBERS.map(|name| Column::new(&format!("stage_{name}"), stages));
        let points = ["stage_point", "stage_center"].map(|name| Column::new(name, stages * size));
        let value = [Column::new("value", size), Column::new("center", size)];
        value.into_iter().chain(own).chain(points).chain(all).collect()
    }

    fn stages(&self) -> u64 {
        self.most_stages() as u64
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let (frame, size) = (task.frame(), task.groups.records.size());
        let points = task.enter()?;
        let mut means = vec![0.0; task.range.len() * size];
        noisy_means(task, &points, &mut means, None)?;
        let rows = task.rows();
        let whole = out.len() / task.range.len();
        out.fill(f64::NAN);
        let numbers = task.designs().map(|(number, _)| number);
        for (i, (number, design)) in numbers.zip(task.means()).enumerate() {
            let mut stages = Stages {
                statistic: self,
                law: &self.schedules[number].law,
                task,
                group: i,
                frame: None,
                points: points.part(rows[i].clone()),
                row: &mut out[i * whole..(i + 1) * whole],
                noted: 0,
                mean: means[i * size..(i + 1) * size].to_vec(),
                design: None,
            };
            let (ball, n) = (frame.ball(), rows[i].len());
            let sensitivity = ball.sensitivity(n as f64, self.records_per_unit);
            stages.note(&[
                f64::NAN,
                sensitivity,
                design.plan.tolerance,
                design.noise.profile().scale(),
                design.noise.expected_dist_within(design.grid.clip_radius + frame.ball().radius),
            ]);
            let rest = &self.schedules[number].stages;
            for (k, stage) in rest.iter().enumerate() {
                stages.shrink(2 * k as u64 + 1, &rest[k..])?;
                stages.mean(2 * k as u64 + 2, stage.2)?;
            }
        }
        Ok(())
    }
}

impl AdaptiveMeans {
    /// Stages of the longest schedule.
    fn most_stages(&self) -> usize {
        1 + 2 * self.schedules.iter().map(|own| own.stages.len()).max().unwrap_or(0)
    }
}

/// One group between two stages.
struct Stages<'a, 'b> {
    statistic: &'a AdaptiveMeans,
    law: &'a MeanLaw,
    task: &'a Task<'b>,
    group: usize,
    /// The ball that has shrunk; none as long as it is the public one.
    frame: Option<Frame>,
    /// The records projected on it, in its frame.
    points: Points,
    row: &'a mut [f64],
    /// Stages that are written there.
    noted: usize,
    /// The last mean.
    mean: Vec<f64>,
    /// The design of the next one, if the ball has just shrunk.
    design: Option<MeanDesign>,
}

impl Stages<'_, '_> {
    fn frame(&self) -> &Frame {
        self.frame.as_ref().unwrap_or_else(|| self.task.frame())
    }

    /// Writes a stage: the last mean, the ball, and the other numbers, as far as there are any.
    fn note(&mut self, numbers: &[f64]) {
        let (size, stages, k) = (self.mean.len(), self.statistic.most_stages(), self.noted);
        let mut told = [f64::NAN; NUMBERS.len()];
        told[0] = self.frame().ball().radius;
        told[1..=numbers.len()].copy_from_slice(numbers);
        let center = self.frame().center().to_vec();
        let (own, all) = self.row.split_at_mut(2 * size + NUMBERS.len());
        own[..size].copy_from_slice(&self.mean);
        own[size..2 * size].copy_from_slice(&center);
        own[2 * size..].copy_from_slice(&told);
        let (points, rest) = all.split_at_mut(stages * size);
        let (centers, numbers) = rest.split_at_mut(stages * size);
        points[k * size..(k + 1) * size].copy_from_slice(&self.mean);
        centers[k * size..(k + 1) * size].copy_from_slice(&center);
        for (column, number) in numbers.chunks_exact_mut(stages).zip(told) {
            column[k] = number;
        }
        self.noted += 1;
    }

    /// Releases a radius about the last mean and moves on to the ball that it gives, unless that is no
    /// smaller, or too small or too far out for the remaining means to be certified and rounded in double
    /// precision; `rest` are this stage and those after it.
    fn shrink(&mut self, stage: u64, rest: &[(f64, f64, Budget)]) -> Result<(), Error> {
        let (level, scale, share) = rest[0];
        let mut center = vec![0.0; self.mean.len()];
        let dist = self.dist_to_mean(&mut center)?;
        let radius = self.frame().ball().radius;
        let law = RankExponential {
            level,
            low: SMALLEST_SHRINKAGE * radius,
            high: 2.0 * radius,
            log_uniform: true,
            scale,
        };
        let mut stream = self.task.streams.stream(self.group, stage);
        let quantile = law.sample(&law.intervals(&dist), &mut stream, self.task.effort());
        self.mean.copy_from_slice(&center);
        self.note(&[quantile]);
        let wished = quantile * inflation(self.frame().ball().manifold.dim());
        // like every centre, this one is rounded onto the manifold
        let manifold = self.frame().manifold();
        if wished >= radius || !manifold.carries(&center) || !manifold.project(&mut center) {
            return Ok(());
        }
        let smaller = self.frame().with(&center, wished);
        let (n, moved) = (dist.len(), self.statistic.records_per_unit);
        let (law, ball) = (self.law, smaller.ball());
        if rest.iter().all(|later| law.is_fit(&ball, n, moved, later.2)) {
            self.design = law.design(&ball, n, moved, share);
        }
        if self.design.is_some() {
            let records = self.task.groups.records(self.number()..self.number() + 1);
            self.points = smaller.enter(records, n, self.task.interrupt)?;
            self.frame = Some(smaller);
        }
        Ok(())
    }

    /// Distances of the projected records from the last mean, which is first kept in the ball: `center`.
    fn dist_to_mean(&self, center: &mut [f64]) -> Result<Vec<f64>, Error> {
        let (frame, ball) = (self.frame(), self.frame().ball());
        frame.project(Rows::shared(&self.mean), center, &|| false)?;
        let base = frame.enter_here(Rows::shared(center), 1);
        let mut dist = vec![f64::NAN; self.points.count()];
        let (points, base) = (self.points.rows(), Rows::shared(base.row(0)));
        batch::dist(ball.manifold, points, base, &mut dist, self.task.interrupt)?;
        Ok(dist)
    }

    /// Releases the mean on the ball of this stage.
    fn mean(&mut self, stage: u64, share: Budget) -> Result<(), Error> {
        let (law, moved) = (self.law, self.statistic.records_per_unit);
        let kept = self.design.take();
        let ball = self.frame().ball();
        let (points, n, radius) = (self.points.rows(), self.points.count(), ball.radius);
        let design = kept.or_else(|| law.design(&ball, n, moved, share));
        let Some(design) = design else { return Ok(()) };
        let sample =
            Sample { manifold: ball.manifold, points, count: n, weights: None, anchor: None };
        let mean = in_ball(&sample, &ball, &design.plan, self.task.interrupt)?;
        let mut stream = self.task.streams.stream(self.group, stage);
        let draws = |_, draw: &mut dyn FnMut(&mut Stream)| draw(&mut stream);
        let (own, effort) = (|_| (&design.noise, design.grid), self.task.effort());
        let mut released = vec![0.0; self.mean.len()];
        leave_noisy(self.frame(), Rows::shared(&mean), own, draws, effort, &mut released, None);
        self.mean = released;
        self.note(&[
            f64::NAN,
            design.sensitivity,
            design.plan.tolerance,
            design.noise.profile().scale(),
            design.noise.expected_dist_within(design.grid.clip_radius + radius),
        ]);
        Ok(())
    }

    fn number(&self) -> usize {
        self.task.range.start + self.group
    }
}
