//! Points among which others are sought.

use curvedp_core::manifold::Manifold;
use curvedp_core::rows::Rows;

/// Points among which neighbours are sought.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// The points.
    pub points: Rows<'a>,
    /// Number of points.
    pub count: usize,
}

/// True if a tree saves comparisons: it has to halve the nodes often enough in every dimension.
pub(super) fn tree_pays(dim: usize, count: usize) -> bool {
    dim <= 8 || dim + 5 <= count.ilog2() as usize
}
