//! Isotropic noise on compact symmetric spaces of any rank: Grassmannians, rotation groups, unitary groups.
//!
//! In the chart exp at any point the tangent vector X has angles a_1, ..., a_p: on the Grassmannian of k-dimensional
//! subspaces of R^n its singular values, p = min(k, n - k), on SO(n) half the angles of the planes that it turns,
//! p = n/2. Its density is psi(|X|) e^L(X) where all are below pi/2, and 0 elsewhere:
//!
//! L(X) = s sum_i ln sinc a_i + m sum_{i<j} (ln sinc(a_i + a_j) + ln sinc(a_i - a_j)),  sinc x = sin(x)/x,
//!
//! with m = 1 and s = |n - 2k| on Grassmannians, m = 2 and s = 0 or 2 on SO(n) of even or odd n. On U(n) the a_i are
//! halves of eigenvalues of -i X, with signs, p = n, and all roots are differences: L(X) = 2 sum_{i<j} ln sinc(a_i - a_j).
//!
//! With the dimension D and M = D - p propose t = |X| from the density
//!
//! t^(D-1) psi(t) e^B(t),  B(t) = M ln sinc(a t),  a^2 = (n - 2)/M on Grassmannians, (n - 2)/2M on SO(n),
//!
//! and the direction of X uniformly; accept with probability e^(L - B), or 0 beyond pi/2. On U(n) B = 0: multiples of the
//! identity have L = 0.
//!
//! *The acceptance probability is at most 1.* ln sinc(sqrt y) is concave in y, and the M arguments squared, s times
//! a_i^2 and m times (a_i +- a_j)^2, have the sum M (a t)^2: Jensen. *The proposal is log-concave*, as D - 1 >= M and
//! ln t + ln sinc(a t) = ln sin(a t) - ln a is concave. For p = 1 all proposals are accepted.

use super::compact_angles::{Angles, PANELS, spectra};
use super::compact_draws::ExactCompact;
use super::log_concave::{LogConcave, Support};
use super::quadrature::GaussLegendre;
use super::radial::{Profile, root};
use super::spd::{ACCEPTANCE_FLOOR, largest_between};
use super::spd_volume::{MAX_ORDER, Spectrum};
use super::stream::Stream;
use super::{NoiseError, Sampler};
use crate::exact::Effort;
use crate::roots::Compact;

/// The proposal's density of the radius.
#[derive(Clone, Copy)]
pub(super) struct Proposal {
    pub angles: Angles,
    pub profile: Profile,
    /// The mode.
    pub reference: f64,
}

impl Proposal {
    pub(super) fn new(angles: Angles, profile: Profile) -> Self {
        let mut proposal = Self { angles, profile, reference: 0.0 };
        if angles.dim() > 1 {
            let upper = angles.diameter;
            let mode = root(|t| proposal.slope(t), upper, profile.scale());
            proposal.reference = mode.min(upper * (1.0 - 1e-12));
        }
        proposal
    }

    fn power(&self) -> f64 {
        self.angles.dim() as f64 - 1.0
    }

    /// The log-density relative to the mode.
    pub(super) fn ln(&self, t: f64) -> f64 {
        let r = self.reference;
        if t > self.angles.diameter || t < 0.0 || (t == 0.0 && r > 0.0) {
            return f64::NEG_INFINITY;
        }
        let volume = if r > 0.0 {
            self.power() * libm::log(t / r) + (self.angles.envelope(t) - self.angles.envelope(r))
        } else {
            0.0
        };
        volume + (self.profile.ln(t) - self.profile.ln(r))
    }

    fn slope(&self, t: f64) -> f64 {
        let volume =
            if self.power() > 0.0 { self.power() / t + self.angles.envelope_slope(t) } else { 0.0 };
        volume + self.profile.slope(t)
    }

    pub(super) fn law(self) -> LogConcave {
        let support = Support {
            lower: 0.0,
            upper: self.angles.diameter,
            mode: self.reference,
            width: self.profile.scale().min(self.angles.diameter),
        };
        LogConcave::new(move |t| self.ln(t), |t| self.slope(t), support)
    }
}

/// Acceptance, and moments of the distance.
struct Moments {
    acceptance: f64,
    mean: f64,
    mean_square: f64,
}

/// Key with which directions are drawn.
const DIRECTIONS: [u8; 32] = *b"directions of singular spectra  ";

