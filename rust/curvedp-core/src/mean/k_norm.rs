//! The K-norm gradient of the Fréchet mean (Soto et al. 2022): the law of p in B(c, r) with density
//! exp(-|g(p)|/sigma) with respect to the volume, g(p) = -mean log_p x_i, logarithms shortened to a length tau.

use super::{Sample, in_ball, plan, rounding_error};
use crate::ball::Ball;
use crate::cascade::{PIECE, ROWS, cascade};
use crate::error::Error;
use crate::manifold::{Manifold, Range, log_jacobian};
use crate::noise::Stream;
use crate::parallel::Interrupt;
use crate::rejection::chart::{
    Clipped, MAX_DIM, largest_log_jacobian, lengths, log_jacobian_slope, shortened, spread,
};
use crate::rejection::{self, Bound, Bounded, Exponent};
use crate::rows::Rows;
use crate::simd::elementary::sinc;
use crate::vector::{add, length};
use std::f64::consts::FRAC_PI_2;

/// The law, up to a constant.
#[derive(Clone, Copy)]
pub struct KNorm<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// The records, in B(c, r).
    pub points: Rows<'a>,
    /// Number of records, at least 1.
    pub count: usize,
    /// Length tau at which logarithms are clipped; may be infinite.
    pub max_residual: f64,
    /// sigma
    pub scale: f64,
    /// c
    pub center: &'a [f64],
    /// r
    pub radius: f64,
}

impl KNorm<'_> {
    /// Length of the gradient at a point.
    #[must_use]
    pub fn norm(&self, point: &[f64]) -> f64 {
        length(&self.gradient(point))
    }

    /// mean min(1, tau/|u_i|) u_i, u_i = log_p x_i.
    fn gradient(&self, point: &[f64]) -> Vec<f64> {
        let dim = self.manifold.dim();
        let longest = Range::new(self.max_residual, dim);
        let piece = |i: usize| {
            let range = i * PIECE..((i + 1) * PIECE).min(self.count);
            let mut logs = vec![0.0; range.len() * dim];
            self.manifold.log_coords(self.points.range(range), Rows::shared(point), &mut logs);
            let mut sum = vec![0.0; dim];
            for rows in logs.chunks_mut(ROWS * dim) {
                let mut block = vec![0.0; dim];
                for log in rows.chunks_exact_mut(dim) {
                    longest.clip(log);
                    add(&mut block, log);
                }
                add(&mut sum, &block);
            }
            sum
        };
        let pieces = self.count.div_ceil(PIECE);
        let sum = cascade(pieces, usize::MAX, &|| false, piece, |sum, other| add(sum, other));
        // only an interrupt ends it early, and there is none
        let sum = sum.ok().flatten().unwrap_or_else(|| vec![f64::NAN; dim]);
        sum.into_iter().map(|x| x / self.count as f64).collect()
    }

    /// Least length of the gradient within `moved` of a point: that of its part along the direction it has
    /// at the point, record by record.
    fn least_norm(&self, point: &[f64], clipped: Clipped, moved: f64) -> f64 {
        let dim = self.manifold.dim();
        let gradient = self.gradient(point);
        let norm = length(&gradient);
        if norm == 0.0 {
            return 0.0;
        }
        let longest = Range::new(self.max_residual, dim);
        let mut logs = vec![0.0; PIECE.min(self.count) * dim];
        let mut sum = 0.0;
        for first in (0..self.count).step_by(PIECE) {
            let range = first..(first + PIECE).min(self.count);
            let logs = &mut logs[..range.len() * dim];
            self.manifold.log_coords(self.points.range(range), Rows::shared(point), logs);
            let mut piece = 0.0;
            for log in logs.chunks_exact_mut(dim) {
                let dist = length(log);
                longest.clip(log);
                let product = log.iter().zip(&gradient).map(|(u, g)| u * g).sum::<f64>() / norm;
                piece += clipped.least(product, 1.0, dist, moved);
            }
            sum += piece;
        }
        sum / self.count as f64
    }

    /// Draws independent points on a lattice of normal coordinates, steps at most `step`, exactly, and returns them with the number of gradients computed.
    ///
    /// # Errors
    /// [`Error::Parameter`] in more than [`MAX_DIM`] dimensions; [`Error::Interrupted`].
    pub fn sample(
        &self,
        step: f64,
        count: usize,
        stream: &mut Stream,
        interrupt: Interrupt,
    ) -> Result<(Vec<Vec<f64>>, usize), Error> {
        let dim = self.manifold.dim();
        if dim > MAX_DIM {
            let allowed = "at most 6 for exact draws";
            return Err(Error::Parameter { name: "dimension", allowed, value: dim as f64 });
        }
        let chart = Chart { law: self, peak: self.peak(interrupt)? };
        let (points, evaluations) = rejection::sample(&chart, step, count, stream, interrupt)?;
        Ok((points.iter().map(|coords| self.at(coords)).collect(), evaluations))
    }

    /// Where the gradient is about 0, if no logarithm is clipped.
    fn peak(&self, interrupt: Interrupt) -> Result<Option<Peak>, Error> {
        let &Self { manifold, points, count, center, radius, .. } = self;
        let within = self.scale * PEAK_SHARE;
        let found =
            plan(manifold, radius, count, within).filter(|_| self.max_residual >= 2.0 * radius);
        let Some(plan) = found else { return Ok(None) };
        let sample = Sample { manifold, points, count, weights: None, anchor: None };
        let point = in_ball(&sample, &Ball { manifold, center, radius }, &plan, interrupt)?;
        let mut coords = vec![0.0; manifold.dim()];
        manifold.log_coords(Rows::shared(&point), Rows::shared(center), &mut coords);
        Ok(Some(Peak { coords, point, tolerance: plan.tolerance }))
    }

    /// exp_c(a)
    fn at(&self, coords: &[f64]) -> Vec<f64> {
        let mut point = vec![0.0; self.manifold.point_size()];
        self.manifold.exp_coords(Rows::shared(coords), Rows::shared(self.center), &mut point);
        point
    }
}

