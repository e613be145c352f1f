//! Shortest paths from every node at once, each with a start value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::csr::Csr;
use curvedp_core::error::Error;
use curvedp_core::parallel::Interrupt;

/// A node and the length of a path to it, ordered by length (nonnegative, so bits order as numbers do).
type Reached = Reverse<(u64, u32)>;

/// Nodes settled between two looks at the interrupt flag.
const LOOK: usize = 1 << 16;

/// u_z = min over nodes a of start_a + (length of the shortest path from a to z), by Dijkstra's
/// algorithm. The length of edge (i, j) is `lengths_ij (factor_i + factor_j)/2`; start values and
/// factors are nonnegative, and infinite start values stand for no start.
pub fn shortest_paths(
    lengths: &Csr,
    factors: Option<&[f64]>,
    start: &[f64],
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    let factor = |i: usize| factors.map_or(1.0, |f| f[i]);
    let mut dist: Vec<f64> = start.iter().map(|x| x.max(0.0)).collect();
    let reached = |(i, d): (usize, &f64)| Reverse((d.to_bits(), i as u32));
    let mut queue: BinaryHeap<Reached> =
        dist.iter().enumerate().filter(|(_, d)| d.is_finite()).map(reached).collect();
    let mut settled = 0;
    while let Some(Reverse((bits, node))) = queue.pop() {
        let i = node as usize;
        let here = f64::from_bits(bits);
        if here > dist[i] {
            continue;
        }
        settled += 1;
        if settled % LOOK == 0 && interrupt() {
            return Err(Error::Interrupted);
        }
        let (columns, edges) = lengths.row(i);
        for (&j, &length) in columns.iter().zip(edges) {
            let there = here + length * (0.5 * (factor(i) + factor(j as usize)));
            if there < dist[j as usize] {
                dist[j as usize] = there;
                queue.push(Reverse((there.to_bits(), j)));
            }
        }
    }
    Ok(dist)
}
