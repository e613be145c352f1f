//! Conjugate gradients with multigrid as preconditioner.

use super::multigrid::Multigrid;
use super::refine::{CAP, Correction, Corrector};
use super::scaled::{Eight, SLICES, Scaled, plus, times};
use super::sliced::WIDTH;
use super::sums::tree;
use curvedp_core::error::Error;
use curvedp_core::parallel::{Interrupt, pass};
use curvedp_core::simd::vectorize;

/// A system with its hierarchy.
pub(super) struct Pcg<'a> {
    pub system: &'a Scaled,
    pub multigrid: &'a Multigrid,
}

impl Corrector for Pcg<'_> {
    fn correct(&self, r: &[f64], target: f64, interrupt: Interrupt) -> Result<Correction, Error> {
        let Self { system, multigrid } = self;
        let mut r = system.gather(r);
        let [mut x, mut p, mut q, mut z] = std::array::from_fn(|_| system.zeros());
        let mut product = multigrid.apply(&r, &mut z);
        let mut beta = 0.0;
        let mut iterations = 0;
        while iterations < CAP {
            turn(&mut p, &z, beta);
            let curvature = system.apply(&p, &mut q);
            if !(product > 0.0 && curvature > 0.0) {
                break;
            }
            iterations += 1;
            let left = step(system, [&mut x, &mut r], [&p, &q], product / curvature).sqrt();
            if !(left > 0.5 * target && left.is_finite()) {
                break;
            }
            let next = multigrid.apply(&r, &mut z);
            (beta, product) = (next / product, next);
            if interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(Correction { values: system.scatter(&x, 0.0), iterations, hopeful: true })
    }
}

/// p <- z + beta p
fn turn(p: &mut [Eight], z: &[Eight], beta: f64) {
    let pieces = p.chunks_mut(SLICES).zip(z.chunks(SLICES)).collect();
    pass(pieces, |(p, z): (&mut [Eight], &[Eight])| {
        p.iter_mut().zip(z).for_each(|(p, z)| *p = plus(z, beta, p));
    });
}

/// x <- x + alpha p, r <- r - alpha q; returns the square of |M^-1 D^1/2 r|_M.
fn step(system: &Scaled, [x, r]: [&mut [Eight]; 2], [p, q]: [&[Eight]; 2], alpha: f64) -> f64 {
    let state = x.chunks_mut(SLICES).zip(r.chunks_mut(SLICES));
    let given = p.chunks(SLICES).zip(q.chunks(SLICES)).zip(system.weight.chunks(SLICES));
    tree(pass(state.zip(given).collect(), |((x, r), ((p, q), weight))| {
        vectorize(
            #[inline(always)]
            || {
                let mut squares = [0.0; WIDTH];
                let given = p.iter().zip(q).zip(weight);
                for ((x, r), ((p, q), weight)) in x.iter_mut().zip(r).zip(given) {
                    *x = plus(x, alpha, p);
                    *r = plus(r, -alpha, q);
                    squares = plus(&squares, 1.0, &times(&times(r, r), weight));
                }
                squares.iter().sum::<f64>()
            },
        )
    }))
}
