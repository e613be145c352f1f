//! Moments of a log-concave density on an interval.
//!
//! The tangents of the log-density h at a set of points form a piecewise linear hull above h, the chords between the points
//! a squeeze below it (Gilks and Wild 1992, "Adaptive rejection sampling"). Where these are close the density is smooth: the
//! points, chosen so, are the borders of panels of quadrature.

use std::sync::LazyLock;

use super::hull::{Hull, Tangent};
use super::quadrature::GaussLegendre;

/// Nodes for masses and moments, found once.
static RULE: LazyLock<GaussLegendre<20>> = LazyLock::new(GaussLegendre::new);

type Function = Box<dyn Fn(f64) -> f64 + Send + Sync>;

/// The interval on which a log-concave density is positive, and where to search on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// Lower end; finite.
    pub lower: f64,
    /// Upper end; may be infinite.
    pub upper: f64,
    /// A point of [lower, upper) where the density is largest.
    pub mode: f64,
    /// Any length within many orders of magnitude of the density's width: where the search starts.
    pub width: f64,
}

/// A density proportional to e^h on (lower, upper), h concave.
///
/// h need be known only up to a constant, but should be near 0 at the mode: its rounding error is
/// the relative error of the density.
pub struct LogConcave {
    log_density: Function,
    /// Borders of the panels of quadrature, and the mass to the left of each.
    borders: Vec<f64>,
    mass_below: Vec<f64>,
    mean: f64,
    mean_square: f64,
}

impl LogConcave {
    /// The density e^h on `support`, from h and its derivative h' (any supergradient where h has a
    /// kink).
    ///
    /// h may be -inf at the ends and must be finite inside; where the upper end is infinite, h'
    /// must become negative.
    pub fn new(
        log_density: impl Fn(f64) -> f64 + Send + Sync + 'static,
        slope: impl Fn(f64) -> f64,
        support: Support,
    ) -> Self {
        let hull = Hull::new(&log_density, &slope, support);
        let rule = &*RULE;
        let borders = panel_borders(&hull.points, &log_density, &slope, support);
        let mut mass_below = vec![0.0];
        let (mut first, mut second) = (0.0, 0.0);
        for panel in borders.windows(2) {
            let mut mass = 0.0;
            for (x, w) in rule.on(panel[0], panel[1]) {
                let weight = w * libm::exp(log_density(x));
                mass += weight;
                first += weight * x;
                second += weight * x * x;
            }
            mass_below.push(mass_below[mass_below.len() - 1] + mass);
        }
        let mass = mass_below[mass_below.len() - 1];
        Self {
            log_density: Box::new(log_density),
            borders,
            mass_below,
            mean: first / mass,
            mean_square: second / mass,
        }
    }

    /// P(X <= x), by Gauss-Legendre quadrature on the panels between the hull's points.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        let last = self.borders.len() - 1;
        if x <= self.borders[0] {
            return 0.0;
        }
        if x >= self.borders[last] {
            return 1.0;
        }
        let panel = self.borders.partition_point(|&border| border <= x) - 1;
        let part = RULE.integrate(self.borders[panel], x, |x| libm::exp((self.log_density)(x)));
        ((self.mass_below[panel] + part) / self.mass_below[last]).min(1.0)
    }

    /// The integral of e^h, to about 1e-10 relative where h is smooth.
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.mass_below[self.mass_below.len() - 1]
    }

    /// E X, to about 1e-10 relative where h is smooth.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// E min(X, limit), as accurate as the mean.
    #[must_use]
    pub fn mean_within(&self, limit: f64) -> f64 {
        let last = self.borders.len() - 1;
        if limit >= self.borders[last] {
            return self.mean;
        }
        let below: f64 = self
            .borders
            .windows(2)
            .filter(|panel| panel[0] < limit)
            .map(|panel| {
                let weighted = |x: f64| x * libm::exp((self.log_density)(x));
                RULE.integrate(panel[0], panel[1].min(limit), weighted)
            })
            .sum();
        below / self.mass_below[last] + limit * (1.0 - self.cdf(limit))
    }

    /// E X^2, to about 1e-10 relative where h is smooth.
    #[must_use]
    pub fn mean_square(&self) -> f64 {
        self.mean_square
    }

    /// An interval outside which the density is below e^-42 of its largest value.
    #[must_use]
    pub fn effective_support(&self) -> (f64, f64) {
        (self.borders[0], self.borders[self.borders.len() - 1])
    }
}

