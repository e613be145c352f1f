//! Kernel density counts: every record spread over the nodes within reach, in whole units.
//!
//! The kernel is K(s) = exp(-1/(1 - s)), s = (rho/reach)^2 (He et al., equations 9 and 10), normalised
//! on the nodes for each record, so that every record has the same mass wherever it lies. Shares are
//! rounded to whole units, `units` a record in all: what a record adds is a vector of integers with a
//! known sum, whatever the record.

use super::candidates::ROUNDING;
use super::embedding::{Embedded, Embedder};
use super::kd_tree::{Candidates, KdTree, LEAF};
use super::knn::nearest;
use super::nodes::{Nodes, tree_pays};
use curvedp_core::batch;
use curvedp_core::error::Error;
use curvedp_core::parallel::{Interrupt, map};
use curvedp_core::rows::Rows;
use curvedp_core::simd::elementary::exp;
use curvedp_core::simd::lanes::lane_sums;
use curvedp_core::simd::vectorize;

/// Records handled together.
const AT_ONCE: usize = 64;

/// Records whose shares are in memory at once.
const BATCH: usize = 1 << 13;

/// Units of all records at every node: each of the `count` records spreads `units` over the nodes
/// nearer than `reach`, in proportion to volume times kernel; a record that has none near gives all to
/// the nearest node.
pub fn bump_counts(
    nodes: &Nodes,
    volumes: &[f64],
    (records, count): (Rows, usize),
    reach: f64,
    units: u64,
    interrupt: Interrupt,
) -> Result<Vec<i64>, Error> {
    let mut total = vec![0; nodes.count];
    let finder = Finder::new(nodes, reach, interrupt)?;
    for start in (0..count).step_by(BATCH) {
        let end = (start + BATCH).min(count);
        let batch = records.range(start..end);
        let images = finder.embed(batch, end - start, interrupt)?;
        let home = nearest(nodes, (batch, end - start), 1, interrupt)?.indices;
        let pieces = map((end - start).div_ceil(AT_ONCE), interrupt, |piece| {
            let range = piece * AT_ONCE..((piece + 1) * AT_ONCE).min(end - start);
            let mut shares = Vec::new();
            for i in range {
                let near = finder.within(batch.row(i), images.as_ref(), i);
                shares.extend(whole_shares(&near, volumes, reach, units, home[i]));
            }
            shares
        })?;
        for (node, share) in pieces.into_iter().flatten() {
            total[node as usize] += share as i64;
        }
    }
    Ok(total)
}

/// The density of equations 9 and 10 at the nodes themselves: mean over nodes j of K((rho(i, j)/reach)^2),
/// over reach^dim.
pub fn bump_density(nodes: &Nodes, reach: f64, interrupt: Interrupt) -> Result<Vec<f64>, Error> {
    let Nodes { manifold, points, count } = *nodes;
    let pieces = map(count.div_ceil(AT_ONCE), interrupt, |piece| {
        let mut dists = vec![0.0; count];
        let mut density = |i| {
            manifold.dist(Rows::shared(points.row(i)), points.range(0..count), &mut dists);
            let sum = vectorize(
                #[inline(always)]
                || sum_of_kernels(&dists, reach),
            );
            sum / count as f64 / reach.powi(manifold.dim() as i32)
        };
        (piece * AT_ONCE..((piece + 1) * AT_ONCE).min(count)).map(&mut density).collect::<Vec<_>>()
    })?;
    Ok(pieces.concat())
}

/// Sum of K((rho/reach)^2), in lanes.
#[inline(always)]
fn sum_of_kernels(dists: &[f64], reach: f64) -> f64 {
    let (sums, rest, _) = lane_sums(dists, dists, |dist, _| kernel(dist / reach));
    sums.iter().sum::<f64>() + rest.iter().map(|&dist| kernel(dist / reach)).sum::<f64>()
}

/// K(x^2); exp(-1000) is 0.
#[inline(always)]
fn kernel(x: f64) -> f64 {
    let s = x * x;
    let inside = exp(-1.0 / (1.0 - if s < 0.999 { s } else { 0.999 }));
    if s < 0.999 { inside } else { 0.0 }
}

/// Shares of one record that add up to `units`. `near` holds nodes and distances; what rounding
/// down leaves over goes to the nearest node, `home`.
fn whole_shares(
    near: &[(u32, f64)],
    volumes: &[f64],
    reach: f64,
    units: u64,
    home: u32,
) -> Vec<(u32, u64)> {
    let log_kernel = |dist: f64| {
        let s = (dist / reach) * (dist / reach);
        if s < 1.0 { -1.0 / (1.0 - s) } else { f64::NEG_INFINITY }
    };
    let top = near.iter().map(|near| log_kernel(near.1)).fold(f64::NEG_INFINITY, f64::max);
    let weight = |near: &(u32, f64)| volumes[near.0 as usize] * (log_kernel(near.1) - top).exp();
    let sum: f64 = if top.is_finite() { near.iter().map(weight).sum() } else { 0.0 };
    let mut rest = units;
    let mut shares = Vec::new();
    if sum > 0.0 && sum.is_finite() {
        for node in near {
            let share = ((weight(node) / sum * units as f64) as u64).min(rest);
            if share > 0 {
                rest -= share;
                shares.push((node.0, share));
            }
        }
    }
    shares.push((home, rest));
    shares
}

