//! The exponential mechanism on ranks: a noisy quantile of numbers in a public interval, drawn exactly.
//!
//! Density proportional to exp(-|k(y) - q n|/scale) with respect to a public base measure, k(y) the number
//! of values below y. An interval between neighbouring values is proposed with an integer weight of at least its
//! mass and accepted in proportion to the mass, which enclosures decide; the place in it is uniform on the base
//! measure's scale, and rounded to the public grid. So the law is that of the real numbers, whatever the weights
//! are (docs/proofs/private-quantile.md, docs/proofs/exact-draws.md).

use super::choice::{Masses, Power, Weights, rate};
use super::stream::{Stream, Variable};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::release::grid_step;
use crate::vector::exponent;

/// One grid step is at most this fraction of the interval, on the base measure's scale: 2^-32.
const STEPS: f64 = 4_294_967_296.0;

/// Smaller scales, in ranks, count as this.
const LEAST_SCALE: f64 = 1.0 / (1 << 30) as f64;

/// Words in which the masses are found.
const TABLE: usize = 3;

/// The mechanism, all of it public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankExponential {
    /// q, in [0, 1].
    pub level: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// True if the base measure is uniform in the logarithm (low > 0) instead of the number itself.
    pub log_uniform: bool,
    /// Noise in ranks.
    pub scale: f64,
}

impl RankExponential {
    /// The intervals between `values`, which are brought to the interval (NaN to its lower end) and sorted.
    #[must_use]
    pub fn intervals(&self, values: &[f64]) -> Intervals {
        let mut edges = Vec::with_capacity(values.len() + 2);
        edges.push(self.to_scale(self.low));
        // f64::max takes the other of a number and NaN
        edges.extend(values.iter().map(|x| self.to_scale(x.max(self.low).min(self.high))));
        edges[1..].sort_unstable_by(f64::total_cmp);
        edges.push(self.to_scale(self.high));
        // q n is rounded to halves of ranks
        let n = values.len() as f64;
        let twice_middle = (2.0 * self.level * n).round_ties_even() as i64;
        Intervals::new(edges, twice_middle, self.scale.clamp(LEAST_SCALE, f64::MAX))
    }

    /// A draw, rounded to the public grid.
    pub fn sample(&self, intervals: &Intervals, stream: &mut Stream, effort: Effort) -> f64 {
        let rounded = intervals.draw(stream, effort);
        let value = if self.log_uniform { libm::exp(rounded) } else { rounded };
        value.max(self.low).min(self.high)
    }

    /// A number on the scale where the base measure is uniform.
    fn to_scale(&self, x: f64) -> f64 {
        if self.log_uniform { libm::log(x) } else { x }
    }
}

/// The intervals between neighbouring numbers, and integers that are at least in proportion to their masses
///
/// ```text
/// mass_k = (edges[k + 1] - edges[k]) e^(-h_k/(2 scale)),    h_k = |2 k - twice_middle|
/// ```
#[derive(Clone, Debug)]
pub struct Intervals {
    edges: Vec<f64>,
    twice_middle: i64,
    scale: f64,
    weights: Weights,
}

/// A positive double as an integer times a power of two.
fn parts(x: f64) -> (u64, i64) {
    let (stored, fraction) = ((x.to_bits() >> 52) as i64, x.to_bits() & ((1 << 52) - 1));
    if stored == 0 { (fraction, -1074) } else { (fraction | 1 << 52, stored - 1075) }
}

impl Intervals {
    /// Interval k reaches from `edges[k]` to `edges[k + 1]`.
    fn new(edges: Vec<f64>, twice_middle: i64, scale: f64) -> Self {
        let count = edges.len() - 1;
        let halves = |k: usize| (2 * k as i64 - twice_middle).unsigned_abs() as usize;
        // bounds on e^(-h/(2 scale)) for every second h: an integer of 63 bits, and the exponent of its unit
        let (first, most) = (twice_middle as usize % 2, halves(0).max(halves(count - 1)));
        let power = |halves: i64| Some(Power::<TABLE>::new(&log_share(halves, scale).ok()?));
        let mut bounds = Vec::with_capacity(most / 2 + 1);
        if let (Some(mut power), Some(step)) = (power(first as i64), power(2)) {
            for _ in 0..=most / 2 {
                bounds.push(power.bound().unwrap_or((0, 0)));
                power = power.times(&step);
            }
        }
        let weights = Weights::new(count, |k| {
            let (length, at) = parts(edges[k + 1] - edges[k]);
            let (bound, exponent) = bounds[halves(k) / 2];
            // the difference of two doubles is rounded by less than one of its units
            let product = u128::from(length + 1) * bound;
            (if edges[k + 1] > edges[k] { product } else { 0 }, at + exponent)
        });
        Self { edges, twice_middle, scale, weights }
    }

