//! Two-sided geometric noise on the integers, drawn exactly from random bits, in a time that says
//! nothing about the value.
//!
//! P(X = x) is proportional to exp(-rate |x|). A geometric variable G, P(G = x) proportional to q^x with
//! q = exp(-rate), has independent binary digits, since q^x is the product of q^(2^j) over the digits j of
//! x that are 1. Digit j is 1 with probability p_j = q^(2^j)/(1 + q^(2^j)). X is G with a random sign,
//! where G = 0 with a negative sign is rejected; attempts are independent of each other, so how many
//! there were says nothing about the one that was accepted.
//!
//! A digit is 1 if a uniform number U lies below p_j. Its first 128 bits are compared with those of p_j,
//! in the same steps whatever they are. If they are equal (probability 2^-128), U gets more bits and p_j
//! is computed to as many, until enclosures decide: the comparison is that of real numbers.
//!
//! *The law* is the stated one up to 2^-1800 in total variation: digits from the first j on with
//! rate 2^j >= 1280 are 0, which P(G >= 2^j) = exp(-rate 2^j) < 2^-1846 pays for, and a digit that 2048 bits
//! leave undecided (probability below 2^-1960) is 0. *The time* of an attempt is a constant of the rate,
//! unless a digit needs more than 128 bits: that is below 2^-120.

use super::fixed::{Enclosed, Fixed};
use super::{NoiseError, Stream};

/// The law P(X = x) proportional to exp(-rate |x|), the rate being `numerator` / 2^`shift`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscreteLaplace {
    numerator: u64,
    shift: u32,
    /// The first 128 bits of p_j.
    thresholds: Vec<u128>,
}

/// Bits of the rate's numerator: the rate is rounded down by less than 2^-31 of itself.
const BITS: i32 = 32;

/// Greater rates are lowered to this: noise of e^-64 and less.
const GREATEST_RATE: f64 = 64.0;

/// Least rate: beyond it draws would not fit 128 bits.
const LEAST_RATE: f64 = 1e-18;

/// Digits that stand for rate |x| of this and more are 0.
const REACH: f64 = 1280.0;

/// Exponents rate 2^-k below 2^-16 are where the exponential is computed: `numerator` / 2^48.
const START: u32 = 48;

/// Words of the numbers that decide a digit in the last resort.
const MOST_WORDS: usize = 32;

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
        law.thresholds = digits.map(|j| law.threshold(j)).collect();
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

    /// Two words for a digit, the highest first, and one for the sign; None is the negative zero. The steps and
    /// words are the same for every value, and nothing branches on a digit.
    #[inline]
    fn attempt(&self, stream: &mut Stream) -> Option<i128> {
        let (mut size, mut ties) = (0u128, 0u128);
        for &threshold in self.thresholds.iter().rev() {
            let first = u128::from(stream.bits()) << 64 | u128::from(stream.bits());
            size = size << 1 | u128::from(first < threshold);
            ties = ties << 1 | u128::from(first == threshold);
        }
        if ties != 0 {
            size |= self.settle(ties, stream);
        }
        let negative = stream.bits() >> 63 == 1;
        let mask = -i128::from(negative);
        let signed = (size as i128 ^ mask) - mask;
        (!negative | (size != 0)).then_some(signed)
    }

    /// The digits `ties`, of which only the first 128 bits are known: they are those of their thresholds.
    #[cold]
    fn settle(&self, ties: u128, stream: &mut Stream) -> u128 {
        let tied = (0..self.thresholds.len()).filter(|j| ties >> j & 1 == 1);
        tied.map(|j| {
            let first = self.thresholds[j];
            u128::from(self.decide(j, first, || stream.bits())) << j
        })
        .sum()
    }

    /// True if U < p_j, U the number with the bits `first` and then those of `next`.
    fn decide(&self, j: usize, first: u128, mut next: impl FnMut() -> u64) -> bool {
        let mut words = [0; MOST_WORDS];
        words[..2].copy_from_slice(&Fixed::<2>::from_top(first).0);
        let mut known = 2;
        let mut extend = |words: &mut [u64; MOST_WORDS], count| {
            words[known..count].fill_with(&mut next);
            known = count;
        };
        extend(&mut words, 8);
        let mut found = self.compare::<8>(j, &words);
        if found.is_none() {
            extend(&mut words, 16);
            found = self.compare::<16>(j, &words);
        }
        if found.is_none() {
            extend(&mut words, MOST_WORDS);
            found = self.compare::<MOST_WORDS>(j, &words);
        }
        found.unwrap_or(false)
    }

    /// True if U < p_j; none if the first N words of U and an enclosure of p_j do not decide it.
    fn compare<const N: usize>(&self, j: usize, words: &[u64; MOST_WORDS]) -> Option<bool> {
        let (least, greatest) = self.probability::<N>(j).ends();
        let mut known = Fixed([0; N]);
        known.0.copy_from_slice(&words[..N]);
        // known <= U < known + ulp, and the ends are whole ulps
        if known < least {
            Some(true)
        } else if known >= greatest {
            Some(false)
        } else {
            None
        }
    }

    /// The first 128 bits of p_j.
    fn threshold(&self, j: usize) -> u128 {
        fn common<const N: usize>(ends: (Fixed<N>, Fixed<N>)) -> Result<u128, u128> {
            let (least, greatest) = (ends.0.top(), ends.1.top());
            if least == greatest { Ok(least) } else { Err(least) }
        }
        common(self.probability::<4>(j).ends())
            .or_else(|_| common(self.probability::<8>(j).ends()))
            .or_else(|_| common(self.probability::<16>(j).ends()))
            .or_else(|_| common(self.probability::<MOST_WORDS>(j).ends()))
            .unwrap_or_else(|least| least)
    }

    /// p_j: exp(-numerator/2^e) for the least e from `shift` and [`START`] on, squared e - shift + j times.
    fn probability<const N: usize>(&self, j: usize) -> Enclosed<N> {
        let e = self.shift.max(START);
        let start = Fixed::from_top(u128::from(self.numerator) << (128 - e));
        let squarings = (e - self.shift) as usize + j;
        (0..squarings).fold(Enclosed::exp_of_minus(start), |x, _| x.square()).share()
    }
}

#[cfg(test)]
mod tests;
