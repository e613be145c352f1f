//! Noise on spheres, hyperbolic and complex projective space, drawn exactly: the point at a random distance in
//! a random direction from a computed point, rounded to a grid, with the law that it has for real numbers
//! (docs/proofs/exact-draws.md).
//!
//! All lengths are in units of the space's radius (of curvature 1, -1, or between 1 and 4). The computed point
//! stands for the one that normalising its numbers gives: q/|q|; in hyperbolic space the point with its space part, or
//! with its logarithm at the origin.

mod in_doubles;
#[cfg(test)]
mod tests;

use super::flat::{Multiples, write};
use super::normal::{Normal, Normals, all_at};
use super::steps::{LogDensity, Place, Scaled, Steps};
use super::stream::Stream;
use super::{NoiseError, Power, Profile};
use crate::exact::matrices::{Unit, Vector, dot};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::roots::Radial;
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
    /// No point is farther.
    farthest: f64,
}

impl LogDensity for Distance {
    fn ln<const N: usize>(&self, t: &Enclosure<N>) -> Result<Option<Enclosure<N>>, Undecided> {
        if self.farthest.is_finite() && Enclosure::double(self.farthest, 0).is_less(t)? {
            return Ok(None);
        }
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
        let farthest = space.roots().farthest / radius / angle * OUTWARD;
        let density = Distance { shape, power, angle, rate, is_laplace, farthest };
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
        let is_cheap = effort == Effort::Least && self.shape == Shape::Sphere;
        let multiples = if is_cheap { point.in_doubles(1.0) } else { None };
        write(multiples.unwrap_or_else(|| decide(&point, effort)), grid, out);
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

    /// The logarithm at the origin of the drawn point of hyperbolic space of curvature -1, about the base point of these
    /// numbers, in units of the space's radius.
    fn in_hyperbolic<const N: usize>(
        &self,
        numbers: Vector<N>,
        normals: Vector<N>,
    ) -> Result<Vector<N>, Undecided> {
        let is_chart = self.base.len() == numbers.len();
        let x = self.angle::<N>()?;
        if normals.is_empty() {
            let base = if is_chart { numbers[0] } else { asinh(&numbers[0])? };
            return Ok(Vector::from_elem(base.plus(&x.negated_if(self.is_negative)), 1));
        }
        let direction = Unit::of(normals)?.vector;
        // either formula will do at some distance from the origin
        if !is_chart {
            return on_hyperboloid(&numbers, &x, &direction);
        }
        let square = dot(&numbers, &numbers).middle_as_double();
        if square < FAR * FAR {
            return on_hyperboloid(&space_part(numbers)?, &x, &direction);
        }
        far_from_origin(Unit::of(numbers)?, &x, &direction)
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
                self.in_hyperbolic(numbers.collect(), normals)?
            }
            Shape::Sphere | Shape::ComplexProjective => {
                let base = self.base.iter().map(|x| Enclosure::double(*x, -size));
                let base = Unit::of(base.collect())?.vector;
                let point = self.on_sphere(&base, &self.tangent(&base, &normals)?)?;
                let is_sphere = self.noise.shape == Shape::Sphere;
                if is_sphere { point } else { aligned(point)? }
            }
        };
        let radius = Enclosure::double(self.noise.radius, -size);
        let step = self.grid - size;
        coordinates.iter().map(|x| x.times(&radius).nearest_multiple(step)).collect()
    }
}

/// Base points in the chart at the origin that are farther than this from it are handled apart.
const FAR: f64 = 8.0;

