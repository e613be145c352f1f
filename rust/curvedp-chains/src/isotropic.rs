//! Isotropic laws on a manifold: exp(-d(x, c)/s) and exp(-d(x, c)^2/(2 s^2)) with respect to the volume.
//!
//! Chains walk about the origin of the centred manifold (see [`Manifold::centre`]). They keep normal
//! coordinates, which the exponential map of any centre c turns into points about c. The exact samplers of
//! [`curvedp_core::noise`] are to be preferred where they exist: a chain is never exact.

#[cfg(test)]
mod tests;

use super::{Chain, Plan, Target, run, walk};
use curvedp_core::error::Error;
use curvedp_core::manifold::Manifold;
use curvedp_core::noise::{NoiseError, Profile, Reach, Stream};
use curvedp_core::parallel::Interrupt;
use curvedp_core::roots::Space;
use curvedp_core::rows::Rows;
use curvedp_core::simd::lanes::LANES;
use curvedp_core::vector::length;

/// Largest error of a point as far away as the law reaches, in scales.
const WORST_ERROR: f64 = 0.5;

/// An isotropic law about the origin.
pub struct Isotropic {
    manifold: Box<dyn Manifold>,
    profile: Profile,
    reach: Reach,
}

impl Isotropic {
    /// The law with that profile on a manifold, which is `space` to the samplers of noise.
    ///
    /// # Errors
    /// Those of [`Space::reach`], and [`NoiseError::Range`] for a law so wide that double precision does
    /// not hold its points.
    pub fn new(
        manifold: &dyn Manifold,
        space: Space,
        profile: Profile,
    ) -> Result<Self, NoiseError> {
        let law = Self { manifold: manifold.centred(), profile, reach: space.reach(profile)? };
        let far = law.reach.far.min(0.5 * law.manifold.injectivity_radius());
        let far = law.direction(far, [0; 32], 0);
        let mut back = vec![0.0; far.len()];
        law.manifold.log_origin(Rows::shared(&law.point(&far)), &mut back);
        back.iter_mut().zip(&far).for_each(|(x, y)| *x -= y);
        if length(&back) <= WORST_ERROR * profile.scale() {
            Ok(law)
        } else {
            Err(NoiseError::Range { scale: profile.scale(), dim: space.dim() })
        }
    }

    /// A first scale of proposals: 2.4 standard deviations of a coordinate over the root of the dimension
    /// (Roberts, Gelman and Gilks 1997), as if space were flat.
    #[must_use]
    pub fn first_scale(&self) -> f64 {
        2.4 * self.reach.typical / self.manifold.dim() as f64
    }

    /// Runs chains from points about the origin; rows kept are normal coordinates and the distance.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn run(
        &self,
        starts: Vec<Vec<f64>>,
        plan: &Plan,
        key: [u8; 32],
        interrupt: Interrupt,
    ) -> Result<Vec<Chain>, Error> {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        let mut chains = run(self, starts, plan, key, interrupt)?;
        for chain in &mut chains {
            let mut coords = vec![0.0; chain.draws.len() / size * dim];
            self.manifold.log_origin(Rows::new(&chain.draws, size), &mut coords);
            let rows = coords.chunks_exact(dim);
            chain.draws = rows.flat_map(|row| [row, &[length(row)]].concat()).collect();
        }
        Ok(chains)
    }

    /// Points farther apart than the law is wide: in uniform directions, evenly spread over distances up to
    /// twice the typical one. Point i takes its direction from sub-stream 2^63 + i of `key`.
    #[must_use]
    pub fn starts(&self, count: usize, key: [u8; 32]) -> Vec<Vec<f64>> {
        let farthest = (2.0 * self.reach.typical).min(self.manifold.injectivity_radius());
        let start = |i: usize| {
            let dist = farthest * (i as f64 + 0.5) / count as f64;
            self.point(&self.direction(dist, key, (1 << 63) + i as u64))
        };
        (0..count).map(start).collect()
    }

    /// Coordinates of that length in a uniform direction, drawn from a sub-stream of `key`.
    fn direction(&self, dist: f64, key: [u8; 32], stream: u64) -> Vec<f64> {
        let mut coords = vec![0.0; self.manifold.dim()];
        Stream::from_key(key, stream).fill_normal(&mut coords);
        let share = dist / length(&coords);
        coords.iter_mut().for_each(|x| *x *= share);
        coords
    }

    /// The point with these normal coordinates.
    fn point(&self, coords: &[f64]) -> Vec<f64> {
        let mut point = vec![0.0; self.manifold.point_size()];
        self.manifold.exp_origin(Rows::shared(coords), &mut point);
        point
    }
}

impl Target for Isotropic {
    type State = Vec<f64>;

    const TOGETHER: usize = LANES;

    fn log_density(&self, state: &mut Vec<f64>) -> f64 {
        let mut out = [0.0];
        self.log_densities(std::slice::from_mut(state), &mut out);
        out[0]
    }

    fn log_densities(&self, states: &mut [Vec<f64>], out: &mut [f64]) {
        let points = states.concat();
        self.manifold.dist_origin(Rows::new(&points, self.manifold.point_size()), out);
        for x in out {
            let dist = *x / self.profile.scale();
            *x = match self.profile {
                Profile::Laplace { .. } => -dist,
                Profile::Gaussian { .. } => -0.5 * dist * dist,
            };
        }
    }

    fn propose(&self, from: &Vec<f64>, scale: f64, stream: &mut Stream, to: &mut Vec<f64>) -> f64 {
        use std::slice::{from_mut, from_ref};
        let mut ratio = [0.0];
        self.propose_each(from_ref(from), &[scale], from_mut(stream), from_mut(to), &mut ratio);
        ratio[0]
    }

    fn propose_each(
        &self,
        from: &[Vec<f64>],
        scales: &[f64],
        streams: &mut [Stream],
        to: &mut [Vec<f64>],
        ratios: &mut [f64],
    ) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        let points = from.concat();
        let mut shifts = vec![0.0; from.len() * dim];
        for (i, shift) in shifts.chunks_exact_mut(dim).enumerate() {
            streams[i].fill_normal(shift);
            shift.iter_mut().for_each(|x| *x *= scales[i]);
        }
        let mut ends = vec![0.0; points.len()];
        walk(&*self.manifold, Rows::new(&points, size), &shifts, &mut ends, ratios);
        to.iter_mut().zip(ends.chunks_exact(size)).for_each(|(to, end)| to.copy_from_slice(end));
    }

    fn width(&self) -> usize {
        self.manifold.point_size()
    }

    fn describe(&self, state: &Vec<f64>, row: &mut [f64]) {
        row.copy_from_slice(state);
    }
}
