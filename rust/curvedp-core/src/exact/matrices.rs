//! Vectors and small matrices of enclosed numbers, real or complex, row by row.
//!
//! Rotations have angles that doubles guess, and their entries are enclosures of exact functions of these: so the
//! rotated matrix is exactly similar to the one before, however good the guess was. What is left when the
//! rotations stop is bounded and counted.

use super::entries::Entry;
use super::{Enclosure, Undecided};
use smallvec::SmallVec;

/// A vector.
pub type Vector<const N: usize> = SmallVec<[Enclosure<N>; 4]>;

/// The sum of the products, of those with conjugates of b.
pub fn dot<const N: usize, K: Entry<N>>(a: &[K], b: &[K]) -> K {
    a.iter().zip(b).fold(K::ZERO, |sum, (a, b)| sum.plus(&a.times_conjugate(b)))
}

/// The squared length.
fn square<const N: usize, K: Entry<N>>(a: &[K]) -> Enclosure<N> {
    a.iter().fold(Enclosure::ZERO, |sum, a| sum.plus(&a.square()))
}

/// A B, with `columns` columns in A = (rows of them) and B square.
pub fn product<const N: usize>(
    a: &[Enclosure<N>],
    square: &[Enclosure<N>],
    columns: usize,
) -> Vector<N> {
    let entry = |row: &[Enclosure<N>], j: usize| {
        let terms = row.iter().zip(square.iter().skip(j).step_by(columns));
        terms.fold(Enclosure::ZERO, |sum, (x, y)| sum.plus(&x.times(y)))
    };
    let mut product = Vector::with_capacity(a.len());
    for row in a.chunks_exact(columns) {
        for j in 0..columns {
            product.push(entry(row, j));
        }
    }
    product
}

/// A^T B for matrices with `columns` columns each.
pub fn transpose_product<const N: usize>(
    a: &[Enclosure<N>],
    b: &[Enclosure<N>],
    columns: usize,
) -> Vector<N> {
    let column = |of: &[Enclosure<N>], j: usize| -> Vector<N> {
        of.iter().skip(j).step_by(columns).copied().collect()
    };
    let mut product = Vector::with_capacity(columns * columns);
    for i in 0..columns {
        for j in 0..columns {
            product.push(dot(&column(a, i), &column(b, j)));
        }
    }
    product
}

/// A^T A
pub fn gram<const N: usize>(a: &[Enclosure<N>], columns: usize) -> Vector<N> {
    transpose_product(a, a, columns)
}

/// cos T and sin(T)/T for the positive semidefinite matrix T^2 of order m, in steps that do not depend on it.
///
/// Series at Y = T^2/4^h of a trace below 2^-6, which bounds its norm, from the innermost bracket on:
/// I - Y/(1 2) (I - Y/(3 4) (...)). Left out is at most 2^(-6 (d + 1)) after d brackets. Then h times
/// cos 2T = 2 cos^2 T - I and sin(2T)/2T = cos T sin(T)/T, in which all matrices commute.
///
/// # Errors
/// [`Undecided`] unless the trace is known to be below 4^(h - 3), for the h >= 3 of `halvings`.
pub fn circular<const N: usize>(
    square: &[Enclosure<N>],
    m: usize,
    halvings: i32,
) -> Result<(Vector<N>, Vector<N>), Undecided> {
    let trace = (0..m).fold(Enclosure::ZERO, |sum, i| sum.plus(&square[i * (m + 1)]));
    if !trace.is_less(&Enclosure::integer(1 << (2 * (halvings - 3))))? {
        return Err(Undecided);
    }
    let y: Vector<N> = square.iter().map(|x| x.shifted(-2 * halvings)).collect();
    let degree = (Enclosure::<N>::FRACTION as usize).div_ceil(6);
    let identity = |i: usize| Enclosure::integer(i64::from(i.is_multiple_of(m + 1)));
    let series = |odd: usize| -> Result<Vector<N>, Undecided> {
        let mut sum: Vector<N> = (0..m * m).map(identity).collect();
        for j in (1..=degree).rev() {
            let divisor = Enclosure::integer(((2 * j - 1 + odd) * (2 * j + odd)) as i64);
            let factor = divisor.reciprocal()?;
            let next = product(&y, &sum, m);
            let entry = |(i, x): (usize, &Enclosure<N>)| identity(i).minus(&x.times(&factor));
            sum = next.iter().enumerate().map(entry).collect();
        }
        Ok(sum.iter().map(|x| x.wider_by(1)).collect())
    };
    let (mut cos, mut sinc) = (series(0)?, series(1)?);
    for _ in 0..halvings {
        sinc = product(&cos, &sinc, m);
        let twice = product(&cos, &cos, m);
        let entry = |(i, x): (usize, &Enclosure<N>)| x.shifted(1).minus(&identity(i));
        cos = twice.iter().enumerate().map(entry).collect();
    }
    Ok((cos, sinc))
}

