//! Products of a few rows of weights, and of their transpose, with narrow matrices.
//!
//! A library's matrix product copies a tile twice before it multiplies by it, which costs as much as a product of
//! 16 columns. Every entry is a sum in the order of its terms, multiplied and added at once where the processor can.

use pulp::{Arch, Simd, WithSimd};

use super::product::Scalar;
use crate::error::{Error, filled};

/// Rows of a strip.
pub const STRIP: usize = 32;

/// Rows of one width, filled up with zeros to whole vectors of this processor.
pub struct Padded {
    entries: Vec<f64>,
    width: usize,
    /// Entries in a row, with the zeros.
    pub stride: usize,
}

impl Padded {
    /// `count` rows of zeros.
    pub fn zeros(count: usize, width: usize) -> Result<Self, Error> {
        let stride = width.next_multiple_of(Arch::new().dispatch(Lanes));
        Ok(Self { entries: filled(0.0, count * stride)?, width, stride })
    }

    /// The rows of a matrix.
    pub fn from_rows(rows: &[f64], width: usize) -> Result<Self, Error> {
        let mut padded = Self::zeros(rows.len() / width, width)?;
        let own = padded.entries.chunks_exact_mut(padded.stride);
        own.zip(rows.chunks_exact(width)).for_each(|(own, row)| own[..width].copy_from_slice(row));
        Ok(padded)
    }

    /// Rows number `from` to before `end`, or to the last.
    pub fn rows(&self, from: usize, end: usize) -> &[f64] {
        &self.entries[from * self.stride..(end * self.stride).min(self.entries.len())]
    }

    /// All rows, to be written.
    pub fn all_mut(&mut self) -> &mut [f64] {
        &mut self.entries
    }

    /// Copies the rows without the zeros.
    pub fn copy_to(&self, out: &mut [f64]) {
        let own = self.entries.chunks_exact(self.stride);
        let rows = out.chunks_exact_mut(self.width).zip(own);
        rows.for_each(|(row, own)| row.copy_from_slice(&own[..self.width]));
    }
}

struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F64_LANES
    }
}

/// first += W Z and second += W^T Y for a strip W, in rows of `stride` entries.
pub fn add_products(
    weights: &[f64],
    stride: usize,
    z: &[f64],
    first: &mut [f64],
    second: Option<(&[f64], &mut [f64])>,
) {
    let across = z.len() / stride;
    Arch::new().dispatch(Sums::<false> { weights, across, stride, factor: z, out: first });
    if let Some((factor, out)) = second {
        Arch::new().dispatch(Sums::<true> { weights, across, stride, factor, out });
    }
}

/// out += W factor, or W^T factor.
struct Sums<'a, const TRANSPOSED: bool> {
    weights: &'a [f64],
    across: usize,
    stride: usize,
    factor: &'a [f64],
    out: &'a mut [f64],
}

impl<const TRANSPOSED: bool> WithSimd for Sums<'_, TRANSPOSED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // as many sums as there are registers for
        if S::F64_LANES >= 8 { self.add::<S, 8>(simd) } else { self.add::<S, 4>(simd) }
    }
}

impl<const TRANSPOSED: bool> Sums<'_, TRANSPOSED> {
    #[inline(always)]
    fn add<S: Simd, const R: usize>(mut self, simd: S) {
        let vectors = self.stride / S::F64_LANES;
        let count = self.out.len() / self.stride;
        let mut row = 0;
        while row < count {
            let rows = if row + R <= count { R } else { 1 };
            let mut from = 0;
            while from < vectors {
                let taken = match (rows, vectors - from) {
                    (1, _) => self.block::<S, 1, 1>(simd, row, from),
                    (_, 1) => self.block::<S, R, 1>(simd, row, from),
                    (_, 2) => self.block::<S, R, 2>(simd, row, from),
                    _ => self.block::<S, R, 3>(simd, row, from),
                };
                from += taken;
            }
            row += rows;
        }
    }

    /// R rows of V vectors each, whose sums stay in registers; the number of vectors.
    #[inline(always)]
    fn block<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        row: usize,
        from: usize,
    ) -> usize {
        let (across, weights) = (self.across, self.weights);
        let mut sums = [[simd.splat_f64s(0.0); V]; R];
        let rows: [&[f64]; R] = std::array::from_fn(|r| {
            let start = if TRANSPOSED { 0 } else { (row + r) * across };
            &weights[start..start + across]
        });
        for (term, factor) in self.factor.chunks_exact(self.stride).enumerate() {
            let factor = &S::as_simd_f64s(factor).0[from..from + V];
            let weights: [f64; R] = if TRANSPOSED {
                let own = &weights[term * across + row..][..R];
                std::array::from_fn(|r| own[r])
            } else {
                std::array::from_fn(|r| rows[r][term])
            };
            for (sums, weight) in sums.iter_mut().zip(weights) {
                let weight = simd.splat_f64s(weight);
                for (sum, &factor) in sums.iter_mut().zip(factor) {
                    *sum = simd.mul_add_e_f64s(weight, factor, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let own = &mut self.out[(row + r) * self.stride..][..self.stride];
            let own = &mut S::as_mut_simd_f64s(own).0[from..from + V];
            own.iter_mut().zip(sums).for_each(|(own, &sum)| *own = simd.add_f64s(*own, sum));
        }
        V
    }
}

/// Numbers in double precision: themselves if they are, otherwise in `scratch`.
pub fn doubles<'a, T: Scalar>(numbers: &'a [T], scratch: &'a mut [f64]) -> &'a [f64] {
    if let Some(own) = T::as_double(numbers) {
        return own;
    }
    let wide = &mut scratch[..numbers.len()];
    wide.iter_mut().zip(numbers).for_each(|(wide, x)| *wide = x.widen());
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, salt: usize) -> Vec<f64> {
        (0..count).map(|k| ((k * 7919 + salt) % 1009) as f64 / 1009.0 - 0.5).collect()
    }

    #[test]
    fn products_of_every_shape_equal_their_sums() {
        for (p, q, width) in
            [(1, 1, 1), (7, 9, 2), (8, 8, 8), (32, 33, 17), (5, 40, 65), (9, 3, 25)]
        {
            let (w, z, y) = (numbers(p * q, 1), numbers(q * width, 2), numbers(p * width, 3));
            let (z_padded, y_padded) =
                (Padded::from_rows(&z, width).unwrap(), Padded::from_rows(&y, width).unwrap());
            let mut first = Padded::from_rows(&y, width).unwrap();
            let mut second = Padded::from_rows(&z, width).unwrap();
            let beside = Some((y_padded.rows(0, p), second.all_mut()));
            add_products(&w, z_padded.stride, z_padded.rows(0, q), first.all_mut(), beside);
            let (mut found, mut found_transposed) = (y.clone(), z.clone());
            first.copy_to(&mut found);
            second.copy_to(&mut found_transposed);
            for c in 0..width {
                for i in 0..p {
                    let sum: f64 = (0..q).map(|l| w[i * q + l] * z[l * width + c]).sum();
                    assert!((found[i * width + c] - y[i * width + c] - sum).abs() < 1e-14);
                }
                for l in 0..q {
                    let sum: f64 = (0..p).map(|i| w[i * q + l] * y[i * width + c]).sum();
                    let at = l * width + c;
                    assert!((found_transposed[at] - z[at] - sum).abs() < 1e-14);
                }
            }
        }
    }
}
