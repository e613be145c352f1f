//! Conjugate gradients with the diagonal as preconditioner, and without the constants.
//!
//! On the scaled system 1 - N, with w = (1 - N) r, the directions are p = r + beta p and their images
//! w + beta (image of p): one pass over the matrix and one over the vectors make an iteration (Chronopoulos
//! and Gear 1989).
//!
//! Constants are nearly the lowest mode, and lie far from the others where upsilon is small; their part of
//! the solution is known at once, for S 1 = 0. The rest is sought among the vectors whose images sum up to
//! zero: p = r - m 1 + beta p with the mean m of r (deflation, Nicolaides 1987). In scaled terms 1 is
//! D^1/2 1 and its image upsilon D^-1/2 M 1. The iteration does not reduce the constant part that rounding
//! leaves in r: once this part counts, a new residual is computed.

use super::patience::{Patience, Trial};
use super::refine::{CAP, Correction, Corrector};
use super::scaled::{Eight, SLICES, Scaled, plus, times};
use super::sliced::WIDTH;
use super::sums::{dot, sum, tree};
use curvedp_core::error::Error;
use curvedp_core::parallel::{Interrupt, pass};
use curvedp_core::simd::vectorize;

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
        let constant = constant(r) / system.volume;
        let (zeros, mut r) = (|| system.zeros(), system.gather(r));
        lower(&mut r, constant, &system.mass);
        let (mut vectors, mut w) = (Vectors { x: zeros(), r, p: zeros(), image: zeros() }, zeros());
        let mut sums = advance(system, &mut vectors, &w, Step::default());
        let (mut alpha, mut beta) = (f64::INFINITY, 0.0);
        let (mut iterations, mut trial, mut hopeful) = (0, Trial::default(), true);
        while iterations < CAP {
            let (product, mean) = (sums.product, sums.weighed / system.volume);
            let steepness = system.apply(&vectors.r, &mut w) - mean * system.upsilon * sums.weighed;
            let curvature = steepness - beta * product / alpha;
            if !(product > 0.0 && curvature > 0.0) {
                break;
            }
            iterations += 1;
            alpha = product / curvature;
            sums = advance(system, &mut vectors, &w, Step { alpha, beta, mean });
            let left = sums.squares.sqrt();
            let drift = sums.sum.abs() / system.volume.sqrt();
            if !(left > 0.5 * target && left.is_finite()) || drift > DRIFT * left {
                break;
            }
            beta = sums.product / product;
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
        let values = system.scatter(&vectors.x, constant / system.upsilon);
        Ok(Correction { values, iterations, hopeful })
    }
}

/// Largest share of a residual's norm that its constant part may make up.
const DRIFT: f64 = 0.1;

/// Rounding error of a sum, over the sum of the sizes.
const ROUNDING: f64 = 1e-13;

/// The sum of r, or 0 if rounding errors may be all there is to it.
fn constant(r: &[f64]) -> f64 {
    let (total, sizes) = (sum(r), dot(r, r, |r, _| r.abs()));
    if total.abs() > ROUNDING * sizes { total } else { 0.0 }
}

/// r <- r - constant mass
fn lower(r: &mut [Eight], constant: f64, mass: &[Eight]) {
    let pieces = r.chunks_mut(SLICES).zip(mass.chunks(SLICES)).collect();
    pass(pieces, |(r, mass): (&mut [Eight], &[Eight])| {
        r.iter_mut().zip(mass).for_each(|(r, mass)| *r = plus(r, -constant, mass));
    });
}

/// Lengths of a step.
#[derive(Clone, Copy, Default)]
struct Step {
    alpha: f64,
    beta: f64,
    mean: f64,
}

/// Of a residual: <r, r>, <D^-1/2 M 1, r>, <D^1/2 1, r>, and the square of |M^-1 D^1/2 r|_M.
struct Sums {
    product: f64,
    weighed: f64,
    sum: f64,
    squares: f64,
}

/// p <- r - mean 1 + beta p, x <- x + alpha p, r <- r - alpha (1 - N) p.
fn advance(system: &Scaled, vectors: &mut Vectors, w: &[Eight], step: Step) -> Sums {
    let (Vectors { x, r, p, image }, Step { alpha, beta, mean }) = (vectors, step);
    let lift = mean * system.upsilon;
    let chunks = |v| <[Eight]>::chunks_mut(v, SLICES);
    let state = chunks(x).zip(chunks(r)).zip(chunks(p)).zip(chunks(image));
    let known = system.weight.chunks(SLICES).zip(system.mass.chunks(SLICES));
    let given = w.chunks(SLICES).zip(known);
    let sums = pass(state.zip(given).collect(), |((((x, r), p), image), (w, known))| {
        vectorize(
            #[inline(always)]
            || {
                let [mut products, mut weighed, mut total, mut squares] = [[0.0; WIDTH]; 4];
                let state = x.iter_mut().zip(r).zip(p).zip(image);
                let given = w.iter().zip(known.0.iter().zip(known.1));
                for ((((x, r), p), image), (w, (weight, mass))) in state.zip(given) {
                    let one = times(weight, mass);
                    *p = plus(&plus(r, -mean, &one), beta, p);
                    *image = plus(&plus(w, -lift, mass), beta, image);
                    *x = plus(x, alpha, p);
                    *r = plus(r, -alpha, image);
                    let square = times(r, r);
                    products = plus(&products, 1.0, &square);
                    weighed = plus(&weighed, 1.0, &times(r, mass));
                    total = plus(&total, 1.0, &times(r, &one));
                    squares = plus(&squares, 1.0, &times(&square, weight));
                }
                [products, weighed, total, squares].map(|lanes| lanes.iter().sum::<f64>())
            },
        )
    });
    let [product, weighed, sum, squares] =
        [0, 1, 2, 3].map(|s| tree(sums.iter().map(|of| of[s]).collect()));
    Sums { product, weighed, sum, squares }
}
