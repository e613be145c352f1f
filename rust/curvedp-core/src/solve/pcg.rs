//! Preconditioned conjugate gradients, ended by the certificate.

use std::ops::Range;

use super::operator::Operator;
use super::sums::{BLOCK, blocks, dot, sum2, tree};
use super::{Method, Solution};
use crate::error::Error;
use crate::parallel::{Interrupt, pass};
use crate::simd::vectorize;

/// A symmetric positive definite approximation of the inverse.
pub(super) trait Preconditioner: Send + Sync {
    /// Its name.
    fn method(&self) -> Method;
    /// z <- B r; returns <r, z>.
    fn apply(&self, r: &[f64], z: &mut [f64]) -> f64;

    /// x += alpha p, r -= alpha q; returns the sum of r_i^2 / m_i. If z <- B r costs little more, that and
    /// <r, z> too.
    fn advance(&self, step: &Step, [x, r, _]: [&mut [f64]; 3]) -> (f64, Option<f64>) {
        (advance(step, [x, r]), None)
    }
}

/// The inverse of the diagonal.
pub(super) struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    pub fn new(operator: &Operator) -> Self {
        Self { inverse: operator.diagonal.iter().map(|x| 1.0 / x).collect() }
    }
}

impl Preconditioner for Jacobi {
    fn method(&self) -> Method {
        Method::Jacobi
    }

    fn apply(&self, r: &[f64], z: &mut [f64]) -> f64 {
        blocks(z, |range, z| {
            let (inverse, r) = (&self.inverse[range.clone()], &r[range]);
            for ((z, inverse), r) in z.iter_mut().zip(inverse).zip(r) {
                *z = inverse * r;
            }
            sum2(r, z, |r, z| r * z)
        })
    }

    fn advance(&self, step: &Step, [x, r, z]: [&mut [f64]; 3]) -> (f64, Option<f64>) {
        let pieces = x.chunks_mut(BLOCK).zip(r.chunks_mut(BLOCK)).zip(z.chunks_mut(BLOCK));
        let pieces: Vec<_> = pieces.map(|((x, r), z)| (x, r, z)).enumerate().collect();
        let sums = pass(pieces, |(block, (x, r, z))| {
            let range = block * BLOCK..block * BLOCK + x.len();
            vectorize(
                #[inline(always)]
                || {
                    step.take(range.clone(), x, r);
                    let inverse = &self.inverse[range.clone()];
                    z.iter_mut().zip(inverse).zip(&*r).for_each(|((z, i), r)| *z = i * r);
                    let squared = sum2(r, &step.mass[range.clone()], |r, m| r * r / m);
                    (squared, sum2(r, z, |r, z| r * z))
                },
            )
        });
        let (squares, products) = sums.into_iter().unzip();
        (tree(squares), Some(tree(products)))
    }
}

/// A step of conjugate gradients along p, with q = A p.
pub(super) struct Step<'a> {
    alpha: f64,
    p: &'a [f64],
    q: &'a [f64],
    mass: &'a [f64],
}

impl Step<'_> {
    /// x += alpha p, r -= alpha q over a range that x and r are the pieces of.
    #[inline(always)]
    fn take(&self, range: Range<usize>, x: &mut [f64], r: &mut [f64]) {
        x.iter_mut().zip(&self.p[range.clone()]).for_each(|(x, p)| *x += self.alpha * p);
        r.iter_mut().zip(&self.q[range]).for_each(|(r, q)| *r -= self.alpha * q);
    }
}

/// Iterations at most.
const CAP: usize = 50_000;

/// Iterations after which their total number is estimated, and how many times what patience allows it may
/// be: what lies in few directions is gone soon, and the first iterations say little about the others.
const TRIALS: [(usize, f64); 2] = [(10, 4.0), (25, 1.0)];

/// When to stop.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    /// Bound of |M^-1 r|_M to reach.
    pub target: f64,
    /// If more iterations than this are in sight, gives up after a few.
    pub patience: usize,
}