/// The logarithm at the origin of the point of hyperbolic space at distance x in a direction from the base point
/// with this space part: the boost that takes the origin to the base point.
fn on_hyperboloid<const N: usize>(
    space: &[Enclosure<N>],
    x: &Enclosure<N>,
    direction: &[Enclosure<N>],
) -> Result<Vector<N>, Undecided> {
    let one = Enclosure::integer(1);
    // cosh x and sinh x, both times a factor e^-shift; near 1 either formula will do
    let (cosh, sinh, factor, shift) = if x.middle_as_double() < 1.0 {
        let (cosh, sinhc) = x.times(x).negated().circular()?;
        (cosh, sinhc.times(x), one, Enclosure::ZERO)
    } else {
        let factor = x.negated().exp();
        let square = factor.times(&factor);
        (one.plus(&square).shifted(-1), one.minus(&square).shifted(-1), factor, *x)
    };
    let time = one.plus(&dot(space, space)).sqrt()?;
    let along = dot(space, direction).times(&sinh).over(&one.plus(&time))?;
    let share = cosh.plus(&along);
    let both = space.iter().zip(direction);
    let moved = both.map(|(q, u)| u.times(&sinh).plus(&q.times(&share))).collect();
    let moved = Unit::of(moved)?;
    // asinh(e^shift length)
    let length = moved.length();
    let root = length.times(&length).plus(&factor.times(&factor)).sqrt()?;
    let far = length.plus(&root).ln()?.plus(&shift);
    Ok(moved.vector.iter().map(|u| u.times(&far)).collect())
}

/// The same for a base point at distance b, `base.length()`, in direction w, without differences of large numbers: with
/// v = w + u the space part of the point is
///
/// ```text
/// sinh(x) v + (sinh(b - x) + (cosh(b) - 1) sinh(x) |v|^2/2) w
/// ```
///
/// Terms are numbers near 1 times powers of two, and their sum is in units of the greatest of these.
fn far_from_origin<const N: usize>(
    base: Unit<N>,
    x: &Enclosure<N>,
    direction: &[Enclosure<N>],
) -> Result<Vector<N>, Undecided> {
    let (b, w) = (base.length(), base.vector);
    let v: Vector<N> = w.iter().zip(direction).map(|(w, u)| w.plus(u)).collect();
    let turned = v.iter().filter_map(Enclosure::exponent).max().ok_or(Undecided)?;
    let v: Vector<N> = v.iter().map(|v| v.shifted(-turned)).collect();
    let (out, out_size) = sinh(x)?;
    let (between, between_size) = sinh(&b.minus(x))?;
    // cosh b - 1 = 2 sinh(b/2)^2
    let (half, half_size) = sinh(&b.shifted(-1))?;
    let across = half.times(&half).times(&out).times(&dot(&v, &v));
    let across_size = 2 * half_size + out_size + 2 * turned;
    let unit = (out_size + turned).max(between_size).max(across_size);
    let out = out.shifted(out_size + turned - unit);
    let across = across.shifted(across_size - unit);
    let along = between.shifted(between_size - unit).plus(&across);
    let moved = v.iter().zip(&w).map(|(v, w)| v.times(&out).plus(&w.times(&along)));
    let moved = Unit::of(moved.collect())?;
    // asinh(2^unit length), unit >= 0 as sinh(b - x) has such a size
    let length = moved.length();
    let one = Enclosure::dyadic(1, -unit);
    let root = length.times(&length).plus(&one.times(&one)).sqrt()?;
    let doublings = Enclosure::ln_2().times(&Enclosure::integer(i64::from(unit)));
    let far = length.plus(&root).ln()?.plus(&doublings);
    Ok(moved.vector.iter().map(|u| u.times(&far)).collect())
}

/// sinh x: a number and the exponent of the power of two that it is to be multiplied by.
fn sinh<const N: usize>(x: &Enclosure<N>) -> Result<(Enclosure<N>, i32), Undecided> {
    // near 1 either formula will do
    let about = x.middle_as_double();
    if about.abs() < 1.0 {
        let (_, sinhc) = x.times(x).negated().circular()?;
        return Ok((sinhc.times(x), 0));
    }
    let size = x.negated_if(about < 0.0);
    let Power { mantissa, exponent } = Power::new(&size);
    let fallen = Enclosure::integer(1).minus(&size.shifted(1).negated().exp());
    let exponent = i32::try_from(exponent - 1).map_err(|_| Undecided)?;
    Ok((mantissa.times(&fallen).negated_if(about < 0.0), exponent))
}

/// asinh x
fn asinh<const N: usize>(x: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
    let is_negative = x.middle_as_double() < 0.0;
    let size = x.negated_if(is_negative);
    let root = Enclosure::integer(1).plus(&size.times(&size)).sqrt()?;
    Ok(size.plus(&root).ln()?.negated_if(is_negative))
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