    /// A draw, rounded to the grid that begins at the first edge.
    fn draw(&self, stream: &mut Stream, effort: Effort) -> f64 {
        let (low, high) = (self.edges[0], self.edges[self.edges.len() - 1]);
        if low == high {
            return low;
        }
        let interval = self.weights.draw(self, stream, effort);
        let step = grid_step(high - low, STEPS);
        let within = stream.variable();
        let place = Place { intervals: self, interval, within, grid: exponent(step), stream };
        low + decide(&place, effort) as f64 * step
    }

    /// edges[b] - edges[a], as a multiple of 2^`unit`.
    fn length<const N: usize>(&self, a: usize, b: usize, unit: i32) -> Enclosure<N> {
        // both are numbers below 1 first, since they may be far from 0 and close to each other
        let [a, b] = [a, b].map(|i| self.edges[i]);
        let size = exponent(a.abs().max(b.abs()).max(f64::MIN_POSITIVE)) + 1;
        let [a, b] = [a, b].map(|x| Enclosure::double(x, -size));
        b.minus(&a).shifted(size - unit)
    }
}

impl Masses for Intervals {
    fn mass<const N: usize>(&self, k: usize, unit: i64) -> Result<Enclosure<N>, Undecided> {
        // the length in units in which it is near 1
        let at = parts(self.edges[k + 1] - self.edges[k]).1 + 52;
        let length = self.length::<N>(k, k + 1, at as i32);
        let share = log_share((2 * k as i64 - self.twice_middle).abs(), self.scale)?;
        Ok(Power::new(&share).scaled(&length, unit - at))
    }
}

/// Which multiple of 2^`grid`, counted from the first edge, is closest to a place in an interval?
struct Place<'a> {
    intervals: &'a Intervals,
    interval: usize,
    within: Variable,
    grid: i32,
    stream: &'a Stream,
}

impl Question for Place<'_> {
    type Answer = i64;

    fn ask<const N: usize>(&self) -> Result<i64, Undecided> {
        let length = |a: usize, b: usize| self.intervals.length::<N>(a, b, self.grid);
        let own = length(self.interval, self.interval + 1);
        length(0, self.interval).plus(&self.within.at::<N>(self.stream).times(&own)).nearest()
    }
}

