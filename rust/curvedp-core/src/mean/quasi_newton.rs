//! Limited-memory BFGS on a manifold: earlier steps and gradient changes are carried along the path by
//! parallel transport (Huang, Gallivan, Absil 2015). It only proposes steps; whether one is taken is for
//! the caller to decide.

use smallvec::SmallVec;

use crate::manifold::Manifold;
use crate::rows::Rows;

/// Pairs kept: enough for the Hessians of squared distances, whose eigenvalues lie close together.
const PAIRS: usize = 6;

/// Steps s and gradient changes y in orthonormal coordinates at the current point: rows s_1, y_1, s_2,
/// y_2, ..., oldest first.
#[derive(Default)]
pub struct Memory {
    rows: SmallVec<[f64; 16]>,
}

impl Memory {
    /// Clears the memory; returns true if it held anything.
    pub fn clear(&mut self) -> bool {
        let had_any = !self.rows.is_empty();
        self.rows.clear();
        had_any
    }

    /// Writes the inverse-Hessian approximation applied to the descent vector; `descent / curvature` while
    /// there is no memory.
    pub fn step(&self, descent: &[f64], curvature: f64, step: &mut [f64]) {
        let dim = descent.len();
        step.copy_from_slice(descent);
        let pairs = || self.rows.chunks_exact(2 * dim).map(|pair| pair.split_at(dim));
        let count = self.rows.len() / (2 * dim);
        let (mut products, mut shares) = ([0.0; PAIRS], [0.0; PAIRS]);
        for (i, (s, y)) in pairs().enumerate() {
            products[i] = dot(s, y);
        }
        for (i, (s, y)) in pairs().enumerate().rev() {
            shares[i] = dot(s, step) / products[i];
            add(step, -shares[i], y);
        }
        let scale =
            pairs().next_back().map_or(1.0 / curvature, |(_, y)| products[count - 1] / dot(y, y));
        step.iter_mut().for_each(|x| *x *= scale);
        for (i, (s, y)) in pairs().enumerate() {
            let correction = shares[i] - dot(y, step) / products[i];
            add(step, correction, s);
        }
    }

    /// Moves the memory from `base` to `end` = exp_base(step) and adds the pair of this step; `before` and
    /// `after` are the descent vectors at the two points.
    pub fn update(
        &mut self,
        manifold: &dyn Manifold,
        (base, end): (&[f64], &[f64]),
        step: &[f64],
        (before, after): (&[f64], &[f64]),
    ) {
        self.push(step, before);
        let count = self.rows.len() / step.len();
        transport(manifold, &base.repeat(count), &end.repeat(count), &mut self.rows);
        self.close(after);
    }

    /// Adds the pair of a step, of which the descent vector at its end is missing yet.
    pub fn push(&mut self, step: &[f64], before: &[f64]) {
        self.rows.reserve(4 * step.len()); // a pair more: most iterations make two
        self.rows.extend_from_slice(step);
        self.rows.extend_from_slice(before);
    }

    /// The rows to be carried along the step: see [`transport`].
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// The same, to be overwritten.
    pub fn rows_mut(&mut self) -> &mut [f64] {
        &mut self.rows
    }

    /// Completes the last pair with the descent vector at the step's end; drops one that is of no use.
    pub fn close(&mut self, after: &[f64]) {
        let dim = after.len();
        let last = self.rows.len() - 2 * dim;
        for (y, after) in self.rows[last + dim..].iter_mut().zip(after) {
            *y -= after;
        }
        let (s, y) = self.rows[last..].split_at(dim);
        if dot(s, y) <= 1e-3 * (dot(s, s) * dot(y, y)).sqrt() || !dot(y, y).is_normal() {
            self.rows.truncate(last);
        }
        if self.rows.len() > PAIRS * 2 * dim {
            self.rows.drain(..2 * dim);
        }
    }
}

/// Carries row i of coordinates from row i of `bases` to row i of `ends`.
pub fn transport(manifold: &dyn Manifold, bases: &[f64], ends: &[f64], rows: &mut [f64]) {
    let (size, dim) = (manifold.point_size(), manifold.dim());
    let (bases, ends) = (Rows::new(bases, size), Rows::new(ends, size));
    let mut tangent = vec![0.0; rows.len() / dim * size];
    manifold.from_coords(Rows::new(rows, dim), bases, &mut tangent);
    let mut moved = vec![0.0; tangent.len()];
    manifold.parallel_transport(Rows::new(&tangent, size), bases, ends, &mut moved);
    manifold.coords(Rows::new(&moved, size), ends, rows);
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn add(x: &mut [f64], share: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += share * y);
}
