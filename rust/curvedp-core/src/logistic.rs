//! The mean gradient of multinomial logistic regression on logarithms.
//!
//! Record i has features z = (s u, c), u its coordinates, s and c public, and the class y. At weights W its
//! gradient is G = (p - e_y) z^T, p = softmax(W z), and 0 where y is none of the classes. A unit contributes the mean of
//! its records' gradients, shortened last.
//!
//! Basis of the privacy proof: what a unit contributes depends, in every bit, on its own records, W, s and c alone, since
//! no number of a record is computed together with those of another. So nothing here has to be accurate for the
//! guarantee to hold.

use std::ops::Range;

use crate::error::Error;
use crate::parallel::Interrupt;
use crate::regression::mean_of_clipped;
use crate::simd::elementary::exp;
use crate::simd::entries::row_sums;

/// Records of units, the records of one unit after the other.
#[derive(Clone, Copy)]
pub struct Labelled<'a> {
    /// Coordinates, `dim` a record.
    pub coords: &'a [f64],
    /// Entries of a record.
    pub dim: usize,
    /// Numbers of the classes of records; any other number is none.
    pub codes: &'a [i64],
    /// Unit j has the records `ends[j]..ends[j + 1]`.
    pub ends: &'a [usize],
}

/// Public numbers of a step.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// W, `dim` + 1 entries for each class.
    pub weights: &'a [f64],
    /// s, with which coordinates are multiplied.
    pub scale: f64,
    /// c, the last feature.
    pub constant: f64,
    /// Length to which what a unit contributes is shortened.
    pub max_length: f64,
}

/// The mean over units of the gradients that they contribute, row by row.
///
/// Rounding: [`crate::moments::summation_error`].
pub fn mean_gradient(
    records: &Labelled,
    step: &Step,
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    let (dim, width) = (records.dim, step.weights.len());
    let classes = width / (dim + 1);
    mean_of_clipped(
        records.ends.len() - 1,
        width,
        step.max_length,
        interrupt,
        || (vec![0.0; dim + 1], vec![0.0; classes]),
        #[inline(always)]
        |unit, scratch, out| {
            let own = records.ends[unit]..records.ends[unit + 1];
            mean_of_unit(records, step, own, scratch, out);
            let [square] = row_sums(width, [out], |[x]| [x * x]);
            square
        },
    )
}

/// The mean gradient of the records of a unit.
#[inline(always)]
fn mean_of_unit(
    records: &Labelled,
    step: &Step,
    own: Range<usize>,
    (features, residual): &mut (Vec<f64>, Vec<f64>),
    out: &mut [f64],
) {
    let (dim, count) = (records.dim, own.len());
    out.fill(0.0);
    for i in own {
        let coords = &records.coords[i * dim..(i + 1) * dim];
        features.iter_mut().zip(coords).for_each(|(z, u)| *z = u * step.scale);
        features[dim] = step.constant;
        let class = usize::try_from(records.codes[i]).ok().filter(|&class| class < residual.len());
        let Some(class) = class else { continue };
        softmax(step.weights, features, residual);
        residual[class] -= 1.0;
        for (row, residual) in out.chunks_exact_mut(dim + 1).zip(&*residual) {
            row.iter_mut().zip(&*features).for_each(|(sum, z)| *sum += residual * z);
        }
    }
    if count > 1 {
        out.iter_mut().for_each(|x| *x /= count as f64);
    }
}

/// Probabilities in proportion to e^(W z).
#[inline(always)]
fn softmax(weights: &[f64], z: &[f64], out: &mut [f64]) {
    let mut top = f64::NEG_INFINITY;
    for (score, row) in out.iter_mut().zip(weights.chunks_exact(z.len())) {
        [*score] = row_sums(z.len(), [row, z], |[w, z]| [w * z]);
        top = if *score > top { *score } else { top };
    }
    let mut sum = 0.0;
    for x in &mut *out {
        *x = exp(*x - top);
        sum += *x;
    }
    out.iter_mut().for_each(|x| *x /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Stream;

    fn normals(seed: u8, count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count];
        Stream::from_key([seed; 32], 0).fill_normal(&mut out);
        out
    }

    fn step(weights: &[f64]) -> Step<'_> {
        Step { weights, scale: 0.5, constant: 0.25, max_length: f64::MAX }
    }

    fn gradient(records: &Labelled, step: &Step) -> Vec<f64> {
        mean_gradient(records, step, &|| false).unwrap()
    }

    #[test]
    fn a_gradient_is_that_of_the_formula() {
        for (dim, classes) in [(1, 2), (3, 3), (7, 5), (8, 1), (40, 4)] {
            let (coords, weights) = (normals(1, dim), normals(2, classes * (dim + 1)));
            let records = Labelled { coords: &coords, dim, codes: &[0], ends: &[0, 1] };
            let found = gradient(&records, &step(&weights));
            let z: Vec<f64> = coords.iter().map(|u| 0.5 * u).chain([0.25]).collect();
            let score = |row: &[f64]| row.iter().zip(&z).map(|(w, z)| w * z).sum::<f64>().exp();
            let scores: Vec<f64> = weights.chunks(dim + 1).map(score).collect();
            let sum: f64 = scores.iter().sum();
            for (k, row) in found.chunks(dim + 1).enumerate() {
                let residual = scores[k] / sum - f64::from(u8::from(k == 0));
                for (x, z) in row.iter().zip(&z) {
                    assert!((x - residual * z).abs() < 1e-14, "{dim} {classes}");
                }
            }
        }
    }

    #[test]
    fn units_count_once_and_other_classes_not_at_all() {
        let (coords, weights) = (normals(3, 8), normals(4, 9));
        let of = |codes: &[i64], ends: &[usize]| {
            let coords = &coords[..2 * codes.len()];
            gradient(&Labelled { coords, dim: 2, codes, ends }, &step(&weights))
        };
        let alone: Vec<Vec<f64>> = (0..4)
            .map(|i| {
                let coords = &coords[2 * i..2 * i + 2];
                let records = Labelled { coords, dim: 2, codes: &[1], ends: &[0, 1] };
                gradient(&records, &step(&weights))
            })
            .collect();
        let mixed = of(&[1, 1, 1, 1], &[0, 3, 4]);
        for j in 0..9 {
            let unit = (alone[0][j] + alone[1][j] + alone[2][j]) / 3.0;
            assert!((mixed[j] - (unit + alone[3][j]) / 2.0).abs() < 1e-15);
        }
        for odd in [-1, 3, i64::MAX, i64::MIN] {
            assert!(of(&[odd], &[0, 1]).iter().all(|x| *x == 0.0));
        }
    }

    #[test]
    fn whatever_a_record_holds_it_counts_at_most_the_length() {
        let weights = normals(5, 9);
        for odd in [f64::NAN, f64::INFINITY, 1e300, -1e155, 5e-324] {
            let records = Labelled { coords: &[odd, 1.0], dim: 2, codes: &[2], ends: &[0, 1] };
            let limited = Step { max_length: 0.7, ..step(&weights) };
            let found = gradient(&records, &limited);
            assert!(found.iter().map(|x| x * x).sum::<f64>().sqrt() <= 0.7, "{odd}");
        }
    }
}
