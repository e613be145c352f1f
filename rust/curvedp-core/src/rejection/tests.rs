use super::chart::log_mean_exp;
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

    fn scale(&self) -> f64 {
        self.scale
    }

    fn exponent(&self, x: &[f64]) -> Option<Exponent> {
        let norm = (x[0] - self.shift[0]).abs() + (x[1] - self.shift[1]).abs();
        (x[0].hypot(x[1]) <= self.radius).then_some(Exponent { volume: 0.0, norm })
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

/// The step of a fine lattice.
const STEP: f64 = 1.0 / (1u64 << 40) as f64;

/// Chi-square of draws against the density on a grid of cells over the disc's box, and its degrees.
fn chi_square(cone: &Cone, draws: usize, seed: u8) -> (f64, usize) {
    const CELLS: usize = 12;
    const FINE: usize = 24;
    let width = 2.0 * cone.radius / CELLS as f64;
    let mut expected = vec![0.0; CELLS * CELLS];
    for i in 0..CELLS * FINE {
        for j in 0..CELLS * FINE {
            let at = |k: usize| -cone.radius + (k as f64 + 0.5) * width / FINE as f64;
            if let Some(Exponent { norm, .. }) = cone.exponent(&[at(i), at(j)]) {
                expected[i / FINE * CELLS + j / FINE] += (-norm / cone.scale).exp();
            }
        }
    }
    let total: f64 = expected.iter().sum();
    expected.iter_mut().for_each(|x| *x *= draws as f64 / total);
    let mut counts = vec![0.0; CELLS * CELLS];
    let mut stream = Stream::from_key([seed; 32], 0);
    let one_by_one = draws / 10;
    let (mut points, _) = sample(cone, STEP, draws - one_by_one, &mut stream, &|| false).unwrap();
    for _ in 0..one_by_one {
        points.extend(sample(cone, STEP, 1, &mut stream, &|| false).unwrap().0);
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
            let (points, evaluations) = sample(&cone, STEP, 1, &mut stream, &|| false).unwrap();
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
    assert_eq!(sample(&needle, STEP, 1, &mut stream, &|| true), Err(Error::Interrupted));
}

/// Every lattice point has its own probability, and boxes are cut down to single ones.
#[test]
fn points_of_a_coarse_lattice_have_the_law() {
    for (scale, affine) in [(0.05, false), (0.05, true), (0.4, true), (4.0, true)] {
        let cone = Cone { scale, shift: [0.4, -0.2], radius: 1.0, slack: 1.0, affine };
        let mut stream = Stream::from_key([4; 32], 0);
        let (found, all) = (20_000, 1 << 4);
        let (points, _) = sample(&cone, 0.125, found, &mut stream, &|| false).unwrap();
        let at = |k: i32| 0.125 * f64::from(k - all / 2);
        let masses: Vec<f64> = (0..all * all)
            .map(|i| cone.exponent(&[at(i / all), at(i % all)]))
            .map(|e| e.map_or(0.0, |e| (-e.norm / scale).exp()))
            .collect();
        let total: f64 = masses.iter().sum();
        let mut counts = vec![0.0; masses.len()];
        for x in &points {
            let index = |x: f64| (x / 0.125 + f64::from(all / 2)) as usize;
            assert!(x.iter().all(|x| (x / 0.125).fract() == 0.0));
            counts[index(x[0]) * all as usize + index(x[1])] += 1.0;
        }
        let (mut square, mut degrees) = (0.0, 0);
        for (mass, count) in masses.iter().zip(&counts) {
            let expected = mass / total * found as f64;
            if expected > 5.0 {
                square += (count - expected) * (count - expected) / expected;
                degrees += 1;
            }
            assert!(*mass > 0.0 || *count == 0.0);
        }
        assert!(degrees > 10 && square < limit(degrees), "{scale} {affine}: {square} {degrees}");
    }
}

/// The same answer from two and from more words; and the weight of a box is no less than its bound.
#[test]
fn decisions_do_not_depend_on_the_words() {
    let cone = Cone { scale: 0.1, shift: [0.4, -0.2], radius: 1.0, slack: 1.0, affine: true };
    let boxes = Boxes::cover(&cone, STEP).unwrap();
    let mut stream = Stream::from_key([5; 32], 0);
    let mut accepted = 0;
    for _ in 0..3000 {
        let mut cell = boxes.root.clone();
        for _ in 0..stream.bits() % 12 {
            cell.enter((stream.bits() % 2) as usize, stream.sign() > 0.0);
        }
        let Some(bound) = cone.bound(&cell.center(&boxes.steps), &cell.half(&boxes.steps)) else {
            continue;
        };
        let (weight, tilts) = (boxes.weight(&bound, &cell), boxes.tilts(&bound, &cell));
        let parts: Vec<u64> = tilts.iter().map(|t| t.draw(&mut stream)).collect();
        let height = stream.variable();
        let corner = |(((lower, bits), tilt), part): (((&i64, &u32), &Tilt), &u64)| {
            let fair = bits - tilt.ratios.len() as u32;
            let at = part << fair;
            *lower as f64 + (if tilt.falls { at } else { (1 << bits) - 1 - at }) as f64
        };
        let cells = cell.lower.iter().zip(&cell.bits).zip(&tilts).zip(&parts);
        let point: Vec<f64> =
            cells.zip(&boxes.steps).map(|(cell, step)| corner(cell) * step).collect();
        let Some(exponent) = cone.exponent(&point) else { continue };
        let (scale, reference, depth) = (cone.scale, boxes.reference, cell.depth);
        let (tilts, parts, stream) = (&tilts[..], &parts[..], &stream);
        let proposal =
            Proposal { exponent, scale, reference, weight, depth, tilts, parts, height, stream };
        let answers = [Effort::Least, Effort::Steady].map(|effort| decide(&proposal, effort));
        assert_eq!(answers[0], answers[1]);
        assert_eq!(proposal.ask::<8>(), Ok(answers[0]));
        accepted += u32::from(answers[0]);
        // no point lies above the bound
        let height = Variable::prefix(u64::MAX, 64);
        assert_ne!(Proposal { height, ..proposal }.ask::<8>(), Ok(true));
    }
    assert!(accepted > 200, "{accepted}");
}

#[test]
fn steps_that_are_too_small_are_refused() {
    let cone = Cone { scale: 0.1, shift: [0.4, -0.2], radius: 1.0, slack: 1.0, affine: true };
    let mut stream = Stream::from_key([5; 32], 0);
    for step in [2f64.powi(-60), f64::NAN, 0.0] {
        let refused = sample(&cone, step, 1, &mut stream, &|| false);
        assert!(matches!(refused, Err(Error::Parameter { name: "step", .. })));
    }
}

/// Parts are drawn in proportion to a bound that is no less than the exponential.
#[test]
fn tilted_places_follow_their_bound() {
    let mut stream = Stream::from_key([6; 32], 0);
    for (slope, half, bits) in [(0.3, 1.0, 20), (-3.0, 2.0, 20), (40.0, 1.0, 3), (1e6, 1.0, 6)] {
        let tilt = Tilt::new(slope, half, bits);
        let count = 1u64 << tilt.ratios.len();
        let on = |part: u64| tilt.on::<4>(part).middle_as_double();
        for part in 0..count {
            let fall = 2.0 * f64::abs(slope) * half * part as f64 / count as f64;
            assert!(on(part) >= (-fall).exp() * (1.0 - 1e-15), "{slope} {part}");
            assert!(slope.abs() > 10.0 || on(part) < (-fall).exp() * 1.01);
        }
        let mean = (0..count).map(on).sum::<f64>() / count as f64;
        assert!((mean / tilt.mean::<4>().middle_as_double() - 1.0).abs() < 1e-14);
        assert!((mean.ln() - tilt.ln_mean()).abs() < 1e-12);
        let n = 20_000;
        let drawn = (0..n).map(|_| tilt.draw(&mut stream));
        let average = drawn.map(|part| part as f64).sum::<f64>() / f64::from(n);
        let expected = (0..count).map(|part| part as f64 * on(part)).sum::<f64>() / count as f64;
        let error = 5.0 * count as f64 / f64::from(n).sqrt();
        assert!((average - expected / mean).abs() < error, "{slope} {average}");
    }
    assert!(Tilt::new(1e-3, 1.0, 20).ratios.is_empty());
}

#[test]
fn means_of_exponentials_are_those_of_the_formula() {
    let slope = [2.0, -3.0, 0.0, 1e-5, 0.0, 0.0];
    let expected = (1f64.sinh() / 1.0).ln() + (3f64.sinh() / 3.0).ln();
    assert!((log_mean_exp(&slope, &[0.5, 1.0, 1.0, 1.0]) - expected).abs() < 1e-9);
}
