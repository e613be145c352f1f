//! Isotropic noise on the affine-invariant spaces of symmetric (beta = 1) and Hermitian (beta = 2) positive
//! definite matrices of order m.
//!
//! At the identity, exp_I maps a symmetric or Hermitian A of Frobenius norm t to a matrix at distance t, and the
//! density of A with respect to Lebesgue measure is psi(t) e^(L(A)), L(A) = beta sum_{i<j} ln sinhc(|l_i
//! - l_j|/2) over the eigenvalues l of A. With D = m + beta m(m-1)/2, propose t from the density
//!
//! t^(D-1) psi(t) e^(B(t)),  B(t) = beta min((m(m-1)/2) ln sinhc(t/sqrt(2(m-1))), (t/2)
//! sqrt(m(m^2-1)/3)),
//!
//! and the direction of A uniformly; accept with probability e^(L(A) - B(t)).
//!
//! *The acceptance probability is at most 1.* First bound: ln sinhc(sqrt y) is concave in y, so by
//! Jensen L is at most beta times the number of pairs times its value at the mean of (l_i - l_j)^2 / 4, which
//! is at most t^2 / (2(m-1)) because sum_{i<j} (l_i - l_j)^2 = m t^2 - (tr A)^2. Second: sinhc(x)
//! <= e^x, and for sorted eigenvalues sum_{i<j} (l_i - l_j)/2 = (1/2) sum_i l_i (m+1-2i) <= (t/2)
//! sqrt(m(m^2-1)/3) by Cauchy-Schwarz.
//!
//! *The proposal is log-concave.* With N = beta m(m-1)/2 <= D-1 and a = 1/sqrt(2(m-1)), the first bound
//! gives (D-1-N) ln t + N ln sinh(a t) + ln psi(t) + const, a sum of concave functions, the second
//! (D-1) ln t + (linear) + ln psi(t); a minimum of concave functions is concave.
//!
//! For the Gaussian the trace part of A is an independent normal: it is drawn apart, and all of the
//! above holds for the trace-free part with D-1 in place of D (N <= D-2).

use super::log_concave::{LogConcave, Support};
use super::radial::{Profile, check_existence, root};
use super::spd_draws::MatrixNoise;
use super::spd_moments::{DIRECTIONS, Moments, trace_free_spectra};
use super::spd_volume::{MAX_ORDER, RootBounds};
use super::stream::Stream;
use super::{NoiseError, Sampler};
use crate::exact::Effort;
use crate::roots::{Matrices, Space};

/// Laws whose sampler accepts a smaller fraction of its proposals are refused.
pub const ACCEPTANCE_FLOOR: f64 = 1e-3;

/// The proposal's density of the radius.
#[derive(Clone, Copy)]
pub(super) struct Proposal {
    pub bounds: RootBounds,
    pub profile: Profile,
    /// Exponent of t.
    pub power: f64,
    /// The mode.
    pub reference: f64,
}

impl Proposal {
    pub(super) fn new(matrices: Matrices, profile: Profile) -> Self {
        let free_dim = matrices.dim() - usize::from(splits_trace(profile));
        let power = free_dim as f64 - 1.0;
        let bounds = RootBounds::new(matrices);
        let mut proposal = Self { bounds, profile, power, reference: 0.0 };
        proposal.reference = root(|t| proposal.slope(t), f64::INFINITY, profile.scale());
        proposal
    }

    /// The log-density, up to a constant.
    pub(super) fn absolute_ln(&self, t: f64) -> f64 {
        self.power * libm::log(t) + self.profile.ln(t) + self.bounds.envelope(t)
    }

    /// The log-density relative to the mode.
    pub(super) fn ln(&self, t: f64) -> f64 {
        if t <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let r = self.reference;
        self.power * libm::log(t / r)
            + (self.profile.ln(t) - self.profile.ln(r))
            + (self.bounds.envelope(t) - self.bounds.envelope(r))
    }

    fn slope(&self, t: f64) -> f64 {
        self.power / t + self.profile.slope(t) + self.bounds.envelope_slope(t)
    }

    pub(super) fn law(self) -> LogConcave {
        let support = Support {
            lower: 0.0,
            upper: f64::INFINITY,
            mode: self.reference,
            width: self.profile.scale(),
        };
        LogConcave::new(move |t| self.ln(t), |t| self.slope(t), support)
    }
}

/// Returns a function that is true for profiles with an acceptance of at least the floor. Acceptance falls as
/// the scale grows.
pub(super) fn is_served(matrices: Matrices) -> impl Fn(Profile) -> bool {
    let spectra = trace_free_spectra(matrices, DIRECTIONS);
    move |profile| {
        let density = Proposal::new(matrices, profile);
        let moments = Moments::over(&density, &density.law(), &spectra, f64::INFINITY);
        moments.acceptance >= ACCEPTANCE_FLOOR
    }
}

