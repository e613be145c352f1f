//! Matrix products of row-major slices, none of them empty.

use gemm_common::Parallelism;
use ndarray::{ArrayView2, ArrayViewMut2};

/// The product of the libraries gemm-f64 and gemm-f32: sizes m, n, k; the result with its strides across and
/// down and whether it is added to; both factors likewise; their scales; nothing is conjugated; threads.
type Gemm<T> = unsafe fn(
    usize,
    usize,
    usize,
    *mut T,
    isize,
    isize,
    bool,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    T,
    bool,
    bool,
    bool,
    Parallelism,
);

/// Number type of a kernel's rows and stored weights: f64 or f32.
pub trait Scalar: Copy + Send + Sync {
    /// Nearest value of this type.
    fn round(x: f64) -> Self;
    /// Smallest value of this type that is not below `x`, in [0, 1].
    fn round_up(x: f64) -> f64;
    /// The same value in double precision.
    fn widen(self) -> f64;
    /// The numbers themselves if they are in double precision already.
    fn as_double(numbers: &[Self]) -> Option<&[f64]>;
    /// The matrix product for this processor.
    fn gemm() -> Gemm<Self>;
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

    fn gemm() -> Gemm<Self> {
        gemm_f64::gemm::f64::get_gemm_fn()
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

    fn gemm() -> Gemm<Self> {
        gemm_f32::gemm::f32::get_gemm_fn()
    }
}

/// A row-major matrix of rows of `width` entries.
fn matrix<T>(entries: &[T], width: usize) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((entries.len() / width, width), entries).expect("whole rows")
}

/// The same, to be written.
fn matrix_mut<T>(entries: &mut [T], width: usize) -> ArrayViewMut2<'_, T> {
    ArrayViewMut2::from_shape((entries.len() / width, width), entries).expect("whole rows")
}

/// out = A B, or out += A B.
#[allow(unsafe_code)]
fn multiply<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>, mut out: ArrayViewMut2<T>, add: bool) {
    let ((m, k), n) = (a.dim(), b.ncols());
    assert!(b.nrows() == k && out.dim() == (m, n), "sizes must agree");
    let (kept, one) = (T::round(if add { 1.0 } else { 0.0 }), T::round(1.0));
    let across = |strides: &[isize]| (strides[1], strides[0]);
    let (out_across, out_down) = across(out.strides());
    let (a_across, a_down) = across(a.strides());
    let (b_across, b_down) = across(b.strides());
    // SAFETY: sizes, strides and entries are those of the views, of which only `out` is written
    unsafe {
        T::gemm()(
            m,
            n,
            k,
            out.as_mut_ptr(),
            out_across,
            out_down,
            add,
            a.as_ptr(),
            a_across,
            a_down,
            b.as_ptr(),
            b_across,
            b_down,
            kept,
            one,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// out = A B^T; A has rows of `size` entries, so has B, and out has as many rows as A.
pub fn outer<T: Scalar>(a: &[T], b: &[T], size: usize, out: &mut [T]) {
    let (a, b) = (matrix(a, size), matrix(b, size));
    multiply(a, b.t(), matrix_mut(out, b.nrows()), false);
}

/// out += W Z, where W has p rows and Z and out have rows of `width` entries.
pub fn add_product(w: &[f64], z: &[f64], width: usize, out: &mut [f64]) {
    let z = matrix(z, width);
    multiply(matrix(w, z.nrows()), z, matrix_mut(out, width), true);
}

/// out += W^T Z, where W has as many rows as Z.
pub fn add_transposed_product(w: &[f64], z: &[f64], width: usize, out: &mut [f64]) {
    let out = matrix_mut(out, width);
    multiply(matrix(w, out.nrows()).t(), matrix(z, width), out, true);
}
