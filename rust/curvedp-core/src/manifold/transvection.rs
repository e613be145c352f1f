//! Points moved back along a geodesic.
//!
//! The transvection along the geodesic exp_p(sv) that takes exp_p(tv) to p is an isometry whose differential
//! is parallel transport along the geodesic. So the logarithm of y at exp_p(tv), carried back to p, is the
//! logarithm at p of y moved by it, however long the geodesic is.

use super::Manifold;
use crate::rows::Rows;
use crate::simd::blocks::{BLOCK, Width, padded};
use crate::simd::elementary::{cosh, sin_cos, sinh};
use crate::simd::kernel::{Kernel, run};
use crate::simd::pairs::{self, Pair, hermitian, pair_map, pair_sums, plus};
use crate::simd::vectorize;
use crate::vector::norm;

/// The plane in which transvections along a geodesic turn points of a sphere or hyperboloid: every point
/// is a x + b e + (what stays), with x the base point and e the direction, both of length R.
pub(super) struct Frame {
    direction: Vec<f64>,
    /// a = <duals\[0\], y>, b = <duals\[1\], y>
    duals: [Vec<f64>; 2],
    /// Angle for each unit of time.
    rate: f64,
    hyperbolic: bool,
}

impl Frame {
    /// Of the sphere of radius `radius`.
    pub(super) fn circular(
        manifold: &dyn Manifold,
        velocity: &[f64],
        base: &[f64],
        radius: f64,
    ) -> Self {
        let (direction, rate) = direction(manifold, velocity, base, radius);
        let dual = |x: &[f64]| x.iter().map(|x| x / (radius * radius)).collect();
        Self { duals: [dual(base), dual(&direction)], direction, rate, hyperbolic: false }
    }

    /// Of the hyperboloid <x, x> = -`radius`^2, time first.
    pub(super) fn hyperbolic(
        manifold: &dyn Manifold,
        velocity: &[f64],
        base: &[f64],
        radius: f64,
    ) -> Self {
        let (direction, rate) = direction(manifold, velocity, base, radius);
        let dual = |x: &[f64], sign: f64| {
            let mut dual: Vec<f64> = x.iter().map(|x| sign * x / (radius * radius)).collect();
            dual[0] = -dual[0];
            dual
        };
        Self { duals: [dual(base, -1.0), dual(&direction, 1.0)], direction, rate, hyperbolic: true }
    }
}

/// The tangent vector of length `radius` along `velocity` (any for 0), and |velocity| / `radius`.
fn direction(
    manifold: &dyn Manifold,
    velocity: &[f64],
    base: &[f64],
    radius: f64,
) -> (Vec<f64>, f64) {
    let length = norm(velocity);
    let mut coords = vec![0.0; velocity.len()];
    coords[0] = radius;
    if length > 0.0 {
        coords.iter_mut().zip(velocity).for_each(|(c, v)| *c = v / length * radius);
    }
    let mut direction = vec![0.0; base.len()];
    manifold.from_coords(Rows::shared(&coords), Rows::shared(base), &mut direction);
    (direction, length / radius)
}

struct MoveBack<'a> {
    frame: &'a Frame,
    points: Rows<'a>,
    times: &'a [f64],
    base: Rows<'a>,
}

impl Kernel for MoveBack<'_> {
    /// y + (a' - a) x + (b' - b) e, (a', b') = (a cos + b sin, b cos - a sin), or the same with the
    /// hyperbolic functions and both signs negative.
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [dual_base, dual_direction] = &self.frame.duals;
        let operands = [self.points, Rows::shared(dual_base), Rows::shared(dual_direction)];
        let [a, b] = width.sums(operands, first, rows, |[y, x, e]| [y * x, y * e]);
        let mut angle = [0.0; BLOCK];
        for (angle, t) in angle.iter_mut().zip(&self.times[first..first + rows]) {
            *angle = self.frame.rate * t;
        }
        let mut shares = [[0.0; BLOCK]; 2];
        for l in 0..padded(rows) {
            let (back, cos) = if self.frame.hyperbolic {
                (-sinh(angle[l]), cosh(angle[l]))
            } else {
                sin_cos(angle[l])
            };
            let forth = if self.frame.hyperbolic { back } else { -back };
            shares[0][l] = (cos - 1.0) * a[l] + back * b[l];
            shares[1][l] = (cos - 1.0) * b[l] + forth * a[l];
        }
        let operands = [self.points, self.base, Rows::shared(&self.frame.direction)];
        let entry = |[y, x, e]: [f64; 3], [s, t]: [f64; 2]| y + (s * x + t * e);
        width.combine(operands, first, rows, [&shares[0], &shares[1]], entry, out);
    }
}

/// [`Manifold::log_along`] on a sphere or hyperboloid.
pub(super) fn log_along(
    manifold: &dyn Manifold,
    frame: &Frame,
    points: Rows,
    times: &[f64],
    base: &[f64],
    out: &mut [f64],
) {
    let size = base.len();
    let mut moved = vec![0.0; times.len() * size];
    let kernel = MoveBack { frame, points, times, base: Rows::shared(base) };
    run(kernel, size, size, &mut moved);
    manifold.log_coords(Rows::new(&moved, size), Rows::shared(base), out);
}

/// [`Manifold::log_along`] on planar shapes: the rotation of the plane of z and the velocity, complex
/// linear.
pub(super) fn log_along_complex(
    manifold: &dyn Manifold,
    points: Rows,
    times: &[f64],
    velocity: &[f64],
    base: &[f64],
    out: &mut [f64],
) {
    let width = base.len();
    let (direction, rate) = direction(manifold, velocity, base, 1.0);
    let mut moved = vec![0.0; times.len() * width];
    vectorize(
        #[inline(always)]
        || {
            for (i, (moved, t)) in moved.chunks_exact_mut(width).zip(times).enumerate() {
                let rows = [base, &direction, points.row(i)];
                let [a0, a1, b0, b1] = pair_sums(width, rows, |[z, e, y]| {
                    let ([a0, a1], [b0, b1]) = (hermitian(z, y), hermitian(e, y));
                    [a0, a1, b0, b1]
                });
                let (sin, cos) = sin_cos(rate * t);
                let share = |c: Pair, d: Pair, sin: f64| -> Pair {
                    std::array::from_fn(|j| (cos - 1.0) * c[j] + sin * d[j])
                };
                let (of_base, of_direction) =
                    (share([a0, a1], [b0, b1], sin), share([b0, b1], [a0, a1], -sin));
                let entry = |[z, e, y]: [Pair; 3]| {
                    plus(y, plus(pairs::times(of_base, z), pairs::times(of_direction, e)))
                };
                pair_map(rows, entry, moved);
            }
        },
    );
    manifold.log_coords(Rows::new(&moved, width), Rows::shared(base), out);
}
