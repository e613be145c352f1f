//! The Helmholtz-Poisson equation (L + upsilon) sigma = h on a graph, solved to a certificate.
//!
//! With L = M^-1 S (stiffness S, masses M) the residual r = M h - (S + upsilon M) sigma of any sigma
//! bounds its error e in two ways:
//! - |e|_M <= |M^-1 r|_M / upsilon, as S is positive semidefinite;
//! - max |e_i| <= max |r_i / m_i| / upsilon, as S has no positive entries off the diagonal and zero row
//!   sums: where e is greatest, (S e)_i >= 0.
//!
//! Both are computed from the returned values, with the rounding error of the residual itself.

mod chebyshev;
mod cholesky;
mod multigrid;
mod operator;
mod pcg;
mod sliced;
mod sums;

pub use chebyshev::chebyshev;

use std::sync::{Arc, OnceLock};

use crate::error::Error;
use crate::graph::Laplacian;
use crate::parallel::{Interrupt, attended};
use crate::release::power_of_two_below;

use cholesky::Factor;
use multigrid::Multigrid;
use operator::Operator;
use pcg::{Goal, Jacobi, Preconditioner};

/// How the system is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By size, conditioning and number of right-hand sides.
    Auto,
    /// Conjugate gradients with the diagonal as preconditioner.
    Jacobi,
    /// Conjugate gradients with a smoothed-aggregation multigrid preconditioner.
    Multigrid,
    /// A sparse Cholesky factorisation.
    Cholesky,
}

/// A solution and what is certain about it.
#[derive(Clone, Debug)]
pub struct Solution {
    /// sigma at the nodes.
    pub values: Vec<f64>,
    /// Iterations of conjugate gradients, 0 after a factorisation.
    pub iterations: usize,
    /// |M^-1 r|_M, with its rounding error.
    pub residual: f64,
    /// Bound of |sigma - exact|_M.
    pub error: f64,
    /// Bound of |sigma_i - exact_i| at every node.
    pub max_error: f64,
    /// Whether the residual reached the tolerance; otherwise rounding or the cap ended the iteration.
    pub converged: bool,
}

/// A system that is ready to be solved for many right-hand sides.
pub struct Solver {
    operator: Operator,
    way: Way,
}

enum Way {
    Iterate(Box<dyn Preconditioner>),
    /// The diagonal first; multigrid, built when it is needed, where that would take long.
    Adaptive(Jacobi, OnceLock<Multigrid>),
    Factorised(Box<Factor>),
}

/// Systems up to this size are factorised.
const SMALL: usize = 1500;
/// Right-hand sides from which a factorisation is considered, and entries of the factor up to which it
/// is made: one second of work, for it cannot be interrupted.
const MANY: usize = 8;
const FILL: usize = 30_000_000;
/// Iterations with the diagonal that cost less than a multigrid hierarchy.
const FEW: usize = 150;
/// Entries of a hierarchy, over those of the finest level, from which it does not pay.
const HEAVY: f64 = 3.0;

impl Solver {
    /// Prepares (L + upsilon) for about `count` right-hand sides.
    pub fn new(
        laplacian: Arc<Laplacian>,
        upsilon: f64,
        method: Method,
        count: usize,
    ) -> Result<Self, Error> {
        if !(upsilon > 0.0 && upsilon.is_finite()) {
            let allowed = "positive and finite";
            return Err(Error::Parameter { name: "upsilon", allowed, value: upsilon });
        }
        attended(&|| false, |_| {
            let operator = Operator::new(laplacian, upsilon);
            let way = choose(&operator, method, count);
            Ok(Self { operator, way })
        })
    }

    /// The method in use; where it is chosen by trial, known after the first right-hand side.
    pub fn method(&self) -> Method {
        match &self.way {
            Way::Iterate(preconditioner) => preconditioner.method(),
            Way::Adaptive(_, multigrid) if multigrid.get().is_some() => Method::Multigrid,
            Way::Adaptive(..) => Method::Jacobi,
            Way::Factorised(_) => Method::Cholesky,
        }
    }

