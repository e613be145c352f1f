//! Sums and lengths of vectors, and rounding to powers of two.

use crate::simd::entries::row_sums;

/// sum += terms
pub(crate) fn add(sum: &mut [f64], terms: &[f64]) {
    sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// Euclidean length of a vector whose squares neither overflow nor underflow.
pub fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Euclidean length, safe from overflow and underflow; not finite if an entry is not.
pub(crate) fn norm(x: &[f64]) -> f64 {
    let [square] = row_sums(x.len(), [x], |[x]| [x * x]);
    if square > 1e-250 && square < 1e250 {
        return square.sqrt();
    }
    let largest = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if x.iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    if largest == 0.0 {
        return 0.0;
    }
    largest * x.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
}

/// Scales `x` to the given length; false if its own is zero or not finite.
pub(crate) fn scale_to(x: &mut [f64], length: f64) -> bool {
    let own = norm(x);
    if own > 1e-125 && own < 1e125 {
        let scale = length / own;
        x.iter_mut().for_each(|x| *x *= scale);
        return true;
    }
    if !(own > 0.0 && own.is_finite()) {
        return false;
    }
    let largest = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    x.iter_mut().for_each(|x| *x /= largest);
    scale_to(x, length)
}

/// The largest power of two that is at most x, for normal positive numbers.
pub fn power_of_two_below(x: f64) -> f64 {
    // the sign and the exponent of a normal number are its upper 12 bits
    f64::from_bits(x.to_bits() >> 52 << 52)
}

/// 2^exponent, without the multiplications of `powi` where it is a normal number.
#[inline]
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => 2f64.powi(exponent),
    }
}

/// The exponent of the largest power of two that is at most x, for normal positive numbers.
pub(crate) fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52) as i32 - 1023
}
