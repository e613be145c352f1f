//! Isotropic noise: every law is normalised over its whole homogeneous space and sampled by rejection, never
//! by a Markov chain. How many proposals a draw takes does not depend on data: its length and direction
//! are drawn without a look at the true value. Not so the choices of exponential mechanisms: ranks, gradients and
//! directions ([`Bingham`]).

mod bingham;
mod choice;
mod compact;
mod compact_angles;
mod compact_draws;
mod compact_points;
mod curved;
mod discrete_laplace;
mod error;
mod flat;
mod grid_measure;
mod grid_quantile;
mod hull;
mod keys;
mod log_concave;
mod normal;
mod quadrature;
mod radial;
mod rank_exponential;
mod reach;
mod spd;
mod spd_draws;
mod spd_moments;
mod spd_volume;
mod steps;
mod stream;
mod tails;

pub use bingham::Bingham;
pub use choice::Choice;
pub(crate) use choice::{Power, below, rate};
use compact::CompactNoise;
pub use discrete_laplace::DiscreteLaplace;
pub use error::NoiseError;
pub use flat::add_on_grid;
pub use grid_measure::GridMeasure;
pub use grid_quantile::{Cells, GridQuantile};
pub use keys::{DerivedKeys, GroupId, GroupInput, GroupKeys, GroupStreams, numbered_stream};
pub use log_concave::{LogConcave, Support};
pub use radial::Profile;
use radial::RadialNoise;
pub use rank_exponential::{Intervals, RankExponential};
pub use reach::Reach;
pub use spd::ACCEPTANCE_FLOOR;
use spd::SpdNoise;
pub(crate) use stream::Variable;
pub use stream::{Stream, fresh_key};

use crate::exact::Effort;
use crate::roots::{Radial, Space};
use crate::vector::exponent;

/// What a release consists of; all are drawn exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Coordinates in a chart to which noise on flat space is added.
    Chart,
    /// Coordinates of the ambient space; entries of the matrix of a point, of a subspace a random orthonormal basis.
    Ambient,
    /// Coordinates of the logarithm at the origin.
    LogOrigin,
}

/// A sampler of isotropic noise on spaces of one kind.
trait Sampler: Send + Sync {
    /// See [`IsotropicNoise::draw_on_grid`]; the step is 2^`grid`.
    fn draw(&self, base: &[f64], grid: i32, stream: &mut Stream, effort: Effort, out: &mut [f64]);

    /// E t, t the distance from the centre.
    fn mean(&self) -> f64;

    /// E min(t, limit), with the error of the mean.
    fn mean_within(&self, limit: f64) -> f64;

    /// E t^2, to twice the error of the mean.
    fn mean_square(&self) -> f64;

    /// Expected fraction of proposals that is accepted, to a few per cent of itself; public.
    fn acceptance(&self) -> f64;
}

/// Isotropic noise: the law with density psi(distance from the centre) with respect to the volume
/// of a space.
pub struct IsotropicNoise {
    space: Space,
    profile: Profile,
    sampler: Box<dyn Sampler>,
}

impl IsotropicNoise {
    /// The noise with the given profile on `space`.
    ///
    /// # Errors
    /// [`NoiseError::Parameter`] for parameters out of range, [`NoiseError::Existence`] for a Laplace profile
    /// that falls no faster than volumes grow, [`NoiseError::Acceptance`] if the expected acceptance is below
    /// [`ACCEPTANCE_FLOOR`], [`NoiseError::Range`] if distances are no positive doubles or have no table.
    pub fn new(space: Space, profile: Profile) -> Result<Self, NoiseError> {
        let space = match space {
            // Positive numbers are a line.
            Space::Matrices(matrices) if matrices.m == 1 => Space::flat(1),
            space => space,
        };
        let sampler: Box<dyn Sampler> = match space {
            Space::Radial(space) => Box::new(RadialNoise::new(space, profile)?),
            Space::Matrices(space) => Box::new(SpdNoise::new(space, profile)?),
            Space::Compact(space) => Box::new(CompactNoise::new(space, profile)?),
        };
        Ok(Self { space, profile, sampler })
    }

