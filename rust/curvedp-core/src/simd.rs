//! Run-time choice of the instruction set.

/// Runs `kernel` compiled for the widest vector instructions of this processor.
///
/// Pass a closure marked `#[inline(always)]` whose callees are `#[inline(always)]` too: only code
/// inlined into it is compiled for the wider instructions. No kernel uses fused multiply-add, so the
/// result is the same, bit for bit, on every processor.
#[inline]
pub fn vectorize<R>(kernel: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(kernel)
}