/// Iterates from `start` (0 if absent) until the goal is reached, as the residual of x itself shows; when
/// the recursion has drifted from it, starts again from there, as long as that helps.
pub(super) fn solve(
    operator: &Operator,
    preconditioner: &dyn Preconditioner,
    h: &[f64],
    start: Option<Vec<f64>>,
    goal: Goal,
    interrupt: Interrupt,
) -> Result<Solution, Error> {
    let target = goal.target;
    let mut r = vec![0.0; h.len()];
    let (mut x, mut residual) = match start {
        Some(x) => {
            let residual = operator.residual(h, &x, &mut r);
            (x, residual)
        }
        None => (vec![0.0; h.len()], operator.residual_of_zero(h, &mut r)),
    };
    let mut iterations = 0;
    while residual.norm > target && iterations < CAP {
        let before = x.clone();
        let descent = descend(operator, preconditioner, (&mut x, &mut r), goal, interrupt)?;
        iterations += descent.iterations;
        let next = operator.residual(h, &x, &mut r);
        let helped = next.norm <= 0.5 * residual.norm;
        if next.norm < residual.norm {
            residual = next;
        } else {
            x = before;
        }
        if !helped || !descent.hopeful {
            break;
        }
    }
    Ok(Solution {
        values: x,
        iterations,
        residual: residual.norm,
        error: residual.norm / operator.upsilon,
        max_error: residual.greatest / operator.upsilon,
        converged: residual.norm <= target,
    })
}

/// A run of conjugate gradients.
struct Descent {
    iterations: usize,
    /// Whether patience was kept.
    hopeful: bool,
}

/// Conjugate gradients from x with residual r, until the norm of the updated residual is half the target,
/// rounding has taken over or patience is lost.
fn descend(
    operator: &Operator,
    preconditioner: &dyn Preconditioner,
    (x, r): (&mut [f64], &mut [f64]),
    goal: Goal,
    interrupt: Interrupt,
) -> Result<Descent, Error> {
    let n = x.len();
    let target = 0.5 * goal.target;
    let first = dot(r, &operator.mass, |r, m| r * r / m).sqrt();
    let (mut z, mut q) = (vec![0.0; n], vec![0.0; n]);
    let mut rz = preconditioner.apply(r, &mut z);
    let mut p = z.clone();
    for iteration in 1..=CAP {
        let pq = operator.apply(&p, &mut q);
        if !(pq > 0.0 && rz > 0.0) {
            return Ok(Descent { iterations: iteration, hopeful: true });
        }
        let step = Step { alpha: rz / pq, p: &p, q: &q, mass: &operator.mass };
        let (squared, product) = preconditioner.advance(&step, [&mut *x, &mut *r, &mut z]);
        if squared.sqrt() <= target || !squared.is_finite() {
            return Ok(Descent { iterations: iteration, hopeful: true });
        }
        if let Some(&(_, margin)) = TRIALS.iter().find(|trial| trial.0 == iteration) {
            let gained = (squared.sqrt() / first).ln();
            let needed = (target / first).ln() / gained * iteration as f64;
            let patience = margin * goal.patience as f64;
            if goal.patience < CAP && (gained >= 0.0 || needed > patience) {
                return Ok(Descent { iterations: iteration, hopeful: false });
            }
        }
        let next = product.unwrap_or_else(|| preconditioner.apply(r, &mut z));
        let beta = next / rz;
        rz = next;
        blocks(&mut p, |range, p| {
            p.iter_mut().zip(&z[range]).for_each(|(p, z)| *p = z + beta * *p);
            0.0
        });
        if interrupt() {
            return Err(Error::Interrupted);
        }
    }
    Ok(Descent { iterations: CAP, hopeful: true })
}

/// x += alpha p, r -= alpha q; returns the sum of r_i^2 / m_i.
fn advance(step: &Step, [x, r]: [&mut [f64]; 2]) -> f64 {
    let pieces = x.chunks_mut(BLOCK).zip(r.chunks_mut(BLOCK)).enumerate().collect();
    tree(pass(pieces, |(block, (x, r)): (usize, (&mut [f64], &mut [f64]))| {
        let range = block * BLOCK..block * BLOCK + x.len();
        vectorize(
            #[inline(always)]
            || {
                step.take(range.clone(), x, r);
                sum2(r, &step.mass[range.clone()], |r, m| r * r / m)
            },
        )
    }))
}
