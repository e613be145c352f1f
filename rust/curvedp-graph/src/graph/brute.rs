//! Squared distances of all pairs in single precision, for images of many dimensions: twice as many in a
//! vector as in double precision, and most are only compared with a bound.

use super::candidates::Closest;
use super::kd_tree::LEAF;
use curvedp_core::simd::vectorize_widest;

/// Queries handled at a time: as many sums over a leaf's points stay in registers.
const GROUP: usize = 8;

/// All points, moved to mean 0 and scaled to norms of at most 1.
pub(super) struct Blocks {
    dim: usize,
    mean: Vec<f64>,
    /// The factor by which lengths are multiplied.
    pub unit: f64,
    /// Of every leaf: `dim` rows of [`LEAF`] coordinates, times -2.
    coords: Vec<f32>,
    /// Squared norms, NaN where there is no point.
    squared_norms: Vec<f32>,
    indices: Vec<u32>,
    /// Twice a bound of the rounding error of |x|^2 + |y|^2 - 2 <x, y>, and more.
    pub rounding: f64,
}

impl Blocks {
    /// Of the rows of `points`, which are finite, to be compared with those of `queries`.
    pub fn new(dim: usize, points: &[f64], queries: Option<&[f64]>) -> Self {
        let count = points.len() / dim;
        let mut mean = vec![0.0; dim];
        for row in points.chunks_exact(dim) {
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / count as f64);
        }
        let largest = points.chunks_exact(dim).chain(queries.unwrap_or(&[]).chunks_exact(dim));
        let norm = |row: &[f64]| row.iter().zip(&mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>();
        let finite = largest.map(norm).filter(|squared| squared.is_finite());
        let largest = finite.fold(0.0, f64::max).sqrt();
        let unit = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let leaves = count.div_ceil(LEAF);
        // coordinates are off by 2^-24 of their size, products of length `dim` by dim 2^-24 and sums of
        // four such terms by a few more: 4 (dim + 5) 2^-24 in all, twice that for a pair of keys
        let rounding = 8.0 * (dim as f64 + 5.0) * f64::from(f32::EPSILON);
        let mut blocks = Self {
            dim,
            mean,
            unit,
            coords: vec![0.0; leaves * dim * LEAF],
            squared_norms: vec![f32::NAN; leaves * LEAF],
            indices: (0..(leaves * LEAF) as u32).collect(),
            rounding,
        };
        for (i, row) in points.chunks_exact(dim).enumerate() {
            let (leaf, s) = (i / LEAF, i % LEAF);
            let mut squared = 0.0;
            for (j, x) in blocks.scaled(row).enumerate() {
                blocks.coords[(leaf * dim + j) * LEAF + s] = -2.0 * x;
                squared += x * x;
            }
            blocks.squared_norms[i] = squared;
        }
        blocks
    }

    fn scaled<'r>(&self, row: &'r [f64]) -> impl Iterator<Item = f32> + use<'r> {
        let (mean, unit) = (self.mean.clone(), self.unit);
        row.iter().zip(mean).map(move |(x, m)| ((x - m) * unit) as f32)
    }

    /// Offers all points to the list of every query: squared distances in the square of the unit.
    pub fn collect(&self, queries: &[f64], lists: &mut [Closest]) {
        let groups = lists.len().div_ceil(GROUP);
        let mut norms = vec![0.0; groups * GROUP];
        let mut coords = vec![0.0; groups * GROUP * self.dim];
        for (i, row) in queries.chunks_exact(self.dim).enumerate() {
            let group = &mut coords[i / GROUP * GROUP * self.dim..];
            for (j, x) in self.scaled(row).enumerate() {
                group[j * GROUP + i % GROUP] = x;
                norms[i] += x * x;
            }
        }
        let mut bounds: Vec<f32> = lists.iter().map(|_| f32::INFINITY).collect();
        vectorize_widest(
            #[inline(always)]
            || self.compare(&norms, &coords, &mut bounds, lists),
        );
    }

    #[inline(always)]
    fn compare(&self, norms: &[f32], coords: &[f32], bounds: &mut [f32], lists: &mut [Closest]) {
        let leaves = self.coords.chunks_exact(self.dim * LEAF);
        let leaves = leaves.zip(self.squared_norms.as_chunks::<LEAF>().0);
        for ((leaf, others), nodes) in leaves.zip(self.indices.as_chunks::<LEAF>().0) {
            let groups = norms.as_chunks::<GROUP>().0.iter();
            let groups = groups.zip(coords.chunks_exact(self.dim * GROUP));
            let lists = bounds.chunks_mut(GROUP).zip(lists.chunks_mut(GROUP));
            for ((norms, rows), (bounds, lists)) in groups.zip(lists) {
                let entries = leaf.as_chunks::<LEAF>().0.iter().zip(rows.as_chunks::<GROUP>().0);
                let squared = squared_dists(entries, norms, others);
                for ((squared, bound), list) in squared.iter().zip(bounds).zip(lists) {
                    *bound = offer(nodes, squared, *bound, list);
                }
            }
        }
    }
}

/// |x|^2 + |y|^2 - 2 <x, y> of a leaf's points and a group's queries, from their entries side by side.
#[inline(always)]
fn squared_dists<'a>(
    entries: impl Iterator<Item = (&'a [f32; LEAF], &'a [f32; GROUP])>,
    norms: &[f32; GROUP],
    others: &[f32; LEAF],
) -> [[f32; LEAF]; GROUP] {
    // with names of their own the sums stay in registers, in an array they do not
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [
        shifted(others, norms[0]),
        shifted(others, norms[1]),
        shifted(others, norms[2]),
        shifted(others, norms[3]),
        shifted(others, norms[4]),
        shifted(others, norms[5]),
        shifted(others, norms[6]),
        shifted(others, norms[7]),
    ];
    for (x, y) in entries {
        add_multiple(&mut a, x, y[0]);
        add_multiple(&mut b, x, y[1]);
        add_multiple(&mut c, x, y[2]);
        add_multiple(&mut d, x, y[3]);
        add_multiple(&mut e, x, y[4]);
        add_multiple(&mut f, x, y[5]);
        add_multiple(&mut g, x, y[6]);
        add_multiple(&mut h, x, y[7]);
    }
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn shifted(x: &[f32; LEAF], by: f32) -> [f32; LEAF] {
    let mut sum = [0.0; LEAF];
    for s in 0..LEAF {
        sum[s] = x[s] + by;
    }
    sum
}

/// sum += y x
#[inline(always)]
fn add_multiple(sum: &mut [f32; LEAF], x: &[f32; LEAF], y: f32) {
    for s in 0..LEAF {
        sum[s] += x[s] * y;
    }
}

/// Adds the points nearer than its bound to a list, and returns the new bound.
#[inline(always)]
fn offer(nodes: &[u32; LEAF], squared: &[f32; LEAF], bound: f32, list: &mut Closest) -> f32 {
    let (mut any, mut bits) = (0, 0);
    for s in 0..LEAF {
        any |= u32::from(squared[s] < bound);
    }
    if any == 0 {
        return bound;
    }
    for s in 0..LEAF {
        bits |= u32::from(squared[s] < bound) << s;
    }
    while bits != 0 {
        let s = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        list.insert(f64::from(squared[s]), nodes[s]);
    }
    list.keys[list.keys.len() - 1] as f32
}
