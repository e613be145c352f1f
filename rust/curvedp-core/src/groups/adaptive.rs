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
use crate::tally::Counted;

/// The adaptive mean of every group, stage by stage.
///
/// The value and what is said of it, then of all stages: of a mean the released point and the ball on which it
/// was taken, of a radius the point that distances were taken from and the released quantile. What a stage does
/// not have is NaN.
pub struct AdaptiveMeans {
    /// One for each design of a mean.
    pub schedules: Vec<AdaptiveSchedule>,
    /// Records of one unit.
    pub records_per_unit: f64,
}

/// The stages after the first mean.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveSchedule {
    /// The law of the means' noise.
    pub law: MeanLaw,
    /// A radius and the share of the budget for the mean on the ball that it gives.
    pub stages: Vec<(RadiusLaw, Budget)>,
}

/// How the radius of a ball about the last mean is found, all of it public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadiusLaw {
    /// Highest level of the quantile of distances.
    pub level: f64,
    /// Rise of the next mean's expected error with the radius, for small balls: on larger ones it is steeper, and
    /// the level is lower, see [`RadiusLaw::level_at`].
    pub slope: f64,
    /// Noise in ranks.
    pub scale: f64,
    /// The quantile is sought in this interval, log-uniformly.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// From a quantile to the radius.
    pub factor: f64,
    /// From this radius on the public ball is kept.
    pub top: f64,
}

/// Largest share of the records that the steepness of the noise alone leaves outside.
pub const MOST_OUTSIDE: f64 = 0.1;
/// Radius, over the public one, at which steepness is taken before a radius is known, and the largest one.
pub const EXPECTED_SHRINKAGE: (f64, f64) = (0.6, 0.95);
/// Expected move of the mean by the records outside the last ball, over their share times its radius: measured
/// (docs/adaptive-mean.md).
pub const BIAS: f64 = 0.1;

impl RadiusLaw {
    /// The level where the noise's scale rises so many times as fast as in flat space.
    fn level_at(&self, steepness: f64) -> f64 {
        self.level.min(1.0 - (self.slope * steepness).min(MOST_OUTSIDE))
    }
}

/// Numbers that are reported, beside points.
const NUMBERS: [&str; 6] =
    ["radius", "quantile", "sensitivity", "tolerance", "scale", "expected_error"];

impl Statistic for AdaptiveMeans {
    fn columns(&self, groups: &Groups) -> Vec<Column> {
        let (size, stages) = (groups.records.size(), self.most_stages());
        let own = NUMBERS.map(|name| Column::new(name, 1));
        let all = NUMBERS.map(|name| Column::new(&format!("stage_{name}"), stages));
        let points = ["stage_point", "stage_center"].map(|name| Column::new(name, stages * size));
        [Column::new("value", size)].into_iter().chain(own).chain(points).chain(all).collect()
    }

