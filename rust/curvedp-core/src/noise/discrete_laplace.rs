//! Two-sided geometric noise on the integers, drawn exactly from random bits, in a time that says
//! nothing about the value.
//!
//! P(X = x) is proportional to exp(-rate |x|). A geometric variable G, P(G = x) proportional to q^x with
//! q = exp(-rate), has independent binary digits, since q^x is the product of q^(2^j) over the digits j of
//! x that are 1. Digit j is 1 with probability p_j = q^(2^j)/(1 + q^(2^j)). X is G with a random sign,
//! where G = 0 with a negative sign is rejected; attempts are independent of each other, so how many
//! there were says nothing about the one that was accepted.
//!
//! A digit is 1 if a uniform number U lies below p_j. Its first 64 bits are compared with those of p_j, in the same
//! steps whatever they are. If they are equal (probability 2^-64), enclosures of both decide.
//!
//! *The law* is the stated one up to 2^-1800 in total variation: digits from the first j on with
//! rate 2^j >= 1280 are 0, which P(G >= 2^j) = exp(-rate 2^j) < 2^-1846 pays for. *The time* of an attempt is a constant of the rate, unless a digit needs more than
//! 64 bits: that is below 2^-57.

use super::stream::Variable;
use super::{NoiseError, Stream};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};

/// The law P(X = x) proportional to exp(-rate |x|), the rate being `numerator` / 2^`shift`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscreteLaplace {
    numerator: u64,
    shift: u32,
    /// The first 64 bits of p_j.
    thresholds: Vec<u64>,
}

/// Bits of the rate's numerator: the rate is rounded down by less than 2^-31 of itself.
const BITS: i32 = 32;

/// Greater rates are lowered to this: noise of e^-64 and less.
const GREATEST_RATE: f64 = 64.0;

/// Least rate: beyond it draws would not fit 127 bits.
const LEAST_RATE: f64 = 1e-18;

/// Digits that stand for rate |x| of this and more are 0.
const REACH: f64 = 1280.0;

impl DiscreteLaplace {
    /// The law with the greatest representable rate that is at most `rate`.
    ///
    /// # Errors
    /// [`NoiseError::Parameter`] unless the rate is at least 1e-18.
    pub fn new(rate: f64) -> Result<Self, NoiseError> {
        if rate.is_nan() || rate < LEAST_RATE {
            let expected = "at least 1e-18";
            return Err(NoiseError::Parameter { name: "rate", expected, value: rate });
        }
        let rate = rate.min(GREATEST_RATE);
        let exponent = (rate.to_bits() >> 52) as i32 - 1023;
        let shift = BITS - 1 - exponent;
        let numerator = (rate * 2f64.powi(shift)) as u64;
        let mut law = Self { numerator, shift: shift as u32, thresholds: Vec::new() };
        let rate = law.rate();
        let digits = (0..).take_while(|&j| rate * 2f64.powi(j as i32) < REACH);
        law.thresholds = digits.map(|j| decide(&First { law: &law, j }, Effort::Least)).collect();
        Ok(law)
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.numerator as f64 * 2f64.powi(-(self.shift as i32))
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> i128 {
        loop {
            if let Some(x) = self.attempt(stream) {
                return x;
            }
        }
    }

    /// `count` with a draw added, rounded once: a function of the sum as an integer, so that no two data sets can be
    /// told apart by what rounding has left of the count.
    pub fn add(&self, count: i64, stream: &mut Stream) -> f64 {
        (i128::from(count) + self.sample(stream)) as f64
    }

    /// A word for a digit, the highest digit first, and one for the sign; None is the negative zero. The steps and words
    /// are the same for every value, and nothing branches on a digit that its first word decides.
    #[inline]
    fn attempt(&self, stream: &mut Stream) -> Option<i128> {
        let mut size = 0u128;
        for (j, &threshold) in self.thresholds.iter().enumerate().rev() {
            let number = stream.variable();
            size = size << 1 | u128::from(number.first < threshold);
            if number.first == threshold {
                size |= u128::from(self.settle(j, number, stream));
            }
        }
        let negative = stream.bits() >> 63 == 1;
        let mask = -i128::from(negative);
        let signed = (size as i128 ^ mask) - mask;
        (!negative | (size != 0)).then_some(signed)
    }

    /// Digit j, for a number whose first 64 bits are those of the threshold.
    #[cold]
    fn settle(&self, j: usize, number: Variable, stream: &Stream) -> bool {
        decide(&Digit { law: self, j, number, stream }, Effort::Least)
    }

    /// q^(2^j), q = exp(-rate).
    fn power<const N: usize>(&self, j: usize) -> Enclosure<N> {
        Enclosure::dyadic(-i128::from(self.numerator), j as i32 - self.shift as i32).exp()
    }
}

/// What are the first 64 bits of p_j?
struct First<'a> {
    law: &'a DiscreteLaplace,
    j: usize,
}

impl Question for First<'_> {
    type Answer = u64;

    fn ask<const N: usize>(&self) -> Result<u64, Undecided> {
        let power = self.law.power::<N>(self.j);
        let probability = power.over(&Enclosure::integer(1).plus(&power))?;
        // p_j < 1/2
        Ok(probability.shifted(64).floor()?.unsigned_abs())
    }
}

/// Is U less than p_j, U (1 + q^(2^j)) < q^(2^j)?
struct Digit<'a> {
    law: &'a DiscreteLaplace,
    j: usize,
    number: Variable,
    stream: &'a Stream,
}

impl Question for Digit<'_> {
    type Answer = bool;

    fn ask<const N: usize>(&self) -> Result<bool, Undecided> {
        let power = self.law.power::<N>(self.j);
        let whole = Enclosure::integer(1).plus(&power);
        self.number.at::<N>(self.stream).times(&whole).is_less(&power)
    }
}

#[cfg(test)]
mod tests;
