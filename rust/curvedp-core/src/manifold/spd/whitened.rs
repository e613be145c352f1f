//! Pairs of SPD matrices in whitened coordinates: with P = G G^T (Cholesky) the matrix G^-1 Q G^-T has the
//! eigenvalues of P^-1 Q, and its logarithm is log_P(Q) seen from the identity.

use super::{BlockLog, load_rows};
use crate::rows::Rows;
use crate::simd::elementary::ln;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{cholesky, order, packed, packed_len, squared_norm, unwhiten, whiten};
use crate::simd::vectorize_widest;

const EPS: f64 = f64::EPSILON;

/// Squared distance |W - I|^2 of a whitened point below which its difference from I is used.
pub(super) const NEAR: f64 = 0.25;

/// Cholesky factors of the base points of a block, computed once if one base point serves all rows.
pub(super) struct Whitener<const M: usize, const L: usize> {
    m: usize,
    pub(super) factor: Lanes<L>,
    inverse: Lanes<L>,
    pub(super) full: Lanes<L>,
    ready: bool,
}

impl<const M: usize, const L: usize> Whitener<M, L> {
    pub(super) fn new(m: usize) -> Self {
        Self {
            m,
            factor: Lanes::<L>::new(packed_len(m)),
            inverse: Lanes::<L>::new(m),
            full: Lanes::<L>::new(m * m),
            ready: false,
        }
    }

    /// Factors rows `start..start + count` of `base`.
    pub(super) fn factor(&mut self, base: &Rows, start: usize, count: usize) {
        if !self.ready {
            load_rows::<M, L>(self.m, base, start, count, &mut self.factor);
            cholesky::<M, L>(self.m, &mut self.factor, &mut self.inverse);
            self.ready = base.is_shared();
        }
    }

    /// Factors base points that are loaded already; `shared` keeps the factor for the next blocks.
    fn factor_loaded(&mut self, base: &[Lane<L>], shared: bool) {
        if !self.ready {
            self.factor.copy_from_slice(base);
            cholesky::<M, L>(self.m, &mut self.factor, &mut self.inverse);
            self.ready = shared;
        }
    }

    pub(super) fn whiten(&mut self, a: &mut [Lane<L>]) {
        whiten::<M, L>(self.m, &self.factor, &self.inverse, a, &mut self.full);
    }

    pub(super) fn unwhiten(&mut self, a: &mut [Lane<L>]) {
        unwhiten::<M, L>(self.m, &self.factor, a, &mut self.full);
    }
}

/// log lambda and, if asked for, U of the whitened points log(G^-1 Q G^-T) = U diag U^T.
///
/// For Q close to P the whitened difference G^-1 (Q - P) G^-T is diagonalised instead and log1p
/// taken, so that small distances keep full relative accuracy.
pub(super) struct WhitenedLog<const M: usize, const L: usize> {
    m: usize,
    near: Lanes<L>,
    pub(super) far: Lanes<L>,
    pub(super) values: Lanes<L>,
    pub(super) vectors: Lanes<L>,
}

impl<const M: usize, const L: usize> BlockLog<L> for (Whitener<M, L>, WhitenedLog<M, L>) {
    fn compute(&mut self, point: &Rows, base: &Rows, start: usize, count: usize) {
        self.1.compute(&mut self.0, (point, base), (start, count));
    }

    fn spectrum(&mut self) -> (&mut [Lane<L>], &mut [Lane<L>]) {
        (&mut self.1.values, &mut self.1.vectors)
    }
}

impl<const M: usize, const L: usize> WhitenedLog<M, L> {
    pub(super) fn new(m: usize) -> Self {
        Self {
            m,
            near: Lanes::<L>::new(packed_len(m)),
            far: Lanes::<L>::new(packed_len(m)),
            values: Lanes::<L>::new(m),
            vectors: Lanes::<L>::new(m * m),
        }
    }

    /// log_base(point) for rows `start..start + count`.
    pub(super) fn compute(
        &mut self,
        whitener: &mut Whitener<M, L>,
        (point, base): (&Rows, &Rows),
        (start, count): (usize, usize),
    ) {
        load_rows::<M, L>(self.m, point, start, count, &mut self.far);
        load_rows::<M, L>(self.m, base, start, count, &mut self.near);
        whitener.factor_loaded(&self.near, base.is_shared());
        self.diagonalize(whitener, true);
    }

