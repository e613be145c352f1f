//! Elementary functions without branches or calls: a plain loop over an array of arguments vectorises
//! when it runs inside [`crate::simd::vectorize`]. Errors are within 2 ulp on the stated domains.
//!
//! Polynomials and argument reductions follow FreeBSD's msun (`e_log.c`, `k_sin.c`, `k_cos.c`,
//! `s_atan.c`; Copyright 1993 Sun Microsystems, permission to use freely granted).

#![allow(clippy::excessive_precision)] // coefficients stand as in their source

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

/// 1.5 * 2^52: adding it rounds to the nearest integer and leaves that integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LO: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Natural logarithm of a positive normal number.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let k = f64::from_bits((shifted >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w
        * (3.999999999940941908e-01
            + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    let odd = z
        * (6.666666666666735130e-01
            + w * (2.857142874366239149e-01
                + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    let r = even + odd;
    let half_square = 0.5 * f * f;
    k * LN2_HI - ((half_square - (s * (half_square + r) + k * LN2_LO)) - f)
}

/// ln(1 + x) for x > -1, with full relative accuracy near 0.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    ln(u) + (x - (u - 1.0)) / u
}

/// Exponential; arguments are clamped to [-708, 709], so the result is positive, normal and finite.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = if x > -708.0 { x } else { -708.0 };
    let x = if x < 709.0 { x } else { 709.0 };
    let t = x * (1.0 / LN_2) + ROUND;
    let k = t - ROUND;
    let hi = x - k * LN2_HI;
    let lo = k * LN2_LO;
    let r = hi - lo;
    let z = r * r;
    let c = r - z
        * (1.66666666666666019037e-01
            + z * (-2.77777777770155933842e-03
                + z * (6.61375632143793436117e-05
                    + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))));
    let y = 1.0 + (r * c / (2.0 - c) - lo + hi);
    y * f64::from_bits(t.to_bits().wrapping_add(1023) << 52)
}