/// Borders of panels over which h varies little: the tangent points, and outward from the outermost
/// steps of two e-folds until the density is negligible or the support ends.
fn panel_borders(
    points: &[Tangent],
    h: impl Fn(f64) -> f64,
    slope: impl Fn(f64) -> f64,
    support: Support,
) -> Vec<f64> {
    const NEGLIGIBLE: f64 = -42.0;
    let top = h(support.mode);
    let outward = |direction: f64, from: f64, end: f64| {
        let mut borders = Vec::new();
        let mut x = from;
        while x != end && h(x) - top > NEGLIGIBLE {
            let next = x + direction * 2.0 / slope(x).abs();
            x = if direction * (end - next) > 0.0 { next } else { end };
            borders.push(x);
        }
        borders
    };
    let (first, last) = (points[0].x, points[points.len() - 1].x);
    let mut borders = outward(-1.0, first, support.lower);
    borders.reverse();
    borders.extend(points.iter().map(|point| point.x));
    borders.extend(outward(1.0, last, support.upper));
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal_on_half_line() -> LogConcave {
        let support = Support { lower: 0.0, upper: f64::INFINITY, mode: 0.0, width: 30.0 };
        LogConcave::new(|x| -0.5 * x * x, |x| -x, support)
    }

    #[test]
    fn moments_and_cdf_of_the_half_normal() {
        let law = normal_on_half_line();
        let mean = (2.0 / std::f64::consts::PI).sqrt();
        assert!((law.mean() / mean - 1.0).abs() < 1e-13);
        assert!((law.mean_square() - 1.0).abs() < 1e-13);
        for x in [1e-3, 0.3, 1.0, 2.5, 5.0] {
            assert!((law.cdf(x) - libm::erf(x / 2f64.sqrt())).abs() < 1e-13);
        }
        assert_eq!(law.cdf(-1.0), 0.0);
        assert_eq!(law.cdf(50.0), 1.0);
    }

    #[test]
    fn a_flat_density_on_an_interval_is_uniform() {
        let support = Support { lower: 2.0, upper: 5.0, mode: 2.0, width: 1.0 };
        let law = LogConcave::new(|_| 0.0, |_| 0.0, support);
        assert!((law.mean() - 3.5).abs() < 1e-14);
        assert!((law.cdf(3.0) - 1.0 / 3.0).abs() < 1e-14);
    }

    /// Moments of a Beta law, and of one that falls by 56 e-folds over a finite interval.
    #[test]
    fn densities_that_vanish_or_nearly_vanish_at_an_end() {
        let h = |x: f64| 3.0 * libm::log(x) + libm::log(1.0 - x);
        let slope = |x: f64| 3.0 / x - 1.0 / (1.0 - x);
        let support = Support { lower: 0.0, upper: 1.0, mode: 0.75, width: 1.0 };
        let law = LogConcave::new(h, slope, support);
        assert!((law.mean() - 4.0 / 6.0).abs() < 1e-13);
        assert!((law.mean_within(0.5) - 0.479_166_666_666_666_7).abs() < 1e-12);
        let support = Support { lower: 0.0, upper: 40.0, mode: 0.0, width: 1.0 };
        let law = LogConcave::new(|x| -x - 0.01 * x * x, |x| -1.0 - 0.02 * x, support);
        // e^(a^2) sqrt(pi) erfc(a)/(2 b) with b = 0.1, a = 1/(2 b)
        let mass = libm::exp(25.0) * std::f64::consts::PI.sqrt() * libm::erfc(5.0) * 5.0;
        assert!((law.mass() / mass - 1.0).abs() < 1e-12);
        assert!((law.mean() - (1.0 / mass - 1.0) * 50.0).abs() < 1e-10);
    }
}
