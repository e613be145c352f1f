//! Kernels of PrivateMail (Vepakomma, Balla and Raskar): products with Gaussian-kernel matrices that are
//! never formed as a whole, class sums in place of the label kernel, and the diameter of a set.
//!
//! Basis of the privacy proofs: a weight depends on its two rows alone and lies in [floor, 1] whatever
//! the rows are. The products are sums of at most n terms, in an order that depends on n alone.

mod diameter;
pub mod kernel;
pub mod labels;
mod pairs;
mod product;
mod strip;

pub use diameter::diameter;
pub use kernel::GaussianKernel;
pub use labels::label_sums;
