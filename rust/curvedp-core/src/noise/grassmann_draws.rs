//! Noise on Grassmannians, drawn exactly (docs/proofs/exact-draws.md).
//!
//! [`super::grassmann`] describes the law of the tangent vector: propose its length and a direction, accept by the
//! principal angles. The base point is the subspace with the basis W = (cos; A sinc), functions of A^T A, A its
//! coordinates. A direction is that of H = Z - W W^T Z, Z a matrix of normals; the point is the span of
//! Y = W cos + X sinc, functions of X^T X. What is rounded is Y V for a uniform orthogonal V: a uniform basis of
//! the subspace, whose law depends on nothing else.

use super::NoiseError;
use super::curved::OUTWARD;
use super::flat::{Multiples, write};
use super::grassmann::{Proposal, Roots};
use super::log_concave::LogConcave;
use super::normal::{Normal, Normals, all_at};
use super::radial::Profile;
use super::steps::{LogDensity, Place, Scaled, Steps};
use super::stream::{Stream, Variable};
use crate::exact::matrices::{
    Unit, Vector, circular, eigenvalues, gram, orthonormal, product, transpose_product,
};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::vector::norm;

/// The logarithm of the proposed density of the length t, in units of the scale or of 1, whichever is less:
/// t^power psi(t) sinc(a t)^count.
struct Length {
    power: i64,
    count: i64,
    /// a, rounded down.
    mean: f64,
    /// The unit.
    angle: f64,
    /// The unit in units of the scale.
    rate: f64,
    is_laplace: bool,
    /// No point is farther.
    farthest: f64,
}

impl Length {
    fn new(roots: &Roots, profile: Profile) -> Self {
        let scale = profile.scale();
        // a wider law is one too
        let (angle, rate) =
            if scale < 1.0 { (scale, 1.0) } else { (1.0, (1.0 / scale).next_down()) };
        Self {
            power: roots.dim() as i64 - 1,
            count: roots.count as i64,
            mean: roots.mean / OUTWARD,
            angle,
            rate,
            is_laplace: matches!(profile, Profile::Laplace { .. }),
            farthest: (roots.diameter / angle * OUTWARD).min(MOST_UNITS),
        }
    }

    /// The length in radians.
    fn radians<const N: usize>(&self, t: &Enclosure<N>) -> Enclosure<N> {
        t.times(&Enclosure::double(self.angle, 0))
    }

    /// sinc(a t)
    fn sinc<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
        let x = self.radians(t).times(&Enclosure::double(self.mean, 0));
        Ok(x.times(&x).circular()?.1)
    }
}

impl LogDensity for Length {
    fn ln<const N: usize>(&self, t: &Enclosure<N>) -> Result<Option<Enclosure<N>>, Undecided> {
        if Enclosure::double(self.farthest, 0).is_less(t)? {
            return Ok(None);
        }
        let profile = t.times(&Enclosure::double(self.rate, 0));
        let profile = if self.is_laplace { profile } else { profile.times(&profile).shifted(-1) };
        let mut ln = profile.negated();
        if self.count > 0 {
            let sinc = self.sinc(t)?;
            if sinc.sign()? != std::cmp::Ordering::Greater {
                return Ok(None);
            }
            ln = ln.plus(&sinc.ln()?.times(&Enclosure::integer(self.count)));
        }
        if self.power > 0 {
            ln = ln.plus(&t.ln()?.times(&Enclosure::integer(self.power)));
        }
        Ok(Some(ln))
    }
}

/// No length is more units: of probability e^-2^59.
const MOST_UNITS: f64 = (1u64 << 60) as f64;

/// Noise on a Grassmannian.
pub(super) struct SubspaceNoise {
    roots: Roots,
    lengths: Steps<Scaled<Length>>,
}

/// Coordinates of a base point are at most this long; others count as 0.
const LONGEST: f64 = 7.9;

impl SubspaceNoise {
    /// The noise whose lengths are proposed from `proposal`.
    ///
    /// # Errors
    /// [`NoiseError::Range`] if they have no table.
    pub(super) fn new(
        roots: Roots,
        profile: Profile,
        density: &Proposal,
        proposal: &LogConcave,
    ) -> Result<Self, NoiseError> {
        let length = Length::new(&roots, profile);
        let (unit, farthest, mean) = (length.angle, length.farthest, proposal.mean());
        let deviation = (proposal.mean_square() - mean * mean).max(0.0).sqrt();
        let lengths = Scaled::new(length, density.reference / unit)
            .and_then(|length| Steps::over(length, mean / unit, deviation / unit, farthest))
            .ok_or(NoiseError::Range { scale: profile.scale(), dim: roots.dim() })?;
        Ok(Self { roots, lengths })
    }

