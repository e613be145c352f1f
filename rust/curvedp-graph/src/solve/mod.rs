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
mod equation;
mod jacobi;
mod multigrid;
mod order;
mod patience;
mod pcg;
mod refine;
mod scaled;
mod sliced;
mod sums;

pub use chebyshev::chebyshev;

use std::sync::{Arc, OnceLock};

use crate::graph::Laplacian;
use curvedp_core::error::Error;
use curvedp_core::parallel::{Interrupt, attended};
use curvedp_core::vector::power_of_two_below;

use equation::Equation;
use jacobi::Jacobi;
use multigrid::Multigrid;
use order::Order;
use patience::Patience;
use pcg::Pcg;
use refine::Iterate;
use scaled::Scaled;

/// Method by which the system is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By conditioning and number of right-hand sides.
    Auto,
    /// Conjugate gradients with the diagonal as preconditioner.
    Jacobi,
    /// Conjugate gradients with a smoothed-aggregation multigrid preconditioner.
    Multigrid,
}

/// A solution and what is certain about it.
#[derive(Clone, Debug)]
pub struct Solution {
    /// sigma at the nodes.
    pub values: Vec<f64>,
    /// Iterations of conjugate gradients.
    pub iterations: usize,
    /// |M^-1 r|_M, with its rounding error.
    pub residual: f64,
    /// Bound of |sigma - exact|_M.
    pub error: f64,
    /// Bound of |sigma_i - exact_i| at every node.
    pub max_error: f64,
    /// True if the residual reached the tolerance; otherwise rounding or the cap ended the iteration.
    pub converged: bool,
}

/// A system that is ready to be solved for many right-hand sides.
pub struct Solver {
    equation: Equation,
    way: Way,
}

enum Way {
    Jacobi(Box<Scaled>),
    Multigrid(Box<Scaled>, Box<Multigrid>),
    /// The diagonal first; multigrid, built when it is needed, if the diagonal is expected to take more
    /// iterations than [`Patience`] allows. No hierarchy if it would not pay.
    Adaptive(Box<Scaled>, Patience, OnceLock<Option<Multigrid>>),
}

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
            let equation = Equation { laplacian, upsilon };
            let scaled = || Box::new(Scaled::new(&equation, Order::new(&equation.laplacian)));
            let way = match method {
                Method::Jacobi => Way::Jacobi(scaled()),
                Method::Multigrid => {
                    let scaled = scaled();
                    let multigrid = Box::new(Multigrid::new(&equation, &scaled));
                    Way::Multigrid(scaled, multigrid)
                }
                Method::Auto => {
                    let patience = Patience::new(&equation.laplacian.weights, count);
                    Way::Adaptive(scaled(), patience, OnceLock::new())
                }
            };
            Ok(Self { equation, way })
        })
    }

    /// The method in use; where it is chosen by trial, known after the first right-hand side.
    pub fn method(&self) -> Method {
        match &self.way {
            Way::Jacobi(_) => Method::Jacobi,
            Way::Multigrid(..) => Method::Multigrid,
            Way::Adaptive(.., multigrid) if matches!(multigrid.get(), Some(Some(_))) => {
                Method::Multigrid
            }
            Way::Adaptive(..) => Method::Jacobi,
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
        let rhs: Vec<f64> = rhs.iter().map(|h| h / unit).collect();
        let target = tolerance * self.equation.norm(&rhs);
        let mut iterate = Iterate::zero(&self.equation, &rhs);
        match &self.way {
            Way::Jacobi(system) => {
                iterate.refine(&Jacobi { system, patience: None }, target, interrupt)?;
            }
            Way::Multigrid(system, multigrid) => {
                iterate.refine(&Pcg { system, multigrid }, target, interrupt)?;
                iterate.refine(&Jacobi { system, patience: None }, target, interrupt)?;
            }
            Way::Adaptive(system, patience, multigrid) => {
                let trial = Jacobi { system, patience: Some(patience) };
                let untried = multigrid.get().is_none();
                if !(untried && iterate.refine(&trial, target, interrupt)?) {
                    let make =
                        || Some(Multigrid::new(&self.equation, system)).filter(Multigrid::pays);
                    if let Some(multigrid) = once(multigrid, make) {
                        iterate.refine(&Pcg { system, multigrid }, target, interrupt)?;
                    }
                    // should multigrid come to a halt before the goal, the diagonal goes on from there
                    iterate.refine(&Jacobi { system, patience: None }, target, interrupt)?;
                }
            }
        }
        let Iterate { x: mut values, residual, iterations, .. } = iterate;
        values.iter_mut().for_each(|x| *x *= unit);
        let upsilon = self.equation.upsilon;
        Ok(Solution {
            values,
            iterations,
            residual: residual.norm * unit,
            error: residual.norm / upsilon * unit,
            max_error: residual.greatest / upsilon * unit,
            converged: residual.norm <= target,
        })
    }
}

/// Returns the value in the cell, making it if there is none. Never blocks: two threads may both make it, and
/// one copy is dropped. Blocking could deadlock, as a waiting thread of the pool may take up another solution
/// that needs the same cell.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(made) = cell.get() {
        return made;
    }
    let made = make();
    cell.get_or_init(|| made)
}
