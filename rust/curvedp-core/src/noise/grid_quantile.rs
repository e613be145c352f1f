//! Quantiles of numbers on a public grid, which may tie, drawn exactly.
//!
//! One level q: grid point y has a probability in proportion to
//!
//! ```text
//! measure(y) exp(-max(0, L(y) - q n, q n - U(y))/scale),    L(y) = #{x < y},  U(y) = #{x <= y}.
//! ```
//!
//! Up to [`SEVERAL`] levels are drawn one by one and sorted. More are found by recursion: a draw for the middle one
//! cuts the values in two, and each part is given its own levels. A coin for each value orders those that tie, so that
//! the cut divides them too (docs/proofs/private-quantile.md).

use super::choice::{Masses, Power, Weights, below, rate};
use super::grid_measure::GridMeasure;
use super::stream::Stream;
use crate::exact::{Effort, Enclosure, Undecided};

/// Levels that are drawn one by one.
const SEVERAL: usize = 4;

/// One rank, in the units in which ranks are counted.
const RANK: i64 = 1 << 30;

/// Smaller scales, in ranks, count as this.
const LEAST_SCALE: f64 = 1.0 / (1 << 20) as f64;

/// Cells so many scales beyond the best have, together, less than 2^-200 of its mass.
const NEAR: f64 = 222.0;

/// Words in which the masses are found.
const TABLE: usize = 3;

/// The mechanism, all of it public.
#[derive(Clone, Debug, PartialEq)]
pub struct GridQuantile {
    /// Levels in [0, 1], increasing.
    pub levels: Vec<f64>,
    /// Public interval.
    pub ends: (f64, f64),
    /// Its grid.
    pub measure: GridMeasure,
    /// The first point, and the distance of neighbouring points.
    pub spacing: (f64, f64),
    /// Noise in ranks; that of the recursion is larger where a part is not cut in the middle.
    pub scale: f64,
    /// Bits of each value's coin.
    pub coin_bits: u32,
}

impl GridQuantile {
    /// The grid points of the values, in order.
    #[must_use]
    pub fn points(&self, values: &[f64]) -> Vec<u64> {
        let mut points: Vec<u64> = values.iter().map(|x| self.point(*x)).collect();
        points.sort_unstable();
        points
    }

    /// What all draws from some `points` have in common: the cells of each level, if each is drawn by itself.
    #[must_use]
    pub fn cells<'a>(&self, points: &'a [u64]) -> Vec<Cells<'a, u64>> {
        let single = if self.levels.len() > SEVERAL { &[][..] } else { &self.levels[..] };
        let range = (u128::from(self.measure.first), u128::from(self.measure.last) + 1);
        let part = Part { keys: points, range, cuts: false, coin_bits: 0 };
        single.iter().map(|q| Cells::new(part, self.measure, share(*q), self.scale)).collect()
    }

    /// A draw of all levels: numbers of grid points, in increasing order.
    pub fn sample(
        &self,
        points: &[u64],
        cells: &[Cells<'_, u64>],
        stream: &mut Stream,
        effort: Effort,
        out: &mut [u64],
    ) {
        if cells.is_empty() {
            return self.sample_together(points, stream, effort, out);
        }
        for (own, cells) in out.iter_mut().zip(cells) {
            *own = cells.draw(stream, effort) as u64;
        }
        out.sort_unstable();
    }

    fn sample_together(
        &self,
        points: &[u64],
        stream: &mut Stream,
        effort: Effort,
        out: &mut [u64],
    ) {
        let bits = self.coin_bits;
        let mut with_coin = |x: &u64| {
            let coin = if bits > 0 { stream.bits() >> (64 - bits) } else { 0 };
            u128::from(*x) << bits | u128::from(coin)
        };
        let mut keys: Vec<u128> = points.iter().map(&mut with_coin).collect();
        keys.sort_unstable();
        let (first, last) = (self.measure.first, self.measure.last);
        let [start, stop] = [first, last + 1].map(|x| u128::from(x) << bits);
        let all = (&self.levels[..], (0.0, 1.0));
        self.descend((&keys, (start, stop)), all, (stream, effort), out);
    }

    /// The closest grid point, of NaN the one that is closest to the lower end.
    fn point(&self, x: f64) -> u64 {
        let (first, step) = self.spacing;
        // f64::max takes the other of a number and NaN
        let steps = (x.max(self.ends.0).min(self.ends.1) - first) / step + 0.5;
        (self.measure.first + steps as u64).min(self.measure.last)
    }

    /// Levels between `bounds` in the part of the values that lie in `range`, whose cuts lie there too.
    fn descend(
        &self,
        (keys, range): (&[u128], (u128, u128)),
        (levels, bounds): (&[f64], (f64, f64)),
        (stream, effort): (&mut Stream, Effort),
        out: &mut [u64],
    ) {
        let middle = levels.len() / 2;
        let Some(level) = levels.get(middle).copied() else { return };
        let own = share((level - bounds.0) / (bounds.1 - bounds.0));
        let wider = 2.0 * own.max(RANK - own) as f64 / RANK as f64;
        let part = Part { keys, range, cuts: true, coin_bits: self.coin_bits };
        let cells = Cells::new(part, self.measure, own, self.scale * wider);
        let cut = cells.draw(stream, effort);
        out[middle] = (cut >> self.coin_bits) as u64;
        let (left, right) = keys.split_at(keys.partition_point(|key| *key <= cut));
        let (before, after) = out.split_at_mut(middle);
        let below = (&levels[..middle], (bounds.0, level));
        self.descend((left, (range.0, cut + 1)), below, (stream, effort), before);
        let above = (&levels[middle + 1..], (level, bounds.1));
        self.descend((right, (cut, range.1)), above, (stream, effort), &mut after[1..]);
    }
}

