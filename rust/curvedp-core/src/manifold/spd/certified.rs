//! Logarithms log(G^-1 Q G^-T) of points Q = KK^T seen from P = GG^T, for lower triangular G and K, with a bound on
//! the error that is computed for each of them (docs/proofs/certified-logarithms.md).
//!
//! An orthogonal U is guessed in doubles; U^T G^-1 K, found in double-double, shows the singular values s and how far
//! both are from those of G^-1 K. Nothing is assumed about how the guess was found. Where the bound is not met the
//! guess is made again in double-double.

#[cfg(test)]
mod tests;

use super::BlockLog;
use crate::rows::Rows;
use crate::simd::elementary::ln;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{add_product, cholesky, order, packed, packed_len, squared_norm};
use crate::simd::precise::{PreciseLanes, invert, lower_product, sum_error, turned};
use crate::simd::rotations::orthogonalize;
use crate::simd::vectorize_widest;
use crate::twofold::Twofold;
use std::f64::consts::SQRT_2;

const U: f64 = f64::EPSILON / 2.0;

/// Sweeps of rotations in double-double; a few suffice.
const MOST_SWEEPS: usize = 60;

/// Squared size beside the diagonal, relative to |A|, at which the diagonalisation of A = (G^-1 K)(G^-1 K)^T leaves the
/// rest to rotations of rows.
const COARSE: f64 = 1e-16;

/// Sines of the angles between rows of a guess in double-double.
const PRECISE: f64 = 1e-20;

/// A ball about the identity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub radius: f64,
    /// Points at distance r from the identity have a condition of at most e^(rate r).
    pub rate: f64,
}

impl Extent {
    /// Of any matrices.
    pub(super) fn new(radius: f64) -> Self {
        Self { radius, rate: SQRT_2 }
    }

    /// At least of that radius.
    pub(super) fn at_least(self, radius: f64) -> Self {
        Self { radius: self.radius.max(radius), ..self }
    }

    /// Bound on the error of logarithms between points of the ball: room for a guess as good as doubles allow,
    /// several times what is met, and for products in double-double.
    pub(super) fn log_error(self, m: usize) -> f64 {
        let order = m as f64;
        let guess = (8.0 * order * order + 80.0 * order) * U * (8.0 + 8.0 * self.radius);
        guess + 10.0 * order.powf(1.5) * sum_error(m) * (self.rate * self.radius).exp()
    }
}

/// Certified logarithms of a block of points.
pub(super) struct CertifiedLog<const M: usize, const L: usize> {
    m: usize,
    /// Logarithms that are longer need no bound.
    longest: f64,
    /// The bound that the others must meet.
    allowed: f64,
    /// G and G^-1.
    base: Lanes<L>,
    inverse: PreciseLanes<L>,
    /// |G^-1| and |G||G^-1|, in Frobenius norm.
    stretch: Lane<L>,
    condition: Lane<L>,
    ready: bool,
    /// K and G^-1 K.
    point: Lanes<L>,
    product: PreciseLanes<L>,
    /// U, as columns.
    vectors: Lanes<L>,
    /// The rows of U^T G^-1 K, and then T = S^-1 U^T G^-1 K, which is nearly orthogonal.
    rows: Lanes<L>,
    lengths: Lanes<L>,
    gram: Lanes<L>,
    inverse_pivots: Lanes<L>,
    /// 2 ln s.
    values: Lanes<L>,
    /// Lengths of the logarithms.
    pub(super) dist: Lane<L>,
    /// Bounds on their errors in Frobenius norm; infinite or NaN where there is none.
    bound: Lane<L>,
}

impl<const M: usize, const L: usize> CertifiedLog<M, L> {
    /// For points of that ball. Others have logarithms, too, but these may have no bound.
    pub(super) fn new(m: usize, extent: Extent) -> Self {
        let (full, half) = (m * m, packed_len(m));
        Self {
            m,
            longest: 2.0 * extent.radius + 1.0,
            allowed: extent.log_error(m),
            base: Lanes::new(half),
            inverse: PreciseLanes::new(half),
            stretch: [0.0; L],
            condition: [0.0; L],
            ready: false,
            point: Lanes::new(half),
            product: PreciseLanes::new(half),
            vectors: Lanes::new(full),
            rows: Lanes::new(full),
            lengths: Lanes::new(m),
            gram: Lanes::new(half),
            inverse_pivots: Lanes::new(m),
            values: Lanes::new(m),
            dist: [0.0; L],
            bound: [0.0; L],
        }
    }

