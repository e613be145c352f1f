//! Isotropic noise on spaces where it is fixed by its radius: flat space, spheres, hyperbolic and
//! complex projective space.
//!
//! The distance t of the noise from its centre has density psi(t) V(t), psi the profile and V the
//! volume of the geodesic sphere of radius t; the direction is uniform and independent of t:
//!
//! | space | V(t) up to a constant | range of t |
//! |---|---|---|
//! | flat, dimension d | t^(d-1) | (0, inf) |
//! | sphere of radius R | sin^(d-1)(t/R) | (0, pi R) |
//! | hyperbolic, curvature -c^2 | sinh^(d-1)(c t) | (0, inf) |
//! | complex projective, dimension 2m, curvature in [1, 4] | sin^(2m-1)(t) cos(t) | (0, pi/2) |
//!
//! ln V is concave (its derivative is a sum of positive multiples of 1/t, cot, coth and -tan), and
//! so is ln psi: [`LogConcave`] knows the moments of the radius. Dimension 1 of the sphere is the circle:
//! V = 1.

use super::curved::CurvedNoise;
use super::flat::MOST_DIMENSIONS;
use super::log_concave::{LogConcave, Support};
use super::stream::Stream;
use super::{NoiseError, Sampler};
use crate::exact::Effort;
use crate::roots::Radial;

/// Fall of the density psi with the distance t from the centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profile {
    /// psi(t) = e^(-t / scale)
    Laplace {
        /// 1 / lambda
        scale: f64,
    },
    /// psi(t) = e^(-t^2 / (2 scale^2))
    Gaussian {
        /// sigma
        scale: f64,
    },
}

impl Profile {
    /// 1/lambda or sigma.
    #[must_use]
    pub fn scale(self) -> f64 {
        match self {
            Self::Laplace { scale } | Self::Gaussian { scale } => scale,
        }
    }

    /// ln psi(t)
    #[must_use]
    pub fn ln(self, t: f64) -> f64 {
        match self {
            Self::Laplace { scale } => -t / scale,
            Self::Gaussian { scale } => -0.5 * (t / scale) * (t / scale),
        }
    }

    /// The derivative of ln psi.
    #[must_use]
    pub(super) fn slope(self, t: f64) -> f64 {
        match self {
            Self::Laplace { scale } => -1.0 / scale,
            Self::Gaussian { scale } => -t / scale / scale,
        }
    }

    /// A number with this noise, in doubles: for starts of iterations, not for releases.
    #[must_use]
    pub fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Laplace { scale } => scale * stream.exponential() * stream.sign(),
            Self::Gaussian { scale } => scale * stream.normal(),
        }
    }

    /// The same profile at another scale.
    pub(crate) fn with_scale(self, scale: f64) -> Self {
        match self {
            Self::Laplace { .. } => Self::Laplace { scale },
            Self::Gaussian { .. } => Self::Gaussian { scale },
        }
    }

    /// Refuses scales that are not positive or too close to the ends of double precision.
    ///
    /// # Errors
    /// [`NoiseError::Parameter`]
    pub fn check(self) -> Result<(), NoiseError> {
        check_length("scale", self.scale())
    }
}

/// Refuses Laplace profiles that fall no faster than volumes grow.
pub(super) fn check_existence(profile: Profile, growth_rate: f64) -> Result<(), NoiseError> {
    match profile {
        Profile::Laplace { scale } if 1.0 / scale <= growth_rate => {
            let scale_limit = 1.0 / growth_rate;
            Err(NoiseError::Existence { scale, growth_rate, scale_limit })
        }
        _ => Ok(()),
    }
}

/// Refuses lengths and rates that are not in [1e-100, 1e100].
fn check_length(name: &'static str, value: f64) -> Result<(), NoiseError> {
    if (1e-100..=1e100).contains(&value) {
        Ok(())
    } else {
        Err(NoiseError::Parameter { name, expected: "between 1e-100 and 1e100", value })
    }
}

impl Radial {
    pub(super) fn check(self) -> Result<(), NoiseError> {
        if self.dim() == 0 {
            return Err(NoiseError::Parameter {
                name: "dimension",
                expected: "at least 1",
                value: 0.0,
            });
        }
        match self {
            Self::Sphere { radius, .. } => check_length("radius", radius),
            Self::Hyperbolic { curvature, .. } if curvature < 0.0 => {
                check_length("curvature radius", 1.0 / (-curvature).sqrt())
            }
            Self::Hyperbolic { curvature, .. } => Err(NoiseError::Parameter {
                name: "curvature",
                expected: "negative",
                value: curvature,
            }),
            Self::Flat { .. } | Self::ComplexProjective { .. } => Ok(()),
        }
    }
}

/// The density of the radius, relative to its value at `reference`.
#[derive(Clone, Copy)]
pub(super) struct RadialDensity {
    space: Radial,
    profile: Profile,
    /// Exponent of t, sin or sinh.
    power: f64,
    /// Factor of t in sin or sinh.
    rate: f64,
    /// Rate at which the volume grows.
    growth: f64,
    /// No point is farther.
    farthest: f64,
    reference: f64,
}