    /// Solves for one right-hand side until the residual is `tolerance` times that of sigma = 0.
    pub fn solve(
        &self,
        rhs: &[f64],
        tolerance: f64,
        interrupt: Interrupt,
    ) -> Result<Solution, Error> {
        attended(interrupt, |interrupt| self.solve_here(rhs, tolerance, interrupt))
    }

    fn solve_here(
        &self,
        rhs: &[f64],
        tolerance: f64,
        interrupt: Interrupt,
    ) -> Result<Solution, Error> {
        // in units in which no square leaves the range of numbers; powers of two change no digit
        let largest = rhs.iter().fold(0.0, |most: f64, h| most.max(h.abs()));
        let unit = power_of_two_below(largest.max(f64::MIN_POSITIVE));
        let mut rhs = self.operator.gather(rhs);
        rhs.iter_mut().for_each(|h| *h /= unit);
        let target = tolerance * self.operator.norm(&rhs);
        let mut solution = match &self.way {
            Way::Iterate(preconditioner) => {
                self.iterate(&**preconditioner, &rhs, None, target, interrupt)?
            }
            Way::Adaptive(jacobi, multigrid) => {
                self.adapt(jacobi, multigrid, &rhs, target, interrupt)?
            }
            Way::Factorised(factor) => factor.solve(&self.operator, &rhs, target),
        };
        solution.values = self.operator.scatter(&solution.values);
        let Solution { values, residual, error, max_error, .. } = &mut solution;
        values.iter_mut().chain([residual, error, max_error]).for_each(|x| *x *= unit);
        Ok(solution)
    }

    fn adapt(
        &self,
        jacobi: &Jacobi,
        multigrid: &OnceLock<Multigrid>,
        rhs: &[f64],
        target: f64,
        interrupt: Interrupt,
    ) -> Result<Solution, Error> {
        if let Some(multigrid) = multigrid.get() {
            return self.iterate(multigrid, rhs, None, target, interrupt);
        }
        let trial = Goal { target, patience: FEW };
        let first = pcg::solve(&self.operator, jacobi, rhs, None, trial, interrupt)?;
        if first.converged {
            return Ok(first);
        }
        let hierarchy = Multigrid::new(&self.operator);
        let values = Some(first.values);
        let mut second = if hierarchy.complexity() < HEAVY {
            let multigrid = multigrid.get_or_init(|| hierarchy);
            self.iterate(multigrid, rhs, values, target, interrupt)?
        } else {
            self.iterate(jacobi, rhs, values, target, interrupt)?
        };
        second.iterations += first.iterations;
        Ok(second)
    }

    /// Iterates to the end; should multigrid come to a halt before, the diagonal goes on from there.
    fn iterate(
        &self,
        preconditioner: &dyn Preconditioner,
        rhs: &[f64],
        start: Option<Vec<f64>>,
        target: f64,
        interrupt: Interrupt,
    ) -> Result<Solution, Error> {
        let goal = Goal { target, patience: usize::MAX };
        let first = pcg::solve(&self.operator, preconditioner, rhs, start, goal, interrupt)?;
        if first.converged || preconditioner.method() == Method::Jacobi {
            return Ok(first);
        }
        let jacobi = Jacobi::new(&self.operator);
        let values = Some(first.values);
        let mut second = pcg::solve(&self.operator, &jacobi, rhs, values, goal, interrupt)?;
        second.iterations += first.iterations;
        Ok(second)
    }
}

/// The way to solve a system for about `count` right-hand sides.
fn choose(operator: &Operator, method: Method, count: usize) -> Way {
    let factor = |most| Factor::new(operator, most).map(|f| Way::Factorised(Box::new(f)));
    let jacobi = || Jacobi::new(operator);
    match method {
        Method::Jacobi => Way::Iterate(Box::new(jacobi())),
        Method::Multigrid => Way::Iterate(Box::new(Multigrid::new(operator))),
        Method::Cholesky => factor(usize::MAX).unwrap_or_else(|| Way::Iterate(Box::new(jacobi()))),
        Method::Auto => {
            let worth_it = operator.size() <= SMALL || count >= MANY;
            let factor = if worth_it { factor(FILL) } else { None };
            factor.unwrap_or_else(|| Way::Adaptive(jacobi(), OnceLock::new()))
        }
    }
}