/// A level in units of ranks for each value.
fn share(level: f64) -> i64 {
    ((level * RANK as f64).round() as i64).clamp(0, RANK)
}

/// Some of the values, and where what is drawn for them may lie.
#[derive(Clone, Copy)]
struct Part<'a, K> {
    /// Points of the grid, each followed by its coin, in order.
    keys: &'a [K],
    /// First and after the last key that may be drawn.
    range: (u128, u128),
    /// True if a key is drawn as a cut, below which are the values up to and with it.
    cuts: bool,
    coin_bits: u32,
}

impl<K: Copy + Into<u128>> Part<'_, K> {
    fn key(&self, rank: usize) -> u128 {
        self.keys[rank].into()
    }

    /// Number of cells, between which keys the score is the same: gaps between values and, unless these are cuts,
    /// values.
    fn count(&self) -> usize {
        if self.cuts { self.keys.len() + 1 } else { 2 * self.keys.len() + 1 }
    }

    /// First and after the last key of a cell; the same for an empty one. Of values that tie the one has all that is
    /// closest to `middle` in rank.
    fn cell(&self, i: usize, middle: usize) -> (u128, u128) {
        let n = self.keys.len();
        let is_value = !self.cuts && i % 2 == 1;
        let rank = if self.cuts { i } else { i / 2 };
        if is_value {
            let key = self.key(rank);
            let is_last = rank >= middle || self.key(rank + 1) != key;
            let is_first = rank <= middle || self.key(rank - 1) != key;
            return (key, key + u128::from(is_last && is_first));
        }
        let start =
            if rank == 0 { self.range.0 } else { self.key(rank - 1) + u128::from(!self.cuts) };
        let stop = if rank == n { self.range.1 } else { self.key(rank) };
        (start, stop.max(start))
    }
}

/// Cells of equal score, and integers in proportion to which they are proposed.
pub struct Cells<'a, K> {
    part: Part<'a, K>,
    measure: GridMeasure,
    /// q n, in units.
    target: i64,
    scale: f64,
    weights: Weights,
}

impl<'a, K: Copy + Into<u128>> Cells<'a, K> {
    fn new(part: Part<'a, K>, measure: GridMeasure, share: i64, scale: f64) -> Self {
        let n = part.keys.len();
        let scale = scale.clamp(LEAST_SCALE, f64::MAX);
        let weights = Weights::default();
        let mut own = Self { part, measure, target: share * n as i64, scale, weights };
        let count = own.part.count();
        let near = own.near(count);
        let below = own.powers(own.target % RANK, own.steps(near.start));
        let above = own.powers(RANK - own.target % RANK, own.steps(near.end - 1));
        let bound = |i: usize| {
            let mass = own.length(i);
            let cut = (128 - mass.leading_zeros()).saturating_sub(60);
            let (power, at) = match own.distance(i) {
                0 => (1 << 60, -60),
                units if own.signed(i) < 0 => below[(units / RANK) as usize],
                units => above[((units - 1) / RANK) as usize],
            };
            // rounded up, unless there is nothing
            let rounded = (mass >> cut) + u128::from(cut > 0);
            (if mass > 0 { rounded * power } else { 0 }, at + i64::from(cut))
        };
        own.weights = Weights::within(count, near, bound);
        own
    }

