//! A draw from finitely many, each with a probability in proportion to its mass, decided by integers and
//! enclosures: one is proposed with an integer weight that is at least its mass and accepted in proportion to the
//! mass. So the law does not depend on the weights (docs/proofs/exact-draws.md).

use std::ops::Range;

use super::stream::{Stream, Variable};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::vector::exponent;

/// What is drawn from: masses, known up to a common factor.
pub(super) trait Masses {
    /// Mass i times 2^-`unit`.
    ///
    /// # Errors
    /// [`Undecided`] if more words are needed.
    fn mass<const N: usize>(&self, i: usize, unit: i64) -> Result<Enclosure<N>, Undecided>;
}

/// Integer weights of the masses.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights {
    /// The sum of the weights up to and with each of those that are counted.
    up_to: Vec<u64>,
    /// The first of these.
    first: usize,
    /// Number of all others, whose weight is 1.
    others: u64,
    /// A weight of 1 stands for a mass of 2^unit.
    unit: i64,
}

impl Weights {
    /// Weights from upper bounds on the masses: an integer below 2^127 and the exponent of its unit.
    pub(super) fn new(count: usize, bound: impl Fn(usize) -> (u128, i64)) -> Self {
        Self::within(count, 0..count, bound)
    }

    /// The same, if each mass outside of a range is less than 2^-60/count of the largest one.
    pub(super) fn within(
        count: usize,
        range: Range<usize>,
        bound: impl Fn(usize) -> (u128, i64),
    ) -> Self {
        let size = |(bound, at): (u128, i64)| (bound > 0).then(|| at + i64::from(bound.ilog2()));
        let largest = range.clone().filter_map(|i| size(bound(i))).max().unwrap_or(0);
        // the largest weight has so many bits that the sum of all has at most 63
        let unit = largest - 60 + i64::from(count.ilog2());
        let mut sum = 0;
        let (first, others) = (range.start, (count - range.len()) as u64);
        let up_to = range.map(|i| {
            let (bound, at) = bound(i);
            sum += match unit - at {
                _ if bound == 0 => 0,
                shift @ ..=0 => (bound << -shift) as u64,
                shift @ 1..128 => (bound >> shift) as u64 + 1,
                _ => 1,
            };
            sum
        });
        Self { up_to: up_to.collect(), first, others, unit }
    }

    /// A draw; 0 if all masses are.
    pub(super) fn draw<M: Masses>(&self, masses: &M, stream: &mut Stream, effort: Effort) -> usize {
        let counted = self.up_to[self.up_to.len() - 1];
        if counted == 0 {
            return 0;
        }
        loop {
            let chosen = below(counted + self.others, stream);
            let proposed = match chosen.checked_sub(counted) {
                None => self.first + self.up_to.partition_point(|sum| *sum <= chosen),
                Some(other) if (other as usize) < self.first => other as usize,
                Some(other) => other as usize + self.up_to.len(),
            };
            let (weight, height) = (self.weight(proposed), stream.variable());
            let unit = self.unit;
            let acceptance = Acceptance { masses, proposed, unit, weight, height, stream };
            if decide(&acceptance, effort) {
                return proposed;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn unit(&self) -> i64 {
        self.unit
    }

    pub(super) fn weight(&self, i: usize) -> u64 {
        match i.checked_sub(self.first).filter(|place| *place < self.up_to.len()) {
            None => 1,
            Some(0) => self.up_to[0],
            Some(place) => self.up_to[place] - self.up_to[place - 1],
        }
    }
}

/// Is one that was proposed accepted?
struct Acceptance<'a, M> {
    masses: &'a M,
    proposed: usize,
    unit: i64,
    weight: u64,
    height: Variable,
    stream: &'a Stream,
}

impl<M: Masses> Question for Acceptance<'_, M> {
    type Answer = bool;

    fn ask<const N: usize>(&self) -> Result<bool, Undecided> {
        // both sides are divided by 2^62
        let mass = self.masses.mass::<N>(self.proposed, self.unit + 62)?;
        let weight = Enclosure::dyadic(i128::from(self.weight), -62);
        weight.times(&self.height.at::<N>(self.stream)).is_less(&mass)
    }
}

/// A uniform integer below `total`.
pub(crate) fn below(total: u64, stream: &mut Stream) -> u64 {
    let mask = u64::MAX >> total.leading_zeros();
    loop {
        let word = stream.bits() & mask;
        if word < total {
            return word;
        }
    }
}

/// e^x as `mantissa` 2^`exponent`.
pub(crate) struct Power<const N: usize> {
    /// Between 1/2 and 2.
    pub(crate) mantissa: Enclosure<N>,
    pub(crate) exponent: i64,
}

impl<const N: usize> Power<N> {
    pub(crate) fn new(x: &Enclosure<N>) -> Self {
        // any integer will do as the exponent: e^x = 2^m e^(x - m ln 2); twice, since m is a double first
        let (mut rest, mut exponent) = (*x, 0);
        for _ in 0..2 {
            let m = (rest.middle_as_double() * std::f64::consts::LOG2_E).round() as i64;
            rest = rest.minus(&Enclosure::ln_2().times(&Enclosure::integer(m)));
            exponent = i64::saturating_add(exponent, m);
        }
        Self { mantissa: rest.exp(), exponent }
    }

