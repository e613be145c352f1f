//! Bins of the scale of positive definite matrices: ln det/m.

use crate::simd::elementary::ln;

/// Bins of width 1/2 from ln 1e-30 to ln 1e30.
pub const SCALE_BINS: usize = 277;

/// ln 1e-30
const LOWEST: f64 = -69.077_552_789_821_37;

const WIDTH: f64 = 0.5;

/// The bin of ln det/m; None if a pivot is not positive and finite.
pub(super) fn bin(matrix: &[f64], order: usize, is_complex: bool, bins: usize) -> Option<usize> {
    let value = log_determinant(matrix, order, is_complex)? / order as f64;
    let index = ((value - LOWEST) / WIDTH).floor();
    value.is_finite().then(|| (index.max(0.0) as usize).min(bins - 1))
}

/// The logarithm of the determinant, as the sum of those of the pivots of A = L D L^*.
fn log_determinant(matrix: &[f64], order: usize, is_complex: bool) -> Option<f64> {
    let mut left: Vec<[f64; 2]> = if is_complex {
        matrix.chunks_exact(2).map(|z| [z[0], z[1]]).collect()
    } else {
        matrix.iter().map(|x| [*x, 0.0]).collect()
    };
    let mut sum = 0.0;
    for j in 0..order {
        let pivot = left[j * order + j][0];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        sum += ln(pivot);
        for i in j + 1..order {
            let share = left[i * order + j].map(|x| x / pivot);
            for k in j + 1..=i {
                let [x, y] = left[k * order + j];
                let entry = &mut left[i * order + k];
                entry[0] -= share[0] * x + share[1] * y;
                entry[1] -= share[1] * x - share[0] * y;
            }
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determinants_of_matrices_with_known_pivots() {
        let real = [4.0, 2.0, 2.0, 3.0]; // 8
        assert!((log_determinant(&real, 2, false).unwrap() - 8.0_f64.ln()).abs() < 1e-14);
        let complex = [2.0, 0.0, 0.0, 1.0, 0.0, -1.0, 2.0, 0.0]; // 3
        assert!((log_determinant(&complex, 2, true).unwrap() - 3.0_f64.ln()).abs() < 1e-14);
        assert_eq!(log_determinant(&[1.0, 2.0, 2.0, 1.0], 2, false), None);
        assert_eq!(log_determinant(&[f64::NAN; 4], 2, false), None);
    }

    #[test]
    fn scales_far_outside_fall_into_the_end_bins() {
        let index = |x: f64| bin(&[x], 1, false, SCALE_BINS);
        assert_eq!(index(1e-300), Some(0));
        assert_eq!(index(1e300), Some(SCALE_BINS - 1));
        assert_eq!(index(1.0), Some(138)); // 69.08/0.5
        assert_eq!(index(0.0), None);
    }
}
