//! Noise on spheres, hyperbolic and complex projective space, drawn exactly: the point at a random distance in
//! a random direction from a computed point, rounded to a grid, with the law that it has for real numbers
//! (docs/proofs/exact-draws.md).
//!
//! All lengths are in units of the space's radius (of curvature 1, -1, or between 1 and 4). The computed point
//! stands for the one that normalising its numbers gives: q/|q|; in hyperbolic space the point with its space part, or
//! with its logarithm at the origin.

use super::flat::{Multiples, write};
use super::normal::{Normal, Normals, all_at};
use super::steps::{LogDensity, Place, Scaled, Steps};
use super::stream::Stream;
use super::{NoiseError, Profile, Radial};
use crate::exact::matrices::{Unit, Vector, dot};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::vector::exponent;

/// A space in units of its radius.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Sphere,
    Hyperbolic,
    ComplexProjective,
}

/// The density of the distance t in units of the noise's scale or of the space's radius, whichever is less, as
/// [`Radial`] describes it: (sin x)^power psi, (sinh x)^power psi or (sin x)^power cos x psi, x = angle t.
struct Distance {
    shape: Shape,
    power: u32,
    /// The unit in units of the space's radius.
    angle: f64,
    /// The unit in units of the scale.
    rate: f64,
    is_laplace: bool,
}

impl LogDensity for Distance {
    fn ln<const N: usize>(&self, t: &Enclosure<N>) -> Result<Option<Enclosure<N>>, Undecided> {
        let x = t.times(&Enclosure::double(self.angle, 0));
        let square = x.times(&x);
        let power = Enclosure::integer(i64::from(self.power));
        let profile = t.times(&Enclosure::double(self.rate, 0));
        let profile = if self.is_laplace { profile } else { profile.times(&profile).shifted(-1) };
        let mut ln = profile.negated();
        if self.shape == Shape::Hyperbolic {
            if self.power == 0 {
                return Ok(Some(ln));
            }
            let (sinhc, rest) = x.sinhc()?;
            let log_sinh = sinhc.times(t).ln()?.plus(&rest);
            return Ok(Some(ln.plus(&log_sinh.times(&power))));
        }
        let (cos, sinc) = square.circular()?;
        let inside = if self.shape == Shape::Sphere { &sinc } else { &cos };
        if inside.sign()? == std::cmp::Ordering::Less {
            return Ok(None);
        }
        if self.power > 0 {
            ln = ln.plus(&sinc.times(t).ln()?.times(&power));
        }
        if self.shape == Shape::ComplexProjective {
            ln = ln.plus(&cos.ln()?);
        }
        Ok(Some(ln))
    }
}

/// Isotropic noise on a curved space of one radius.
pub(super) struct CurvedNoise {
    shape: Shape,
    /// Radius of the space.
    radius: f64,
    distances: Steps<Scaled<Distance>>,
}

/// Ratios of scale and radius are rounded up by this.
pub(super) const OUTWARD: f64 = 1.0 + 1.0 / (1u64 << 50) as f64;

impl CurvedNoise {
    /// The noise on `space`, whose distances have this mode, mean and mean square. None on flat space.
    ///
    /// # Errors
    /// [`NoiseError::Range`] if its distances have no table.
    pub(super) fn new(
        space: Radial,
        profile: Profile,
        mode: f64,
        mean: f64,
        mean_square: f64,
    ) -> Result<Option<Self>, NoiseError> {
        let (shape, radius) = match space {
            Radial::Flat { .. } => return Ok(None),
            Radial::Sphere { radius, .. } => (Shape::Sphere, radius),
            Radial::Hyperbolic { curvature, .. } => (Shape::Hyperbolic, (-1.0 / curvature).sqrt()),
            Radial::ComplexProjective { .. } => (Shape::ComplexProjective, 1.0),
        };
        let scale = profile.scale();
        let (unit, ratio) = (scale.min(radius), scale / radius * OUTWARD);
        let (angle, rate) =
            if ratio < 1.0 { (ratio, 1.0) } else { (1.0, (1.0 / ratio).next_down()) };
        let refused = || NoiseError::Range { scale, dim: space.dim() };
        let power = u32::try_from(space.dim() - 1).map_err(|_| refused())?;
        let is_laplace = matches!(profile, Profile::Laplace { .. });
        let density = Distance { shape, power, angle, rate, is_laplace };
        let farthest = space.diameter() / radius / angle;
        let density = Scaled::new(density, mode / unit).ok_or_else(refused)?;
        let deviation = (mean_square - mean * mean).max(0.0).sqrt();
        let distances = Steps::over(density, mean / unit, deviation / unit, farthest);
        let distances = distances.ok_or_else(refused)?;
        Ok(Some(Self { shape, radius, distances }))
    }