/// Accuracy of the mean that bounds refer to, in noise scales.
const PEAK_SHARE: f64 = 1.0 / 16.0;

/// A point within `tolerance` of the mean.
struct Peak {
    coords: Vec<f64>,
    point: Vec<f64>,
    tolerance: f64,
}

/// The law in normal coordinates.
struct Chart<'a> {
    law: &'a KNorm<'a>,
    peak: Option<Peak>,
}

impl Chart<'_> {
    /// Least length of the gradient on a box whose points are within `moved` of one of them: it grows with the
    /// distance from the mean, which is at least sin(x)/x times that of the coordinates, x = √κ r.
    fn far_norm(&self, center: &[f64], half: &[f64], point: &[f64], moved: f64) -> f64 {
        let Some(peak) = &self.peak else { return 0.0 };
        let KNorm { manifold, radius, .. } = *self.law;
        let root = manifold.curvature_bounds().1.max(0.0).sqrt();
        let gaps = center.iter().zip(half).zip(&peak.coords);
        let square: f64 = gaps.map(|((c, h), a)| ((c - a).abs() - h).max(0.0).powi(2)).sum();
        let mut dist = [0.0];
        manifold.dist(Rows::shared(&peak.point), Rows::shared(point), &mut dist);
        let dist = (sinc(root * radius) * square.sqrt()).max(dist[0] - moved) - peak.tolerance;
        if dist <= 0.0 || root == 0.0 {
            return dist.max(0.0);
        }
        (root * radius).cos() / root * (root * dist).min(FRAC_PI_2).sin()
    }
}

