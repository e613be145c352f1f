//! Exponentials of skew matrices and logarithms of rotations, both by the difference to the identity, which keeps
//! the digits of what is close to it.
//!
//! exp(X) = cos T + X sin(T)/T, T^2 = X^T X. With N = Q - I and the eigenvectors v of N^T N
//!
//! ```text
//! t = 2 atan2(|N v|, |N v + 2 v|),     log Q = sum of t (A v/|A v|) v^T,     A = (N - N^T)/2.
//! ```

use super::complex;
use super::planes::Planes;
use crate::manifold::matrix::{Matrix, Spectrum};
use crate::simd::elementary::{atan2_nonneg, sinc};
use crate::vector::norm;

/// cos^2(t/2) below which a plane is turned by nearly half a turn.
const HALF_TURN: f64 = 0.0025;

/// Planes whose cos^2(t/2) are closer than this belong together.
const GAP: f64 = 0.01;

/// exp(X) - I = X sin(T)/T + X^2 (1 - cos T)/T^2
pub(super) fn rotation_minus_identity(x: &Matrix) -> Matrix {
    let spectrum = Spectrum::of(&x.gram());
    let angle = |square: f64| if square > 0.0 { square.sqrt() } else { 0.0 };
    let half = |square| sinc(0.5 * angle(square));
    let versine = spectrum.function(|square| 0.5 * half(square) * half(square));
    let sine = spectrum.function(|square| sinc(angle(square)));
    x.times(&sine.plus(1.0, &x.times(&versine)))
}

/// exp(X)
pub(super) fn rotation(x: &Matrix) -> Matrix {
    identity(x.rows).plus(1.0, &rotation_minus_identity(x))
}

/// (A - A^T)/2
pub(super) fn skew_part(a: &Matrix) -> Matrix {
    Matrix::from(a.rows, a.rows, |i, j| 0.5 * (a.at(i, j) - a.at(j, i)))
}

pub(super) fn identity(n: usize) -> Matrix {
    Matrix::from(n, n, |i, j| f64::from(i == j))
}

/// R^T A R for R = exp(s X): parallel transport along exp(X) turns coordinates so with s = 1/2.
pub(super) fn turned_back(a: &Matrix, x: &Matrix, s: f64) -> Matrix {
    let r = rotation(&x.clone().scaled(s));
    r.transpose_times(&a.times(&r))
}

/// A logarithm and its angles.
pub(super) struct Log {
    /// The skew matrix.
    pub x: Matrix,
    /// The angles of its eigenvectors: each of the planes twice, in no order, and 0 if n is odd.
    pub angles: Vec<f64>,
}

impl Log {
    /// That of the rotation I + N; at the cut locus one of them. What commutes with the product by i keeps to that.
    pub(super) fn of(difference: &Matrix, is_complex: bool) -> Self {
        let n = difference.rows;
        let (skew, gram) = (skew_part(difference), difference.gram());
        let mut vectors = Spectrum::of(&gram).vectors;
        // the rounding of a matrix that is close to I + N = R^T S is not small in N + N^T = -N^T N
        let difference = &skew.clone().plus(-0.5, &gram);
        let mut turned = skew.times(&vectors);
        let mut lengths = Lengths::of(difference, &vectors);
        let close = lengths.half_turns();
        if !close.is_empty() {
            let span = Matrix::from(n, close.len(), |i, j| vectors.at(i, close[j]));
            let planes = if is_complex {
                complex::lines(&skew, &span)
            } else {
                let within = skew_part(&span.transpose_times(&skew.times(&span)));
                let Planes { vectors, angles } = Planes::of(&within);
                Planes { vectors: span.times(&vectors), angles }
            };
            for (j, at) in close.iter().enumerate() {
                let (other, sign) = if j % 2 == 0 { (j + 1, 1.0) } else { (j - 1, -1.0) };
                let sign = if planes.angles[j / 2] < 0.0 { -sign } else { sign };
                let image: Vec<f64> =
                    planes.vectors.column(other).iter().map(|x| sign * x).collect();
                vectors.set_column(*at, &planes.vectors.column(j));
                turned.set_column(*at, &image);
            }
            lengths = Lengths::of(difference, &vectors);
        }
        let angles = lengths.angles();
        let factor = |j: usize| {
            let length = norm(&turned.column(j));
            if length > 0.0 { angles[j] / length } else { 0.0 }
        };
        let factors: Vec<f64> = (0..n).map(factor).collect();
        let scaled = Matrix::from(n, n, |i, j| factors[j] * turned.at(i, j));
        Self { x: skew_part(&scaled.times_transpose(&vectors)), angles }
    }

    /// rho
    pub(super) fn length(&self) -> f64 {
        std::f64::consts::FRAC_1_SQRT_2 * norm(&self.angles)
    }
}

/// |N v| = 2 sin(t/2) and |N v + 2 v| = 2 cos(t/2) for orthonormal vectors v.
struct Lengths(Vec<[f64; 2]>);

impl Lengths {
    fn of(difference: &Matrix, vectors: &Matrix) -> Self {
        let moved = difference.times(vectors);
        let sum = moved.clone().plus(2.0, vectors);
        Self((0..vectors.columns).map(|j| [&moved, &sum].map(|x| norm(&x.column(j)))).collect())
    }

    fn angles(&self) -> Vec<f64> {
        self.0.iter().map(|[sine, cosine]| 2.0 * atan2_nonneg(*sine, *cosine)).collect()
    }

    /// Vectors in planes of half turns or nearly so, an even number of them that a gap sets apart from the others.
    fn half_turns(&self) -> Vec<usize> {
        let square = |i: usize| 0.25 * self.0[i][1] * self.0[i][1];
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by(|i, j| square(*i).total_cmp(&square(*j)));
        let mut count = order.iter().take_while(|i| square(**i) < HALF_TURN).count();
        while (1..order.len()).contains(&count)
            && square(order[count]) < square(order[count - 1]) + GAP
        {
            count += 1;
        }
        order.truncate(count / 2 * 2);
        order
    }
}