/// A vector of length 1, and what it was before.
pub struct Unit<const N: usize, K = Enclosure<N>> {
    /// The vector.
    pub vector: SmallVec<[K; 4]>,
    square: Enclosure<N>,
    inverse: Enclosure<N>,
    exponent: i32,
}

impl<const N: usize, K: Entry<N>> Unit<N, K> {
    /// The vector divided by its length.
    ///
    /// # Errors
    /// [`Undecided`] if it may be 0.
    pub fn of(mut vector: SmallVec<[K; 4]>) -> Result<Self, Undecided> {
        // in units of a power of two near its longest entry
        let exponent = vector.iter().filter_map(K::exponent).max().ok_or(Undecided)?;
        if exponent.abs() > 8 {
            vector.iter_mut().for_each(|x| *x = x.shifted(-exponent));
        }
        let exponent = if exponent.abs() > 8 { exponent } else { 0 };
        let square = square(&vector);
        let inverse = square.inverse_sqrt()?;
        vector.iter_mut().for_each(|x| *x = x.scaled(&inverse));
        Ok(Self { vector, square, inverse, exponent })
    }

    /// The length before.
    #[must_use]
    pub fn length(&self) -> Enclosure<N> {
        self.square.times(&self.inverse).shifted(self.exponent)
    }
}

/// Rounds of rotations of every pair of m: a few until they converge, and then one for every 50 bits that the
/// guessed angles have.
fn rounds<const N: usize>(m: usize) -> usize {
    let first = if m == 2 { 1 } else { 2 + m.next_power_of_two().ilog2() as usize };
    first + (Enclosure::<N>::FRACTION as usize).div_ceil(50) - 1
}

/// All pairs i < j.
pub fn pairs(m: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..m).flat_map(move |i| (i + 1..m).map(move |j| (i, j)))
}

/// Eigenvalues of a symmetric matrix of order m, in falling order.
///
/// A = W (D + F) W^T with an exactly orthogonal W, D diagonal: by Weyl's inequality the k-th largest eigenvalue is
/// within |F| of the k-th largest entry of D, that one within the largest error of D's entries of
/// the k-th largest middle.
///
/// # Errors
/// [`Undecided`] if the rotations have not converged to 128 bits.
pub fn eigenvalues<const N: usize>(
    mut a: Vec<Enclosure<N>>,
    m: usize,
) -> Result<Vec<Enclosure<N>>, Undecided> {
    for _ in 0..rounds::<N>(m) {
        for (i, j) in pairs(m) {
            turn(&mut a, m, i, j)?;
        }
    }
    // |F| <= sqrt 2 times the sum above the diagonal
    let mut off = 0u128;
    for (i, j) in pairs(m) {
        off = off.saturating_add(a[i * m + j].bound()?.saturating_mul(2));
    }
    let mut middles: Vec<_> = (0..m).map(|i| a[i * (m + 1)]).collect();
    let widest = middles.iter().map(Enclosure::error).max().unwrap_or(0);
    middles.sort_by(|x, y| y.compare_middles(x));
    Ok(middles.iter().map(|x| x.exactly().wider_by(widest.saturating_add(off))).collect())
}

/// Rotates rows and columns i and j so that entry (i, j) becomes small.
fn turn<const N: usize>(
    a: &mut [Enclosure<N>],
    m: usize,
    i: usize,
    j: usize,
) -> Result<(), Undecided> {
    let at = |row: usize, column: usize| row * m + column;
    let gap = a[at(j, j)].minus(&a[at(i, i)]).middle_as_scaled();
    let half = tangent_of_half_angle(a[at(i, j)].middle_as_scaled(), gap);
    // cos = (1 - h^2)/(1 + h^2) and sin = 2 h/(1 + h^2)
    let one = Enclosure::integer(1);
    let square = half.times(&half);
    let factor = one.plus(&square).reciprocal()?;
    let cos = one.minus(&square).times(&factor);
    let sin = half.times(&factor).shifted(1);
    let turned = |x: &Enclosure<N>, y: &Enclosure<N>| {
        (cos.times(x).minus(&sin.times(y)), sin.times(x).plus(&cos.times(y)))
    };
    for k in 0..m {
        if k != i && k != j {
            let (x, y) = turned(&a[at(k, i)], &a[at(k, j)]);
            (a[at(k, i)], a[at(k, j)]) = (x, y);
            (a[at(i, k)], a[at(j, k)]) = (x, y);
        }
    }
    // the block of both: columns first, then rows
    let (ii, ij) = turned(&a[at(i, i)], &a[at(i, j)]);
    let (ji, jj) = turned(&a[at(j, i)], &a[at(j, j)]);
    let (own, across) = turned(&ii, &ji);
    let (_, other) = turned(&ij, &jj);
    (a[at(i, i)], a[at(j, j)]) = (own, other);
    (a[at(i, j)], a[at(j, i)]) = (across, across);
    Ok(())
}

