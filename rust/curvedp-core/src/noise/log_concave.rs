//! Exact rejection sampling from a log-concave density on an interval.
//!
//! The tangents of the log-density h at a set of points form a piecewise linear hull above h, the
//! chords between the points a squeeze below it (Gilks and Wild 1992, "Adaptive rejection
//! sampling"). All points are inserted at construction, where hull and squeeze are farthest apart
//! in area, so draws are independent, allocate nothing and evaluate h in about one of a hundred
//! cases. A piece is chosen by Walker's alias method, a point in it by inverting its exponential.
//!
//! *The support.* Where the hull falls by more than 8 e-folds over a piece, and on the infinite one, the
//! point is drawn with [`Stream::exponential`], and proposals that the squeeze does not decide are accepted by
//! a uniform number with 53 significant bits at every size. So no tail ends before the density is e^-700 of the
//! hull's height at the piece's start. The points that can be drawn are at most 2^-40 of an e-fold of the
//! hull apart (on flatter pieces, 2^-40 of the piece) or neighbouring doubles.

use std::sync::LazyLock;

use super::hull::{Hull, Tangent};
use super::quadrature::GaussLegendre;
use super::stream::{Stream, uniform_open};
use super::tails::refine;
use crate::simd::elementary::{exp, ln_1p};

/// Nodes for masses and moments, found once.
static RULE: LazyLock<GaussLegendre<20>> = LazyLock::new(GaussLegendre::new);

/// Pieces on which the hull falls by more e-folds than this are drawn by [`deep`]: 53 bits of a uniform number
/// would space their points too widely.
const DEEP: f64 = 8.0;

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

/// Part of the hull over an interval on which both hull and squeeze are linear, measured from the
/// end `start` where the hull is higher: at r = ln(relative hull density) <= 0 stands the point
/// start + step r, where the hull is height + r and exceeds the squeeze by gap + gap_slope r.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub start: f64,
    pub step: f64,
    /// The hull's fall over the piece.
    pub drop: f64,
    /// e^(-drop) - 1
    pub relative_drop: f64,
    pub height: f64,
    pub gap: f64,
    pub gap_slope: f64,
}

#[derive(Clone, Copy)]
struct AliasCell {
    threshold: f64,
    alias: u32,
}

/// A density proportional to e^h on (lower, upper), h concave.
///
/// h need be known only up to a constant, but should be near 0 at the mode: its rounding error is
/// the relative error of the density.
pub struct LogConcave {
    log_density: Function,
    support: Support,
    pieces: Vec<Piece>,
    alias: Vec<AliasCell>,
    /// Borders of the panels of quadrature, and the mass to the left of each.
    borders: Vec<f64>,
    mass_below: Vec<f64>,
    mean: f64,
    mean_square: f64,
    acceptance: f64,
    squeeze_acceptance: f64,
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
        let pieces = hull.pieces();
        Self {
            alias: alias_table(&hull.areas()),
            acceptance: mass / hull.area,
            squeeze_acceptance: hull.squeeze_area / hull.area,
            log_density: Box::new(log_density),
            support,
            pieces,
            borders,
            mass_below,
            mean: first / mass,
            mean_square: second / mass,
        }
    }

    /// One draw.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        loop {
            let bits = stream.bits();
            let slot = bits as usize & (self.alias.len() - 1);
            let cell = self.alias[slot];
            let index =
                if uniform_open(bits) < cell.threshold { slot } else { cell.alias as usize };
            let piece = &self.pieces[index];
            let r = if piece.drop <= DEEP {
                ln_1p(stream.uniform_open() * piece.relative_drop)
            } else {
                -deep(piece.drop, stream)
            };
            let x = (piece.start + piece.step * r).max(self.support.lower).min(self.support.upper);
            let u = stream.uniform_open();
            let squeeze = 1.0 - (piece.gap + piece.gap_slope * r);
            if u <= squeeze || self.accept(x, piece.height + r, refine(u, stream)) {
                return x;
            }
        }
    }

    #[cold]
    fn accept(&self, x: f64, hull: f64, u: f64) -> bool {
        u <= exp((self.log_density)(x) - hull)
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

    /// The fraction of proposals that is accepted.
    #[must_use]
    pub fn acceptance(&self) -> f64 {
        self.acceptance
    }

    /// The fraction of proposals that lies below the squeeze: accepted without evaluating h.
    #[must_use]
    pub fn squeeze_acceptance(&self) -> f64 {
        self.squeeze_acceptance
    }

    /// An interval outside which the density is below e^-42 of its largest value.
    #[must_use]
    pub fn effective_support(&self) -> (f64, f64) {
        (self.borders[0], self.borders[self.borders.len() - 1])
    }
}

