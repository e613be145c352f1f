//! Noise on SPD(m) and HPD(m) with the affine-invariant metric, drawn exactly (docs/proofs/exact-draws.md).
//!
//! [`super::spd`] describes the law of a symmetric or Hermitian matrix A of norm t at the identity: propose t and a
//! direction, accept by the eigenvalues. As the law is that of W A W^* for every orthogonal or unitary W, only the
//! eigenvalues l_i of A are used; their axes are those of a uniform W of its own. The released point is
//! sum_i e^(l_i) c_i c_i^*, c_i = G w_i, about the base point G G^*, and its logarithm is rounded to a grid.

use super::NoiseError;
use super::curved::OUTWARD;
use super::flat::{Multiples, write};
use super::log_concave::LogConcave;
use super::normal::{Normal, Normals, all_at};
use super::radial::Profile;
use super::spd::{Proposal, splits_trace};
use super::spd_volume::RootBounds;
use super::steps::{LogDensity, Place, Scaled, Steps};
use super::stream::{Stream, Variable};
use crate::exact::entries::{Complex, Entry};
use crate::exact::matrices::{Unit, cholesky, dot, eigenvalues, log_of_sum, orthonormal, pairs};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::roots::Matrices;

/// The logarithm of the proposed density of the norm t, in units of the scale:
/// t^power psi(t) e^B(t), B(t) = min(pairs ln sinhc(mean t), growth t), beta being part of pairs and growth.
struct Norm {
    power: i64,
    is_laplace: bool,
    pairs: i64,
    /// Root mean square half difference of the eigenvalues, at most.
    mean: f64,
    /// Sum of the half differences, at most, times beta.
    growth: f64,
}

impl Norm {
    fn new(matrices: Matrices, profile: Profile) -> Self {
        let (bounds, scale) = (RootBounds::new(matrices), profile.scale());
        let free_dim = matrices.dim() - usize::from(splits_trace(profile));
        Self {
            power: free_dim as i64 - 1,
            is_laplace: matches!(profile, Profile::Laplace { .. }),
            pairs: (matrices.dim() - matrices.m) as i64,
            // a larger bound is one too
            mean: bounds.mean_half_difference * scale * OUTWARD,
            growth: bounds.growth_rate * scale * OUTWARD,
        }
    }

    /// B(t)
    fn envelope<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
        let x = t.times(&Enclosure::double(self.mean, 0));
        let (factor, rest) = x.sinhc()?;
        let by_mean = factor.ln()?.plus(&rest).times(&Enclosure::integer(self.pairs));
        // for x < 1 it is at most pairs x/6, less than half of the other
        if x.is_less(&Enclosure::integer(1)) == Ok(true) {
            return Ok(by_mean);
        }
        let by_growth = t.times(&Enclosure::double(self.growth, 0));
        Ok(if by_mean.is_less(&by_growth)? { by_mean } else { by_growth })
    }
}

impl LogDensity for Norm {
    fn ln<const N: usize>(&self, t: &Enclosure<N>) -> Result<Option<Enclosure<N>>, Undecided> {
        let profile = if self.is_laplace { *t } else { t.times(t).shifted(-1) };
        let volume = t.ln()?.times(&Enclosure::integer(self.power));
        Ok(Some(volume.plus(&self.envelope(t)?).minus(&profile)))
    }
}

/// Noise on SPD(m) or HPD(m).
pub(super) struct MatrixNoise {
    matrices: Matrices,
    profile: Profile,
    norms: Steps<Scaled<Norm>>,
}

