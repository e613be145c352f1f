//! Symmetric work on pairs of blocks of rows, without conflicts and in a fixed order.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::parallel::{Interrupt, map};

/// Rows of a block and, off the diagonal, of the other block of the pair.
struct Pair<'a> {
    i: usize,
    j: usize,
    first: &'a mut [f64],
    second: Option<&'a mut [f64]>,
}

/// Calls `task(i, j, rows of block i, rows of block j)` once for each pair i <= j of the blocks of `block`
/// entries into which `out` is cut; on the diagonal, i = j, the last argument is none.
///
/// Round r of a tournament pairs i with (r - i) mod the number of blocks: no block is in two pairs, so a
/// round is done on all threads, and every block meets the others in the same order however many there are.
pub fn for_pairs(
    out: &mut [f64],
    block: usize,
    interrupt: Interrupt,
    task: impl Fn(usize, usize, &mut [f64], Option<&mut [f64]>) + Sync,
) -> Result<(), Error> {
    let count = out.len().div_ceil(block);
    for round in 0..count {
        if round > 0 && interrupt() {
            return Err(Error::Interrupted);
        }
        let mut blocks: Vec<_> = out.chunks_mut(block).map(Some).collect();
        let mut pairs = Vec::with_capacity(count / 2 + 1);
        for i in 0..count {
            let j = (round + count - i) % count;
            if i <= j
                && let Some(first) = blocks[i].take()
            {
                pairs.push(Mutex::new(Pair { i, j, first, second: blocks[j].take() }));
            }
        }
        map(pairs.len(), interrupt, |k| {
            let mut pair = pairs[k].lock().unwrap_or_else(PoisonError::into_inner);
            let Pair { i, j, first, second } = &mut *pair;
            task(*i, *j, first, second.as_deref_mut());
        })?;
    }
    Ok(())
}

/// The place of the pair i <= j in a list of all pairs of `count` blocks, row by row.
pub fn place(i: usize, j: usize, count: usize) -> usize {
    i * (2 * count - i + 1) / 2 + j - i
}

/// All pairs i <= j of `count` blocks, in the order of [`place`].
pub fn all(count: usize) -> Vec<(usize, usize)> {
    (0..count).flat_map(|i| (i..count).map(move |j| (i, j))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_blocks_meets_once() {
        for count in 1..12 {
            let mut out = vec![0.0; 3 * count - 1];
            let seen = Mutex::new(vec![0; count * count]);
            for_pairs(&mut out, 3, &|| false, |i, j, first, second| {
                assert!(i <= j && (i == j) == second.is_none());
                seen.lock().unwrap()[i * count + j] += 1;
                first.iter_mut().for_each(|x| *x += 1.0);
                second.into_iter().flatten().for_each(|x| *x += 1.0);
            })
            .unwrap();
            let seen = seen.into_inner().unwrap();
            for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
                assert_eq!(seen[i * count + j], usize::from(i <= j));
            }
            assert!(out.iter().all(|&x| x == count as f64));
        }
    }

    #[test]
    fn places_follow_the_order_of_all_pairs() {
        for count in 1..9 {
            for (k, (i, j)) in all(count).into_iter().enumerate() {
                assert_eq!(place(i, j, count), k);
            }
        }
    }
}