    /// Draws a point about `base`: multiples of 2^`grid` that are closest to its coordinates: those of the
    /// ambient space, of a representative whose first number is positive in complex projective space; on
    /// hyperbolic space those of the logarithm at the origin.
    pub(super) fn draw(
        &self,
        base: &[f64],
        grid: i32,
        stream: &mut Stream,
        effort: Effort,
        out: &mut [f64],
    ) {
        let (distance, is_negative) = self.distances.draw(stream, effort);
        // a sign is the direction on a line or circle
        let is_line = self.distances.density().of.power == 0;
        let count = if self.shape == Shape::Hyperbolic { out.len() } else { base.len() };
        let count = if is_line { 0 } else { count };
        let normals = Normal::draw_all(count, stream, effort);
        let point = Point { noise: self, base, grid, distance, is_negative, normals, stream };
        write(decide(&point, effort), grid, out);
    }

    /// True if [`CurvedNoise::draw`] gives coordinates in the chart at the origin.
    pub(super) fn is_in_chart(&self) -> bool {
        self.shape == Shape::Hyperbolic
    }
}

/// Which multiples of the step are closest to the coordinates of the drawn point?
struct Point<'a> {
    noise: &'a CurvedNoise,
    base: &'a [f64],
    grid: i32,
    distance: Place,
    is_negative: bool,
    normals: Normals,
    stream: &'a Stream,
}

impl Point<'_> {
    /// The point of a sphere of radius 1 at the drawn distance from the base point, in the drawn direction.
    fn on_sphere<const N: usize>(
        &self,
        base: &[Enclosure<N>],
        direction: &[Enclosure<N>],
    ) -> Result<Vector<N>, Undecided> {
        let x = self.angle()?;
        let (cos, sinc) = x.times(&x).circular()?;
        let sin = sinc.times(&x);
        let both = base.iter().zip(direction);
        Ok(both.map(|(q, v)| q.times(&cos).plus(&v.times(&sin))).collect())
    }

    /// The direction of the normals, from which multiples of `base` are removed: real ones, or complex ones. On a
    /// circle one of both.
    fn tangent<const N: usize>(
        &self,
        base: &[Enclosure<N>],
        normals: &[Enclosure<N>],
    ) -> Result<Vector<N>, Undecided> {
        if normals.is_empty() {
            let left = [base[1].negated(), base[0]];
            return Ok(left.iter().map(|x| x.negated_if(self.is_negative)).collect());
        }
        let is_complex = self.noise.shape == Shape::ComplexProjective;
        let (re, im) = if is_complex {
            let pairs = base.chunks_exact(2).zip(normals.chunks_exact(2));
            pairs.fold((Enclosure::ZERO, Enclosure::ZERO), |(re, im), (q, z)| {
                let more = q[0].times(&z[1]).minus(&q[1].times(&z[0]));
                (re.plus(&q[0].times(&z[0])).plus(&q[1].times(&z[1])), im.plus(&more))
            })
        } else {
            (dot(base, normals), Enclosure::ZERO)
        };
        let tangent = normals.iter().enumerate().map(|(i, z)| {
            let rest = z.minus(&re.times(&base[i]));
            match (is_complex, i % 2) {
                (false, _) => rest,
                (true, 0) => rest.plus(&im.times(&base[i + 1])),
                (true, _) => rest.minus(&im.times(&base[i - 1])),
            }
        });
        Ok(Unit::of(tangent.collect())?.vector)
    }

    /// The distance in units of the space's radius.
    fn angle<const N: usize>(&self) -> Result<Enclosure<N>, Undecided> {
        let t = self.distance.at::<N>(self.stream)?;
        Ok(t.times(&Enclosure::double(self.noise.distances.density().of.angle, 0)))
    }

    /// The logarithm at the origin of the drawn point of hyperbolic space of curvature -1.
    fn on_hyperboloid<const N: usize>(
        &self,
        space: &[Enclosure<N>],
        normals: Vector<N>,
    ) -> Result<Vector<N>, Undecided> {
        let one = Enclosure::integer(1);
        let direction = if normals.is_empty() {
            Vector::from_elem(one.negated_if(self.is_negative), 1)
        } else {
            Unit::of(normals)?.vector
        };
        let x = self.angle::<N>()?;
        // cosh x and sinh x, both times a factor e^-shift; near 1 either formula will do
        let (cosh, sinh, factor, shift) = if x.middle_as_double() < 1.0 {
            let (cosh, sinhc) = x.times(&x).negated().circular()?;
            (cosh, sinhc.times(&x), one, Enclosure::ZERO)
        } else {
            let factor = x.negated().exp();
            let square = factor.times(&factor);
            (one.plus(&square).shifted(-1), one.minus(&square).shifted(-1), factor, x)
        };
        // the boost that takes the origin to the base point
        let square = one.plus(&dot(space, space));
        let time = square.times(&square.inverse_sqrt()?);
        let along = dot(space, &direction).times(&sinh).over(&one.plus(&time))?;
        let share = cosh.plus(&along);
        let both = space.iter().zip(&direction);
        let moved = both.map(|(q, u)| u.times(&sinh).plus(&q.times(&share))).collect();
        let moved = Unit::of(moved)?;
        let length = moved.length();
        // asinh(e^shift length)
        let square = length.times(&length).plus(&factor.times(&factor));
        let far = length.plus(&square.times(&square.inverse_sqrt()?)).ln()?.plus(&shift);
        Ok(moved.vector.iter().map(|u| u.times(&far)).collect())
    }
}

