//! Private Fréchet variances: the mean squared distance from the private mean p, with flat noise, less what
//! the noise of p adds on average (docs/proofs/frechet-variance.md).

use super::{Budget, Groups, Means, Statistic, Task};
use crate::error::Error;
use crate::manifold::HessianTrace;
use crate::moments::{dist_moments, summation_error};
use crate::release::{Placement, flat_grid_step, round};
use crate::rows::Rows;

/// Everything about the release of a group's variance, given its private mean, that is fixed before a
/// record is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceDesign {
    /// The share min(1, k/n) of the records that one unit may replace.
    pub share: f64,
    /// Mean squared distance of the noise of the mean from its centre, where it is drawn on the manifold;
    /// the variance of one coordinate, where it is drawn in the chart at the ball's centre.
    pub mean_noise: f64,
}

/// The variance of every group with the private mean p that it is taken about: the value, p, p moved to
/// the ball, the length R at which distances were clipped, and the scale of the noise.
pub struct Variances<'a> {
    /// The means.
    pub means: Means,
    /// One for each design of a mean.
    pub designs: &'a [VarianceDesign],
    /// The share of the budget for the mean squared distance.
    pub budget: Budget,
    /// Public length at which distances are clipped; infinite if nowhere short of what is possible from p.
    pub max_dist: f64,
    /// Steps from scale to grid: a power of two.
    pub steps_per_scale: f64,
    /// Mean Hessian of the squared distance.
    pub hessian: &'a HessianTrace,
}

/// Columns beside the two points.
const NUMBERS: usize = 3;

impl Statistic for Variances<'_> {
    fn width(&self, groups: &Groups) -> usize {
        2 * groups.records.size() + NUMBERS
    }

    fn stages(&self) -> u64 {
        2
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let (frame, size) = (task.frame(), task.groups.records.size());
        let ball = frame.ball();
        let width = ball.manifold.point_size();
        let points = task.enter()?;
        let private = self.means.private(task, &points)?;
        let points = Rows::new(&points, width);
        let rows = task.rows();
        for (i, (number, _)) in task.designs().enumerate() {
            let (base, own) = (&private.bases[i * width..(i + 1) * width], &self.designs[number]);
            let reach = frame.reach(private.to_center[i]).min(self.max_dist);
            let (points, n) = (points.range(rows[i].clone()), rows[i].len());
            let (square, _) = dist_moments(ball.manifold, points, n, base, reach, task.interrupt)?;
            let largest = reach * reach;
            let rounding = summation_error(n) * largest;
            let scale = self.budget.scale(largest * own.share + 2.0 * rounding);
            let noisy = square + self.budget.noise(scale, &mut task.streams.stream(i, 1));
            let noisy = round(noisy, flat_grid_step(scale, largest, self.steps_per_scale));
            let spread = match self.means.placement {
                Placement::Intrinsic => own.mean_noise,
                Placement::Chart => own.mean_noise * ball.chart_growth(base),
            };
            let row = &mut out[i * (2 * size + NUMBERS)..(i + 1) * (2 * size + NUMBERS)];
            row[0] = self.hessian.without_noise(noisy, spread, reach);
            row[1..=size].copy_from_slice(&private.means[i * size..(i + 1) * size]);
            row[size + 1..=2 * size].copy_from_slice(&private.kept[i * size..(i + 1) * size]);
            row[2 * size + 1..].copy_from_slice(&[reach, scale]);
        }
        Ok(())
    }
}
