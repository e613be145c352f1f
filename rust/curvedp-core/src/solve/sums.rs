//! Passes over vectors in fixed blocks, and sums in a fixed order, whatever the number of threads.

use std::ops::Range;

use super::sliced::WIDTH;
use crate::parallel::pass;
use crate::simd::vectorize;

/// Entries of a block: what one thread does at a time. A multiple of [`WIDTH`].
pub(super) const BLOCK: usize = 4096;

/// Independent partial sums within a block.
const LANES: usize = 8;

/// Adds neighbours until one number is left.
pub(super) fn tree(mut parts: Vec<f64>) -> f64 {
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
    parts.first().copied().unwrap_or(0.0)
}

/// sum_i term(a_i, b_i) over two slices of one length.
#[inline(always)]
pub(super) fn sum2(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for l in 0..LANES {
            lanes[l] += term(a[l], b[l]);
        }
    }
    for (l, (&a, &b)) in rest_a.iter().zip(rest_b).enumerate() {
        lanes[l] += term(a, b);
    }
    let x = &lanes;
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

/// sum_i term(a_i, b_i), block by block.
pub(super) fn dot(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64 + Sync + Send) -> f64 {
    let pieces = a.chunks(BLOCK).zip(b.chunks(BLOCK)).collect();
    tree(pass(pieces, |(a, b): (&[f64], &[f64])| {
        vectorize(
            #[inline(always)]
            || sum2(a, b, &term),
        )
    }))
}

/// sum_i a_i, block by block.
pub(super) fn sum(a: &[f64]) -> f64 {
    dot(a, a, |a, _| a)
}

/// Lets `work` fill every block of `out`, given where it lies, and adds up what it returns.
pub(super) fn blocks<T: Send>(
    out: &mut [T],
    work: impl Fn(Range<usize>, &mut [T]) -> f64 + Sync + Send,
) -> f64 {
    let pieces = out.chunks_mut(BLOCK).enumerate().collect();
    tree(pass(pieces, |(b, piece): (usize, &mut [T])| {
        let range = b * BLOCK..b * BLOCK + piece.len();
        vectorize(
            #[inline(always)]
            || work(range, piece),
        )
    }))
}

/// Lets `entries` compute eight entries of `out` at a time.
pub(super) fn slices<T: Send + Copy>(
    out: &mut [T],
    entries: impl Fn(usize) -> [T; WIDTH] + Sync + Send,
) {
    blocks(out, |range, piece| {
        fill(range.start, piece, &entries);
        0.0
    });
}

/// The same for a piece that begins at entry `start`, on one thread.
#[inline(always)]
pub(super) fn fill<T: Copy>(
    start: usize,
    piece: &mut [T],
    mut entries: impl FnMut(usize) -> [T; WIDTH],
) {
    let first = start / WIDTH;
    let (whole, rest) = piece.as_chunks_mut::<WIDTH>();
    let last = first + whole.len();
    for (s, out) in whole.iter_mut().enumerate() {
        *out = entries(first + s);
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&entries(last)[..rest.len()]);
    }
}

/// The entries of `x` that belong to a slice; the last one stands for those beyond the end.
#[inline(always)]
pub(super) fn lane<T: Copy>(x: &[T], slice: usize) -> [T; WIDTH] {
    match x.get(slice * WIDTH..(slice + 1) * WIDTH) {
        Some(entries) => std::array::from_fn(|s| entries[s]),
        None => std::array::from_fn(|s| x[(slice * WIDTH + s).min(x.len() - 1)]),
    }
}
