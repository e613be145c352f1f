//! S + upsilon M in double precision, over rows.

use std::sync::Arc;

use super::equation::Equation;
use super::order::Order;
use super::sliced::{Sliced, WIDTH};
use super::sums::{blocks, fill, lane, sum2};
use crate::graph::Laplacian;

/// The operator x -> sum_j w_ij (x_i - x_j) + upsilon m_i x_i.
pub(super) struct Operator {
    pub mass: Vec<f64>,
    pub diagonal: Vec<f64>,
    /// upsilon m
    pub shift: Vec<f64>,
    pub order: Arc<Order>,
    laplacian: Arc<Laplacian>,
    sliced: Sliced<f64>,
}

impl Operator {
    pub fn new(equation: &Equation, order: &Arc<Order>) -> Self {
        let laplacian = &equation.laplacian;
        let mass = order.gather(&laplacian.mass);
        let shift = mass.iter().map(|m| equation.upsilon * m).collect();
        let mut diagonal = vec![0.0; order.size()];
        blocks(&mut diagonal, |range, diagonal| {
            let nodes = &order.nodes[range];
            nodes.iter().zip(diagonal).for_each(|(&i, x)| *x = equation.diagonal(i as usize));
            0.0
        });
        let row = |i: usize| laplacian.weights.row(order.nodes[i] as usize);
        let sliced = Sliced::new(order.size(), row, |node| order.rows[node as usize], |_, _, w| w);
        let (laplacian, order) = (Arc::clone(laplacian), Arc::clone(order));
        Self { mass, diagonal, shift, order, laplacian, sliced }
    }

    /// Columns and weights of row i, columns in the order of their nodes.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f64)> {
        let (columns, weights) = self.laplacian.weights.row(self.order.nodes[i] as usize);
        columns.iter().map(|&node| self.order.rows[node as usize]).zip(weights.iter().copied())
    }

    pub fn size(&self) -> usize {
        self.mass.len()
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
}
