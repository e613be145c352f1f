//! Noise on compact spaces of any rank, drawn exactly (docs/proofs/exact-draws.md).
//!
//! [`super::compact`] describes the law of the tangent vector: propose its length and a direction, accept by its
//! angles. [`super::compact_points`] says what the directions and the points of each space are.

use super::NoiseError;
use super::compact::Proposal;
use super::compact_angles::Angles;
use super::curved::OUTWARD;
use super::flat::{Multiples, write};
use super::log_concave::LogConcave;
use super::normal::{Normal, Normals, all_at};
use super::radial::Profile;
use super::steps::{LogDensity, Place, Scaled, Steps};
use super::stream::{Stream, Variable};
use crate::exact::matrices::{Vector, pairs};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::roots::{Compact, Roots};

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

/// Noise on a compact space.
pub(super) struct ExactCompact {
    pub space: Compact,
    pub angles: Angles,
    lengths: Steps<Scaled<Length>>,
}

impl ExactCompact {
    /// The noise whose lengths are proposed from `proposal`.
    ///
    /// # Errors
    /// [`NoiseError::Range`] if they have no table.
    pub(super) fn new(
        space: Compact,
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
        Ok(Self { space, angles, lengths })
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
        let [normals, turns] = self.space.normals();
        loop {
            let (length, _) = self.lengths.draw(stream, effort);
            let direction = Normal::draw_all(normals, stream, effort);
            let turn = Normal::draw_all(turns, stream, effort);
            let height = stream.variable();
            let proposed =
                Proposed { noise: self, length, direction, turn, height, base, grid, stream };
            if let Some(multiples) = decide(&proposed, effort) {
                return write(multiples, grid, out);
            }
        }
    }
}

/// A tangent vector, what decides whether it is accepted, and the point from which it leads.
pub(super) struct Proposed<'a> {
    pub noise: &'a ExactCompact,
    /// |X|
    length: Place,
    /// Of which the direction is made.
    direction: Normals,
    /// A square matrix of normals, whose directions a basis of the point gets.
    turn: Normals,
    height: Variable,
    base: &'a [f64],
    grid: i32,
    stream: &'a Stream,
}

/// Which multiples of the step are closest to the entries of the drawn matrix? None for a proposal that is not
/// accepted.
impl Question for Proposed<'_> {
    type Answer = Option<Multiples>;

    fn ask<const N: usize>(&self) -> Result<Option<Multiples>, Undecided> {
        let Some(entries) = self.point::<N>()? else { return Ok(None) };
        entries.iter().map(|x| x.nearest_multiple(self.grid)).collect::<Result<_, _>>().map(Some)
    }
}

impl Proposed<'_> {
    /// The numbers of which the direction is made.
    pub(super) fn direction<const N: usize>(&self) -> Result<Vector<N>, Undecided> {
        all_at(&self.direction, self.stream)
    }

    /// The matrix that turns a basis, before its rows are made orthonormal.
    pub(super) fn turn<const N: usize>(&self) -> Result<Vector<N>, Undecided> {
        all_at(&self.turn, self.stream)
    }

    /// The coordinates of the base point.
    pub(super) fn base<const N: usize>(&self) -> Vector<N> {
        self.base.iter().map(|x| Enclosure::double(*x, 0)).collect()
    }

    /// The tangent vector with a direction, a matrix, of which `units` are the squared angles, or, where all roots are
    /// differences, the angles in falling order; none if it is not accepted.
    pub(super) fn accepted<const N: usize>(
        &self,
        direction: &[Enclosure<N>],
        units: &[Enclosure<N>],
    ) -> Result<Option<Vector<N>>, Undecided> {
        let length = self.length.at::<N>(self.stream)?;
        let radians = self.noise.lengths.density().of.radians(&length);
        let square = radians.times(&radians);
        let is_accepted = if self.noise.angles.roots.has_flat_factor() {
            self.is_accepted_by_differences(units, &square)?
        } else {
            self.is_accepted(&length, units, &square)?
        };
        Ok(is_accepted.then(|| direction.iter().map(|x| x.times(&radians)).collect()))
    }

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