impl MatrixNoise {
    /// The noise whose norms are proposed from `proposal`.
    ///
    /// # Errors
    /// [`NoiseError::Range`] if they have no table.
    pub(super) fn new(
        matrices: Matrices,
        profile: Profile,
        density: &Proposal,
        proposal: &LogConcave,
    ) -> Result<Self, NoiseError> {
        let scale = profile.scale();
        let mean = proposal.mean();
        let deviation = (proposal.mean_square() - mean * mean).max(0.0).sqrt();
        let norms = Scaled::new(Norm::new(matrices, profile), density.reference / scale)
            .and_then(|norm| Steps::over(norm, mean / scale, deviation / scale, f64::INFINITY))
            .ok_or(NoiseError::Range { scale, dim: matrices.dim() })?;
        Ok(Self { matrices, profile, norms })
    }

    /// Draws a point about `base`, row by row: multiples of 2^`grid` that are closest to the coordinates of its
    /// logarithm at the identity. The base point is a positive definite matrix or, packed, its triangular factor: G or,
    /// complex, G^*.
    pub(super) fn draw(
        &self,
        base: &[f64],
        grid: i32,
        stream: &mut Stream,
        effort: Effort,
        out: &mut [f64],
    ) {
        loop {
            let (norm, _) = self.norms.draw(stream, effort);
            let direction = Normal::draw_all(self.matrices.dim(), stream, effort);
            let trace = splits_trace(self.profile).then(|| Normal::draw(stream, effort));
            let Matrices { m, beta } = self.matrices;
            let axes = Normal::draw_all(beta * m * m, stream, effort);
            let height = stream.variable();
            let noise = self;
            let point = Point { noise, norm, direction, trace, axes, height, base, grid, stream };
            if let Some(multiples) = decide(&point, effort) {
                return write(multiples, grid, out);
            }
        }
    }
}

/// The lower triangular factor of a point: that of a matrix, or the packed one that is given.
fn lower<const N: usize, K: Entry<N>>(
    base: &[f64],
    matrices: Matrices,
) -> Result<Vec<K>, Undecided> {
    let m = matrices.m;
    let entries: Vec<_> = base.iter().map(|x| Enclosure::double(*x, 0)).collect();
    if base.len() == K::PARTS * m * m {
        return cholesky(&read::<N, K>(&entries), m);
    }
    let is_positive = matrices.diagonal().all(|at| base[at] > 0.0);
    if !is_positive {
        return Err(Undecided);
    }
    let mut lower = vec![K::ZERO; m * m];
    for i in 0..m {
        lower[i * (m + 1)] = K::read(&[entries[matrices.at(i, i)], Enclosure::ZERO]);
        for j in 0..i {
            lower[i * m + j] = K::read(&entries[matrices.at(j, i)..][..K::PARTS]).conjugate();
        }
    }
    Ok(lower)
}

/// Real or complex numbers from their parts.
fn read<const N: usize, K: Entry<N>>(parts: &[Enclosure<N>]) -> Vec<K> {
    parts.chunks_exact(K::PARTS).map(K::read).collect()
}

/// Which multiples of the step are closest to the coordinates of the drawn point's logarithm? None for a proposal
/// that is not accepted.
struct Point<'a> {
    noise: &'a MatrixNoise,
    /// |A| in units of the scale.
    norm: Place,
    /// The coordinates of A, up to a factor.
    direction: Normals,
    /// tr A over sqrt(m), in units of the scale, where it is drawn apart.
    trace: Option<Normal>,
    /// A square matrix of real or complex normals, whose directions the axes get.
    axes: Normals,
    height: Variable,
    base: &'a [f64],
    grid: i32,
    stream: &'a Stream,
}