    /// True where the logarithm is as accurate as [`Extent::log_error`] says.
    pub(super) fn is_certain(&self, lane: usize) -> bool {
        self.bound[lane] <= self.allowed
    }

    /// The orthogonal matrix O with G^-1 K = e^(L/2) O, L the logarithm, up to rounding: O = UT, as rows of lanes.
    pub(super) fn rotation(&self, out: &mut [Lane<L>]) {
        let m = self.m;
        for i in 0..m {
            for j in 0..m {
                let mut sum = [0.0; L];
                for k in 0..m {
                    add_product(&mut sum, &self.vectors[i * m + k], &self.rows[k * m + j], 1.0);
                }
                out[i * m + j] = sum;
            }
        }
    }

    /// Factors the base points.
    fn factor(&mut self, base: &Rows, start: usize, count: usize) {
        if self.ready {
            return;
        }
        load_lower(base, start, count, self.m, &mut self.base);
        invert::<M, L>(self.m, &self.base, &mut self.inverse);
        self.stretch = frobenius(&self.inverse.high);
        self.condition = frobenius(&self.base);
        for l in 0..L {
            self.condition[l] *= self.stretch[l];
        }
        self.ready = base.is_shared();
    }

    /// U in doubles: eigenvectors of A = (G^-1 K)(G^-1 K)^T, which may have lost the small eigenvalues, and then
    /// rotations of the rows of U^T G^-1 K.
    fn guess(&mut self) {
        let floor = self.square();
        diagonalize::<M, L>(self.m, &mut self.gram, Some(&mut self.vectors), &floor);
        self.turn_product();
        orthogonalize::<M, L>(self.m, &mut self.rows, &mut self.vectors);
    }

