//! Lists of the nearest nodes found so far.

use super::kd_tree::{Candidates, LEAF};
use super::nodes::Nodes;
use curvedp_core::rows::Rows;

/// Relative room for the rounding of distances.
pub(super) const ROUNDING: f64 = 1e-12;

/// The candidates with the least squared distances between images, nearest first; infinity and `u32::MAX`
/// where there is none yet.
pub(super) struct Closest<'a> {
    pub keys: &'a mut [f64],
    pub nodes: &'a mut [u32],
    pub excluded: u32,
}

impl Closest<'_> {
    #[inline(always)]
    pub fn insert(&mut self, key: f64, node: u32) {
        let last = self.keys.len() - 1;
        if key.is_nan() || key >= self.keys[last] || node == self.excluded {
            return;
        }
        let mut e = last;
        while e > 0 && key < self.keys[e - 1] {
            self.keys[e] = self.keys[e - 1];
            self.nodes[e] = self.nodes[e - 1];
            e -= 1;
        }
        self.keys[e] = key;
        self.nodes[e] = node;
    }
}

/// Lanes whose squared distance is at most the bound, as bits.
#[inline(always)]
fn within(squared: &[f64; LEAF], bound: f64) -> u32 {
    let mut bits = 0;
    for s in 0..LEAF {
        bits |= u32::from(squared[s] <= bound) << s;
    }
    bits
}

impl Candidates for Closest<'_> {
    #[inline(always)]
    fn bound(&self) -> f64 {
        self.keys[self.keys.len() - 1]
    }

    #[inline(always)]
    fn offer(&mut self, points: &[u32], squared: &[f64; LEAF]) {
        let mut bits = within(squared, self.bound());
        while bits != 0 {
            let s = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            self.insert(squared[s], points[s]);
        }
    }
}

/// The nodes at the least distances; of equal ones those with the smaller indices.
pub(super) struct Best {
    pub list: Vec<(f64, u32)>,
    excluded: u32,
}

impl Best {
    pub fn new(k: usize, excluded: u32) -> Self {
        Self { list: vec![(f64::INFINITY, u32::MAX); k], excluded }
    }

    #[inline(always)]
    pub fn insert(&mut self, dist: f64, node: u32) {
        let last = self.list.len() - 1;
        let before = |a: (f64, u32)| (dist, node) < a;
        if !before(self.list[last]) || node == self.excluded {
            return;
        }
        let mut e = last;
        while e > 0 && before(self.list[e - 1]) {
            self.list[e] = self.list[e - 1];
            e -= 1;
        }
        self.list[e] = (dist, node);
    }
}

/// [`Best`], fed with what a lower bound lets through.
pub(super) struct Refined<'a> {
    pub nodes: &'a Nodes<'a>,
    pub query: &'a [f64],
    pub slack: f64,
    pub best: Best,
    pub gathered: Vec<f64>,
}

impl Candidates for Refined<'_> {
    #[inline(always)]
    fn bound(&self) -> f64 {
        let reach =
            self.best.list[self.best.list.len() - 1].0 * (1.0 + ROUNDING) + 2.0 * self.slack;
        reach * reach
    }

    #[inline(always)]
    fn offer(&mut self, points: &[u32], squared: &[f64; LEAF]) {
        let bits = within(squared, self.bound());
        let chosen = || (0..points.len()).filter(|s| bits >> s & 1 == 1);
        self.gathered.clear();
        for s in chosen() {
            self.gathered.extend_from_slice(self.nodes.points.row(points[s] as usize));
        }
        let mut dists = [0.0; LEAF];
        let count = chosen().count();
        if count == 0 {
            return;
        }
        let rows = Rows::new(&self.gathered, self.query.len());
        self.nodes.manifold.dist(Rows::shared(self.query), rows, &mut dists[..count]);
        for (s, &dist) in chosen().zip(&dists) {
            self.best.insert(dist, points[s]);
        }
    }
}
