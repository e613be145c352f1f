//! Two-sided geometric noise on the integers, drawn exactly from random bits.
//!
//! P(X = x) is proportional to exp(-rate |x|) (Canonne, Kamath and Steinke 2020, Algorithms 1 and 2):
//! comparisons of random integers alone decide, so the law of the draws is the law of the proof.

use super::{NoiseError, Stream};

/// The law P(X = x) proportional to exp(-rate |x|), the rate being `numerator` / 2^`shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteLaplace {
    numerator: u128,
    shift: u32,
}

/// Bits of the rate's numerator: the rate is rounded down by less than 2^-31 of itself.
const BITS: i32 = 32;

/// Greater rates are lowered to this: noise of e^-64 and less.
const GREATEST_RATE: f64 = 64.0;

/// Least rate: beyond it draws would not fit 128 bits.
const LEAST_RATE: f64 = 1e-18;

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
        Ok(Self { numerator: (rate * 2f64.powi(shift)) as u128, shift: shift as u32 })
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.numerator as f64 * 2f64.powi(-(self.shift as i32))
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> i128 {
        loop {
            // geometric with ratio exp(-1/2^shift), cut into its remainder and its quotient
            let remainder = self.fraction(stream);
            if !self.exponential_of(remainder, stream) {
                continue;
            }
            let mut quotient: u128 = 0;
            while exponential_of_one(stream) {
                quotient += 1;
            }
            let size = ((quotient << self.shift) + remainder) / self.numerator;
            let negative = stream.bits() >> 63 == 1;
            if negative && size == 0 {
                continue;
            }
            return if negative { -(size as i128) } else { size as i128 };
        }
    }

    /// Uniform on 0 .. 2^shift.
    fn fraction(&self, stream: &mut Stream) -> u128 {
        let low = u128::from(stream.bits());
        let bits = if self.shift <= 64 { low } else { low | u128::from(stream.bits()) << 64 };
        bits & ((1 << self.shift) - 1)
    }

    /// True with probability exp(-u/2^shift), u < 2^shift: the first k at which a draw with probability
    /// u/(k 2^shift) fails is odd.
    fn exponential_of(&self, u: u128, stream: &mut Stream) -> bool {
        let mut k = 1;
        while self.fraction(stream) < u && below(k, stream) == 0 {
            k += 1;
        }
        k % 2 == 1
    }
}

/// True with probability 1/e.
fn exponential_of_one(stream: &mut Stream) -> bool {
    let mut k = 1;
    while below(k, stream) == 0 {
        k += 1;
    }
    k % 2 == 1
}

/// Uniform on 0 .. count.
fn below(count: u64, stream: &mut Stream) -> u64 {
    if count == 1 {
        return 0;
    }
    let whole = u64::MAX / count * count;
    loop {
        let bits = stream.bits();
        if bits < whole {
            return bits % count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::from_key([9; 32], 4)
    }

    #[test]
    fn the_rate_is_rounded_down_by_little() {
        for rate in [1e-18, 3e-9, 0.15, 0.5, 1.0, 2.0 / 3.0, 63.9] {
            let found = DiscreteLaplace::new(rate).unwrap().rate();
            assert!(found <= rate && found > rate * (1.0 - 2f64.powi(-31)), "{rate} {found}");
        }
        assert_eq!(DiscreteLaplace::new(1e300).unwrap().rate(), 64.0);
        for rate in [0.0, -1.0, 1e-19, f64::NAN] {
            assert!(DiscreteLaplace::new(rate).is_err());
        }
    }

    #[test]
    fn bernoulli_draws_have_probability_one_over_e() {
        let mut stream = stream();
        let n = 400_000;
        let hits = (0..n).filter(|_| exponential_of_one(&mut stream)).count() as f64;
        assert!((hits / f64::from(n) - (-1f64).exp()).abs() < 5.0 * 0.49 / f64::from(n).sqrt());
    }

    /// Frequencies of every value against P(X = x) = (1 - q)/(1 + q) q^|x|, q = exp(-rate).
    #[test]
    fn frequencies_are_two_sided_geometric() {
        for rate in [0.07, 0.5, 1.0, 2.5] {
            let law = DiscreteLaplace::new(rate).unwrap();
            let (mut stream, n, reach) = (stream(), 300_000, 40i128);
            let mut counts = vec![0u32; 2 * reach as usize + 1];
            let mut square = 0.0;
            for _ in 0..n {
                let x = law.sample(&mut stream);
                square += (x * x) as f64 / f64::from(n);
                if x.abs() <= reach {
                    counts[(x + reach) as usize] += 1;
                }
            }
            let q = (-rate).exp();
            for x in -reach..=reach {
                let p = (1.0 - q) / (1.0 + q) * q.powi(x.abs() as i32);
                let found = f64::from(counts[(x + reach) as usize]) / f64::from(n);
                assert!((found - p).abs() < 5.5 * (p / f64::from(n)).sqrt() + 1e-5, "{rate} {x}");
            }
            // a rate a twentieth off would move the variance by a tenth
            let variance = 2.0 * q / (1.0 - q).powi(2);
            assert!((square / variance - 1.0).abs() < 0.05, "{rate} {square} {variance}");
        }
    }

    /// A small rate: the scaled draws are continuous Laplace noise.
    #[test]
    fn small_rates_give_large_draws() {
        let law = DiscreteLaplace::new(1e-18).unwrap();
        let mut stream = stream();
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| law.sample(&mut stream) as f64 * 1e-18).collect();
        let mean_size = draws.iter().map(|x| x.abs()).sum::<f64>() / f64::from(n);
        assert!((mean_size - 1.0).abs() < 0.02, "{mean_size}");
        assert!(draws.iter().all(|x| x.is_finite() && x.abs() < 40.0));
    }
}