    /// A, and what counts as zero beside its diagonal, squared.
    #[inline(never)]
    fn square(&mut self) -> Lane<L> {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let product = &self.product.high[..packed_len(m)];
                let square = &mut self.gram[..packed_len(m)];
                for i in 0..m {
                    for j in i..m {
                        let mut sum = [0.0; L];
                        for k in 0..=i {
                            let (x, y) = (&product[packed(m, k, i)], &product[packed(m, k, j)]);
                            add_product(&mut sum, x, y, 1.0);
                        }
                        square[packed(m, i, j)] = sum;
                    }
                }
                squared_norm(m, square).map(|x| x * COARSE)
            },
        )
    }

    /// Rows of U^T G^-1 K in doubles.
    #[inline(never)]
    fn turn_product(&mut self) {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let product = &self.product.high[..packed_len(m)];
                let (vectors, rows) = (&self.vectors[..m * m], &mut self.rows[..m * m]);
                for i in 0..m {
                    for j in 0..m {
                        let mut sum = [0.0; L];
                        for k in j..m {
                            let (x, y) = (&vectors[k * m + i], &product[packed(m, j, k)]);
                            add_product(&mut sum, x, y, 1.0);
                        }
                        rows[i * m + j] = sum;
                    }
                }
            },
        );
    }

    /// Brings the columns of U into the falling order of `lengths`.
    fn sort(&mut self, lane: usize, lengths: &[f64]) {
        if lengths.is_sorted_by(|a, b| a >= b) {
            return;
        }
        let mut order: Vec<usize> = (0..self.m).collect();
        order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
        let mut row = vec![0.0; self.m];
        for vectors in self.vectors.chunks_exact_mut(self.m) {
            row.iter_mut().zip(&order).for_each(|(x, &from)| *x = vectors[from][lane]);
            vectors.iter_mut().zip(&row).for_each(|(out, x)| out[lane] = *x);
        }
    }

    /// U from rotations in double-double, for one lane.
    fn refine(&mut self, lane: usize) {
        let m = self.m;
        let (rows, vectors) = self.rotations(lane);
        for (out, x) in self.vectors.iter_mut().zip(&vectors) {
            out[lane] = x.value();
        }
        let square = |row: &[Twofold]| dot(row.iter().zip(row)).value();
        let squares: Vec<f64> = rows.chunks_exact(m).map(square).collect();
        self.sort(lane, &squares);
    }

    /// The orthogonal rows of U^T G^-1 K, and U as columns.
    fn rotations(&self, lane: usize) -> (Vec<Twofold>, Vec<Twofold>) {
        let m = self.m;
        let mut rows = vec![Twofold::from(0.0); m * m];
        let mut vectors = rows.clone();
        for i in 0..m {
            vectors[i * m + i] = Twofold::ONE;
            for j in 0..=i {
                let at = packed(m, j, i);
                let (high, low) = (self.product.high[at][lane], self.product.low[at][lane]);
                rows[i * m + j] = Twofold::from(high) + low.into();
            }
        }
        for _ in 0..MOST_SWEEPS {
            let mut largest = 0.0;
            for p in 0..m {
                for q in p + 1..m {
                    largest = f64::max(largest, rotate_pair(m, &mut rows, &mut vectors, p, q));
                }
            }
            if largest <= PRECISE {
                break;
            }
        }
        (rows, vectors)
    }

    /// Logarithms of the guess and bounds on their errors.
    #[inline(never)]
    fn certify(&mut self) {
        turned::<M, L>(self.m, &self.vectors, &self.product, &mut self.rows);
        let off_gram = self.make_gram();
        cholesky::<M, L>(self.m, &mut self.gram, &mut self.inverse_pivots);
        let off_vectors = self.off_orthogonal();
        let point = frobenius(&self.point);
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let (gram, lengths) = (&self.gram[..packed_len(m)], &self.lengths[..m]);
                let values = &mut self.values[..m];
                let mut shortest = lengths[0];
                let (mut graded, mut square) = ([0.0; L], [0.0; L]);
                for j in 0..m {
                    let mut singular = [0.0; L];
                    for l in 0..L {
                        singular[l] = lengths[j][l] * gram[packed(m, j, j)][l];
                        let positive = f64::max(singular[l], f64::MIN_POSITIVE);
                        values[j][l] = 2.0 * ln(positive);
                        square[l] += values[j][l] * values[j][l];
                        shortest[l] =
                            if lengths[j][l] < shortest[l] { lengths[j][l] } else { shortest[l] };
                    }
                    for i in j + 1..m {
                        let entry = gram[packed(m, j, i)];
                        for l in 0..L {
                            let x = entry[l] * (lengths[i][l] / singular[l]);
                            graded[l] += x * x;
                        }
                    }
                }
                let size = m as f64;
                let root = size.sqrt();
                let product = sum_error(m);
                for l in 0..L {
                    let dist = square[l].sqrt();
                    let d = dist + 1.0;
                    let tail = 2.1 * product * root * (self.stretch[l] * point[l]) / shortest[l];
                    let r = (4.0 * size * size + 20.0 * size) * U + 4.0 * tail;
                    let f = 1.001 * graded[l].sqrt() + 2.0 * root * U;
                    let e = 0.53 * (off_vectors[l] + 1.1 * size * size * U);
                    let h = product * self.condition[l];
                    let turns = f / (1.0 - f) + e / (1.0 - e) + h / (1.0 - h);
                    let bound = 1.01 * (r / (1.0 - r) + (2.0 + 2.0 * d) * turns)
                        + 1.01 * (2.0 * e + e * e) * d
                        + ((size + 4.0) * root + 8.0) * U * d;
                    let small = r < 0.5 && f < 0.5 && h < 0.5 && bound < 1.0;
                    let small = small && off_gram[l] < 0.2 && off_vectors[l] < 0.05;
                    self.bound[l] = if small { bound } else { f64::INFINITY };
                    self.dist[l] = dist;
                }
            },
        );
    }

    /// Divides the rows by their lengths; the Gram matrix TT^T, and |TT^T - I|.
    #[inline(never)]
    fn make_gram(&mut self) -> Lane<L> {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let (rows, lengths) = (&mut self.rows[..m * m], &mut self.lengths[..m]);
                let gram = &mut self.gram[..packed_len(m)];
                for (row, length) in rows.chunks_exact_mut(m).zip(lengths) {
                    let mut square = [0.0; L];
                    for x in row.iter() {
                        add_product(&mut square, x, x, 1.0);
                    }
                    for l in 0..L {
                        length[l] = square[l].sqrt();
                    }
                    for x in row {
                        for l in 0..L {
                            x[l] /= length[l];
                        }
                    }
                }
                let mut off = [0.0; L];
                for i in 0..m {
                    for j in i..m {
                        let mut sum = [0.0; L];
                        for k in 0..m {
                            add_product(&mut sum, &rows[i * m + k], &rows[j * m + k], 1.0);
                        }
                        gram[packed(m, i, j)] = sum;
                        add_defect(&mut off, sum, i == j);
                    }
                }
                off.map(f64::sqrt)
            },
        )
    }

    /// |U^T U - I|.
    #[inline(never)]
    fn off_orthogonal(&self) -> Lane<L> {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let vectors = &self.vectors[..m * m];
                let mut off = [0.0; L];
                for i in 0..m {
                    for j in i..m {
                        let mut sum = [0.0; L];
                        for k in 0..m {
                            add_product(&mut sum, &vectors[k * m + i], &vectors[k * m + j], 1.0);
                        }
                        add_defect(&mut off, sum, i == j);
                    }
                }
                off.map(f64::sqrt)
            },
        )
    }
}

