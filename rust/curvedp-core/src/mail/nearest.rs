//! Exact nearest neighbours and the diameter of a set, by tiles of scalar products.

use super::pairs::all;
use super::product::outer;
use crate::error::Error;
use crate::parallel::{Interrupt, map};
use crate::simd::vectorize;

/// Queries and points in a tile.
const TILE: usize = 256;

/// Neighbours of one query, the nearest first; of equally far points the one with the lower index.
pub type Neighbours = Vec<(f64, usize)>;

/// The `k` points nearest to each query in Euclidean distance, with the squared distances. Points and
/// queries have rows of `size` entries and finite squared lengths.
///
/// Scalar products find candidates, up to a bound on their rounding error; differences rank them.
pub fn nearest(
    queries: &[f64],
    points: &[f64],
    size: usize,
    k: usize,
    interrupt: Interrupt,
) -> Result<Vec<Neighbours>, Error> {
    let half_points = half_squares(points, size);
    let largest = half_points.iter().copied().fold(0.0, f64::max);
    let block = TILE * size;
    let found = map(queries.len().div_ceil(block), interrupt, |i| {
        let queries = &queries[i * block..((i + 1) * block).min(queries.len())];
        let half_queries = half_squares(queries, size);
        let mut candidates: Vec<Candidates> = half_queries
            .iter()
            .map(|half| Candidates::new(k, rounding(size, half + largest)))
            .collect();
        let mut products = vec![0.0; half_queries.len() * TILE];
        for (t, points) in points.chunks(block).enumerate() {
            let count = points.len() / size;
            let products = &mut products[..half_queries.len() * count];
            outer(queries, points, size, products);
            for (row, candidates) in products.chunks_exact(count).zip(&mut candidates) {
                for (l, product) in row.iter().enumerate() {
                    candidates.offer(half_points[t * TILE + l] - product, t * TILE + l);
                }
            }
        }
        let rows = queries.chunks_exact(size);
        candidates.into_iter().zip(rows).map(|(c, q)| c.rank(q, points)).collect::<Vec<_>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Bound on the error of half a squared distance computed from scalar products, given the sum of the halves
/// of the squared lengths.
fn rounding(size: usize, half_squares: f64) -> f64 {
    4.0 * (size as f64 + 4.0) * f64::EPSILON * half_squares
}

fn half_squares(rows: &[f64], size: usize) -> Vec<f64> {
    rows.chunks_exact(size).map(|row| 0.5 * row.iter().map(|x| x * x).sum::<f64>()).collect()
}

/// Points that may be among the k nearest to a query.
struct Candidates {
    k: usize,
    /// Computed values (half the squared distance less a constant) may be wrong by this much.
    error: f64,
    /// No point beyond this value can be among the nearest.
    limit: f64,
    found: Vec<(f64, usize)>,
}

impl Candidates {
    fn new(k: usize, error: f64) -> Self {
        Self { k, error, limit: f64::INFINITY, found: Vec::with_capacity(4 * k + 64) }
    }

    #[inline]
    fn offer(&mut self, value: f64, index: usize) {
        if value <= self.limit {
            self.found.push((value, index));
            if self.found.len() == self.found.capacity() {
                self.prune();
            }
        }
    }

    /// Drops what lies beyond the k-th smallest value and the rounding error of both.
    fn prune(&mut self) {
        if self.k < self.found.len() {
            let (_, kth, _) =
                self.found.select_nth_unstable_by(self.k - 1, |a, b| a.0.total_cmp(&b.0));
            self.limit = kth.0 + 2.0 * self.error;
            let limit = self.limit;
            self.found.retain(|candidate| candidate.0 <= limit);
        }
        let wanted = 2 * self.found.len() + 64;
        self.found.reserve_exact(wanted - self.found.len());
    }

    fn rank(mut self, query: &[f64], points: &[f64]) -> Neighbours {
        self.prune();
        let size = query.len();
        for (value, index) in &mut self.found {
            let point = &points[*index * size..][..size];
            *value = query.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum();
        }
        self.found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.found.truncate(self.k);
        self.found
    }
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
    fn neighbours_are_those_of_a_full_sort() {
        for (count, size, k) in [(1, 1, 1), (7, 2, 7), (300, 3, 5), (1000, 4, 300), (700, 64, 8)] {
            let (points, queries) = (rows(count, size, 3), rows(277, size, 5));
            let found = nearest(&queries, &points, size, k, &|| false).unwrap();
            for (query, found) in queries.chunks_exact(size).zip(found) {
                let points = points.chunks_exact(size);
                let mut all: Neighbours =
                    points.enumerate().map(|(i, point)| (square(query, point), i)).collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                assert_eq!(found, all[..k]);
            }
        }
    }

    #[test]
    fn points_closer_than_the_rounding_of_their_products_are_ranked_exactly() {
        let points: Vec<f64> = (0..600).map(|i| 1e8 + f64::from((i * 7) % 600) * 1e-6).collect();
        let found = nearest(&[1e8], &points, 1, 3, &|| false).unwrap();
        assert_eq!(found[0].iter().map(|x| x.1).collect::<Vec<_>>(), [0, 343, 86]);
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
