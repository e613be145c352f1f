//! The Fréchet mean: the minimiser of F(p) = (1/2W) sum_i w_i rho(p, x_i)^2.
//!
//! [`in_ball`] is what private statistics use: every point lies in a public ball, the accuracy is fixed
//! beforehand and reached within a number of evaluations that depends on public values only.
//! [`unconstrained`] is the ordinary estimate, with a certificate computed from the data.

mod certificate;
mod in_ball;
mod k_norm;
mod of_units;
mod quasi_newton;
mod restricted;
mod unconstrained;

pub use certificate::{Plan, certified_dist, plan, rounding_error};
pub use in_ball::{Descent, in_ball, in_ball_each};
pub use k_norm::KNorm;
pub use of_units::of_units;
pub use restricted::{RestrictedBounds, dist_error, restricted_minimum};
pub use unconstrained::{Estimate, unconstrained};

use crate::cascade::PIECE;
use crate::error::Error;
use crate::manifold::{LogSums, Manifold};
use crate::parallel::{Interrupt, map};
use crate::rows::Rows;

/// Sum of the logarithms of a piece's points at a point, in coordinates, and what goes with it.
pub type PieceSums = (Vec<f64>, LogSums);

/// Weighted points whose mean is sought.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// The points.
    pub points: Rows<'a>,
    /// Number of points, at least 1.
    pub count: usize,
    /// Nonnegative weights, not all zero; 1 if absent.
    pub weights: Option<&'a [f64]>,
    /// A further point.
    pub anchor: Option<Anchor<'a>>,
}

/// A point with a weight.
#[derive(Clone, Copy)]
pub struct Anchor<'a> {
    /// The point.
    pub point: &'a [f64],
    /// Its weight, nonnegative.
    pub weight: f64,
}

/// The state of the iteration at a point p.
#[derive(Clone, Debug)]
struct Evaluation {
    /// -grad F(p) = mean log_p x_i in orthonormal coordinates at p.
    descent: Vec<f64>,
    /// |grad F(p)|
    gradient_norm: f64,
    /// Mean trace of the Hessian over the dimension, at least 1/10: the reciprocal of a good step.
    curvature: f64,
    /// mean rho(p, x_i)^2
    mean_squared_dist: f64,
}

impl Sample<'_> {
    fn total_weight(&self) -> f64 {
        let own = self.weights.map_or(self.count as f64, |w| w.iter().sum());
        own + self.anchor.map_or(0.0, |anchor| anchor.weight)
    }

    fn evaluate(&self, p: &[f64], interrupt: Interrupt) -> Result<Evaluation, Error> {
        let mut both = vec![add_pairwise(self.piece_sums(p, interrupt)?)];
        if let Some(Anchor { point, weight }) = self.anchor {
            let mut sum = vec![0.0; self.manifold.dim()];
            let row = Rows::shared(point);
            let sums = self.manifold.sum_log(row, 1, Some(&[weight]), p, &mut sum);
            both.push((sum, sums));
        }
        let (sum, sums) = add_pairwise(both);
        Ok(Evaluation::new(sum, sums, self.total_weight()))
    }

    /// Sums of the logarithms at p over every [`PIECE`] points, in order.
    pub fn piece_sums(&self, p: &[f64], interrupt: Interrupt) -> Result<Vec<PieceSums>, Error> {
        let dim = self.manifold.dim();
        let piece = |i: usize| {
            let range = i * PIECE..((i + 1) * PIECE).min(self.count);
            let mut sum = vec![0.0; dim];
            let weights = self.weights.map(|w| &w[range.clone()]);
            let points = self.points.range(range.clone());
            let sums = self.manifold.sum_log(points, range.len(), weights, p, &mut sum);
            (sum, sums)
        };
        if self.count <= PIECE {
            return Ok(vec![piece(0)]);
        }
        map(self.count.div_ceil(PIECE), interrupt, piece)
    }

    /// exp_p(step)
    fn exp(&self, p: &[f64], step: &[f64]) -> Vec<f64> {
        let mut next = vec![0.0; p.len()];
        self.manifold.exp_coords(Rows::shared(step), Rows::shared(p), &mut next);
        next
    }
}

impl Evaluation {
    /// From the sums over all points, of weight `total` together.
    fn new(mut descent: Vec<f64>, sums: LogSums, total: f64) -> Self {
        descent.iter_mut().for_each(|x| *x /= total);
        Self {
            gradient_norm: descent.iter().map(|x| x * x).sum::<f64>().sqrt(),
            descent,
            curvature: f64::max(0.1, sums.curvature / total),
            mean_squared_dist: sums.squared_dist / total,
        }
    }
}

fn add_pairwise(mut pieces: Vec<PieceSums>) -> PieceSums {
    while pieces.len() > 1 {
        let mut next = Vec::with_capacity(pieces.len().div_ceil(2));
        let mut items = pieces.into_iter();
        while let Some((mut sum, mut sums)) = items.next() {
            if let Some((other, more)) = items.next() {
                sum.iter_mut().zip(&other).for_each(|(x, y)| *x += y);
                sums.squared_dist += more.squared_dist;
                sums.curvature += more.curvature;
            }
            next.push((sum, sums));
        }
        pieces = next;
    }
    pieces.pop().unwrap_or_default()
}