    fn stages(&self) -> u64 {
        self.most_stages() as u64
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let size = task.groups.records.size();
        let points = task.enter()?;
        let mut means = vec![0.0; task.range.len() * size];
        noisy_means(task, &points, &mut means, None)?;
        let rows = task.rows();
        let whole = out.len() / task.range.len();
        out.fill(f64::NAN);
        let numbers = task.designs().map(|(number, _)| number);
        for (i, (number, design)) in numbers.zip(task.means()).enumerate() {
            let ball = task.frame().ball();
            let mut stages = Stages {
                statistic: self,
                law: &self.schedules[number].law,
                task,
                group: i,
                points: points.part(rows[i].clone()),
                projected: None,
                smaller: None,
                reached: EXPECTED_SHRINKAGE.0 * ball.radius,
                row: &mut out[i * whole..(i + 1) * whole],
                noted: 0,
                mean: means[i * size..(i + 1) * size].to_vec(),
                on_public: Vec::new(),
            };
            stages.note_mean([
                ball.sensitivity(rows[i].len() as f64, self.records_per_unit),
                design.plan.tolerance,
                design.noise.profile().scale(),
                design.noise.expected_dist_within(design.grid.clip_radius + ball.radius),
            ]);
            let rest = &self.schedules[number].stages;
            for (k, (law, share)) in rest.iter().enumerate() {
                stages.shrink(2 * k as u64 + 1, law, *share)?;
                stages.mean(2 * k as u64 + 2, *share)?;
            }
            stages.conclude();
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

/// A ball that has shrunk.
struct Smaller {
    frame: Frame,
    /// The records projected on it, in its frame.
    points: Points,
    /// Of the mean on it.
    design: MeanDesign,
    /// Level of the quantile that gave its radius.
    level: f64,
}

/// One group between two stages.
struct Stages<'a, 'b> {
    statistic: &'a AdaptiveMeans,
    law: &'a MeanLaw,
    task: &'a Task<'b>,
    group: usize,
    /// The records projected on the public ball, in its frame.
    points: Points,
    /// The same on the manifold of the records, once they are needed.
    projected: Option<Vec<f64>>,
    /// The ball of the next mean, or of the last one; none if it is the public one.
    smaller: Option<Smaller>,
    /// The radius that was wished for last.
    reached: f64,
    row: &'a mut [f64],
    /// Stages that are written there.
    noted: usize,
    /// The last mean.
    mean: Vec<f64>,
    /// All means on the public ball, with their expected errors.
    on_public: Vec<(Vec<f64>, f64)>,
}

impl Stages<'_, '_> {
    /// The public ball's.
    fn frame(&self) -> &Frame {
        self.task.frame()
    }

    /// The frame of the last ball.
    fn last_frame(&self) -> &Frame {
        self.smaller.as_ref().map_or(self.frame(), |own| &own.frame)
    }

    /// Writes a stage: a point, the ball on which it was taken, and the other numbers.
    fn note(&mut self, point: &[f64], center: &[f64], numbers: [f64; NUMBERS.len()]) {
        let (size, stages, k) = (point.len(), self.statistic.most_stages(), self.noted);
        let (points, rest) = self.row[size + NUMBERS.len()..].split_at_mut(stages * size);
        let (centers, columns) = rest.split_at_mut(stages * size);
        points[k * size..(k + 1) * size].copy_from_slice(point);
        centers[k * size..(k + 1) * size].copy_from_slice(center);
        for (column, number) in columns.chunks_exact_mut(stages).zip(numbers) {
            column[k] = number;
        }
        self.noted += 1;
    }

    /// Writes the last mean: sensitivity, tolerance, scale and expected error, of the whole release too.
    fn note_mean(&mut self, [sensitivity, tolerance, scale, error]: [f64; 4]) {
        let frame = self.last_frame();
        let (center, radius) = (frame.center().to_vec(), frame.ball().radius);
        let numbers = [radius, f64::NAN, sensitivity, tolerance, scale, error];
        if self.smaller.is_none() {
            self.on_public.push((self.mean.clone(), error));
        }
        let mean = self.mean.clone();
        self.note(&mean, &center, numbers);
        let size = mean.len();
        self.row[..size].copy_from_slice(&mean);
        self.row[size..size + NUMBERS.len()].copy_from_slice(&numbers);
    }

    /// Releases a radius about the last mean and moves on to the ball that it gives, or back to the public one if
    /// it is large, too small or too far out for the next mean to be certified and rounded in double precision.
    fn shrink(&mut self, stage: u64, law: &RadiusLaw, share: Budget) -> Result<(), Error> {
        let mut center = vec![0.0; self.mean.len()];
        let dist = self.dist_to_mean(&mut center)?;
        let ball = self.frame().ball();
        let level = law.level_at(self.law.steepness(ball.manifold, self.reached));
        let RadiusLaw { scale, low, high, .. } = *law;
        let ranks = RankExponential { level, low, high, log_uniform: true, scale };
        let mut stream = self.task.streams.stream(self.group, stage);
        let quantile = ranks.sample(&ranks.intervals(&dist), &mut stream, self.task.effort());
        let (public, radius) = (self.frame().center().to_vec(), ball.radius);
        let nan = f64::NAN;
        self.note(&center, &public, [radius, quantile, nan, nan, nan, nan]);
        let wished = quantile * law.factor;
        self.reached = wished.min(EXPECTED_SHRINKAGE.1 * radius);
        self.smaller = None;
        // like every centre, this one is rounded onto the manifold
        let manifold = self.frame().manifold();
        if wished < law.top && manifold.carries(&center) && manifold.project(&mut center) {
            let frame = self.frame().with(&center, wished);
            let (n, moved) = (dist.len(), self.statistic.records_per_unit);
            if let Some(design) = self.law.design(&frame.ball(), n, moved, share) {
                let points = self.enter(&frame)?;
                self.smaller = Some(Smaller { frame, points, design, level });
            }
        }
        Ok(())
    }

    /// The records projected on the public ball and then on that of a frame.
    fn enter(&mut self, frame: &Frame) -> Result<Points, Error> {
        let (n, size) = (self.points.count(), self.mean.len());
        if self.projected.is_none() {
            let group = self.task.range.start + self.group;
            let records = self.task.groups.records(group..group + 1);
            let mut projected = vec![0.0; n * size];
            self.frame().project(records, &mut projected, self.task.interrupt)?;
            self.projected = Some(projected);
        }
        let projected = self.projected.as_deref().unwrap_or_default();
        frame.enter(Rows::new(projected, size), n, Counted::NOWHERE, self.task.interrupt)
    }

    /// Distances of the records on the public ball from the last mean, which is first kept in that ball: `center`.
    fn dist_to_mean(&self, center: &mut [f64]) -> Result<Vec<f64>, Error> {
        let (frame, ball) = (self.frame(), self.frame().ball());
        frame.project(Rows::shared(&self.mean), center, &|| false)?;
        let base = frame.enter_here(Rows::shared(center), 1, Counted::NOWHERE);
        let mut dist = vec![f64::NAN; self.points.count()];
        let (points, base) = (self.points.rows(), Rows::shared(base.row(0)));
        batch::dist(ball.manifold, points, base, &mut dist, self.task.interrupt)?;
        Ok(dist)
    }

    /// Releases the mean on the ball of this stage.
    fn mean(&mut self, stage: u64, share: Budget) -> Result<(), Error> {
        let (ball, public) = (self.last_frame().ball(), self.frame().ball());
        let n = self.points.count();
        let own;
        let (design, points) = match &self.smaller {
            Some(smaller) => (&smaller.design, &smaller.points),
            None => {
                let Some(found) =
                    self.law.design(&public, n, self.statistic.records_per_unit, share)
                else {
                    return Ok(());
                };
                own = found;
                (&own, &self.points)
            }
        };
        let (manifold, points) = (ball.manifold, points.rows());
        let sample = Sample { manifold, points, count: n, weights: None, anchor: None };
        let mean = in_ball(&sample, &ball, &design.plan, self.task.interrupt)?;
        let mut stream = self.task.streams.stream(self.group, stage);
        let draws = |_, draw: &mut dyn FnMut(&mut Stream)| draw(&mut stream);
        let (law, effort) = (|_| (&design.noise, design.grid), self.task.effort());
        let mut released = vec![0.0; self.mean.len()];
        let frame = self.last_frame();
        leave_noisy(frame, Rows::shared(&mean), law, draws, effort, &mut released, None);
        let numbers = [
            design.sensitivity,
            design.plan.tolerance,
            design.noise.profile().scale(),
            design.noise.expected_dist_within(design.grid.clip_radius + ball.radius),
        ];
        self.mean = released;
        self.note_mean(numbers);
        Ok(())
    }

    /// Writes the value and its expected error: all means on the public ball together if the last one is on it,
    /// the last mean otherwise.
    fn conclude(&mut self) {
        let at = self.mean.len() + NUMBERS.len() - 1;
        if let Some(smaller) = &self.smaller {
            let bias = BIAS * (1.0 - smaller.level) * smaller.frame.ball().radius;
            self.row[at] = f64::hypot(self.row[at], bias);
        } else if self.on_public.len() > 1 {
            let (value, error) = self.combined();
            self.row[..value.len()].copy_from_slice(&value);
            self.row[at] = error;
        }
    }

    /// The means on the public ball weighted by inverse squares of their errors, in the chart at its centre, and the
    /// error of that.
    fn combined(&self) -> (Vec<f64>, f64) {
        let (frame, ball) = (self.frame(), self.frame().ball());
        let least = self.on_public.iter().fold(f64::INFINITY, |least, own| least.min(own.1));
        let weights: Vec<f64> = self.on_public.iter().map(|own| (least / own.1).powi(2)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = vec![0.0; ball.manifold.dim()];
        let mut coords = sum.clone();
        for ((mean, _), weight) in self.on_public.iter().zip(&weights) {
            let point = frame.enter_here(Rows::shared(mean), 1, Counted::NOWHERE);
            ball.manifold.log_origin(point.rows(), &mut coords);
            sum.iter_mut().zip(&coords).for_each(|(sum, x)| *sum += weight / total * x);
        }
        let mut inner = frame.points(1);
        ball.manifold.exp_origin(Rows::shared(&sum), inner.entries_mut());
        let (mut value, mut kept) = (vec![0.0; self.mean.len()], vec![0.0; self.mean.len()]);
        frame.leave(inner.rows(), &mut value);
        frame.keep(Rows::shared(&value), &mut kept);
        (kept, least / total.sqrt())
    }
}
