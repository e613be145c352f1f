//! Double-double arithmetic (Dekker, Knuth): about 31 digits, for the few places where large numbers are
//! subtracted.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of two numbers.
#[derive(Clone, Copy, Debug)]
pub struct Twofold(f64, f64);

impl Twofold {
    /// 1
    pub const ONE: Self = Self(1.0, 0.0);

    /// The nearest double.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 + self.1
    }

    /// The square root; 0 of what is not positive.
    #[must_use]
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
