//! Pairwise summation of pieces in a tree that depends on their number alone.

use crate::error::Error;
use crate::parallel::{Interrupt, map};

/// Records in one partial sum. Partial sums are added pairwise in a fixed order, so a result does not depend on
/// the number of threads and its rounding error grows with the logarithm of n only.
pub const PIECE: usize = 1024;

/// Records whose terms are added up before they are added to the sum of their piece, where a piece has one sum.
pub(crate) const ROWS: usize = 128;

/// Additions that a term may meet within its piece. The bounds of rounding count them, so every sum over a piece
/// is held to them at compile time, beside its block sizes.
pub(crate) const ADDITIONS: usize = 136;

const _: () = assert!(ROWS + PIECE.div_ceil(ROWS) <= ADDITIONS);

/// Roundings of relative size 2^-53 that a term meets on its way into the mean over n records: its additions in
/// the piece, one division, at most two in its own products and, over n/[`PIECE`] pieces, at most log2(n) - 9 in the
/// tree. The nine that are counted beyond it, and far more where n is below, cover those of the mean of a
/// distance on its way to a statistic.
pub(crate) fn roundings(n: usize) -> f64 {
    (ADDITIONS + 4) as f64 + (n.max(1) as f64).log2()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_depends_on_the_number_of_pieces_alone() {
        let add = |sum: &mut String, other: &String| *sum = format!("({sum}{other})");
        let tree = |count, at_once| {
            let name = |i: usize| char::from(b'a' + i as u8).to_string();
            cascade(count, at_once, &|| false, name, add).unwrap()
        };
        assert_eq!(tree(0, 3), None);
        assert_eq!(tree(1, 3), Some("a".into()));
        assert_eq!(tree(7, 2), Some("(((ab)(cd))((ef)g))".into()));
        for count in 1..20 {
            let whole = tree(count, usize::MAX).unwrap();
            let depth = whole.chars().scan(0_u32, |depth, c| {
                *depth = if c == '(' { *depth + 1 } else { *depth - u32::from(c == ')') };
                Some(*depth)
            });
            assert!(depth.max().unwrap() <= count.ilog2() + 1, "{whole}");
            for at_once in [0, 1, 2, 3, 5, 16] {
                assert_eq!(tree(count, at_once).as_ref(), Some(&whole));
            }
        }
    }
}