/// A standard exponential given that it is at most `drop`.
#[cold]
fn deep(drop: f64, stream: &mut Stream) -> f64 {
    loop {
        let e = stream.exponential();
        if e <= drop {
            return e;
        }
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

/// Walker's alias table over a power of two of cells (Vose's construction).
fn alias_table(weights: &[f64]) -> Vec<AliasCell> {
    let cells = weights.len().next_power_of_two();
    let total: f64 = weights.iter().sum();
    let mut share: Vec<f64> = weights.iter().map(|w| w / total * cells as f64).collect();
    share.resize(cells, 0.0);
    let mut table = vec![AliasCell { threshold: 2.0, alias: 0 }; cells];
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..cells).partition(|&i| share[i] < 1.0);
    while let (Some(&low), Some(&high)) = (poor.last(), rich.last()) {
        poor.pop();
        table[low] = AliasCell { threshold: share[low], alias: high as u32 };
        share[high] -= 1.0 - share[low];
        if share[high] < 1.0 {
            rich.pop();
            poor.push(high);
        }
    }
    table
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
    fn acceptance_is_at_least_98_per_cent() {
        let law = normal_on_half_line();
        assert!(law.squeeze_acceptance() >= 0.98);
        assert!(law.acceptance() >= law.squeeze_acceptance() && law.acceptance() <= 1.0);
    }

    #[test]
    fn a_flat_density_on_an_interval_is_uniform() {
        let support = Support { lower: 2.0, upper: 5.0, mode: 2.0, width: 1.0 };
        let law = LogConcave::new(|_| 0.0, |_| 0.0, support);
        assert!((law.mean() - 3.5).abs() < 1e-14);
        assert!(law.acceptance() > 1.0 - 1e-12);
        let mut stream = Stream::from_key([9; 32], 0);
        let mean = (0..100_000).map(|_| law.sample(&mut stream)).sum::<f64>() / 1e5;
        assert!((mean - 3.5).abs() < 5.0 * 0.866 / 1e5f64.sqrt());
    }

    #[test]
    fn draws_stay_in_the_support_and_hull_and_squeeze_enclose_the_density() {
        let h = |x: f64| 3.0 * libm::log(x) + libm::log(1.0 - x);
        let slope = |x: f64| 3.0 / x - 1.0 / (1.0 - x);
        let support = Support { lower: 0.0, upper: 1.0, mode: 0.75, width: 1.0 };
        let law = LogConcave::new(h, slope, support);
        for piece in &law.pieces {
            for k in 0..=20 {
                let r = ln_1p(f64::from(k) / 20.000_001 * piece.relative_drop);
                let (x, hull) = (piece.start + piece.step * r, piece.height + r);
                let squeeze = hull - (piece.gap + piece.gap_slope * r);
                assert!(h(x) <= hull + 1e-12 && h(x) >= squeeze - 1e-12, "{x}");
            }
        }
        let mut stream = Stream::from_key([8; 32], 0);
        let mut mean = 0.0;
        for _ in 0..100_000 {
            let x = law.sample(&mut stream);
            assert!(x > 0.0 && x < 1.0);
            mean += x / 1e5;
        }
        assert!((mean - 4.0 / 6.0).abs() < 5.0 * 0.18 / 1e5f64.sqrt());
        assert!((law.mean() - 4.0 / 6.0).abs() < 1e-13);
    }

    /// A draw from the infinite piece whose exponential has `zeros` words of 0 more, and an acceptance
    /// threshold with four.
    fn far_draw(law: &LogConcave, zeros: usize) -> f64 {
        let slot = law.pieces.len() - 1;
        assert!(law.pieces[slot].drop.is_infinite() && law.alias[slot].threshold > 1e-9);
        // the slot, the tail of the ziggurat, a uniform number and its half
        let mut words = vec![slot as u64, u64::MAX << 12, 0];
        words.extend(vec![0; zeros]);
        words.extend([1, 0, u64::MAX]);
        words.extend([0; 5]);
        law.sample(&mut Stream::after_words(&words))
    }

    /// 53 bits of a uniform number end at 36.7 e-folds.
    #[test]
    fn the_infinite_piece_has_no_end() {
        let support = Support { lower: 0.0, upper: f64::INFINITY, mode: 0.0, width: 1.0 };
        let exponential = LogConcave::new(|x| -x, |_| -1.0, support);
        assert!(far_draw(&exponential, 0) > 50.0 && far_draw(&exponential, 3) > 180.0);
        let far = far_draw(&normal_on_half_line(), 0);
        assert!(far > 14.0, "{far}");
    }

    #[test]
    fn deep_finite_pieces_follow_the_law() {
        let h = |x: f64| -x - 0.01 * x * x;
        let support = Support { lower: 0.0, upper: 40.0, mode: 0.0, width: 1.0 };
        let law = LogConcave::new(h, |x| -1.0 - 0.02 * x, support);
        assert!(law.pieces.iter().any(|p| p.drop > DEEP));
        assert!(law.pieces.iter().all(|p| p.drop.is_finite()));
        let mut stream = Stream::from_key([6; 32], 0);
        let n = 200_000;
        let mut draws: Vec<f64> = (0..n).map(|_| law.sample(&mut stream)).collect();
        draws.sort_by(f64::total_cmp);
        assert!(draws[0] > 0.0 && draws[n - 1] < 40.0);
        let distance =
            draws.iter().enumerate().map(|(k, &x)| (law.cdf(x) - k as f64 / n as f64).abs());
        assert!(distance.fold(0.0, f64::max) < 2.5 / (n as f64).sqrt());
        // the deep piece by itself, cut at 9 e-folds
        let beyond = (0..n).filter(|_| deep(9.0, &mut stream) > 3.0).count() as f64 / n as f64;
        let expected = (libm::exp(-3.0) - libm::exp(-9.0)) / (1.0 - libm::exp(-9.0));
        assert!((beyond - expected).abs() < 5.0 * (expected / n as f64).sqrt());
    }

    #[test]
    fn alias_table_reproduces_the_weights() {
        let weights = [0.1, 3.0, 0.0, 2.0, 0.9];
        let table = alias_table(&weights);
        let mut share = [0.0; 8];
        for (slot, cell) in table.iter().enumerate() {
            let own = cell.threshold.min(1.0);
            share[slot] += own / 8.0;
            share[cell.alias as usize] += (1.0 - own) / 8.0;
        }
        for (found, weight) in share.iter().zip(weights) {
            assert!((found - weight / 6.0).abs() < 1e-15);
        }
    }
}
