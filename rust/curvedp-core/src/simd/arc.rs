//! Arc lengths from half chords, without division: polynomials in u = sin(t/2)^2 for angles t in
//! [0, pi/2]. Each interpolates at the Chebyshev points of [0, 1/2] with an error below 3e-17.

/// Smallest value taken for t cot t, which falls to minus infinity at the cut locus.
pub(crate) const COTANGENT_FLOOR: f64 = -16.0;

/// (asin(z)/z - 1)/z^2 in powers of z^2.
const ARC_OVER_CHORD: [f64; 19] = [
    0.16666666666666669,
    0.07499999999998412,
    0.044642857146655654,
    0.030381944084992746,
    0.022372177006627192,
    0.017352221536902322,
    0.013975730224099243,
    0.01139924543091176,
    0.011310930442084787,
    -0.003294232668448929,
    0.07377365207108956,
    -0.28099565631446904,
    0.9522680642152734,
    -2.353535874499935,
    4.384722306509683,
    -5.883246068449167,
    5.436394922152539,
    -3.0948600063047733,
    0.8387686144806944,
];

/// (asin(z)/(z sqrt(1 - z^2)) - 1)/z^2 in powers of z^2.
const ARC_OVER_SINE: [f64; 22] = [
    0.6666666666666666,
    0.533333333333342,
    0.4571428571400788,
    0.4063492067031902,
    0.36940834555098373,
    0.34099332446638875,
    0.3182324747515253,
    0.3000633591658702,
    0.2762916900810687,
    0.3507192292055461,
    -0.40739614115860867,
    4.547103099115464,
    -21.593623463978904,
    87.8074105266786,
    -277.1247612528218,
    689.988644919926,
    -1331.7555796276124,
    1958.1763823394458,
    -2119.8891051110786,
    1597.9859357809232,
    -751.2445185614264,
    167.55536407044409,
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
pub(crate) fn arc_over_chord(u: f64) -> f64 {
    1.0 + u * polynomial(&ARC_OVER_CHORD, u)
}

/// t/sin(t) at t = 2 asin(sqrt(u)), u in [0, 1/2].
#[inline(always)]
pub(crate) fn arc_over_sine(u: f64) -> f64 {
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
