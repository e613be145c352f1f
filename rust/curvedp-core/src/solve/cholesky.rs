//! Sparse Cholesky factorisation (faer), made only if its fill is small enough.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};

use super::equation::Equation;
use super::refine::{Correction, Corrector};
use crate::error::Error;
use crate::parallel::Interrupt;

/// A factor L with L L^T = S + upsilon M, up to a permutation.
pub(super) struct Factor {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
}

impl Factor {
    /// None if the factor would have more than `most` entries, or if rounding makes a pivot vanish.
    pub fn new(equation: &Equation, most: usize) -> Option<Self> {
        let size = equation.size();
        let (mut starts, mut rows, mut entries) = (vec![0], Vec::new(), Vec::new());
        for i in 0..size {
            rows.push(i);
            entries.push(equation.diagonal(i));
            let (columns, weights) = equation.laplacian.weights.row(i);
            let below = columns.partition_point(|&j| j as usize <= i);
            rows.extend(columns[below..].iter().map(|&j| j as usize));
            entries.extend(weights[below..].iter().map(|w| -w));
            starts.push(rows.len());
        }
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
}

impl Corrector for Factor {
    fn correct(&self, r: &[f64], _: f64, _: Interrupt) -> Result<Correction, Error> {
        let mut values = r.to_vec();
        self.apply(&mut values);
        Ok(Correction { values, iterations: 0, hopeful: true })
    }
}
