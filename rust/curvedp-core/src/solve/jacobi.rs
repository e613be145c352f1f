//! Conjugate gradients with the diagonal as preconditioner.
//!
//! On the scaled system 1 - N, with w = (1 - N) r, the directions are p = r + beta p and their images
//! w + beta (image of p): one pass over the matrix and one over the vectors make an iteration (Chronopoulos
//! and Gear 1989).

use super::patience::{Patience, Trial};
use super::refine::{CAP, Correction, Corrector};
use super::scaled::{Eight, SLICES, Scaled, plus, times};
use super::sliced::WIDTH;
use super::sums::tree;
use crate::error::Error;
use crate::parallel::{Interrupt, pass};
use crate::simd::vectorize;

/// A system, and how many iterations it may take; any number if that is not given.
pub(super) struct Jacobi<'a> {
    pub system: &'a Scaled,
    pub patience: Option<&'a Patience>,
}

/// Vectors of an iteration: solution, residual, direction and its image.
struct Vectors {
    x: Vec<Eight>,
    r: Vec<Eight>,
    p: Vec<Eight>,
    image: Vec<Eight>,
}

impl Corrector for Jacobi<'_> {
    fn correct(&self, r: &[f64], target: f64, interrupt: Interrupt) -> Result<Correction, Error> {
        let Self { system, patience } = self;
        let (zeros, r) = (|| system.zeros(), system.gather(r));
        let (mut vectors, mut w) = (Vectors { x: zeros(), r, p: zeros(), image: zeros() }, zeros());
        let (mut product, _) = advance(system, &mut vectors, &w, 0.0, 0.0);
        let (mut alpha, mut beta) = (f64::INFINITY, 0.0);
        let (mut iterations, mut trial, mut hopeful) = (0, Trial::default(), true);
        while iterations < CAP {
            let curvature = system.apply(&vectors.r, &mut w) - beta * product / alpha;
            if !(product > 0.0 && curvature > 0.0) {
                break;
            }
            iterations += 1;
            alpha = product / curvature;
            let (next, squares) = advance(system, &mut vectors, &w, alpha, beta);
            let left = squares.sqrt();
            if !(left > 0.5 * target && left.is_finite()) {
                break;
            }
            (beta, product) = (next / product, next);
            if let Some(patience) = patience {
                hopeful = trial.goes_on(alpha, beta, 0.5 * target / left, patience);
                if !hopeful {
                    break;
                }
            }
            if interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(Correction { values: system.scatter(&vectors.x), iterations, hopeful })
    }
}

/// p <- r + beta p, x <- x + alpha p, r <- r - alpha (1 - N) p; returns <r, r> and the square of
/// |M^-1 D^1/2 r|_M.
fn advance(
    system: &Scaled,
    vectors: &mut Vectors,
    w: &[Eight],
    alpha: f64,
    beta: f64,
) -> (f64, f64) {
    let Vectors { x, r, p, image } = vectors;
    let chunks = |v| <[Eight]>::chunks_mut(v, SLICES);
    let state = chunks(x).zip(chunks(r)).zip(chunks(p)).zip(chunks(image));
    let given = w.chunks(SLICES).zip(system.weight.chunks(SLICES));
    let sums = pass(state.zip(given).collect(), |((((x, r), p), image), (w, weight))| {
        vectorize(
            #[inline(always)]
            || {
                let (mut products, mut squares) = ([0.0; WIDTH], [0.0; WIDTH]);
                let state = x.iter_mut().zip(r).zip(p).zip(image);
                for ((((x, r), p), image), (w, weight)) in state.zip(w.iter().zip(weight)) {
                    *p = plus(r, beta, p);
                    *image = plus(w, beta, image);
                    *x = plus(x, alpha, p);
                    *r = plus(r, -alpha, image);
                    let square = times(r, r);
                    products = plus(&products, 1.0, &square);
                    squares = plus(&squares, 1.0, &times(&square, weight));
                }
                (products.iter().sum::<f64>(), squares.iter().sum::<f64>())
            },
        )
    });
    let (products, squares): (Vec<f64>, Vec<f64>) = sums.into_iter().unzip();
    (tree(products), tree(squares))
}