/// Sine and cosine for |x| <= 1e5.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    const PIO2_HI: f64 = 1.57079632673412561417e+00;
    const PIO2_MID: f64 = 6.07710050630396597660e-11;
    const PIO2_LO: f64 = 2.02226624879595063154e-21;
    let t = x * (2.0 / std::f64::consts::PI) + ROUND;
    let q = t - ROUND;
    let hi = x - q * PIO2_HI;
    let mid = q * PIO2_MID;
    let r0 = hi - mid;
    let r = r0 - (q * PIO2_LO - ((hi - r0) - mid));
    let z = r * r;
    let sin = r + r
        * z
        * (-1.66666666666666324348e-01
            + z * (8.33333333332248946124e-03
                + z * (-1.98412698298579493134e-04
                    + z * (2.75573137070700676789e-06
                        + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    let p = z
        * (4.16666666666666019037e-02
            + z * (-1.38888888888741095749e-03
                + z * (2.48015872894767294178e-05
                    + z * (-2.75573143513906633035e-07
                        + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    let half = 0.5 * z;
    let w = 1.0 - half;
    let cos = w + (((1.0 - w) - half) + z * p);
    let quadrant = t.to_bits();
    let swap = quadrant & 1 != 0;
    let sin_sign = (quadrant & 2) << 62;
    let cos_sign = (quadrant.wrapping_add(1) & 2) << 62;
    let (s, c) = if swap { (cos, sin) } else { (sin, cos) };
    (f64::from_bits(s.to_bits() ^ sin_sign), f64::from_bits(c.to_bits() ^ cos_sign))
}

/// The angle in [0, pi/2] with tangent y/x, for y, x >= 0; 0 if both are 0.
#[inline(always)]
pub fn atan2_nonneg(y: f64, x: f64) -> f64 {
    const ATAN_HALF_HI: f64 = 4.63647609000806093515e-01;
    const ATAN_HALF_LO: f64 = 2.26987774529616870924e-17;
    const PIO4_LO: f64 = 3.06161699786838301793e-17;
    let steep = y > x;
    let (n, d) = if steep { (x, y) } else { (y, x) };
    let middle = n > 0.4375 * d;
    let upper = n > 0.6875 * d;
    let (num, den) = if middle { (2.0 * n - d, 2.0 * d + n) } else { (n, d) };
    let (num, den) = if upper { (n - d, n + d) } else { (num, den) };
    let (hi, lo) = if middle { (ATAN_HALF_HI, ATAN_HALF_LO) } else { (0.0, 0.0) };
    let (hi, lo) = if upper { (FRAC_PI_4, PIO4_LO) } else { (hi, lo) };
    let t = num / (if den > f64::MIN_POSITIVE { den } else { f64::MIN_POSITIVE });
    let z = t * t;
    let w = z * z;
    let odd = z
        * (3.33333333333329318027e-01
            + w * (1.42857142725034663711e-01
                + w * (9.09088713343650656196e-02
                    + w * (6.66107313738753120669e-02
                        + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)))));
    let even = w
        * (-1.99999999998764832476e-01
            + w * (-1.11111104054623557880e-01
                + w * (-7.69187620504482999495e-02
                    + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02))));
    let angle = hi - ((t * (odd + even) - lo) - t);
    const PIO2_LO: f64 = 6.12323399573676603587e-17;
    if steep { FRAC_PI_2 - (angle - PIO2_LO) } else { angle }
}

/// Inverse hyperbolic sine of x in [0, 1e150].
#[inline(always)]
pub fn asinh_nonneg(x: f64) -> f64 {
    let square = x * x;
    ln_1p(x + square / (1.0 + (1.0 + square).sqrt()))
}

/// sin(x)/x for |x| <= 1e5, 1 at 0.
#[inline(always)]
pub fn sinc(x: f64) -> f64 {
    let (sin, _) = sin_cos(x);
    if x == 0.0 { 1.0 } else { sin / x }
}

/// sinh(x)/x, 1 at 0; |x| <= 700.
#[inline(always)]
pub fn sinhc(x: f64) -> f64 {
    /// 1/(k (k - 1)) for k = 3, 5, ..., 19.
    const RATIOS: [f64; 9] = [
        1.0 / 6.0,
        1.0 / 20.0,
        1.0 / 42.0,
        1.0 / 72.0,
        1.0 / 110.0,
        1.0 / 156.0,
        1.0 / 210.0,
        1.0 / 272.0,
        1.0 / 342.0,
    ];
    let z = x * x;
    let mut series = 1.0;
    for ratio in RATIOS.iter().rev() {
        series = 1.0 + series * (z * ratio);
    }
    let e = exp(x);
    let ratio = 0.5 * (e - 1.0 / e) / x;
    if z < 1.0 { series } else { ratio }
}

/// Hyperbolic sine, |x| <= 700.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    x * sinhc(x)
}

/// Hyperbolic cosine, |x| <= 700.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let e = exp(x);
    0.5 * (e + 1.0 / e)
}

/// Coefficients 2n/(2n + 1)! of (x cosh x - sinh x)/x^3 in powers of x^2, n = 1, 2, ...
const COSH_MINUS_SINHC: [f64; 10] = {
    let mut coefficients = [0.0; 10];
    let mut factorial = 1.0;
    let mut n = 1;
    while n <= 10 {
        factorial *= (2 * n * (2 * n + 1)) as f64;
        coefficients[n - 1] = (2 * n) as f64 / factorial;
        n += 1;
    }
    coefficients
};

/// Coefficients 1/(2n + 1)! of sinh(x)/x in powers of x^2, n = 0, 1, ...
const SINHC: [f64; 10] = {
    let mut coefficients = [1.0; 10];
    let mut n = 1;
    while n < 10 {
        coefficients[n] = coefficients[n - 1] / (2 * n * (2 * n + 1)) as f64;
        n += 1;
    }
    coefficients
};

#[inline(always)]
fn horner<const N: usize>(coefficients: &[f64; N], z: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum * z + coefficients[i];
    }
    sum
}

/// (x coth x - 1)/x^2 at z = x^2 >= 0: decreases from 1/3; relative error within 8 ulp.
///
/// Near 0 it is (x cosh x - sinh x)/x^3 over sinh(x)/x, both series of positive terms.
#[inline(always)]
pub fn coth_excess(z: f64) -> f64 {
    let near = z < 1.0;
    let small = if near { z } else { 1.0 };
    let large = if near { 1.0 } else { z };
    let series = horner(&COSH_MINUS_SINHC, small) / horner(&SINHC, small);
    let x = large.sqrt();
    let direct = ((x - 1.0) + 2.0 * x / (exp(2.0 * x) - 1.0)) / large;
    if near { series } else { direct }
}

/// (1 - x cot x)/x^2 at z = x^2 >= 0: increases from 1/3 to a pole at pi, and stays at its value one
/// rounding below the pole from there on.
///
/// Near 0 it is (sin x - x cos x)/x^3 over sin(x)/x, whose series alternate but fall fast.
#[inline(always)]
pub fn cot_excess(z: f64) -> f64 {
    let near = z < 1.0;
    let small = if near { -z } else { -1.0 };
    let x = (if near { 1.0 } else { z }).sqrt();
    let x = if x < PI { x } else { PI }; // below pi: as a float64, PI is
    let series = horner(&COSH_MINUS_SINHC, small) / horner(&SINHC, small);
    let (sin, cos) = sin_cos(x);
    let direct = (sin - x * cos) / (x * x * sin);
    if near { series } else { direct }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::vectorize;

    fn ulps(a: f64, b: f64) -> f64 {
        if a == b { 0.0 } else { (a - b).abs() / (b.abs() * f64::EPSILON).max(f64::MIN_POSITIVE) }
    }

    fn worst(points: impl Iterator<Item = f64>, ours: fn(f64) -> f64, libm: fn(f64) -> f64) -> f64 {
        points.map(|x| ulps(ours(x), libm(x))).fold(0.0, f64::max)
    }

    fn grid(lo: f64, hi: f64) -> impl Iterator<Item = f64> {
        (0..200_000).map(move |i| lo + (hi - lo) * (i as f64 + 0.377) / 200_000.0)
    }

    fn powers(lo: f64, hi: f64) -> impl Iterator<Item = f64> {
        grid(lo, hi).map(|e| libm::pow(10.0, e))
    }

    #[test]
    fn elementary_functions_are_within_two_ulp() {
        assert!(worst(powers(-300.0, 300.0), ln, libm::log) <= 1.0);
        assert!(worst(grid(0.5, 2.0), ln, libm::log) <= 1.0);
        assert!(worst(powers(-300.0, 20.0), ln_1p, libm::log1p) <= 2.0);
        assert!(worst(grid(-0.9999, 1.0), ln_1p, libm::log1p) <= 2.0);
        assert!(worst(grid(-708.0, 709.0), exp, libm::exp) <= 2.0);
        assert!(worst(grid(-1.0, 1.0), exp, libm::exp) <= 2.0);
        assert!(worst(powers(-300.0, 100.0), asinh_nonneg, libm::asinh) <= 2.0);
        assert!(worst(grid(-20.0, 20.0), sinh, libm::sinh) <= 3.0);
        assert!(worst(powers(-300.0, 0.0), sinh, libm::sinh) <= 2.0);
        assert!(worst(grid(-20.0, 20.0), cosh, libm::cosh) <= 2.0);
    }

    #[test]
    fn sine_and_cosine_are_within_one_ulp_of_one() {
        for x in grid(-1e5, 1e5).chain(grid(-4.0, 4.0)).chain(powers(-300.0, 0.0)) {
            let (s, c) = sin_cos(x);
            assert!(ulps(s, libm::sin(x)) <= 2.0, "sin {x}");
            assert!(ulps(c, libm::cos(x)) <= 2.0, "cos {x}");
        }
        assert_eq!(sinc(0.0), 1.0);
        assert_eq!(sinhc(0.0), 1.0);
    }

    #[test]
    fn angles_are_within_two_ulp_in_the_first_quadrant() {
        for t in grid(0.0, FRAC_PI_2).chain(powers(-300.0, 0.0)) {
            let (y, x) = (3.7 * libm::sin(t), 3.7 * libm::cos(t));
            assert!(ulps(atan2_nonneg(y, x), libm::atan2(y, x)) <= 2.0, "{t}");
            assert!(ulps(atan2_nonneg(x, y), libm::atan2(x, y)) <= 2.0, "{t}");
        }
        assert_eq!(atan2_nonneg(0.0, 0.0), 0.0);
        assert_eq!(atan2_nonneg(1.0, 0.0), FRAC_PI_2);
    }

    #[test]
    fn vectorised_loops_give_the_same_bits() {
        let x: Vec<f64> = grid(0.01, 3.0).collect();
        let mut y = vec![0.0; x.len()];
        vectorize(
            #[inline(always)]
            || {
                for (y, &x) in y.iter_mut().zip(&x) {
                    *y = ln(x) + exp(-x) + sin_cos(x).0 + atan2_nonneg(x, 1.0);
                }
            },
        );
        for (y, &x) in y.iter().zip(&x) {
            assert_eq!(*y, ln(x) + exp(-x) + sin_cos(x).0 + atan2_nonneg(x, 1.0));
        }
    }

    /// 2 sum_n sign^(n+1) zeta(2n) z^(n-1)/pi^2n for z <= 1, from libm beyond.
    fn excess(z: f64, sign: f64) -> f64 {
        let x = z.sqrt();
        if z > 1.0 {
            let direct = if sign > 0.0 { x / libm::tan(x) } else { x / libm::tanh(x) };
            return sign * (1.0 - direct) / z;
        }
        let zeta = |s: i32| 1.0 + (2..200).rev().map(|k| f64::from(k).powi(-s)).sum::<f64>();
        let term = |n: i32| {
            let share = match n {
                1 => 1.0 / 6.0,
                2 => 1.0 / 90.0,
                3 => 1.0 / 945.0,
                _ => zeta(2 * n) / PI.powi(2 * n),
            };
            2.0 * share * (sign * z).powi(n - 1)
        };
        (1..30).rev().map(term).sum()
    }

    #[test]
    fn excesses_keep_relative_accuracy_at_every_size() {
        let sizes = || (0..2000).map(|i| libm::pow(10.0, -300.0 + 0.15 * f64::from(i)));
        for z in sizes().chain(grid(0.0, 2.0).step_by(50)) {
            assert!(ulps(coth_excess(z), excess(z, -1.0)) <= 10.0 || z > 1.0, "coth {z}");
            assert!(ulps(cot_excess(z), excess(z, 1.0)) <= 10.0 || z > 1.0, "cot {z}");
        }
        for x in grid(1.0, 300.0).step_by(50) {
            assert!(ulps(coth_excess(x * x), excess(x * x, -1.0)) <= 20.0, "coth {x}");
        }
        for x in grid(1.0, 3.1).step_by(50) {
            let conditioning = PI / (PI - x);
            let error = ulps(cot_excess(x * x), excess(x * x, 1.0));
            assert!(error <= 10.0 * conditioning, "cot {x} {error}");
        }
        assert_eq!([coth_excess(0.0), cot_excess(0.0)], [1.0 / 3.0; 2]);
        for z in [PI * PI, 10.0, 1e10, 1e300, f64::INFINITY] {
            assert!(cot_excess(z) > 1e14 && cot_excess(z).is_finite(), "{z}");
        }
        assert!(coth_excess(1e300).is_finite());
    }
}
