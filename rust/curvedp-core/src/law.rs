//! The one calibration of private means, a function of public numbers: from the ball, the number of records and
//! a share of the budget to sensitivity, scale, noise and grid (docs/proofs/frechet-mean-sensitivity.md,
//! docs/proofs/tangent-gaussian.md, docs/proofs/conversions.md, docs/proofs/adaptive-mean.md).

use crate::ball::{Ball, Frame, SLACK};
use crate::manifold::Manifold;
use crate::mean::{Plan, plan};
use crate::noise::{IsotropicNoise, Profile};
use crate::release::{Grid, Placement};
use crate::roots::Space;

/// Least number of grid steps in a noise scale; steps are powers of two, so there may be nearly twice as many.
pub const STEPS_PER_SCALE: f64 = (1u64 << 20) as f64;

/// The solver's tolerance for a mean of that sensitivity: 1e-4 of it, and no more than 1/10 of the noise's scale.
#[must_use]
pub fn solver_tolerance(sensitivity: f64, budget: f64) -> f64 {
    1e-4 * sensitivity * (1000.0 / budget).min(1.0)
}

/// Factor that covers the rounding of sensitivities, which are right to 2^-42 relative, and of divisions.
const OUTWARD: f64 = 1.0 + 1.0 / (1u64 << 40) as f64;

/// A noise scale of at least sensitivity/budget in exact arithmetic, the sensitivity's own rounding included
/// (docs/proofs/conversions.md, section 8).
#[must_use]
pub fn outward_scale(sensitivity: f64, budget: f64) -> f64 {
    (sensitivity / budget * OUTWARD).next_up()
}

/// A share of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// epsilon-DP: Laplace noise of scale Delta/epsilon.
    Pure(f64),
    /// mu-GDP: Gaussian noise of scale Delta/mu.
    Gaussian(f64),
}

impl Budget {
    /// epsilon or mu.
    fn amount(self) -> f64 {
        let (Self::Pure(budget) | Self::Gaussian(budget)) = self;
        budget
    }

    /// The noise's scale for a statistic that moves by at most `sensitivity`.
    pub(crate) fn scale(self, sensitivity: f64) -> f64 {
        outward_scale(sensitivity, self.amount())
    }

    /// The shape of the noise.
    pub(crate) fn profile(self, scale: f64) -> Profile {
        match self {
            Self::Pure(_) => Profile::Laplace { scale },
            Self::Gaussian(_) => Profile::Gaussian { scale },
        }
    }
}

impl Ball<'_> {
    /// Sensitivity of the mean of n records, `moved` of which a unit replaces: no more than the diameter.
    #[must_use]
    pub fn sensitivity(&self, n: f64, moved: f64) -> f64 {
        f64::min(moved * self.log_diameter() / n, 2.0 * self.radius * (1.0 + SLACK))
    }

    /// Largest distance between the logarithms of two points of the ball, taken at one point of it:
    /// 2 tan(r s)/s with s = sqrt(kappa), kappa the upper curvature bound; 2 r if it is not positive.
    #[must_use]
    pub fn log_diameter(&self) -> f64 {
        let upper = self.manifold.curvature_bounds().1;
        let r = self.radius * (1.0 + SLACK);
        if upper <= 0.0 {
            return 2.0 * r;
        }
        let angle = r * upper.sqrt();
        if angle < std::f64::consts::FRAC_PI_2 {
            2.0 * angle.tan() / upper.sqrt()
        } else {
            f64::INFINITY
        }
    }

    /// Lipschitz constant of the chart log_c: r s/sin(r s), 1 if the upper curvature bound is not positive.
    #[must_use]
    pub fn lipschitz(&self) -> f64 {
        let upper = self.manifold.curvature_bounds().1;
        if upper <= 0.0 {
            return 1.0;
        }
        let angle = self.radius * (1.0 + SLACK) * upper.sqrt();
        angle / angle.sin()
    }
}

impl Frame {
    /// Distance from the centre at which releases are clipped; infinite for no clipping.
    #[must_use]
    pub fn clip_radius(&self) -> f64 {
        self.manifold().clip_limit().max(self.ball().radius)
    }
}

