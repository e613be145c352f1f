use super::super::SpdFactors;
use super::*;
use crate::manifold::Manifold;
use crate::noise::Stream;
use crate::simd::matrices::spectral;
use crate::vector::norm;

/// The logarithm, full, from rotations in double-double.
fn precise_log(log: &CertifiedLog<0, 1>) -> Vec<f64> {
    let m = log.m;
    let (rows, vectors) = log.rotations(0);
    let squares = rows.chunks_exact(m).map(|row| dot(row.iter().zip(row)).value());
    let values: Vec<f64> = squares.map(libm::log).collect();
    let mut full = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..m {
            let terms = (0..m).map(|k| vectors[i * m + k] * vectors[j * m + k] * values[k].into());
            full[i * m + j] = terms.fold(Twofold::from(0.0), |sum, x| sum + x).value();
        }
    }
    full
}

/// The factor of the point with eigenvalues e^l and axes that a rotation by `angle` in every plane makes.
fn point(m: usize, l: &[f64], angle: f64, stream: &mut Stream) -> Vec<f64> {
    let mut coords = vec![0.0; packed_len(m)];
    let mut axes = vec![0.0; m * m];
    (0..m).for_each(|i| axes[i * m + i] = 1.0);
    rotate_all(m, &mut axes, angle, stream);
    for i in 0..m {
        for j in i..m {
            let sum: f64 = (0..m).map(|k| axes[i * m + k] * l[k] * axes[j * m + k]).sum();
            coords[packed(m, i, j)] = if i == j { sum } else { SQRT_2 * sum };
        }
    }
    let space = SpdFactors::new(m, 20.0);
    let mut out = vec![0.0; packed_len(m)];
    space.exp_origin(Rows::new(&coords, packed_len(m)), &mut out);
    out
}

fn rotate_all(m: usize, columns: &mut [f64], angle: f64, stream: &mut Stream) {
    for p in 0..m {
        for q in p + 1..m {
            let turn = angle * stream.normal();
            let (sin, cos) = (libm::sin(turn), libm::cos(turn));
            for row in columns.chunks_exact_mut(m) {
                let (x, y) = (row[p], row[q]);
                (row[p], row[q]) = (cos * x - sin * y, sin * x + cos * y);
            }
        }
    }
}

/// Log-eigenvalues of length r: two poles, a cluster and an outlier, clusters, or all.
fn spectra(m: usize, r: f64, stream: &mut Stream) -> Vec<Vec<f64>> {
    let mut poles = vec![0.0; m];
    (poles[0], poles[m - 1]) = (1.0, -1.0);
    let mut cluster = vec![1.0; m];
    cluster[0] = -1.0;
    let near: Vec<f64> =
        (0..m).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 + 1e-13 * i as f64 }).collect();
    let all = (0..m).map(|_| stream.normal()).collect();
    let mut found = vec![poles, cluster, near, all];
    for l in &mut found {
        let scale = r / norm(l);
        l.iter_mut().for_each(|x| *x *= scale);
    }
    found
}

/// Pairs of factors within r of the identity: aligned, nearly so and not at all.
fn pairs(m: usize, r: f64, stream: &mut Stream) -> Vec<[Vec<f64>; 2]> {
    let mut found = Vec::new();
    for angle in [0.0, 1e-9, 1e-4, 1.0] {
        let spectra = spectra(m, r, stream);
        for l in &spectra {
            let opposite: Vec<f64> = l.iter().map(|x| -x).collect();
            for other in [l, &opposite, &spectra[3]] {
                let g = point(m, l, angle, stream);
                found.push([g, point(m, other, angle, stream)]);
            }
        }
    }
    found
}

fn error_of(m: usize, log: &mut CertifiedLog<0, 1>, truth: &[f64]) -> f64 {
    let mut a = vec![[0.0; 1]; packed_len(m)];
    let (values, vectors) = log.spectrum();
    spectral::<0, 1>(m, vectors, values, &mut a);
    let mut square = 0.0;
    for i in 0..m {
        for j in 0..m {
            let (low, high) = (i.min(j), i.max(j));
            square += (a[packed(m, low, high)][0] - truth[i * m + j]).powi(2);
        }
    }
    f64::sqrt(square)
}

/// Turns the guess by random angles, and certifies it again.
fn spoil(log: &mut CertifiedLog<0, 1>, angle: f64, stretch: f64, stream: &mut Stream) {
    let mut columns: Vec<f64> = log.vectors.iter().map(|x| x[0]).collect();
    rotate_all(log.m, &mut columns, angle, stream);
    columns.iter_mut().for_each(|x| *x *= 1.0 + stretch * stream.normal());
    log.vectors.iter_mut().zip(&columns).for_each(|(lane, x)| lane[0] = *x);
    log.certify();
}

