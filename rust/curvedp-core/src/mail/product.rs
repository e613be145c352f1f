//! The matrix product of row-major slices, none of them empty.

use gemm_common::Parallelism;

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

/// out = A B^T; A and B have rows of `size` entries, and out has as many rows as A.
#[allow(unsafe_code)]
pub fn outer<T: Scalar>(a: &[T], b: &[T], size: usize, out: &mut [T]) {
    let (m, n) = (a.len() / size, b.len() / size);
    assert!(a.len() == m * size && b.len() == n * size && out.len() == m * n, "sizes must agree");
    let (zero, one, across) = (T::round(0.0), T::round(1.0), size as isize);
    // computed as the transpose, B A^T by columns, which the library does a tenth faster
    // SAFETY: sizes and strides are those of the slices, of which only `out` is written
    unsafe {
        T::gemm()(
            n,
            m,
            size,
            out.as_mut_ptr(),
            n as isize,
            1,
            false,
            b.as_ptr(),
            1,
            across,
            a.as_ptr(),
            across,
            1,
            zero,
            one,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
