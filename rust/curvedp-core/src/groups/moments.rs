//! Private moments of the logarithms of the records at a public base point p: the private mean, which is
//! released first, or a point that is given (docs/proofs/frechet-variance.md, docs/proofs/log-moments.md).
//!
//! Every moment is the mean of a function of one record, p and the length R at which logarithms are clipped.
//! All else about a moment, a region or an interval is computed from what is released here.

use super::means::noisy_means;
use super::{Budget, Column, Groups, Statistic, Task};
use crate::ball::Points;
use crate::error::Error;
use crate::manifold::{ExcessDiameter, Manifold};
use crate::moments::{dist_moments, hessian_error, log_moments, summation_error, vecd, vecd_error};
use crate::rows::Rows;
use crate::tally::Counted;

/// A function that is averaged over the records, in units of the lengths R that a logarithm may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// rho^4.
    Fourth,
    /// (a, c (a^2 - a)) with a = (rho/R)^2 and this c.
    Distances(f64),
    /// The second moment of the logarithms, its trace part multiplied by sqrt(dim + 1): see [`vecd`].
    Covariance,
    /// Twice the deviation G of the Hessian of half the squared distance from I: see [`vecd`].
    Hessian,
}

/// Sensitivity, size and rounding error of a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Largest change when a unit's records are replaced.
    pub sensitivity: f64,
    /// Bound on the rounding error.
    pub tolerance: f64,
    /// Bound on the norm.
    pub magnitude: f64,
}

impl Moment {
    /// Numbers that it consists of.
    #[must_use]
    pub fn size(self, dim: usize) -> usize {
        match self {
            Self::Fourth => 1,
            Self::Distances(_) => 2,
            Self::Covariance | Self::Hessian => dim * (dim + 1) / 2,
        }
    }

    /// The name of its column.
    fn name(self) -> &'static str {
        match self {
            Self::Fourth => "fourth",
            Self::Distances(_) => "distances",
            Self::Covariance => "covariance",
            Self::Hessian => "hessian",
        }
    }

    /// For n records, a share of which is replaced, with logarithms of length `reach` at most.
    #[must_use]
    pub fn bounds(self, manifold: &dyn Manifold, n: usize, replaced: f64, reach: f64) -> Bounds {
        let square = reach * reach;
        let (moves, magnitude, rounding) = match self {
            Self::Fourth => (square * square, square * square, summation_error(n)),
            Self::Distances(c) => (1.0, 1.0 + 2.0 * c, summation_error(n)),
            Self::Covariance => {
                let stretch = stretch(manifold.dim());
                let rounding = summation_error(n) + vecd_error(manifold.dim());
                (std::f64::consts::SQRT_2 * square, stretch * square, rounding)
            }
            Self::Hessian => {
                let bound = ExcessDiameter::of(manifold).map_or(0.0, |own| 2.0 * own.within(reach));
                (bound, bound, hessian_error(manifold, n) + vecd_error(manifold.dim()))
            }
        };
        Bounds { sensitivity: moves * replaced, tolerance: rounding * magnitude, magnitude }
    }
}

/// The factor on the trace part of the second moment: with it one record moves the trace no further.
fn stretch(dim: usize) -> f64 {
    (dim as f64 + 1.0).sqrt()
}

/// Points at which logarithms are taken.
pub enum BasePoints {
    /// The private mean of each group.
    Means,
    /// Points that are public, one for each group.
    Given(Vec<f64>),
}

/// Moments of every group.
pub struct Moments {
    /// Points at which logarithms are taken.
    pub base_points: BasePoints,
    /// The moments.
    pub moments: Vec<Moment>,
    /// For each design, the share of the budget of each moment.
    pub budgets: Vec<Vec<Budget>>,
    /// Public length at which logarithms are clipped; infinite to clip none within the ball's reach from p.
    pub max_dist: f64,
}

/// Base points of a task's groups.
struct Bases {
    /// The released means; empty if the points are given.
    means: Vec<f64>,
    /// The base points in the frame, moved to the ball.
    inner: Points,
    /// The same on the manifold.
    points: Vec<f64>,
    /// Their distances from the ball's centre.
    to_center: Vec<f64>,
}

impl Bases {
    fn of(task: &Task, means: Vec<f64>, points: &[f64]) -> Self {
        let (frame, size, count) = (task.frame(), task.groups.records.size(), task.range.len());
        let inner = frame.enter_here(Rows::new(points, size), count, Counted::NOWHERE);
        let mut kept = vec![0.0; count * size];
        frame.leave(inner.rows(), &mut kept);
        let mut to_center = vec![f64::NAN; count];
        frame.ball().manifold.dist_origin(inner.rows(), &mut to_center);
        Self { means, inner, points: kept, to_center }
    }
}

