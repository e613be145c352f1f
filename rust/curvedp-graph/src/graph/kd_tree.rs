//! A balanced kd-tree: leaves of at most [`LEAF`] points, coordinates side by side for vector
//! instructions.

use curvedp_core::parallel::pass;

/// Points in a leaf at most.
pub(super) const LEAF: usize = 16;

/// Subtrees of more points are arranged on several threads.
const SHARED: usize = 16_384;

/// Receives candidates, and tells how far they may lie.
pub(super) trait Candidates {
    /// Squared distance beyond which no candidate is wanted.
    fn bound(&self) -> f64;
    /// Takes points at these squared distances, NaN where there is none.
    fn offer(&mut self, points: &[u32], squared: &[f64; LEAF]);
}

/// The tree. Nodes are numbered as in a heap: 1 is the root, 2i and 2i + 1 are the halves of i.
pub(super) struct KdTree {
    dim: usize,
    leaves: usize,
    /// The point in every slot.
    pub order: Vec<u32>,
    /// The first slot of every leaf, and the end.
    starts: Vec<usize>,
    /// Of every leaf: `dim` rows of `LEAF` coordinates, NaN where there is no point.
    coords: Vec<f64>,
    /// Of every node: the least coordinates, then the greatest.
    boxes: Vec<f64>,
}

/// A total order on finite numbers as integers.
fn sortable(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | (1 << 63))
}

/// Permutes points so that equal parts of `order` are the leaves.
fn arrange(dim: usize, points: &[f64], order: &mut [u32], leaves: usize) {
    if leaves == 1 {
        return;
    }
    let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
    for &i in &*order {
        for (j, &x) in points[i as usize * dim..][..dim].iter().enumerate() {
            low[j] = low[j].min(x);
            high[j] = high[j].max(x);
        }
    }
    let mut widest = 0;
    for j in 1..dim {
        if high[j] - low[j] > high[widest] - low[widest] {
            widest = j;
        }
    }
    let key = |&i: &u32| (sortable(points[i as usize * dim + widest]), i);
    let mut keys: Vec<(u64, u32)> = order.iter().map(key).collect();
    let half = order.len() / 2;
    keys.select_nth_unstable(half);
    order.iter_mut().zip(&keys).for_each(|(slot, key)| *slot = key.1);
    let shared = order.len() > SHARED;
    let (left, right) = order.split_at_mut(half);
    if shared {
        pass(vec![left, right], |half| arrange(dim, points, half, leaves / 2));
    } else {
        arrange(dim, points, left, leaves / 2);
        arrange(dim, points, right, leaves / 2);
    }
}

impl KdTree {
    /// The tree of the finite rows of `points`, at least one.
    pub fn new(dim: usize, points: &[f64]) -> Self {
        let count = points.len() / dim;
        let leaves = count.div_ceil(LEAF).next_power_of_two();
        let mut order: Vec<u32> = (0..count as u32).collect();
        arrange(dim, points, &mut order, leaves);
        let mut starts = vec![0, count];
        while starts.len() <= leaves {
            let halved = starts.windows(2).flat_map(|w| [w[0], w[0] + (w[1] - w[0]) / 2]);
            starts = halved.chain([count]).collect();
        }
        let mut tree = Self { dim, leaves, order, starts, coords: Vec::new(), boxes: Vec::new() };
        tree.fill(points);
        tree
    }

    fn fill(&mut self, points: &[f64]) {
        let (dim, leaves) = (self.dim, self.leaves);
        self.coords = vec![f64::NAN; leaves * dim * LEAF];
        self.boxes = vec![0.0; 2 * leaves * 2 * dim];
        for leaf in 0..leaves {
            let coords = &mut self.coords[leaf * dim * LEAF..][..dim * LEAF];
            let bounds = &mut self.boxes[(leaves + leaf) * 2 * dim..][..2 * dim];
            let (low, high) = bounds.split_at_mut(dim);
            low.fill(f64::INFINITY);
            high.fill(f64::NEG_INFINITY);
            let slots = self.starts[leaf]..self.starts[leaf + 1];
            for (s, &i) in self.order[slots].iter().enumerate() {
                for (j, &x) in points[i as usize * dim..][..dim].iter().enumerate() {
                    coords[j * LEAF + s] = x;
                    low[j] = low[j].min(x);
                    high[j] = high[j].max(x);
                }
            }
        }
        for node in (1..leaves).rev() {
            for j in 0..dim {
                let at = |child: usize, k: usize| self.boxes[child * 2 * dim + k];
                let low = at(2 * node, j).min(at(2 * node + 1, j));
                let high = at(2 * node, dim + j).max(at(2 * node + 1, dim + j));
                self.boxes[node * 2 * dim + j] = low;
                self.boxes[node * 2 * dim + dim + j] = high;
            }
        }
    }

