//! The exponential mechanism on ranks: a noisy quantile of numbers in a public interval.
//!
//! Density proportional to exp(-|k(y) - q n|/scale) with respect to a public base measure, k(y) the number
//! of values below y. The intervals between neighbouring values run an exponential race at the rate of their
//! masses, first in groups, then within the group that wins, so that every mass counts with a few units of
//! relative rounding, down to 2^-1000 of the whole; the place in the interval is uniform on the base measure's scale.
//! Proof: docs/proofs/private-quantile.md.

use super::stream::Stream;
use crate::release::{grid_step, round};

/// One grid step is at most this fraction of the interval, on the base measure's scale: 2^-32.
const STEPS: f64 = 4_294_967_296.0;

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
        let n = values.len() as f64;
        let middle = 0.5 * (2.0 * self.level * n).round_ties_even();
        // q n is rounded to halves: differences of utilities are exact
        let utility = |k: usize| -1.0 / self.scale * (k as f64 - middle).abs();
        let log_mass = edges.windows(2).enumerate();
        let log_mass = log_mass.map(|(k, e)| libm::log(e[1] - e[0]) + utility(k)).collect();
        Intervals::new(edges, log_mass)
    }

    /// A draw, rounded to the public grid.
    pub fn sample(&self, intervals: &Intervals, stream: &mut Stream) -> f64 {
        let (low, high) = (intervals.edges[0], intervals.edges[intervals.edges.len() - 1]);
        let step = grid_step(high - low, STEPS);
        let rounded = low + round(intervals.draw(stream) - low, step);
        let value = if self.log_uniform { libm::exp(rounded) } else { rounded };
        value.max(self.low).min(self.high)
    }

    /// A number on the scale where the base measure is uniform.
    fn to_scale(&self, x: f64) -> f64 {
        if self.log_uniform { libm::log(x) } else { x }
    }
}

/// Intervals and the logarithms of their masses, in consecutive groups, about as many as there are in one.
#[derive(Clone, Debug)]
pub struct Intervals {
    edges: Vec<f64>,
    log_mass: Vec<f64>,
    size: usize,
    of_groups: Vec<f64>,
}

impl Intervals {
    /// Interval i reaches from `edges[i]` to `edges[i + 1]`.
    #[must_use]
    pub fn new(edges: Vec<f64>, log_mass: Vec<f64>) -> Self {
        let size = (log_mass.len() - 1).isqrt() + 1;
        let of_groups = log_mass.chunks(size).map(log_sum_exp).collect();
        Self { edges, log_mass, size, of_groups }
    }

    /// A draw before rounding.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let first = race(&self.of_groups, stream) * self.size;
        let own = &self.log_mass[first..(first + self.size).min(self.log_mass.len())];
        let winner = first + race(own, stream);
        let (left, right) = (self.edges[winner], self.edges[winner + 1]);
        left + stream.uniform_open() * (right - left)
    }
}

/// The index whose exponential at rate exp(log_rate) is the smallest.
fn race(log_rates: &[f64], stream: &mut Stream) -> usize {
    let (mut winner, mut least) = (0, f64::INFINITY);
    for (i, log_rate) in log_rates.iter().enumerate() {
        let log_time = libm::log(stream.exponential()) - log_rate;
        if log_time < least {
            (winner, least) = (i, log_time);
        }
    }
    winner
}

/// ln sum exp; minus infinity if all are.
fn log_sum_exp(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + libm::log(logs.iter().map(|x| libm::exp(x - top)).sum())
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
                let drawn = law.sample(&intervals, &mut stream);
                assert!((1e-3..=1.0).contains(&drawn));
            }
        }
        let drawn = UNIT.sample(&UNIT.intervals(&[0.2, 0.7]), &mut Stream::from_key([1; 32], 0));
        assert_eq!((drawn * STEPS).fract(), 0.0);
    }

    /// Exponentials with 53 bits end near 2^-50: the interval with the smaller mass would never win.
    #[test]
    fn a_mass_of_2_to_the_minus_100_can_win() {
        let log_rates = [-100.0 * std::f64::consts::LN_2, 0.0];
        // the first exponential lies below 2^-137
        let mut stream = Stream::after_words(&[0, 0, 0, 1 << 63, 0]);
        assert_eq!(race(&log_rates, &mut stream), 0);
        let mut stream = Stream::after_words(&[0, 0, 1 << 40, 0]);
        assert_eq!(race(&log_rates, &mut stream), 1);
    }

    #[test]
    fn tiny_masses_win_in_proportion() {
        let ln = f64::ln;
        let log_mass = vec![ln(1e-200), f64::NEG_INFINITY, ln(3e-200), ln(2e-200)];
        let intervals = Intervals::new((0..5).map(f64::from).collect(), log_mass);
        let mut stream = Stream::from_key([2; 32], 0);
        let mut seen = [0.0; 4];
        let n = 60_000;
        (0..n).for_each(|_| seen[intervals.draw(&mut stream) as usize] += 1.0 / f64::from(n));
        for (seen, share) in seen.iter().zip([1.0 / 6.0, 0.0, 0.5, 1.0 / 3.0]) {
            assert!((seen - share).abs() <= 5.0 * (share / f64::from(n)).sqrt(), "{seen} {share}");
        }
    }
}
