//! Preconditioned conjugate gradients, ended by the certificate.

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
    /// z <- B r
    fn apply(&self, r: &[f64], z: &mut [f64]);
}

/// The inverse of the diagonal.
pub(super) struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    pub fn new(operator: &Operator) -> Self {
        Self { inverse: (0..operator.size()).map(|i| 1.0 / operator.diagonal(i)).collect() }
    }
}

impl Preconditioner for Jacobi {
    fn method(&self) -> Method {
        Method::Jacobi
    }

    fn apply(&self, r: &[f64], z: &mut [f64]) {
        blocks(z, |range, z| {
            let (inverse, r) = (&self.inverse[range.clone()], &r[range]);
            for ((z, inverse), r) in z.iter_mut().zip(inverse).zip(r) {
                *z = inverse * r;
            }
            0.0
        });
    }
}

/// Iterations at most.
const CAP: usize = 50_000;

/// Iterations after which their total number is estimated.
const TRIAL: usize = 25;

/// When to stop.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    /// Bound of |M^-1 r|_M to reach.
    pub target: f64,
    /// If more iterations than this are in sight, gives up after a few.
    pub patience: usize,
}

/// Iterates from `x` until the goal is reached, as the residual of x itself shows; when the recursion has
/// drifted from it, starts again from there, as long as that helps.
pub(super) fn solve(
    operator: &Operator,
    preconditioner: &dyn Preconditioner,
    h: &[f64],
    mut x: Vec<f64>,
    goal: Goal,
    interrupt: Interrupt,
) -> Result<Solution, Error> {
    let target = goal.target;
    let mut r = vec![0.0; x.len()];
    let mut residual = operator.residual(h, &x, &mut r);
    let mut best = x.clone();
    let mut iterations = 0;
    while residual.norm > target && iterations < CAP {
        let descent = descend(operator, preconditioner, (&mut x, &mut r), goal, interrupt)?;
        iterations += descent.iterations;
        let next = operator.residual(h, &x, &mut r);
        let helped = next.norm <= 0.5 * residual.norm;
        if next.norm < residual.norm {
            best.copy_from_slice(&x);
            residual = next;
        }
        if !helped || !descent.hopeful {
            break;
        }
    }
    Ok(Solution {
        values: best,
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
    preconditioner.apply(r, &mut z);
    let mut p = z.clone();
    let mut rz = dot(r, &z, |r, z| r * z);
    for iteration in 1..=CAP {
        let pq = operator.apply(&p, &mut q);
        if !(pq > 0.0 && rz > 0.0) {
            return Ok(Descent { iterations: iteration, hopeful: true });
        }
        let squared = advance(rz / pq, (&p, &q), (x, r), &operator.mass);
        if squared.sqrt() <= target || !squared.is_finite() {
            return Ok(Descent { iterations: iteration, hopeful: true });
        }
        if iteration == TRIAL {
            let gained = (squared.sqrt() / first).ln();
            let needed = (target / first).ln() / gained * TRIAL as f64;
            if goal.patience < CAP && (gained >= 0.0 || needed > goal.patience as f64) {
                return Ok(Descent { iterations: iteration, hopeful: false });
            }
        }
        preconditioner.apply(r, &mut z);
        let next = dot(r, &z, |r, z| r * z);
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
fn advance(
    alpha: f64,
    (p, q): (&[f64], &[f64]),
    (x, r): (&mut [f64], &mut [f64]),
    mass: &[f64],
) -> f64 {
    let pieces = x.chunks_mut(BLOCK).zip(r.chunks_mut(BLOCK)).enumerate().collect();
    tree(pass(pieces, |(b, (x, r)): (usize, (&mut [f64], &mut [f64]))| {
        let start = b * BLOCK;
        let (p, q) = (&p[start..start + x.len()], &q[start..start + x.len()]);
        let mass = &mass[start..start + x.len()];
        vectorize(
            #[inline(always)]
            || {
                x.iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
                r.iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * q);
                sum2(r, mass, |r, m| r * r / m)
            },
        )
    }))
}
