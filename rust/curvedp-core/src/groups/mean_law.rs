//! How a private mean follows from its ball, the number of records and a share of the budget: sensitivity,
//! plan, noise and grid. What `design_mean` of the Python package finds for a public ball, here for balls
//! that were released on the way (docs/proofs/frechet-mean-sensitivity.md, docs/proofs/adaptive-mean.md).

use super::Budget;
use crate::ball::{Ball, SLACK};
use crate::mean::{Plan, plan};
use crate::noise::{IsotropicNoise, Space};
use crate::release::{Grid, Placement};

/// The law of the noise of means on one manifold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanLaw {
    /// Where the noise is drawn.
    pub placement: Placement,
    /// The space of its law.
    pub space: Space,
    /// Whether the scale counts the Lipschitz constant of the chart at the centre.
    pub stretched: bool,
    /// The solver's tolerance as a fraction of the sensitivity.
    pub tolerance_share: f64,
    /// Releases stay within this distance of the centre, or within the ball; infinite for no clipping.
    pub clip_radius: f64,
    /// Steps from scale to grid: a power of two.
    pub steps_per_scale: f64,
}

/// A private mean, ready to be drawn.
pub(super) struct MeanDesign {
    pub plan: Plan,
    pub noise: IsotropicNoise,
    pub grid: Grid,
    pub sensitivity: f64,
}

impl MeanLaw {
    /// Sensitivity and plan of the mean of n records in a ball, `moved` of which a unit replaces; no plan
    /// where double precision cannot certify the mean.
    pub(super) fn plan(&self, ball: &Ball, n: usize, moved: f64) -> (f64, Option<Plan>) {
        let delta = sensitivity(ball, n, moved);
        (delta, plan(ball.manifold, ball.radius, n, self.tolerance_share * delta))
    }

    /// Whether double precision can certify and round the mean of n records for a share of the budget.
    pub(super) fn is_fit(&self, ball: &Ball, n: usize, moved: f64, share: Budget) -> bool {
        self.outline(ball, n, moved, share).is_some()
    }

    /// The mean of n records in a ball for a share of the budget; none without a plan, noise or grid, which
    /// public numbers alone decide.
    pub(super) fn design(
        &self,
        ball: &Ball,
        n: usize,
        moved: f64,
        share: Budget,
    ) -> Option<MeanDesign> {
        let (sensitivity, plan, scale, grid) = self.outline(ball, n, moved, share)?;
        let noise = IsotropicNoise::new(self.space, share.profile(scale)).ok()?;
        Some(MeanDesign { plan, noise, grid, sensitivity })
    }

    /// Sensitivity, plan, scale and grid.
    fn outline(
        &self,
        ball: &Ball,
        n: usize,
        moved: f64,
        share: Budget,
    ) -> Option<(f64, Plan, f64, Grid)> {
        let (sensitivity, plan) = self.plan(ball, n, moved);
        let plan = plan?;
        let total = sensitivity + 2.0 * plan.tolerance;
        let scale = share.scale(if self.stretched { total * lipschitz(ball) } else { total });
        let clip_radius = if self.clip_radius.is_finite() {
            self.clip_radius.max(ball.radius)
        } else {
            self.clip_radius
        };
        let grid = ball.grid(self.placement, scale, self.steps_per_scale, clip_radius)?;
        Some((sensitivity, plan, scale, grid))
    }
}

/// min(2 k tan(r s)/(n s), 2 r) with s = sqrt(kappa), kappa the upper curvature bound; 2 k r/n if it is not
/// positive.
fn sensitivity(ball: &Ball, n: usize, moved: f64) -> f64 {
    let upper = ball.manifold.curvature_bounds().1;
    let r = ball.radius * (1.0 + SLACK);
    let one = if upper <= 0.0 {
        2.0 * r
    } else {
        let angle = r * upper.sqrt();
        if angle < std::f64::consts::FRAC_PI_2 {
            2.0 * angle.tan() / upper.sqrt()
        } else {
            f64::INFINITY
        }
    };
    f64::min(moved * one / n as f64, 2.0 * r)
}

/// Lipschitz constant of log_c on a ball.
fn lipschitz(ball: &Ball) -> f64 {
    let upper = ball.manifold.curvature_bounds().1;
    if upper <= 0.0 {
        return 1.0;
    }
    let angle = ball.radius * (1.0 + SLACK) * upper.sqrt();
    angle / angle.sin()
}