impl<const M: usize, const L: usize> BlockLog<L> for CertifiedLog<M, L> {
    fn compute(&mut self, point: &Rows, base: &Rows, start: usize, count: usize) {
        self.factor(base, start, count);
        load_lower(point, start, count, self.m, &mut self.point);
        lower_product::<M, L>(self.m, &self.inverse, &self.point, &mut self.product);
        self.guess();
        self.certify();
        for l in 0..count {
            if !self.is_certain(l) && self.dist[l] <= self.longest {
                self.refine(l);
                self.certify();
            }
        }
    }

    fn spectrum(&mut self) -> (&mut [Lane<L>], &mut [Lane<L>]) {
        (&mut self.values, &mut self.vectors)
    }
}

/// Adds the square of an entry of a Gram matrix minus the identity, of those beside the diagonal twice.
#[inline(always)]
fn add_defect<const L: usize>(off: &mut Lane<L>, mut entry: Lane<L>, diagonal: bool) {
    for l in 0..L {
        entry[l] -= if diagonal { 1.0 } else { 0.0 };
    }
    add_product(off, &entry, &entry, if diagonal { 1.0 } else { 2.0 });
}

/// Frobenius norms of packed triangles.
#[inline(never)]
fn frobenius<const L: usize>(a: &[Lane<L>]) -> Lane<L> {
    vectorize_widest(
        #[inline(always)]
        || {
            let mut square = [0.0; L];
            for x in a {
                add_product(&mut square, x, x, 1.0);
            }
            square.map(f64::sqrt)
        },
    )
}

/// Rows `start..start + count` of packed triangles; absent ones become the identity.
pub(super) fn load_lower<const L: usize>(
    rows: &Rows,
    start: usize,
    count: usize,
    m: usize,
    out: &mut [Lane<L>],
) {
    for i in 0..m {
        for j in i..m {
            out[packed(m, i, j)] = [if i == j { 1.0 } else { 0.0 }; L];
        }
    }
    let count = if rows.is_shared() { L } else { count };
    for l in 0..count {
        for (lane, x) in out.iter_mut().zip(rows.row(start + l)) {
            lane[l] = *x;
        }
    }
}

/// Writes packed triangles as rows.
pub(super) fn store_lower<const L: usize>(m: usize, a: &[Lane<L>], rows: &mut [f64]) {
    for (l, row) in rows.chunks_exact_mut(packed_len(m)).enumerate() {
        row.iter_mut().zip(a).for_each(|(x, lane)| *x = lane[l]);
    }
}

fn dot<'a>(pairs: impl Iterator<Item = (&'a Twofold, &'a Twofold)>) -> Twofold {
    pairs.fold(0.0.into(), |sum, (x, y)| sum + *x * *y)
}

/// Rotates rows p and q of `rows`, and columns p and q of `vectors`; returns the sine of the rows' angle before.
fn rotate_pair(m: usize, rows: &mut [Twofold], vectors: &mut [Twofold], p: usize, q: usize) -> f64 {
    let (x, y) = (&rows[p * m..p * m + m], &rows[q * m..q * m + m]);
    let (a, b) = (dot(x.iter().zip(x)), dot(y.iter().zip(y)));
    let c = dot(x.iter().zip(y)).value();
    let size = (a.value() * b.value()).sqrt();
    if c.abs() <= PRECISE * size || size.is_nan() {
        return 0.0;
    }
    let d = (b - a).value();
    let h = d.hypot(2.0 * c);
    let t = Twofold::from(if d >= 0.0 { 2.0 * c } else { -2.0 * c } / (d.abs() + h));
    let cos = Twofold::ONE / (Twofold::ONE + t * t).sqrt();
    let sin = t * cos;
    let rotate = |a: &mut [Twofold], first: usize, second: usize| {
        let (x, y) = (a[first], a[second]);
        a[first] = cos * x - sin * y;
        a[second] = sin * x + cos * y;
    };
    for k in 0..m {
        rotate(rows, p * m + k, q * m + k);
        rotate(vectors, k * m + p, k * m + q);
    }
    c.abs() / size
}