#[cfg(test)]
mod tests {
    use super::super::steps::tests::check_all_heights;
    use super::super::{CompactNoise, IsotropicNoise};
    use super::*;
    use crate::exact::try_decide;
    use crate::manifold::{Grassmann, Manifold, SubspaceChart};
    use crate::noise::drawn::{apart, logs};
    use crate::rows::Rows;
    use crate::vector::{exponent, norm};

    /// Those of which the tests draw: noise of all scales exists, and is quick.
    fn spaces() -> impl Iterator<Item = Compact> {
        let is_small = |space: &Compact| space.roots().rank <= 3 && space.roots().dim() <= 16;
        Compact::examples().into_iter().filter(is_small)
    }

    fn noise(space: Compact, profile: Profile) -> IsotropicNoise {
        IsotropicNoise::new(space.into(), profile).unwrap()
    }

    fn laws(scale: f64) -> [Profile; 2] {
        [Profile::Gaussian { scale }, Profile::Laplace { scale }]
    }

    /// Coordinates some way from the origin.
    fn base(space: Compact) -> Vec<f64> {
        let dim = space.roots().dim();
        let factor = 0.5 / dim as f64;
        (0..dim).map(|i| factor * (f64::from(i as u32 * 7 % 5) - 1.7)).collect()
    }

    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        for space in spaces() {
            let base = base(space);
            for scale in [1e-9, 1e-3, 0.4, 2.0, 1e5] {
                for profile in laws(scale) {
                    let noise = noise(space, profile);
                    let step = 2f64.powi(exponent(profile.scale().min(1.0)) - 20);
                    let mut streams = [0; 2].map(|_| Stream::from_key([6; 32], base.len() as u64));
                    let mut out = [0; 2].map(|_| vec![0.0; noise.drawn_size(0)]);
                    for _ in 0..10 {
                        for (i, effort) in [Effort::Steady, Effort::Least].into_iter().enumerate() {
                            noise.draw_on_grid(&base, step, &mut streams[i], effort, &mut out[i]);
                        }
                        assert_eq!(out[0], out[1], "{space:?} {profile:?}");
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
        for space in spaces() {
            let noise = CompactNoise::new(space, Profile::Gaussian { scale: 0.3 }).unwrap();
            let (noise, base, grid) = (&noise.exact, &base(space)[..], -20);
            let mut stream = Stream::from_key([5; 32], 0);
            let [count, turns] = space.normals();
            for small in 0..count + turns + 2 {
                let (mut length, _) = noise.lengths.draw(&mut stream, Effort::Least);
                let mut direction = Normal::draw_all(count, &mut stream, Effort::Least);
                let mut turn = Normal::draw_all(turns, &mut stream, Effort::Least);
                let height = match small {
                    0 => Variable::after_zeros(100),
                    _ => stream.variable(),
                };
                let mut numbers = direction.iter_mut().chain(&mut turn);
                if let Some(number) = small.checked_sub(2).and_then(|at| numbers.nth(at)) {
                    number.size.set_small(100);
                } else if small == 1 {
                    length.set_small(100);
                }
                let stream = &stream;
                let proposed =
                    Proposed { noise, length, direction, turn, height, base, grid, stream };
                assert!(try_decide(&proposed, Effort::Least).is_ok(), "{space:?} {small}");
            }
            let (length, _) = noise.lengths.draw(&mut stream, Effort::Least);
            let (height, stream) = (stream.variable(), &stream);
            let (direction, turn) = (Normals::new(), Normals::new());
            let proposed = Proposed { noise, length, direction, turn, height, base, grid, stream };
            let [small, half] = [-100, -1].map(|at| Enclosure::<32>::dyadic(1, at));
            for units in [
                [half, small, small.shifted(-2), small.shifted(-4)],
                [
                    half,
                    half.minus(&small),
                    half.minus(&small.shifted(1)),
                    half.minus(&small.shifted(2)),
                ],
            ] {
                assert!(proposed.accepted(&[half], &units).is_ok(), "{space:?}");
            }
        }
    }

    #[test]
    fn drawn_bases_are_orthonormal_up_to_the_grid() {
        let space = Compact::Subspaces { n: 5, k: 2 };
        let noise = noise(space, Profile::Laplace { scale: 0.3 });
        let mut stream = Stream::from_key([1; 32], 0);
        let mut x = vec![0.0; 10];
        for _ in 0..200 {
            noise.draw_on_grid(&base(space), 2f64.powi(-40), &mut stream, Effort::Least, &mut x);
            for (i, j) in [(0, 0), (0, 1), (1, 1)] {
                let product: f64 = x.chunks_exact(2).map(|row| row[i] * row[j]).sum();
                assert!((product - f64::from(i == j)).abs() < 1e-11);
            }
        }
    }

    /// How far the means of min(t, limit), t the distance of drawn points from the base point, are from those of a law, in
    /// standard errors; and that of the first coordinate of logarithms from 0.
    fn distance_from_law(space: Compact, profile: Profile, other: Profile) -> [f64; 3] {
        let (base, law) = (base(space), noise(space, other));
        let (logs, mean) = (logs(&noise(space, profile), &base, 3, 500), law.expected_dist());
        let logs = || logs.chunks_exact(base.len());
        let within = |limit: f64| {
            let expected = law.expected_dist_within(limit);
            apart(logs().map(|log| norm(log).min(limit)), expected, 2e-3 * mean)
        };
        let [all, near] = [f64::INFINITY, 0.8 * mean].map(within);
        [all, near, apart(logs().map(|log| log[0]), 0.0, 0.0)]
    }

    #[test]
    fn points_have_the_expected_distances() {
        for space in spaces() {
            // at the largest scale both laws are the uniform one
            let uniform = laws(1e3)[space.roots().dim() % 2];
            for profile in [0.05, 0.6].map(laws).concat().into_iter().chain([uniform]) {
                let found = distance_from_law(space, profile, profile);
                assert!(found.iter().all(|x| *x < 4.5), "{space:?} {profile:?} {found:?}");
            }
            let [profile, other] = [0.1, 0.13].map(|scale| Profile::Gaussian { scale });
            let control = distance_from_law(space, profile, other);
            assert!(control[0] > 4.5, "{space:?} {control:?}");
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
        let noise = noise(Compact::Subspaces { n: 4, k: 2 }, Profile::Gaussian { scale: 0.05 });
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
            let angles = Angles::new(Compact::Subspaces { n: 5, k: 2 }.roots());
            let mode = Proposal::new(angles, profile).reference / profile.scale().min(1.0);
            let length = Scaled::new(Length::new(&angles, profile), mode).unwrap();
            check_all_heights(Steps::new(length, width, end).unwrap());
        }
    }

    #[test]
    fn lengths_have_a_table_at_every_scale_that_is_served() {
        let more = [(100, 1), (9, 4), (20, 5), (60, 2), (32, 16)];
        let more = more.map(|(n, k)| Compact::Subspaces { n, k }).into_iter();
        let more = more.chain([Compact::Rotations { n: 33 }, Compact::Unitary { n: 16 }]);
        for space in Compact::examples().into_iter().chain(more) {
            let angles = Angles::new(space.roots());
            for scale in [1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 1e3, 1e9] {
                for profile in laws(scale) {
                    let density = Proposal::new(angles, profile);
                    let made = ExactCompact::new(space, angles, profile, &density, &density.law());
                    assert!(made.is_ok(), "{space:?} {profile:?} {:?}", made.err());
                    assert!(
                        space.roots().rank > 3
                            || IsotropicNoise::new(space.into(), profile).is_ok()
                    );
                }
            }
        }
    }
}