    /// The product, its mantissa between 1 and 2.
    pub(super) fn times(&self, other: &Self) -> Self {
        let mantissa = self.mantissa.times(&other.mantissa);
        let size = mantissa.exponent().unwrap_or(0);
        let exponent = self.exponent + other.exponent + i64::from(size);
        Self { mantissa: mantissa.shifted(-size), exponent }
    }

    /// An integer and the exponent of its unit that are no less.
    pub(super) fn bound(&self) -> Option<(u128, i64)> {
        let bound = self.mantissa.above(60)?.unsigned_abs();
        Some((u128::from(bound), self.exponent - 60))
    }

    /// `factor` e^x 2^-`unit`.
    pub(crate) fn scaled(&self, factor: &Enclosure<N>, unit: i64) -> Enclosure<N> {
        let shift = (self.exponent - unit).clamp(-1 << 20, 1 << 20);
        factor.times(&self.mantissa).shifted(shift as i32)
    }
}

/// 1/(x 2^`exponent`) for a positive double x.
pub(crate) fn rate<const N: usize>(
    x: f64,
    exponent_of_unit: i32,
) -> Result<Enclosure<N>, Undecided> {
    let size = exponent(x);
    Ok(Enclosure::double(x, -size).reciprocal()?.shifted(-size - exponent_of_unit))
}

/// The exponential mechanism on finitely many: entry i with a probability in proportion to
/// e^(log_weights[i] - lengths[i]/scale), as real numbers.
pub struct Choice<'a> {
    log_weights: &'a [f64],
    lengths: &'a [f64],
    least: f64,
    scale: f64,
    weights: Weights,
}

/// Entries whose length exceeds the least by this many scales are never drawn: of probability e^-2^39 together.
const FARTHEST: f64 = (1u64 << 40) as f64;

/// Log weights are at most this, in size.
const LARGEST_LOG: f64 = (1u64 << 32) as f64;

impl<'a> Choice<'a> {
    /// None unless there are as many lengths as log weights, at least one, the log weights are at most 2^32 in
    /// size, and the scale is a normal positive number. Lengths that are not finite count as the largest double.
    #[must_use]
    pub fn new(log_weights: &'a [f64], lengths: &'a [f64], scale: f64) -> Option<Self> {
        let in_range =
            log_weights.iter().all(|x| x.abs() <= LARGEST_LOG) && scale.is_normal() && scale > 0.0;
        if !in_range || lengths.is_empty() || lengths.len() != log_weights.len() {
            return None;
        }
        let least = lengths.iter().map(|x| finite(*x)).fold(f64::MAX, f64::min);
        let mut own = Self { log_weights, lengths, least, scale, weights: Weights::default() };
        let bounds: Vec<_> = (0..lengths.len()).map(|i| own.bound(i)).collect();
        own.weights = Weights::new(lengths.len(), |i| bounds[i]);
        Some(own)
    }