impl Question for Point<'_> {
    type Answer = Multiples;

    fn ask<const N: usize>(&self) -> Result<Multiples, Undecided> {
        let normals = all_at::<N>(&self.normals, self.stream)?;
        let size = exponent(self.noise.radius);
        let coordinates = match self.noise.shape {
            Shape::Hyperbolic => {
                let radius = Enclosure::double(self.noise.radius, -size).reciprocal()?;
                let dim = self.noise.distances.density().of.power as usize + 1;
                let numbers = self.base[self.base.len() - dim..].iter();
                let numbers = numbers.map(|x| Enclosure::double(*x, -size).times(&radius));
                let numbers = numbers.collect::<Vector<N>>();
                let is_chart = self.base.len() == dim;
                let space = if is_chart { space_part(numbers)? } else { numbers };
                self.on_hyperboloid(&space, normals)?
            }
            Shape::Sphere | Shape::ComplexProjective => {
                let base = self.base.iter().map(|x| Enclosure::double(*x, -size));
                let base = Unit::of(base.collect())?.vector;
                let point = self.on_sphere(&base, &self.tangent(&base, &normals)?)?;
                let is_sphere = self.noise.shape == Shape::Sphere;
                if is_sphere { point } else { aligned(point)? }
            }
        };
        let radius = Enclosure::double(self.noise.radius, -self.grid);
        coordinates.iter().map(|x| x.times(&radius).nearest()).collect()
    }

    fn give_up(&self) -> Multiples {
        Multiples::from_elem(0, self.base.len())
    }
}

/// The space part of the point of hyperbolic space of curvature -1 with this logarithm at the origin.
fn space_part<const N: usize>(log: Vector<N>) -> Result<Vector<N>, Undecided> {
    let square = dot(&log, &log);
    if square.middle_as_double() < 1.0 {
        let (_, sinhc) = square.negated().circular()?;
        return Ok(log.iter().map(|x| x.times(&sinhc)).collect());
    }
    let unit = Unit::of(log)?;
    let shrink = unit.length().negated().exp();
    let sinh = shrink.reciprocal()?.minus(&shrink).shifted(-1);
    Ok(unit.vector.iter().map(|x| x.times(&sinh)).collect())
}

