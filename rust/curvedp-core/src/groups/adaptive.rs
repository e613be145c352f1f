//! Private adaptive means: a mean on the public ball, the radius of a smaller ball about it, a mean of the
//! records projected on that one, and so on (docs/proofs/adaptive-mean.md).

use super::mean_law::MeanDesign;
use super::means::leave_noisy;
use super::{Budget, Groups, MeanLaw, Means, Statistic, Task};
use crate::ball::Frame;
use crate::batch;
use crate::error::Error;
use crate::mean::{Sample, in_ball};
use crate::noise::RankExponential;
use crate::rows::Rows;

/// The adaptive mean of every group, stage by stage.
///
/// A row holds [`AdaptiveMeans::blocks`] blocks of numbers, one for each stage. A block holds a point, the
/// centre of the ball that the stage used, its radius, and four numbers: of a mean the released point, then
/// sensitivity, tolerance, scale and expected error; of a radius the point that distances were taken from,
/// then the released quantile. What is left is NaN.
pub struct AdaptiveMeans<'a> {
    /// The first mean.
    pub means: Means,
    /// The further means.
    pub law: MeanLaw,
    /// One for each design of a mean.
    pub schedules: &'a [AdaptiveSchedule],
    /// Records of one unit.
    pub records_per_unit: f64,
    /// Radii are sought from this fraction of the ball's radius on ...
    pub smallest_shrinkage: f64,
    /// ... and the released quantile of distances is multiplied by this.
    pub inflation: f64,
}

/// The stages after the first mean: a radius and a mean on the ball that it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveSchedule {
    /// Level of the quantile of distances, its noise in ranks, and the share of the budget for the mean.
    pub stages: Vec<(f64, f64, Budget)>,
}

/// Numbers of a block beside two points: the ball's radius and four more.
const NUMBERS: usize = 5;

impl Statistic for AdaptiveMeans<'_> {
    fn width(&self, groups: &Groups) -> usize {
        self.blocks() * Self::block(groups.records.size())
    }

    fn stages(&self) -> u64 {
        self.blocks() as u64
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let (frame, size) = (task.frame(), task.groups.records.size());
        let width = frame.ball().manifold.point_size();
        let points = task.enter()?;
        let mut means = vec![0.0; task.range.len() * size];
        self.means.around(task, &points, &mut means)?;
        let rows = task.rows();
        let whole = self.width(task.groups);
        out.fill(f64::NAN);
        for (i, (number, design)) in task.designs().enumerate() {
            let mut stages = Stages {
                statistic: self,
                task,
                group: i,
                frame: None,
                points: points[rows[i].start * width..rows[i].end * width].to_vec(),
                blocks: out[i * whole..(i + 1) * whole].chunks_exact_mut(Self::block(size)),
                mean: means[i * size..(i + 1) * size].to_vec(),
                design: None,
            };
            let sensitivity = self.law.plan(&frame.ball(), rows[i].len(), self.records_per_unit).0;
            stages.note(&[
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

impl AdaptiveMeans<'_> {
    /// Stages of the longest schedule.
    #[must_use]
    pub fn blocks(&self) -> usize {
        1 + 2 * self.schedules.iter().map(|own| own.stages.len()).max().unwrap_or(0)
    }

    /// Numbers of a block, for points of `size` entries.
    fn block(size: usize) -> usize {
        2 * size + NUMBERS
    }
}

/// One group between two stages.
struct Stages<'a, 'b, B> {
    statistic: &'a AdaptiveMeans<'a>,
    task: &'a Task<'b>,
    group: usize,
    /// The ball that has shrunk; none as long as it is the public one.
    frame: Option<Frame>,
    /// The records projected on it, in its frame.
    points: Vec<f64>,
    blocks: B,
    /// The last mean.
    mean: Vec<f64>,
    /// The design of the next one, if the ball has just shrunk.
    design: Option<MeanDesign>,
}

impl<'b, B: Iterator<Item = &'b mut [f64]>> Stages<'_, '_, B> {
    fn frame(&self) -> &Frame {
        self.frame.as_ref().unwrap_or_else(|| self.task.frame())
    }

    /// Writes a block: the last mean, the ball and numbers.
    fn note(&mut self, numbers: &[f64]) {
        let Some(block) = self.blocks.next() else { return };
        let (size, frame) = (self.mean.len(), self.frame());
        block[..size].copy_from_slice(&self.mean);
        block[size..2 * size].copy_from_slice(frame.center());
        block[2 * size] = frame.ball().radius;
        block[2 * size + 1..][..numbers.len()].copy_from_slice(numbers);
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
            low: self.statistic.smallest_shrinkage * radius,
            high: 2.0 * radius,
            log_uniform: true,
            scale,
        };
        let mut stream = self.task.streams.stream(self.group, stage);
        let quantile = law.sample(&law.intervals(&dist), &mut stream);
        self.mean.copy_from_slice(&center);
        self.note(&[quantile]);
        let wished = quantile * self.statistic.inflation;
        // like every centre, this one is rounded onto the manifold
        let manifold = self.frame().manifold();
        if wished >= radius || !manifold.carries(&center) || !manifold.project(&mut center) {
            return Ok(());
        }
        let smaller = self.frame().with(&center, wished);
        let (n, moved) = (dist.len(), self.statistic.records_per_unit);
        let (law, ball) = (&self.statistic.law, smaller.ball());
        if rest.iter().all(|later| law.is_fit(&ball, n, moved, later.2)) {
            self.design = law.design(&ball, n, moved, share);
        }
        if self.design.is_some() {
            let records = self.task.groups.records(self.number()..self.number() + 1);
            smaller.enter(records, &mut self.points, self.task.interrupt)?;
            self.frame = Some(smaller);
        }
        Ok(())
    }

    /// Distances of the projected records from the last mean, which is first kept in the ball: `center`.
    fn dist_to_mean(&self, center: &mut [f64]) -> Result<Vec<f64>, Error> {
        let (frame, ball) = (self.frame(), self.frame().ball());
        let width = ball.manifold.point_size();
        frame.project(Rows::new(&self.mean, center.len()), center, &|| false)?;
        let mut base = vec![0.0; width];
        frame.enter_piece(Rows::new(center, center.len()), &mut base);
        let mut dist = vec![f64::NAN; self.points.len() / width];
        let points = Rows::new(&self.points, width);
        let base = Rows::shared(&base);
        batch::dist(ball.manifold, points, base, &mut dist, self.task.interrupt)?;
        Ok(dist)
    }

    /// Releases the mean on the ball of this stage.
    fn mean(&mut self, stage: u64, share: Budget) -> Result<(), Error> {
        let (law, moved) = (&self.statistic.law, self.statistic.records_per_unit);
        let kept = self.design.take();
        let ball = self.frame().ball();
        let (width, radius) = (ball.manifold.point_size(), ball.radius);
        let (points, n) = (Rows::new(&self.points, width), self.points.len() / width);
        let design = kept.or_else(|| law.design(&ball, n, moved, share));
        let Some(design) = design else { return Ok(()) };
        let sample = Sample { manifold: ball.manifold, points, count: n, weights: None };
        let mean = in_ball(&sample, &ball, &design.plan, self.task.interrupt)?;
        let mut coords = vec![0.0; ball.manifold.dim()];
        design.noise.sample_coords(&mut self.task.streams.stream(self.group, stage), &mut coords);
        let mut released = vec![0.0; self.mean.len()];
        leave_noisy(
            self.frame(),
            law.placement,
            &mean,
            &mut coords,
            |_| design.grid,
            &mut released,
        );
        self.mean = released;
        self.note(&[
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
