//! Real numbers between two multiples of an ulp, 2^-64(N-1).
//!
//! A number x is kept as a middle m, N words in two's complement, and an error e, with |x - m| <= e, both in
//! ulps. Every operation adds to the error what it rounds off, so that the result encloses the result for every
//! number that the operands enclose. What leaves the range of N words is unknown, which decides nothing.

use super::Undecided;
use std::cmp::Ordering;

/// A real number that is known up to an error.
#[derive(Clone, Copy, Debug)]
pub struct Enclosure<const N: usize> {
    /// The middle in ulps, least word first.
    middle: [u64; N],
    /// Bound on the distance from it in ulps; [`UNKNOWN`] for a number of which nothing is known.
    error: u128,
}

const UNKNOWN: u128 = u128::MAX;

impl<const N: usize> Enclosure<N> {
    /// Bits behind the binary point.
    pub const FRACTION: i32 = 64 * (N as i32 - 1);

    /// Nothing is known.
    pub(super) const NOTHING: Self = Self { middle: [0; N], error: UNKNOWN };

    /// 0
    pub const ZERO: Self = Self { middle: [0; N], error: 0 };

    /// An integer.
    #[must_use]
    pub fn integer(value: i64) -> Self {
        let mut middle = [0; N];
        middle[N - 1] = value as u64;
        Self { middle, error: 0 }
    }

    /// `mantissa` 2^`exponent`
    #[must_use]
    pub fn dyadic(mantissa: i128, exponent: i32) -> Self {
        let fill = if mantissa < 0 { u64::MAX } else { 0 };
        let mut middle = [fill; N];
        (middle[0], middle[1]) = (mantissa as u64, (mantissa >> 64) as u64);
        Self { middle, error: 0 }.shifted(Self::FRACTION + exponent)
    }

    /// A double times 2^`exponent`; nothing is known of one that is not finite.
    #[must_use]
    pub fn double(value: f64, exponent: i32) -> Self {
        if !value.is_finite() {
            return Self::NOTHING;
        }
        let bits = value.to_bits();
        let (stored, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i128);
        let mantissa = if stored == 0 { fraction } else { fraction | 1 << 52 };
        let signed = if value < 0.0 { -mantissa } else { mantissa };
        Self::dyadic(signed, stored.max(1) - 1075 + exponent)
    }

    /// A number in [0, 1) whose first N - 1 words are known, most significant first, or only so many leading
    /// bits of them.
    #[must_use]
    pub(crate) fn fraction(words: &[u64], known_bits: u32) -> Self {
        let mut middle = [0; N];
        for (to, from) in middle[..N - 1].iter_mut().rev().zip(words) {
            *to = *from;
        }
        let error = match (Self::FRACTION as u32).saturating_sub(known_bits) {
            missing @ 0..128 => 1 << missing,
            _ => UNKNOWN,
        };
        Self { middle, error }
    }

    /// The number with words behind the binary point that are truncated ones of a positive constant.
    pub(super) const fn truncated(fraction: [u64; N]) -> Self {
        Self { middle: fraction, error: 1 }
    }

