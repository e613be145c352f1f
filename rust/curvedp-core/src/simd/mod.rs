//! Loops that vectorise, and the run-time choice of the instruction set that they are compiled for.
//!
//! No kernel of this crate uses fused multiply-add but for the rounding error of a product, which is exact with and
//! without: results are the same, bit for bit, on every processor. (Matrix products of PrivateMail use it where there is
//! one: their last bits depend on the processor.)

pub(crate) mod arc;
pub(crate) mod blocks;
pub mod elementary;
pub(crate) mod entries;
pub(crate) mod jacobi;
pub(crate) mod kernel;
pub mod lanes;
pub mod matrices;
pub(crate) mod pairs;
pub(crate) mod precise;
pub(crate) mod rotations;

/// Runs `kernel` compiled for AVX2 where the processor has it.
///
/// Pass a closure marked `#[inline(always)]` whose callees are `#[inline(always)]` too: only code
/// inlined into it is compiled for the wider instructions. What is known at compile time must be so
/// inside of the closure: a captured number is not.
#[inline]
pub fn vectorize<R>(kernel: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(avx2, kernel);
    }
    kernel()
}

/// The same, for AVX-512 too. This pays for arithmetic that does not wait for memory. Other kernels were
/// as fast without, and one more copy of a kernel costs time to compile.
#[inline]
pub fn vectorize_widest<R>(kernel: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx512) = pulp::x86::V4::try_new() {
        return pulp::Simd::vectorize(avx512, kernel);
    }
    vectorize(kernel)
}
