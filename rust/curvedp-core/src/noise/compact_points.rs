//! Directions and points of compact spaces in exact arithmetic: what each adds to [`super::compact_draws`].
//!
//! *Subspaces:* the base point has the basis W = (cos; A sinc), functions of A^T A, A its coordinates. A direction is that of
//! H = Z - W W^T Z, Z a matrix of normals; the point is the span of Y = W cos + X sinc, functions of X^T X. What is rounded
//! is Y V for a uniform orthogonal V: a uniform basis of the subspace, whose law depends on nothing else. *Rotations:* the
//! base point is exp(A) = cos + A sinc, functions of A^T A, A the skew matrix of its coordinates; a direction is that of a
//! skew matrix of normals, the point is exp(A) exp(X). *Unitary matrices* are rotations of R^2n: x + iy is the block
//! (x, -y; y, x).

use super::compact_draws::Proposed;
use crate::exact::matrices::{
    Unit, Vector, circular, eigenvalues, gram, orthonormal, product, transpose_product,
};
use crate::exact::{Enclosure, Undecided};
use crate::roots::{Compact, Matrices};

impl Compact {
    /// Normals of which a direction is made, and in the square matrix that turns a basis.
    pub(super) fn normals(self) -> [usize; 2] {
        match self {
            Self::Subspaces { n, k } => [n * k, k * k],
            _ => [self.roots().dim(), 0],
        }
    }
}

impl Proposed<'_> {
    /// Entries of the matrix at the end of the tangent vector; none if that is not accepted.
    pub(super) fn point<const N: usize>(&self) -> Result<Option<Vector<N>>, Undecided> {
        match self.noise.space {
            Compact::Subspaces { k, .. } => self.subspace(k),
            Compact::Rotations { n } => self.rotation(n),
            Compact::Unitary { n } => self.unitary(n),
        }
    }

    fn subspace<const N: usize>(&self, k: usize) -> Result<Option<Vector<N>>, Undecided> {
        let a = self.base::<N>();
        let (mut base, sinc) = circular(&gram(&a, k), k, HALVINGS)?;
        base.extend(product(&a, &sinc, k));
        let z = self.direction()?;
        let along = product(&base, &transpose_product(&base, &z, k), k);
        let direction = Unit::of(z.iter().zip(&along).map(|(z, y)| z.minus(y)).collect())?.vector;
        let units = eigenvalues(gram(&direction, k).to_vec(), k)?;
        let Some(x) = self.accepted(&direction, &units)? else { return Ok(None) };
        let (cos, sinc) = circular(&gram(&x, k), k, HALVINGS)?;
        let drawn = sum(&product(&base, &cos, k), &product(&x, &sinc, k));
        Ok(Some(product(&drawn, &orthonormal(&self.turn()?, k)?, k)))
    }

    fn rotation<const N: usize>(&self, n: usize) -> Result<Option<Vector<N>>, Undecided> {
        let direction = skew(n, &Unit::of(self.direction::<N>()?)?.vector);
        // each angle of a plane is that of two eigenvectors
        let units = every_other(eigenvalues(gram(&direction, n).to_vec(), n)?);
        let Some(x) = self.accepted(&direction, &units)? else { return Ok(None) };
        let base = exponential(&skew(n, &self.base()), n, HALVINGS)?;
        Ok(Some(product(&base, &exponential(&x, n, halvings(n / 2))?, n)))
    }

    fn unitary<const N: usize>(&self, n: usize) -> Result<Option<Vector<N>>, Undecided> {
        let order = 2 * n;
        let direction = hermitian(n, &Unit::of(self.direction::<N>()?)?.vector)?;
        // each eigenvalue is that of a vector and of its product by i
        let units = every_other(eigenvalues(direction.to_vec(), order)?);
        let Some(x) = self.accepted(&direction, &units)? else { return Ok(None) };
        let drawn = exponential(&times_i(&x, order), order, halvings(n))?;
        let base = times_i(&hermitian(n, &self.base())?, order);
        Ok(Some(parts(&product(&exponential(&base, order, HALVINGS)?, &drawn, order), n)))
    }
}

/// Doublings of angles in [`circular`] for matrices T^2 with traces below 64, such as those of coordinates within pi/2 of
/// the origin, where all balls lie.
const HALVINGS: i32 = 6;

/// The same for up to 16 angles below pi, each of two eigenvectors.
fn halvings(angles: usize) -> i32 {
    HALVINGS + i32::from(angles > 3) + i32::from(angles > 12)
}

fn every_other<const N: usize>(values: Vec<Enclosure<N>>) -> Vec<Enclosure<N>> {
    values.into_iter().step_by(2).collect()
}

fn sum<const N: usize>(a: &[Enclosure<N>], b: &[Enclosure<N>]) -> Vector<N> {
    a.iter().zip(b).map(|(x, y)| x.plus(y)).collect()
}

/// exp(X) of a skew matrix: cos T + X sin(T)/T, T^2 = X^T X.
fn exponential<const N: usize>(
    x: &[Enclosure<N>],
    n: usize,
    halvings: i32,
) -> Result<Vector<N>, Undecided> {
    let (cos, sinc) = circular(&gram(x, n), n, halvings)?;
    Ok(sum(&cos, &product(x, &sinc, n)))
}

/// The skew matrix of order n with these entries below the diagonal, row by row.
fn skew<const N: usize>(n: usize, coords: &[Enclosure<N>]) -> Vector<N> {
    let mut matrix = Vector::from_elem(Enclosure::ZERO, n * n);
    for i in 0..n {
        for j in 0..i {
            let x = coords[i * (i - 1) / 2 + j];
            (matrix[i * n + j], matrix[j * n + i]) = (x, x.negated());
        }
    }
    matrix
}

/// The Hermitian matrix with these coordinates, in blocks.
fn hermitian<const N: usize>(n: usize, coords: &[Enclosure<N>]) -> Result<Vector<N>, Undecided> {
    let (order, matrices) = (2 * n, Matrices::hermitian(n));
    let root = Enclosure::integer(2).inverse_sqrt()?;
    let mut h = Vector::from_elem(Enclosure::ZERO, order * order);
    let mut set = |i: usize, j: usize, re: Enclosure<N>, im: Enclosure<N>| {
        let at = 2 * (i * order + j);
        (h[at], h[at + 1], h[at + order], h[at + order + 1]) = (re, im.negated(), im, re);
    };
    for i in 0..n {
        set(i, i, coords[matrices.at(i, i)], Enclosure::ZERO);
        for j in i + 1..n {
            let [re, im] = [0, 1].map(|k| coords[matrices.at(i, j) + k].times(&root));
            set(i, j, re, im);
            set(j, i, re, im.negated());
        }
    }
    Ok(h)
}

/// i H, in blocks.
fn times_i<const N: usize>(h: &[Enclosure<N>], order: usize) -> Vector<N> {
    let rows = h.chunks_exact(2 * order).flat_map(|block| {
        let (upper, lower) = block.split_at(order);
        lower.iter().map(Enclosure::negated).chain(upper.iter().copied())
    });
    rows.collect()
}

/// Real and imaginary parts of the entries of a matrix in blocks.
fn parts<const N: usize>(matrix: &[Enclosure<N>], n: usize) -> Vector<N> {
    let entries = (0..n * n).map(|at| 4 * (at / n) * n + 2 * (at % n));
    entries.flat_map(|at| [matrix[at], matrix[at + 2 * n]]).collect()
}
