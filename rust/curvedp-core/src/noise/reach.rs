//! Distances of isotropic noise from its centre, on every space where the law exists, also on those without
//! an exact sampler.

use super::NoiseError;
use super::compact;
use super::compact_angles::Angles;
use super::radial::{Profile, RadialDensity, RadialNoise, check_existence};
use super::spd::{Proposal, is_served, largest_between};
use super::spd_volume::MAX_ORDER;
use crate::roots::Space;

/// Distances of isotropic noise from its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The most likely distance, or the scale where that is 0; on SPD(m) and HPD(m), m >= 2, an upper bound of it.
    pub typical: f64,
    /// The distance beyond which the density of distances (on SPD(m) and HPD(m) an upper bound of it) has fallen by
    /// more than [`Reach::DROP`] in logarithm.
    pub far: f64,
}

impl Reach {
    /// Fall of the logarithm of the density.
    pub const DROP: f64 = 12.0;

    fn of(mode: f64, scale: f64, upper: f64, ln: impl Fn(f64) -> f64) -> Self {
        let typical = (if mode > 0.0 { mode } else { scale }).min(upper);
        let mut width = scale;
        while mode + width < upper && ln(mode + width) > -Self::DROP {
            width *= 1.5;
        }
        Self { typical, far: (mode + width).min(upper) }
    }
}

impl Space {
    /// Largest scale, to 1 part in 1000, at which Laplace noise exists and is drawn exactly: infinite where
    /// volumes grow polynomially, 0 where there is no exact sampler.
    #[must_use]
    pub fn largest_laplace_scale(self) -> f64 {
        let growth = self.roots().growth_rate();
        let largest = |is_served: &dyn Fn(Profile) -> bool| {
            let is_served = |scale| is_served(Profile::Laplace { scale });
            let low = 1e-3 / growth;
            if is_served(low) { largest_between(low, 1.0 / growth, is_served) } else { 0.0 }
        };
        match self {
            Self::Compact(space) => {
                compact::largest_scale(Angles::new(space.roots()), Profile::Laplace { scale: 1.0 })
            }
            _ if growth == 0.0 => f64::INFINITY,
            Self::Radial(space) => largest(&|profile| RadialNoise::new(space, profile).is_ok()),
            Self::Matrices(space) if space.m > MAX_ORDER => 0.0,
            Self::Matrices(space) => largest(&is_served(space)),
        }
    }

    /// Distances of noise with that profile from its centre.
    ///
    /// # Errors
    /// [`NoiseError::Parameter`] for parameters out of range, [`NoiseError::Existence`] for a Laplace
    /// profile that falls more slowly than volumes grow.
    pub fn reach(self, profile: Profile) -> Result<Reach, NoiseError> {
        profile.check()?;
        let scale = profile.scale();
        match self {
            Self::Radial(space) => {
                space.check()?;
                check_existence(profile, space.roots().growth_rate())?;
                let density = RadialDensity::new(space, profile);
                let (mode, upper) = (density.mode(), space.roots().farthest);
                Ok(Reach::of(mode, scale, upper, |t| density.ln(t)))
            }
            Self::Matrices(space) => match space.m {
                0 => {
                    Err(NoiseError::Parameter { name: "order", expected: "at least 1", value: 0.0 })
                }
                1 => Self::flat(1).reach(profile),
                _ => {
                    check_existence(profile, space.roots().growth_rate())?;
                    let density = Proposal::new(space, profile);
                    Ok(Reach::of(density.reference, scale, f64::INFINITY, |t| density.ln(t)))
                }
            },
            Self::Compact(space) => {
                let angles = Angles::new(space.roots());
                let density = compact::Proposal::new(angles, profile);
                Ok(Reach::of(density.reference, scale, angles.diameter, |t| density.ln(t)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::IsotropicNoise;
    use crate::noise::drawn::{frame, logs};
    use crate::roots::{Compact, Matrices, Radial};
    use crate::vector::norm;

    fn spd(m: usize) -> Space {
        Matrices::symmetric(m).into()
    }

    #[test]
    fn draws_lie_about_the_typical_distance_and_never_far_beyond() {
        let radial = [
            Radial::Flat { dim: 1 },
            Radial::Flat { dim: 7 },
            Radial::Sphere { dim: 2, radius: 2.0 },
            Radial::Hyperbolic { dim: 3, curvature: -0.5 },
            Radial::ComplexProjective { m: 3 },
        ];
        let spaces = radial.map(Space::Radial).into_iter().chain([2, 5].map(spd));
        let compact = Compact::examples().into_iter().map(Space::from);
        let spaces = spaces.chain(compact.filter(|space| space.dim() <= 9));
        for space in spaces {
            for profile in [Profile::Laplace { scale: 0.1 }, Profile::Gaussian { scale: 0.3 }] {
                let reach = space.reach(profile).unwrap();
                let noise = IsotropicNoise::new(space, profile).unwrap();
                let mean = noise.expected_dist();
                let ratio = mean / reach.typical;
                assert!(ratio > 0.5 && ratio < 3.0, "{space:?} {profile:?} {ratio}");
                assert!(reach.far > mean);
                let logs = logs(&noise, &frame(space).origin(), 2, 300);
                assert!(logs.chunks_exact(space.dim()).all(|log| norm(log) <= reach.far));
            }
        }
    }

    #[test]
    fn it_is_known_beyond_the_orders_of_exact_samplers_and_not_where_no_law_exists() {
        let laplace = |scale| Profile::Laplace { scale };
        assert!(spd(40).reach(laplace(1e-3)).unwrap().typical > 0.5);
        let exists = |m, scale| spd(m).reach(laplace(scale)).is_ok();
        assert!(exists(2, 1.41) && !exists(2, 1.42) && exists(1, 10.0) && !exists(0, 1.0));
        let hyperbolic = Space::Radial(Radial::Hyperbolic { dim: 3, curvature: -1.0 });
        assert!(
            hyperbolic.reach(laplace(0.49)).is_ok() && hyperbolic.reach(laplace(0.51)).is_err()
        );
        assert!(hyperbolic.reach(laplace(f64::NAN)).is_err());
    }
    #[test]
    fn the_largest_laplace_scale_is_served_and_larger_ones_are_not() {
        let hyperbolic = Radial::Hyperbolic { dim: 3, curvature: -0.5 };
        for space in [Space::Radial(hyperbolic), spd(2), spd(4)] {
            let noise = |scale| IsotropicNoise::new(space, Profile::Laplace { scale });
            let largest = space.largest_laplace_scale();
            assert!(noise(largest).is_ok() && noise(1.002 * largest).is_err(), "{space:?}");
            if let Err(NoiseError::Acceptance { scale_limit, .. }) = noise(1.002 * largest) {
                assert_eq!(scale_limit, largest);
            }
        }
        assert_eq!(Space::flat(3).largest_laplace_scale(), f64::INFINITY);
        assert_eq!(spd(17).largest_laplace_scale(), 0.0);
    }
}