    /// The sum.
    #[must_use]
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        let (mut middle, mut carry) = ([0; N], false);
        for i in 0..N {
            let (part, first) = self.middle[i].overflowing_add(other.middle[i]);
            let (part, second) = part.overflowing_add(u64::from(carry));
            (middle[i], carry) = (part, first | second);
        }
        let (a, b, c) = (self.middle[N - 1], other.middle[N - 1], middle[N - 1]);
        let overflows = ((a ^ c) & (b ^ c)) >> 63 == 1;
        let error = self.error.saturating_add(other.error);
        Self { middle, error: if overflows { UNKNOWN } else { error } }
    }

    /// The number with its sign changed.
    #[must_use]
    #[inline]
    pub fn negated(&self) -> Self {
        let least = self.middle[N - 1] == 1 << 63 && self.middle[..N - 1].iter().all(|w| *w == 0);
        let error = if least { UNKNOWN } else { self.error };
        Self { middle: negated_if(&self.middle, true), error }
    }

    /// The number with its sign changed if so.
    #[must_use]
    #[inline]
    pub fn negated_if(&self, negative: bool) -> Self {
        if negative { self.negated() } else { *self }
    }

    /// The difference.
    #[must_use]
    #[inline]
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// The product.
    #[must_use]
    #[inline(always)]
    pub fn times(&self, other: &Self) -> Self {
        if N <= 4 { self.product(other) } else { self.product_of_many_words(other) }
    }

    /// Apart, so that every place where it is used is compiled in less time.
    #[inline(never)]
    fn product_of_many_words(&self, other: &Self) -> Self {
        self.product(other)
    }

    #[inline(always)]
    fn product(&self, other: &Self) -> Self {
        let (a, b) = (self.magnitude(), other.magnitude());
        let mut product = [[0; N]; 2];
        for i in 0..N {
            let mut carry = 0;
            for j in 0..N {
                let word = &mut product[(i + j) / N][(i + j) % N];
                let sum = u128::from(a[i]) * u128::from(b[j]) + u128::from(*word) + carry;
                (*word, carry) = (sum as u64, sum >> 64);
            }
            product[1][i] = carry as u64;
        }
        let [low, high] = product;
        let mut middle = [0; N];
        middle[0] = low[N - 1];
        middle[1..].copy_from_slice(&high[..N - 1]);
        let is_unknown = self.error == UNKNOWN || other.error == UNKNOWN;
        if is_unknown || high[N - 1] != 0 || middle[N - 1] >> 63 == 1 {
            return Self::NOTHING;
        }
        // |a| e_b + |b| e_a + e_a e_b in ulps, and less than one for the words that are cut off
        let error = if (self.error | other.error) >> 64 == 0 {
            let (of_a, of_b) = (self.error as u64, other.error as u64);
            let both = if N == 2 { wide(of_a, of_b) >> 64 } else { 0 };
            times_short_error(&a, of_b) + times_short_error(&b, of_a) + both + 2
        } else {
            let both = Self::product_of_errors(self.error, other.error);
            let error = times_error(&a, other.error).saturating_add(times_error(&b, self.error));
            error.saturating_add(both).saturating_add(2)
        };
        let negative = (self.middle[N - 1] ^ other.middle[N - 1]) >> 63 == 1;
        Self { middle: negated_if(&middle, negative), error }
    }

    /// A bound on the product of two errors in ulps, less one.
    #[inline]
    fn product_of_errors(a: u128, b: u128) -> u128 {
        let (high_a, high_b) = (a >> 64, b >> 64);
        match N {
            2 if high_a == 0 => times_fraction(b, a),
            2 if high_b == 0 => times_fraction(a, b),
            2 => UNKNOWN,
            3 => (high_a + 1).saturating_mul(high_b + 1),
            4 => (high_a + 1).saturating_mul(high_b + 1) >> 64,
            _ => 0,
        }
    }

    /// The number times 2^`exponent`.
    #[must_use]
    pub fn shifted(&self, exponent: i32) -> Self {
        let count = exponent.unsigned_abs() as usize;
        match exponent {
            0 => *self,
            1.. => self.shifted_up(count),
            _ => self.shifted_down(count),
        }
    }

    fn shifted_up(&self, count: usize) -> Self {
        let magnitude = self.magnitude();
        let used = 64 * N - leading_zeros(&magnitude) as usize;
        if used == 0 && self.error == 0 {
            return *self;
        }
        let too_wide = self.error != 0 && self.error.leading_zeros() as usize <= count;
        if used + count >= 64 * N || too_wide {
            return Self::NOTHING;
        }
        let (words, bits) = (count / 64, count % 64);
        let mut middle = [0; N];
        for i in words..N {
            let low =
                if bits > 0 && i > words { magnitude[i - words - 1] >> (64 - bits) } else { 0 };
            middle[i] = magnitude[i - words] << bits | low;
        }
        let error = if self.error == 0 { 0 } else { self.error << count };
        Self { middle: negated_if(&middle, self.is_negative()), error }
    }

    fn shifted_down(&self, count: usize) -> Self {
        if self.error == UNKNOWN {
            return *self;
        }
        let magnitude = self.magnitude();
        let (words, bits) = (count / 64, count % 64);
        let mut middle = [0; N];
        for i in 0..N.saturating_sub(words) {
            let above = magnitude.get(i + words + 1).copied().unwrap_or(0);
            let high = if bits > 0 { above << (64 - bits) } else { 0 };
            middle[i] = magnitude[i + words] >> bits | high;
        }
        let lost = magnitude.iter().take(words).any(|word| *word != 0)
            || (bits > 0 && magnitude.get(words).is_some_and(|word| word << (64 - bits) != 0));
        let rounded_up = if self.error == 0 { 0 } else { (self.error >> count.min(127)) + 1 };
        Self {
            middle: negated_if(&middle, self.is_negative()),
            error: rounded_up + u128::from(lost),
        }
    }

    /// 1/x
    ///
    /// # Errors
    /// [`Undecided`] unless x is known to differ from 0 by far more than its error.
    pub fn reciprocal(&self) -> Result<Self, Undecided> {
        let (near_1, about, exponent) = self.near_1()?;
        Ok(near_1.reciprocal_near_1(about)?.shifted(-exponent))
    }

    /// The quotient.
    ///
    /// # Errors
    /// [`Undecided`] as for [`Enclosure::reciprocal`].
    pub fn over(&self, other: &Self) -> Result<Self, Undecided> {
        let (near_1, about, exponent) = other.near_1()?;
        Ok(self.times(&near_1.reciprocal_near_1(about)?).shifted(-exponent))
    }

    /// 1/sqrt x
    ///
    /// # Errors
    /// [`Undecided`] unless x is known to exceed 0 by far more than its error.
    pub fn inverse_sqrt(&self) -> Result<Self, Undecided> {
        let (near_1, about, exponent) = self.near_1()?;
        Ok(near_1.inverse_sqrt_near_1(about)?.shifted(-exponent / 2))
    }

    /// sqrt x
    ///
    /// # Errors
    /// [`Undecided`] as for [`Enclosure::inverse_sqrt`].
    pub fn sqrt(&self) -> Result<Self, Undecided> {
        let (near_1, about, exponent) = self.near_1()?;
        Ok(near_1.times(&near_1.inverse_sqrt_near_1(about)?).shifted(exponent / 2))
    }

    /// A number between 2^-60 and 2^60 in size, about what it is, and an even exponent of the power of two that it is to
    /// be multiplied by.
    #[inline]
    fn near_1(&self) -> Result<(Self, f64, i32), Undecided> {
        let about = self.middle_as_double();
        if about.abs() > 2f64.powi(-60) && about.abs() < 2f64.powi(60) {
            return Ok((*self, about, 0));
        }
        let exponent = self.exponent().ok_or(Undecided)?.div_euclid(2) * 2;
        let near_1 = self.shifted(-exponent);
        Ok((near_1, near_1.middle_as_double(), exponent))
    }

    /// 1/x for a number between 2^-60 and 2^60 in size.
    fn reciprocal_near_1(&self, about: f64) -> Result<Self, Undecided> {
        // Newton's iteration; how good its end is says the residual r = 1 - b x:
        // |1/b - x| = |x| |r|/|1 - r| <= 2 |x| |r|
        let one = Self::integer(1);
        let mut x = Self::double(1.0 / about, 0).exactly();
        for _ in 0..Self::doublings() {
            let r = one.minus(&self.exactly().times(&x));
            x = x.plus(&x.times(&r)).exactly();
        }
        let residual = one.minus(&self.times(&x));
        Ok(x.widened(2 * residual.at_most_quarter()?))
    }

    /// 1/sqrt x for a number between 2^-60 and 2^60.
    fn inverse_sqrt_near_1(&self, about: f64) -> Result<Self, Undecided> {
        // Newton's iteration; with the residual r = 1 - b y^2 it is 1/sqrt b - y = y (1/sqrt(1 - r) - 1),
        // and |1/sqrt(1 - r) - 1| <= |r| for |r| <= 1/2
        let one = Self::integer(1);
        let mut y = Self::double(1.0 / about.sqrt(), 0).exactly();
        for _ in 0..Self::doublings() {
            let r = one.minus(&self.exactly().times(&y).times(&y));
            y = y.plus(&y.times(&r).shifted_down(1)).exactly();
        }
        let residual = one.minus(&self.times(&y).times(&y));
        let root = y.widened(residual.at_most_quarter()?);
        if root.sign()? == Ordering::Greater { Ok(root) } else { Err(Undecided) }
    }

    /// How often 50 correct bits must double to fill the words.
    const fn doublings() -> usize {
        let (mut bits, mut count) = (50, 0);
        while bits < Self::FRACTION + 24 {
            (bits, count) = (2 * bits, count + 1);
        }
        count
    }

    /// The number as if its middle were exact: for iterations whose result is examined afterwards.
    pub(super) fn exactly(&self) -> Self {
        Self { middle: self.middle, error: if self.error == UNKNOWN { UNKNOWN } else { 0 } }
    }

    /// A bound in ulps on the size of a number that is known to be at most 1/4.
    pub(super) fn at_most_quarter(&self) -> Result<u128, Undecided> {
        let bound = self.bound()?;
        let is_small = Self::FRACTION > 128 || bound <= 1 << (Self::FRACTION - 2);
        if is_small && bound >> 126 == 0 { Ok(bound) } else { Err(Undecided) }
    }

    /// The number, exact but for an error of `relative` ulps times its size.
    fn widened(&self, relative: u128) -> Self {
        self.wider_by(times_error(&self.magnitude(), relative).saturating_add(1))
    }

    /// The number, known `ulps` worse.
    pub(super) fn wider_by(&self, ulps: u128) -> Self {
        Self { middle: self.middle, error: self.error.saturating_add(ulps) }
    }

    /// True if the error is below 2^`exponent`.
    pub(super) fn is_known_to(&self, exponent: i32) -> bool {
        let bits = Self::FRACTION + exponent;
        self.error != UNKNOWN && (bits >= 128 || self.error >> bits == 0)
    }

    /// True for a number that is known to be 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.error == 0 && self.middle.iter().all(|word| *word == 0)
    }

    /// The number in fewer words.
    ///
    /// # Errors
    /// [`Undecided`] if nothing is known of it.
    pub fn narrowed<const M: usize>(&self) -> Result<Enclosure<M>, Undecided> {
        if self.error == UNKNOWN {
            return Err(Undecided);
        }
        let (cut, kept) = self.middle.split_at(N - M);
        let mut middle = [0; M];
        middle.copy_from_slice(kept);
        let is_exact = self.error == 0 && cut.iter().all(|word| *word == 0);
        let error = match N - M {
            0 => return Ok(Enclosure { middle, error: self.error }),
            1 => self.error >> 64,
            _ => 0,
        };
        Ok(Enclosure { middle, error: if is_exact { 0 } else { error + 2 } })
    }

    /// A bound on the size in ulps.
    ///
    /// # Errors
    /// [`Undecided`] if it is 2^128 ulps or more.
    pub(super) fn bound(&self) -> Result<u128, Undecided> {
        let (low, is_more) = lowest(&self.magnitude());
        if is_more || self.error == UNKNOWN {
            return Err(Undecided);
        }
        low.checked_add(self.error).ok_or(Undecided)
    }

    /// The sign of x: of a number that is not known to differ from 0, undecided.
    ///
    /// # Errors
    /// [`Undecided`] then.
    pub fn sign(&self) -> Result<Ordering, Undecided> {
        let (low, is_more) = lowest(&self.magnitude());
        let is_far = is_more || low > self.error;
        if self.error == UNKNOWN || !is_far {
            return Err(Undecided);
        }
        Ok(if self.is_negative() { Ordering::Less } else { Ordering::Greater })
    }

    /// True if x is less than the other number.
    ///
    /// # Errors
    /// [`Undecided`] if the enclosures meet.
    pub fn is_less(&self, other: &Self) -> Result<bool, Undecided> {
        Ok(other.minus(self).sign()? == Ordering::Greater)
    }

    /// The greatest integer that is not above x.
    ///
    /// # Errors
    /// [`Undecided`] if an integer lies in the enclosure.
    pub fn floor(&self) -> Result<i64, Undecided> {
        let error = self.error_as_number().ok_or(Undecided)?;
        let middle = Self { middle: self.middle, error: 0 };
        let (low, high) = (middle.minus(&error), middle.plus(&error));
        let (least, greatest) = (low.middle[N - 1] as i64, high.middle[N - 1] as i64);
        let in_range = low.error == 0 && high.error == 0;
        if in_range && least == greatest { Ok(least) } else { Err(Undecided) }
    }

    /// The integer closest to x.
    ///
    /// # Errors
    /// [`Undecided`] if the middle between two lies in the enclosure.
    pub fn nearest(&self) -> Result<i64, Undecided> {
        self.plus(&Self::dyadic(1, -1)).floor()
    }

    /// The integer closest to x 2^-`exponent`: without a product, which would take bits of the error.
    ///
    /// # Errors
    /// [`Undecided`] as for [`Enclosure::nearest`].
    pub fn nearest_multiple(&self, exponent: i32) -> Result<i64, Undecided> {
        let cut = Self::FRACTION + exponent;
        if cut < 1 || exponent > 0 {
            return self.shifted(-exponent).nearest();
        }
        let error = self.error_as_number().ok_or(Undecided)?;
        let middle = Self { middle: self.middle, error: 0 }.plus(&Self::dyadic(1, exponent - 1));
        let (low, high) = (middle.minus(&error), middle.plus(&error));
        let multiple = |end: &Self| {
            let (words, bits) = (cut as usize / 64, cut as usize % 64);
            let fill = if end.is_negative() { u64::MAX } else { 0 };
            let word = |i: usize| end.middle.get(i).copied().unwrap_or(fill);
            let above = |i: usize| if bits > 0 { word(i + 1) << (64 - bits) } else { 0 };
            let found = (word(words) >> bits | above(words)) as i64;
            let is_in_range = (words + 1..N).all(|i| word(i) >> bits | above(i) == fill_of(found));
            (end.error == 0 && is_in_range).then_some(found)
        };
        match (multiple(&low), multiple(&high)) {
            (Some(least), Some(greatest)) if least == greatest => Ok(least),
            _ => Err(Undecided),
        }
    }

    /// An integer that x 2^`exponent` does not exceed, within 1 of the enclosure's end; for numbers below 2^62.
    #[must_use]
    pub fn above(&self, exponent: i32) -> Option<i64> {
        let high = Self { middle: self.middle, error: 0 }.plus(&self.error_as_number()?);
        let high = high.shifted(exponent);
        let top = high.middle[N - 1] as i64;
        (high.error <= 1 && top < 1 << 62).then(|| top + 1)
    }

    /// An integer that x 2^`exponent` is not below, within 1 of the enclosure's end.
    #[must_use]
    pub fn below(&self, exponent: i32) -> Option<i64> {
        self.negated().above(exponent).map(|bound| -bound)
    }

    /// The exponent of the greatest power of two that is at most the middle's size; none for 0.
    #[must_use]
    pub fn exponent(&self) -> Option<i32> {
        let zeros = leading_zeros(&self.magnitude()) as i32;
        (zeros < 64 * N as i32).then(|| 63 - zeros)
    }

    /// About the middle.
    #[must_use]
    pub fn middle_as_double(&self) -> f64 {
        let weights = (0..N as i32).map(|i| 2f64.powi(64 * i - Self::FRACTION));
        let size: f64 = self.magnitude().iter().zip(weights).map(|(w, at)| *w as f64 * at).sum();
        if self.is_negative() { -size } else { size }
    }

    /// About the middle: a double times a power of two.
    pub(super) fn middle_as_scaled(&self) -> (f64, i32) {
        let magnitude = self.magnitude();
        let top = (1..N).rev().find(|&i| magnitude[i] != 0).unwrap_or(1);
        let size = magnitude[top] as f64 * 2f64.powi(64) + magnitude[top - 1] as f64;
        (if self.is_negative() { -size } else { size }, 64 * (top as i32 - 1) - Self::FRACTION)
    }

    /// The error in ulps.
    pub(super) fn error(&self) -> u128 {
        self.error
    }

    /// Compares the middles.
    pub(super) fn compare_middles(&self, other: &Self) -> Ordering {
        let signs = (self.middle[N - 1] as i64).cmp(&(other.middle[N - 1] as i64));
        signs.then_with(|| self.middle.iter().rev().cmp(other.middle.iter().rev()))
    }

    /// Whether the middle is negative, its size and the error.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (bool, [u64; N], u128) {
        (self.is_negative(), self.magnitude(), self.error)
    }

    /// The error, if it is far from the end of the range.
    fn error_as_number(&self) -> Option<Self> {
        let mut middle = [0; N];
        (middle[0], middle[1]) = (self.error as u64, (self.error >> 64) as u64);
        (self.error >> 126 == 0).then_some(Self { middle, error: 0 })
    }

    fn is_negative(&self) -> bool {
        self.middle[N - 1] >> 63 == 1
    }

    /// The size of the middle; that of -2^63 in the first word is 2^63.
    #[inline]
    fn magnitude(&self) -> [u64; N] {
        negated_if(&self.middle, self.is_negative())
    }
}