impl Point<'_> {
    /// Eigenvalues of A in falling order, without the trace where that is drawn apart.
    fn spectrum<const N: usize>(
        &self,
        norm: &Enclosure<N>,
    ) -> Result<Vec<Enclosure<N>>, Undecided> {
        let (matrices, m) = (self.noise.matrices, self.noise.matrices.m);
        let mut direction = all_at::<N>(&self.direction, self.stream)?;
        if self.trace.is_some() {
            let diagonal = matrices.diagonal();
            let trace = diagonal.clone().fold(Enclosure::ZERO, |sum, at| sum.plus(&direction[at]));
            let share = trace.over(&Enclosure::integer(m as i64))?;
            diagonal.for_each(|at| direction[at] = direction[at].minus(&share));
        }
        let direction = Unit::of(direction)?.vector;
        let root = Enclosure::integer(2).inverse_sqrt()?;
        let mut matrix = vec![Enclosure::ZERO; m * m];
        for i in 0..m {
            matrix[i * (m + 1)] = direction[matrices.at(i, i)];
            let beside = &direction[matrices.at(i, i) + 1..][..matrices.beta * (m - i - 1)];
            let mut set = |j: usize, entry| {
                (matrix[i * m + j], matrix[j * m + i]) = (entry, entry);
            };
            if matrices.is_complex() && i + 1 < m {
                // tridiagonal, with eigenvalues of the same law: the length of the row in place of its entries
                let square = beside.iter().fold(Enclosure::ZERO, |sum, x| sum.plus(&x.times(x)));
                set(i + 1, square.sqrt()?.times(&root));
            } else {
                beside.iter().enumerate().for_each(|(k, x)| set(i + 1 + k, x.times(&root)));
            }
        }
        let norm = norm.times(&Enclosure::double(self.noise.profile.scale(), 0));
        Ok(eigenvalues(matrix, m)?.iter().map(|x| x.times(&norm)).collect())
    }

    /// Coordinates of the logarithm of sum_i e^(l_i) c_i c_i^*.
    fn coords<const N: usize, K: Entry<N>>(
        &self,
        mut l: Vec<Enclosure<N>>,
    ) -> Result<Vec<Enclosure<N>>, Undecided> {
        let m = self.noise.matrices.m;
        if let Some(trace) = self.trace {
            let scale = Enclosure::double(self.noise.profile.scale(), 0);
            let root = Enclosure::integer(m as i64).inverse_sqrt()?;
            let shift = trace.at::<N>(self.stream)?.times(&scale).times(&root);
            l.iter_mut().for_each(|x| *x = x.plus(&shift));
        }
        let lower = lower::<N, K>(self.base, self.noise.matrices)?;
        let axes = orthonormal(&read::<N, K>(&all_at::<N>(&self.axes, self.stream)?), m)?;
        let moved = axes
            .chunks_exact(m)
            .flat_map(|axis| lower.chunks_exact(m).map(move |row| dot(row, axis)));
        let log = log_of_sum(&l, moved.collect())?;
        let root_2 = Enclosure::integer(2).sqrt()?;
        let mut coords = Vec::with_capacity(self.noise.matrices.dim());
        for i in 0..m {
            coords.push(log[i * (m + 1)].parts()[0]);
            for j in i + 1..m {
                coords.extend(log[i * m + j].parts()[..K::PARTS].iter().map(|x| x.times(&root_2)));
            }
        }
        Ok(coords)
    }
}

impl Question for Point<'_> {
    type Answer = Option<Multiples>;

    fn ask<const N: usize>(&self) -> Result<Option<Multiples>, Undecided> {
        let norm = self.norm.at::<N>(self.stream)?;
        let l = self.spectrum(&norm)?;
        // V < e^(L(A) - B(t))
        let bound = self.noise.norms.density().of.envelope(&norm)?;
        let height = self.height.at::<N>(self.stream);
        let matrices = self.noise.matrices;
        let beta = Enclosure::integer(matrices.beta as i64);
        if !height.is_less(&ln_volume(&l)?.times(&beta).minus(&bound).exp())? {
            return Ok(None);
        }
        let coords = if matrices.is_complex() {
            self.coords::<N, Complex<N>>(l)?
        } else {
            self.coords::<N, Enclosure<N>>(l)?
        };
        let multiples = coords.iter().map(|x| x.nearest_multiple(self.grid));
        multiples.collect::<Result<_, _>>().map(Some)
    }
}

