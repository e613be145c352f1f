//! Angles of tangent vectors of compact spaces, of which [`super::compact`] makes the law of noise; and directions, by their
//! angles, over which volumes are averaged: in quadrature where the rank is small.

use super::quadrature::GaussLegendre;
use super::radial::fill_direction;
use super::spd_volume::{MAX_ORDER, Spectrum, eigenvalues_in_place, spectrum};
use super::stream::Stream;
use crate::roots::{Compact, Matrices, Roots};
use crate::vector::norm;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_3, PI};

/// The angles of tangent vectors, and the envelope of the volumes that they give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Angles {
    pub space: Compact,
    /// Singular values, or angles of planes or eigenvalues; a_i is `factor` times one of these.
    pub roots: Roots,
    /// Root of the factor of squared roots.
    pub factor: f64,
    /// M, or 0 where B is 0.
    pub count: usize,
    /// a, or 0 where B is 0.
    pub mean: f64,
    /// No point is farther.
    pub diameter: f64,
}

impl Angles {
    pub(super) fn new(space: Compact) -> Self {
        let roots = space.roots();
        let count = if roots.has_flat_factor() { 0 } else { roots.count() };
        let mean = if count == 0 { 0.0 } else { (roots.ricci() / count as f64).sqrt() };
        let farthest = (roots.rank as f64).sqrt() * roots.farthest;
        let diameter = if count == 0 { farthest } else { farthest.min(PI / mean) };
        Self { space, roots, factor: roots.curvature.sqrt(), count, mean, diameter }
    }

    pub(super) fn dim(&self) -> usize {
        self.roots.dim()
    }

    /// B(t)
    pub(super) fn envelope(&self, t: f64) -> f64 {
        self.count as f64 * ln_sinc(self.mean * t)
    }

    pub(super) fn envelope_slope(&self, t: f64) -> f64 {
        let x = self.mean * t;
        // cot x - 1/x
        let slope = if x < 0.05 {
            let z = x * x;
            -x / 3.0 * (1.0 + z / 15.0 * (1.0 + 2.0 * z / 21.0))
        } else {
            1.0 / libm::tan(x) - 1.0 / x
        };
        self.count as f64 * self.mean * slope
    }

    /// L at `factor` times `angles`; minus infinity beyond pi/2.
    pub(super) fn ln_product(&self, angles: &[f64], factor: f64) -> f64 {
        let mut sum = 0.0;
        for (i, a) in angles.iter().enumerate() {
            let a = factor * a;
            if a.abs() >= FRAC_PI_2 {
                return f64::NEG_INFINITY;
            }
            sum += self.roots.single as f64 * ln_sinc(a);
            for b in &angles[..i] {
                let b = factor * b;
                let difference = self.roots.differences as f64 * ln_sinc(a - b);
                // where the angles have signs, their sums may be far from 0
                let other = match self.roots.sums {
                    0 => 0.0,
                    multiplicity => multiplicity as f64 * ln_sinc(a + b),
                };
                sum += difference + other;
            }
        }
        sum
    }

    /// The angles a_i of the vector with these coordinates.
    pub(super) fn of(&self, coords: &[f64]) -> Spectrum {
        let mut angles = match self.space {
            Compact::Subspaces { n, k } => self.singular_values(coords, n - k, k),
            Compact::Rotations { n } => turned_angles(coords, n),
            Compact::Unitary { n } => spectrum(coords, Matrices::hermitian(n)),
        };
        angles[..self.roots.rank].iter_mut().for_each(|angle| *angle *= self.factor);
        angles
    }

    /// Singular values of the matrix with these coordinates.
    fn singular_values(&self, coords: &[f64], rows: usize, columns: usize) -> Spectrum {
        let rank = self.roots.rank;
        let at = |i: usize, j: usize| coords[i * columns + j];
        let mut gram = vec![0.0; rank * rank];
        for i in 0..rank {
            for j in i..rank {
                gram[i * rank + j] = if rows < columns {
                    (0..columns).map(|l| at(i, l) * at(j, l)).sum()
                } else {
                    (0..rows).map(|l| at(l, i) * at(l, j)).sum()
                };
            }
        }
        eigenvalues_in_place(&mut gram, rank);
        let mut values = [0.0; MAX_ORDER];
        for (i, value) in values[..rank].iter_mut().enumerate() {
            *value = gram[i * (rank + 1)].max(0.0).sqrt();
        }
        values
    }
}

/// Angles of the planes that the skew matrix with these entries below the diagonal turns: singular values of
/// which every other one counts.
fn turned_angles(coords: &[f64], n: usize) -> Spectrum {
    let skew = skew_matrix(n, coords, 0.0, |x| -x);
    let mut gram = vec![0.0; n * n];
    for i in 0..n {
        for j in i..n {
            gram[i * n + j] = (0..n).map(|l| skew[l * n + i] * skew[l * n + j]).sum();
        }
    }
    eigenvalues_in_place(&mut gram, n);
    let mut squares: Vec<f64> = (0..n).map(|i| gram[i * (n + 1)]).collect();
    squares.sort_by(|x, y| y.total_cmp(x));
    let mut angles = [0.0; MAX_ORDER];
    for (angle, pair) in angles.iter_mut().zip(squares.chunks_exact(2)) {
        *angle = (0.5 * (pair[0] + pair[1])).max(0.0).sqrt();
    }
    angles
}

