//! From a true value to a release: noise placed around it, clipped and rounded to the public grid.
//!
//! Points are those of a ball's [`Frame`](crate::ball::Frame). What leaves is computed from multiples of a public
//! step alone, that exact draws give: of coordinates in the chart at the ball's centre or, on spheres and complex
//! projective space, of the ambient space.

use crate::ball::{Ball, SLACK};
use crate::exact::Effort;
use crate::manifold::Euclidean;
use crate::noise::{Drawing, IsotropicNoise, Stream, add_on_grid};
use crate::rows::{Rows, row_count};
use crate::simd::vectorize;
use crate::vector::{norm, power_of_two_below};

/// The public grid of a release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Distance of two neighbouring grid points in a coordinate, a power of two.
    pub step: f64,
    /// Releases stay within this distance of the centre; infinite for no clipping.
    pub clip_radius: f64,
}

/// The place where noise is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// exp_p(noise), p the true value: an isotropic law carried to p by an isometry.
    Intrinsic,
    /// exp_c(log_c(p) + noise), c the ball's centre.
    Chart,
}

/// Shortens rows of coordinates to length `limit`, each by itself; a row whose length is not finite becomes 0.
pub fn shorten(coords: &mut [f64], dim: usize, limit: f64) {
    vectorize(
        #[inline(always)]
        || clip_coords(coords, dim, limit),
    );
}

/// Shortens rows of coordinates to length `limit`; a row whose length is not finite becomes 0.
#[inline(always)]
fn clip_coords(coords: &mut [f64], dim: usize, limit: f64) {
    if limit == f64::INFINITY {
        return;
    }
    for row in coords.chunks_exact_mut(dim) {
        let norm = norm(row);
        if !norm.is_finite() {
            row.fill(0.0);
        } else if norm > limit {
            row.iter_mut().for_each(|x| *x = *x / norm * limit);
        }
    }
}

/// The multiple of `step` closest to x, of two equally close ones the even.
#[inline(always)]
pub(crate) fn round(x: f64, step: f64) -> f64 {
    (x / step).round_ties_even() * step
}

/// The step of the grid for noise of a scale: the largest power of two of which `steps_per_scale`, a power of
/// two too, fit in the scale.
pub(crate) fn grid_step(scale: f64, steps_per_scale: f64) -> f64 {
    power_of_two_below(scale) / steps_per_scale
}

/// The step of the grid for noise of a scale on numbers or vectors of length up to `largest`: that of
/// [`Ball::grid`] in Euclidean space, also where there the scale would be refused.
#[must_use]
pub fn flat_grid_step(scale: f64, largest: f64, steps_per_scale: f64) -> f64 {
    let line = Euclidean::new(1);
    let ball = Ball { manifold: &line, center: &[0.0], radius: largest };
    grid_step(scale, steps_per_scale).max(ball.coarsest_needed())
}

/// Steps of a grid are at least this many times the error of what is rounded: 2^16.
const ERRORS_PER_STEP: f64 = 65_536.0;

/// A scale that holds fewer steps than this anywhere in the ball is not served: the grid would add to the noise.
const FEWEST_STEPS: f64 = 4.0;

/// Least scale of noise in units of a negatively curved space's radius: where a drawn point is, as seen from the centre, is
/// told to 2^-120 of these units.
const FINEST_CURVED: f64 = 1.0 / (1u64 << 60) as f64;

/// Steps in a scale at the rim where the chart stretches them so much that fewer would be left.
const STEPS_AT_RIM: f64 = 16.0;

