//! Loops over the entries of complex rows (real and imaginary parts interleaved): the counterparts of
//! [`row_sums`](super::entries::row_sums), `row_map` and `row_add`. Rows have an even length.

use super::entries::{WIDE, last_chunk};
use super::lanes::LANES;

/// A complex number.
pub(crate) type Pair = [f64; 2];

/// Real and imaginary part of conj(a) b, each as two numbers to be added.
#[inline(always)]
pub(crate) fn hermitian([ax, ay]: Pair, [bx, by]: Pair) -> [Pair; 2] {
    [[ax * bx, ay * by], [ax * by, -(ay * bx)]]
}

/// a b.
#[inline(always)]
pub(crate) fn times([ax, ay]: Pair, [bx, by]: Pair) -> Pair {
    [ax * bx - ay * by, ax * by + ay * bx]
}

#[inline(always)]
pub(crate) fn plus([ax, ay]: Pair, [bx, by]: Pair) -> Pair {
    [ax + bx, ay + by]
}

#[inline(always)]
pub(crate) fn minus([ax, ay]: Pair, [bx, by]: Pair) -> Pair {
    [ax - bx, ay - by]
}

#[inline(always)]
pub(crate) fn pair(row: &[f64], i: usize) -> Pair {
    [row[2 * i], row[2 * i + 1]]
}

/// Sums of both parts of `term` over the entries of `rows`.
#[inline(always)]
pub(crate) fn pair_sums<const N: usize, const K: usize>(
    width: usize,
    rows: [&[f64]; N],
    term: impl Fn([Pair; N]) -> [Pair; K],
) -> [f64; K] {
    part_sums(width, rows, term).map(|[x, y]| x + y)
}

/// The sum of either part of `term` over the entries of `rows`. Imaginary parts of products are
/// [`hermitian`]'s with both signs plus, to be subtracted at the end: not entry by entry, it is free.
#[inline(always)]
pub(crate) fn part_sums<const N: usize, const K: usize>(
    width: usize,
    rows: [&[f64]; N],
    term: impl Fn([Pair; N]) -> [Pair; K],
) -> [Pair; K] {
    let mut lanes = [[0.0; LANES]; K];
    if width < LANES {
        for i in 0..width / 2 {
            let terms = term(std::array::from_fn(|n| pair(rows[n], i)));
            for k in 0..K {
                lanes[k][0] += terms[k][0];
                lanes[k][1] += terms[k][1];
            }
        }
        return lanes.map(|x| [x[0], x[1]]);
    }
    let chunks = rows.map(|row| row[..width].as_chunks::<LANES>().0);
    for c in 0..width / LANES {
        for i in 0..LANES / 2 {
            let terms = term(std::array::from_fn(|n| pair(&chunks[n][c], i)));
            for k in 0..K {
                lanes[k][2 * i] += terms[k][0];
                lanes[k][2 * i + 1] += terms[k][1];
            }
        }
    }
    let tail = width % LANES;
    if tail > 0 {
        let last = rows.map(|row| last_chunk(&row[..width]));
        for i in 0..LANES / 2 {
            let terms = term(std::array::from_fn(|n| pair(last[n], i)));
            for k in 0..K {
                lanes[k][2 * i] += if 2 * i + tail >= LANES { terms[k][0] } else { 0.0 };
                lanes[k][2 * i + 1] += if 2 * i + tail >= LANES { terms[k][1] } else { 0.0 };
            }
        }
    }
    lanes.map(|x| [(x[0] + x[4]) + (x[2] + x[6]), (x[1] + x[5]) + (x[3] + x[7])])
}

/// Writes `entry` of the entries of `rows`.
#[inline(always)]
pub(crate) fn pair_map<const N: usize>(
    rows: [&[f64]; N],
    entry: impl Fn([Pair; N]) -> Pair,
    out: &mut [f64],
) {
    let width = out.len();
    let whole = width - width % WIDE;
    let chunks = rows.map(|row| row[..width].as_chunks::<WIDE>().0);
    for (c, out) in out.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let mut result = [0.0; WIDE];
        for i in 0..WIDE / 2 {
            let value = entry(std::array::from_fn(|n| pair(&chunks[n][c], i)));
            [result[2 * i], result[2 * i + 1]] = value;
        }
        *out = result;
    }
    for i in whole / 2..width / 2 {
        [out[2 * i], out[2 * i + 1]] = entry(std::array::from_fn(|n| pair(rows[n], i)));
    }
}

/// Adds `entry` of the entries of `rows` to `sum`.
#[inline(always)]
pub(crate) fn pair_add<const N: usize>(
    rows: [&[f64]; N],
    entry: impl Fn([Pair; N]) -> Pair,
    sum: &mut [f64],
) {
    let width = sum.len();
    let whole = width - width % WIDE;
    let chunks = rows.map(|row| row[..width].as_chunks::<WIDE>().0);
    for (c, sum) in sum.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let mut result = *sum;
        for i in 0..WIDE / 2 {
            let [re, im] = entry(std::array::from_fn(|n| pair(&chunks[n][c], i)));
            result[2 * i] += re;
            result[2 * i + 1] += im;
        }
        *sum = result;
    }
    for i in whole / 2..width / 2 {
        let [re, im] = entry(std::array::from_fn(|n| pair(rows[n], i)));
        sum[2 * i] += re;
        sum[2 * i + 1] += im;
    }
}
