//! Pairwise summation of pieces in a tree that depends on their number alone.

use crate::error::Error;
use crate::parallel::{Interrupt, map};

/// The sum of `piece(i)` for i below `count`, or none if there are no pieces. At most `at_once` pieces
/// (and one) are held beside the log2(count) partial sums of the tree.
///
/// Piece i is a leaf; two neighbouring sums of 2^k leaves become one of 2^(k+1), and what is left over at
/// the end is added from the right. No leaf passes through more than log2(count) + 1 additions.
pub(crate) fn cascade<T: Send>(
    count: usize,
    at_once: usize,
    interrupt: Interrupt,
    piece: impl Fn(usize) -> T + Sync,
    add: impl Fn(&mut T, &T),
) -> Result<Option<T>, Error> {
    let mut tree: Vec<(u32, T)> = Vec::new();
    let mut start = 0;
    while start < count {
        if start > 0 && interrupt() {
            return Err(Error::Interrupted);
        }
        let here = at_once.clamp(1, count - start);
        for leaf in map(here, interrupt, |i| piece(start + i))? {
            let (mut level, mut sum) = (0, leaf);
            while let Some((_, mut left)) = tree.pop_if(|(other, _)| *other == level) {
                add(&mut left, &sum);
                (level, sum) = (level + 1, left);
            }
            tree.push((level, sum));
        }
        start += here;
    }
    let rest = tree.into_iter().map(|(_, sum)| sum);
    Ok(rest.rev().reduce(|right, mut left| {
        add(&mut left, &right);
        left
    }))
}