/// About tan(theta/2) for the rotation by theta that takes a symmetric matrix with this `entry` beside the diagonal
/// and this gap between the diagonal entries to a diagonal one.
fn tangent_of_half_angle<const N: usize>(entry: (f64, i32), gap: (f64, i32)) -> Enclosure<N> {
    let ((x, scale), (d, gap_scale)) = (entry, gap);
    if x == 0.0 {
        return Enclosure::ZERO;
    }
    let apart = if d == 0.0 { i32::MAX } else { scale - gap_scale };
    if apart < -200 {
        // theta is about x/d
        return Enclosure::double(0.5 * x / d, apart);
    }
    let (x, d) = if apart > 200 { (x, 0.0) } else { (x * 2f64.powi(apart), d) };
    // tan theta is the smaller root of x t^2 + d t = x
    let sum = d.abs() + d.hypot(2.0 * x);
    let tangent = if d < 0.0 { -2.0 * x / sum } else { 2.0 * x / sum };
    Enclosure::double(tangent / (1.0 + 1.0f64.hypot(tangent)), 0)
}

/// The lower triangular matrix G of a symmetric one G G^T, or a Hermitian one G G^*.
///
/// # Errors
/// [`Undecided`] unless the matrix is known to be positive definite.
pub fn cholesky<const N: usize, K: Entry<N>>(matrix: &[K], m: usize) -> Result<Vec<K>, Undecided> {
    let mut lower = vec![K::ZERO; m * m];
    for j in 0..m {
        let (above, below) = lower.split_at_mut(j * m);
        let own = &mut below[..m];
        for i in 0..j {
            let row = &above[i * m..i * m + m];
            let rest = matrix[j * m + i].minus(&dot(&own[..i], &row[..i]));
            own[i] = rest.scaled(&row[i].parts()[0].reciprocal()?);
        }
        let rest = matrix[j * m + j].parts()[0].minus(&square(&own[..j]));
        own[j] = K::read(&[rest.sqrt()?, Enclosure::ZERO]);
    }
    Ok(lower)
}

/// The orthogonal or unitary matrix whose rows span the same spaces as the first rows of this one (Gram and Schmidt).
///
/// # Errors
/// [`Undecided`] if rows may be dependent; of real ones, if the last may lie in the span of the others.
pub fn orthonormal<const N: usize, K: Entry<N>>(rows: &[K], m: usize) -> Result<Vec<K>, Undecided> {
    let mut found: Vec<K> = Vec::with_capacity(m * m);
    for (i, row) in rows.chunks_exact(m).enumerate() {
        if K::PARTS == 1 && i + 1 == m {
            found.extend(last_row(&found, row)?);
            break;
        }
        let mut rest = SmallVec::<[K; 4]>::from_slice(row);
        for own in found.chunks_exact(m) {
            let share = dot(row, own);
            rest.iter_mut().zip(own).for_each(|(x, own)| *x = x.minus(&share.times(own)));
        }
        found.extend(Unit::of(rest)?.vector);
    }
    Ok(found)
}

/// The last row of a real orthogonal matrix: that of both which is on the side of `row`. So a row that is almost in the
/// span of the others is not divided by its small rest.
fn last_row<const N: usize, K: Entry<N>>(
    others: &[K],
    row: &[K],
) -> Result<SmallVec<[K; 4]>, Undecided> {
    let m = row.len();
    // any axis will do that is not in that span
    let used = |k: &usize| others.iter().skip(*k).step_by(m).map(K::middle_square).sum::<f64>();
    let axis = (0..m).min_by(|i, j| used(i).total_cmp(&used(j))).unwrap_or(0);
    let mut rest: SmallVec<[K; 4]> = (0..m)
        .map(|k| K::read(&[Enclosure::integer(i64::from(k == axis)), Enclosure::ZERO]))
        .collect();
    for own in others.chunks_exact(m) {
        let share = own[axis].conjugate();
        rest.iter_mut().zip(own).for_each(|(x, own)| *x = x.minus(&share.times(own)));
    }
    let mut unit = Unit::of(rest)?.vector;
    if dot(row, &unit).parts()[0].sign()? == std::cmp::Ordering::Less {
        unit.iter_mut().for_each(|x| *x = K::ZERO.minus(x));
    }
    Ok(unit)
}