    /// The leaf that holds a slot.
    pub fn leaf_of(&self, slot: usize) -> usize {
        self.starts.partition_point(|&start| start <= slot) - 1
    }

    /// Offers every point within the bound of the candidates. `first` is a leaf to look into before
    /// the others; `stack` is scratch.
    #[inline(always)]
    pub fn search<C: Candidates>(
        &self,
        query: &[f64],
        first: Option<usize>,
        candidates: &mut C,
        stack: &mut Vec<(u32, f64)>,
    ) {
        match self.dim {
            1 => self.search_in(1, query, first, candidates, stack),
            2 => self.search_in(2, query, first, candidates, stack),
            3 => self.search_in(3, query, first, candidates, stack),
            4 => self.search_in(4, query, first, candidates, stack),
            dim => self.search_in(dim, query, first, candidates, stack),
        }
    }

    #[inline(always)]
    fn search_in<C: Candidates>(
        &self,
        dim: usize,
        query: &[f64],
        first: Option<usize>,
        candidates: &mut C,
        stack: &mut Vec<(u32, f64)>,
    ) {
        let query = &query[..dim];
        stack.clear();
        let Some(leaf) = first else {
            stack.push((1, 0.0));
            return self.descend(dim, query, candidates, stack);
        };
        self.scan(dim, leaf, query, candidates);
        // the rest of the tree are the other halves of all nodes above the leaf, the nearest first
        let mut node = self.leaves + leaf;
        while node > 1 {
            let squared = self.squared_to_box(dim, node ^ 1, query);
            stack.push(((node ^ 1) as u32, squared));
            self.descend(dim, query, candidates, stack);
            node /= 2;
        }
    }

    /// Offers what lies below the nodes of the stack, the last first.
    #[inline(always)]
    fn descend<C: Candidates>(
        &self,
        dim: usize,
        query: &[f64],
        candidates: &mut C,
        stack: &mut Vec<(u32, f64)>,
    ) {
        while let Some((node, squared)) = stack.pop() {
            if squared > candidates.bound() {
                continue;
            }
            let mut node = node as usize;
            // down to the nearest leaf, leaving the farther halves for later
            while node < self.leaves {
                let left = self.squared_to_box(dim, 2 * node, query);
                let right = self.squared_to_box(dim, 2 * node + 1, query);
                let (near, far, farther) = if left <= right {
                    (2 * node, 2 * node + 1, right)
                } else {
                    (2 * node + 1, 2 * node, left)
                };
                if farther <= candidates.bound() {
                    stack.push((far as u32, farther));
                }
                node = near;
                if left.min(right) > candidates.bound() {
                    break;
                }
            }
            if node >= self.leaves {
                self.scan(dim, node - self.leaves, query, candidates);
            }
        }
    }

    #[inline(always)]
    fn squared_to_box(&self, dim: usize, node: usize, query: &[f64]) -> f64 {
        let bounds = &self.boxes[node * 2 * dim..][..2 * dim];
        let mut squared = 0.0;
        for j in 0..dim {
            let outside = (bounds[j] - query[j]).max(query[j] - bounds[dim + j]).max(0.0);
            squared += outside * outside;
        }
        squared
    }

    #[inline(always)]
    fn scan<C: Candidates>(&self, dim: usize, leaf: usize, query: &[f64], candidates: &mut C) {
        let coords = &self.coords[leaf * dim * LEAF..][..dim * LEAF];
        let mut squared = [0.0; LEAF];
        for j in 0..dim {
            let row: &[f64; LEAF] = coords[j * LEAF..].first_chunk().expect("a leaf is full");
            for s in 0..LEAF {
                let difference = row[s] - query[j];
                squared[s] += difference * difference;
            }
        }
        let points = &self.order[self.starts[leaf]..self.starts[leaf + 1]];
        candidates.offer(points, &squared);
    }
}
