//! Conjugate gradients with the diagonal as preconditioner.
//!
//! The system is D^-1/2 (S + upsilon M) D^-1/2 = 1 - N with the diagonal D. With w = (1 - N) r the
//! directions are p = r + beta p and their images w + beta (image of p): one pass over the matrix and one
//! over the vectors make an iteration (Chronopoulos and Gear 1989).

use std::sync::Arc;

use super::equation::Equation;
use super::order::Order;
use super::refine::{CAP, Correction, Corrector, Goal, Trial};
use super::sliced::{Sliced, WIDTH};
use super::sums::{BLOCK, blocks, tree};
use crate::error::Error;
use crate::parallel::{Interrupt, pass};
use crate::simd::vectorize;

/// Eight entries of a vector over rows, zero beyond the end.
type Eight = [f64; WIDTH];

/// Slices of a block.
const SLICES: usize = BLOCK / WIDTH;

/// The system.
pub(super) struct Jacobi {
    order: Arc<Order>,
    /// N
    matrix: Sliced<f64>,
    /// D / M
    weight: Vec<Eight>,
    /// D^-1/2, over nodes.
    inverse_root: Vec<f64>,
}

/// Vectors of an iteration: solution, residual, direction and its image.
struct Vectors {
    x: Vec<Eight>,
    r: Vec<Eight>,
    p: Vec<Eight>,
    image: Vec<Eight>,
}

impl Jacobi {
    pub fn new(equation: &Equation, order: &Arc<Order>) -> Self {
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
        Self { order: Arc::clone(order), matrix, weight, inverse_root }
    }

    /// w <- (1 - N) r; returns <r, w>.
    fn apply(&self, r: &[Eight], w: &mut [Eight]) -> f64 {
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

    /// p <- r + beta p, x <- x + alpha p, r <- r - alpha (1 - N) p; returns <r, r> and the square of
    /// |M^-1 D^1/2 r|_M.
    fn advance(&self, vectors: &mut Vectors, w: &[Eight], alpha: f64, beta: f64) -> (f64, f64) {
        let Vectors { x, r, p, image } = vectors;
        let chunks = |v| <[Eight]>::chunks_mut(v, SLICES);
        let state = chunks(x).zip(chunks(r)).zip(chunks(p)).zip(chunks(image));
        let given = w.chunks(SLICES).zip(self.weight.chunks(SLICES));
        let sums = pass(state.zip(given).collect(), |((((x, r), p), image), (w, weight))| {
            vectorize(
                #[inline(always)]
                || {
                    let (mut products, mut squares) = ([0.0; WIDTH], [0.0; WIDTH]);
                    let state = x.iter_mut().zip(r).zip(p).zip(image);
                    for ((((x, r), p), image), (w, weight)) in state.zip(w.iter().zip(weight)) {
                        // whole vectors of eight, none of which another may overlap
                        *p = each(|l| r[l] + beta * p[l]);
                        *image = each(|l| w[l] + beta * image[l]);
                        *x = each(|l| x[l] + alpha * p[l]);
                        *r = each(|l| r[l] - alpha * image[l]);
                        let square = each(|l| r[l] * r[l]);
                        products = each(|l| products[l] + square[l]);
                        squares = each(|l| squares[l] + square[l] * weight[l]);
                    }
                    (products.iter().sum::<f64>(), squares.iter().sum::<f64>())
                },
            )
        });
        let (products, squares): (Vec<f64>, Vec<f64>) = sums.into_iter().unzip();
        (tree(products), tree(squares))
    }
}

impl Corrector for Jacobi {
    fn correct(
        &self,
        r: &[f64],
        first: f64,
        goal: Goal,
        interrupt: Interrupt,
    ) -> Result<Correction, Error> {
        let (order, root) = (&self.order, &self.inverse_root);
        let zeros = || vec![[0.0; WIDTH]; self.weight.len()];
        let r = over_rows(&order.nodes, |node| r[node] * root[node]);
        let (mut vectors, mut w) = (Vectors { x: zeros(), r, p: zeros(), image: zeros() }, zeros());
        let (mut product, _) = self.advance(&mut vectors, &w, 0.0, 0.0);
        let (mut alpha, mut beta) = (f64::INFINITY, 0.0);
        let trial = Trial::new(first, goal);
        let (mut iterations, mut hopeful) = (0, true);
        while iterations < CAP {
            let curvature = self.apply(&vectors.r, &mut w) - beta * product / alpha;
            if !(product > 0.0 && curvature > 0.0) {
                break;
            }
            iterations += 1;
            alpha = product / curvature;
            let (next, squares) = self.advance(&mut vectors, &w, alpha, beta);
            let left = squares.sqrt();
            if !(left > 0.5 * goal.target && left.is_finite()) {
                break;
            }
            hopeful = trial.goes_on(iterations, left);
            if !hopeful {
                break;
            }
            (beta, product) = (next / product, next);
            if interrupt() {
                return Err(Error::Interrupted);
            }
        }
        let (x, mut values) = (vectors.x.as_flattened(), vec![0.0; root.len()]);
        blocks(&mut values, |nodes, values| {
            let (rows, root) = (&order.rows[nodes.clone()], &root[nodes]);
            for ((value, &row), root) in values.iter_mut().zip(rows).zip(root) {
                *value = x[row as usize] * root;
            }
            0.0
        });
        Ok(Correction { values, iterations, hopeful })
    }
}

#[inline(always)]
fn each(entry: impl Fn(usize) -> f64) -> Eight {
    std::array::from_fn(entry)
}

/// Numbers of nodes as a vector over rows.
fn over_rows(nodes: &[u32], number: impl Fn(usize) -> f64 + Sync + Send) -> Vec<Eight> {
    let mut rows = vec![[0.0; WIDTH]; nodes.len().div_ceil(WIDTH)];
    let pieces = rows.chunks_mut(SLICES).zip(nodes.chunks(BLOCK)).collect();
    pass(pieces, |(rows, nodes): (&mut [Eight], &[u32])| {
        let rows = rows.as_flattened_mut().iter_mut();
        rows.zip(nodes).for_each(|(x, &node)| *x = number(node as usize));
    });
    rows
}