/// The logarithm of sum_i e^(l_i) c_i c_i^*, with the vectors c_i in rows and l falling.
///
/// Rotations of e^(l_i/2) c_i and e^(l_j/2) c_j, which change nothing, make them orthogonal; written for c alone
/// they hold numbers of moderate size, whatever l is (Hestenes 1958). At the end c_i = |c_i| u_i with
/// unit vectors of a Gram matrix I + E, |E| <= 1/4, and with d_i = l_i + 2 ln |c_i| and d the largest |d_i|
/// the logarithm is within 3 |E| (1 + d) of sum_i d_i u_i u_i^*: docs/proofs/exact-draws.md.
///
/// # Errors
/// [`Undecided`] if the rotations have not converged to 128 bits.
pub fn log_of_sum<const N: usize, K: Entry<N>>(
    l: &[Enclosure<N>],
    mut c: Vec<K>,
) -> Result<Vec<K>, Undecided> {
    let m = l.len();
    // e^(l_j - l_i)
    let ratios: Vec<_> = pairs(m).map(|(i, j)| l[j].minus(&l[i]).exp()).collect();
    for _ in 0..rounds::<N>(m) {
        for ((i, j), ratio) in pairs(m).zip(&ratios) {
            let (before, after) = c.split_at_mut(j * m);
            orthogonalise(&mut before[i * m..i * m + m], &mut after[..m], ratio)?;
        }
    }
    let mut units = Vec::with_capacity(m * m);
    let mut logs = Vec::with_capacity(m);
    for (row, l) in c.chunks_exact(m).zip(l) {
        let unit = Unit::of(SmallVec::<[K; 4]>::from_slice(row))?;
        logs.push(l.plus(&unit.length().ln()?.shifted(1)));
        units.extend(unit.vector);
    }
    let row = |i: usize| &units[i * m..i * m + m];
    // |E| <= sqrt 2 times the sum above the diagonal
    let mut off = 0u128;
    for (i, j) in pairs(m) {
        off = off.saturating_add(dot(row(i), row(j)).at_most_quarter()?.saturating_mul(2));
    }
    if Enclosure::<N>::FRACTION < 130 && off > 1 << (Enclosure::<N>::FRACTION - 2) {
        return Err(Undecided);
    }
    let sizes = logs.iter().map(|d| Some(d.above(0)?.max(-d.below(0)?)));
    let largest = sizes.collect::<Option<Vec<_>>>().ok_or(Undecided)?;
    let largest = largest.into_iter().max().unwrap_or(0) as u128;
    let ulps = off.saturating_mul(3 * (1 + largest));
    let mut log = vec![K::ZERO; m * m];
    for p in 0..m {
        for q in p..m {
            let terms = (0..m).map(|i| row(i)[p].scaled(&logs[i]).times_conjugate(&row(i)[q]));
            let sum = terms.fold(K::ZERO, |sum, term| sum.plus(&term)).wider_by(ulps);
            (log[p * m + q], log[q * m + p]) = (sum, sum.conjugate());
        }
    }
    Ok(log)
}

/// Replaces a and b by k (a + r s b) and k (b - s* a), k = 1/sqrt(1 + r |s|^2), s* the conjugate: the rotation of a and
/// r^(1/2) b whose angle has the tangent r^(1/2) |s|, with some s for which the scalar product becomes small.
fn orthogonalise<const N: usize, K: Entry<N>>(
    a: &mut [K],
    b: &mut [K],
    ratio: &Enclosure<N>,
) -> Result<(), Undecided> {
    let square = |x: &[K]| x.iter().map(K::middle_square).sum::<f64>();
    let r = ratio.middle_as_double();
    let gap = square(a) - r * square(b);
    let (product, scale) = dot(a, b).middle_as_scaled();
    let size = product[0].hypot(product[1]);
    // s = t g/|g|, g the scalar product, t the smaller root of r |g| t^2 + gap t = |g|
    let root = gap.hypot(2.0 * r.sqrt() * size * 2f64.powi(scale.max(-500)));
    let denominator = if gap < 0.0 { gap - root } else { gap + root };
    let slope = if size == 0.0 { [0.0; 2] } else { product.map(|x| 2.0 * x / denominator) };
    let slope = K::double(slope, scale);
    let share = slope.scaled(ratio);
    let back = slope.conjugate();
    let factor = Enclosure::integer(1).plus(&slope.square().times(ratio)).inverse_sqrt()?;
    for (x, y) in a.iter_mut().zip(b) {
        let (own, other) = (x.plus(&share.times(y)), y.minus(&back.times(x)));
        (*x, *y) = (own.scaled(&factor), other.scaled(&factor));
    }
    Ok(())
}