fn computed(m: usize, r: f64, pair: &[Vec<f64>; 2]) -> CertifiedLog<0, 1> {
    let mut log = CertifiedLog::<0, 1>::new(m, Extent::new(r));
    log.compute(&Rows::shared(&pair[1]), &Rows::shared(&pair[0]), 0, 1);
    log
}

#[test]
fn logarithms_are_within_their_bounds_and_bounds_within_what_is_promised() {
    let mut stream = Stream::from_key([1; 32], 0);
    for m in [1, 2, 3, 5, 8] {
        for r in [1e-6, 1.0, 6.0, 12.0, 20.0] {
            for pair in pairs(m, r, &mut stream) {
                let mut log = computed(m, r, &pair);
                let truth = precise_log(&log);
                let error = error_of(m, &mut log, &truth);
                let bound = log.bound[0];
                assert!(error <= bound, "{m} {r}: {error} {bound}");
                assert!(log.is_certain(0), "{m} {r}: {bound} {}", log.allowed);
            }
        }
    }
}

/// Guesses that are turned away from the truth: the bound notices, and is never more than a few dozen times the
/// error at the worst, so that a much smaller one would be wrong.
#[test]
fn bounds_hold_for_guesses_that_are_spoilt() {
    let mut stream = Stream::from_key([2; 32], 0);
    let mut worst = 0.0f64;
    for m in [2, 3, 5] {
        for r in [0.5, 6.0, 14.0] {
            for pair in pairs(m, r, &mut stream) {
                let truth = precise_log(&computed(m, r, &pair));
                for angle in [1e-14, 1e-11, 1e-8, 1e-5] {
                    let mut log = computed(m, r, &pair);
                    spoil(&mut log, angle, 0.1 * angle, &mut stream);
                    let (error, bound) = (error_of(m, &mut log, &truth), log.bound[0]);
                    assert!(error <= bound, "{m} {r} {angle}: {error} {bound}");
                    if bound.is_finite() {
                        worst = worst.max(error / bound);
                    }
                }
            }
        }
    }
    assert!(worst > 0.03, "{worst}");
}

/// Without the triangle of the rows the values lose what the rows have in common.
#[test]
fn lengths_of_rows_alone_are_not_within_the_bound() {
    let mut stream = Stream::from_key([3; 32], 0);
    let mut outside = 0;
    for m in [2, 3, 5, 8] {
        for pair in pairs(m, 20.0, &mut stream) {
            let mut log = computed(m, 20.0, &pair);
            let truth = precise_log(&log);
            spoil(&mut log, 1e-14, 0.0, &mut stream);
            for i in 0..m {
                log.values[i][0] = 2.0 * libm::log(log.lengths[i][0]);
            }
            let error = error_of(m, &mut log, &truth);
            outside += u32::from(error > log.bound[0]);
        }
    }
    assert!(outside > 3, "{outside}");
}

#[test]
fn what_is_not_met_in_doubles_is_found_in_double_double() {
    let mut stream = Stream::from_key([4; 32], 0);
    for m in [2, 3, 6] {
        for r in [1.0, 12.0, 20.0] {
            for pair in pairs(m, r, &mut stream) {
                let mut log = computed(m, r, &pair);
                let truth = precise_log(&log);
                log.vectors.iter_mut().for_each(|lane| lane[0] = 0.0);
                log.refine(0);
                log.certify();
                let error = error_of(m, &mut log, &truth);
                assert!(log.is_certain(0) && error <= log.bound[0], "{m} {r}: {error}");
            }
        }
    }
}

/// In a block every logarithm is that of its row alone.
#[test]
fn neighbours_in_a_block_change_nothing() {
    let mut stream = Stream::from_key([5; 32], 0);
    let m = 4;
    let all = pairs(m, 9.0, &mut stream);
    let rows = |side: usize| all.iter().flat_map(|pair| pair[side].clone()).collect::<Vec<_>>();
    let (base, point) = (rows(0), rows(1));
    let mut log = CertifiedLog::<0, 8>::new(m, Extent::new(9.0));
    let size = packed_len(m);
    for start in (0..all.len()).step_by(8) {
        let here = 8.min(all.len() - start);
        log.compute(&Rows::new(&point, size), &Rows::new(&base, size), start, here);
        for l in 0..here {
            let alone = computed(m, 9.0, &all[start + l]);
            assert_eq!(log.dist[l], alone.dist[0]);
            assert_eq!(log.bound[l], alone.bound[0]);
        }
    }
}
