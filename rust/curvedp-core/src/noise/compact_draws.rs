//! Noise on Grassmannians, rotation groups and unitary groups, drawn exactly (docs/proofs/exact-draws.md).
//!
//! [`super::compact`] describes the law of the tangent vector: propose its length and a direction, accept by its
//! angles. *Subspaces:* the base point has the basis W = (cos; A sinc), functions of A^T A, A its
//! coordinates. A direction is that of H = Z - W W^T Z, Z a matrix of normals; the point is the span of
//! Y = W cos + X sinc, functions of X^T X. What is rounded is Y V for a uniform orthogonal V: a uniform basis of
//! the subspace, whose law depends on nothing else. *Rotations:* the base point is exp(A) = cos + A sinc, functions of
//! A^T A, A the skew matrix of its coordinates; a direction is that of a skew matrix of normals, the point is
//! exp(A) exp(X). *Unitary matrices* are rotations of R^2n: x + iy is the block (x, -y; y, x).

use super::NoiseError;
use super::compact::Proposal;
use super::compact_angles::{Angles, skew_matrix};
use super::curved::OUTWARD;
use super::flat::{Multiples, write};
use super::log_concave::LogConcave;
use super::normal::{Normal, Normals, all_at};
use super::radial::Profile;
use super::steps::{LogDensity, Place, Scaled, Steps};
use super::stream::{Stream, Variable};
use crate::exact::matrices::{
    Unit, Vector, circular, eigenvalues, gram, orthonormal, pairs, product, transpose_product,
};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::roots::{Compact, Matrices, Roots};

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
    fn new(angles: &Angles, profile: Profile) -> Self {
        let scale = profile.scale();
        // a wider law is one too
        let (angle, rate) =
            if scale < 1.0 { (scale, 1.0) } else { (1.0, (1.0 / scale).next_down()) };
        Self {
            power: angles.dim() as i64 - 1,
            count: angles.count as i64,
            mean: angles.mean / OUTWARD,
            angle,
            rate,
            is_laplace: matches!(profile, Profile::Laplace { .. }),
            farthest: (angles.diameter / angle * OUTWARD).min(MOST_UNITS),
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

/// Noise on a Grassmannian, SO(n) or U(n).
pub(super) struct ExactCompact {
    angles: Angles,
    lengths: Steps<Scaled<Length>>,
}

/// Doublings of angles in [`circular`] for matrices T^2 with traces below 64, such as those of coordinates within pi/2 of
/// the origin, where all balls lie.
const HALVINGS: i32 = 6;

impl ExactCompact {
    /// The noise whose lengths are proposed from `proposal`.
    ///
    /// # Errors
    /// [`NoiseError::Range`] if they have no table.
    pub(super) fn new(
        angles: Angles,
        profile: Profile,
        density: &Proposal,
        proposal: &LogConcave,
    ) -> Result<Self, NoiseError> {
        let length = Length::new(&angles, profile);
        let (unit, farthest, mean) = (length.angle, length.farthest, proposal.mean());
        let deviation = (proposal.mean_square() - mean * mean).max(0.0).sqrt();
        let lengths = Scaled::new(length, density.reference / unit)
            .and_then(|length| Steps::over(length, mean / unit, deviation / unit, farthest))
            .ok_or(NoiseError::Range { scale: profile.scale(), dim: angles.dim() })?;
        Ok(Self { angles, lengths })
    }

    /// Draws a point about that with coordinates `base` at the origin: multiples of 2^`grid` that are closest to
    /// the entries of a uniform orthonormal basis of a subspace or to those of a rotation or unitary matrix, row by row.
    pub(super) fn draw(
        &self,
        base: &[f64],
        grid: i32,
        stream: &mut Stream,
        effort: Effort,
        out: &mut [f64],
    ) {
        loop {
            let (length, _) = self.lengths.draw(stream, effort);
            let multiples = match self.angles.space {
                Compact::Subspaces { n, k } => {
                    let direction = Normal::draw_all(n * k, stream, effort);
                    let basis = Normal::draw_all(k * k, stream, effort);
                    let height = stream.variable();
                    let proposal = Proposed { noise: self, length, direction, height, stream };
                    decide(&Subspace { proposal, k, basis, base, grid }, effort)
                }
                Compact::Rotations { n } => {
                    let direction = Normal::draw_all(self.angles.dim(), stream, effort);
                    let height = stream.variable();
                    let proposal = Proposed { noise: self, length, direction, height, stream };
                    decide(&Rotation { proposal, n, base, grid }, effort)
                }
                Compact::Unitary { n } => {
                    let direction = Normal::draw_all(self.angles.dim(), stream, effort);
                    let height = stream.variable();
                    let proposal = Proposed { noise: self, length, direction, height, stream };
                    decide(&Unitary { proposal, n, base, grid }, effort)
                }
            };
            if let Some(multiples) = multiples {
                return write(multiples, grid, out);
            }
        }
    }
}

/// A tangent vector, and what decides whether it is accepted.
struct Proposed<'a> {
    noise: &'a ExactCompact,
    /// |X|
    length: Place,
    /// Z
    direction: Normals,
    height: Variable,
    stream: &'a Stream,
}

impl Proposed<'_> {
    /// Is V sinc(a t)^M less than the product over all roots? The squared angles of X are `units` times `square`.
    fn is_accepted<const N: usize>(
        &self,
        length: &Enclosure<N>,
        units: &[Enclosure<N>],
        square: &Enclosure<N>,
    ) -> Result<bool, Undecided> {
        let Roots { rank, single, sums, curvature, .. } = self.noise.angles.roots;
        let square = square.times(&Enclosure::double(curvature, 0));
        if !is_within(&units[0].times(&square))? {
            return Ok(false);
        }
        let of = &self.noise.lengths.density().of;
        let mut left = self.height.at::<N>(self.stream);
        if of.count > 0 {
            left = left.times(&power(&of.sinc(length)?, of.count as usize));
        }
        let mut right = Enclosure::integer(1);
        // the squared angle in units, times sinc^2
        let mut sines = Vector::<N>::new();
        for (i, a) in units[..rank].iter().enumerate() {
            let (_, sinc) = a.times(&square).circular()?;
            right = right.times(&power(&sinc, single));
            sines.push(a.times(&sinc).times(&sinc));
            for (b, sine) in units.iter().zip(&sines[..i]) {
                // sinc(a + b) sinc(a - b) = (sin^2 a - sin^2 b)/(a^2 - b^2)
                let both = sines[i].minus(sine).over(&a.minus(b))?;
                right = right.times(&power(&both, sums));
            }
        }
        left.is_less(&right)
    }

    /// The same, with B = 0, for roots that are differences of eigenvalues in falling order: `units` times the length, whose
    /// square is `square`.
    fn is_accepted_by_differences<const N: usize>(
        &self,
        units: &[Enclosure<N>],
        square: &Enclosure<N>,
    ) -> Result<bool, Undecided> {
        let Roots { rank, differences, curvature, .. } = self.noise.angles.roots;
        let square = square.times(&Enclosure::double(curvature, 0));
        for end in [&units[0], &units[rank - 1]] {
            if !is_within(&end.times(end).times(&square))? {
                return Ok(false);
            }
        }
        let mut right = Enclosure::integer(1);
        for (i, j) in pairs(rank) {
            let gap = units[i].minus(&units[j]);
            let (_, sinc) = gap.times(&gap).times(&square).circular()?;
            right = right.times(&power(&sinc, differences));
        }
        self.height.at::<N>(self.stream).is_less(&right)
    }
}

