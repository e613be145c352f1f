//! Loops over the entries of one row, shaped so that they vectorise. All sums have a fixed order, so
//! results are the same on every processor.

use super::lanes::{LANES, tree_sum};

/// `entry(0)` to `entry(N - 1)`, outside of inner loops. (An array's `map`, which can stop halfway, is several
/// times as much code to compile, and each formula has its own copy; but inner loops vectorise with it alone.)
#[inline(always)]
pub(crate) fn each<T: Copy + Default, const N: usize>(entry: impl Fn(usize) -> T) -> [T; N] {
    let mut entries = [T::default(); N];
    for n in 0..N {
        entries[n] = entry(n);
    }
    entries
}

/// Entries combined at once. (Chunks of [`LANES`] would be vectorised across chunks, which is slow.)
pub(crate) const WIDE: usize = 2 * LANES;

/// Sums of `term` over the entries of `rows`. The entries beyond the last whole chunk are taken with
/// their predecessors as one more chunk whose repeated terms count 0.
#[inline(always)]
pub(crate) fn row_sums<const N: usize, const K: usize>(
    width: usize,
    rows: [&[f64]; N],
    term: impl Fn([f64; N]) -> [f64; K],
) -> [f64; K] {
    if width < LANES {
        let mut sums = [0.0; K];
        for j in 0..width {
            let terms = term(std::array::from_fn(|n| rows[n][j]));
            for k in 0..K {
                sums[k] += terms[k];
            }
        }
        return sums;
    }
    let mut lanes = [[0.0; LANES]; K];
    let chunks: [_; N] = each(|n| rows[n][..width].as_chunks::<LANES>().0);
    for c in 0..width / LANES {
        for i in 0..LANES {
            let terms = term(std::array::from_fn(|n| chunks[n][c][i]));
            for k in 0..K {
                lanes[k][i] += terms[k];
            }
        }
    }
    let tail = width % LANES;
    if tail > 0 {
        let last = rows.map(|row| last_chunk(&row[..width]));
        for i in 0..LANES {
            let terms = term(std::array::from_fn(|n| last[n][i]));
            for k in 0..K {
                lanes[k][i] += if i + tail >= LANES { terms[k] } else { 0.0 };
            }
        }
    }
    each(|k| tree_sum(&lanes[k]))
}

/// The last entries of a row that has at least as many.
#[inline(always)]
pub(crate) fn last_chunk(row: &[f64]) -> &[f64; LANES] {
    row.last_chunk().expect("the row is shorter than a chunk")
}

/// Writes `entry` of the entries of `rows`.
#[inline(always)]
pub(crate) fn row_map<const N: usize>(
    rows: [&[f64]; N],
    entry: impl Fn([f64; N]) -> f64,
    out: &mut [f64],
) {
    let width = out.len();
    if width < LANES {
        for j in 0..width {
            out[j] = entry(std::array::from_fn(|n| rows[n][j]));
        }
        return;
    }
    let chunks: [_; N] = each(|n| rows[n][..width].as_chunks::<WIDE>().0);
    for (c, out) in out.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let mut result = [0.0; WIDE];
        for i in 0..WIDE {
            result[i] = entry(std::array::from_fn(|n| chunks[n][c][i]));
        }
        *out = result;
    }
    let chunks: [_; N] = each(|n| rows[n][..width].as_chunks::<LANES>().0);
    if width % WIDE >= LANES {
        let c = width / LANES - 1;
        let mut result = [0.0; LANES];
        for i in 0..LANES {
            result[i] = entry(std::array::from_fn(|n| chunks[n][c][i]));
        }
        out[c * LANES..(c + 1) * LANES].copy_from_slice(&result);
    }
    if !width.is_multiple_of(LANES) {
        let last = rows.map(|row| last_chunk(&row[..width]));
        let mut result = [0.0; LANES];
        for i in 0..LANES {
            result[i] = entry(std::array::from_fn(|n| last[n][i]));
        }
        out[width - LANES..].copy_from_slice(&result);
    }
}

/// Adds `entry` of the entries of `rows` to `sum`.
#[inline(always)]
pub(crate) fn row_add<const N: usize>(
    rows: [&[f64]; N],
    entry: impl Fn([f64; N]) -> f64,
    sum: &mut [f64],
) {
    let width = sum.len();
    if width < LANES {
        for j in 0..width {
            sum[j] += entry(std::array::from_fn(|n| rows[n][j]));
        }
        return;
    }
    let chunks: [_; N] = each(|n| rows[n][..width].as_chunks::<WIDE>().0);
    for (c, sum) in sum.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let mut result = *sum;
        for i in 0..WIDE {
            result[i] += entry(std::array::from_fn(|n| chunks[n][c][i]));
        }
        *sum = result;
    }
    let chunks: [_; N] = each(|n| rows[n][..width].as_chunks::<LANES>().0);
    if width % WIDE >= LANES {
        let c = width / LANES - 1;
        for i in 0..LANES {
            sum[c * LANES + i] += entry(std::array::from_fn(|n| chunks[n][c][i]));
        }
    }
    let tail = width % LANES;
    if tail > 0 {
        let last = rows.map(|row| last_chunk(&row[..width]));
        let mut result = *last_chunk(sum);
        for i in 0..LANES {
            let term = entry(std::array::from_fn(|n| last[n][i]));
            result[i] += if i + tail >= LANES { term } else { 0.0 };
        }
        sum[width - LANES..].copy_from_slice(&result);
    }
}
