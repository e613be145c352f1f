//! Arc lengths from half chords, without division: polynomials in u = sin(t/2)^2 for angles t in
//! [0, pi/2]. Each interpolates at the Chebyshev points of [0, 1/2] with an error below 3e-17.

/// Smallest value taken for t cot t, which falls to minus infinity at the cut locus.
pub(super) const COTANGENT_FLOOR: f64 = -16.0;

/// (asin(z)/z - 1)/z^2 in powers of z^2.
const ARC_OVER_CHORD: [f64; 19] = [
    1.66666666666666685e-01,
    7.49999999999841210e-02,
    4.46428571466556540e-02,
    3.03819440849927465e-02,
    2.23721770066271919e-02,
    1.73522215369023222e-02,
    1.39757302240992431e-02,
    1.13992454309117600e-02,
    1.13109304420847875e-02,
    -3.29423266844892882e-03,
    7.37736520710895599e-02,
    -2.80995656314469044e-01,
    9.52268064215273435e-01,
    -2.35353587449993507e+00,
    4.38472230650968342e+00,
    -5.88324606844916698e+00,
    5.43639492215253917e+00,
    -3.09486000630477331e+00,
    8.38768614480694397e-01,
];

/// (asin(z)/(z sqrt(1 - z^2)) - 1)/z^2 in powers of z^2.
const ARC_OVER_SINE: [f64; 22] = [
    6.66666666666666630e-01,
    5.33333333333341986e-01,
    4.57142857140078795e-01,
    4.06349206703190191e-01,
    3.69408345550983730e-01,
    3.40993324466388747e-01,
    3.18232474751525274e-01,
    3.00063359165870180e-01,
    2.76291690081068686e-01,
    3.50719229205546101e-01,
    -4.07396141158608671e-01,
    4.54710309911546418e+00,
    -2.15936234639789042e+01,
    8.78074105266785949e+01,
    -2.77124761252821827e+02,
    6.89988644919925946e+02,
    -1.33175557962761241e+03,
    1.95817638233944581e+03,
    -2.11988910511107861e+03,
    1.59798593578092323e+03,
    -7.51244518561426389e+02,
    1.67555364070444085e+02,
];

/// Four interleaved Horner schemes: a quarter of the latency of one.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], u: f64) -> f64 {
    let u2 = u * u;
    let u4 = u2 * u2;
    let mut parts = [0.0; 4];
    for i in (0..N).rev() {
        parts[i % 4] = parts[i % 4] * u4 + coefficients[i];
    }
    (parts[0] + u * parts[1]) + u2 * (parts[2] + u * parts[3])
}

/// asin(z)/z at z = sqrt(u), u in [0, 1/2]: arc over chord of the angle 2 asin(z).
#[inline(always)]
pub(super) fn arc_over_chord(u: f64) -> f64 {
    1.0 + u * polynomial(&ARC_OVER_CHORD, u)
}

/// t/sin(t) at t = 2 asin(sqrt(u)), u in [0, 1/2].
#[inline(always)]
pub(super) fn arc_over_sine(u: f64) -> f64 {
    1.0 + u * polynomial(&ARC_OVER_SINE, u)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_within_two_ulp_of_the_arcsine() {
        for i in 1..=100_000 {
            let u = 0.5 * f64::from(i) / 100_000.0;
            for u in [u, u * 1e-9, u * u * u] {
                let z = u.sqrt();
                let chord = libm::asin(z) / z;
                let sine = 2.0 * libm::asin(z) / libm::sin(2.0 * libm::asin(z));
                assert!((arc_over_chord(u) / chord - 1.0).abs() < 4.0 * f64::EPSILON, "{u}");
                assert!((arc_over_sine(u) / sine - 1.0).abs() < 4.0 * f64::EPSILON, "{u}");
            }
        }
        assert_eq!(arc_over_chord(0.0), 1.0);
        assert_eq!(arc_over_sine(0.0), 1.0);
    }
}