/// Is an angle below pi/2?
fn is_within<const N: usize>(square: &Enclosure<N>) -> Result<bool, Undecided> {
    // (pi/2)^2 < 4
    if Enclosure::integer(4).is_less(square)? {
        return Ok(false);
    }
    Ok(square.circular()?.0.sign()? != std::cmp::Ordering::Less)
}

/// Which multiples of the step are closest to the entries of the drawn basis? None for a proposal that is not
/// accepted.
struct Subspace<'a> {
    proposal: Proposed<'a>,
    k: usize,
    /// A square matrix of normals, whose directions V gets.
    basis: Normals,
    base: &'a [f64],
    grid: i32,
}

impl Subspace<'_> {
    /// An orthonormal basis of the base point.
    fn at_base<const N: usize>(&self) -> Result<Vector<N>, Undecided> {
        let k = self.k;
        let a: Vector<N> = self.base.iter().map(|x| Enclosure::double(*x, 0)).collect();
        let (mut basis, sinc) = circular(&gram(&a, k), k, HALVINGS)?;
        basis.extend(product(&a, &sinc, k));
        Ok(basis)
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

impl Question for Subspace<'_> {
    type Answer = Option<Multiples>;

    fn ask<const N: usize>(&self) -> Result<Option<Multiples>, Undecided> {
        let Self { ref proposal, k, .. } = *self;
        let base = self.at_base::<N>()?;
        let z = all_at::<N>(&proposal.direction, proposal.stream)?;
        let along = product(&base, &transpose_product(&base, &z, k), k);
        let across: Vector<N> = z.iter().zip(&along).map(|(z, along)| z.minus(along)).collect();
        let direction = Unit::of(across)?.vector;
        let squares = gram(&direction, k);
        let length = proposal.length.at::<N>(proposal.stream)?;
        let radians = proposal.noise.lengths.density().of.radians(&length);
        let square = radians.times(&radians);
        let units = eigenvalues(squares.to_vec(), k)?;
        if !proposal.is_accepted(&length, &units, &square)? {
            return Ok(None);
        }
        let squares: Vector<N> = squares.iter().map(|x| x.times(&square)).collect();
        let (cos, sinc) = circular(&squares, k, HALVINGS)?;
        let x: Vector<N> = direction.iter().map(|x| x.times(&radians)).collect();
        let [near, far] = [product(&base, &cos, k), product(&x, &sinc, k)];
        let drawn: Vector<N> = near.iter().zip(&far).map(|(x, y)| x.plus(y)).collect();
        let turn = orthonormal(&all_at::<N>(&self.basis, proposal.stream)?, k)?;
        let drawn = product(&drawn, &turn, k);
        let multiples = drawn.iter().map(|x| x.nearest_multiple(self.grid));
        multiples.collect::<Result<_, _>>().map(Some)
    }
}

