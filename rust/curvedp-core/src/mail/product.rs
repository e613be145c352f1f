//! Matrix products of row-major slices.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Number type of a kernel's rows and stored weights: f64 or f32.
pub trait Scalar: faer::traits::ComplexField + Copy + Send + Sync + 'static {
    /// Nearest value of this type.
    fn round(x: f64) -> Self;
    /// Smallest value of this type that is not below `x`, in [0, 1].
    fn round_up(x: f64) -> f64;
    /// The same value in double precision.
    fn widen(self) -> f64;
    /// The numbers themselves if they are in double precision already.
    fn as_double(numbers: &[Self]) -> Option<&[f64]>;
}

impl Scalar for f64 {
    #[inline(always)]
    fn round(x: f64) -> Self {
        x
    }

    fn round_up(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    fn as_double(numbers: &[Self]) -> Option<&[f64]> {
        Some(numbers)
    }
}

impl Scalar for f32 {
    #[inline(always)]
    fn round(x: f64) -> Self {
        x as f32
    }

    fn round_up(x: f64) -> f64 {
        let near = x as f32;
        f64::from(if f64::from(near) < x { near.next_up() } else { near })
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    fn as_double(_: &[Self]) -> Option<&[f64]> {
        None
    }
}

/// out = A B^T; A has rows of `size` entries, so has B, and out has as many rows as A.
pub fn outer<T: Scalar>(a: &[T], b: &[T], size: usize, out: &mut [T]) {
    let (p, q) = (a.len() / size, b.len() / size);
    let out = MatMut::from_row_major_slice_mut(out, p, q);
    let a = MatRef::from_row_major_slice(a, p, size);
    let b = MatRef::from_row_major_slice(b, q, size);
    matmul(out, Accum::Replace, a, b.transpose(), T::round(1.0), Par::Seq);
}

/// out += W Z, where W has p rows and Z and out have rows of `width` entries.
pub fn add_product(w: &[f64], z: &[f64], width: usize, out: &mut [f64]) {
    let (p, q) = (out.len() / width, z.len() / width);
    let out = MatMut::from_row_major_slice_mut(out, p, width);
    let w = MatRef::from_row_major_slice(w, p, q);
    let z = MatRef::from_row_major_slice(z, q, width);
    matmul(out, Accum::Add, w, z, 1.0, Par::Seq);
}

/// out += W^T Z, where W has as many rows as Z.
pub fn add_transposed_product(w: &[f64], z: &[f64], width: usize, out: &mut [f64]) {
    let (p, q) = (z.len() / width, out.len() / width);
    let out = MatMut::from_row_major_slice_mut(out, q, width);
    let w = MatRef::from_row_major_slice(w, p, q);
    let z = MatRef::from_row_major_slice(z, p, width);
    matmul(out, Accum::Add, w.transpose(), z, 1.0, Par::Seq);
}
