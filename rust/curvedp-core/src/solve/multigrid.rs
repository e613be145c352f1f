//! Smoothed aggregation (Vanek, Mandel and Brezina 1996) as a preconditioner: a V-cycle with Chebyshev
//! smoothing, stored and run in single precision. The certificate never depends on it.

mod coarsen;
mod cycle;

use std::sync::Arc;

use coarsen::{Coarsening, coarsen};
use cycle::{Coarsest, Fine, Level};

use super::equation::Equation;
use super::operator::Operator;
use super::order::Order;
use super::sums::{blocks, sum2};
use crate::graph::Csr;
use crate::parallel::pass;

/// Systems of at most this size are solved directly.
const COARSEST: usize = 300;

/// Entries of a hierarchy, over those of the finest level, from which it does not pay.
const HEAVY: f64 = 3.0;

/// The hierarchy.
pub(super) struct Multigrid {
    /// The system in double precision.
    pub operator: Operator,
    levels: Vec<Level>,
    coarsest: Coarsest,
    /// Entries of all levels over those of the finest.
    complexity: f64,
}

/// sum_j w_ij (x_i - x_j) + shift_i x_i on one level; weights may have either sign on coarse ones.
pub(super) struct System {
    pub weights: Csr,
    pub shift: Vec<f64>,
}

impl System {
    fn size(&self) -> usize {
        self.shift.len()
    }

    fn degree(&self, i: usize) -> f64 {
        self.weights.row(i).1.iter().sum()
    }
}

impl Multigrid {
    pub fn new(equation: &Equation, order: &Arc<Order>) -> Self {
        let operator = Operator::new(equation, order);
        // a common factor keeps single precision away from its limits
        let unit = operator.size() as f64 / operator.diagonal.iter().sum::<f64>();
        let weights = by_rows(
            operator.size(),
            || (),
            |i, (), part| {
                for (j, w) in operator.row(i) {
                    part.columns.push(j);
                    part.values.push(unit * w);
                }
            },
        );
        let shift = operator.shift.iter().map(|shift| shift * unit).collect();
        let mut system = System { weights, shift };
        let finest = system.weights.columns.len().max(1) as f64;
        let (mut levels, mut entries) = (Vec::new(), 0.0);
        loop {
            entries += system.weights.columns.len() as f64;
            let size = system.size();
            if size <= COARSEST {
                break;
            }
            let fine = Fine::new(&system);
            let Some(Coarsening { prolongation, restriction, coarse }) =
                coarsen(&system, fine.top())
            else {
                break;
            };
            levels.push(Level::new(fine, &prolongation, &restriction));
            system = coarse;
        }
        Self { operator, levels, coarsest: Coarsest::new(&system), complexity: entries / finest }
    }

    /// Whether coarsening reached the bottom without many more entries than there were at the top.
    pub fn pays(&self) -> bool {
        self.coarsest.is_direct() && self.complexity < HEAVY
    }
}

/// Rows that one thread handles at a time.
const ROWS: usize = 16_384;

/// A matrix of rows that `push` appends one after the other, with work space of each thread's own.
fn by_rows<W>(
    rows: usize,
    space: impl Fn() -> W + Sync + Send,
    push: impl Fn(usize, &mut W, &mut Csr) + Sync + Send,
) -> Csr {
    let starts: Vec<usize> = (0..rows).step_by(ROWS).collect();
    let parts = pass(starts, |start| {
        let (mut part, mut space) = (Csr::default(), space());
        for i in start..(start + ROWS).min(rows) {
            push(i, &mut space, &mut part);
            part.offsets.push(part.columns.len());
        }
        part
    });
    let mut result = Csr { offsets: vec![0], ..Csr::default() };
    for part in parts {
        let before = result.columns.len();
        result.offsets.extend(part.offsets.iter().map(|end| before + end));
        result.columns.extend_from_slice(&part.columns);
        result.values.extend_from_slice(&part.values);
    }
    result
}

impl Multigrid {
    /// z <- B r; returns <r, z>.
    pub fn precondition(&self, r: &[f64], z: &mut [f64]) -> f64 {
        let largest = r.iter().fold(0.0, |acc: f64, x| acc.max(x.abs()));
        let unit = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let mut scaled = vec![0.0_f32; r.len()];
        blocks(&mut scaled, |range, scaled| {
            scaled.iter_mut().zip(&r[range]).for_each(|(x, r)| *x = (r / unit) as f32);
            0.0
        });
        let correction = self.cycle(0, &scaled);
        blocks(z, |range, z| {
            let correction = &correction[range.clone()];
            z.iter_mut().zip(correction).for_each(|(z, x)| *z = f64::from(*x) * unit);
            sum2(&r[range], z, |r, z| r * z)
        })
    }

    /// One V-cycle from 0 for the right-hand side b of a level.
    fn cycle(&self, depth: usize, b: &[f32]) -> Vec<f32> {
        let Some(level) = self.levels.get(depth) else {
            return self.coarsest.solve(b);
        };
        let x = level.smooth_from_zero(b);
        let coarse = self.cycle(depth + 1, &level.restrict(b, &x));
        level.smooth(b, &level.correct(&x, &coarse))
    }
}