/// Which multiples of the step are closest to the entries of the drawn matrix? None for a proposal that is not
/// accepted.
struct Rotation<'a> {
    proposal: Proposed<'a>,
    n: usize,
    base: &'a [f64],
    grid: i32,
}

impl Question for Rotation<'_> {
    type Answer = Option<Multiples>;

    fn ask<const N: usize>(&self) -> Result<Option<Multiples>, Undecided> {
        let Self { ref proposal, n, .. } = *self;
        let Roots { rank, .. } = proposal.noise.angles.roots;
        let direction = Unit::of(all_at::<N>(&proposal.direction, proposal.stream)?)?.vector;
        let direction = skew_enclosures(n, &direction);
        let squares = gram(&direction, n);
        let length = proposal.length.at::<N>(proposal.stream)?;
        let radians = proposal.noise.lengths.density().of.radians(&length);
        // each angle of a plane is that of two eigenvectors
        let units: Vec<_> = eigenvalues(squares.to_vec(), n)?.into_iter().step_by(2).collect();
        if !proposal.is_accepted(&length, &units[..rank], &radians.times(&radians))? {
            return Ok(None);
        }
        let x: Vector<N> = direction.iter().map(|x| x.times(&radians)).collect();
        let drawn = exponential(&x, n, halvings(rank))?;
        let base: Vector<N> = self.base.iter().map(|x| Enclosure::double(*x, 0)).collect();
        let base = exponential(&skew_enclosures(n, &base), n, HALVINGS)?;
        let multiples = product(&base, &drawn, n);
        let multiples = multiples.iter().map(|x| x.nearest_multiple(self.grid));
        multiples.collect::<Result<_, _>>().map(Some)
    }
}

