//! From a true value to a release: noise placed around it, clipped and rounded to the public grid.
//!
//! Points are those of a ball's [`Frame`](crate::ball::Frame). What clipping and rounding do depends on
//! the drawn point and on public numbers alone: both are post-processing.

use crate::ball::Ball;
use crate::manifold::Manifold;
use crate::rows::Rows;

/// The public grid of a release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Distance of two neighbouring grid points in a coordinate, a power of two.
    pub step: f64,
    /// Releases stay within this distance of the centre; infinite for no clipping.
    pub clip_radius: f64,
}

/// Where the noise is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// exp_p(noise), p the true value: an isotropic law carried to p by an isometry.
    Intrinsic,
    /// exp_c(log_c(p) + noise), c the ball's centre.
    Chart,
}

/// Shortens rows of coordinates to length `limit`; a row whose length is not finite becomes 0.
pub fn clip_coords(coords: &mut [f64], dim: usize, limit: f64) {
    if limit == f64::INFINITY {
        return;
    }
    for row in coords.chunks_exact_mut(dim) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !norm.is_finite() {
            row.fill(0.0);
        } else if norm > limit {
            row.iter_mut().for_each(|x| *x *= limit / norm);
        }
    }
}

/// The multiple of `step` closest to x, of two equally close ones the even.
#[inline]
pub(crate) fn round(x: f64, step: f64) -> f64 {
    (x / step).round_ties_even() * step
}

/// The largest power of two that is at most x, for normal positive numbers.
pub(crate) fn power_of_two_below(x: f64) -> f64 {
    // the sign and the exponent of a normal number are its upper 12 bits
    f64::from_bits(x.to_bits() >> 52 << 52)
}

/// The step of the grid for noise of a scale, of which it holds `steps_per_scale`, a power of two, or nearly
/// twice as many.
pub(crate) fn grid_step(scale: f64, steps_per_scale: f64) -> f64 {
    power_of_two_below(scale) / steps_per_scale
}

impl Ball<'_> {
    /// Noisy points around the true values `means`, row by row; `coords` holds the noise, of which
    /// nothing usable is left. Row i is clipped by `grids(i)`.
    pub fn place(
        &self,
        placement: Placement,
        means: &[f64],
        coords: &mut [f64],
        grids: impl Fn(usize) -> Grid,
        out: &mut [f64],
    ) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        let means = Rows::new(means, size);
        if placement == Placement::Intrinsic {
            return self.manifold.exp_coords(Rows::new(coords, dim), means, out);
        }
        let mut chart = vec![0.0; coords.len()];
        self.manifold.log_coords(means, Rows::shared(self.center), &mut chart);
        coords.iter_mut().zip(&chart).for_each(|(x, mean)| *x += mean);
        for (i, row) in coords.chunks_exact_mut(dim).enumerate() {
            clip_coords(row, dim, grids(i).clip_radius);
        }
        self.manifold.exp_coords(Rows::new(coords, dim), Rows::shared(self.center), out);
    }

    /// Rounds points of the frame to the public grid, row i to `grids(i)`: in the chart at the centre,
    /// where they are also clipped, on Hadamard manifolds; in ambient coordinates elsewhere, shapes
    /// turned towards the centre first. Total: what has no rounded point becomes the centre.
    pub fn round_to_grid(&self, points: &mut [f64], grids: impl Fn(usize) -> Grid) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        if is_hadamard(self.manifold) {
            let mut coords = vec![0.0; points.len() / size * dim];
            let center = Rows::shared(self.center);
            self.manifold.log_coords(Rows::new(points, size), center, &mut coords);
            for (i, row) in coords.chunks_exact_mut(dim).enumerate() {
                let grid = grids(i);
                clip_coords(row, dim, grid.clip_radius);
                row.iter_mut().for_each(|x| *x = round(*x, grid.step));
            }
            return self.manifold.exp_coords(Rows::new(&coords, dim), center, points);
        }
        for (i, row) in points.chunks_exact_mut(size).enumerate() {
            let step = grids(i).step;
            self.manifold.align(row, self.center);
            row.iter_mut().for_each(|x| *x = round(*x, step));
            if !self.manifold.project(row) {
                row.copy_from_slice(self.center);
            }
        }
    }
}

fn is_hadamard(manifold: &dyn Manifold) -> bool {
    manifold.curvature_bounds().1 <= 0.0 && manifold.injectivity_radius() == f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipped_rows_keep_their_direction_and_end_at_the_limit() {
        let mut rows = [3.0, 4.0, 0.3, 0.4, f64::NAN, 1.0, 1.0, f64::INFINITY, 1e200, 1e200];
        clip_coords(&mut rows, 2, 2.5);
        assert_eq!(rows, [1.5, 2.0, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let mut free = [f64::MAX, f64::NAN];
        clip_coords(&mut free, 2, f64::INFINITY);
        assert!(free[0] == f64::MAX && free[1].is_nan());
    }

    #[test]
    fn grids_step_by_powers_of_two() {
        for (scale, step) in [(1.0, 0.25), (1.999, 0.25), (0.5, 0.125), (0.3, 0.0625)] {
            assert_eq!(grid_step(scale, 4.0), step);
        }
        assert_eq!(grid_step(1.0_f64.next_down(), 1.0), 0.5);
    }

    #[test]
    fn ties_go_to_even_multiples() {
        assert_eq!([0.5, 1.5, -0.5, -1.5, 0.3].map(|x| round(x, 1.0)), [0.0, 2.0, 0.0, -2.0, 0.0]);
        assert_eq!(round(0.7, 0.25), 0.75);
    }
}