/// A scale that is served, within 1e-3 relative of the largest, given a profile that is refused.
fn largest_scale(matrices: Matrices, refused: Profile) -> f64 {
    if matches!(refused, Profile::Laplace { .. }) {
        return Space::from(matrices).largest_laplace_scale();
    }
    let is_served = is_served(matrices);
    let is_served = |scale| is_served(refused.with_scale(scale));
    let mut high = refused.scale();
    let mut low = (0.5 * high).min(8.0);
    while !is_served(low) {
        (low, high) = (0.5 * low, low);
    }
    largest_between(low, high, is_served)
}

/// The largest scale that is served, to 1 part in 1000, between one that is and one that is not.
pub(super) fn largest_between(mut low: f64, mut high: f64, is_served: impl Fn(f64) -> bool) -> f64 {
    while high > low * (1.0 + 1e-3) {
        let middle = (low * high).sqrt();
        (low, high) = if is_served(middle) { (middle, high) } else { (low, middle) };
    }
    low
}

/// Share of draws that changes no printed mean.
const NEGLIGIBLE: f64 = 1e-8;

/// True if the trace part is drawn apart.
pub(super) fn splits_trace(profile: Profile) -> bool {
    matches!(profile, Profile::Gaussian { .. })
}

/// Exact sampler of isotropic noise on SPD(m) or HPD(m), 2 <= m <= 16, with the affine-invariant metric.
///
/// Coordinates are those of [`Matrices`].
pub(super) struct SpdNoise {
    matrices: Matrices,
    profile: Profile,
    proposal: LogConcave,
    moments: Moments,
    pub(super) exact: MatrixNoise,
}

impl SpdNoise {
    /// The law with density psi(distance from the centre) with respect to the Riemannian volume.
    ///
    /// # Errors [`NoiseError::Parameter`] for parameters out of range, [`NoiseError::Existence`]
    /// for a Laplace profile unless 1/scale > (beta/2) sqrt(m(m^2-1)/3), [`NoiseError::Acceptance`] if
    /// the expected acceptance is below [`ACCEPTANCE_FLOOR`], [`NoiseError::Range`] if the mean
    /// square distance is not a positive double.
    pub fn new(matrices: Matrices, profile: Profile) -> Result<Self, NoiseError> {
        if !(2..=MAX_ORDER).contains(&matrices.m) {
            let value = matrices.m as f64;
            return Err(NoiseError::Parameter { name: "order", expected: "2 to 16", value });
        }
        profile.check()?;
        let scale = profile.scale();
        check_existence(profile, matrices.roots().growth_rate())?;
        let density = Proposal::new(matrices, profile);
        let proposal = density.law();
        let moments = Moments::new(&density, &proposal);
        if moments.acceptance < ACCEPTANCE_FLOOR {
            return Err(NoiseError::Acceptance {
                scale,
                expected: moments.acceptance,
                floor: ACCEPTANCE_FLOOR,
                scale_limit: largest_scale(matrices, profile),
            });
        }
        let in_range = moments.mean_square >= f64::MIN_POSITIVE && moments.mean_square.is_finite();
        if !in_range || moments.acceptance.is_nan() {
            return Err(NoiseError::Range { scale, dim: matrices.dim() });
        }
        let exact = MatrixNoise::new(matrices, profile, &density, &proposal)?;
        Ok(Self { matrices, profile, proposal, moments, exact })
    }
}

impl Sampler for SpdNoise {
    fn draw(&self, base: &[f64], grid: i32, stream: &mut Stream, effort: Effort, out: &mut [f64]) {
        self.exact.draw(base, grid, stream, effort, out);
    }

    fn mean(&self) -> f64 {
        self.moments.mean
    }