/// Finds the nodes within reach of a point.
struct Finder<'a> {
    nodes: Nodes<'a>,
    reach: f64,
    /// The map, the tree of the nodes' images and the squared distance between images within reach.
    tree: Option<(Embedder<'a>, KdTree, f64)>,
}

impl<'a> Finder<'a> {
    fn new(nodes: &Nodes<'a>, reach: f64, interrupt: Interrupt) -> Result<Self, Error> {
        let mut tree = None;
        if let Some(embedder) = Embedder::new(nodes) {
            let images = embedder.embed(nodes.points, nodes.count, interrupt)?;
            images.check()?;
            // images are at most sqrt 2 times as far apart as the points
            let farthest = std::f64::consts::SQRT_2 * reach * (1.0 + ROUNDING);
            let limit = farthest + 2.0 * embedder.slack(&images);
            if tree_pays(images.dim, nodes.count) {
                tree = Some((embedder, KdTree::new(images.dim, &images.coords), limit * limit));
            }
        }
        Ok(Self { nodes: *nodes, reach, tree })
    }

    /// Images of records, if a tree wants them.
    fn embed(
        &self,
        records: Rows,
        count: usize,
        interrupt: Interrupt,
    ) -> Result<Option<Embedded>, Error> {
        let embed =
            |(embedder, ..): &(Embedder, KdTree, f64)| embedder.embed(records, count, interrupt);
        self.tree.as_ref().map(embed).transpose()
    }

    /// Nodes nearer than `reach`, by index, and their distances.
    fn within(&self, point: &[f64], images: Option<&Embedded>, i: usize) -> Vec<(u32, f64)> {
        let size = point.len();
        let mut near = Vec::new();
        let keep = |near: &mut Vec<(u32, f64)>, node: u32, dist: f64| {
            if dist < self.reach {
                near.push((node, dist));
            }
        };
        if let (Some((_, tree, limit)), Some(images)) = (&self.tree, images) {
            let mut found = Within { limit: *limit, nodes: Vec::new() };
            let image = &images.coords[i * images.dim..][..images.dim];
            tree.search(image, None, &mut found, &mut Vec::new());
            found.nodes.sort_unstable();
            let rows = found.nodes.iter().flat_map(|&node| self.nodes.points.row(node as usize));
            let rows: Vec<f64> = rows.copied().collect();
            let mut dists = vec![0.0; found.nodes.len()];
            if !dists.is_empty() {
                self.nodes.manifold.dist(Rows::shared(point), Rows::new(&rows, size), &mut dists);
            }
            found.nodes.iter().zip(&dists).for_each(|(&node, &dist)| keep(&mut near, node, dist));
            return near;
        }
        let step = batch::piece_rows(size);
        let mut dists = vec![0.0; step];
        for start in (0..self.nodes.count).step_by(step) {
            let end = (start + step).min(self.nodes.count);
            let dists = &mut dists[..end - start];
            self.nodes.manifold.dist(
                Rows::shared(point),
                self.nodes.points.range(start..end),
                dists,
            );
            dists.iter().enumerate().for_each(|(e, &d)| keep(&mut near, (start + e) as u32, d));
        }
        near
    }
}

/// All points within a fixed distance.
struct Within {
    limit: f64,
    nodes: Vec<u32>,
}

impl Candidates for Within {
    fn bound(&self) -> f64 {
        self.limit
    }

    fn offer(&mut self, points: &[u32], squared: &[f64; LEAF]) {
        let near = points.iter().zip(squared).filter(|(_, s)| **s <= self.limit);
        self.nodes.extend(near.map(|(&point, _)| point));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_whatever_the_kernel() {
        let volumes = [1.0, 2.0, 1e-300, 3.0];
        for near in [
            vec![],
            vec![(0, 0.0)],
            vec![(0, 0.999_999_999)],
            vec![(0, 1.0), (1, 1.0)],
            vec![(0, 0.3), (1, 0.3), (3, 0.9)],
            vec![(2, 0.1)],
            vec![(0, f64::NAN), (1, 0.5)],
        ] {
            for units in [1, 7, 1 << 20] {
                let shares = whole_shares(&near, &volumes, 1.0, units, 3);
                assert_eq!(shares.iter().map(|share| share.1).sum::<u64>(), units);
            }
        }
        let near = [(0, 0.3), (1, 0.3)];
        let shares = whole_shares(&near, &volumes, 1.0, 300, 1);
        assert!(shares[0] == (0, 100) || shares[0] == (0, 99));
    }
}
