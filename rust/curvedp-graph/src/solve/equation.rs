//! The equation as it stands, in the order of the nodes: the residual of any sigma, and what it certifies.

use std::ops::Range;
use std::sync::Arc;

use super::sums::{SPAN, dot, tree};
use crate::graph::Laplacian;
use curvedp_core::parallel::pass;

/// (S + upsilon M) sigma = M h
pub(super) struct Equation {
    pub laplacian: Arc<Laplacian>,
    pub upsilon: f64,
}

/// Residual norms, with the rounding error of the residual.
#[derive(Clone, Copy)]
pub(super) struct Residual {
    /// |M^-1 r|_M
    pub norm: f64,
    /// max |r_i| / m_i
    pub greatest: f64,
}

/// Relative room for the rounding of the norms: sums of positive terms, [`SPAN`] of them to a block.
const ROOM: f64 = 2e-12;
const _: () = assert!(SPAN as f64 * f64::EPSILON < 0.5 * ROOM);

impl Equation {
    /// The diagonal entry of a node.
    pub fn diagonal(&self, node: usize) -> f64 {
        self.laplacian.degrees[node] + self.upsilon * self.laplacian.mass[node]
    }

    /// |h|_M
    pub fn norm(&self, h: &[f64]) -> f64 {
        dot(&self.laplacian.mass, h, |m, h| m * h * h).sqrt()
    }

    /// Writes the residual m h of x = 0, and returns its norms.
    pub fn residual_of_zero(&self, h: &[f64], out: &mut [f64]) -> Residual {
        let mass = &self.laplacian.mass;
        self.residuals(out, |i| {
            let r = mass[i] * h[i];
            (r, r.abs() * (1.0 + f64::EPSILON))
        })
    }

    /// Writes the residual m h - (S + upsilon M) x, and returns its norms. Every term is off by at most
    /// three roundings, a sum of k terms by k more.
    pub fn residual(&self, h: &[f64], x: &[f64], out: &mut [f64]) -> Residual {
        let Laplacian { mass, weights, .. } = &*self.laplacian;
        self.residuals(out, |i| {
            let (columns, weights) = weights.row(i);
            let (mass, here) = (mass[i], x[i]);
            let (mut image, mut edges) = (0.0, 0.0);
            for (&j, w) in columns.iter().zip(weights) {
                let term = w * (here - x[j as usize]);
                image += term;
                edges += term.abs();
            }
            let r = mass * h[i] - (image + self.upsilon * mass * here);
            let size = edges + mass * (h[i].abs() + self.upsilon * here.abs());
            let roundings = (columns.len() + 6) as f64 * f64::EPSILON;
            (r, r.abs() + roundings * size)
        })
    }

    /// Writes residuals, and returns the norms of their bounds.
    fn residuals(
        &self,
        out: &mut [f64],
        entry: impl Fn(usize) -> (f64, f64) + Sync + Send,
    ) -> Residual {
        let mass = &self.laplacian.mass;
        let pieces = out.chunks_mut(SPAN).enumerate().collect();
        let norms = pass(pieces, |(block, out): (usize, &mut [f64])| {
            let nodes: Range<usize> = block * SPAN..block * SPAN + out.len();
            let (mut squares, mut greatest) = (0.0, 0.0_f64);
            for (i, out) in nodes.zip(out) {
                let (r, bound) = entry(i);
                *out = r;
                squares += bound * bound / mass[i];
                greatest = greatest.max(bound / mass[i]);
            }
            (squares, greatest)
        });
        let (squares, greatest): (Vec<f64>, Vec<f64>) = norms.into_iter().unzip();
        let room = 1.0 + ROOM;
        Residual {
            norm: room * tree(squares).sqrt(),
            greatest: room * greatest.into_iter().fold(0.0, f64::max),
        }
    }
}
