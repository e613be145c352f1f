//! Private Fréchet variances: the restricted minimum of the mean squared distance, over the points within s of the
//! ball's centre (docs/proofs/frechet-variance.md).
//!
//! s is public, or an upper bound of the distance of the mean from the centre that is released first.

use super::{Budget, Column, Groups, Statistic, Task};
use crate::error::Error;
use crate::mean::{Plan, RestrictedBounds, Sample, dist_error, in_ball_each, restricted_minimum};

/// The variance of every group.
pub struct Variances {
    /// One for each design.
    pub designs: Vec<VarianceDesign>,
}

/// How s is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Within {
    /// It is public.
    Public(f64),
    /// From the distance of the mean from the centre, released with a share of the budget: so many noise scales above
    /// the release.
    Released(Budget, f64),
}

/// Everything about a variance that is fixed before a record is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceDesign {
    /// Accuracy of the mean.
    pub plan: Plan,
    /// s.
    pub within: Within,
    /// The share of the budget for the variance.
    pub budget: Budget,
}

impl Statistic for Variances {
    fn columns(&self, _: &Groups) -> Vec<Column> {
        let names = [
            "variance",
            "sensitivity",
            "tolerance",
            "scale",
            "within",
            "to_mean",
            "to_mean_sensitivity",
            "to_mean_tolerance",
            "to_mean_scale",
        ];
        names.iter().map(|name| Column::new(name, 1)).collect()
    }

    fn stages(&self) -> u64 {
        if self.designs.iter().any(|own| matches!(own.within, Within::Released(..))) {
            2
        } else {
            1
        }
    }

    fn has_means(&self) -> bool {
        false
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let ball = task.frame().ball();
        let (points, rows) = (task.enter()?, task.rows());
        let points = points.rows();
        let own: Vec<_> = task.designs().map(|(i, own)| (&self.designs[i], own.replaced)).collect();
        let plans: Vec<_> = own.iter().map(|(design, _)| &design.plan).collect();
        let mut means = task.frame().points(rows.len());
        in_ball_each(&ball, points, &rows, &plans, means.entries_mut(), task.interrupt)?;
        let whole = out.len() / rows.len();
        for (i, (design, replaced)) in own.into_iter().enumerate() {
            let (mean, n) = (means.row(i), rows[i].len());
            // apart from the row: what stands there has noise, whatever ends the call
            let mut told = [f64::NAN; 4];
            let within = match design.within {
                Within::Public(within) => within,
                Within::Released(share, margin) => {
                    let sensitivity = ball.sensitivity(1.0, replaced);
                    let tolerance = design.plan.tolerance + dist_error(&ball);
                    let scale = share.scale(sensitivity + 2.0 * tolerance);
                    let mut dist = [ball.dist_to_center(mean)];
                    task.disturb(i, 0, share, scale, ball.radius, &mut dist)?;
                    told = [dist[0], sensitivity, tolerance, scale];
                    (dist[0] + margin * scale).clamp(0.0, ball.radius)
                }
            };
            let bounds = RestrictedBounds::new(&ball, &design.plan, n, replaced, within);
            let points = points.range(rows[i].clone());
            let sample =
                Sample { manifold: ball.manifold, points, count: n, weights: None, anchor: None };
            let plan = &design.plan;
            let mut value =
                [restricted_minimum(&sample, &ball, plan, mean, &bounds, task.interrupt)?];
            let scale = design.budget.scale(bounds.sensitivity + 2.0 * bounds.tolerance);
            let largest = bounds.reach * bounds.reach;
            task.disturb(i, self.stages() - 1, design.budget, scale, largest, &mut value)?;
            let row = &mut out[i * whole..(i + 1) * whole];
            row[..5].copy_from_slice(&[
                value[0],
                bounds.sensitivity,
                bounds.tolerance,
                scale,
                within,
            ]);
            row[5..].copy_from_slice(&told);
        }
        Ok(())
    }
}