/// The law of the noise of means on one manifold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanLaw {
    /// The place where the noise is drawn.
    pub placement: Placement,
    /// The space of its law.
    pub space: Space,
    /// True if the scale counts the Lipschitz constant of the chart at the centre.
    pub stretched: bool,
    /// Releases stay within this distance of the centre, or within the ball; infinite for no clipping.
    pub clip_limit: f64,
}

/// A private mean, ready to be drawn.
pub(crate) struct MeanDesign {
    pub plan: Plan,
    pub noise: IsotropicNoise,
    pub grid: Grid,
    pub sensitivity: f64,
}

impl MeanLaw {
    /// That of noise in the chart at the centre, whose scale is `stretched` or not, or at the mean itself.
    #[must_use]
    pub fn new(manifold: &dyn Manifold, placement: Placement, stretched: bool) -> Self {
        let space = match placement {
            Placement::Chart => Space::flat(manifold.dim()),
            Placement::Intrinsic => manifold.space(),
        };
        Self { placement, space, stretched, clip_limit: manifold.clip_limit() }
    }

    /// Rise of the noise's scale with the ball's radius, over that in flat space: with an upper curvature bound
    /// kappa > 0 and a = radius sqrt(kappa) the derivative of tan(a), stretched of a/cos(a), else 1.
    pub(crate) fn steepness(&self, manifold: &dyn Manifold, radius: f64) -> f64 {
        let angle = radius * manifold.curvature_bounds().1.max(0.0).sqrt();
        let (sine, cosine) = (angle.sin(), angle.cos());
        (if self.stretched { cosine + angle * sine } else { 1.0 }) / (cosine * cosine)
    }

    /// The mean of n records in a ball for a share of the budget; none without a plan, noise or grid, which
    /// public numbers alone decide.
    pub(crate) fn design(
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
        let sensitivity = ball.sensitivity(n as f64, moved);
        let tolerance = solver_tolerance(sensitivity, share.amount());
        let plan = plan(ball.manifold, ball.radius, n, tolerance)?;
        let total = sensitivity + 2.0 * plan.tolerance;
        let scale = share.scale(if self.stretched { total * ball.lipschitz() } else { total });
        let clip_radius = self.clip_limit.max(ball.radius);
        let grid = ball.grid(scale, STEPS_PER_SCALE, clip_radius, self.placement)?;
        plan.is_within(scale).then_some((sensitivity, plan, scale, grid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Stream;

    /// Significand and exponent of a normal number.
    fn parts(x: f64) -> (u128, i32) {
        let bits = x.to_bits();
        (u128::from(bits & ((1 << 52) - 1) | 1 << 52), (bits >> 52) as i32 - 1075)
    }

    /// True if scale * budget >= sensitivity in exact arithmetic, for numbers that are about the same.
    fn covers(scale: f64, budget: f64, sensitivity: f64) -> bool {
        let ((a, at_a), (b, at_b), (c, at_c)) = (parts(scale), parts(budget), parts(sensitivity));
        a * b >= c << (at_c - at_a - at_b)
    }

    #[test]
    fn scales_are_no_less_than_exact_quotients() {
        let mut stream = Stream::from_key([5; 32], 0);
        let mut short = 0;
        for _ in 0..2000 {
            let sensitivity = libm::exp(20.0 * stream.normal());
            let budget = libm::exp(2.0 * stream.normal());
            for share in [Budget::Pure(budget), Budget::Gaussian(budget)] {
                let scale = share.scale(sensitivity);
                assert!(covers(scale, budget, sensitivity), "{sensitivity} {budget}");
                assert!(covers(scale, budget, sensitivity * (1.0 + 2f64.powi(-41))));
                assert!(scale <= sensitivity / budget * (1.0 + 2f64.powi(-39)));
            }
            short += u32::from(!covers(sensitivity / budget, budget, sensitivity));
        }
        // the control: quotients rounded to nearest are too small about as often as not
        assert!((900..1100).contains(&short), "{short}");
    }
}
