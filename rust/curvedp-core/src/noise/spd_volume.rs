//! The volume of geodesic spheres in the affine-invariant spaces SPD(m) and HPD(m): the product over pairs of
//! eigenvalues L(A) = beta sum_{i<j} ln sinhc(|l_i - l_j| / 2) of a symmetric (beta = 1) or Hermitian (beta = 2)
//! matrix A, sinhc(x) = sinh(x)/x, which is the log-ratio of Riemannian to Euclidean volume at exp_I(A), and
//! bounds of it that need no eigenvalues.

use crate::roots::Matrices;
use crate::simd::elementary::{exp, ln};
use crate::simd::matrices::hermitian_diagonal;
use std::f64::consts::FRAC_1_SQRT_2;

/// The largest order of matrices.
pub(super) const MAX_ORDER: usize = 16;

/// Eigenvalues of a symmetric matrix of order m in the first m entries.
pub(super) type Spectrum = [f64; MAX_ORDER];

/// ln(sinh(x)/x) for x >= 0, to a few ulp of max(1, x).
#[inline]
pub(super) fn ln_sinhc(x: f64) -> f64 {
    if x < LARGE { ln(sinhc(x)) } else { x - ln(2.0 * x) }
}

/// From here on e^(-2x) is lost in rounding.
const LARGE: f64 = 20.0;

/// sinh(x)/x for 0 <= x <= 20.
#[inline(always)]
fn sinhc(x: f64) -> f64 {
    let z = x * x;
    if z < 0.25 {
        let tail = 1.0 + z / 110.0 * (1.0 + z / 156.0);
        1.0 + z / 6.0 * (1.0 + z / 20.0 * (1.0 + z / 42.0 * (1.0 + z / 72.0 * tail)))
    } else {
        let e = exp(x);
        0.5 * (e - 1.0 / e) / x
    }
}

/// Bounds of L on matrices of one order.
#[derive(Clone, Copy)]
pub(super) struct RootBounds {
    pub matrices: Matrices,
    /// Number of pairs of eigenvalues, times beta.
    pub pairs: f64,
    /// 1 / sqrt(2 (m - 1)): root mean square half difference of the eigenvalues per unit of norm.
    pub mean_half_difference: f64,
    /// (beta/2) sqrt(m (m^2 - 1) / 3): the largest sum of half differences per unit of norm, times beta.
    pub growth_rate: f64,
}

impl RootBounds {
    pub(super) fn new(matrices: Matrices) -> Self {
        let (roots, order) = (matrices.roots(), matrices.m as f64);
        Self {
            matrices,
            pairs: roots.count() as f64,
            mean_half_difference: 1.0 / (2.0 * (order - 1.0)).sqrt(),
            growth_rate: roots.growth_rate(),
        }
    }

    /// B(t) >= L(A) for every A of Frobenius norm t.
    #[inline]
    pub(super) fn envelope(&self, t: f64) -> f64 {
        self.by_mean_square(t).min(self.growth_rate * t)
    }

    /// A derivative of [`RootBounds::envelope`]; at its kink, one of the two.
    pub(super) fn envelope_slope(&self, t: f64) -> f64 {
        if self.by_mean_square(t) > self.growth_rate * t {
            return self.growth_rate;
        }
        let x = self.mean_half_difference * t;
        let langevin = if x < 0.05 {
            let z = x * x;
            x / 3.0 * (1.0 - z / 15.0 * (1.0 - 2.0 * z / 21.0 * (1.0 - z / 10.0)))
        } else {
            1.0 / libm::tanh(x) - 1.0 / x
        };
        self.pairs * self.mean_half_difference * langevin
    }

    /// L(A) <= beta (m (m-1)/2) ln sinhc(t / sqrt(2 (m-1))) for every A whose trace-free part has norm
    /// at most t: y -> ln sinhc(sqrt y) is concave, and the mean over pairs of (l_i - l_j)^2 / 4 is
    /// t^2 / (2 (m-1)).
    #[inline]
    pub(super) fn by_mean_square(&self, t: f64) -> f64 {
        self.pairs * ln_sinhc(self.mean_half_difference * t)
    }