    /// log rho for rows `start..start + count`: the eigenvalues alone.
    ///
    /// They are the same up to sign whichever point whitens the other. A graded matrix (diagonal entries
    /// of very different size) loses its small eigenvalues as the whitener, not as the whitened, so the
    /// two change places where that helps.
    pub(super) fn compute_values(
        &mut self,
        whitener: &mut Whitener<M, L>,
        (point, base): (&Rows, &Rows),
        (start, count): (usize, usize),
    ) {
        load_rows::<M, L>(self.m, point, start, count, &mut self.far);
        load_rows::<M, L>(self.m, base, start, count, &mut self.near);
        if self.swap_graded() {
            whitener.ready = false;
            whitener.factor_loaded(&self.near, false);
        } else {
            whitener.factor_loaded(&self.near, base.is_shared());
        }
        self.diagonalize(whitener, false);
    }

    /// Exchanges points and base points where the latter are graded; returns true if any were exchanged.
    #[inline(never)]
    fn swap_graded(&mut self) -> bool {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let (of_point, of_base) = (grading(m, &self.far), grading(m, &self.near));
                let mut swap = [0.0; L];
                for l in 0..L {
                    swap[l] = if of_base[l] > GRADED * of_point[l] { 1.0 } else { 0.0 };
                }
                if swap.iter().all(|&x| x == 0.0) {
                    return false;
                }
                for (near, far) in self.near.iter_mut().zip(self.far.iter_mut()) {
                    for l in 0..L {
                        let (x, y) = (near[l], far[l]);
                        near[l] = if swap[l] > 0.0 { y } else { x };
                        far[l] = if swap[l] > 0.0 { x } else { y };
                    }
                }
                true
            },
        )
    }

    /// Diagonalises `far` whitened, or its difference from `near` where that is small.
    #[inline(never)]
    fn diagonalize(&mut self, whitener: &mut Whitener<M, L>, with_vectors: bool) {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let (near, far) = (&mut self.near[..packed_len(m)], &mut self.far[..packed_len(m)]);
                let (values, vectors) = (&mut self.values[..m], &mut self.vectors[..m * m]);
                for (near, far) in near.iter_mut().zip(far.iter()) {
                    for l in 0..L {
                        near[l] = far[l] - near[l];
                    }
                }
                whitener.whiten(far);
                let near_norm = squared_dist_to_identity(m, far);
                let mut floor = [0.0; L];
                if near_norm.iter().any(|&x| x < NEAR) {
                    whitener.whiten(near);
                    for (far, near) in far.iter_mut().zip(near.iter()) {
                        for l in 0..L {
                            far[l] = if near_norm[l] < NEAR { near[l] } else { far[l] };
                        }
                    }
                    let square = squared_norm(m, near);
                    for l in 0..L {
                        floor[l] = if near_norm[l] < NEAR { EPS * EPS * square[l] } else { 0.0 };
                    }
                }
                let vectors = if with_vectors { Some(vectors) } else { None };
                diagonalize::<M, L>(m, far, vectors, &floor);
                for i in 0..m {
                    let eigenvalue = far[packed(m, i, i)];
                    let value = &mut values[i];
                    for l in 0..L {
                        let near = near_norm[l] < NEAR;
                        let x = eigenvalue[l];
                        let positive = if x > f64::MIN_POSITIVE { x } else { f64::MIN_POSITIVE };
                        // one logarithm for both branches: ln(u) + (x - (u - 1))/u with u = 1 + x when near
                        let u = if near { 1.0 + x } else { positive };
                        let rest = if near { x - (u - 1.0) } else { 0.0 };
                        value[l] = ln(u) + rest / u;
                    }
                }
            },
        );
    }
}

/// |A - I|^2 for packed symmetric matrices.
#[inline(always)]
fn squared_dist_to_identity<const L: usize>(m: usize, a: &[Lane<L>]) -> Lane<L> {
    let mut sum = squared_norm(m, a);
    for i in 0..m {
        let diagonal = a[packed(m, i, i)];
        for l in 0..L {
            sum[l] += 1.0 - 2.0 * diagonal[l];
        }
    }
    sum
}

/// Ratios of diagonal entries beyond this call for the other matrix as the whitener.
const GRADED: f64 = 65536.0;

/// Largest over smallest diagonal entry.
#[inline(always)]
fn grading<const L: usize>(m: usize, a: &[Lane<L>]) -> Lane<L> {
    let (mut low, mut high) = (a[0], a[0]);
    for i in 1..m {
        let diagonal = a[packed(m, i, i)];
        for l in 0..L {
            low[l] = if diagonal[l] < low[l] { diagonal[l] } else { low[l] };
            high[l] = if diagonal[l] > high[l] { diagonal[l] } else { high[l] };
        }
    }
    for l in 0..L {
        high[l] /= low[l];
    }
    high
}
