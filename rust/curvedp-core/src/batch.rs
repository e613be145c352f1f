//! Large batches: every kernel of [`Manifold`] cut into pieces and spread over threads.

use crate::error::Error;
use crate::manifold::Manifold;
use crate::parallel::{Interrupt, for_rows};
use crate::rows::{Rows, row_count};

/// Rows in a piece: enough work to be worth handing to a thread, few enough to stay in cache.
pub fn piece_rows(point_size: usize) -> usize {
    (32_768 / point_size).clamp(256, 8192) / 64 * 64
}

/// Distance of every pair.
pub fn dist(
    manifold: &dyn Manifold,
    a: Rows,
    b: Rows,
    out: &mut [f64],
    interrupt: Interrupt,
) -> Result<(), Error> {
    let size = manifold.point_size();
    [a, b].iter().for_each(|rows| rows.check(out.len(), size));
    let rows = piece_rows(size);
    for_rows(out, 1, rows, interrupt, |first, piece| {
        let range = first..first + piece.len();
        manifold.dist(a.range(range.clone()), b.range(range), piece);
    })
}

/// A kernel of two inputs with rows of `width` output entries.
pub fn binary(
    width: usize,
    a: Rows,
    b: Rows,
    out: &mut [f64],
    interrupt: Interrupt,
    kernel: impl Fn(Rows, Rows, &mut [f64]) + Sync,
) -> Result<(), Error> {
    [a, b].iter().for_each(|rows| rows.check(row_count(out.len(), width), rows.size()));
    for_rows(out, width, piece_rows(a.size()), interrupt, |first, piece| {
        let range = first..first + piece.len() / width;
        kernel(a.range(range.clone()), b.range(range), piece);
    })
}

/// A kernel of three inputs with rows of `width` output entries.
pub fn ternary(
    width: usize,
    inputs: [Rows; 3],
    out: &mut [f64],
    interrupt: Interrupt,
    kernel: impl Fn([Rows; 3], &mut [f64]) + Sync,
) -> Result<(), Error> {
    inputs.iter().for_each(|rows| rows.check(row_count(out.len(), width), rows.size()));
    for_rows(out, width, piece_rows(inputs[0].size()), interrupt, |first, piece| {
        let range = first..first + piece.len() / width;
        kernel(inputs.map(|rows| rows.range(range.clone())), piece);
    })
}

/// The matrix of distances between the rows of `a` and of `b` (row-major); with `b` absent between the
/// rows of `a`, where the upper triangle is computed and mirrored.
pub fn pairwise_dist(
    manifold: &dyn Manifold,
    a: Rows,
    b: Option<Rows>,
    out: &mut [f64],
    interrupt: Interrupt,
) -> Result<(), Error> {
    let columns = b.unwrap_or(a);
    let width = columns.data().len() / columns.size();
    let rows = (piece_rows(a.size()) / width).max(1);
    for_rows(out, width, rows, interrupt, |first, piece| {
        for (i, row) in piece.chunks_exact_mut(width).enumerate() {
            let start = if b.is_some() { 0 } else { first + i + 1 };
            row[start.saturating_sub(1)..start].fill(0.0);
            let base = Rows::shared(a.row(first + i));
            manifold.dist(base, columns.range(start..width), &mut row[start..]);
        }
    })?;
    if b.is_none() {
        mirror(out, width);
    }
    Ok(())
}

/// Copies the strict upper triangle of a square matrix into the lower one, tile by tile.
fn mirror(out: &mut [f64], n: usize) {
    const TILE: usize = 32;
    for i0 in (0..n).step_by(TILE) {
        for j0 in (0..=i0).step_by(TILE) {
            for i in i0..(i0 + TILE).min(n) {
                for j in j0..(j0 + TILE).min(i) {
                    out[i * n + j] = out[j * n + i];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_matrices_are_symmetric_and_keep_their_upper_triangle() {
        for n in [1, 2, 7, 8, 127, 128, 131, 136, 300] {
            let upper: Vec<f64> = (0..n * n).map(|k| k as f64).collect();
            let mut both = upper.clone();
            mirror(&mut both, n);
            for i in 0..n {
                for j in i..n {
                    assert_eq!(both[i * n + j], upper[i * n + j]);
                    assert_eq!(both[j * n + i], upper[i * n + j]);
                }
            }
        }
    }
}
