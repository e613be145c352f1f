//! S + upsilon M, with its rows in an order that keeps neighbours close in memory.

use std::sync::Arc;

use super::sliced::{Sliced, WIDTH};
use super::sums::{BLOCK, blocks, dot, fill, lane, sum2, tree};
use crate::graph::Laplacian;
use crate::parallel::pass;
use crate::simd::vectorize;

/// The operator x -> sum_j w_ij (x_i - x_j) + upsilon m_i x_i.
pub(super) struct Operator {
    pub upsilon: f64,
    pub mass: Vec<f64>,
    pub diagonal: Vec<f64>,
    laplacian: Arc<Laplacian>,
    sliced: Sliced<f64>,
    /// upsilon m
    shift: Vec<f64>,
    /// The node of every row, and the row of every node.
    nodes: Vec<u32>,
    rows: Vec<u32>,
}

/// Residual norms, with the rounding error of the residual.
pub(super) struct Residual {
    /// |M^-1 r|_M
    pub norm: f64,
    /// max |r_i| / m_i
    pub greatest: f64,
}

/// Rows that are sorted by their length, so that those of a slice are about equally long.
const WINDOW: usize = 32 * WIDTH;

impl Operator {
    pub fn new(laplacian: Arc<Laplacian>, upsilon: f64) -> Self {
        let weights = &laplacian.weights;
        let mut nodes = laplacian.order.to_vec();
        pass(nodes.chunks_mut(WINDOW).collect(), |window: &mut [u32]| {
            window.sort_by_key(|&node| weights.row(node as usize).0.len());
        });
        let mut rows = vec![0_u32; nodes.len()];
        for (row, &node) in nodes.iter().enumerate() {
            rows[node as usize] = row as u32;
        }
        let over_rows = |of_node: &(dyn Fn(usize) -> f64 + Sync)| {
            let mut values = vec![0.0; nodes.len()];
            blocks(&mut values, |range, values| {
                let nodes = &nodes[range];
                nodes.iter().zip(values).for_each(|(&node, x)| *x = of_node(node as usize));
                0.0
            });
            values
        };
        let mass = over_rows(&|node| laplacian.mass[node]);
        let shift = over_rows(&|node| upsilon * laplacian.mass[node]);
        let diagonal = over_rows(&|node| {
            weights.row(node).1.iter().sum::<f64>() + upsilon * laplacian.mass[node]
        });
        let row = |i: usize| weights.row(nodes[i] as usize);
        let sliced = Sliced::new(nodes.len(), row, |node| rows[node as usize]);
        Self { upsilon, mass, diagonal, sliced, shift, nodes, rows, laplacian }
    }

    /// Columns and weights of row i, columns in the order of their nodes.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f64)> {
        let (columns, weights) = self.laplacian.weights.row(self.nodes[i] as usize);
        columns.iter().map(|&node| self.rows[node as usize]).zip(weights.iter().copied())
    }

    pub fn size(&self) -> usize {
        self.mass.len()
    }

    /// A vector over nodes as one over rows.
    pub fn gather(&self, values: &[f64]) -> Vec<f64> {
        permuted(values, &self.nodes)
    }

    /// A vector over rows as one over nodes.
    pub fn scatter(&self, values: &[f64]) -> Vec<f64> {
        permuted(values, &self.rows)
    }

    /// |h|_M
    pub fn norm(&self, h: &[f64]) -> f64 {
        dot(&self.mass, h, |m, h| m * h * h).sqrt()
    }

    /// Eight entries of the image of x.
    #[inline(always)]
    fn image(&self, slice: usize, x: &[f64]) -> [f64; WIDTH] {
        let mut image = self.sliced.differences(slice, x);
        let (shift, here) = (lane(&self.shift, slice), lane(x, slice));
        for s in 0..WIDTH {
            image[s] += shift[s] * here[s];
        }
        image
    }

    /// q <- A p; returns <p, q>.
    pub fn apply(&self, p: &[f64], q: &mut [f64]) -> f64 {
        blocks(q, |range, q| {
            fill(range.start, q, |slice| self.image(slice, p));
            sum2(&p[range], q, |p, q| p * q)
        })
    }

    /// Writes the residual m h of x = 0, and returns its norms.
    pub fn residual_of_zero(&self, h: &[f64], out: &mut [f64]) -> Residual {
        self.residuals(out, |slice| {
            let (mass, h) = (lane(&self.mass, slice), lane(h, slice));
            let r: [f64; WIDTH] = std::array::from_fn(|s| mass[s] * h[s]);
            (r, r.map(|r| r.abs() * (1.0 + f64::EPSILON)))
        })
    }

    /// Writes the residual m h - A x, and returns its norms. Every term is off by at most three
    /// roundings, a sum of k terms by k more.
    pub fn residual(&self, h: &[f64], x: &[f64], out: &mut [f64]) -> Residual {
        self.residuals(out, |slice| {
            let (image, edges) = self.sliced.differences_and_sizes(slice, x);
            let (mass, shift) = (lane(&self.mass, slice), lane(&self.shift, slice));
            let (h, x) = (lane(h, slice), lane(x, slice));
            let roundings = (self.sliced.longest(slice) + 6) as f64 * f64::EPSILON;
            let (mut r, mut bounds) = ([0.0; WIDTH], [0.0; WIDTH]);
            for s in 0..WIDTH {
                r[s] = mass[s] * h[s] - (image[s] + shift[s] * x[s]);
                let size = edges[s] + mass[s] * (h[s].abs() + self.upsilon * x[s].abs());
                bounds[s] = r[s].abs() + roundings * size;
            }
            (r, bounds)
        })
    }

    /// Writes residuals, eight at a time, and returns the norms of their bounds.
    fn residuals(
        &self,
        out: &mut [f64],
        entries: impl Fn(usize) -> ([f64; WIDTH], [f64; WIDTH]) + Sync + Send,
    ) -> Residual {
        let pieces = out.chunks_mut(BLOCK).enumerate().collect();
        let norms = pass(pieces, |(block, out): (usize, &mut [f64])| {
            vectorize(
                #[inline(always)]
                || {
                    let (mut squares, mut greatest) = ([0.0; WIDTH], [0.0_f64; WIDTH]);
                    fill(block * BLOCK, out, |slice| {
                        let (r, bounds) = entries(slice);
                        let (mass, rows) = (lane(&self.mass, slice), self.size() - slice * WIDTH);
                        for s in 0..WIDTH {
                            let bound = if s < rows { bounds[s] } else { 0.0 };
                            squares[s] += bound * bound / mass[s];
                            greatest[s] = greatest[s].max(bound / mass[s]);
                        }
                        r
                    });
                    (squares.iter().sum::<f64>(), greatest.into_iter().fold(0.0, f64::max))
                },
            )
        });
        let (squares, greatest): (Vec<f64>, Vec<f64>) = norms.into_iter().unzip();
        // the norms themselves are sums of positive terms, right to a few parts in 1e13
        let room = 1.0 + 1e-12;
        Residual {
            norm: room * tree(squares).sqrt(),
            greatest: room * greatest.into_iter().fold(0.0, f64::max),
        }
    }
}

/// The values at these places.
fn permuted(values: &[f64], places: &[u32]) -> Vec<f64> {
    let mut result = vec![0.0; values.len()];
    blocks(&mut result, |range, result| {
        let places = &places[range];
        places.iter().zip(result).for_each(|(&place, x)| *x = values[place as usize]);
        0.0
    });
    result
}