    /// L of a matrix with these eigenvalues times `factor`.
    pub(super) fn ln_product(&self, spectrum: &Spectrum, factor: f64) -> f64 {
        let half = 0.5 * factor;
        let (mut sum, mut product) = (0.0, 1.0);
        for i in 0..self.matrices.m {
            for j in 0..i {
                let x = half * (spectrum[i] - spectrum[j]).abs();
                if x < LARGE {
                    product *= sinhc(x);
                    if product > 1e250 {
                        sum += ln(product);
                        product = 1.0;
                    }
                } else {
                    sum += x - ln(2.0 * x);
                }
            }
        }
        self.matrices.beta as f64 * (sum + ln(product))
    }
}

/// Eigenvalues of the symmetric matrix with these coordinates; absolute error a few ulp of the norm (m = 3: square root of
/// that where eigenvalues nearly meet, which leaves the sum of their squared differences as exact).
pub(super) fn spectrum(coords: &[f64], m: usize) -> Spectrum {
    match m {
        2 => spectrum_2(coords),
        3 => spectrum_3(coords),
        _ => {
            let mut a = [0.0; MAX_ORDER * MAX_ORDER];
            let mut k = 0;
            for i in 0..m {
                a[i * m + i] = coords[k];
                k += 1;
                for j in i + 1..m {
                    a[i * m + j] = coords[k] * FRAC_1_SQRT_2;
                    k += 1;
                }
            }
            eigenvalues_in_place(&mut a, m);
            let mut eigenvalues = [0.0; MAX_ORDER];
            for i in 0..m {
                eigenvalues[i] = a[i * m + i];
            }
            eigenvalues
        }
    }
}

/// Eigenvalues that have, for normal coordinates, the law of those of the matrix with these coordinates. Of a
/// Hermitian one they are those of the tridiagonal matrix with its diagonal and, beside that, the lengths of the rows
/// of its upper triangle: reflections make it that, and what is below them stays normal (docs/proofs/exact-draws.md).
pub(super) fn random_spectrum(coords: &[f64], matrices: Matrices) -> Spectrum {
    if !matrices.is_complex() {
        return spectrum(coords, matrices.m);
    }
    let m = matrices.m;
    let mut a = vec![0.0; m * m];
    for i in 0..m {
        let at = hermitian_diagonal(m, i);
        a[i * (m + 1)] = coords[at];
        if i + 1 < m {
            let square: f64 = coords[at + 1..][..2 * (m - i - 1)].iter().map(|x| x * x).sum();
            a[i * (m + 1) + 1] = (0.5 * square).sqrt();
        }
    }
    eigenvalues_in_place(&mut a, m);
    let mut eigenvalues = [0.0; MAX_ORDER];
    for i in 0..m {
        eigenvalues[i] = a[i * (m + 1)];
    }
    eigenvalues
}

fn spectrum_2(coords: &[f64]) -> Spectrum {
    let mut eigenvalues = [0.0; MAX_ORDER];
    let centre = 0.5 * (coords[0] + coords[2]);
    let half = 0.5 * (coords[0] - coords[2]);
    let radius = (half * half + 0.5 * coords[1] * coords[1]).sqrt();
    eigenvalues[..2].copy_from_slice(&[centre + radius, centre - radius]);
    eigenvalues
}

/// The trigonometric solution of the characteristic cubic of the trace-free part.
fn spectrum_3(coords: &[f64]) -> Spectrum {
    let mut eigenvalues = [0.0; MAX_ORDER];
    let centre = (coords[0] + coords[3] + coords[5]) / 3.0;
    let (a, d, f) = (coords[0] - centre, coords[3] - centre, coords[5] - centre);
    let [b, c, e] = [coords[1], coords[2], coords[4]].map(|x| x * FRAC_1_SQRT_2);
    let size = ((a * a + d * d + f * f + 2.0 * (b * b + c * c + e * e)) / 6.0).sqrt();
    if size == 0.0 {
        eigenvalues[..3].fill(centre);
        return eigenvalues;
    }
    let [a, b, c, d, e, f] = [a, b, c, d, e, f].map(|x| x / size);
    let determinant = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d);
    let angle = libm::acos((0.5 * determinant).clamp(-1.0, 1.0)) / 3.0;
    let (sine, cosine) = libm::sincos(angle);
    let shift = 3f64.sqrt() * sine;
    let values = [2.0 * cosine, shift - cosine, -shift - cosine];
    for (eigenvalue, value) in eigenvalues.iter_mut().zip(values) {
        *eigenvalue = centre + size * value;
    }
    eigenvalues
}

/// Sweeps after which Jacobi's iteration stops whatever the matrix; it takes about 3 + log2(m).
const MAX_SWEEPS: usize = 40;