impl Statistic for Moments {
    fn columns(&self, groups: &Groups) -> Vec<Column> {
        let (size, dim) = (groups.records.size(), groups.frames[0].manifold().dim());
        let mut columns = Vec::new();
        if self.has_means() {
            columns.push(Column::new("mean", size));
        }
        columns.push(Column::new("base_point", size));
        columns.push(Column::new("max_dist", 1));
        for moment in &self.moments {
            let name = moment.name();
            columns.push(Column::new(name, moment.size(dim)));
            for number in ["sensitivity", "tolerance", "scale"] {
                columns.push(Column::new(&format!("{name}_{number}"), 1));
            }
        }
        columns
    }

    fn stages(&self) -> u64 {
        1 + self.moments.len() as u64
    }

    fn has_means(&self) -> bool {
        matches!(self.base_points, BasePoints::Means)
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let size = task.groups.records.size();
        let points = task.enter()?;
        let bases = self.bases(task, &points)?;
        let rows = task.rows();
        let whole = out.len() / task.range.len();
        for (i, (number, design)) in task.designs().enumerate() {
            let reach = task.frame().reach(bases.to_center[i]).min(self.max_dist);
            let own = Own {
                task,
                group: i,
                points: points.rows().range(rows[i].clone()),
                n: rows[i].len(),
                base: bases.inner.row(i),
                reach,
                replaced: design.replaced,
                budgets: &self.budgets[number],
            };
            let mut row = Row { rest: &mut out[i * whole..(i + 1) * whole] };
            if self.has_means() {
                row.push(&bases.means[i * size..(i + 1) * size]);
            }
            row.push(&bases.points[i * size..(i + 1) * size]);
            row.push(&[reach]);
            self.draw(&own, &mut row)?;
            assert!(row.rest.is_empty(), "a row is as wide as its columns");
        }
        Ok(())
    }
}

/// The part of a row that is not written yet.
struct Row<'a> {
    rest: &'a mut [f64],
}

impl Row<'_> {
    fn push(&mut self, values: &[f64]) {
        let (next, rest) = std::mem::take(&mut self.rest).split_at_mut(values.len());
        next.copy_from_slice(values);
        self.rest = rest;
    }
}

/// One group with everything about it that is public, and its records in the frame.
struct Own<'a> {
    task: &'a Task<'a>,
    group: usize,
    points: Rows<'a>,
    n: usize,
    base: &'a [f64],
    reach: f64,
    replaced: f64,
    budgets: &'a [Budget],
}

impl Moments {
    fn bases(&self, task: &Task, points: &Points) -> Result<Bases, Error> {
        let size = task.groups.records.size();
        match &self.base_points {
            BasePoints::Means => {
                let mut released = vec![0.0; task.range.len() * size];
                noisy_means(task, points, &mut released, None)?;
                let kept = released.clone();
                Ok(Bases::of(task, released, &kept))
            }
            BasePoints::Given(points) => {
                let own = &points[task.range.start * size..task.range.end * size];
                Ok(Bases::of(task, Vec::new(), own))
            }
        }
    }

    /// Computes and releases the moments of a group, one after the other.
    fn draw(&self, own: &Own, row: &mut Row) -> Result<(), Error> {
        let (manifold, reach) = (own.task.frame().ball().manifold, own.reach);
        let dim = manifold.dim();
        let is_matrix = |moment: Moment| moment.size(2) > 2;
        let hessian = self.moments.contains(&Moment::Hessian);
        let matrices = if self.moments.iter().any(|moment| is_matrix(*moment)) {
            let (points, stop) = (own.points, own.task.interrupt);
            Some(log_moments(manifold, points, own.n, own.base, reach, hessian, stop)?)
        } else {
            None
        };
        let (square, fourth) = if self.moments.iter().all(|moment| is_matrix(*moment)) {
            (0.0, 0.0)
        } else {
            dist_moments(manifold, own.points, own.n, own.base, reach, own.task.interrupt)?
        };
        for ((stage, &moment), &share) in (1..).zip(&self.moments).zip(own.budgets) {
            // apart from the row: what stands there has noise, whatever ends the call
            let mut value = vec![0.0; moment.size(dim)];
            let exact = value.as_mut_slice();
            match (moment, &matrices) {
                (Moment::Fourth, _) => exact[0] = fourth,
                (Moment::Distances(c), _) => {
                    let first = square / (reach * reach);
                    let second = fourth / (reach * reach * (reach * reach));
                    exact.copy_from_slice(&[first, c * (second - first)]);
                }
                (Moment::Covariance, Some(sums)) => vecd(&sums.second, dim, stretch(dim), exact),
                (Moment::Hessian, Some(sums)) => {
                    let excess = sums.excess.iter().flatten();
                    let double: Vec<f64> = excess.map(|x| 2.0 * x).collect();
                    vecd(&double, dim, 1.0, exact);
                }
                (Moment::Covariance | Moment::Hessian, None) => {} // matrices are computed for them
            }
            let bounds = moment.bounds(manifold, own.n, own.replaced, reach);
            let scale = share.scale(bounds.sensitivity + 2.0 * bounds.tolerance);
            own.task.disturb(own.group, stage, share, scale, bounds.magnitude, exact)?;
            row.push(exact);
            row.push(&[bounds.sensitivity, bounds.tolerance, scale]);
        }
        Ok(())
    }
}