/// The skew matrix of order n with these entries below the diagonal, row by row.
pub(super) fn skew_matrix<T: Copy>(
    n: usize,
    coords: &[T],
    zero: T,
    negated: impl Fn(&T) -> T,
) -> Vec<T> {
    let mut matrix = vec![zero; n * n];
    for i in 0..n {
        for j in 0..i {
            let x = &coords[i * (i - 1) / 2 + j];
            (matrix[i * n + j], matrix[j * n + i]) = (*x, negated(x));
        }
    }
    matrix
}

/// ln(sin(x)/x)
fn ln_sinc(x: f64) -> f64 {
    let z = x * x;
    if z < 1e-3 {
        return -z / 6.0 * (1.0 + z / 30.0 * (1.0 + 4.0 * z / 63.0));
    }
    libm::log(libm::sin(x) / x)
}

/// Panels of lengths for each direction.
pub(super) const PANELS: usize = 5;

/// Bound of the number of roots that are evaluated where directions are drawn.
const BUDGET: usize = 2_000_000;

/// Angles of vectors of length 1 in uniformly distributed directions, with weights.
pub(super) fn spectra(angles: &Angles, key: [u8; 32]) -> Vec<(f64, Spectrum)> {
    let Angles { roots, factor, .. } = *angles;
    let mut values = [0.0; MAX_ORDER];
    match roots.rank {
        1 => {
            values[0] = factor;
            vec![(1.0, values)]
        }
        _ if roots.has_flat_factor() => spectra_about_identity(angles, key),
        // (cos x, sin x) with density (cos x sin x)^s (cos 2x)^m
        2 => {
            let rule = GaussLegendre::<16>::new();
            let weighted: Vec<_> = rule
                .on_panels(0.0, 0.5 * FRAC_PI_2, 8)
                .map(|(x, w)| {
                    let (sin, cos) = libm::sincos(x);
                    values[..2].copy_from_slice(&[cos, sin].map(|x| factor * x));
                    let single = libm::pow(2.0 * sin * cos, roots.single as f64);
                    let pair = libm::cos(2.0 * x).powi(roots.sums as i32);
                    (w * single * pair, values)
                })
                .collect();
            let total: f64 = weighted.iter().map(|(w, _)| w).sum();
            weighted.into_iter().map(|(w, values)| (w / total, values)).collect()
        }
        rank => {
            let count = (BUDGET / (16 * PANELS * rank * rank)).min(4096);
            let mut stream = Stream::from_key(key, 0);
            let mut coords = vec![0.0; roots.dim()];
            let mut draw = || {
                fill_direction(&mut stream, 1.0, &mut coords);
                (1.0 / count as f64, angles.of(&coords))
            };
            (0..count).map(|_| draw()).collect()
        }
    }
}

/// The same on U(n), rank n > 1: at the angle y from multiples of the identity, of density sin^(D-2) y, y up to pi/2 by
/// symmetry.
fn spectra_about_identity(angles: &Angles, key: [u8; 32]) -> Vec<(f64, Spectrum)> {
    let Angles { roots, factor, .. } = *angles;
    let nodes: Vec<_> = GaussLegendre::<16>::new().on_panels(0.0, FRAC_PI_2, 8).collect();
    let count = (BUDGET / (16 * PANELS * roots.rank * roots.rank)).min(4096) / nodes.len();
    let mut stream = Stream::from_key(key, 0);
    let mut weighted = vec![];
    for (y, w) in nodes {
        let (sin, cos) = libm::sincos(y);
        let density = w * libm::pow(sin, roots.dim() as f64 - 2.0);
        let along = cos / (roots.rank as f64).sqrt();
        for (share, mut values) in spectra_across(angles, count.max(1), &mut stream) {
            values.iter_mut().for_each(|x| *x = factor * (along + sin * *x));
            weighted.push((density * share, values));
        }
    }
    let total: f64 = weighted.iter().map(|(w, _)| w).sum();
    weighted.into_iter().map(|(w, values)| (w / total, values)).collect()
}

/// Eigenvalues of Hermitian matrices of length 1 and trace 0, with weights whose sum is the same each time.
fn spectra_across(angles: &Angles, count: usize, stream: &mut Stream) -> Vec<(f64, Spectrum)> {
    let (rank, mut values) = (angles.roots.rank, [0.0; MAX_ORDER]);
    match rank {
        2 => {
            values[..2].copy_from_slice(&[FRAC_1_SQRT_2, -FRAC_1_SQRT_2]);
            vec![(1.0, values)]
        }
        // cosines of x and 120 degrees before and after it, with density sin^2 3x
        3 => {
            let rule = GaussLegendre::<16>::new();
            let nodes = rule.on_panels(0.0, FRAC_PI_3, 1);
            let spectrum = |(x, w): (f64, f64)| {
                let cosine =
                    |i: usize| (2.0f64 / 3.0).sqrt() * libm::cos(x + (i * 2) as f64 * FRAC_PI_3);
                (0..3).for_each(|i| values[i] = cosine(i));
                (w * libm::sin(3.0 * x).powi(2), values)
            };
            nodes.map(spectrum).collect()
        }
        _ => {
            let mut coords = vec![0.0; angles.dim()];
            let mut draw = || {
                fill_direction(stream, 1.0, &mut coords);
                let mut values = spectrum(&coords, Matrices::hermitian(rank));
                let mean = values[..rank].iter().sum::<f64>() / rank as f64;
                values[..rank].iter_mut().for_each(|x| *x -= mean);
                let length = norm(&values[..rank]);
                values.iter_mut().for_each(|x| *x /= length);
                (1.0, values)
            };
            (0..count).map(|_| draw()).collect()
        }
    }
}