    /// Dimension of the space.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.space.dim()
    }

    /// The profile psi.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Numbers of which a release consists, of points with `size` of them.
    #[must_use]
    pub fn drawn_size(&self, size: usize) -> usize {
        if let Space::Compact(space) = self.space { space.matrix_size() } else { size }
    }

    /// What a release consists of.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        match self.space {
            Space::Radial(Radial::Flat { .. }) => Drawing::Chart,
            Space::Radial(Radial::Hyperbolic { .. }) | Space::Matrices(_) => Drawing::LogOrigin,
            Space::Radial(_) | Space::Compact(_) => Drawing::Ambient,
        }
    }

    /// Draws a release about `base`, a point of a frame, in exact arithmetic: multiples of `step`, a power of two,
    /// that are closest to the coordinates of a point with the noise's law about the exact point that
    /// `base` stands for. Which coordinates says [`IsotropicNoise::drawing`]; nothing is done for
    /// [`Drawing::Chart`], which [`add_on_grid`] serves.
    pub fn draw_on_grid(
        &self,
        base: &[f64],
        step: f64,
        stream: &mut Stream,
        effort: Effort,
        out: &mut [f64],
    ) {
        self.sampler.draw(base, exponent(step), stream, effort, out);
    }

    /// E t, t the distance from the centre, to 1e-10 relative; on SPD(m) and HPD(m) to 1e-6 for m <= 3, else 1e-3, or
    /// 3e-3 where the acceptance is near its floor; on compact spaces to 1e-4 up to rank 2, else 2e-3.
    #[must_use]
    pub fn expected_dist(&self) -> f64 {
        self.sampler.mean()
    }

    /// E min(t, limit), with the same error as [`IsotropicNoise::expected_dist`]: of releases that are clipped.
    #[must_use]
    pub fn expected_dist_within(&self, limit: f64) -> f64 {
        self.sampler.mean_within(limit)
    }

    /// sqrt(E t^2), with the same error as [`IsotropicNoise::expected_dist`].
    #[must_use]
    pub fn root_mean_square_dist(&self) -> f64 {
        self.sampler.mean_square().sqrt()
    }

    /// ln psi(t): the log-density at distance t, up to the normalising constant.
    #[must_use]
    pub fn log_profile(&self, t: f64) -> f64 {
        self.profile.ln(t)
    }

    /// Expected fraction of proposals the sampler accepts; a function of public parameters.
    #[must_use]
    pub fn acceptance(&self) -> f64 {
        self.sampler.acceptance()
    }
}

#[cfg(test)]
pub(crate) mod drawn;
#[cfg(test)]
mod radial_laws;
#[cfg(test)]
mod spd_laws;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Matrices;

    #[test]
    fn noise_can_be_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<IsotropicNoise>();
        let space = Matrices::symmetric(3).into();
        let noise = IsotropicNoise::new(space, Profile::Laplace { scale: 0.2 }).unwrap();
        let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let draw = |id: u64| {
            let mut coords = [0.0; 6];
            let mut stream = Stream::from_key([1; 32], id);
            noise.draw_on_grid(&identity, 0.5f64.powi(30), &mut stream, Effort::Least, &mut coords);
            coords
        };
        let alone: Vec<[f64; 6]> = (0..4).map(draw).collect();
        let together: Vec<[f64; 6]> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|id| {
                    scope.spawn({
                        let draw = &draw;
                        move || draw(id)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together);
    }

    #[test]
    fn errors_name_the_numbers() {
        let space = Space::Radial(Radial::Hyperbolic { dim: 3, curvature: -1.0 });
        let error = IsotropicNoise::new(space, Profile::Laplace { scale: 0.75 }).err().unwrap();
        let text = "no Laplace law of scale 0.75 exists: the volume grows at rate 2, so the scale \
                    must be below 0.5";
        assert_eq!(error.to_string(), text);
    }
}
