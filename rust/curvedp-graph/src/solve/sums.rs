//! Passes over vectors in fixed blocks, and sums in a fixed order, whatever the number of threads.

use std::ops::Range;

use super::sliced::WIDTH;
use curvedp_core::parallel::pass;
use curvedp_core::simd::lanes::{lane_sums, tree_sum};
use curvedp_core::simd::vectorize;

/// Entries of a block: what one thread does at a time.
pub(super) const SPAN: usize = 4096;

const _: () = assert!(SPAN.is_multiple_of(WIDTH), "blocks begin where slices do");

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
    let (mut sums, rest_a, rest_b) = lane_sums(a, b, &term);
    for (l, (&a, &b)) in rest_a.iter().zip(rest_b).enumerate() {
        sums[l] += term(a, b);
    }
    tree_sum(&sums)
}

/// sum_i term(a_i, b_i), block by block.
pub(super) fn dot(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64 + Sync + Send) -> f64 {
    let pieces = a.chunks(SPAN).zip(b.chunks(SPAN)).collect();
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

/// Lets `work` fill every block of `out`, given its position, and adds up the numbers returned.
pub(super) fn blocks<T: Send>(
    out: &mut [T],
    work: impl Fn(Range<usize>, &mut [T]) -> f64 + Sync + Send,
) -> f64 {
    let pieces = out.chunks_mut(SPAN).enumerate().collect();
    tree(pass(pieces, |(b, piece): (usize, &mut [T])| {
        let range = b * SPAN..b * SPAN + piece.len();
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
