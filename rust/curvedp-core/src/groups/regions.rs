//! What private confidence regions are made of: the private mean p, and with Gaussian noise the second
//! moment of the clipped logarithms at p and their mean Hessian (docs/proofs/log-moments.md,
//! docs/proofs/confidence-region.md). All else about a region is computed from these releases.

use super::{Budget, Groups, Means, Statistic, Task};
use crate::error::Error;
use crate::manifold::ExcessDiameter;
use crate::moments::{hessian_error, log_moments, summation_error, vecd};
use crate::release::{flat_grid_step, round};
use crate::rows::Rows;

/// The moments of every group, with the private mean that they are taken about. A row of the result holds p,
/// p moved to the ball, the same in the frame of the ball, the length R at which logarithms were clipped,
/// the scales of the noise of both moments, and the moments' noisy coordinates (see [`vecd`]): of the second
/// moment, its trace part multiplied by sqrt(dim + 1); of 2 G, unless the Hessian is known.
pub struct Regions<'a> {
    /// The means.
    pub means: Means,
    /// The share min(1, k/n) of the records that one unit may replace, for each design of a mean.
    pub moved: &'a [f64],
    /// The share of the budget for the second moment.
    pub second: Budget,
    /// The share for the Hessian, and how far two of them can be apart; none where the Hessian is known.
    pub hessian: Option<(Budget, ExcessDiameter)>,
    /// Public length at which logarithms are clipped; infinite if nowhere short of what is possible from p.
    pub max_dist: f64,
    /// Steps from scale to grid: a power of two.
    pub steps_per_scale: f64,
}

/// R and two scales.
const NUMBERS: usize = 3;

impl Statistic for Regions<'_> {
    fn width(&self, groups: &Groups) -> usize {
        let manifold = groups.frames[0].ball().manifold;
        let size = manifold.dim() * (manifold.dim() + 1) / 2;
        let matrices = 1 + usize::from(self.hessian.is_some());
        2 * groups.records.size() + manifold.point_size() + NUMBERS + matrices * size
    }

    fn stages(&self) -> u64 {
        3
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let frame = task.frame();
        let ball = frame.ball();
        let (manifold, size) = (ball.manifold, task.groups.records.size());
        let (dim, width) = (manifold.dim(), manifold.point_size());
        let points = task.enter()?;
        let private = self.means.private(task, &points)?;
        let points = Rows::new(&points, width);
        let rows = task.rows();
        let curved = self.hessian.is_some();
        let whole = self.width(task.groups);
        for (i, (number, _)) in task.designs().enumerate() {
            let (base, moved) = (&private.bases[i * width..(i + 1) * width], self.moved[number]);
            let reach = frame.reach(private.to_center[i]).min(self.max_dist);
            let (points, n) = (points.range(rows[i].clone()), rows[i].len());
            let sums = log_moments(manifold, points, n, base, reach, curved, task.interrupt)?;
            let square = reach * reach;
            let stretch = (dim as f64 + 1.0).sqrt();
            let rounding = summation_error(n) * (stretch * square);
            let scale =
                self.second.scale(std::f64::consts::SQRT_2 * square * moved + 2.0 * rounding);
            let row = &mut out[i * whole..(i + 1) * whole];
            let (point, row) = row.split_at_mut(size);
            point.copy_from_slice(&private.means[i * size..(i + 1) * size]);
            let (kept, row) = row.split_at_mut(size);
            kept.copy_from_slice(&private.kept[i * size..(i + 1) * size]);
            let (inner, row) = row.split_at_mut(width);
            inner.copy_from_slice(base);
            let (numbers, row) = row.split_at_mut(NUMBERS);
            let (second, excess) = row.split_at_mut(dim * (dim + 1) / 2);
            vecd(&sums.second, dim, stretch, second);
            self.disturb(self.second, scale, stretch * square, task, (i, 1), second);
            numbers.copy_from_slice(&[reach, scale, f64::NAN]);
            if let (Some((share, diameter)), Some(mut matrix)) = (self.hessian, sums.excess) {
                matrix.iter_mut().for_each(|x| *x *= 2.0);
                vecd(&matrix, dim, 1.0, excess);
                let bound = 2.0 * diameter.within(reach);
                let rounding = hessian_error(manifold, n) * bound;
                numbers[2] = share.scale(bound * moved + 2.0 * rounding);
                self.disturb(share, numbers[2], bound, task, (i, 2), excess);
            }
        }
        Ok(())
    }
}

impl Regions<'_> {
    /// Adds the noise of a stage of a group to a vector up to `largest` long and rounds to the grid.
    fn disturb(
        &self,
        share: Budget,
        scale: f64,
        largest: f64,
        task: &Task,
        (group, stage): (usize, u64),
        coords: &mut [f64],
    ) {
        let mut stream = task.streams.stream(group, stage);
        let step = flat_grid_step(scale, largest, self.steps_per_scale);
        for x in coords {
            *x = round(*x + share.noise(scale, &mut stream), step) + 0.0; // never -0
        }
    }
}
