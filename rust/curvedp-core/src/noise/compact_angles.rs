//! Angles of tangent vectors of compact spaces, of which [`super::compact`] makes the law of noise; and directions, by their
//! angles, over which volumes are averaged: in quadrature where the rank is small, else drawn by the restricted roots alone.

use super::quadrature::GaussLegendre;
use super::spd_volume::{MAX_ORDER, Spectrum, eigenvalues_in_place};
use super::stream::Stream;
use crate::roots::Roots;
use crate::vector::scale_to;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_3, PI};

/// The angles of tangent vectors, and the envelope of the volumes that they give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Angles {
    /// a_i is `factor` times a coordinate in the maximal flat.
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
    pub(super) fn new(roots: Roots) -> Self {
        let count = if roots.has_flat_factor() { 0 } else { roots.count() };
        let mean = if count == 0 { 0.0 } else { (roots.ricci() / count as f64).sqrt() };
        let farthest = (roots.rank as f64).sqrt() * roots.farthest;
        let diameter = if count == 0 { farthest } else { farthest.min(PI / mean) };
        Self { roots, factor: roots.curvature.sqrt(), count, mean, diameter }
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
            let mut draw = || (1.0 / count as f64, random_angles(angles, &mut stream));
            (0..count).map(|_| draw()).collect()
        }
    }
}

/// Angles of a vector of length 1 in a uniformly distributed direction.
pub(super) fn random_angles(angles: &Angles, stream: &mut Stream) -> Spectrum {
    let mut values = random_flat(angles.roots, stream);
    scale_to(&mut values, angles.factor);
    values
}

/// Coordinates in a maximal flat of a vector with standard normal coordinates: of density e^(-|t|^2/2) times the product over
/// all roots, or their absolute values.
///
/// All differences: eigenvalues of a tridiagonal matrix with normals on its diagonal and beside it chi variables over sqrt 2.
/// Else singular values of a bidiagonal one of chi variables (Dumitriu and Edelman 2002, "Matrix models for beta ensembles",
/// theorems 2.12 and 3.1 with a = (s + 1 + m (p - 1))/2).
fn random_flat(roots: Roots, stream: &mut Stream) -> Spectrum {
    let Roots { rank, differences, single, .. } = roots;
    let has_signs = roots.has_flat_factor();
    let (mut matrix, mut above) = (vec![0.0; rank * rank], 0.0);
    for i in 0..rank {
        let freedom = differences * (rank - 1 - i);
        let (at, beside) = (i * (rank + 1), chi_square(freedom, stream));
        let own =
            if has_signs { stream.normal() } else { chi_square(single + 1 + freedom, stream) };
        matrix[at] = if has_signs { own } else { own + above };
        if i + 1 < rank {
            matrix[at + 1] = (beside * if has_signs { 0.5 } else { own }).sqrt();
        }
        above = beside;
    }
    eigenvalues_in_place(&mut matrix, rank);
    let mut values = [0.0; MAX_ORDER];
    for (i, value) in values[..rank].iter_mut().enumerate() {
        let own = matrix[i * (rank + 1)];
        *value = if has_signs { own } else { own.max(0.0).sqrt() };
    }
    values
}

/// The sum of so many squares of standard normals.
fn chi_square(freedom: usize, stream: &mut Stream) -> f64 {
    (0..freedom).map(|_| stream.normal().powi(2)).sum()
}

/// The same where all roots are differences, rank > 1: at the angle y from multiples of the identity, of density
/// sin^(D-2) y, y up to pi/2 by symmetry.
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

/// Coordinates of vectors of length 1 across multiples of the identity, with weights whose sum is the same each time.
fn spectra_across(angles: &Angles, count: usize, stream: &mut Stream) -> Vec<(f64, Spectrum)> {
    let (roots, rank, mut values) = (angles.roots, angles.roots.rank, [0.0; MAX_ORDER]);
    match rank {
        2 => {
            values[..2].copy_from_slice(&[FRAC_1_SQRT_2, -FRAC_1_SQRT_2]);
            vec![(1.0, values)]
        }
        // cosines of x and 120 degrees before and after it, with density sin^m 3x
        3 => {
            let rule = GaussLegendre::<16>::new();
            let nodes = rule.on_panels(0.0, FRAC_PI_3, 1);
            let spectrum = |(x, w): (f64, f64)| {
                let cosine =
                    |i: usize| (2.0f64 / 3.0).sqrt() * libm::cos(x + (i * 2) as f64 * FRAC_PI_3);
                (0..3).for_each(|i| values[i] = cosine(i));
                (w * libm::sin(3.0 * x).powi(roots.differences as i32), values)
            };
            nodes.map(spectrum).collect()
        }
        _ => {
            let mut draw = || {
                let mut values = random_flat(roots, stream);
                let mean = values[..rank].iter().sum::<f64>() / rank as f64;
                values[..rank].iter_mut().for_each(|x| *x -= mean);
                scale_to(&mut values, 1.0);
                (1.0, values)
            };
            (0..count).map(|_| draw()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifold::build;
    use crate::roots::Compact;
    use crate::vector::norm;

    /// The largest coordinate in units of the length: drawn by the roots, and of whole vectors with normal coordinates.
    fn largest(space: Compact, roots: Roots) -> [Vec<f64>; 2] {
        let (name, size, parameter) = space.name();
        let (manifold, mut stream) = (build(name, size, parameter).unwrap(), stream());
        let share = |t: &[f64]| t.iter().copied().fold(f64::NEG_INFINITY, f64::max) / norm(t);
        let mut vector = vec![0.0; space.roots().dim()];
        let mut draw = || {
            stream.fill_normal(&mut vector);
            let mut whole = manifold.spectrum(&vector);
            whole.sort_by(|a, b| b.total_cmp(a));
            (share(&random_flat(roots, &mut stream)[..roots.rank]), share(&whole[..roots.rank]))
        };
        let (mut drawn, mut whole): (Vec<f64>, Vec<f64>) = (0..12_000).map(|_| draw()).unzip();
        drawn.sort_by(f64::total_cmp);
        whole.sort_by(f64::total_cmp);
        [drawn, whole]
    }

    fn stream() -> Stream {
        Stream::from_key([13; 32], 0)
    }

    fn apart([a, b]: &[Vec<f64>; 2]) -> f64 {
        let n = b.len() as f64;
        let at = |(k, x): (usize, &f64)| (b.partition_point(|y| y < x) as f64 - k as f64).abs() / n;
        a.iter().enumerate().map(at).fold(0.0, f64::max) * (n / 2.0).sqrt()
    }

    #[test]
    fn roots_alone_give_the_law_of_coordinates_of_whole_vectors() {
        for space in Compact::examples().into_iter().filter(|space| space.roots().rank > 1) {
            let roots = space.roots();
            let found = apart(&largest(space, roots));
            assert!(found < 2.6, "{space:?} {found}");
            let differences = 3 - roots.differences;
            let sums = if roots.has_flat_factor() { 0 } else { differences };
            let control = apart(&largest(space, Roots { differences, sums, ..roots }));
            assert!(control > 3.0, "{space:?} {control}");
        }
    }
}
