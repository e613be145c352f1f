//! The covariance of samples that arrive in blocks, in one pass and without cancellation.
//!
//! Each block is centred at its own mean; blocks are merged by the update of Chan, Golub and LeVeque
//! (1983). So the error of an entry is relative to the standard deviations, whatever the means.

use crate::simd::lanes::{LANES, Lane, tree_sum};
use crate::simd::matrices::{cholesky, packed, packed_len};
use crate::simd::vectorize_widest;

/// Samples in a block of `variables` variables: few enough to stay in the first-level cache.
pub fn block_samples(variables: usize) -> usize {
    (4096 / variables / LANES * LANES).clamp(64, 1024)
}

/// Entries of a row of [`Scatter::add`]'s argument for blocks of `samples` samples.
pub fn stride(samples: usize) -> usize {
    samples.next_multiple_of(LANES)
}

/// Count, mean and scatter matrix sum (x - mean)(x - mean)^T of the samples so far.
pub struct Scatter {
    variables: usize,
    count: f64,
    mean: Vec<f64>,
    scatter: Vec<f64>,
    shift: Vec<f64>,
}

impl Scatter {
    /// No samples of `variables` variables.
    pub fn new(variables: usize) -> Self {
        Self {
            variables,
            count: 0.0,
            mean: vec![0.0; variables],
            scatter: vec![0.0; packed_len(variables)],
            shift: vec![0.0; variables],
        }
    }

    /// Drops all samples.
    pub fn clear(&mut self) {
        self.count = 0.0;
        self.mean.fill(0.0);
        self.scatter.fill(0.0);
    }

    /// Adds `samples` samples; `block` holds one row of [`stride`]`(samples)` entries for each variable
    /// and is overwritten.
    #[inline(never)]
    pub fn add(&mut self, block: &mut [f64], samples: usize) {
        vectorize_widest(
            #[inline(always)]
            || {
                let (m, width) = (self.variables, stride(samples));
                let (old, new) = (self.count, samples as f64);
                let total = old + new;
                self.count = total;
                for (k, row) in block.chunks_exact_mut(width).take(m).enumerate() {
                    let mean = centre(row, samples);
                    self.shift[k] = mean - self.mean[k];
                    self.mean[k] += self.shift[k] * (new / total);
                }
                let between = old * (new / total);
                for i in (0..m).step_by(2) {
                    for j in (i..m).step_by(4) {
                        let (rows, columns) = (&block[i * width..], &block[j * width..]);
                        match (m - i, m - j) {
                            (1, _) => {
                                self.add_products::<1, 1>((i, j), [rows, columns], width, between)
                            }
                            (_, 1) => {
                                self.add_products::<2, 1>((i, j), [rows, columns], width, between)
                            }
                            (_, 2) => {
                                self.add_products::<2, 2>((i, j), [rows, columns], width, between)
                            }
                            (_, 3) => {
                                self.add_products::<2, 3>((i, j), [rows, columns], width, between)
                            }
                            _ => self.add_products::<2, 4>((i, j), [rows, columns], width, between),
                        }
                    }
                }
            },
        );
    }

    /// Adds the inner products of the first `I` of `rows` with the first `J` of `columns`, variables
    /// i.. and j.., and what the shift of the mean adds to them.
    #[inline(always)]
    fn add_products<const I: usize, const J: usize>(
        &mut self,
        (i, j): (usize, usize),
        [rows, columns]: [&[f64]; 2],
        width: usize,
        between: f64,
    ) {
        let sums = products::<I, J>(rows, columns, width);
        for (i, sums) in (i..).zip(sums) {
            for (j, sum) in (j..).zip(sums).filter(|(j, _)| *j >= i) {
                self.scatter[packed(self.variables, i, j)] +=
                    tree_sum(&sum) + between * self.shift[i] * self.shift[j];
            }
        }
    }

    /// Writes (1 - shrinkage) S + (shrinkage tr(S)/m + ridge) I as a full matrix, S the covariance
    /// scatter / count, or `ridge * I` if that is not finite and numerically positive definite.
    pub fn covariance(&self, shrinkage: f64, ridge: f64, out: &mut [f64]) {
        let m = self.variables;
        let scale = (1.0 - shrinkage) / self.count;
        let trace: f64 = (0..m).map(|i| self.scatter[packed(m, i, i)] / self.count).sum();
        let diagonal = shrinkage * (trace / m as f64) + ridge;
        for i in 0..m {
            for j in i..m {
                let entry = scale * self.scatter[packed(m, i, j)];
                out[i * m + j] = if i == j { entry + diagonal } else { entry };
                out[j * m + i] = out[i * m + j];
            }
        }
        if !is_definite(m, out) {
            scaled_identity(m, ridge, out);
        }
    }
}

/// Writes `ridge * I`.
pub fn scaled_identity(m: usize, ridge: f64, out: &mut [f64]) {
    out.fill(0.0);
    out.iter_mut().step_by(m + 1).for_each(|x| *x = ridge);
}

/// Subtracts the mean of the first `samples` entries from them, zeroes the others; returns the mean.
#[inline(always)]
fn centre(row: &mut [f64], samples: usize) -> f64 {
    row[samples..].fill(0.0);
    let first = row[0];
    let mut sums = [0.0; LANES];
    row[..samples].iter_mut().for_each(|x| *x -= first);
    for chunk in row.as_chunks::<LANES>().0 {
        for l in 0..LANES {
            sums[l] += chunk[l];
        }
    }
    let mean = tree_sum(&sums) / samples as f64;
    row[..samples].iter_mut().for_each(|x| *x -= mean);
    first + mean
}

/// Inner products, lane by lane, of the first `I` rows of `a` with the first `J` rows of `b`.
#[inline(always)]
fn products<const I: usize, const J: usize>(a: &[f64], b: &[f64], width: usize) -> [[Lane; J]; I] {
    let a: [&[Lane]; I] =
        std::array::from_fn(|i| a[i * width..(i + 1) * width].as_chunks::<LANES>().0);
    let b: [&[Lane]; J] =
        std::array::from_fn(|j| b[j * width..(j + 1) * width].as_chunks::<LANES>().0);
    let mut sums = [[[0.0; LANES]; J]; I];
    for k in 0..width / LANES {
        for i in 0..I {
            for j in 0..J {
                for l in 0..LANES {
                    sums[i][j][l] += a[i][k][l] * b[j][k][l];
                }
            }
        }
    }
    sums
}

/// Finite, and a Cholesky factorisation meets positive normal pivots alone.
fn is_definite(m: usize, point: &[f64]) -> bool {
    if !point.iter().all(|x| x.is_finite()) {
        return false;
    }
    let mut g = vec![[0.0; 1]; packed_len(m)];
    let mut inverse = vec![[0.0; 1]; m];
    for i in 0..m {
        for j in i..m {
            g[packed(m, i, j)] = [point[i * m + j]];
        }
    }
    cholesky::<0, 1>(m, &mut g, &mut inverse);
    (0..m).all(|i| g[packed(m, i, i)][0] > f64::MIN_POSITIVE.sqrt())
}