    /// The rank, of those that values have, that the quantile has.
    fn middle(&self) -> usize {
        ((self.target / RANK) as usize).min(self.part.keys.len().saturating_sub(1))
    }

    /// The score before its sign is lost, in units: 0 at the values that are the quantile.
    fn signed(&self, i: usize) -> i64 {
        if self.part.cuts {
            return i as i64 * RANK - self.target;
        }
        let (rank, middle) = (i / 2, self.middle());
        match (i % 2 == 1, rank) {
            (true, rank) if rank == middle => 0,
            (true, rank) if rank < middle => (rank as i64 + 1) * RANK - self.target,
            _ => rank as i64 * RANK - self.target,
        }
    }

    /// The score, in units.
    fn distance(&self, i: usize) -> i64 {
        self.signed(i).abs()
    }

    /// The score in whole ranks, rounded up.
    fn steps(&self, i: usize) -> usize {
        (self.distance(i) / RANK) as usize + 1
    }

    /// Mass of a cell without its score.
    fn length(&self, i: usize) -> u128 {
        let (start, stop) = self.part.cell(i, self.middle());
        self.before(stop) - self.before(start)
    }

    /// Mass of the keys below one.
    fn before(&self, key: u128) -> u128 {
        let bits = self.part.coin_bits;
        let point = (key >> bits) as u64;
        let coin = key & ((1 << bits) - 1);
        let whole = self.measure.before(point) << bits;
        if coin == 0 { whole } else { whole + self.measure.at(point) * coin }
    }

    /// Cells that are not far more improbable than the best one.
    fn near(&self, count: usize) -> std::ops::Range<usize> {
        let center = match self.part.cuts {
            true => (self.target / RANK) as usize,
            false => (2 * self.middle() + 1).min(count - 1),
        };
        let is_empty = |i: usize| {
            let (start, stop) = self.part.cell(i, self.middle());
            start == stop
        };
        let sides = |d: usize| [center.checked_sub(d), Some(center + d).filter(|i| *i < count)];
        let best = (0..count).find_map(|d| sides(d).into_iter().flatten().find(|i| !is_empty(*i)));
        let cells_per_rank = if self.part.cuts { 1.0 } else { 2.0 };
        let reach = self.distance(best.unwrap_or(0)) as f64 / RANK as f64 + NEAR * self.scale + 3.0;
        let reach = (cells_per_rank * reach) as usize;
        center.saturating_sub(reach)..center.saturating_add(reach).saturating_add(1).min(count)
    }

    /// Bounds on e^(-D/scale) at so many D, `from` units and then one rank more each: an integer of 63 bits, and the
    /// exponent of its unit.
    fn powers(&self, from: i64, count: usize) -> Vec<(u128, i64)> {
        let power = |units: i64| Some(Power::<TABLE>::new(&log_share(units, self.scale).ok()?));
        let mut bounds = Vec::with_capacity(count + 1);
        if let (Some(mut power), Some(step)) = (power(from), power(RANK)) {
            for _ in 0..=count {
                bounds.push(power.bound().unwrap_or((0, 0)));
                power = power.times(&step);
            }
        }
        bounds
    }

    /// A key.
    fn draw(&self, stream: &mut Stream, effort: Effort) -> u128 {
        let cell = self.weights.draw(self, stream, effort);
        let (mut start, mut stop) = self.part.cell(cell, self.middle());
        if stop - start <= 1 {
            return start;
        }
        let chosen = self.before(start) + below_wide(self.length(cell), stream);
        while stop - start > 1 {
            let half = start + (stop - start) / 2;
            if self.before(half) <= chosen {
                start = half;
            } else {
                stop = half;
            }
        }
        start
    }
}

impl<K: Copy + Into<u128>> Masses for Cells<'_, K> {
    fn mass<const N: usize>(&self, i: usize, unit: i64) -> Result<Enclosure<N>, Undecided> {
        let length = self.length(i);
        let bits = 128 - length.leading_zeros() as i32;
        let power = Power::new(&log_share(self.distance(i), self.scale)?);
        Ok(power.scaled(&Enclosure::dyadic(length as i128, -bits), unit - i64::from(bits)))
    }
}

/// A uniform integer below `total`.
fn below_wide(total: u128, stream: &mut Stream) -> u128 {
    if let Ok(total) = u64::try_from(total) {
        return u128::from(below(total, stream));
    }
    let mask = u128::MAX >> total.leading_zeros();
    loop {
        let drawn = (u128::from(stream.bits()) << 64 | u128::from(stream.bits())) & mask;
        if drawn < total {
            return drawn;
        }
    }
}

