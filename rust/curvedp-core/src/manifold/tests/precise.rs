//! The formulas of the manifolds in double-double arithmetic: about 31 digits up to the last elementary
//! function.

use crate::twofold::Twofold;

type Vector = Vec<Twofold>;

fn combine(a: Twofold, x: &[Twofold], b: Twofold, y: &[Twofold]) -> Vector {
    x.iter().zip(y).map(|(&x, &y)| a * x + b * y).collect()
}

fn dot(x: &[Twofold], y: &[Twofold]) -> Twofold {
    x.iter().zip(y).fold(0.0.into(), |sum, (&x, &y)| sum + x * y)
}

fn minkowski(x: &[Twofold], y: &[Twofold]) -> Twofold {
    dot(&x[1..], &y[1..]) - x[0] * y[0]
}

fn unit(x: &[f64], square: impl Fn(&[Twofold]) -> Twofold) -> Vector {
    let x: Vector = x.iter().map(|&x| x.into()).collect();
    let length = square(&x).sqrt();
    x.into_iter().map(|x| x / length).collect()
}

/// Vector `direction` scaled to the length `length`.
fn with_length(direction: &[Twofold], own_length: Twofold, length: f64) -> Vec<f64> {
    direction.iter().map(|&x| (x / own_length).value() * length).collect()
}

const ONE: Twofold = Twofold::ONE;

/// log on the unit sphere of the points normalised, and its length.
pub fn sphere_log(point: &[f64], base: &[f64]) -> (Vec<f64>, f64) {
    let (x, y) = (unit(base, |x| dot(x, x)), unit(point, |x| dot(x, x)));
    let tangent = combine(ONE, &y, -dot(&x, &y), &x);
    let sine = dot(&tangent, &tangent).sqrt();
    let angle = libm::atan2(sine.value(), dot(&x, &y).value());
    (with_length(&tangent, sine, angle), angle)
}

/// log in the hyperboloid of curvature -1 of the points normalised, and its length.
pub fn hyperboloid_log(point: &[f64], base: &[f64]) -> (Vec<f64>, f64) {
    let (x, y) = (unit(base, |x| -minkowski(x, x)), unit(point, |x| -minkowski(x, x)));
    let tangent = combine(ONE, &y, minkowski(&x, &y), &x);
    let sinh = minkowski(&tangent, &tangent).sqrt();
    let angle = libm::asinh(sinh.value());
    (with_length(&tangent, sinh, angle), angle)
}

/// The vector i x of a complex vector.
fn rotated(x: &[Twofold]) -> Vector {
    x.chunks(2).flat_map(|z| [-z[1], z[0]]).collect()
}

/// log of planar shapes, and its length.
pub fn kendall_log(point: &[f64], base: &[f64]) -> (Vec<f64>, f64) {
    let (z, w) = (unit(base, |x| dot(x, x)), unit(point, |x| dot(x, x)));
    let (re, im) = (dot(&z, &w), dot(&rotated(&z), &w));
    let cos = (re * re + im * im).sqrt();
    let turned = combine(re / cos, &w, -(im / cos), &rotated(&w));
    let tangent = combine(ONE, &turned, -cos, &z);
    let sine = dot(&tangent, &tangent).sqrt();
    let angle = libm::atan2(sine.value(), cos.value());
    (with_length(&tangent, sine, angle), angle)
}
