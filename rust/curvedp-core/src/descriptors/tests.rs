use super::covariance::{Scatter, block_samples, scaled_identity, stride};
use super::features::Feature;
use super::image::{ImageCovariance, Pixels};
use super::time_series::TimeSeriesCovariance;
use crate::parallel::set_num_threads;
use proptest::prelude::*;

const REGION: [&str; 9] = [
    "x",
    "y",
    "intensity",
    "abs_dx",
    "abs_dy",
    "abs_dxx",
    "abs_dyy",
    "gradient_norm",
    "orientation",
];
const ALL: [&str; 16] = [
    "x",
    "y",
    "intensity",
    "gray",
    "dx",
    "dy",
    "dxx",
    "dyy",
    "dxy",
    "abs_dx",
    "abs_dy",
    "abs_dxx",
    "abs_dyy",
    "abs_dxy",
    "gradient_norm",
    "orientation",
];

fn never() -> bool {
    false
}

/// A reproducible sequence without structure.
fn noise(count: usize) -> Vec<f64> {
    let mut state = 1_u64;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        })
        .collect()
}

fn textbook_covariance(rows: &[Vec<f64>]) -> Vec<f64> {
    let n = rows[0].len() as f64;
    let means: Vec<f64> = rows.iter().map(|row| row.iter().sum::<f64>() / n).collect();
    let mut out = Vec::new();
    for (a, mean_a) in rows.iter().zip(&means) {
        for (b, mean_b) in rows.iter().zip(&means) {
            out.push(a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum::<f64>() / n);
        }
    }
    out
}

#[test]
fn blocks_merge_to_the_covariance_of_all_samples() {
    for (m, samples) in
        [(1, 1), (2, 7), (3, 8), (4, 1023), (5, 1025), (6, 700), (9, 5000), (71, 130)]
    {
        let data = noise(m * samples);
        let rows: Vec<Vec<f64>> = data
            .chunks(samples)
            .enumerate()
            .map(|(k, row)| row.iter().map(|x| x + 1e3 * k as f64).collect())
            .collect();
        let mut scatter = Scatter::new(m);
        for first in (0..samples).step_by(block_samples(m)) {
            let count = block_samples(m).min(samples - first);
            let mut block = vec![f64::NAN; m * stride(count)];
            for (out, row) in block.chunks_mut(stride(count)).zip(&rows) {
                out[..count].copy_from_slice(&row[first..first + count]);
            }
            scatter.add(&mut block, count);
        }
        let mut out = vec![0.0; m * m];
        scatter.covariance(0.0, 1e-3, &mut out);
        for (k, (a, b)) in out.iter().zip(textbook_covariance(&rows)).enumerate() {
            let ridge = if k % (m + 1) == 0 { 1e-3 } else { 0.0 };
            assert!((a - b - ridge).abs() < 1e-12, "m = {m}, n = {samples}");
        }
    }
}

fn descriptor(names: &[&str], pixels: &[f64], (height, width): (usize, usize)) -> Vec<f64> {
    let features = Feature::parse(names, 1).unwrap();
    let m = features.len();
    let task = ImageCovariance {
        height,
        width,
        gray_weights: &[1.0],
        features: &features,
        value_range: (0.0, 1.0),
        ridge: 1e-6,
    };
    let count = pixels.len() / (height * width);
    let mut out = vec![f64::NAN; count * m * m];
    task.descriptors(Pixels::Floats(pixels), &mut out, &never).unwrap();
    out
}

#[test]
fn unknown_features_are_refused() {
    let error = Feature::parse(&["x", "z"], 1).unwrap_err();
    assert_eq!(error.to_string(), "unknown pixel feature \"z\"");
    assert_eq!(Feature::parse(&["intensity"], 3).unwrap().len(), 3);
}

#[test]
fn a_linear_ramp_has_constant_derivatives_inside() {
    let (height, width) = (4, 64);
    let ramp: Vec<f64> = (0..height * width).map(|i| (i % width) as f64 / 64.0).collect();
    let out = descriptor(&["dx", "dy", "dxx", "dyy", "dxy"], &ramp, (height, width));
    // [-1 0 1] gives 2/64 inside and 1/64 at both ends of every row; [-1 2 -1] gives -+1/64 there
    let (inside, end) = (62.0 / 64.0, 2.0 / 64.0);
    let dx = inside * end / 64.0_f64.powi(2);
    let dxx = end / 64.0_f64.powi(2);
    assert!((out[0] - 1e-6 - dx).abs() < 1e-17);
    assert!((out[12] - 1e-6 - dxx).abs() < 1e-17);
    for k in [1, 3] {
        assert_eq!(out[k * 6], 1e-6);
    }
    assert_eq!(out[24], 1e-6);
}

#[test]
fn descriptors_do_not_depend_on_threads_or_neighbours() {
    let pixels = noise(300 * 12 * 10);
    let alone: Vec<f64> =
        pixels.chunks(120).flat_map(|image| descriptor(&REGION, image, (12, 10))).collect();
    for threads in [1, 3] {
        set_num_threads(threads);
        assert_eq!(descriptor(&REGION, &pixels, (12, 10)), alone);
    }
    set_num_threads(0);
}

#[test]
fn interrupts_end_the_work() {
    let task = TimeSeriesCovariance { channels: 4, samples: 64, shrinkage: 0.0, ridge: 1.0 };
    let signals = noise(20_000 * 256);
    let mut out = vec![0.0; 20_000 * 16];
    let outcome = task.covariances(&signals, &mut out, &|| true);
    assert_eq!(outcome, Err(crate::error::Error::Interrupted));
}

proptest! {
    #[test]
    fn any_pixels_give_finite_symmetric_definite_matrices(
        pixels in proptest::collection::vec(any::<f64>(), 12..60)
    ) {
        let width = pixels.len() / 3;
        let m = ALL.len();
        let out = descriptor(&ALL, &pixels[..3 * width], (3, width));
        for i in 0..m {
            prop_assert!(out[i * m + i] >= 1e-6);
            for j in 0..m {
                prop_assert!(out[i * m + j].is_finite());
                prop_assert_eq!(out[i * m + j], out[j * m + i]);
                prop_assert!(out[i * m + j].powi(2) <= out[i * m + i] * out[j * m + j]);
            }
        }
        if pixels[..3 * width].iter().any(|x| !x.is_finite()) {
            let mut identity = vec![f64::NAN; m * m];
            scaled_identity(m, 1e-6, &mut identity);
            prop_assert_eq!(out, identity);
        }
    }

    #[test]
    fn any_signals_give_finite_matrices(signals in proptest::collection::vec(any::<f64>(), 12)) {
        let task = TimeSeriesCovariance { channels: 3, samples: 4, shrinkage: 0.1, ridge: 1e-9 };
        let mut out = vec![f64::NAN; 9];
        task.covariances(&signals, &mut out, &never).unwrap();
        prop_assert!(out.iter().all(|x| x.is_finite()));
        prop_assert!(out[0] >= 1e-9 && out[4] >= 1e-9 && out[8] >= 1e-9);
    }
}
