//! Smoothed aggregation (Vanek, Mandel and Brezina 1996) as a preconditioner: a V-cycle with Chebyshev
//! smoothing, stored and run in single precision. The certificate never depends on it.

mod coarsen;
mod cycle;

use coarsen::{Coarsening, coarsen};
use cycle::{Coarsest, Fine, Level};

use super::equation::Equation;
use super::scaled::{Eight, Scaled};
use super::sums::{blocks, sum2};
use crate::graph::Csr;
use curvedp_core::parallel::pass;

/// Systems of at most this size are solved directly.
const COARSEST: usize = 300;

/// Entries of a hierarchy, over those of the finest level, from which it does not pay.
const HEAVY: f64 = 3.0;

/// The hierarchy.
pub(super) struct Multigrid {
    levels: Vec<Level>,
    coarsest: Coarsest,
    /// D^1/2, over rows.
    root: Vec<f64>,
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
    /// For the system before it was scaled.
    pub fn new(equation: &Equation, scaled: &Scaled) -> Self {
        let (order, laplacian) = (&scaled.order, &equation.laplacian);
        let inverse_root = order.gather(&scaled.inverse_root);
        let root: Vec<f64> = inverse_root.iter().map(|x| x.recip()).collect();
        // a common factor keeps single precision away from its limits
        let unit = order.size() as f64 / root.iter().map(|x| x * x).sum::<f64>();
        let weights = by_rows(
            order.size(),
            || (),
            |i, (), part| {
                let (columns, weights) = laplacian.weights.row(order.nodes[i] as usize);
                part.columns.extend(columns.iter().map(|&node| order.rows[node as usize]));
                part.values.extend(weights.iter().map(|w| unit * w));
            },
        );
        let mass = order.gather(&laplacian.mass);
        let shift = mass.iter().map(|m| equation.upsilon * m * unit).collect();
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
        Self { root, levels, coarsest: Coarsest::new(&system), complexity: entries / finest }
    }

    /// True if coarsening reached the bottom without many more entries than there were at the top.
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
    /// z <- D^1/2 B D^1/2 r with a V-cycle B; returns <r, z>.
    pub fn apply(&self, r: &[Eight], z: &mut [Eight]) -> f64 {
        let (r, root) = (&r.as_flattened()[..self.root.len()], &self.root);
        let largest = r.iter().zip(root).fold(0.0, |acc: f64, (r, d)| acc.max((r * d).abs()));
        let unit = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let mut scaled = vec![0.0_f32; r.len()];
        blocks(&mut scaled, |range, scaled| {
            let (r, root) = (&r[range.clone()], &root[range]);
            let pairs = r.iter().zip(root);
            scaled.iter_mut().zip(pairs).for_each(|(x, (r, d))| *x = (r * d / unit) as f32);
            0.0
        });
        let correction = self.cycle(0, &scaled);
        blocks(&mut z.as_flattened_mut()[..r.len()], |range, z| {
            let pairs = correction[range.clone()].iter().zip(&root[range.clone()]);
            z.iter_mut().zip(pairs).for_each(|(z, (x, d))| *z = f64::from(*x) * unit * d);
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
