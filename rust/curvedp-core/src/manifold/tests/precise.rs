//! Double-double arithmetic (Dekker, Knuth) and the formulas of the manifolds in it: about 31 digits up
//! to the last elementary function.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of two numbers.
#[derive(Clone, Copy, Debug)]
pub struct Twofold(f64, f64);

impl Twofold {
    pub fn value(self) -> f64 {
        self.0 + self.1
    }

    pub fn sqrt(self) -> Self {
        if self.0 <= 0.0 {
            return Self(0.0, 0.0);
        }
        let root = self.0.sqrt();
        let rest = (self - product(root, root)).value();
        two_sum(root, rest / (2.0 * root))
    }
}

impl From<f64> for Twofold {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

fn two_sum(a: f64, b: f64) -> Twofold {
    let s = a + b;
    let t = s - a;
    Twofold(s, (a - (s - t)) + (b - t))
}

fn product(a: f64, b: f64) -> Twofold {
    let p = a * b;
    Twofold(p, a.mul_add(b, -p))
}

impl Add for Twofold {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (s, t) = (two_sum(self.0, other.0), two_sum(self.1, other.1));
        let u = two_sum(s.0, s.1 + t.0);
        two_sum(u.0, u.1 + t.1)
    }
}

impl Neg for Twofold {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for Twofold {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Twofold {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let p = product(self.0, other.0);
        two_sum(p.0, p.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Twofold {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let q = self.0 / other.0;
        let rest = self - other * q.into();
        let q2 = rest.0 / other.0;
        let rest = rest - other * q2.into();
        two_sum(q, q2) + (rest.0 / other.0).into()
    }
}

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

const ONE: Twofold = Twofold(1.0, 0.0);

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
