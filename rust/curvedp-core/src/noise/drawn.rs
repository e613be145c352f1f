//! Draws as tests look at them.

use super::{Drawing, IsotropicNoise, Stream, add_on_grid};
use crate::exact::Effort;
use crate::manifold::{ComplexProjective, Euclidean, Hyperboloid, Manifold, Sphere, build};
use crate::roots::{Radial, Space};
use crate::rows::Rows;
use crate::vector::exponent;

/// The manifold in whose frame noise on a space is drawn.
pub(crate) fn frame(space: Space) -> Box<dyn Manifold> {
    let (name, size, parameter) = space.name();
    match space {
        Space::Radial(Radial::Flat { dim }) => Box::new(Euclidean::new(dim)),
        Space::Radial(Radial::Sphere { dim, radius }) => Box::new(Sphere::new(dim, radius)),
        Space::Radial(Radial::Hyperbolic { dim, curvature }) => {
            Box::new(Hyperboloid::new(dim, curvature))
        }
        Space::Radial(Radial::ComplexProjective { m }) => Box::new(ComplexProjective::new(m)),
        Space::Matrices(_) => build(name, size, parameter).unwrap(),
        Space::Compact(_) => build(name, size, parameter).unwrap().centred(),
    }
}

/// Rows of coordinates at `base`, a point of the frame, of logarithms of points drawn about it.
pub(crate) fn logs(noise: &IsotropicNoise, base: &[f64], key: u8, count: usize) -> Vec<f64> {
    let (frame, profile) = (frame(noise.space), noise.profile());
    let step = 2f64.powi(exponent(profile.scale().min(1.0)) - 30);
    let mut stream = Stream::from_key([key; 32], frame.dim() as u64);
    let mut rows = vec![0.0; count * frame.dim()];
    let mut point = base.to_vec();
    let mut drawn = match noise.drawing() {
        Drawing::Ambient => vec![0.0; noise.drawn_size(base.len())],
        Drawing::Chart | Drawing::LogOrigin => vec![0.0; frame.dim()],
    };
    for row in rows.chunks_exact_mut(frame.dim()) {
        if noise.drawing() == Drawing::Chart {
            add_on_grid(profile, row, step, &mut stream, Effort::Least);
            continue;
        }
        noise.draw_on_grid(base, step, &mut stream, Effort::Least, &mut drawn);
        if noise.drawing() == Drawing::Ambient {
            assert!(frame.from_drawn(&drawn, &mut point));
        } else {
            frame.exp_origin(Rows::shared(&drawn), &mut point);
        }
        frame.log_coords(Rows::shared(&point), Rows::shared(base), row);
    }
    rows
}

/// How far the mean of numbers is from what is expected, in standard errors; what is expected is known up to `slack`.
pub(crate) fn apart(values: impl Iterator<Item = f64>, expected: f64, slack: f64) -> f64 {
    let (n, sum, squares) =
        values.fold((0.0, 0.0, 0.0), |(n, a, b), x| (n + 1.0, a + x, b + x * x));
    let mean: f64 = sum / n;
    (mean - expected).abs() / (((squares / n - mean * mean).max(0.0) / n).sqrt() + slack)
}