/// Which multiples of the step are closest to the parts of the entries of the drawn matrix? None for a proposal that is not
/// accepted.
struct Unitary<'a> {
    proposal: Proposed<'a>,
    n: usize,
    base: &'a [f64],
    grid: i32,
}

impl Question for Unitary<'_> {
    type Answer = Option<Multiples>;

    fn ask<const N: usize>(&self) -> Result<Option<Multiples>, Undecided> {
        let Self { ref proposal, n, .. } = *self;
        let order = 2 * n;
        let direction = Unit::of(all_at::<N>(&proposal.direction, proposal.stream)?)?.vector;
        let direction = hermitian_enclosures(n, &direction)?;
        // each eigenvalue is that of a vector and of its product by i
        let units: Vec<_> =
            eigenvalues(direction.to_vec(), order)?.into_iter().step_by(2).collect();
        let length = proposal.length.at::<N>(proposal.stream)?;
        let radians = proposal.noise.lengths.density().of.radians(&length);
        if !proposal.is_accepted_by_differences(&units, &radians.times(&radians))? {
            return Ok(None);
        }
        let x: Vector<N> = direction.iter().map(|x| x.times(&radians)).collect();
        let drawn = exponential(&times_i(&x, order), order, halvings(n))?;
        let base: Vector<N> = self.base.iter().map(|x| Enclosure::double(*x, 0)).collect();
        let base = times_i(&hermitian_enclosures(n, &base)?, order);
        let matrix = product(&exponential(&base, order, HALVINGS)?, &drawn, order);
        let entries = (0..n).flat_map(|i| (0..n).map(move |j| 2 * (i * order + j)));
        let parts = entries.flat_map(|at| [&matrix[at], &matrix[at + order]]);
        parts.map(|x| x.nearest_multiple(self.grid)).collect::<Result<_, _>>().map(Some)
    }
}

/// The Hermitian matrix with these coordinates, in blocks.
fn hermitian_enclosures<const N: usize>(
    n: usize,
    coords: &[Enclosure<N>],
) -> Result<Vector<N>, Undecided> {
    let (order, matrices) = (2 * n, Matrices::hermitian(n));
    let root = Enclosure::integer(2).inverse_sqrt()?;
    let mut h: Vector<N> = std::iter::repeat_n(Enclosure::ZERO, order * order).collect();
    let mut set = |i: usize, j: usize, re: Enclosure<N>, im: Enclosure<N>| {
        let at = 2 * (i * order + j);
        (h[at], h[at + 1], h[at + order], h[at + order + 1]) = (re, im.negated(), im, re);
    };
    for i in 0..n {
        set(i, i, coords[matrices.at(i, i)], Enclosure::ZERO);
        for j in i + 1..n {
            let [re, im] = [0, 1].map(|k| coords[matrices.at(i, j) + k].times(&root));
            set(i, j, re, im);
            set(j, i, re, im.negated());
        }
    }
    Ok(h)
}

/// i H, in blocks.
fn times_i<const N: usize>(h: &[Enclosure<N>], order: usize) -> Vector<N> {
    let rows = h.chunks_exact(2 * order).flat_map(|block| {
        let (upper, lower) = block.split_at(order);
        lower.iter().map(Enclosure::negated).chain(upper.iter().copied())
    });
    rows.collect()
}

/// Doublings of angles in [`circular`] for up to 16 angles below pi, each of two eigenvectors.
fn halvings(angles: usize) -> i32 {
    HALVINGS + i32::from(angles > 3) + i32::from(angles > 12)
}