/// Cyclic Jacobi on the upper triangle of a row-major symmetric matrix; the eigenvalues end on the
/// diagonal. Entries below an ulp of the norm are left.
pub(super) fn eigenvalues_in_place(a: &mut [f64], m: usize) {
    let mut square = 0.0;
    for i in 0..m {
        for j in i..m {
            square += a[i * m + j] * a[i * m + j];
        }
    }
    let negligible = 0.5 * f64::EPSILON * square.sqrt();
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for p in 0..m {
            for q in p + 1..m {
                if a[p * m + q].abs() > negligible {
                    rotate(a, m, p, q);
                    rotated = true;
                }
            }
        }
        if !rotated {
            return;
        }
    }
}

/// The Jacobi rotation that annihilates entry (p, q), p < q.
fn rotate(a: &mut [f64], m: usize, p: usize, q: usize) {
    let entry = a[p * m + q];
    let ratio = 0.5 * (a[q * m + q] - a[p * m + p]) / entry;
    let tangent = ratio.signum() / (ratio.abs() + (1.0 + ratio * ratio).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = tangent * cosine;
    a[p * m + p] -= tangent * entry;
    a[q * m + q] += tangent * entry;
    a[p * m + q] = 0.0;
    let mut turn = |at_p: usize, at_q: usize| {
        let (x, y) = (a[at_p], a[at_q]);
        a[at_p] = cosine * x - sine * y;
        a[at_q] = sine * x + cosine * y;
    };
    for k in 0..p {
        turn(k * m + p, k * m + q);
    }
    for k in p + 1..q {
        turn(p * m + k, k * m + q);
    }
    for k in q + 1..m {
        turn(p * m + k, q * m + k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Stream;
    use crate::simd::matrices::hermitian_above;

    /// Eigenvalues of a Hermitian matrix: those of the real matrix of its blocks, of which every other one counts.
    fn hermitian_spectrum(coords: &[f64], m: usize) -> Spectrum {
        let order = 2 * m;
        let mut a = vec![0.0; order * order];
        for i in 0..m {
            let at = 2 * i * (order + 1);
            (a[at], a[at + order + 1]) =
                (coords[hermitian_diagonal(m, i)], coords[hermitian_diagonal(m, i)]);
            for j in i + 1..m {
                let [re, im] = [0, 1].map(|k| coords[hermitian_above(m, i, j) + k] * FRAC_1_SQRT_2);
                let at = 2 * (i * order + j);
                (a[at], a[at + 1], a[at + order], a[at + order + 1]) = (re, -im, im, re);
            }
        }
        eigenvalues_in_place(&mut a, order);
        let mut all: Vec<f64> = (0..order).map(|i| a[i * (order + 1)]).collect();
        all.sort_by(f64::total_cmp);
        let mut eigenvalues = [0.0; MAX_ORDER];
        for (x, pair) in eigenvalues.iter_mut().zip(all.chunks_exact(2)) {
            *x = 0.5 * (pair[0] + pair[1]);
        }
        eigenvalues
    }

    fn random_coords(stream: &mut Stream, m: usize, norm: f64) -> Vec<f64> {
        let mut coords = vec![0.0; m * (m + 1) / 2];
        stream.fill_normal(&mut coords);
        let size = coords.iter().map(|x| x * x).sum::<f64>().sqrt();
        coords.iter().map(|x| x * norm / size).collect()
    }

    fn matrix(coords: &[f64], m: usize) -> Vec<f64> {
        let mut a = vec![0.0; m * m];
        let mut k = 0;
        for i in 0..m {
            for j in i..m {
                a[i * m + j] = coords[k] * if i == j { 1.0 } else { 0.5f64.sqrt() };
                a[j * m + i] = a[i * m + j];
                k += 1;
            }
        }
        a
    }

    fn product(a: &[f64], b: &[f64], m: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| (0..m).map(|k| a[i * m + k] * b[k * m + j]).sum();
        (0..m * m).map(|at| entry(at / m, at % m)).collect()
    }

    #[test]
    fn ln_sinhc_agrees_with_its_definition() {
        for x in [1e-9f64, 1e-3, 0.3, 0.499, 0.501, 1.0, 5.0, 19.9, 20.1, 300.0, 1e6] {
            let exact = x + libm::log(-libm::expm1(-2.0 * x) / (2.0 * x));
            assert!((ln_sinhc(x) - exact).abs() < 4e-16 * (4.0 + x), "{x}");
        }
        assert_eq!(ln_sinhc(0.0), 0.0);
    }

    #[test]
    fn spectrum_has_the_traces_of_the_matrix_and_its_powers() {
        let mut stream = Stream::from_key([21; 32], 0);
        for m in 2..=MAX_ORDER {
            for _ in 0..10 {
                let coords = random_coords(&mut stream, m, 1.0);
                let values = spectrum(&coords, m);
                let a = matrix(&coords, m);
                let mut power = a.clone();
                for exponent in 1..=6 {
                    let trace: f64 = (0..m).map(|i| power[i * m + i]).sum();
                    let sum: f64 = values[..m].iter().map(|x| x.powi(exponent)).sum();
                    assert!((sum - trace).abs() < 1e-13, "{m} {exponent}");
                    power = product(&power, &a, m);
                }
            }
        }
    }

    #[test]
    fn closed_forms_agree_with_jacobi() {
        let mut stream = Stream::from_key([22; 32], 0);
        for m in [2, 3] {
            for _ in 0..1000 {
                let coords = random_coords(&mut stream, m, 1.0);
                let mut closed = spectrum(&coords, m)[..m].to_vec();
                let mut a = matrix(&coords, m);
                eigenvalues_in_place(&mut a, m);
                let mut jacobi: Vec<f64> = (0..m).map(|i| a[i * m + i]).collect();
                closed.sort_by(f64::total_cmp);
                jacobi.sort_by(f64::total_cmp);
                for (x, y) in closed.iter().zip(&jacobi) {
                    assert!((x - y).abs() < 1e-12);
                }
            }
        }
    }

    fn hermitian_coords(stream: &mut Stream, m: usize) -> Vec<f64> {
        let mut coords = vec![0.0; m * m];
        stream.fill_normal(&mut coords);
        coords
    }

    /// By the traces of the powers of the complex matrix.
    #[test]
    fn hermitian_spectrum_has_the_traces_of_powers() {
        let mut stream = Stream::from_key([24; 32], 0);
        for m in [1, 2, 3, 5, 16] {
            let matrices = Matrices::hermitian(m);
            let coords = hermitian_coords(&mut stream, m);
            let mut a = vec![[0.0; 2]; m * m];
            for i in 0..m {
                a[i * (m + 1)] = [coords[matrices.at(i, i)], 0.0];
                for j in i + 1..m {
                    let [x, y] = [0, 1].map(|k| coords[matrices.at(i, j) + k] * FRAC_1_SQRT_2);
                    (a[i * m + j], a[j * m + i]) = ([x, y], [x, -y]);
                }
            }
            let times = |a: &[[f64; 2]], b: &[[f64; 2]]| -> Vec<[f64; 2]> {
                let entry = |at: usize| {
                    (0..m).fold([0.0; 2], |sum, k| {
                        let (x, y) = (a[at / m * m + k], b[k * m + at % m]);
                        let product = [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]];
                        [sum[0] + product[0], sum[1] + product[1]]
                    })
                };
                (0..m * m).map(entry).collect()
            };
            let values = hermitian_spectrum(&coords, m);
            let mut power = a.clone();
            for exponent in 1..=6 {
                let trace: f64 = (0..m).map(|i| power[i * (m + 1)][0]).sum();
                let sum: f64 = values[..m].iter().map(|x| x.powi(exponent)).sum();
                let size: f64 = values[..m].iter().map(|x| x.abs().powi(exponent)).sum();
                assert!((sum - trace).abs() < 1e-12 * size, "{m} {exponent}");
                power = times(&power, &a);
            }
        }
    }

    /// The tridiagonal matrix has the law of eigenvalues of the whole one, and its norm and trace; a control of real
    /// matrices has not.
    #[test]
    fn tridiagonal_matrices_have_the_law_of_hermitian_eigenvalues() {
        let mut stream = Stream::from_key([25; 32], 0);
        // the largest gap in units of the norm of the whole
        let spread = |values: &[f64], coords: &[f64]| {
            let high = values.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            let low = values.iter().fold(f64::INFINITY, |a, b| a.min(*b));
            (high - low) / square(coords).sqrt()
        };
        for m in [2, 3, 5] {
            let matrices = Matrices::hermitian(m);
            let (n, mut found) = (8000, [const { Vec::new() }; 3]);
            for _ in 0..n {
                let coords = hermitian_coords(&mut stream, m);
                let values = random_spectrum(&coords, matrices);
                assert!((square(&values[..m]) / square(&coords) - 1.0).abs() < 1e-12);
                let trace: f64 = matrices.diagonal().map(|at| coords[at]).sum();
                assert!((values[..m].iter().sum::<f64>() - trace).abs() < 1e-12 * (m * m) as f64);
                found[0].push(spread(&values[..m], &coords));
                let coords = hermitian_coords(&mut stream, m);
                found[1].push(spread(&hermitian_spectrum(&coords, m)[..m], &coords));
                let coords = random_coords(&mut stream, m, 1.0);
                found[2].push(spread(&spectrum(&coords, m)[..m], &coords));
            }
            found.iter_mut().for_each(|x| x.sort_by(f64::total_cmp));
            let apart = |a: &[f64], b: &[f64]| {
                let at =
                    |(k, x): (usize, &f64)| (b.partition_point(|y| y < x) as f64 - k as f64).abs();
                a.iter().enumerate().map(at).fold(0.0, f64::max) / f64::from(2 * n).sqrt()
            };
            assert!(apart(&found[0], &found[1]) < 1.9, "{m}");
            assert!(apart(&found[0], &found[2]) > 4.0, "{m}");
        }
    }

    fn square(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum()
    }

    #[test]
    fn degenerate_matrices_have_finite_eigenvalues() {
        for m in 2..=MAX_ORDER {
            let dim = m * (m + 1) / 2;
            for coords in [vec![0.0; dim], vec![1.0; dim], vec![1e-300; dim]] {
                assert!(spectrum(&coords, m).iter().all(|x| x.is_finite()));
            }
        }
        assert_eq!(spectrum(&[2.0, 0.0, 0.0, 2.0, 0.0, 2.0], 3)[..3], [2.0; 3]);
    }

    /// Every bound holds for random matrices and for the extremal spectra: equally spaced
    /// eigenvalues, one pair far apart, one eigenvalue apart from all others.
    #[test]
    fn bounds_enclose_the_product_of_roots() {
        let mut stream = Stream::from_key([23; 32], 0);
        let both = |m| [Matrices::symmetric(m), Matrices::hermitian(m)];
        for matrices in (2..=MAX_ORDER).flat_map(both) {
            let (m, bounds) = (matrices.m, RootBounds::new(matrices));
            let mut spectra: Vec<Spectrum> =
                (0..50).map(|_| spectrum(&random_coords(&mut stream, m, 1.0), m)).collect();
            let equally_spaced = std::array::from_fn(|i| i as f64 - 0.5 * (m as f64 - 1.0));
            let pair = std::array::from_fn(|i| {
                if i == 0 {
                    1.0
                } else if i == 1 {
                    -1.0
                } else {
                    0.0
                }
            });
            let apart = std::array::from_fn(|i| if i == 0 { 1.0 } else { 0.0 });
            spectra.extend([equally_spaced, pair, apart]);
            for values in spectra {
                let square: f64 = values[..m].iter().map(|x| x * x).sum();
                let sum: f64 = values[..m].iter().sum();
                let free = (square - sum * sum / m as f64).sqrt();
                for t in [1e-6, 0.01, 0.3, 1.0, 3.0, 10.0, 100.0, 1e4] {
                    let factor = t / square.sqrt();
                    let found = bounds.ln_product(&values, factor);
                    let rounding = 1e-13 * (1.0 + bounds.growth_rate * t);
                    assert!(found <= bounds.envelope(t) + rounding, "{m} {t}");
                    assert!(found <= bounds.by_mean_square(free * factor) + rounding, "{m} {t}");
                }
            }
        }
    }

    #[test]
    fn envelope_is_attained_in_both_limits() {
        for m in 2..=MAX_ORDER {
            let bounds = RootBounds::new(Matrices::symmetric(m));
            let spaced: Spectrum = std::array::from_fn(|i| i as f64 - 0.5 * (m as f64 - 1.0));
            let norm = spaced[..m].iter().map(|x| x * x).sum::<f64>().sqrt();
            let far = bounds.ln_product(&spaced, 1e6 / norm) / bounds.envelope(1e6);
            let near = bounds.ln_product(&spaced, 1e-3 / norm) / bounds.envelope(1e-3);
            assert!(far > 0.999 && (near - 1.0).abs() < 1e-5, "{m} {far} {near}");
        }
    }
}
