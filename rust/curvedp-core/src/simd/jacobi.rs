//! Cyclic Jacobi diagonalisation of `L` small symmetric matrices at once.
//!
//! With the relative stop |a_pq| <= eps sqrt(a_pp a_qq) the eigenvalues of a positive definite matrix
//! are as accurate as its entries determine them (Demmel and Veselić 1992), where a tridiagonal method
//! loses the small ones of an ill-conditioned matrix.

use super::lanes::Lane;
use super::matrices::{order, packed, packed_len};
use super::rotations::rotate;
use super::vectorize_widest;

/// Sweeps after which iteration stops whatever the matrix; convergence takes about 3 + log2(m).
const MAX_SWEEPS: usize = 40;

/// Diagonalises the packed matrices `a` in place (eigenvalues on the diagonal, unordered). `vectors`
/// (m^2 lanes, overwritten) receives the orthogonal U with A = U diag(lambda) U^T.
///
/// An off-diagonal entry counts as zero when its square is at most eps^2 a_pp a_qq, or at most
/// `floor` (for matrices that are not positive definite: eps^2 times the squared norm).
#[inline(never)]
pub fn diagonalize<const M: usize, const L: usize>(
    m: usize,
    a: &mut [Lane<L>],
    vectors: Option<&mut [Lane<L>]>,
    floor: &Lane<L>,
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let a = &mut a[..packed_len(m)];
            match vectors {
                Some(u) => {
                    let u = &mut u[..m * m];
                    for i in 0..m {
                        for j in 0..m {
                            u[i * m + j] = [if i == j { 1.0 } else { 0.0 }; L];
                        }
                    }
                    sweep(m, a, Some(u), floor);
                }
                None => sweep(m, a, None, floor),
            }
        },
    );
}

/// Sweeps until nothing is left off the diagonals.
#[inline(always)]
fn sweep<const L: usize>(
    m: usize,
    a: &mut [Lane<L>],
    mut vectors: Option<&mut [Lane<L>]>,
    floor: &Lane<L>,
) {
    for _ in 0..MAX_SWEEPS {
        let active = unconverged(m, a, floor);
        if active.iter().all(|&x| x == 0.0) {
            return;
        }
        for round in 0..m {
            sweep_round(m, a, vectors.as_deref_mut(), &active, round);
        }
    }
}

/// Most rotations whose angles are computed together.
const GROUP: usize = 4;

/// Annihilates the entries (p, q) with p + q = round (mod m), which share no index: the angles do not
/// depend on one another, so the processor computes several at a time.
#[inline(always)]
fn sweep_round<const L: usize>(
    m: usize,
    a: &mut [Lane<L>],
    mut vectors: Option<&mut [Lane<L>]>,
    active: &Lane<L>,
    round: usize,
) {
    let partner = |p: usize| if round >= p { round - p } else { round + m - p };
    if m <= 3 {
        // a single pair, and loops that unroll
        for p in 0..m {
            for q in p + 1..m {
                if partner(p) == q {
                    let rotation = Rotation::new(m, a, active, p, q);
                    rotation.apply(m, a, vectors.as_deref_mut());
                }
            }
        }
        return;
    }
    let mut group = [Rotation { p: 0, q: 0, c: [1.0; L], s: [0.0; L] }; GROUP];
    let mut count = 0;
    for p in 0..m {
        let q = partner(p);
        if p < q {
            group[count] = Rotation::new(m, a, active, p, q);
            count += 1;
        }
        if count == GROUP || p + 1 == m {
            for rotation in &group[..count] {
                rotation.apply(m, a, vectors.as_deref_mut());
            }
            count = 0;
        }
    }
}

/// 1 for each lane that still has an off-diagonal entry to annihilate, else 0. Lanes that are done are
/// left alone, so that a matrix's result does not depend on its neighbours in the batch.
#[inline(always)]
fn unconverged<const L: usize>(m: usize, a: &[Lane<L>], floor: &Lane<L>) -> Lane<L> {
    const EPS: f64 = f64::EPSILON;
    let mut excess = [f64::MIN; L];
    for p in 0..m {
        for q in p + 1..m {
            let (pq, pp, qq) = (a[packed(m, p, q)], a[packed(m, p, p)], a[packed(m, q, q)]);
            for l in 0..L {
                let relative = (EPS * pp[l]) * (EPS * qq[l]);
                let allowed = if relative > floor[l] { relative } else { floor[l] };
                let here = pq[l] * pq[l] - allowed;
                excess[l] = if here > excess[l] { here } else { excess[l] };
            }
        }
    }
    let mut active = [0.0; L];
    for l in 0..L {
        active[l] = if excess[l] > 0.0 { 1.0 } else { 0.0 };
    }
    active
}

/// A rotation in the plane of axes p < q.
#[derive(Clone, Copy)]
struct Rotation<const L: usize> {
    p: usize,
    q: usize,
    c: Lane<L>,
    s: Lane<L>,
}

impl<const L: usize> Rotation<L> {
    /// The rotation that annihilates entry (p, q) of every active lane; updates that entry and the two
    /// diagonal ones.
    #[inline(always)]
    fn new(m: usize, a: &mut [Lane<L>], active: &Lane<L>, p: usize, q: usize) -> Self {
        let (pp, qq, pq) = (packed(m, p, p), packed(m, q, q), packed(m, p, q));
        let (x, y, z) = (a[pp], a[qq], a[pq]);
        let (mut c, mut s) = ([0.0; L], [0.0; L]);
        for l in 0..L {
            // t = tan of the smaller angle: sign(d) 2z / (|d| + sqrt(d^2 + 4 z^2)), d = y - x
            let d = y[l] - x[l];
            let twice = 2.0 * z[l];
            let h = (d * d + twice * twice).sqrt();
            let signed = if d >= 0.0 { twice } else { -twice };
            let t = active[l] * (signed / (d.abs() + h + f64::MIN_POSITIVE));
            c[l] = 1.0 / (1.0 + t * t).sqrt();
            s[l] = t * c[l];
            a[pp][l] = x[l] - t * z[l];
            a[qq][l] = y[l] + t * z[l];
        }
        for l in 0..L {
            a[pq][l] = if active[l] > 0.0 { 0.0 } else { z[l] };
        }
        Self { p, q, c, s }
    }

    /// Rotates the rows and columns p and q outside their intersection, and the columns of `vectors`.
    #[inline(always)]
    fn apply(&self, m: usize, a: &mut [Lane<L>], vectors: Option<&mut [Lane<L>]>) {
        let Self { p, q, c, s } = *self;
        for r in 0..p {
            rotate(a, packed(m, r, p), packed(m, r, q), &c, &s);
        }
        for r in p + 1..q {
            rotate(a, packed(m, p, r), packed(m, r, q), &c, &s);
        }
        for r in q + 1..m {
            rotate(a, packed(m, p, r), packed(m, q, r), &c, &s);
        }
        if let Some(u) = vectors {
            for row in u.chunks_exact_mut(m) {
                rotate(row, p, q, &c, &s);
            }
        }
    }
}
