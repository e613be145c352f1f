//! Private Fréchet variances: the mean squared distance from the private mean p, with flat noise, less what
//! the noise of p adds on average (docs/proofs/frechet-variance.md).

use super::{Groups, Means, Statistic, Task};
use crate::error::Error;
use crate::manifold::HessianTrace;
use crate::moments::{dist_moments, summation_error};
use crate::noise::{IsotropicNoise, Profile, Radial, Space, Stream};
use crate::release::{Placement, round};
use crate::rows::Rows;

/// What the noise of the mean squared distance is calibrated to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// epsilon-DP: Laplace noise of scale Delta/epsilon.
    Pure(f64),
    /// mu-GDP: Gaussian noise of scale Delta/mu.
    Gaussian(f64),
}

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
        let (width, count) = (ball.manifold.point_size(), task.range.len());
        let points = task.enter()?;
        let mut means = vec![0.0; count * size];
        self.means.around(task, &points, &mut means)?;
        let mut bases = vec![0.0; count * width];
        frame.enter_piece(Rows::new(&means, size), &mut bases);
        let mut kept = vec![0.0; count * size];
        frame.leave(Rows::new(&bases, width), &mut kept);
        let mut to_center = vec![f64::NAN; count];
        ball.manifold.dist(Rows::shared(ball.center), Rows::new(&bases, width), &mut to_center);
        let points = Rows::new(&points, width);
        let rows = task.rows();
        for (i, (number, _)) in task.designs().enumerate() {
            let (base, own) = (&bases[i * width..(i + 1) * width], &self.designs[number]);
            let reach = frame.reach(to_center[i]).min(self.max_dist);
            let (points, n) = (points.range(rows[i].clone()), rows[i].len());
            let (square, _) = dist_moments(ball.manifold, points, n, base, reach, task.interrupt)?;
            let largest = reach * reach;
            let rounding = summation_error(n) * largest;
            let scale = self.budget.scale(largest * own.share + 2.0 * rounding);
            let noisy = square + self.budget.noise(scale, &mut task.stream(i, 1));
            let noisy = round(noisy, grid_step(scale, self.steps_per_scale));
            let spread = match self.means.placement {
                Placement::Intrinsic => own.mean_noise,
                Placement::Chart => own.mean_noise * ball.chart_growth(base),
            };
            let row = &mut out[i * (2 * size + NUMBERS)..(i + 1) * (2 * size + NUMBERS)];
            row[0] = self.hessian.without_noise(noisy, spread, reach);
            row[1..=size].copy_from_slice(&means[i * size..(i + 1) * size]);
            row[size + 1..=2 * size].copy_from_slice(&kept[i * size..(i + 1) * size]);
            row[2 * size + 1..].copy_from_slice(&[reach, scale]);
        }
        Ok(())
    }
}

impl Budget {
    /// The noise's scale for a statistic that moves by at most `sensitivity`.
    fn scale(self, sensitivity: f64) -> f64 {
        match self {
            Self::Pure(epsilon) => sensitivity / epsilon,
            Self::Gaussian(mu) => sensitivity / mu,
        }
    }

    /// Noise on the real line; NaN for a scale that has none, which public parameters alone decide.
    fn noise(self, scale: f64, stream: &mut Stream) -> f64 {
        let profile = match self {
            Self::Pure(_) => Profile::Laplace { scale },
            Self::Gaussian(_) => return scale * stream.normal(),
        };
        let mut drawn = [f64::NAN];
        if let Ok(noise) = IsotropicNoise::new(Space::Radial(Radial::Flat { dim: 1 }), profile) {
            noise.sample_coords(stream, &mut drawn);
        }
        drawn[0]
    }
}

/// The largest power of two that is at most a scale, divided by the power of two `steps_per_scale`.
fn grid_step(scale: f64, steps_per_scale: f64) -> f64 {
    // the sign and the exponent of a normal number are its upper 12 bits
    f64::from_bits(scale.to_bits() >> 52 << 52) / steps_per_scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_step_by_powers_of_two() {
        for (scale, step) in [(1.0, 0.25), (1.999, 0.25), (0.5, 0.125), (0.3, 0.0625)] {
            assert_eq!(grid_step(scale, 4.0), step);
        }
        assert_eq!(grid_step(1.0_f64.next_down(), 1.0), 0.5);
    }
}