/// A complex vector turned so that its first entry is positive.
fn aligned<const N: usize>(vector: Vector<N>) -> Result<Vector<N>, Undecided> {
    let first = Unit::of(vector[..2].into())?;
    let (length, first) = (first.length(), first.vector);
    let turned = vector.chunks_exact(2).enumerate().map(|(i, z)| {
        if i == 0 {
            return [length, Enclosure::ZERO];
        }
        let re = z[0].times(&first[0]).plus(&z[1].times(&first[1]));
        [re, z[1].times(&first[0]).minus(&z[0].times(&first[1]))]
    });
    Ok(turned.flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::super::RadialNoise;
    use super::super::steps::tests::check_all_heights;
    use super::*;
    use crate::manifold::{Hyperboloid, Manifold};
    use crate::rows::Rows;

    const SPACES: [Radial; 8] = [
        Radial::Sphere { dim: 1, radius: 1.0 },
        Radial::Sphere { dim: 2, radius: 1.0 },
        Radial::Sphere { dim: 9, radius: 3.0 },
        Radial::Hyperbolic { dim: 1, curvature: -1.0 },
        Radial::Hyperbolic { dim: 2, curvature: -1.0 },
        Radial::Hyperbolic { dim: 5, curvature: -0.25 },
        Radial::ComplexProjective { m: 1 },
        Radial::ComplexProjective { m: 4 },
    ];

    fn radius(space: Radial) -> f64 {
        match space {
            Radial::Sphere { radius, .. } => radius,
            Radial::Hyperbolic { curvature, .. } => 1.0 / (-curvature).sqrt(),
            _ => 1.0,
        }
    }

    /// A point some way from the origin.
    fn base(space: Radial) -> Vec<f64> {
        let size = match space {
            Radial::ComplexProjective { m } => 2 * m + 2,
            _ => space.dim() + 1,
        };
        let mut point: Vec<f64> = (0..size).map(|i| 0.1 * (i as f64 + 1.0)).collect();
        let rest: f64 = point[1..].iter().map(|x| x * x).sum();
        match space {
            Radial::Hyperbolic { .. } => point[0] = (1.0 + rest).sqrt(),
            _ => {
                let length = (point[0] * point[0] + rest).sqrt();
                point.iter_mut().for_each(|x| *x /= length);
            }
        }
        point.iter_mut().for_each(|x| *x *= radius(space));
        point
    }

    fn laws(space: Radial, scale: f64) -> [Profile; 2] {
        // on hyperbolic space Laplace noise must be shorter than the volume grows
        let growth = space.growth_rate() * 1.5;
        [Profile::Gaussian { scale }, Profile::Laplace { scale: scale.min(1.0 / growth) }]
    }

    fn noise(space: Radial, profile: Profile) -> RadialNoise {
        RadialNoise::new(space, profile).unwrap()
    }

    fn draw(
        noise: &RadialNoise,
        base: &[f64],
        grid: i32,
        stream: &mut Stream,
        effort: Effort,
    ) -> Vec<f64> {
        let curved = noise.curved().unwrap();
        let mut out = vec![0.0; base.len() - usize::from(curved.is_in_chart())];
        curved.draw(base, grid, stream, effort, &mut out);
        out
    }

    /// Space parts are rounded, so coordinates differ by that.
    #[test]
    fn chart_coordinates_are_the_points_that_they_stand_for() {
        for (dim, curvature) in [(1, -1.0), (2, -1.0), (5, -0.25)] {
            let space = Radial::Hyperbolic { dim, curvature };
            let manifold = Hyperboloid::new(dim, curvature);
            let noise = noise(space, Profile::Gaussian { scale: 0.4 });
            for length in [0.0, 1e-9, 0.3, 2.0, 9.0] {
                let chart: Vec<f64> = (0..dim).map(|i| length / (1.0 + i as f64)).collect();
                let mut point = vec![0.0; dim + 1];
                manifold.exp_origin(Rows::shared(&chart), &mut point);
                for seed in 0..5 {
                    let drawn = [&chart, &point].map(|base| {
                        let mut stream = Stream::from_key([seed; 32], 0);
                        let mut out = vec![0.0; dim];
                        let curved = noise.curved().unwrap();
                        curved.draw(base, -40, &mut stream, Effort::Least, &mut out);
                        out
                    });
                    let error = 2e-15 * length.exp() + 2f64.powi(-39);
                    for (x, y) in drawn[0].iter().zip(&drawn[1]) {
                        assert!((x - y).abs() <= error, "{dim} {length} {x} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        for space in SPACES {
            let base = base(space);
            for scale in [1e-9, 1e-3, 0.4, 10.0] {
                for profile in laws(space, scale) {
                    let noise = noise(space, profile);
                    let grid = exponent(scale.min(1.0)) - 20;
                    let mut streams = [0; 2].map(|_| Stream::from_key([6; 32], 1));
                    for _ in 0..40 {
                        let [a, b] = &mut streams;
                        let steady = draw(&noise, &base, grid, a, Effort::Steady);
                        let least = draw(&noise, &base, grid, b, Effort::Least);
                        assert_eq!(steady, least, "{space:?} {profile:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn all_heights_give_the_density_of_a_distance() {
        let law = |shape, power, angle, is_laplace| {
            let density = Distance { shape, power, angle, rate: 1.0, is_laplace };
            Scaled::new(density, 1.0).unwrap()
        };
        // to beyond the farthest points
        check_all_heights(Steps::new(law(Shape::Sphere, 1, 0.7, true), -3, 36).unwrap());
        check_all_heights(Steps::new(law(Shape::Sphere, 0, 0.7, false), -3, 36).unwrap());
        check_all_heights(
            Steps::new(law(Shape::ComplexProjective, 3, 0.5, false), -3, 26).unwrap(),
        );
        check_all_heights(Steps::new(law(Shape::Hyperbolic, 2, 0.2, true), -1, 40).unwrap());
        check_all_heights(Steps::new(law(Shape::Hyperbolic, 4, 1.0, false), -2, 36).unwrap());
    }

    /// The distance in units of the radius, as far as doubles tell it.
    fn angle(space: Radial, base: &[f64], drawn: &[f64]) -> f64 {
        let r = radius(space);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        match space {
            Radial::Hyperbolic { .. } => {
                let far = dot(drawn, drawn).sqrt() / r;
                let space: Vec<f64> = drawn.iter().map(|x| x / r * libm::sinh(far) / far).collect();
                let base: Vec<f64> = base.iter().map(|x| x / r).collect();
                libm::acosh((libm::cosh(far) * base[0] - dot(&space, &base[1..])).max(1.0))
            }
            Radial::ComplexProjective { .. } => {
                let im: f64 = base
                    .chunks_exact(2)
                    .zip(drawn.chunks_exact(2))
                    .map(|(a, b)| a[0] * b[1] - a[1] * b[0])
                    .sum();
                libm::acos(dot(base, drawn).hypot(im).min(1.0))
            }
            _ => libm::acos((dot(base, drawn) / r / r).clamp(-1.0, 1.0)),
        }
    }

    /// Largest distance of the distances' distribution from that of a law, times the root of their number.
    fn distance_from_law(space: Radial, profile: Profile, other: Profile) -> f64 {
        let (law, base, n) = (noise(space, profile), base(space), 8000);
        let mut stream = Stream::from_key([7; 32], space.dim() as u64);
        let mut found: Vec<f64> = (0..n)
            .map(|_| angle(space, &base, &draw(&law, &base, -40, &mut stream, Effort::Least)))
            .collect();
        found.sort_by(f64::total_cmp);
        let cdf = |t: f64| noise(space, other).radius().cdf(t * radius(space));
        let steps = found.iter().step_by(20).enumerate();
        let apart = steps.map(|(k, t)| (cdf(*t) - 20.0 * k as f64 / f64::from(n)).abs());
        apart.fold(0.0, f64::max) * f64::from(n).sqrt()
    }

    #[test]
    fn distances_have_the_law_of_the_radius() {
        for space in SPACES {
            // doubles tell no distances far out in hyperbolic space
            let wide = if space.diameter().is_finite() { 30.0 } else { 1.5 };
            for scale in [0.1, 0.6, wide] {
                for profile in laws(space, scale) {
                    let found = distance_from_law(space, profile, profile);
                    assert!(found < 2.2, "{space:?} {profile:?} {found}");
                }
            }
            let profile = Profile::Gaussian { scale: 0.3 };
            let control = distance_from_law(space, profile, Profile::Gaussian { scale: 0.33 });
            assert!(control > 2.7, "{space:?} {control}");
        }
    }

    /// Directions have mean 0, and no axis is longer than another.
    #[test]
    fn directions_are_uniform_about_the_origin() {
        for space in SPACES {
            let mut origin = base(space);
            origin.fill(0.0);
            origin[0] = radius(space);
            let (law, dim) = (noise(space, Profile::Gaussian { scale: 0.2 }), space.dim());
            let mut stream = Stream::from_key([8; 32], 0);
            let n = 6000;
            let (mut mean, mut square) = (vec![0.0; dim], vec![0.0; dim]);
            for _ in 0..n {
                let drawn = draw(&law, &origin, -40, &mut stream, Effort::Least);
                let tangent = &drawn[drawn.len() - dim..];
                let length = tangent.iter().map(|x| x * x).sum::<f64>().sqrt();
                for j in 0..dim {
                    mean[j] += tangent[j] / length / f64::from(n);
                    square[j] += tangent[j] * tangent[j] / length / length / f64::from(n);
                }
            }
            for j in 0..dim {
                let error = 5.0 / (f64::from(n) * dim as f64).sqrt();
                assert!(mean[j].abs() < error, "{space:?} {}", mean[j]);
                assert!(
                    (square[j] - 1.0 / dim as f64).abs() < 2.0 * error,
                    "{space:?} {}",
                    square[j]
                );
            }
        }
    }

    /// The cosine of the angle with a fixed direction at a base point that is not the origin: on S^2 uniform
    /// directions give u in [-1, 1] with density 1/(pi sqrt(1 - u^2)).
    #[test]
    fn directions_are_uniform_about_other_points() {
        let space = SPACES[1];
        let (law, base) = (noise(space, Profile::Gaussian { scale: 0.5 }), base(space));
        let along = {
            let dot = base[2];
            let v: Vec<f64> =
                (0..3).map(|i| if i == 2 { 1.0 } else { 0.0 } - dot * base[i]).collect();
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter().map(|x| x / length).collect::<Vec<_>>()
        };
        let mut stream = Stream::from_key([9; 32], 0);
        let n = 20_000;
        let mut found: Vec<f64> = (0..n)
            .map(|_| {
                let drawn = draw(&law, &base, -40, &mut stream, Effort::Least);
                let dot: f64 = drawn.iter().zip(&base).map(|(a, b)| a * b).sum();
                let v: Vec<f64> = drawn.iter().zip(&base).map(|(y, q)| y - dot * q).collect();
                let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                v.iter().zip(&along).map(|(a, b)| a * b).sum::<f64>() / length
            })
            .collect();
        found.sort_by(f64::total_cmp);
        let cdf = |u: f64| 0.5 + u.clamp(-1.0, 1.0).asin() / std::f64::consts::PI;
        let apart =
            found.iter().enumerate().map(|(k, u)| (cdf(*u) - k as f64 / f64::from(n)).abs());
        assert!(apart.fold(0.0, f64::max) * f64::from(n).sqrt() < 2.2);
    }

    #[test]
    fn noise_of_every_width_has_a_law_and_wide_noise_fills_the_space() {
        for (dim, scale) in (1..40).flat_map(|dim| (1..30).map(move |k| (dim, 0.05 * f64::from(k))))
        {
            for profile in laws(SPACES[0], scale) {
                noise(Radial::Sphere { dim, radius: 1.0 }, profile);
                noise(Radial::ComplexProjective { m: dim }, profile);
            }
            for profile in laws(Radial::Hyperbolic { dim, curvature: -1.0 }, scale) {
                noise(Radial::Hyperbolic { dim, curvature: -1.0 }, profile);
            }
        }
        for space in [SPACES[1], SPACES[2], SPACES[6]] {
            let law = noise(space, Profile::Laplace { scale: 1e9 });
            let mut stream = Stream::from_key([4; 32], 0);
            let drawn =
                (0..2000).map(|_| draw(&law, &base(space), -30, &mut stream, Effort::Least));
            let mean: f64 = drawn.map(|x| x[1] / radius(space)).sum::<f64>() / 2000.0;
            assert!(mean.abs() < 0.07, "{space:?} {mean}");
            for scale in [1e20, 1e90] {
                noise(space, Profile::Gaussian { scale });
            }
        }
    }

    #[test]
    fn far_draws_of_hyperbolic_space_are_finite() {
        let space = Radial::Hyperbolic { dim: 2, curvature: -1.0 };
        let law = noise(space, Profile::Gaussian { scale: 30.0 });
        let mut stream = Stream::from_key([5; 32], 0);
        let mut farthest: f64 = 0.0;
        for _ in 0..500 {
            let drawn = draw(&law, &base(space), -16, &mut stream, Effort::Least);
            farthest = farthest.max(drawn[0].hypot(drawn[1]));
        }
        assert!(farthest > 900.0 && farthest < 1300.0, "{farthest}");
    }
}
