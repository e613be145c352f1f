//! Random-walk Metropolis for isotropic noise: the laws exp(-d(x, c)/s) and exp(-d(x, c)^2/(2 s^2)) with
//! respect to the volume, on every space of [`Space`], many chains in lock step.
//!
//! Proposals are exp_x(step N(0, I)), symmetric on every homogeneous space, so that the acceptance
//! probability is min(1, psi(d(y, c))/psi(d(x, c))) (Metropolis et al. 1953). A chain walks about an origin;
//! what is kept are normal coordinates, which an isometry carries to any centre. The exact samplers of
//! [`crate::noise`] are to be preferred where they exist: a chain is never exact.

mod lockstep;
mod open;
mod round;
mod spd;
#[cfg(test)]
mod tests;
mod walk;

use super::{Chain, Plan};
use crate::error::Error;
use crate::noise::{NoiseError, Profile, Radial, Reach, Space, Stream};
use crate::parallel::Interrupt;
use lockstep::run;
use open::{Flat, Hyperbolic};
use round::{Projective, Sphere};
use spd::Spd;
use walk::Walk;

/// Spread of the logarithms of eigenvalues beyond which double precision loses the smallest.
const WIDEST_SPREAD: f64 = 34.0;

/// Distance on hyperbolic space of curvature -1 beyond which squares of coordinates overflow.
const FARTHEST: f64 = 340.0;

/// Length on flat space beyond which squares overflow.
const LONGEST: f64 = 1e150;

/// Most chains in lock step.
const SMALL_LANES: usize = 16;

/// The same for matrices of order 3 and more, whose states fill the first-level cache.
const LARGE_LANES: usize = 8;

/// An isotropic law, for chains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsotropicLaw {
    space: Space,
    profile: Profile,
    reach: Reach,
    /// Factor that makes lengths those of a space of unit curvature.
    unit: f64,
}

impl IsotropicLaw {
    /// The law with that profile on `space`.
    ///
    /// # Errors
    /// Those of [`Space::reach`], and [`NoiseError::Range`] for a law so wide that its points leave double
    /// precision.
    pub fn new(space: Space, profile: Profile) -> Result<Self, NoiseError> {
        let reach = space.reach(profile)?;
        let unit = match space {
            Space::Radial(Radial::Sphere { radius, .. }) => 1.0 / radius,
            Space::Radial(Radial::Hyperbolic { curvature, .. }) => (-curvature).sqrt(),
            _ => 1.0,
        };
        let law = Self { space, profile, reach, unit };
        if reach.far > law.farthest() {
            return Err(NoiseError::Range { scale: profile.scale(), dim: space.dim() });
        }
        law.in_units().check()?;
        Ok(law)
    }

    /// The distance from the centre up to which points are within double precision.
    #[must_use]
    pub fn farthest(&self) -> f64 {
        match self.space {
            Space::Radial(Radial::Hyperbolic { .. }) => FARTHEST / self.unit,
            Space::Radial(Radial::Flat { .. }) | Space::Spd { m: 1 } => LONGEST,
            Space::Radial(_) => self.diameter(),
            Space::Spd { m } => {
                let order = m as f64;
                WIDEST_SPREAD / (12.0 * (order - 1.0) / (order * (order + 1.0))).sqrt()
            }
        }
    }

    /// A first step that suits the law: 2.4 standard deviations of a coordinate over the root of the
    /// dimension (Roberts, Gelman and Gilks 1997), as if space were flat.
    #[must_use]
    pub fn first_step(&self) -> f64 {
        2.4 * self.reach.typical / self.space.dim() as f64
    }

    /// Starts farther apart than the law is wide, rows of normal coordinates: in uniform directions, evenly
    /// spread over distances up to twice the typical one. Chain i takes its direction from sub-stream
    /// 2 i + 1 of `key`.
    #[must_use]
    pub fn starts(&self, chains: usize, key: [u8; 32]) -> Vec<f64> {
        let farthest = (2.0 * self.reach.typical).min(self.diameter());
        let mut starts = vec![0.0; chains * self.space.dim()];
        for (i, row) in starts.chunks_exact_mut(self.space.dim()).enumerate() {
            Stream::from_key(key, 2 * i as u64 + 1).fill_normal(row);
            let size = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            let dist = farthest * (i as f64 + 0.5) / chains as f64;
            row.iter_mut().for_each(|x| *x *= dist / size);
        }
        starts
    }

    /// Runs one chain from each row of `starts` (normal coordinates); chain i draws from sub-stream 2 i of
    /// `key`, and depends neither on the other chains nor on the number of threads. Rows kept are normal
    /// coordinates and the distance; `plan.scale` is the length of steps in every direction.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn run(
        &self,
        starts: &[f64],
        plan: &Plan,
        key: [u8; 32],
        interrupt: Interrupt,
    ) -> Result<Vec<Chain>, Error> {
        let mut starts = starts.to_vec();
        starts.iter_mut().for_each(|x| *x *= self.unit);
        let task = Task { law: self, starts: &starts, plan, key, interrupt };
        let mut chains = match self.space {
            Space::Radial(Radial::Flat { dim }) => task.small(Flat { dim }),
            Space::Radial(Radial::Sphere { dim, .. }) => task.small(Sphere { dim }),
            Space::Radial(Radial::Hyperbolic { dim, .. }) => task.small(Hyperbolic { dim }),
            Space::Radial(Radial::ComplexProjective { m }) => task.small(Projective { m }),
            Space::Spd { m: 1 } => task.small(Flat { dim: 1 }),
            Space::Spd { m: 2 } => task.small(Spd::<2>(2)),
            Space::Spd { m } => task.large(Spd::<0>(m)),
        }?;
        for chain in &mut chains {
            chain.draws.iter_mut().for_each(|x| *x /= self.unit);
            chain.scale /= self.unit;
        }
        Ok(chains)
    }

    /// The profile over distances in a space of unit curvature.
    fn in_units(&self) -> Profile {
        match self.profile {
            Profile::Laplace { scale } => Profile::Laplace { scale: self.unit * scale },
            Profile::Gaussian { scale } => Profile::Gaussian { scale: self.unit * scale },
        }
    }

    /// Largest distance in space.
    fn diameter(&self) -> f64 {
        match self.space {
            Space::Radial(space) => space.diameter(),
            Space::Spd { .. } => f64::INFINITY,
        }
    }

    /// Longest step in every direction, in a space of unit curvature: as long as the diameter in all, it says
    /// little any more about where it began.
    fn longest_step(&self) -> f64 {
        (self.unit * self.diameter() / (self.space.dim() as f64).sqrt()).min(f64::MAX)
    }
}

/// Arguments of a run, lengths in a space of unit curvature.
struct Task<'a> {
    law: &'a IsotropicLaw,
    starts: &'a [f64],
    plan: &'a Plan,
    key: [u8; 32],
    interrupt: Interrupt<'a>,
}

impl Task<'_> {
    fn small<W: Walk>(&self, walk: W) -> Result<Vec<Chain>, Error> {
        if self.starts.len() == walk.dim() {
            run::<W, 1>(walk, self)
        } else {
            run::<W, SMALL_LANES>(walk, self)
        }
    }

    fn large<W: Walk>(&self, walk: W) -> Result<Vec<Chain>, Error> {
        if self.starts.len() == walk.dim() {
            run::<W, 1>(walk, self)
        } else {
            run::<W, LARGE_LANES>(walk, self)
        }
    }
}
