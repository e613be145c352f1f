//! The planes that a skew matrix turns, and the curvature operator: with the angles t of these planes, R_X
//! multiplies, in 2 x 2 blocks between the planes i < j,
//!
//! ```text
//! matrices that commute with quarter turns   by ((t_i - t_j)/2)^2,   two of them
//! the others                                 by ((t_i + t_j)/2)^2,   two of them
//! what lies between plane i and an axis      by (t_i/2)^2,           two of them, n odd
//! the turn of a plane itself                 by 0.
//! ```

use super::skew;
use crate::manifold::matrix::{Matrix, Spectrum};
use crate::vector::norm;

/// Squared length of what is left of an eigenvector across the planes found, so that it may lie in the next one.
const LEFT: f64 = 0.05;

/// X = sum of t (w v^T - v w^T) over pairs of orthonormal columns v, w; n odd leaves the last column alone.
pub(super) struct Planes {
    pub vectors: Matrix,
    pub angles: Vec<f64>,
}

impl Planes {
    /// Those of a skew matrix, the largest angle first. Angles of 0 have any planes.
    pub(super) fn of(x: &Matrix) -> Self {
        let n = x.rows;
        let squares = Spectrum::of(&x.gram());
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|i, j| squares.values[*j].total_cmp(&squares.values[*i]));
        let candidates: Vec<Vec<f64>> = order.iter().map(|i| squares.vectors.column(*i)).collect();
        let mut found: Vec<Vec<f64>> = Vec::with_capacity(n);
        let mut angles = Vec::with_capacity(n / 2);
        while found.len() < n {
            let v = next(&candidates, &found);
            found.push(v);
            if found.len() == n {
                break;
            }
            let image = x.times(&Matrix::of(n, 1, &found[found.len() - 1])).data;
            let across = across(&image, &found);
            // of a zero all directions are images
            let w =
                if norm(&across) > 0.0 { unit(&across, &found) } else { next(&candidates, &found) };
            angles.push(w.iter().zip(&image).map(|(w, image)| w * image).sum::<f64>().max(0.0));
            found.push(w);
        }
        Self { vectors: Matrix::from(n, n, |i, j| found[j][i]), angles }
    }
}

/// What lies across orthonormal vectors.
fn across(vector: &[f64], others: &[Vec<f64>]) -> Vec<f64> {
    let mut rest = vector.to_vec();
    for _ in 0..2 {
        for own in others {
            let share: f64 = rest.iter().zip(own).map(|(x, y)| x * y).sum();
            rest.iter_mut().zip(own).for_each(|(x, y)| *x -= share * y);
        }
    }
    rest
}

/// The direction of a vector across others, so short it may be.
pub(super) fn unit(vector: &[f64], others: &[Vec<f64>]) -> Vec<f64> {
    let largest = vector.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let scaled: Vec<f64> = vector.iter().map(|x| x / largest).collect();
    let rest = across(&scaled, others);
    let length = norm(&rest);
    rest.iter().map(|x| x / length).collect()
}

/// The direction across those found of the first candidate of which enough is left, or else of that of which most is.
pub(super) fn next(candidates: &[Vec<f64>], found: &[Vec<f64>]) -> Vec<f64> {
    let mut most: Option<(f64, Vec<f64>)> = None;
    for candidate in candidates {
        let rest = across(candidate, found);
        let square: f64 = rest.iter().map(|x| x * x).sum();
        if most.as_ref().is_none_or(|(best, _)| square > *best) {
            most = Some((square, rest));
        }
        if square >= LEFT {
            break;
        }
    }
    most.map(|(_, rest)| unit(&rest, found)).unwrap_or_default()
}

/// f(R_X) as a matrix.
pub(super) fn curvature_function(n: usize, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
    let Planes { vectors, angles } = Planes::of(&skew(n, u));
    let angle = |plane: usize| angles.get(plane).copied().unwrap_or(0.0);
    let planes = n.div_ceil(2);
    // f at half the difference and half the sum of two angles
    let images = Matrix::from(planes, planes, |a, b| f(0.25 * (angle(a) - angle(b)).powi(2)));
    let others = Matrix::from(planes, planes, |a, b| f(0.25 * (angle(a) + angle(b)).powi(2)));
    let mut axis = vec![0.0; u.len()];
    for (at, image) in out.chunks_exact_mut(u.len()).enumerate() {
        axis.fill(0.0);
        axis[at] = 1.0;
        let seen = vectors.transpose_times(&skew(n, &axis)).times(&vectors);
        let entry = |i: usize, j: usize| {
            if i < n && j < n { seen.at(i, j) } else { 0.0 }
        };
        let turned = Matrix::from(n, n, |i, j| {
            let (a, b) = (i / 2, j / 2);
            if a == b {
                return f(0.0) * entry(i, j);
            }
            // J Z J, which is -Z for what commutes with J
            let sign = if (i + j) % 2 == 0 { -1.0 } else { 1.0 };
            let opposite = if 2 * a.max(b) + 1 == n {
                // an axis beside the planes has no other: the two numbers are alike
                return images.at(a, b) * entry(i, j);
            } else {
                sign * entry(i ^ 1, j ^ 1)
            };
            let commuting = 0.5 * (entry(i, j) - opposite);
            images.at(a, b) * commuting + others.at(a, b) * (entry(i, j) - commuting)
        });
        let back = vectors.times(&turned).times_transpose(&vectors);
        super::read(&back, image);
    }
}