impl Ball<'_> {
    /// The grid for noise of a scale: of step 1/`steps_per_scale` of the scale, of the manifold's extent or of
    /// the clipping radius, whichever is least, or coarser where rounding errors ask for it. Where noise is intrinsic
    /// and the chart at the centre stretches steps at the ball's rim, it is finer if fewer than 16 were left there.
    /// None if the step were more than 1/4 of that anywhere in the ball.
    #[must_use]
    pub fn grid(
        &self,
        scale: f64,
        steps_per_scale: f64,
        clip_radius: f64,
        placement: Placement,
    ) -> Option<Grid> {
        let extent = self.manifold.injectivity_radius();
        let width = scale.min(extent).min(clip_radius);
        let growth = (-self.manifold.curvature_bounds().0).max(0.0).sqrt();
        if placement == Placement::Intrinsic && growth > 0.0 && width * growth < FINEST_CURVED {
            return None;
        }
        let stretch = if placement == Placement::Chart { 1.0 } else { self.stretch() };
        let mut step = grid_step(width, steps_per_scale).max(self.coarsest_needed());
        if placement == Placement::Intrinsic && extent.is_finite() {
            // coordinates of the ambient space are of this size, and their multiples integers of 64 bits
            step = step.max(power_of_two_below(extent) / (1u64 << 60) as f64);
        }
        if stretch > 1.0 && STEPS_AT_RIM * step * stretch > width {
            // multiples are exact draws, which doubles hold
            let finest = power_of_two_below(self.radius) / (1u64 << 51) as f64;
            step = step.min(grid_step(width / stretch, STEPS_AT_RIM).max(finest));
        }
        (FEWEST_STEPS * step * stretch <= width).then_some(Grid { step, clip_radius })
    }

    /// The most by which the chart at the centre stretches lengths in the ball: sinh(x)/x, x the radius in units of the
    /// lower curvature bound; 1 if that is not negative.
    fn stretch(&self) -> f64 {
        let x = self.radius * (-self.manifold.curvature_bounds().0).max(0.0).sqrt();
        if x > 0.0 { x.sinh() / x } else { 1.0 }
    }

    /// The step that is far above the rounding error of chart coordinates.
    fn coarsest_needed(&self) -> f64 {
        let error = self.manifold.chart_error(self.radius * (1.0 + SLACK));
        2.0 * power_of_two_below(ERRORS_PER_STEP * error)
    }

    /// A scale for which there is a [`Ball::grid`], within 1 part in 100 of the least; infinite if there is
    /// none.
    #[must_use]
    pub fn least_scale(&self, clip_radius: f64, placement: Placement) -> f64 {
        let served = |scale: f64| self.grid(scale, f64::INFINITY, clip_radius, placement).is_some();
        let mut high = (FEWEST_STEPS * self.coarsest_needed()).max(f64::MIN_POSITIVE);
        while !served(high) {
            high *= 2.0;
            if high == f64::INFINITY {
                return high;
            }
        }
        let mut low = 0.5 * high;
        for _ in 0..7 {
            let middle = low + 0.5 * (high - low);
            (low, high) = if served(middle) { (low, middle) } else { (middle, high) };
        }
        high
    }

    /// Releases around the true values `means`, one for all or one for each, with noise and grid of `law(i)` from
    /// the streams of `draws`. Release i is computed from multiples of the grid's step alone, those that
    /// [`IsotropicNoise::drawing`] names.
    pub fn release<'a>(
        &self,
        means: Rows,
        law: impl Fn(usize) -> (&'a IsotropicNoise, Grid),
        mut draws: impl FnMut(usize, &mut dyn FnMut(&mut Stream)),
        effort: Effort,
        out: &mut [f64],
    ) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        means.check(row_count(out.len(), size), size);
        let drawing = law(0).0.drawing();
        if drawing == Drawing::Ambient {
            let mut drawn = vec![0.0; law(0).0.drawn_size(size)];
            for (i, point) in out.chunks_exact_mut(size).enumerate() {
                let (noise, Grid { step, .. }) = law(i);
                draws(i, &mut |stream| {
                    noise.draw_on_grid(means.row(i), step, stream, effort, &mut drawn)
                });
                if !self.manifold.from_drawn(&drawn, point) {
                    point.copy_from_slice(self.center);
                }
            }
            return;
        }
        let mut chart = vec![0.0; out.len() / size * dim];
        // on flat space the chart at the centre is an isometry: noise at the mean is noise in the chart
        if drawing == Drawing::Chart {
            self.manifold.log_origin(means, &mut chart);
        }
        for (i, row) in chart.chunks_exact_mut(dim).enumerate() {
            let (noise, Grid { step, .. }) = law(i);
            draws(i, &mut |stream| match drawing {
                Drawing::Chart => add_on_grid(noise.profile(), row, step, stream, effort),
                _ => noise.draw_on_grid(means.row(i), step, stream, effort, row),
            });
        }
        self.round_chart(&mut chart, |i| law(i).1, out);
    }

    /// Clips and rounds points of the frame by `grids(i)`, in the chart at the centre.
    pub fn round_to_grid(&self, points: &mut [f64], grids: impl Fn(usize) -> Grid) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        let mut chart = vec![0.0; points.len() / size * dim];
        self.manifold.log_origin(Rows::new(points, size), &mut chart);
        self.round_chart(&mut chart, grids, points);
    }

    /// The points whose chart coordinates are those of `chart`, clipped and rounded.
    fn round_chart(&self, chart: &mut [f64], grids: impl Fn(usize) -> Grid, out: &mut [f64]) {
        let dim = self.manifold.dim();
        vectorize(
            #[inline(always)]
            || {
                for (i, row) in chart.chunks_exact_mut(dim).enumerate() {
                    let grid = grids(i);
                    clip_coords(row, dim, grid.clip_radius);
                    row.iter_mut().for_each(|x| *x = round(*x, grid.step) + 0.0); // never -0
                }
            },
        );
        self.manifold.exp_origin(Rows::new(chart, dim), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifold::{Hyperboloid, Manifold, Sphere};

    #[test]
    fn clipped_rows_keep_their_direction_and_end_at_the_limit() {
        let mut rows = [3.0, 4.0, 0.3, 0.4, f64::NAN, 1.0, 1.0, f64::INFINITY, 1e200, 1e200];
        clip_coords(&mut rows, 2, 2.5);
        let long = 2.5 * std::f64::consts::FRAC_1_SQRT_2;
        assert_eq!(rows[..8], [1.5, 2.0, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0]);
        assert!(rows[8..].iter().all(|x| (x - long).abs() < 1e-15));
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

    /// Noise finer than 2^-60 radii of curvature has no grid; where curvature is not negative there is no such limit, and
    /// where it is, steps are finer at the rim of wide balls.
    #[test]
    fn grids_are_fine_at_the_rim_and_refused_where_draws_are_not_told() {
        let grid = |manifold: &dyn Manifold, radius: f64, scale: f64| {
            let center = manifold.origin();
            let ball = Ball { manifold, center: &center, radius };
            ball.grid(scale, 1048576.0, f64::INFINITY, Placement::Intrinsic)
        };
        let hyperbolic = Hyperboloid::new(2, -1.0);
        let flat = Euclidean::new(2);
        let sphere = Sphere::new(2, 1.0);
        assert!(grid(&hyperbolic, 1e-29, 1e-19).is_none());
        assert!(grid(&hyperbolic, 1e-17, 1e-18).is_some());
        assert!(grid(&flat, 1e-29, 1e-19).is_some() && grid(&sphere, 1e-29, 1e-15).is_some());
        assert!(grid(&sphere, 1e-29, 1e-18).is_none());
        let (near, far) = (grid(&hyperbolic, 5.0, 0.05), grid(&hyperbolic, 20.0, 0.05));
        assert_eq!(near.unwrap().step, grid_step(0.05, 1048576.0));
        let stretch = 20f64.sinh() / 20.0;
        assert!(far.unwrap().step * stretch * 16.0 <= 0.05);
        assert!(grid(&hyperbolic, 40.0, 0.05).is_none());
    }

    #[test]
    fn ties_go_to_even_multiples() {
        assert_eq!([0.5, 1.5, -0.5, -1.5, 0.3].map(|x| round(x, 1.0)), [0.0, 2.0, 0.0, -2.0, 0.0]);
        assert_eq!(round(0.7, 0.25), 0.75);
    }
}