impl RadialDensity {
    /// The density with its mode as reference.
    pub(super) fn new(space: Radial, profile: Profile) -> Self {
        let power = space.dim() as f64 - 1.0;
        let rate = match space {
            Radial::Sphere { radius, .. } => 1.0 / radius,
            Radial::Hyperbolic { curvature, .. } => (-curvature).sqrt(),
            Radial::Flat { .. } | Radial::ComplexProjective { .. } => 1.0,
        };
        let (roots, reference) = (space.roots(), 0.0);
        let (growth, farthest) = (roots.growth_rate(), roots.farthest);
        let mut density = Self { space, profile, power, rate, growth, farthest, reference };
        if power > 0.0 {
            let guess = profile.scale();
            density.reference = root(|t| density.slope(t), farthest, guess);
        }
        density
    }

    /// The profile and the exponential growth of the volume in one product, so that they cancel
    /// exactly.
    fn ln_linear(&self, t: f64) -> f64 {
        let r = self.reference;
        let growth = self.growth;
        (t - r)
            * match self.profile {
                Profile::Laplace { scale } => growth - 1.0 / scale,
                Profile::Gaussian { scale } => growth - 0.5 * (t + r) / scale / scale,
            }
    }

    /// The distance at which the density is largest.
    pub(super) fn mode(&self) -> f64 {
        self.reference
    }

    pub(super) fn ln(&self, t: f64) -> f64 {
        if self.power == 0.0 {
            return self.ln_linear(t);
        }
        if t <= 0.0 || t >= self.farthest {
            return f64::NEG_INFINITY;
        }
        let r = self.reference;
        let ratio = |f: fn(f64) -> f64| f(self.rate * t) / f(self.rate * r);
        let ln_volume = match self.space {
            Radial::Flat { .. } => self.power * libm::log(t / r),
            Radial::Sphere { .. } => self.power * libm::log(ratio(libm::sin)),
            Radial::Hyperbolic { .. } => self.power * libm::log(ratio(|x| libm::expm1(-2.0 * x))),
            Radial::ComplexProjective { .. } => {
                self.power * libm::log(ratio(libm::sin)) + libm::log(ratio(libm::cos))
            }
        };
        self.ln_linear(t) + ln_volume
    }

    fn slope(&self, t: f64) -> f64 {
        if self.power == 0.0 {
            return self.profile.slope(t);
        }
        let x = self.rate * t;
        let ln_volume = match self.space {
            Radial::Flat { .. } => 1.0 / t,
            Radial::Sphere { .. } => self.rate / libm::tan(x),
            Radial::Hyperbolic { .. } => self.rate / libm::tanh(x),
            Radial::ComplexProjective { .. } => 1.0 / libm::tan(t) - libm::tan(t) / self.power,
        };
        self.power * ln_volume + self.profile.slope(t)
    }
}

/// The point of (0, upper) at which a decreasing function changes sign, by bisection to the last bit.
pub(super) fn root(f: impl Fn(f64) -> f64, upper: f64, guess: f64) -> f64 {
    let mut high = upper;
    if upper.is_infinite() {
        high = guess;
        while f(high) > 0.0 {
            high *= 2.0;
        }
    }
    let mut low = 0.0;
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if f(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Exact sampler of isotropic noise on a [`Radial`] space.
pub(super) struct RadialNoise {
    /// The law of the distance from the centre.
    pub(super) radius: LogConcave,
    /// Releases on curved space.
    pub(super) curved: Option<CurvedNoise>,
}

impl RadialNoise {
    /// The law with density psi(distance from the centre) with respect to the volume of the space.
    ///
    /// # Errors [`NoiseError::Parameter`] for parameters out of range, [`NoiseError::Existence`]
    /// for a Laplace profile on hyperbolic space unless 1/scale > (dim - 1) sqrt(-curvature),
    /// [`NoiseError::Range`] if the mean square of the radius is not a positive double.
    pub fn new(space: Radial, profile: Profile) -> Result<Self, NoiseError> {
        space.check()?;
        profile.check()?;
        let scale = profile.scale();
        check_existence(profile, space.roots().growth_rate())?;
        if space.dim() > MOST_DIMENSIONS {
            let (expected, value) = ("at most 2^30", space.dim() as f64);
            return Err(NoiseError::Parameter { name: "dimension", expected, value });
        }
        let density = RadialDensity::new(space, profile);
        let support =
            Support { lower: 0.0, upper: density.farthest, mode: density.reference, width: scale };
        let radius = LogConcave::new(move |t| density.ln(t), |t| density.slope(t), support);
        let mean_square = radius.mean_square();
        if !(mean_square >= f64::MIN_POSITIVE && mean_square.is_finite()) {
            return Err(NoiseError::Range { scale, dim: space.dim() });
        }
        let (mode, mean) = (density.reference, radius.mean());
        let curved = CurvedNoise::new(space, profile, mode, mean, mean_square)?;
        Ok(Self { radius, curved })
    }
}

impl Sampler for RadialNoise {
    fn draw(&self, base: &[f64], grid: i32, stream: &mut Stream, effort: Effort, out: &mut [f64]) {
        if let Some(curved) = &self.curved {
            curved.draw(base, grid, stream, effort, out);
        }
    }

    fn mean(&self) -> f64 {
        self.radius.mean()
    }

    fn mean_within(&self, limit: f64) -> f64 {
        self.radius.mean_within(limit)
    }

    fn mean_square(&self) -> f64 {
        self.radius.mean_square()
    }

    /// Every direction has the same volume.
    fn acceptance(&self) -> f64 {
        1.0
    }
}