    /// Draws a subspace about that with coordinates `base` at the origin: multiples of 2^`grid` that are closest to
    /// the entries of a uniform orthonormal basis, row by row.
    pub(super) fn draw(
        &self,
        base: &[f64],
        grid: i32,
        stream: &mut Stream,
        effort: Effort,
        out: &mut [f64],
    ) {
        let origin = vec![0.0; base.len()];
        let base = if norm(base) <= LONGEST { base } else { &origin };
        let Roots { n, k, .. } = self.roots;
        loop {
            let (length, _) = self.lengths.draw(stream, effort);
            let direction = Normal::draw_all(n * k, stream, effort);
            let basis = Normal::draw_all(k * k, stream, effort);
            let height = stream.variable();
            let point = Point { noise: self, length, direction, basis, height, base, grid, stream };
            if let Some(multiples) = decide(&point, effort) {
                return write(multiples, grid, out);
            }
        }
    }
}

/// Which multiples of the step are closest to the entries of the drawn basis? None for a proposal that is not
/// accepted.
struct Point<'a> {
    noise: &'a SubspaceNoise,
    /// |X|
    length: Place,
    /// Z
    direction: Normals,
    /// A square matrix of normals, whose directions V gets.
    basis: Normals,
    height: Variable,
    base: &'a [f64],
    grid: i32,
    stream: &'a Stream,
}

impl Point<'_> {
    /// An orthonormal basis of the base point.
    fn at_base<const N: usize>(&self) -> Result<Vector<N>, Undecided> {
        let k = self.noise.roots.k;
        let a: Vector<N> = self.base.iter().map(|x| Enclosure::double(*x, 0)).collect();
        let (mut basis, sinc) = circular(&gram(&a, k), k)?;
        basis.extend(product(&a, &sinc, k));
        Ok(basis)
    }

    /// Is V sinc(a t)^M less than the product over all roots? The squared angles are `units` times `square`.
    fn is_accepted<const N: usize>(
        &self,
        length: &Enclosure<N>,
        units: &[Enclosure<N>],
        square: &Enclosure<N>,
    ) -> Result<bool, Undecided> {
        let Roots { rank, single, .. } = self.noise.roots;
        let largest = units[0].times(square);
        // (pi/2)^2 < 4
        if Enclosure::integer(4).is_less(&largest)? {
            return Ok(false);
        }
        let (cos, _) = largest.circular()?;
        if cos.sign()? == std::cmp::Ordering::Less {
            return Ok(false);
        }
        let of = &self.noise.lengths.density().of;
        let mut left = self.height.at::<N>(self.stream);
        if of.count > 0 {
            left = left.times(&power(&of.sinc(length)?, of.count as usize));
        }
        let mut right = Enclosure::integer(1);
        let sinc = |x: Enclosure<N>| Ok(x.times(square).circular()?.1);
        for (i, a) in units[..rank].iter().enumerate() {
            if single > 0 {
                right = right.times(&power(&sinc(*a)?, single));
            }
            for b in &units[..i] {
                // (a +- b)^2 for the angles
                let (sum, both) = (a.plus(b), a.times(b));
                let twice = both.times(&both.inverse_sqrt()?).shifted(1);
                right = right.times(&sinc(sum.plus(&twice))?).times(&sinc(sum.minus(&twice))?);
            }
        }
        left.is_less(&right)
    }
}

/// The power of a number.
fn power<const N: usize>(x: &Enclosure<N>, mut exponent: usize) -> Enclosure<N> {
    let (mut power, mut square) = (Enclosure::integer(1), *x);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power.times(&square);
        }
        exponent /= 2;
        if exponent > 0 {
            square = square.times(&square);
        }
    }
    power
}