/// -D/scale for D in units
fn log_share<const N: usize>(units: i64, scale: f64) -> Result<Enclosure<N>, Undecided> {
    Ok(rate::<N>(scale, RANK.ilog2() as i32)?.times(&Enclosure::integer(units)).negated())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(levels: &[f64], scale: f64) -> GridQuantile {
        GridQuantile {
            levels: levels.to_vec(),
            ends: (0.0, 10.0),
            measure: GridMeasure { first: 0, last: 10_000, decimals: 4, octaves: false },
            spacing: (0.0, 1e-3),
            scale,
            coin_bits: 32,
        }
    }

    fn values(n: u64) -> Vec<f64> {
        (0..n).map(|i| (i * i % 97 / 3) as f64 * 0.31).collect()
    }

    #[test]
    fn values_of_every_kind_lie_on_the_grid() {
        let own = law(&[0.5], 2.0);
        let all = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.3, -0.0, 1e300, 9.9996, 0.0004];
        assert_eq!(own.points(&all), [0, 0, 0, 0, 300, 10_000, 10_000, 10_000]);
    }

    /// Cells are disjoint, in order, and all points between the ends lie in one, with the score of the formula.
    #[test]
    fn cells_partition_the_grid_by_the_score_of_the_formula() {
        for n in [0, 1, 2, 7, 60] {
            let (own, values) = (law(&[0.0, 0.3, 0.5, 1.0], 2.0), values(n));
            let points = own.points(&values);
            for cells in own.cells(&points) {
                let mut next = 0;
                for i in 0..cells.part.count() {
                    let (start, stop) = cells.part.cell(i, cells.middle());
                    if start == stop {
                        continue;
                    }
                    assert_eq!(start, next);
                    next = stop;
                    for y in [start as u64, stop as u64 - 1] {
                        let below = points.partition_point(|x| *x < y) as i64 * RANK;
                        let up_to = points.partition_point(|x| *x <= y) as i64 * RANK;
                        let score = (below - cells.target).max(cells.target - up_to).max(0);
                        assert_eq!(cells.distance(i), score);
                    }
                }
                assert_eq!(next, 10_001);
            }
        }
    }

    #[test]
    fn weights_are_at_least_the_masses_also_of_cells_that_are_not_counted() {
        let values = values(900);
        for scale in [0.02, 0.5, 3.0, 1e9] {
            let own = law(&[0.3], scale);
            let points = own.points(&values);
            let cells = &own.cells(&points)[0];
            for i in 0..cells.part.count() {
                let mass = cells.mass::<8>(i, cells.weights.unit() + 62).unwrap();
                let mass = mass.middle_as_double() * 2f64.powi(62);
                let weight = cells.weights.weight(i) as f64;
                let is_tight = weight <= mass * (1.0 + 1e-12) + 2.0;
                assert!(mass <= weight && is_tight, "{scale} {i} {mass} {weight}");
            }
        }
    }

    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        let values = values(300);
        for levels in [&[0.5][..], &[0.2, 0.4], &[0.1, 0.3, 0.5, 0.7, 0.9]] {
            for scale in [1e-12, 0.1, 3.0, 1e12] {
                let own = law(levels, scale);
                let points = own.points(&values);
                let cells = own.cells(&points);
                let (mut a, mut b) = (Stream::from_key([3; 32], 0), Stream::from_key([3; 32], 0));
                let mut drawn = vec![[0; 2]; levels.len()].concat();
                for _ in 0..50 {
                    let (one, two) = drawn.split_at_mut(levels.len());
                    own.sample(&points, &cells, &mut a, Effort::Steady, one);
                    own.sample(&points, &cells, &mut b, Effort::Least, two);
                    assert_eq!(one, two);
                    assert!(one.is_sorted() && one.iter().all(|x| *x <= 10_000));
                }
            }
        }
    }

    /// Keys of one value without coins: every cut but those at the ends of the range is far from the target.
    #[test]
    fn cuts_exist_where_all_values_tie() {
        let own = GridQuantile { coin_bits: 0, ..law(&[0.2, 0.4, 0.5, 0.6, 0.8], 1e-3) };
        let points = own.points(&[5.0; 1000]);
        let mut drawn = [0; 5];
        for number in 0..200 {
            let mut stream = Stream::from_key([5; 32], number);
            own.sample(&points, &[], &mut stream, Effort::Least, &mut drawn);
            assert!(drawn.is_sorted());
        }
    }
}
