//! S + upsilon M, with its rows in an order that keeps neighbours close in memory.

use super::sliced::{Sliced, WIDTH};
use super::sums::{blocks, dot, lane, slices};
use crate::graph::{Csr, Laplacian};

/// The operator x -> sum_j w_ij (x_i - x_j) + upsilon m_i x_i.
pub(super) struct Operator {
    pub upsilon: f64,
    pub weights: Csr,
    pub mass: Vec<f64>,
    sliced: Sliced<f64>,
    /// upsilon m
    shift: Vec<f64>,
    /// The node of every row.
    nodes: Vec<u32>,
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

/// Nodes breadth first, from the first of every component: rows of neighbours stay close together.
fn breadth_first(weights: &Csr) -> Vec<u32> {
    let size = weights.size();
    let mut order = Vec::with_capacity(size);
    let mut seen = vec![false; size];
    for first in 0..size {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut next = order.len();
        order.push(first as u32);
        while next < order.len() {
            for &j in weights.row(order[next] as usize).0 {
                if !std::mem::replace(&mut seen[j as usize], true) {
                    order.push(j);
                }
            }
            next += 1;
        }
    }
    for window in order.chunks_mut(WINDOW) {
        window.sort_by_key(|&node| weights.row(node as usize).0.len());
    }
    order
}

impl Operator {
    pub fn new(laplacian: &Laplacian, upsilon: f64) -> Self {
        let nodes = breadth_first(&laplacian.weights);
        let mut rows = vec![0_u32; nodes.len()];
        for (row, &node) in nodes.iter().enumerate() {
            rows[node as usize] = row as u32;
        }
        let entries = laplacian.weights.columns.len();
        let mut weights = Csr {
            offsets: Vec::with_capacity(nodes.len() + 1),
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        };
        weights.offsets.push(0);
        for &node in &nodes {
            let (columns, values) = laplacian.weights.row(node as usize);
            weights.columns.extend(columns.iter().map(|&j| rows[j as usize]));
            weights.values.extend_from_slice(values);
            weights.offsets.push(weights.columns.len());
        }
        let mass: Vec<f64> = nodes.iter().map(|&node| laplacian.mass[node as usize]).collect();
        let shift = mass.iter().map(|m| upsilon * m).collect();
        Self { upsilon, sliced: Sliced::new(&weights), weights, mass, shift, nodes }
    }

    pub fn size(&self) -> usize {
        self.mass.len()
    }

    /// A vector over nodes as one over rows.
    pub fn gather(&self, values: &[f64]) -> Vec<f64> {
        self.nodes.iter().map(|&node| values[node as usize]).collect()
    }

    /// A vector over rows as one over nodes.
    pub fn scatter(&self, values: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; values.len()];
        for (&node, &value) in self.nodes.iter().zip(values) {
            result[node as usize] = value;
        }
        result
    }

    /// |h|_M
    pub fn norm(&self, h: &[f64]) -> f64 {
        dot(&self.mass, h, |m, h| m * h * h).sqrt()
    }

    /// Diagonal entry of row i.
    pub fn diagonal(&self, i: usize) -> f64 {
        self.weights.row(i).1.iter().sum::<f64>() + self.upsilon * self.mass[i]
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
        slices(q, |slice| self.image(slice, p));
        dot(p, q, |p, q| p * q)
    }

    /// Writes the residual m h - A x, and returns its norms. Every term is off by at most three
    /// roundings, a sum of k terms by k more.
    pub fn residual(&self, h: &[f64], x: &[f64], out: &mut [f64]) -> Residual {
        slices(out, |slice| {
            let image = self.image(slice, x);
            let (mass, h) = (lane(&self.mass, slice), lane(h, slice));
            std::array::from_fn(|s| mass[s] * h[s] - image[s])
        });
        let out = &*out;
        let bound = |i: usize| {
            let (columns, weights) = self.weights.row(i);
            let terms = columns.iter().zip(weights);
            let edges: f64 = terms.map(|(&j, w)| w * (x[i] - x[j as usize]).abs()).sum();
            let size = edges + self.mass[i] * (h[i].abs() + self.upsilon * x[i].abs());
            out[i].abs() + (columns.len() + 6) as f64 * f64::EPSILON * size
        };
        let mut bounds = vec![0.0; out.len()];
        blocks(&mut bounds, |range, bounds| {
            range.zip(bounds).for_each(|(i, entry)| *entry = bound(i));
            0.0
        });
        // the norms themselves are sums of positive terms, right to a few parts in 1e13
        let room = 1.0 + 1e-12;
        let greatest = bounds.iter().zip(&self.mass).fold(0.0, |acc: f64, (r, m)| acc.max(r / m));
        Residual {
            norm: room * dot(&bounds, &self.mass, |r, m| r * r / m).sqrt(),
            greatest: room * greatest,
        }
    }
}