/// The words before one of a number with this sign.
fn fill_of(word: i64) -> u64 {
    (word >> 63) as u64
}

/// The words of -m, or of m.
#[inline]
fn negated_if<const N: usize>(words: &[u64; N], negative: bool) -> [u64; N] {
    let (mask, mut carry) = (0u64.wrapping_sub(u64::from(negative)), u64::from(negative));
    let mut result = [0; N];
    for i in 0..N {
        let (word, over) = (words[i] ^ mask).overflowing_add(carry);
        (result[i], carry) = (word, u64::from(over));
    }
    result
}

/// A bound on |m| e in ulps: the first two words of m, and one for the others.
#[inline]
fn times_error<const N: usize>(magnitude: &[u64; N], error: u128) -> u128 {
    if error == 0 {
        return 0;
    }
    let second = times_fraction(error, u128::from(magnitude[N - 2]) + 1);
    u128::from(magnitude[N - 1]).saturating_mul(error).saturating_add(second)
}

/// The same for errors below 2^64: the bound is below 2^127 + 2^65.
#[inline]
fn times_short_error<const N: usize>(magnitude: &[u64; N], error: u64) -> u128 {
    wide(magnitude[N - 1], error)
        + (wide(magnitude[N - 2], error) >> 64)
        + 2 * u128::from(error != 0)
}

#[inline]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// A bound on `error` times `share` 2^-64, share <= 2^64.
#[inline]
fn times_fraction(error: u128, share: u128) -> u128 {
    let low = ((error & u128::from(u64::MAX)) * share) >> 64;
    (error >> 64).saturating_mul(share).saturating_add(low).saturating_add(1)
}

/// The number of the two least words, and whether there is more.
#[inline]
fn lowest<const N: usize>(words: &[u64; N]) -> (u128, bool) {
    let low = u128::from(words[1]) << 64 | u128::from(words[0]);
    (low, words[2..].iter().any(|word| *word != 0))
}

fn leading_zeros<const N: usize>(words: &[u64; N]) -> u32 {
    let mut zeros = 0;
    for word in words.iter().rev() {
        zeros += word.leading_zeros();
        if *word != 0 {
            break;
        }
    }
    zeros
}
