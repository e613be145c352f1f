//! Lengths of messages in integers, and the bounds on them.

use crate::error::Error;

/// Largest length of the message of a round.
pub const ROUND_BOUND: i64 = 1 << 24;

/// What a unit adds to a histogram, in all bins together.
pub const COUNT_UNIT: i64 = 1 << 20;

/// Bins that tail counts have at most.
const MOST_BINS: usize = 4096;

/// Entries beyond this size are in no message, and sums of their squares are exact.
const LARGEST_ENTRY: u64 = 1 << 40;

/// Number of fractional bits of the entries of columns.
const COLUMN_BITS: i32 = 20;

/// Largest squared length of a message.
pub(super) struct Limit {
    pub square: i128,
    /// Entries that count once in the squared length; all after them count twice.
    pub once: usize,
}

impl Limit {
    /// True if a message keeps to it.
    pub fn holds(&self, message: &[i64]) -> bool {
        let (once, twice) = message.split_at(self.once.min(message.len()));
        squares(once)
            .zip(squares(twice))
            .is_some_and(|(once, twice)| once + 2 * twice <= self.square)
    }

    /// Refuses more records than whose sum is sure to stay within 64 bits: no entry is larger than the length.
    pub fn admit(&self, count: usize) -> Result<(), Error> {
        let longest = self.square.unsigned_abs().isqrt() + 1;
        if (count as u128).saturating_mul(longest) <= i64::MAX as u128 {
            return Ok(());
        }
        let allowed = "small enough for sums in 64 bits";
        Err(Error::Parameter { name: "the number of records", allowed, value: count as f64 })
    }
}

/// The sum of the squares, exactly; None for entries that are in no message.
pub(super) fn squares(entries: &[i64]) -> Option<i128> {
    let mut sum = 0;
    for x in entries {
        if x.unsigned_abs() > LARGEST_ENTRY {
            return None;
        }
        sum += i128::from(*x) * i128::from(*x);
    }
    Some(sum)
}

/// sum += terms
pub(super) fn add(sum: &mut [i64], terms: &[i64]) {
    sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// Sums over that many records become means, rounded towards zero.
pub(super) fn divide(sums: &mut [i64], count: usize) {
    if count > 1 {
        sums.iter_mut().for_each(|sum| *sum /= count as i64);
    }
}

/// The square root of an integer below 2^104, rounded up to a double: at most a part in 2^50 too large.
pub(super) fn root_up(square: u128) -> f64 {
    let bits = 128 - square.leading_zeros();
    let shift = 104_u32.saturating_sub(bits) / 2;
    let scaled = square << (2 * shift);
    let root = scaled.isqrt();
    let up = root + u128::from(root * root < scaled);
    up as f64 / (1_u64 << shift) as f64
}

/// 2^20 C(2k, k)/4^k, rounded to integers: the first column of the lower triangular Toeplitz matrix whose square is
/// that of all prefix sums. Column j is the same, j entries further down and cut.
pub fn square_root_column(bins: usize) -> Result<Vec<i64>, Error> {
    if !(1..=MOST_BINS).contains(&bins) {
        return Err(Error::Parameter { name: "bins", allowed: "1 to 4096", value: bins as f64 });
    }
    let mut exact = f64::from(COLUMN_BITS).exp2();
    let column = (0..bins).map(|k| {
        if k > 0 {
            exact *= (2 * k - 1) as f64 / (2 * k) as f64;
        }
        exact.round_ties_even() as i64
    });
    Ok(column.collect())
}

/// How far one record, or unit, moves the sum of columns at most in Euclidean length: if it is added or removed, and
/// if it is replaced.
///
/// The longest column is the first, and a mean of columns is no longer. Of two columns the first and another are
/// farthest apart, and no two means are farther; rounding means towards zero adds less than 1 to each entry of a
/// difference. Proof: docs/proofs/sums-of-messages.md, sections 1 and 2.
pub fn tail_bound(bins: usize) -> Result<(f64, f64), Error> {
    let first = square_root_column(bins)?;
    let length = |entries: &[i64]| squares(entries).unwrap_or(0).unsigned_abs();
    let longest = length(&first);
    let apart = (1..bins).map(|j| {
        let both = first[j..].iter().zip(&first).map(|(a, b)| a - b);
        length(&first[..j]) + length(&both.collect::<Vec<i64>>())
    });
    let farthest = root_up(apart.fold(longest, u128::max)) + root_up(bins as u128);
    Ok((root_up(longest), farthest.next_up()))
}