/// -halves/(2 scale)
fn log_share<const N: usize>(halves: i64, scale: f64) -> Result<Enclosure<N>, Undecided> {
    Ok(rate::<N>(scale, 1)?.times(&Enclosure::integer(halves)).negated())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: RankExponential =
        RankExponential { level: 0.5, low: 0.0, high: 1.0, log_uniform: false, scale: 2.0 };

    #[test]
    fn values_of_every_kind_leave_a_draw_on_the_grid_of_the_interval() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.3, -0.0, 1e300, 0.3];
        for base in [false, true] {
            let law = RankExponential { low: 1e-3, log_uniform: base, ..UNIT };
            let mut stream = Stream::from_key([4; 32], 0);
            for n in 0..=values.len() {
                let intervals = law.intervals(&values[..n]);
                assert!(intervals.edges.is_sorted());
                let drawn = law.sample(&intervals, &mut stream, Effort::Least);
                assert!((1e-3..=1.0).contains(&drawn));
            }
        }
        let intervals = UNIT.intervals(&[0.2, 0.7]);
        let drawn = UNIT.sample(&intervals, &mut Stream::from_key([1; 32], 0), Effort::Steady);
        assert_eq!((drawn * STEPS).fract(), 0.0);
    }

    /// Shares of the intervals [0, 1], [1, 1], [1, 4], [4, 6], ranks 0 to 3, and those that 30,000 draws give.
    fn shares(twice_middle: i64, scale: f64, factor: f64) -> f64 {
        let edges = vec![0.0, 1.0, 1.0, 4.0, 6.0];
        let mass = |k: usize, length: f64| {
            let rank = (k as f64 - 0.5 * twice_middle as f64).abs();
            let nearest = (0.5 * twice_middle as f64 - 3.0).max(0.0);
            length * libm::exp(-factor * (rank - nearest) / scale)
        };
        let masses = [mass(0, 1.0), 0.0, mass(2, 3.0), mass(3, 2.0)];
        let total: f64 = masses.iter().sum();
        let intervals = Intervals::new(edges, twice_middle, scale);
        let (mut stream, n) = (Stream::from_key([2; 32], 0), 30_000);
        let mut seen = [0.0; 4];
        for _ in 0..n {
            let drawn = intervals.draw(&mut stream, Effort::Least);
            seen[if drawn < 1.0 {
                0
            } else if drawn < 4.0 {
                2
            } else {
                3
            }] += 1.0;
        }
        let distance = |(mass, seen): (f64, f64)| {
            let expected = mass / total * f64::from(n);
            if mass == 0.0 { seen } else { (seen - expected) * (seen - expected) / expected }
        };
        masses.into_iter().zip(seen).map(distance).sum()
    }

    #[test]
    fn intervals_are_drawn_in_proportion_to_their_masses() {
        // the last has masses of e^-5000 and less
        for (twice_middle, scale) in [(0, 1e9), (3, 2.0), (4, 0.7), (10_006, 1.0)] {
            let distance = shares(twice_middle, scale, 1.0);
            assert!(distance < 16.0, "{twice_middle} {distance}"); // 2 degrees of freedom
        }
        let control = shares(10_006, 1.0, 1.1);
        assert!(control > 25.0, "{control}");
    }

    #[test]
    fn weights_are_at_least_the_masses() {
        let values: Vec<f64> = (0..300).map(|i| 1e-3 * f64::from(i * i % 311)).collect();
        let law = RankExponential { level: 0.3, scale: 4.0, ..UNIT };
        let own = law.intervals(&values);
        for k in 0..=300 {
            let mass = own.mass::<8>(k, own.weights.unit() + 62).unwrap();
            let mass = mass.middle_as_double() * 2f64.powi(62);
            let weight = own.weights.weight(k) as f64;
            assert!(mass <= weight && weight <= mass * (1.0 + 1e-12) + 2.0, "{mass} {weight}");
        }
    }

    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        let values: Vec<f64> = (0..50).map(|i| libm::exp(-f64::from(i) * 3.0)).collect();
        for log_uniform in [false, true] {
            for scale in [1e-12, 0.1, 3.0, 1e12] {
                let law = RankExponential { low: 1e-60, scale, log_uniform, ..UNIT };
                let intervals = law.intervals(&values);
                let (mut a, mut b) = (Stream::from_key([3; 32], 0), Stream::from_key([3; 32], 0));
                for _ in 0..200 {
                    let steady = law.sample(&intervals, &mut a, Effort::Steady);
                    assert_eq!(steady, law.sample(&intervals, &mut b, Effort::Least));
                }
            }
        }
    }

    /// All values at one end: the only interval of positive length is 10,000 scales away.
    #[test]
    fn intervals_far_from_the_rank_win_if_there_are_no_others() {
        let law = RankExponential { scale: 0.05, ..UNIT };
        let intervals = law.intervals(&vec![0.0; 1000]);
        let mut stream = Stream::from_key([4; 32], 0);
        let draws: Vec<f64> =
            (0..2000).map(|_| law.sample(&intervals, &mut stream, Effort::Least)).collect();
        let mean = draws.iter().sum::<f64>() / 2000.0;
        assert!((mean - 0.5).abs() < 5.0 * 0.29 / 2000f64.sqrt(), "{mean}");
        // numbers whose difference is the least of all, in a range that is as long as can be
        let wide = RankExponential { high: 1e290, ..UNIT };
        let mut values = vec![0.0; 300];
        values.extend(vec![5e-324; 300]);
        let drawn = wide.sample(&wide.intervals(&values), &mut stream, Effort::Steady);
        assert!((0.0..=1e290).contains(&drawn));
        // tiny lengths beside a length of 1
        let intervals = law.intervals(&[5e-324, 1e-320, 1e-300]);
        assert!(law.sample(&intervals, &mut stream, Effort::Steady) >= 0.0);
    }
}