    /// A draw.
    pub fn draw(&self, stream: &mut Stream, effort: Effort) -> usize {
        self.weights.draw(self, stream, effort)
    }

    /// The logarithm of mass i, times e^(least/scale).
    fn log_mass<const N: usize>(&self, i: usize) -> Result<Enclosure<N>, Undecided> {
        // lengths are numbers below 1 first, since they may be far from 0 and close to each other
        let both = [finite(self.lengths[i]), self.least];
        let size = exponent(both[0].abs().max(both[1].abs()).max(f64::MIN_POSITIVE)) + 1;
        let [own, least] = both.map(|x| Enclosure::<N>::double(x, -size));
        let unit = exponent(self.scale);
        let fall = own.minus(&least).shifted(size - unit).times(&rate(self.scale, -unit)?);
        Ok(Enclosure::double(self.log_weights[i], 0).minus(&fall))
    }

    fn bound(&self, i: usize) -> (u128, i64) {
        let is_near = (finite(self.lengths[i]) - self.least) / self.scale < FARTHEST;
        if is_near { decide(&Bound { choice: self, i }, Effort::Least) } else { (0, 0) }
    }
}

/// What is a bound on mass i?
struct Bound<'a, 'b> {
    choice: &'a Choice<'b>,
    i: usize,
}

impl Question for Bound<'_, '_> {
    type Answer = (u128, i64);

    fn ask<const N: usize>(&self) -> Result<(u128, i64), Undecided> {
        Power::new(&self.choice.log_mass::<N>(self.i)?).bound().ok_or(Undecided)
    }
}

impl Masses for Choice<'_> {
    fn mass<const N: usize>(&self, i: usize, unit: i64) -> Result<Enclosure<N>, Undecided> {
        Ok(Power::new(&self.log_mass(i)?).scaled(&Enclosure::integer(1), unit))
    }
}

