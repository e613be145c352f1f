use super::*;

/// exp(-|x|_1 / scale) on the disc of radius `radius` about 0, shifted by `shift`.
struct Cone {
    scale: f64,
    shift: [f64; 2],
    radius: f64,
    /// Factor on the slack of the bounds: below 1 they are wrong.
    slack: f64,
    affine: bool,
}

impl Cone {
    fn height(&self, x: &[f64]) -> f64 {
        -((x[0] - self.shift[0]).abs() + (x[1] - self.shift[1]).abs()) / self.scale
    }
}

impl Bounded for Cone {
    fn extent(&self) -> Vec<f64> {
        vec![self.radius; 2]
    }

    fn log_density(&self, x: &[f64]) -> Option<f64> {
        (x[0].hypot(x[1]) <= self.radius).then(|| self.height(x))
    }

    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound> {
        let nearest = |i: usize| (center[i].abs() - half[i]).max(0.0);
        let slack = self.slack * (half[0] + half[1]) / self.scale;
        // across a cone's ridges a constant, elsewhere the affine function itself
        let mut slope = [0.0; MAX_DIM];
        let mut log_density = self.height(center) + slack;
        for i in 0..2 {
            let side = center[i] - self.shift[i];
            if self.affine && side.abs() >= half[i] {
                slope[i] = -side.signum() / self.scale;
                log_density -= self.slack * half[i] / self.scale;
            }
        }
        let axis = usize::from(half[1] > half[0]);
        (nearest(0).hypot(nearest(1)) <= self.radius).then_some(Bound { log_density, slope, axis })
    }
}

/// Chi-square of draws against the density on a grid of cells over the disc's box, and its degrees.
fn chi_square(cone: &Cone, draws: usize, seed: u8) -> (f64, usize) {
    const CELLS: usize = 12;
    const FINE: usize = 24;
    let width = 2.0 * cone.radius / CELLS as f64;
    let mut expected = vec![0.0; CELLS * CELLS];
    for i in 0..CELLS * FINE {
        for j in 0..CELLS * FINE {
            let at = |k: usize| -cone.radius + (k as f64 + 0.5) * width / FINE as f64;
            if let Some(log) = cone.log_density(&[at(i), at(j)]) {
                expected[i / FINE * CELLS + j / FINE] += log.exp();
            }
        }
    }
    let total: f64 = expected.iter().sum();
    expected.iter_mut().for_each(|x| *x *= draws as f64 / total);
    let mut counts = vec![0.0; CELLS * CELLS];
    let mut stream = Stream::from_key([seed; 32], 0);
    let one_by_one = draws / 10;
    let (mut points, _) = sample(cone, draws - one_by_one, &mut stream, &|| false).unwrap();
    for _ in 0..one_by_one {
        points.extend(sample(cone, 1, &mut stream, &|| false).unwrap().0);
    }
    for x in points {
        let cell = |x: f64| (((x + cone.radius) / width) as usize).min(CELLS - 1);
        counts[cell(x[0]) * CELLS + cell(x[1])] += 1.0;
    }
    let (mut square, mut cells, mut rest) = (0.0, 0, (0.0, 0.0));
    for (count, expected) in counts.iter().zip(&expected) {
        if *expected >= 8.0 {
            square += (count - expected) * (count - expected) / expected;
            cells += 1;
        } else {
            rest = (rest.0 + count, rest.1 + expected);
        }
    }
    if rest.1 > 8.0 {
        square += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
        cells += 1;
    }
    (square, cells - 1)
}

/// Five standard deviations of a chi-square.
fn limit(degrees: usize) -> f64 {
    degrees as f64 + 5.5 * (2.0 * degrees as f64).sqrt()
}

#[test]
fn draws_follow_the_density() {
    for (scale, shift) in [(0.3, [0.4, -0.2]), (3.0, [0.0, 0.0]), (0.1, [1.2, 0.3])] {
        for affine in [false, true] {
            let cone = Cone { scale, shift, radius: 1.0, slack: 1.0, affine };
            let (square, degrees) = chi_square(&cone, 20_000, 1);
            assert!(square < limit(degrees), "{square} on {degrees} at {scale}");
        }
    }
    // the negative control: bounds that are no bounds
    let wrong = Cone { scale: 0.3, shift: [0.4, -0.2], radius: 1.0, slack: 0.2, affine: false };
    let (square, degrees) = chi_square(&wrong, 20_000, 1);
    assert!(square > limit(degrees), "{square} on {degrees}");
}

#[test]
fn a_needle_and_a_far_peak_are_drawn() {
    let mut stream = Stream::from_key([2; 32], 0);
    for (scale, shift) in [(1e-6, [0.4, -0.2]), (1e-3, [30.0, 0.0]), (1e9, [0.0, 0.0])] {
        let cone = Cone { scale, shift, radius: 1.0, slack: 1.0, affine: scale < 1e-4 };
        for _ in 0..20 {
            let (points, evaluations) = sample(&cone, 1, &mut stream, &|| false).unwrap();
            let x = &points[0];
            assert!(x[0].hypot(x[1]) <= 1.0);
            assert!(evaluations < 3000, "{evaluations} at {scale}");
            if scale == 1e-6 {
                assert!((x[0] - 0.4).abs() + (x[1] + 0.2).abs() < 1e-4);
            }
        }
    }
}

#[test]
fn a_raised_flag_ends_the_draw() {
    let needle = Cone { scale: 1e-12, shift: [0.4, -0.2], radius: 1.0, slack: 1e3, affine: false };
    let mut stream = Stream::from_key([3; 32], 0);
    assert_eq!(sample(&needle, 1, &mut stream, &|| true), Err(Error::Interrupted));
}

#[test]
fn sums_of_logarithms_are_stable() {
    assert_eq!(log_sum(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
    assert_eq!(log_sum(f64::NEG_INFINITY, -3.0), -3.0);
    assert!((log_sum(-1e4, -1e4) - (2f64.ln() - 1e4)).abs() < 1e-10);
}

#[test]
fn exponential_laws_on_intervals_are_inverted() {
    for k in [0.0, 1e-9, -0.3, 5.0, -40.0, 1e6] {
        let mean = |f: &dyn Fn(f64) -> f64| {
            (0..4000).map(|i| f((f64::from(i) + 0.5) / 4000.0)).sum::<f64>() / 4000.0
        };
        let found = mean(&|u| exponential_on_interval(k, u));
        let expected = if k == 0.0 { 0.0 } else { 1.0 / f64::tanh(k) - 1.0 / k };
        assert!((found - expected).abs() < 2e-4, "{k}: {found} against {expected}");
    }
    let slope = [2.0, -3.0, 0.0, 1e-5, 0.0, 0.0];
    let expected = (1f64.sinh() / 1.0).ln() + (3f64.sinh() / 3.0).ln();
    assert!((log_mean_exp(&slope, &[0.5, 1.0, 1.0, 1.0]) - expected).abs() < 1e-9);
}
