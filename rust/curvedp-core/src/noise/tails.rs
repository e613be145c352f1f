//! The ends of random numbers, in full. 53 bits of a uniform number end an exponential at 36.7 and space
//! its far values widely; what is rare here takes as many bits as it needs.

use super::stream::Stream;
use crate::simd::elementary::{ln, ln_1p};
use std::f64::consts::LN_2;

/// Normals of this size and more are drawn here: 6 of 100 000.
pub(super) const NORMAL_TAIL: f64 = 4.0;

/// Exponentials below this are drawn here: 4 of 1000.
pub(super) const EXPONENTIAL_HEAD: f64 = 1.0 / 256.0;

/// Exponentials from this on are drawn here: 3 of 10 000.
pub(super) const EXPONENTIAL_TAIL: f64 = 8.0;

/// Uniform on (0, 1) with 53 significant bits however small it is, down to 2^-1022.
pub(super) fn uniform_relative(stream: &mut Stream) -> f64 {
    let (mut zeros, mut word) = (0, stream.bits());
    while word == 0 && zeros < 1024 {
        zeros += 64;
        word = stream.bits();
    }
    let leading = word.leading_zeros();
    let exponent = u64::from(zeros + leading + 1).min(1022);
    let bits = u128::from(word) << 64 | u128::from(stream.bits());
    // the first one is not stored
    let mantissa = (bits << leading << 1) >> 76;
    f64::from_bits((1023 - exponent) << 52 | mantissa as u64)
}

/// A standard exponential given that it is below [`EXPONENTIAL_HEAD`], by inversion.
#[cold]
pub(super) fn exponential_head(stream: &mut Stream) -> f64 {
    -ln_1p(uniform_relative(stream) * libm::expm1(-EXPONENTIAL_HEAD))
}

/// A standard exponential given that it is at least [`EXPONENTIAL_TAIL`]: what it exceeds it by is -ln V,
/// V = u/2 in the lower half of (0, 1) and 1 - u/2 in the upper half.
#[cold]
pub(super) fn exponential_tail(stream: &mut Stream) -> f64 {
    let u = uniform_relative(stream);
    let is_low = stream.bits() >> 63 == 1;
    EXPONENTIAL_TAIL + if is_low { LN_2 - ln(u) } else { -ln_1p(-0.5 * u) }
}

/// A standard normal given that it is at least a = [`NORMAL_TAIL`]: a + x with density proportional to
/// e^(-a x) e^(-x^2/2) (Marsaglia 1964).
#[cold]
pub(super) fn normal_tail(stream: &mut Stream) -> f64 {
    loop {
        let x = stream.exponential() / NORMAL_TAIL;
        if 2.0 * stream.exponential() >= x * x {
            return NORMAL_TAIL + x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words with which the ziggurat of the exponential gives an end.
    const TO_HEAD: u64 = 0;
    const TO_TAIL: [u64; 2] = [u64::MAX << 12, 0];

    fn share(n: u32, event: impl FnMut(u32) -> bool) -> f64 {
        f64::from((0..n).map(event).map(u32::from).sum::<u32>()) / f64::from(n)
    }

    fn assert_share(found: f64, p: f64, n: u32) {
        assert!((found - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{found} {p}");
    }

    #[test]
    fn uniforms_have_full_precision_at_every_size() {
        let number = |words: &[u64]| uniform_relative(&mut Stream::after_words(words));
        assert_eq!(number(&[1 << 63, 0]), 0.5);
        assert_eq!(number(&[u64::MAX, u64::MAX]), 1.0 - 2f64.powi(-53));
        assert_eq!(number(&[0, 0, 1, 1 << 63]), 1.5 * 2f64.powi(-192));
        assert_eq!(number(&[0, 3, u64::MAX]), (4.0 - 2f64.powi(-51)) * 2f64.powi(-128));
        let mut none = Stream::after_words(&[0; 16]);
        assert!(uniform_relative(&mut none) <= 2f64.powi(-1021));
        let mut stream = Stream::from_key([5; 32], 0);
        let n = 200_000;
        for p in [0.9, 0.5, 0.3, 1e-2, 1e-3] {
            assert_share(share(n, |_| uniform_relative(&mut stream) < p), p, n);
        }
    }

    #[test]
    fn ends_of_the_exponential_follow_its_law() {
        let (mut stream, n) = (Stream::from_key([6; 32], 0), 100_000);
        for e in [0.9, 0.5, 1e-2, 1e-3].map(|x| x * EXPONENTIAL_HEAD) {
            let p = libm::expm1(-e) / libm::expm1(-EXPONENTIAL_HEAD);
            assert_share(share(n, |_| exponential_head(&mut stream) < e), p, n);
        }
        for e in [0.01, 0.5, 0.7, 1.5, 6.0] {
            let beyond = |_| exponential_tail(&mut stream) > EXPONENTIAL_TAIL + e;
            assert_share(share(n, beyond), libm::exp(-e), n);
        }
        // across the borders too
        let n = 1_000_000;
        for e in [1.0 / 512.0, 1.0 / 256.0, 1.0 / 200.0, 1.0, 7.5, 8.0, 8.5] {
            assert_share(share(n, |_| stream.exponential() > e), libm::exp(-e), n);
        }
    }

    /// A ziggurat alone goes down to 2^-50 and ends, or is infinite, at 44.
    #[test]
    fn exponentials_go_on_at_both_ends() {
        let small = Stream::after_words(&[TO_HEAD, 0, 0, 0, 1 << 63, 0]).exponential();
        assert!((small / 2f64.powi(-8 - 193) - 1.0).abs() < 0.01, "{small}");
        let [first, second] = TO_TAIL;
        let words = [first, second, 0, 0, 0, 1 << 63, 0, u64::MAX];
        let large = Stream::after_words(&words).exponential();
        assert!((large - (8.0 + 194.0 * LN_2)).abs() < 1e-12, "{large}");
    }

    #[test]
    fn the_tail_of_the_normal_follows_its_law() {
        let (mut stream, n) = (Stream::from_key([7; 32], 0), 100_000);
        let beyond = |z: f64| libm::erfc(z / std::f64::consts::SQRT_2);
        for z in [4.05, 4.2, 4.5, 5.0] {
            let found = share(n, |_| normal_tail(&mut stream) > z);
            assert_share(found, beyond(z) / beyond(NORMAL_TAIL), n);
        }
        let n = 2_000_000;
        for z in [3.5, 3.9, 4.0, 4.1] {
            assert_share(share(n, |_| stream.normal() > z), 0.5 * beyond(z), n);
            assert_share(share(n, |_| stream.normal() < -z), 0.5 * beyond(z), n);
        }
    }

    /// A ziggurat alone ends at 12.3.
    #[test]
    fn normals_go_on() {
        let [first, second] = TO_TAIL;
        let far = [first, second, 0, 1 << 63, 0, u64::MAX];
        let words = [&far[..], &[first, second, 0, 0, 0, 1 << 63, 0, u64::MAX]].concat();
        let z = normal_tail(&mut Stream::after_words(&words));
        assert!(z > 13.0, "{z}");
    }
}