    fn mean_within(&self, limit: f64) -> f64 {
        // the trace part, if it is drawn apart, seldom is as long as the rest
        let far = if splits_trace(self.profile) { limit / std::f64::consts::SQRT_2 } else { limit };
        if 1.0 - self.proposal.cdf(far) < NEGLIGIBLE * self.moments.acceptance {
            return self.moments.mean;
        }
        Moments::within(&Proposal::new(self.matrices, self.profile), &self.proposal, limit).mean
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
    use super::super::spd_volume::random_spectrum;
    use super::*;

    fn largest_laplace(matrices: Matrices, share: f64) -> Profile {
        Profile::Laplace { scale: share / RootBounds::new(matrices).growth_rate }
    }

    fn all_matrices(orders: &[usize]) -> Vec<Matrices> {
        let both = |m: &usize| [Matrices::symmetric(*m), Matrices::hermitian(*m)];
        orders.iter().flat_map(both).collect()
    }

    /// The mean of the probabilities with which proposals of `count` lengths, evenly spread over their law, are accepted,
    /// and the largest logarithm of one.
    fn measured_acceptance(noise: &SpdNoise, stream: &mut Stream, count: u32) -> (f64, f64) {
        let bounds = RootBounds::new(noise.matrices);
        let (matrices, mut coords) = (noise.matrices, vec![0.0; noise.matrices.dim()]);
        let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
        for i in 0..count {
            let share = (f64::from(i) + 0.5) / f64::from(count);
            let t = root(|t| share - noise.proposal.cdf(t), f64::INFINITY, noise.profile.scale());
            stream.fill_normal(&mut coords);
            let mut values = random_spectrum(&coords, matrices);
            let values_of_matrix = &mut values[..matrices.m];
            if splits_trace(noise.profile) {
                let mean = values_of_matrix.iter().sum::<f64>() / matrices.m as f64;
                values_of_matrix.iter_mut().for_each(|x| *x -= mean);
            }
            crate::vector::scale_to(values_of_matrix, t);
            let product = bounds.ln_product(&values, 1.0);
            sum += (product - bounds.envelope(t)).exp() / f64::from(count);
            largest = largest.max(product - bounds.envelope(t));
        }
        (sum, largest)
    }

    #[test]
    fn expected_acceptance_is_the_measured_one_and_never_exceeds_one() {
        let mut stream = Stream::from_key([31; 32], 0);
        for matrices in all_matrices(&[2, 3, 4, 8, 16]) {
            let m = matrices.m;
            let scale = (if m < 8 { 1.0 } else { 0.3 }) / matrices.beta as f64;
            for profile in [largest_laplace(matrices, 0.7), Profile::Gaussian { scale }] {
                let noise = SpdNoise::new(matrices, profile).unwrap();
                let (measured, largest) = measured_acceptance(&noise, &mut stream, 1000);
                let expected = noise.acceptance();
                let deviation = (expected * (1.0 - expected) / 1000.0).sqrt() + 1e-3 * expected;
                assert!((measured - expected).abs() < 5.0 * deviation, "{m} {measured} {expected}");
                assert!(expected <= 1.0 + 1e-10 && largest <= 1e-12 * (1.0 + expected));
            }
        }
    }

    #[test]
    fn acceptance_is_usable_up_to_order_16() {
        let figures = [(2, 0.65), (3, 0.58), (4, 0.53), (8, 0.36), (16, 0.083)];
        for (m, least) in figures {
            let symmetric = Matrices::symmetric(m);
            let laplace = SpdNoise::new(symmetric, largest_laplace(symmetric, 0.7)).unwrap();
            assert!(laplace.acceptance() > least);
            let gaussian = SpdNoise::new(symmetric, Profile::Gaussian { scale: 0.3 }).unwrap();
            assert!(gaussian.acceptance() > 0.84, "{m}");
        }
    }

    #[test]
    fn the_proposal_is_log_concave() {
        for matrices in all_matrices(&(2..=MAX_ORDER).collect::<Vec<_>>()) {
            let m = matrices.m;
            for scale in [1e-3f64, 0.03, 0.3, 3.0] {
                let laplace = largest_laplace(matrices, scale.min(0.999));
                for profile in [laplace, Profile::Gaussian { scale }] {
                    let density = Proposal::new(matrices, profile);
                    let (from, to) = density.law().effective_support();
                    let at = |k: u32| from + (to - from) * f64::from(k) / 1000.0;
                    for k in 1..1000 {
                        let (left, middle, right) =
                            (density.ln(at(k - 1)), density.ln(at(k)), density.ln(at(k + 1)));
                        let rounding =
                            1e-12 * (1.0 + middle.abs() + density.bounds.growth_rate * to);
                        assert!(2.0 * middle >= left + right - rounding, "{m} {profile:?} {k}");
                        let before = density.slope(at(k));
                        let after = density.slope(at(k + 1));
                        assert!(before >= after - 1e-12 * (before.abs() + 1.0), "{m} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn slope_is_the_derivative_of_the_log_density() {
        for m in [2, 3, 7, 16] {
            let density = Proposal::new(Matrices::symmetric(m), Profile::Gaussian { scale: 0.5 });
            for share in [0.1, 0.5, 0.9, 1.1, 2.0] {
                let (t, step) = (share * density.reference, 1e-5 * density.reference);
                let difference = (density.ln(t + step) - density.ln(t - step)) / (2.0 * step);
                let slope = density.slope(t);
                let size = density.power / t + density.bounds.growth_rate;
                assert!((difference - slope).abs() < 1e-5 * size, "{m} {share}");
            }
        }
    }

    #[test]
    fn a_refusal_names_a_scale_that_is_served() {
        let Err(NoiseError::Acceptance { expected, scale_limit, .. }) =
            SpdNoise::new(Matrices::symmetric(4), Profile::Gaussian { scale: 6.0 })
        else {
            panic!("acceptance at this scale is far below the floor");
        };
        assert!(expected < ACCEPTANCE_FLOOR);
        assert!(
            SpdNoise::new(Matrices::symmetric(4), Profile::Gaussian { scale: scale_limit }).is_ok()
        );
        assert!(
            SpdNoise::new(Matrices::symmetric(4), Profile::Gaussian { scale: 1.01 * scale_limit })
                .is_err()
        );
    }
}