impl Moments {
    /// With min(t, limit) in place of the distance t; the mean over directions is that over `spectra`.
    fn over(
        density: &Proposal,
        proposal: &LogConcave,
        spectra: &[(f64, Spectrum)],
        limit: f64,
    ) -> Self {
        let space = density.angles;
        let rule = GaussLegendre::<16>::new();
        let (from, to) = proposal.effective_support();
        let mut ends = vec![from, to.min(space.diameter)];
        ends.extend([space.roots.farthest, limit]); // from where directions leave the domain, and a kink
        ends.retain(|end| (from..=to).contains(end));
        ends.sort_unstable_by(f64::total_cmp);
        let [mut mass, mut first, mut second] = [0.0; 3];
        let pieces = ends.windows(2).filter(|piece| piece[0] < piece[1]);
        for (t, w) in pieces.flat_map(|piece| rule.on_panels(piece[0], piece[1], PANELS)) {
            let bound = space.envelope(t);
            let accepted = |angles: &Spectrum| {
                libm::exp(space.ln_product(&angles[..space.roots.rank], t) - bound)
            };
            let mean: f64 = spectra.iter().map(|(w, angles)| w * accepted(angles)).sum();
            let share = w * mean * libm::exp(density.ln(t));
            let t = t.min(limit);
            mass += share;
            first += share * t;
            second += share * t * t;
        }
        Self { acceptance: mass / proposal.mass(), mean: first / mass, mean_square: second / mass }
    }
}

/// Returns a function that is true for profiles with an acceptance of at least the floor. Acceptance falls as
/// the scale grows.
fn is_served(angles: Angles) -> impl Fn(Profile) -> bool {
    let is_small = angles.roots.rank <= MAX_ORDER;
    let spectra = if is_small { spectra(&angles, DIRECTIONS) } else { vec![] };
    move |profile| {
        let density = Proposal::new(angles, profile);
        let moments = Moments::over(&density, &density.law(), &spectra, f64::INFINITY);
        moments.acceptance >= ACCEPTANCE_FLOOR
    }
}

/// A scale far above every distance.
const WIDE: f64 = 1e6;