/// The length itself, or the largest double.
fn finite(length: f64) -> f64 {
    if length.is_finite() { length } else { f64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of 30,000 draws against probabilities in proportion to e^(log weight - factor length/scale).
    fn distance(log_weights: &[f64], lengths: &[f64], scale: f64, factor: f64) -> f64 {
        let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let both = log_weights.iter().zip(lengths);
        let logs: Vec<f64> =
            both.map(|(log, length)| log - factor * (length - least) / scale).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let masses: Vec<f64> = logs.iter().map(|log| libm::exp(log - top)).collect();
        let total: f64 = masses.iter().sum();
        let choice = Choice::new(log_weights, lengths, scale).unwrap();
        let (mut stream, n) = (Stream::from_key([8; 32], 0), 30_000);
        let mut seen = vec![0.0; lengths.len()];
        (0..n).for_each(|_| seen[choice.draw(&mut stream, Effort::Least)] += 1.0);
        let term = |(mass, seen): (f64, f64)| {
            let expected = mass / total * f64::from(n);
            if mass == 0.0 { seen } else { (seen - expected) * (seen - expected) / expected }
        };
        masses.into_iter().zip(seen).map(term).sum()
    }

    #[test]
    fn entries_are_drawn_in_proportion_to_their_masses() {
        let log_weights = [0.3, -1.0, 2.0, 0.0, 1.2];
        let lengths = [1.0, 0.2, 3.0, 0.5, 1e9];
        for scale in [0.7, 1e6, 1e-200] {
            let found = distance(&log_weights, &lengths, scale, 1.0);
            assert!(found < 25.0, "{scale} {found}");
        }
        assert!(distance(&log_weights, &lengths, 0.7, 1.1) > 40.0);
        // far from the largest double, and of weights that no double has
        let far = lengths.map(|x| x + 1e12);
        assert!(distance(&[-1e5, -1e5 - 1.0, -1e5, -1e5, 0.0], &far, 3.0, 1.0) < 25.0);
    }

    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        let lengths: Vec<f64> = (0..200).map(|i| f64::from(i * i % 211) * 0.013).collect();
        for scale in [1e-9, 0.02, 1e3] {
            let choice = Choice::new(&[0.5; 200], &lengths, scale).unwrap();
            let (mut a, mut b) = (Stream::from_key([3; 32], 0), Stream::from_key([3; 32], 0));
            for _ in 0..300 {
                assert_eq!(choice.draw(&mut a, Effort::Steady), choice.draw(&mut b, Effort::Least));
            }
        }
    }

    #[test]
    fn weights_are_at_least_the_masses() {
        let lengths: Vec<f64> = (0..300).map(|i| f64::from(i * i % 311) * 0.1).collect();
        let choice = Choice::new(&[-2.5; 300], &lengths, 0.8).unwrap();
        for i in 0..300 {
            let mass = choice.mass::<8>(i, choice.weights.unit + 62).unwrap();
            let mass = mass.middle_as_double() * 2f64.powi(62);
            let weight = choice.weights.weight(i) as f64;
            assert!(mass <= weight && weight <= mass * (1.0 + 1e-9) + 2.0, "{mass} {weight}");
        }
    }

    /// All heights of 10 bits, decided as draws are, for each entry: its mass lies between what is accepted and what
    /// may be. Weights that are too small are seen.
    #[test]
    fn all_tapes_of_a_proposal_give_the_masses() {
        let lengths: Vec<f64> = (0..40).map(|i| f64::from(i * i % 43) * 0.1).collect();
        let choice = Choice::new(&[-2.5; 40], &lengths, 0.8).unwrap();
        let (unit, stream) = (choice.weights.unit, Stream::from_key([0; 32], 0));
        let contradictions = |share: f64| {
            let outside = (0..40).filter(|&proposed| {
                let weight = (choice.weights.weight(proposed) as f64 * share) as u64;
                let (mut accepted, mut undecided) = (0.0, 0.0);
                for bits in 0..1024 {
                    let (masses, height) = (&choice, Variable::prefix(bits, 10));
                    let stream = &stream;
                    let own = Acceptance { masses, proposed, unit, weight, height, stream };
                    match own.ask::<2>() {
                        Ok(is_accepted) => accepted += f64::from(u8::from(is_accepted)),
                        Err(Undecided) => undecided += 1.0,
                    }
                }
                let one = weight as f64 / 1024.0;
                let mass = libm::exp(-2.5 - lengths[proposed] / 0.8) * 2f64.powf(-unit as f64);
                assert!(undecided <= 2.0);
                mass < (accepted - 1e-6) * one || mass > (accepted + undecided + 1e-6) * one
            });
            outside.count()
        };
        assert_eq!((contradictions(1.0), contradictions(1.5)), (0, 0));
        assert_eq!(contradictions(0.99), 40);
    }

    #[test]
    fn what_has_no_law_is_refused() {
        let drawn = |lengths: &[f64], scale| {
            let choice = Choice::new(&[0.0; 3], lengths, scale).unwrap();
            choice.draw(&mut Stream::from_key([1; 32], 0), Effort::Least)
        };
        assert!(Choice::new(&[], &[], 1.0).is_none());
        assert_eq!(drawn(&[f64::NAN, 1e308, f64::INFINITY], 1e-250), 1);
        assert_eq!(drawn(&[1e308, 1e-300, 0.0], 1e-300), 2);
        assert_eq!(drawn(&[1e308, 1e-300, 2e-300], 1e-302), 1);
        assert!(Choice::new(&[f64::INFINITY], &[0.0], 1.0).is_none());
        assert!(Choice::new(&[0.0], &[0.0, 0.0], 1.0).is_none());
        assert!(Choice::new(&[0.0], &[0.0], 0.0).is_none());
    }
}
