//! The system D^-1/2 (S + upsilon M) D^-1/2 = 1 - N over rows, D its diagonal.

use super::equation::Equation;
use super::order::Order;
use super::sliced::{Sliced, WIDTH};
use super::sums::{SPAN, blocks, sum, tree};
use curvedp_core::parallel::pass;
use curvedp_core::simd::vectorize;

/// Eight entries of a vector over rows, zero beyond the end.
pub(super) type Eight = [f64; WIDTH];

/// Slices of a block.
pub(super) const SLICES: usize = SPAN / WIDTH;

/// The system.
pub(super) struct Scaled {
    pub order: Order,
    /// D / M
    pub weight: Vec<Eight>,
    /// D^-1/2 M 1: upsilon times this is the image of the constants 1, which are D / M times this.
    pub mass: Vec<Eight>,
    /// The sum of the masses, and upsilon.
    pub volume: f64,
    pub upsilon: f64,
    /// D^-1/2, over nodes.
    pub inverse_root: Vec<f64>,
    /// N
    matrix: Sliced<f64>,
}

impl Scaled {
    pub fn new(equation: &Equation, order: Order) -> Self {
        let (size, mass) = (order.size(), &equation.laplacian.mass);
        let mut inverse_root = vec![0.0; size];
        blocks(&mut inverse_root, |nodes, out| {
            nodes.zip(out).for_each(|(i, x)| *x = equation.diagonal(i).sqrt().recip());
            0.0
        });
        let (nodes, rows) = (&order.nodes, &order.rows);
        let matrix = Sliced::new(
            size,
            |i| equation.laplacian.weights.row(nodes[i] as usize),
            |node| rows[node as usize],
            |i, j, w| inverse_root[nodes[i] as usize] * w * inverse_root[j as usize],
        );
        let weight = over_rows(nodes, |i| (inverse_root[i] * inverse_root[i] * mass[i]).recip());
        let (upsilon, volume) = (equation.upsilon, sum(mass));
        let mass = over_rows(nodes, |i| mass[i] * inverse_root[i]);
        Self { order, matrix, weight, mass, volume, upsilon, inverse_root }
    }

    /// w <- (1 - N) r; returns <r, w>.
    pub fn apply(&self, r: &[Eight], w: &mut [Eight]) -> f64 {
        let pieces = w.chunks_mut(SLICES).enumerate().collect();
        tree(pass(pieces, |(block, w): (usize, &mut [Eight])| {
            vectorize(
                #[inline(always)]
                || {
                    let mut sums = [0.0; WIDTH];
                    for (s, w) in w.iter_mut().enumerate() {
                        let slice = block * SLICES + s;
                        let (product, r) =
                            (self.matrix.products(slice, r.as_flattened()), r[slice]);
                        for l in 0..WIDTH {
                            w[l] = r[l] - product[l];
                            sums[l] += r[l] * w[l];
                        }
                    }
                    sums.iter().sum()
                },
            )
        }))
    }

    /// D^-1/2 r of a residual over nodes.
    pub fn gather(&self, r: &[f64]) -> Vec<Eight> {
        over_rows(&self.order.nodes, |node| r[node] * self.inverse_root[node])
    }

    /// D^-1/2 x + level, over nodes.
    pub fn scatter(&self, x: &[Eight], level: f64) -> Vec<f64> {
        let (x, mut values) = (x.as_flattened(), vec![0.0; self.order.size()]);
        blocks(&mut values, |nodes, values| {
            let (rows, root) = (&self.order.rows[nodes.clone()], &self.inverse_root[nodes]);
            for ((value, &row), root) in values.iter_mut().zip(rows).zip(root) {
                *value = x[row as usize] * root + level;
            }
            0.0
        });
        values
    }

    pub fn zeros(&self) -> Vec<Eight> {
        vec![[0.0; WIDTH]; self.weight.len()]
    }
}

/// a + factor b, computed as a whole before it is written, so that nothing checks for overlaps.
#[inline(always)]
pub(super) fn plus(a: &Eight, factor: f64, b: &Eight) -> Eight {
    let mut sum = *a;
    for l in 0..WIDTH {
        sum[l] += factor * b[l];
    }
    sum
}

/// Entry by entry.
#[inline(always)]
pub(super) fn times(a: &Eight, b: &Eight) -> Eight {
    let mut product = *a;
    for l in 0..WIDTH {
        product[l] *= b[l];
    }
    product
}

/// Numbers of nodes as a vector over rows.
fn over_rows(nodes: &[u32], number: impl Fn(usize) -> f64 + Sync + Send) -> Vec<Eight> {
    let mut rows = vec![[0.0; WIDTH]; nodes.len().div_ceil(WIDTH)];
    let pieces = rows.chunks_mut(SLICES).zip(nodes.chunks(SPAN)).collect();
    pass(pieces, |(rows, nodes): (&mut [Eight], &[u32])| {
        let rows = rows.as_flattened_mut().iter_mut();
        rows.zip(nodes).for_each(|(x, &node)| *x = number(node as usize));
    });
    rows
}