/// The density of a, p = exp_c(a), with respect to Lebesgue measure.
impl Bounded for Chart<'_> {
    fn extent(&self) -> Vec<f64> {
        vec![self.law.radius; self.law.manifold.dim()]
    }

    fn scale(&self) -> f64 {
        self.law.scale
    }

    fn exponent(&self, point: &[f64]) -> Option<Exponent> {
        let inside = length(point) <= self.law.radius;
        inside.then(|| Exponent {
            volume: log_jacobian(self.law.manifold, point),
            norm: self.law.norm(&self.law.at(point)),
        })
    }

    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound> {
        let KNorm { manifold, radius, .. } = *self.law;
        let (nearest, farthest) = lengths(center, half);
        if nearest > radius {
            return None;
        }
        let shift = farthest.min(radius);
        let tau = self.law.max_residual.min(shift + radius);
        let size = length(half) * (1.0 + 1e-9);
        let moved = spread(manifold, shift) * size;
        let inner = shortened(center, radius);
        let point = self.law.at(&inner);
        let near = self.law.least_norm(&point, Clipped::new(manifold, tau), moved);
        let least = near.max(self.far_norm(center, half, &point, moved));
        // rounding of the gradient there and at the points of the box
        let room = 2.0 * rounding_error(manifold, radius, self.law.count);
        let least = (least - room - 1e-9 * tau).max(0.0);
        let local = log_jacobian(manifold, &inner) + log_jacobian_slope(manifold, shift) * size;
        let volume = largest_log_jacobian(manifold, shift).min(local + 1e-12);
        let log_density = -least / self.law.scale + volume;
        let axis = (0..half.len()).max_by(|i, j| half[*i].total_cmp(&half[*j])).unwrap_or(0);
        Some(Bound { log_density, slope: [0.0; MAX_DIM], axis })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifold::{Euclidean, Hyperboloid, SpdAffine, Sphere};

    /// Points of random boxes whose density is above the bound, lowered by `lowered` of what it leaves to the density
    /// at the centre.
    fn above(manifold: &dyn Manifold, radius: f64, max_residual: f64, lowered: f64) -> u32 {
        let (dim, mut stream) = (manifold.dim(), Stream::from_key([3; 32], 0));
        let mut uniform = |limit: f64| limit * (2.0 * stream.uniform_open() - 1.0);
        let origin = manifold.origin();
        let spread = radius / (dim as f64).sqrt();
        let coords: Vec<f64> = (0..7 * dim).map(|_| uniform(spread)).collect();
        let mut points = vec![0.0; 7 * manifold.point_size()];
        manifold.exp_coords(Rows::new(&coords, dim), Rows::shared(&origin), &mut points);
        let points = Rows::new(&points, manifold.point_size());
        let law = KNorm {
            manifold,
            points,
            count: 7,
            max_residual,
            scale: 0.01,
            center: &origin,
            radius,
        };
        let chart = Chart { law: &law, peak: law.peak(&|| false).unwrap() };
        assert_eq!(chart.peak.is_some(), max_residual == f64::INFINITY);
        let density = |x: &[f64]| chart.exponent(x).map(|e| e.volume - e.norm / law.scale);
        let mut found = 0;
        for k in 0..60 {
            let center: Vec<f64> = (0..dim).map(|_| uniform(radius)).collect();
            let half: Vec<f64> = (0..dim).map(|_| 0.3 * radius * 0.5f64.powi(k % 20)).collect();
            let Some(bound) = chart.bound(&center, &half) else { continue };
            let inside = density(&center).unwrap_or(bound.log_density);
            let limit = bound.log_density - lowered * (bound.log_density - inside);
            for _ in 0..40 {
                let corner = |(c, h): (&f64, &f64)| c + uniform(1.0).clamp(-0.5, 0.5) * 2.0 * h;
                let point: Vec<f64> = center.iter().zip(&half).map(corner).collect();
                found += u32::from(density(&point).is_some_and(|value| value > limit));
            }
        }
        found
    }

    #[test]
    fn no_density_in_a_box_exceeds_its_bound() {
        let spaces: [(Box<dyn Manifold>, f64); 4] = [
            (Box::new(Euclidean::new(2)), 1.0),
            (Box::new(Sphere::new(2, 1.0)), 0.7),
            (Box::new(Hyperboloid::new(2, -1.0)), 1.5),
            (Box::new(SpdAffine::new(2)), 1.0),
        ];
        for (manifold, radius) in &spaces {
            for max_residual in [0.2, f64::INFINITY] {
                assert_eq!(above(&**manifold, *radius, max_residual, 0.0), 0);
                // the control: bounds with two thirds of their slack taken
                assert!(above(&**manifold, *radius, max_residual, 0.67) > 20);
            }
        }
    }
}
