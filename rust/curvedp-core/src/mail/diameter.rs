//! The diameter of a set, by tiles of scalar products.

use super::pairs::all;
use super::product::outer;
use crate::error::Error;
use crate::parallel::{Interrupt, map};
use crate::simd::vectorize;

/// Rows in a tile.
const TILE: usize = 256;

/// Bound on the error of half a squared distance computed from scalar products, given the sum of the halves
/// of the squared lengths.
fn rounding(size: usize, half_squares: f64) -> f64 {
    4.0 * (size as f64 + 4.0) * f64::EPSILON * half_squares
}

fn half_squares(rows: &[f64], size: usize) -> Vec<f64> {
    rows.chunks_exact(size).map(|row| 0.5 * row.iter().map(|x| x * x).sum::<f64>()).collect()
}

/// Upper bound, exact up to rounding, on the largest distance between two rows of `size` entries.
pub fn diameter(rows: &[f64], size: usize, interrupt: Interrupt) -> Result<f64, Error> {
    let centred = centre(rows, size);
    let half = half_squares(&centred, size);
    let largest = half.iter().copied().fold(0.0, f64::max);
    let pairs = all(half.len().div_ceil(TILE));
    let block = |i: usize| i * TILE..((i + 1) * TILE).min(half.len());
    let longest = map(pairs.len(), interrupt, |p| {
        let (i, j) = (block(pairs[p].0), block(pairs[p].1));
        let mut products = vec![0.0; i.len() * j.len()];
        let rows_of = |r: &std::ops::Range<usize>| &centred[r.start * size..r.end * size];
        outer(rows_of(&i), rows_of(&j), size, &mut products);
        vectorize(
            #[inline(always)]
            || {
                let mut longest = [0.0; 16];
                for (row, a) in products.chunks_exact(j.len()).zip(&half[i]) {
                    for (chunk, b) in row.chunks(16).zip(half[j.clone()].chunks(16)) {
                        for (l, (product, b)) in chunk.iter().zip(b).enumerate() {
                            let value = (a + b) - product;
                            longest[l] = if value > longest[l] { value } else { longest[l] };
                        }
                    }
                }
                longest.into_iter().fold(0.0, f64::max)
            },
        )
    })?;
    let half_square = longest.into_iter().fold(0.0, f64::max) + rounding(size, 2.0 * largest);
    Ok((2.0 * half_square).sqrt() * (1.0 + 4.0 * f64::EPSILON))
}

/// The rows less their mean.
fn centre(rows: &[f64], size: usize) -> Vec<f64> {
    let mut mean = vec![0.0; size];
    for row in rows.chunks_exact(size) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x);
    }
    let count = (rows.len() / size) as f64;
    mean.iter_mut().for_each(|mean| *mean /= count);
    rows.chunks_exact(size).flat_map(|row| row.iter().zip(&mean).map(|(x, m)| x - m)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, size: usize, salt: usize) -> Vec<f64> {
        (0..count * size).map(|k| ((k * 7919 + salt) % 1013) as f64 / 1013.0).collect()
    }

    fn square(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    #[test]
    fn the_diameter_is_the_largest_distance() {
        for (count, size) in [(1, 3), (2, 1), (257, 2), (700, 16)] {
            let x: Vec<f64> = rows(count, size, 11).iter().map(|x| x + 1e3).collect();
            let points = || x.chunks_exact(size);
            let exact = points().flat_map(|a| points().map(|b| square(a, b))).fold(0.0, f64::max);
            let bound = diameter(&x, size, &|| false).unwrap();
            assert!(exact.sqrt() <= bound && bound <= exact.sqrt() * (1.0 + 1e-12) + 1e-6);
        }
    }
}