/// The skew matrix with these entries below the diagonal.
fn skew_enclosures<const N: usize>(n: usize, coords: &[Enclosure<N>]) -> Vector<N> {
    skew_matrix(n, coords, Enclosure::ZERO, Enclosure::negated).into()
}

/// exp(X) of a skew matrix: cos T + X sin(T)/T, T^2 = X^T X.
fn exponential<const N: usize>(
    x: &[Enclosure<N>],
    n: usize,
    halvings: i32,
) -> Result<Vector<N>, Undecided> {
    let (cos, sinc) = circular(&gram(x, n), n, halvings)?;
    let sine = product(x, &sinc, n);
    Ok(cos.iter().zip(&sine).map(|(x, y)| x.plus(y)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::steps::tests::check_all_heights;
    use super::super::{CompactNoise, IsotropicNoise};
    use super::*;
    use crate::exact::try_decide;
    use crate::manifold::{Grassmann, Manifold, RotationChart, SubspaceChart};
    use crate::roots::Space;
    use crate::rows::Rows;
    use crate::vector::{exponent, norm};

    /// U(n) among pairs.
    const UNITARY: usize = usize::MAX;

    /// Numbers n and k of Grassmannians, k = 0 for SO(n).
    const SHAPES: [(usize, usize); 10] =
        [(2, 1), (4, 1), (4, 2), (5, 3), (7, 3), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)];

    fn space(n: usize, k: usize) -> Space {
        let space = match k {
            0 => Compact::Rotations { n },
            UNITARY => Compact::Unitary { n },
            _ => Compact::Subspaces { n, k },
        };
        space.into()
    }

    fn chart(n: usize, k: usize) -> Box<dyn Manifold> {
        match k {
            0 => Box::new(RotationChart::new(n)),
            _ => Box::new(SubspaceChart::new(n, k)),
        }
    }

    fn noise(n: usize, k: usize, profile: Profile) -> IsotropicNoise {
        IsotropicNoise::new(space(n, k), profile).unwrap()
    }

    fn laws(scale: f64) -> [Profile; 2] {
        [Profile::Gaussian { scale }, Profile::Laplace { scale }]
    }

    /// Coordinates some way from the origin.
    fn base(n: usize, k: usize) -> Vec<f64> {
        let dim = space(n, k).dim();
        let factor = 0.5 / dim as f64;
        (0..dim).map(|i| factor * (f64::from(i as u32 * 7 % 5) - 1.7)).collect()
    }

    /// The subspace of a drawn basis.
    fn drawn(
        noise: &IsotropicNoise,
        n: usize,
        k: usize,
        base: &[f64],
        stream: &mut Stream,
    ) -> Vec<f64> {
        let mut basis = vec![0.0; noise.drawn_size(0)];
        noise.draw_on_grid(base, 2f64.powi(-30), stream, Effort::Least, &mut basis);
        let mut point = vec![0.0; base.len()];
        assert!(chart(n, k).from_drawn(&basis, &mut point));
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
                    let mut out = [0; 2].map(|_| vec![0.0; noise.drawn_size(0)]);
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

    /// Normals, heights and lengths of 2^-100, and angles as small as that or so close to each other, leave nothing
    /// undecided.
    #[test]
    fn small_numbers_are_decided() {
        for (n, k) in [(4, 1), (4, 2), (7, 3), (4, 0), (5, 0), (3, UNITARY)] {
            let Space::Compact(space) = space(n, k) else { panic!("{n} {k}") };
            let noise = CompactNoise::new(space, Profile::Gaussian { scale: 0.3 }).unwrap();
            let (noise, base) = (&noise.exact, &base(n, k)[..]);
            let mut stream = Stream::from_key([5; 32], 0);
            let is_subspace = (1..n).contains(&k);
            let (count, turns) = if is_subspace { (n * k, k * k) } else { (noise.angles.dim(), 0) };
            for small in 0..count + turns + 2 {
                let (mut length, _) = noise.lengths.draw(&mut stream, Effort::Least);
                let mut direction = Normal::draw_all(count, &mut stream, Effort::Least);
                let mut basis = Normal::draw_all(turns, &mut stream, Effort::Least);
                let height = match small {
                    0 => Variable::after_zeros(100),
                    _ => stream.variable(),
                };
                let mut numbers = direction.iter_mut().chain(&mut basis);
                if let Some(number) = small.checked_sub(2).and_then(|at| numbers.nth(at)) {
                    number.size.set_small(100);
                } else if small == 1 {
                    length.set_small(100);
                }
                let stream = &stream;
                let proposal = Proposed { noise, length, direction, height, stream };
                let (least, grid) = (Effort::Least, -20);
                let is_decided = if is_subspace {
                    try_decide(&Subspace { proposal, k, basis, base, grid }, least).is_ok()
                } else if k == UNITARY {
                    try_decide(&Unitary { proposal, n, base, grid }, least).is_ok()
                } else {
                    try_decide(&Rotation { proposal, n, base, grid }, least).is_ok()
                };
                assert!(is_decided, "{n} {k} {small}");
            }
            let (length, _) = noise.lengths.draw(&mut stream, Effort::Least);
            let (height, stream) = (stream.variable(), &stream);
            let normals = Normals::new();
            let proposal = Proposed { noise, length, direction: normals, height, stream };
            let [small, half] = [-100, -1].map(|at| Enclosure::<32>::dyadic(1, at));
            let length = length.at(stream).unwrap();
            for units in [
                [half, small, small.shifted(-2)],
                [half, half.minus(&small), half.minus(&small.shifted(1))],
            ] {
                let decided = if k == UNITARY {
                    proposal.is_accepted_by_differences(&units, &half)
                } else {
                    proposal.is_accepted(&length, &units, &half)
                };
                assert!(decided.is_ok(), "{n} {k}");
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
        let (manifold, base, count) = (chart(n, k), base(n, k), 3000);
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
            // at the largest scale both laws are the uniform one
            let uniform = laws(1e3)[n % 2];
            for profile in [0.05, 0.6].map(laws).concat().into_iter().chain([uniform]) {
                let found = distance_from_law(n, k, profile, profile);
                assert!(found.iter().all(|x| *x < 1.9), "{n} {k} {profile:?} {found:?}");
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
            assert!(SubspaceChart::new(4, 2).from_drawn(x, &mut point));
            let manifold = Grassmann::new(4, 2);
            manifold.uncentre(Rows::shared(&point), &manifold.origin(), x);
        });
        assert!(fixed > 20.0, "{fixed}");
    }

    #[test]
    fn all_heights_give_the_density_of_a_length() {
        for (profile, width, end) in
            [(Profile::Gaussian { scale: 0.3 }, -2, 24), (Profile::Laplace { scale: 2.0 }, -3, 18)]
        {
            let angles = Angles::new(Compact::Subspaces { n: 5, k: 2 });
            let mode = Proposal::new(angles, profile).reference / profile.scale().min(1.0);
            let length = Scaled::new(Length::new(&angles, profile), mode).unwrap();
            check_all_heights(Steps::new(length, width, end).unwrap());
        }
    }

    #[test]
    fn lengths_have_a_table_at_every_scale_that_is_served() {
        for (n, k) in
            [(2, 1), (3, 1), (100, 1), (4, 2), (9, 4), (20, 5), (60, 2), (32, 16), (4, 0), (33, 0)]
        {
            let Space::Compact(space) = space(n, k) else { panic!("{n} {k}") };
            let angles = Angles::new(space);
            for scale in [1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 1e3, 1e9] {
                for profile in laws(scale) {
                    let density = Proposal::new(angles, profile);
                    let made = ExactCompact::new(angles, profile, &density, &density.law());
                    assert!(made.is_ok(), "{n} {k} {profile:?} {:?}", made.err());
                    assert!(n >= 20 || IsotropicNoise::new(space.into(), profile).is_ok());
                }
            }
        }
    }
}
