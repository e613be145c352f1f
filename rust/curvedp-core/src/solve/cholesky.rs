//! Sparse Cholesky factorisation (faer), made only if its fill is small enough.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};

use super::Solution;
use super::operator::Operator;

/// A factor L with L L^T = S + upsilon M, up to a permutation.
pub(super) struct Factor {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
}

/// Steps of iterative refinement at most.
const REFINEMENTS: usize = 10;

impl Factor {
    /// None if the factor would have more than `most` entries, or if rounding makes a pivot vanish.
    pub fn new(operator: &Operator, most: usize) -> Option<Self> {
        let size = operator.size();
        let (mut starts, mut rows, mut entries) = (vec![0], Vec::new(), Vec::new());
        for i in 0..size {
            rows.push(i);
            entries.push(operator.diagonal[i]);
            for (j, w) in operator.row(i) {
                if j as usize > i {
                    rows.push(j as usize);
                    entries.push(-w);
                }
            }
            starts.push(rows.len());
        }
        // columns stand in the order of their nodes, not of their rows
        sort_columns(&starts, &mut rows, &mut entries);
        let pattern = SymbolicSparseColMatRef::new_checked(size, size, &starts, None, &rows);
        let matrix = SparseColMatRef::new(pattern, entries.as_slice());
        let ordering = SymmetricOrdering::Amd;
        let parameters = CholeskySymbolicParams::default();
        let symbolic =
            factorize_symbolic_cholesky(pattern, Side::Lower, ordering, parameters).ok()?;
        if symbolic.len_val() > most {
            return None;
        }
        let mut values = vec![0.0; symbolic.len_val()];
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default());
        let mut memory = MemBuffer::try_new(scratch).ok()?;
        symbolic
            .factorize_numeric_llt::<f64>(
                &mut values,
                matrix,
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Spec::default(),
            )
            .ok()?;
        Some(Self { symbolic, values })
    }

    /// r <- (S + upsilon M)^-1 r
    fn apply(&self, r: &mut [f64]) {
        let size = r.len();
        let scratch = self.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq);
        let mut memory = MemBuffer::new(scratch);
        let column = MatMut::from_column_major_slice_mut(r, size, 1);
        LltRef::new(&self.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            column,
            Par::Seq,
            MemStack::new(&mut memory),
        );
    }

    /// Solves and refines until |M^-1 r|_M <= `target` or refining no longer helps.
    pub fn solve(&self, operator: &Operator, h: &[f64], target: f64) -> Solution {
        let (mut x, mut r) = (vec![0.0; h.len()], vec![0.0; h.len()]);
        let mut residual = operator.residual_of_zero(h, &mut r);
        for _ in 0..REFINEMENTS {
            if residual.norm <= target {
                break;
            }
            self.apply(&mut r);
            let next: Vec<f64> = x.iter().zip(&r).map(|(x, e)| x + e).collect();
            let after = operator.residual(h, &next, &mut r);
            if after.norm < residual.norm {
                x = next;
            }
            let helped = after.norm <= 0.5 * residual.norm;
            if after.norm < residual.norm {
                residual = after;
            }
            if !helped {
                break;
            }
        }
        Solution {
            values: x,
            iterations: 0,
            residual: residual.norm,
            error: residual.norm / operator.upsilon,
            max_error: residual.greatest / operator.upsilon,
            converged: residual.norm <= target,
        }
    }
}

fn sort_columns(starts: &[usize], rows: &mut [usize], entries: &mut [f64]) {
    let mut column: Vec<(usize, f64)> = Vec::new();
    for range in starts.windows(2).map(|w| w[0]..w[1]) {
        column.clear();
        column.extend(range.clone().map(|e| (rows[e], entries[e])));
        column.sort_unstable_by_key(|entry| entry.0);
        for (e, &(row, entry)) in range.zip(&column) {
            (rows[e], entries[e]) = (row, entry);
        }
    }
}