impl Question for Point<'_> {
    type Answer = Option<Multiples>;

    fn ask<const N: usize>(&self) -> Result<Option<Multiples>, Undecided> {
        let k = self.noise.roots.k;
        let base = self.at_base::<N>()?;
        let z = all_at::<N>(&self.direction, self.stream)?;
        let along = product(&base, &transpose_product(&base, &z, k), k);
        let across: Vector<N> = z.iter().zip(&along).map(|(z, along)| z.minus(along)).collect();
        let direction = Unit::of(across)?.vector;
        let squares = gram(&direction, k);
        let length = self.length.at::<N>(self.stream)?;
        let radians = self.noise.lengths.density().of.radians(&length);
        let square = radians.times(&radians);
        let units = eigenvalues(squares.to_vec(), k)?;
        if !self.is_accepted(&length, &units, &square)? {
            return Ok(None);
        }
        let squares: Vector<N> = squares.iter().map(|x| x.times(&square)).collect();
        let (cos, sinc) = circular(&squares, k)?;
        let x: Vector<N> = direction.iter().map(|x| x.times(&radians)).collect();
        let [near, far] = [product(&base, &cos, k), product(&x, &sinc, k)];
        let drawn: Vector<N> = near.iter().zip(&far).map(|(x, y)| x.plus(y)).collect();
        let turn = orthonormal(&all_at::<N>(&self.basis, self.stream)?, k)?;
        let drawn = product(&drawn, &turn, k);
        let multiples = drawn.iter().map(|x| x.shifted(-self.grid).nearest());
        multiples.collect::<Result<_, _>>().map(Some)
    }

    fn give_up(&self) -> Option<Multiples> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::steps::tests::check_all_heights;
    use super::super::{IsotropicNoise, Space};
    use super::*;
    use crate::manifold::{Manifold, SubspaceChart};
    use crate::rows::Rows;
    use crate::vector::exponent;

    const SHAPES: [(usize, usize); 5] = [(2, 1), (4, 1), (4, 2), (5, 3), (7, 3)];

    fn noise(n: usize, k: usize, profile: Profile) -> IsotropicNoise {
        IsotropicNoise::new(Space::Grassmann { n, k }, profile).unwrap()
    }

    fn laws(scale: f64) -> [Profile; 2] {
        [Profile::Gaussian { scale }, Profile::Laplace { scale }]
    }

    /// Coordinates some way from the origin.
    fn base(n: usize, k: usize) -> Vec<f64> {
        let factor = 0.5 / (k * (n - k)) as f64;
        (0..k * (n - k)).map(|i| factor * (f64::from(i as u32 * 7 % 5) - 1.7)).collect()
    }

    /// The subspace of a drawn basis.
    fn drawn(
        noise: &IsotropicNoise,
        n: usize,
        k: usize,
        base: &[f64],
        stream: &mut Stream,
    ) -> Vec<f64> {
        let mut basis = vec![0.0; n * k];
        noise.draw_on_grid(base, 2f64.powi(-30), stream, Effort::Least, &mut basis);
        let mut point = vec![0.0; base.len()];
        assert!(SubspaceChart::new(n, k).from_basis(&basis, &mut point));
        point
    }

    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        for (n, k) in SHAPES {
            let base = base(n, k);
            for scale in [1e-9, 1e-3, 0.4, 2.0, 1e5] {
                for profile in laws(scale) {
                    let noise = noise(n, k, profile);
                    let step = 2f64.powi(exponent(profile.scale().min(1.0)) - 20);
                    let mut streams = [0; 2].map(|_| Stream::from_key([6; 32], n as u64));
                    let mut out = [0; 2].map(|_| vec![0.0; n * k]);
                    for _ in 0..10 {
                        for (i, effort) in [Effort::Steady, Effort::Least].into_iter().enumerate() {
                            noise.draw_on_grid(&base, step, &mut streams[i], effort, &mut out[i]);
                        }
                        assert_eq!(out[0], out[1], "{n} {k} {profile:?}");
                        assert!(out[0].iter().any(|x| *x != 0.0));
                    }
                }
            }
        }
    }

    #[test]
    fn drawn_bases_are_orthonormal_up_to_the_grid() {
        let noise = noise(5, 2, Profile::Laplace { scale: 0.3 });
        let mut stream = Stream::from_key([1; 32], 0);
        let mut x = vec![0.0; 10];
        for _ in 0..200 {
            noise.draw_on_grid(&base(5, 2), 2f64.powi(-40), &mut stream, Effort::Least, &mut x);
            for (i, j) in [(0, 0), (0, 1), (1, 1)] {
                let product: f64 = x.chunks_exact(2).map(|row| row[i] * row[j]).sum();
                assert!((product - f64::from(i == j)).abs() < 1e-11);
            }
        }
    }

    /// Largest distance of two distribution functions times the root of half the number of values.
    fn apart(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
        a.sort_by(f64::total_cmp);
        b.sort_by(f64::total_cmp);
        let n = b.len() as f64;
        let at = |(k, x): (usize, &f64)| (b.partition_point(|y| y < x) as f64 - k as f64).abs() / n;
        a.iter().enumerate().map(at).fold(0.0, f64::max) * (n / 2.0).sqrt()
    }

    /// How far distances from the base point, and one coordinate of logarithms there, are from those of tangent vectors that the
    /// sampler in doubles draws.
    fn distance_from_law(n: usize, k: usize, profile: Profile, other: Profile) -> [f64; 2] {
        let (manifold, base, count) = (SubspaceChart::new(n, k), base(n, k), 3000);
        let (exact, doubles) = (noise(n, k, profile), noise(n, k, other));
        let [mut a, mut b] = [0, 1].map(|i| Stream::from_key([3 + i; 32], n as u64));
        let mut found = [const { Vec::new() }; 4];
        for _ in 0..count {
            let point = drawn(&exact, n, k, &base, &mut a);
            let mut log = vec![0.0; base.len()];
            manifold.log(Rows::shared(&point), Rows::shared(&base), &mut log);
            found[0].push(norm(&log));
            found[2].push(log[0]);
            doubles.sample_coords(&mut b, &mut log);
            found[1].push(norm(&log));
            found[3].push(log[0]);
        }
        let [dist, dist_law, entry, entry_law] = found;
        [apart(dist, dist_law), apart(entry, entry_law)]
    }

    #[test]
    fn points_have_the_law_of_the_sampler_in_doubles() {
        for (n, k) in SHAPES {
            for scale in [0.05, 0.6, 1e3] {
                for profile in laws(scale) {
                    let found = distance_from_law(n, k, profile, profile);
                    assert!(found.iter().all(|x| *x < 1.9), "{n} {k} {profile:?} {found:?}");
                }
            }
            let profile = Profile::Gaussian { scale: 0.1 };
            let control = distance_from_law(n, k, profile, Profile::Gaussian { scale: 0.115 });
            assert!(control[0] > 2.2, "{n} {k} {control:?}");
        }
    }

    /// The largest mean of a product of two unlike entries of a drawn basis, in standard errors, about a base point.
    fn gauge(draw: impl Fn(&mut Stream, &mut [f64])) -> f64 {
        let (count, mut stream) = (4000, Stream::from_key([2; 32], 0));
        let mut sums = [0.0; 2];
        for _ in 0..count {
            let mut x = vec![0.0; 8];
            draw(&mut stream, &mut x);
            // of uniform bases these means are 0
            sums[0] += x[0] * x[1];
            sums[1] += x[0] * x[3];
        }
        sums.map(|sum: f64| sum.abs() / f64::from(count).sqrt()).into_iter().fold(0.0, f64::max)
    }

    /// A basis tells nothing but its subspace: those about one base point by its own basis would.
    #[test]
    fn bases_are_uniform() {
        let noise = noise(4, 2, Profile::Gaussian { scale: 0.05 });
        let base = [0.3, -0.2, 0.1, 0.4];
        let uniform = gauge(|stream, x| {
            noise.draw_on_grid(&base, 2f64.powi(-30), stream, Effort::Least, x);
        });
        assert!(uniform < 4.0, "{uniform}");
        let fixed = gauge(|stream, x| {
            noise.draw_on_grid(&base, 2f64.powi(-30), stream, Effort::Least, x);
            let mut point = vec![0.0; 4];
            let manifold = SubspaceChart::new(4, 2);
            assert!(manifold.from_basis(x, &mut point));
            x.copy_from_slice(&manifold.basis(&point));
        });
        assert!(fixed > 20.0, "{fixed}");
    }

    #[test]
    fn all_heights_give_the_density_of_a_length() {
        for (profile, width, end) in
            [(Profile::Gaussian { scale: 0.3 }, -2, 24), (Profile::Laplace { scale: 2.0 }, -3, 18)]
        {
            let roots = Roots::new(5, 2);
            let mode = Proposal::new(roots, profile).reference / profile.scale().min(1.0);
            let length = Scaled::new(Length::new(&roots, profile), mode).unwrap();
            check_all_heights(Steps::new(length, width, end).unwrap());
        }
    }

    #[test]
    fn lengths_have_a_table_at_every_scale_that_is_served() {
        for (n, k) in [(2, 1), (3, 1), (100, 1), (4, 2), (9, 4), (20, 5), (60, 2), (32, 16)] {
            for scale in [1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 1e3, 1e9] {
                for profile in laws(scale) {
                    let made = IsotropicNoise::new(Space::Grassmann { n, k }, profile);
                    let refused = matches!(made, Err(NoiseError::Acceptance { .. }));
                    assert!(made.is_ok() || refused, "{n} {k} {profile:?} {:?}", made.err());
                    assert!(!refused || n >= 20);
                }
            }
        }
    }

    #[test]
    fn what_is_no_base_point_counts_as_the_origin() {
        let noise = noise(4, 2, Profile::Gaussian { scale: 1e-3 });
        for base in [[f64::NAN; 4], [1e300; 4], [f64::INFINITY, 0.0, 0.0, 0.0]] {
            let point = drawn(&noise, 4, 2, &base, &mut Stream::from_key([9; 32], 0));
            assert!(norm(&point) < 0.02);
        }
    }
}