/// The largest scale at which noise with the profile's shape is drawn, to 1 part in 1000; infinite if all are, 0
/// if none is.
pub(super) fn largest_scale(angles: Angles, shape: Profile) -> f64 {
    if !(1..=MAX_ORDER).contains(&angles.roots.rank) {
        return 0.0;
    }
    let is_served = is_served(angles);
    let is_served = |scale| is_served(shape.with_scale(scale));
    if is_served(WIDE) {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (1.0, WIDE);
    while !is_served(low) {
        (low, high) = (0.5 * low, low);
        if low < 1e-9 {
            return 0.0;
        }
    }
    largest_between(low, high, is_served)
}

/// Exact sampler of isotropic noise on a compact space of rank 1 to 16.
pub(super) struct CompactNoise {
    angles: Angles,
    profile: Profile,
    proposal: LogConcave,
    moments: Moments,
    pub(super) exact: ExactCompact,
}

impl CompactNoise {
    /// The law with density psi(distance from the centre) with respect to the Riemannian volume.
    ///
    /// # Errors
    /// [`NoiseError::Parameter`] for parameters out of range, [`NoiseError::Acceptance`] if the expected acceptance is
    /// below [`ACCEPTANCE_FLOOR`], [`NoiseError::Range`] if the distances have no table.
    pub fn new(space: Compact, profile: Profile) -> Result<Self, NoiseError> {
        let rank = space.roots().rank;
        if !(1..=MAX_ORDER).contains(&rank) {
            let value = rank as f64;
            return Err(NoiseError::Parameter { name: "rank", expected: "1 to 16", value });
        }
        profile.check()?;
        let (angles, scale) = (Angles::new(space.roots()), profile.scale());
        let density = Proposal::new(angles, profile);
        let proposal = density.law();
        let spectra = spectra(&angles, DIRECTIONS);
        let moments = Moments::over(&density, &proposal, &spectra, f64::INFINITY);
        if moments.acceptance < ACCEPTANCE_FLOOR {
            return Err(NoiseError::Acceptance {
                scale,
                expected: moments.acceptance,
                floor: ACCEPTANCE_FLOOR,
                scale_limit: largest_scale(angles, profile),
            });
        }
        let in_range = moments.mean_square >= f64::MIN_POSITIVE && moments.mean_square.is_finite();
        if !in_range || moments.acceptance.is_nan() {
            return Err(NoiseError::Range { scale, dim: angles.dim() });
        }
        let exact = ExactCompact::new(space, angles, profile, &density, &proposal)?;
        Ok(Self { angles, profile, proposal, moments, exact })
    }
}

impl Sampler for CompactNoise {
    fn draw(&self, base: &[f64], grid: i32, stream: &mut Stream, effort: Effort, out: &mut [f64]) {
        self.exact.draw(base, grid, stream, effort, out);
    }

    fn mean(&self) -> f64 {
        self.moments.mean
    }

    fn mean_within(&self, limit: f64) -> f64 {
        if limit >= self.angles.diameter {
            return self.moments.mean;
        }
        let density = Proposal::new(self.angles, self.profile);
        Moments::over(&density, &self.proposal, &spectra(&self.angles, DIRECTIONS), limit).mean
    }

    fn mean_square(&self) -> f64 {
        self.moments.mean_square
    }

    fn acceptance(&self) -> f64 {
        self.moments.acceptance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::compact_angles::random_angles;
    use crate::roots::Space;

    fn angles(space: Compact) -> Angles {
        Angles::new(space.roots())
    }

    fn subspaces(n: usize, k: usize) -> Compact {
        Compact::Subspaces { n, k }
    }

    fn profiles(scale: f64) -> [Profile; 2] {
        [Profile::Laplace { scale }, Profile::Gaussian { scale }]
    }

    #[test]
    fn the_envelope_is_no_less_than_the_volume_and_equal_on_lines() {
        let mut stream = Stream::from_key([3; 32], 0);
        for space in Compact::examples() {
            let angles = angles(space);
            for i in 1..2000 {
                let t = angles.diameter * f64::from(i) / 2000.0;
                let direction = random_angles(&angles, &mut stream);
                let product = angles.ln_product(&direction[..angles.roots.rank], t);
                assert!(product <= angles.envelope(t) + 1e-9, "{space:?} {t}");
                if angles.roots.rank == 1 {
                    assert!((product - angles.envelope(t)).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn the_proposal_is_log_concave() {
        for space in Compact::examples() {
            for scale in [1e-3, 0.1, 1.0, 1e3] {
                for profile in profiles(scale) {
                    let density = Proposal::new(angles(space), profile);
                    let (from, to) = density.law().effective_support();
                    let at = |i: u32| from + (to - from) * f64::from(i) / 1000.0;
                    for i in 2..999 {
                        let [left, middle, right] = [i - 1, i, i + 1].map(|i| density.ln(at(i)));
                        assert!(left + right <= 2.0 * middle + 1e-9 * (1.0 + middle.abs()));
                    }
                }
            }
        }
    }

    #[test]
    fn moments_hardly_depend_on_the_directions_drawn() {
        let spaces = [(6, 3), (8, 4), (10, 5)].map(|(n, k)| subspaces(n, k));
        for space in
            spaces.into_iter().chain([Compact::Rotations { n: 8 }, Compact::Unitary { n: 5 }])
        {
            let angles = angles(space);
            for profile in profiles(0.5) {
                let density = Proposal::new(angles, profile);
                let law = density.law();
                let [one, other] = [[1; 32], [2; 32]].map(|key| {
                    Moments::over(&density, &law, &spectra(&angles, key), f64::INFINITY)
                });
                assert!((one.mean / other.mean - 1.0).abs() < 4e-3, "{space:?}");
                assert!((one.acceptance / other.acceptance - 1.0).abs() < 0.1);
            }
        }
    }

    #[test]
    fn what_would_reject_nearly_all_is_refused_with_a_scale_that_is_served() {
        let laplace = |n, k, scale| CompactNoise::new(subspaces(n, k), Profile::Laplace { scale });
        let refused = laplace(20, 5, 1e3).err().unwrap();
        let NoiseError::Acceptance { scale_limit, .. } = refused else { panic!("{refused}") };
        assert!(laplace(20, 5, scale_limit).is_ok());
        assert!(laplace(40, 17, 0.1).is_err());
        assert!(laplace(7, 3, 0.6).unwrap().acceptance() > 0.3);
        let largest = |n, k| Space::from(subspaces(n, k)).largest_laplace_scale();
        assert_eq!(largest(40, 17), 0.0);
        assert_eq!(largest(7, 3), f64::INFINITY);
        for space in [subspaces(2, 0), subspaces(2, 2), subspaces(2, 3), Compact::Unitary { n: 0 }]
        {
            assert!(CompactNoise::new(space, Profile::Laplace { scale: 0.1 }).is_err());
            assert_eq!(Space::from(space).largest_laplace_scale(), 0.0);
        }
    }
}