/// L = sum_{i<j} ln sinhc((l_i - l_j)/2) for falling l.
fn ln_volume<const N: usize>(l: &[Enclosure<N>]) -> Result<Enclosure<N>, Undecided> {
    let parts = pairs(l.len()).map(|(i, j)| l[i].minus(&l[j]).shifted(-1).sinhc());
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let mut sum = Enclosure::ZERO;
    // one logarithm for a few factors, which are not too small together
    for few in parts.chunks(3) {
        let one = Enclosure::integer(1);
        let product = few.iter().fold(one, |product, (factor, _)| product.times(factor));
        sum = few.iter().fold(sum.plus(&product.ln()?), |sum, (_, rest)| sum.plus(rest));
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::steps::tests::check_all_heights;
    use super::super::{IsotropicNoise, SpdNoise};
    use super::*;
    use crate::exact::try_decide;
    use crate::manifold::{Hpd, Manifold, SpdAffine};
    use crate::noise::drawn::{apart, logs};
    use crate::roots::Space;
    use crate::simd::matrices::packed;
    use crate::vector::{exponent, norm};

    fn symmetric(orders: &[usize]) -> impl Iterator<Item = Matrices> {
        orders.iter().map(|m| Matrices::symmetric(*m))
    }

    fn hermitian(orders: &[usize]) -> impl Iterator<Item = Matrices> {
        orders.iter().map(|m| Matrices::hermitian(*m))
    }

    fn noise(matrices: Matrices, profile: Profile) -> IsotropicNoise {
        IsotropicNoise::new(matrices.into(), profile).unwrap()
    }

    fn laws(matrices: Matrices, scale: f64) -> [Profile; 2] {
        let limit = Space::from(matrices).largest_laplace_scale();
        [Profile::Gaussian { scale }, Profile::Laplace { scale: scale.min(0.9 * limit) }]
    }

    fn manifold(matrices: Matrices) -> Box<dyn Manifold> {
        let m = matrices.m;
        if matrices.is_complex() { Box::new(Hpd::new(m)) } else { Box::new(SpdAffine::new(m)) }
    }

    /// The point at the given tangent coordinates at the identity.
    fn point(matrices: Matrices, coords: &[f64]) -> Vec<f64> {
        let space = manifold(matrices);
        let mut point = vec![0.0; space.point_size()];
        space.exp_origin(crate::rows::Rows::new(coords, coords.len()), &mut point);
        point
    }

    /// A point some way from the identity.
    fn base(matrices: Matrices) -> Vec<f64> {
        let coords = (0..matrices.dim()).map(|i| 0.5 * f64::from(i as u32 * 7 % 5) - 0.7);
        point(matrices, &coords.collect::<Vec<_>>())
    }

    /// Of large matrices, each of which has many entries, fewer are drawn.
    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        for m in symmetric(&[2, 3, 6]).chain(hermitian(&[2, 3, 5])) {
            let base = base(m);
            for scale in [1e-9, 1e-3, 0.4, 2.0 / m.beta as f64] {
                for profile in laws(m, scale) {
                    let noise = noise(m, profile);
                    let step = 2f64.powi(exponent(profile.scale().min(1.0)) - 20);
                    let mut streams = [0; 2].map(|_| Stream::from_key([6; 32], m.m as u64));
                    let mut out = [0; 2].map(|_| vec![0.0; m.dim()]);
                    for _ in 0..30 / m.m {
                        for (i, effort) in [Effort::Steady, Effort::Least].into_iter().enumerate() {
                            noise.draw_on_grid(&base, step, &mut streams[i], effort, &mut out[i]);
                        }
                        assert_eq!(out[0], out[1], "{m:?} {profile:?}");
                        assert!(out[0].iter().all(|x| x.is_finite() && *x != 0.0));
                    }
                }
            }
        }
    }

    /// Entries of the factor are sixteenths, so that doubles hold their products.
    #[test]
    fn factors_are_the_points_that_they_stand_for() {
        for m in [2, 3, 5] {
            let mut factor = vec![0.0; m * (m + 1) / 2];
            let mut point = vec![0.0; m * m];
            for i in 0..m {
                for j in 0..=i {
                    let near = f64::from((5 * i + 3 * j) as u32 % 7) - 3.0;
                    factor[packed(m, j, i)] = if i == j { 1.0 + 0.25 * near } else { near / 16.0 };
                }
            }
            for i in 0..m {
                for j in 0..m {
                    let entry = |k: usize| factor[packed(m, k, i)] * factor[packed(m, k, j)];
                    point[i * m + j] = (0..=i.min(j)).map(entry).sum();
                }
            }
            let noise = noise(Matrices::symmetric(m), Profile::Gaussian { scale: 0.4 });
            for seed in 0..10 {
                let drawn = [&factor, &point].map(|base| {
                    let mut stream = Stream::from_key([seed; 32], 0);
                    let mut out = vec![0.0; m * (m + 1) / 2];
                    let step = 2f64.powi(-20);
                    noise.draw_on_grid(base, step, &mut stream, Effort::Least, &mut out);
                    out
                });
                assert_eq!(drawn[0], drawn[1], "{m}");
                assert!(drawn[0].iter().all(|x| *x != 0.0));
            }
        }
    }

    /// The same for G^* of complex matrices.
    #[test]
    fn complex_factors_are_the_points_that_they_stand_for() {
        for matrices in hermitian(&[2, 3, 4]) {
            let m = matrices.m;
            let mut factor: Vec<f64> =
                (0..m * m).map(|k| (f64::from(k as u32 * 5 % 7) - 3.0) / 16.0).collect();
            matrices.diagonal().enumerate().for_each(|(i, at)| factor[at] = 1.0 + 0.25 * i as f64);
            let number = |i: usize, j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Less => {
                    let at = matrices.at(i, j);
                    [factor[at], factor[at + 1]]
                }
                std::cmp::Ordering::Equal => [factor[matrices.at(i, i)], 0.0],
                std::cmp::Ordering::Greater => [0.0; 2],
            };
            // entry (i, j) of G G^*: conjugates of column i of G^* times column j
            let mut point = vec![0.0; 2 * m * m];
            for (at, entry) in point.chunks_exact_mut(2).enumerate() {
                for k in 0..m {
                    let ([a, b], [c, d]) = (number(k, at / m), number(k, at % m));
                    entry[0] += a * c + b * d;
                    entry[1] += a * d - b * c;
                }
            }
            let noise = noise(matrices, Profile::Gaussian { scale: 0.4 });
            for seed in 0..10 {
                let drawn = [&factor, &point].map(|base| {
                    let mut stream = Stream::from_key([seed; 32], 0);
                    let mut out = vec![0.0; m * m];
                    let step = 2f64.powi(-20);
                    noise.draw_on_grid(base, step, &mut stream, Effort::Least, &mut out);
                    out
                });
                assert_eq!(drawn[0], drawn[1], "{m}");
                assert!(drawn[0].iter().all(|x| *x != 0.0));
            }
        }
    }

    /// How far the means of min(t, limit), t the distance of drawn points from the base point, are from those of a law, in
    /// standard errors, and that of a coordinate of logarithms from 0.
    fn distance_from_law(m: Matrices, profile: Profile, other: Profile) -> [f64; 3] {
        let (base, law) = (base(m), noise(m, other));
        let (logs, mean) = (logs(&noise(m, profile), &base, 3, 1600), law.expected_dist());
        let logs = || logs.chunks_exact(m.dim());
        let within = |limit: f64| {
            let expected = law.expected_dist_within(limit);
            apart(logs().map(|log| norm(log).min(limit)), expected, 1e-3 * mean)
        };
        let [all, near] = [f64::INFINITY, 0.8 * mean].map(within);
        [all, near, apart(logs().map(|log| log[0]), 0.0, 0.0)]
    }

    #[test]
    fn points_have_the_expected_distances() {
        for m in symmetric(&[2, 3, 5]).chain(hermitian(&[2, 3, 4])) {
            for profile in [0.05, 0.6].map(|scale| laws(m, scale)).concat() {
                let found = distance_from_law(m, profile, profile);
                assert!(found.iter().all(|x| *x < 4.5), "{m:?} {profile:?} {found:?}");
            }
            let [profile, wider] = [0.6, 0.66].map(|scale| Profile::Gaussian { scale });
            let control = distance_from_law(m, profile, wider);
            assert!(control[0] > 4.5, "{m:?} {control:?}");
        }
    }

    /// At the identity all coordinates have one variance, and none goes with another.
    #[test]
    fn directions_are_isotropic() {
        let (m, n) = (3, 6000);
        let noise = noise(Matrices::symmetric(m), Profile::Laplace { scale: 0.2 });
        let origin = point(Matrices::symmetric(m), &[0.0; 6]);
        let mut stream = Stream::from_key([5; 32], 0);
        let mut second = [[0.0; 6]; 6];
        for _ in 0..n {
            let mut x = [0.0; 6];
            noise.draw_on_grid(&origin, 2f64.powi(-30), &mut stream, Effort::Least, &mut x);
            let square: f64 = x.iter().map(|x| x * x).sum();
            for i in 0..6 {
                for j in 0..6 {
                    second[i][j] += x[i] * x[j] / square / f64::from(n);
                }
            }
        }
        for (i, row) in second.iter().enumerate() {
            // rotations leave the trace and the rest apart, so the diagonal may go together
            let diagonal = [0, 3, 5];
            for (j, x) in row.iter().enumerate() {
                if i != j && !(diagonal.contains(&i) && diagonal.contains(&j)) {
                    assert!(x.abs() < 5.0 * 0.15 / f64::from(n).sqrt(), "{i} {j} {x}");
                }
            }
        }
        let along = |i: usize| second[i][i];
        let error = 5.0 * 0.25 / f64::from(n).sqrt();
        assert!((along(0) - along(3)).abs() < error && (along(3) - along(5)).abs() < error);
        assert!((along(1) - along(2)).abs() < error && (along(2) - along(4)).abs() < error);
    }

    /// At the identity real and imaginary parts of Hermitian matrices are alike, on and off the first row, and none
    /// goes with another.
    #[test]
    fn complex_directions_are_isotropic() {
        let (matrices, n) = (Matrices::hermitian(2), 6000);
        let noise = noise(matrices, Profile::Laplace { scale: 0.15 });
        let origin = point(matrices, &[0.0; 4]);
        let mut stream = Stream::from_key([5; 32], 0);
        let mut second = [[0.0; 4]; 4];
        for _ in 0..n {
            let mut x = [0.0; 4];
            noise.draw_on_grid(&origin, 2f64.powi(-30), &mut stream, Effort::Least, &mut x);
            let half = 0.5f64.sqrt();
            // trace and the three coordinates across it
            let x = [half * (x[0] + x[3]), half * (x[0] - x[3]), x[1], x[2]];
            let square: f64 = x.iter().map(|x| x * x).sum();
            for (i, row) in second.iter_mut().enumerate() {
                (0..4).for_each(|j| row[j] += x[i] * x[j] / square / f64::from(n));
            }
        }
        let error = 5.0 * 0.3 / f64::from(n).sqrt();
        for i in 0..4 {
            for j in 0..i {
                assert!(second[i][j].abs() < error, "{second:?}");
                assert!(j == 0 || (second[i][i] - second[j][j]).abs() < error, "{second:?}");
            }
        }
    }

    #[test]
    fn all_heights_give_the_density_of_a_norm() {
        for matrices in [Matrices::symmetric(3), Matrices::hermitian(3)] {
            let laplace = Profile::Laplace { scale: 0.3 / matrices.beta as f64 };
            let more = 4 * (matrices.beta as i32 - 1);
            for (profile, width, end) in
                [(Profile::Gaussian { scale: 0.7 }, -2, 28 + more), (laplace, 0, 24 + more)]
            {
                let mode = Proposal::new(matrices, profile).reference / profile.scale();
                let norm = Scaled::new(Norm::new(matrices, profile), mode).unwrap();
                check_all_heights(Steps::new(norm, width, end as _).unwrap());
            }
        }
    }

    #[test]
    fn norms_have_a_table_at_every_scale_that_is_served() {
        for m in (2..=16).map(Matrices::symmetric).chain((2..=16).map(Matrices::hermitian)) {
            let limit = Space::from(m).largest_laplace_scale();
            // the ends for each order, the others for every second one
            let (scales, shares) = if m.m.is_multiple_of(2) {
                ([1e-9, 0.3, 2.0], [1e-9, 0.1, 0.8, 1.0])
            } else {
                ([1e-3, 1.0, 2.0], [1e-9, 0.5, 0.95, 1.0])
            };
            let gaussian = scales.map(|scale| Profile::Gaussian { scale });
            let laplace = shares.map(|share| Profile::Laplace { scale: share * limit });
            for profile in laplace.into_iter().chain(gaussian) {
                let density = Proposal::new(m, profile);
                let made = MatrixNoise::new(m, profile, &density, &density.law());
                assert!(made.is_ok(), "{m:?} {profile:?}");
            }
        }
    }

    /// Normals, heights and norms of 2^-100 leave nothing undecided.
    #[test]
    fn small_numbers_are_decided() {
        for m in symmetric(&[2, 3]).chain(hermitian(&[2, 3])) {
            let noise = SpdNoise::new(m, Profile::Gaussian { scale: 0.3 }).unwrap();
            let (noise, base) = (&noise.exact, &base(m)[..]);
            let mut stream = Stream::from_key([5; 32], 0);
            for small in 0..m.dim() + m.beta * m.m * m.m + 3 {
                let (mut norm, _) = noise.norms.draw(&mut stream, Effort::Least);
                let mut direction = Normal::draw_all(m.dim(), &mut stream, Effort::Least);
                let mut axes = Normal::draw_all(m.beta * m.m * m.m, &mut stream, Effort::Least);
                let mut trace = Normal::draw(&mut stream, Effort::Least);
                let height = match small {
                    0 => Variable::after_zeros(100),
                    _ => stream.variable(),
                };
                let mut numbers =
                    std::iter::once(&mut trace).chain(&mut direction).chain(&mut axes);
                if let Some(number) = small.checked_sub(2).and_then(|at| numbers.nth(at)) {
                    number.size.set_small(100);
                } else if small == 1 {
                    norm.set_small(100);
                }
                let trace = splits_trace(noise.profile).then_some(trace);
                let (grid, stream) = (-20, &stream);
                let point =
                    Point { noise, norm, direction, trace, axes, height, base, grid, stream };
                assert!(try_decide(&point, Effort::Least).is_ok(), "{m:?} {small}");
            }
        }
    }

    /// Near the largest scale eigenvalues are far apart: the logarithm keeps its digits.
    #[test]
    fn far_draws_are_decided() {
        let cases = symmetric(&[2, 3]).chain(hermitian(&[2, 3])).zip([500.0, 30.0, 15.0, 12.0]);
        for (m, least) in cases {
            let scale = Space::from(m).largest_laplace_scale();
            let noise = noise(m, Profile::Laplace { scale });
            let (mut stream, mut farthest) = (Stream::from_key([8; 32], 0), 0.0f64);
            for _ in 0..40 {
                let mut x = vec![0.0; m.dim()];
                noise.draw_on_grid(&base(m), 2f64.powi(-20), &mut stream, Effort::Least, &mut x);
                assert!(x.iter().any(|x| *x != 0.0));
                farthest = farthest.max(crate::vector::norm(&x));
            }
            assert!(farthest > least, "{m:?} {farthest}");
        }
    }
}
