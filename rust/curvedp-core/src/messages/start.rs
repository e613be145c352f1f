//! Start messages: points embedded in Euclidean space, in integers.

use super::bound::{Limit, root_up};
use crate::error::{Error, filled};
use crate::manifold::{Manifold, quaternion};
use crate::simd::elementary::sin_cos;

/// The kind of a manifold's start message, from whose sum a first base point follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// None, as the space has no point beside which others are far.
    None,
    /// Positive definite matrices have a scale instead, see [`super::MessageSums::scale`].
    Determinant {
        /// Order of the matrices.
        order: usize,
        /// True for Hermitian ones.
        is_complex: bool,
    },
    /// The point over the sphere's radius, and a constant.
    Direction {
        /// Entries of a point.
        size: usize,
        /// Radius of the sphere.
        radius: f64,
    },
    /// The entries of an orthogonal or unitary matrix, and a constant.
    Orthogonal {
        /// Order of the matrices.
        order: usize,
        /// True for unitary ones.
        is_complex: bool,
    },
    /// Cosine and sine of each angle, and a constant.
    Angles {
        /// Number of angles.
        count: usize,
    },
    /// W W^*: its diagonal, then the entries above it row by row, complex ones as two numbers.
    Projector {
        /// Order of the projector.
        order: usize,
        /// Its rank: the columns of W.
        rank: usize,
        /// What the columns are.
        columns: Columns,
    },
}

/// The columns whose span a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Entries of the point.
    Real,
    /// Complex landmarks, which are centred.
    Landmarks,
    /// The unit quaternion of a rotation.
    Quaternion,
}

/// Bounds on start messages, by public numbers alone.
#[derive(Clone, Debug, PartialEq)]
pub struct StartBound {
    /// How far the sum moves if a record, or unit, is added or removed.
    pub add: f64,
    /// How far it moves if one is replaced.
    pub replace: f64,
    /// What each record adds to the constant entry, or to the trace.
    pub unit: f64,
    /// How often the square of each entry counts in squared lengths.
    pub weights: Vec<i64>,
}

/// Largest order of projectors, whose eigenvectors take minutes there.
const MOST_ORDER: usize = 1000;

/// Bits of the length of a direction.
const LENGTH_BITS: usize = 24;

/// Integers as long as a vector of length 2^bits, or less: rounding adds at most sqrt(entries)/2 to the length.
fn scale(bits: usize, slack: usize, entries: usize) -> f64 {
    (1_usize << bits).saturating_sub(slack + entries.isqrt()) as f64
}

/// Of vectors: below 2^24.
fn direction_scale(entries: usize) -> f64 {
    scale(LENGTH_BITS, 8, entries)
}

/// Of the columns of projectors: below 2^12, so that those of norm 1 become matrices of norm 2^24. With E the rounding
/// of W = s B + E, |W^T W| <= s^2 sqrt k + 2 s |E| + |E|^2, |E|^2 <= n k/4, which is at most 2^24 sqrt k for
/// (s + sqrt(n)/2)^2 + n sqrt(k)/4 <= 2^24: s leaves out sqrt n + 4, and n and k are at most 1000 where k > 1.
fn column_scale(entries: usize) -> f64 {
    scale(LENGTH_BITS / 2, 4, entries)
}

/// The closest integer, of at most 24 bits whatever the number: products of two of them, a thousand times, stay exact.
fn integer(x: f64) -> i64 {
    const MOST: f64 = (1 << LENGTH_BITS) as f64;
    x.round_ties_even().clamp(-MOST, MOST) as i64
}

impl Start {
    /// Entries of the embedded point, and its squared length; none for projectors.
    fn vector(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Direction { size, .. } => Some((size, 1)),
            Self::Angles { count } => Some((2 * count, count)),
            Self::Orthogonal { order, is_complex } => {
                Some((order * order * if is_complex { 2 } else { 1 }, order))
            }
            _ => None,
        }
    }

    /// Entries of a message.
    pub(super) fn message_size(&self) -> usize {
        match *self {
            Self::Projector { order, columns: Columns::Landmarks, .. } => order * order,
            Self::Projector { order, .. } => order * (order + 1) / 2,
            _ => self.vector().map_or(0, |(entries, _)| entries + 1),
        }
    }

    /// Largest squared length of a message; None if there is none.
    pub(super) fn limit(&self) -> Result<Option<Limit>, Error> {
        let unit = 1_i128 << (2 * LENGTH_BITS);
        if let Self::Projector { order, rank, .. } = *self {
            if order > MOST_ORDER {
                let (name, allowed) = ("the order of projectors", "at most 1000");
                return Err(Error::Parameter { name, allowed, value: order as f64 });
            }
            return Ok(Some(Limit { square: rank as i128 * unit, once: order }));
        }
        Ok(self.vector().map(|(entries, square)| {
            let constant = i128::from(constant(square));
            Limit { square: square as i128 * unit + constant * constant, once: entries + 1 }
        }))
    }

    /// The message of a point. Total: whatever the entries, it ends, and is checked by its limit.
    pub(super) fn write(&self, point: &[f64], out: &mut [i64]) {
        match *self {
            Self::Projector { order, rank, columns } => {
                let turned;
                let basis = if columns == Columns::Quaternion {
                    turned = quaternion(point);
                    &turned
                } else {
                    point
                };
                let scale = column_scale(column_entries(order, columns));
                let w: Vec<i64> = basis.iter().map(|x| integer(scale * x)).collect();
                if columns == Columns::Landmarks {
                    hermitian_product(&w, order, out);
                } else {
                    symmetric_product(&w, order, rank, out);
                }
            }
            Self::Angles { count } => {
                let scale = direction_scale(2 * count);
                for (pair, angle) in out.chunks_exact_mut(2).zip(point) {
                    let (sin, cos) = sin_cos(*angle);
                    pair.copy_from_slice(&[integer(scale * cos), integer(scale * sin)]);
                }
                out[2 * count] = constant(count);
            }
            _ => {
                let Some((entries, square)) = self.vector() else { return };
                let radius = if let Self::Direction { radius, .. } = *self { radius } else { 1.0 };
                let scale = direction_scale(entries);
                for (out, x) in out.iter_mut().zip(point) {
                    *out = integer(scale * (x / radius));
                }
                out[entries] = constant(square);
            }
        }
    }
}

/// The constant beside a vector of that squared length: half as long, in units of 2^-24.
fn constant(square: usize) -> i64 {
    ((1_u64 << (LENGTH_BITS - 1)) as f64 * (square as f64).sqrt()).round_ties_even() as i64
}

/// Real entries of a column.
fn column_entries(order: usize, columns: Columns) -> usize {
    order * if columns == Columns::Landmarks { 2 } else { 1 }
}

/// Entries of W W^T.
fn symmetric_product(w: &[i64], order: usize, rank: usize, out: &mut [i64]) {
    let row = |i: usize| &w[i * rank..(i + 1) * rank];
    let product = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(x, y)| x * y).sum();
    let above = (0..order).flat_map(|i| (i + 1..order).map(move |j| (i, j)));
    let places = (0..order).map(|i| (i, i)).chain(above);
    out.iter_mut().zip(places).for_each(|(out, (i, j))| *out = product(i, j));
}

/// Entries of w w^*, from real and imaginary parts.
fn hermitian_product(w: &[i64], order: usize, out: &mut [i64]) {
    let entry = |i: usize| (w[2 * i], w[2 * i + 1]);
    let (diagonal, above) = out.split_at_mut(order);
    for (i, out) in diagonal.iter_mut().enumerate() {
        let (x, y) = entry(i);
        *out = x * x + y * y;
    }
    let places = (0..order).flat_map(|i| (i + 1..order).map(move |j| (i, j)));
    for (out, (i, j)) in above.chunks_exact_mut(2).zip(places) {
        let ((x, y), (u, v)) = (entry(i), entry(j));
        out.copy_from_slice(&[x * u + y * v, y * u - x * v]);
    }
}

/// The bounds of a manifold's start messages; None if it has none.
///
/// *Vectors.* A message is (w, c) with |w| <= K, c = rint(K/2). The mean of a unit of which the share f of records is
/// valid is at most (f K, f c) long, part by part, and rounding c towards zero moves it by less than 1, or not at all
/// for f = 1. For another unit with the share g let u = 2 - f - g, so |f - g| <= u <= 2. The square of the difference is
/// at most (2 - u)^2 K^2 + (u c + 1)^2 <= 4 K^2 - 2 u K^2 + 2 u c^2 + 2 u c + 1 <= 4 K^2 - u K^2 + 1. As u is 0, where
/// nothing is rounded, or at least 1/n > 1/K^2, 2 K bounds the difference.
///
/// *Projectors.* Without units inner products <W W^*, V V^*> = |W^* V|^2 are not negative, so |a - b|^2 <= 2 K^2. A
/// mean of a unit's messages is so too, but for rounding towards zero: E, at most `lost` long, as each of its numbers is
/// below 1. From <A - E, B - F> >= -|E| |B| - |A| |F| - |E| |F| follows |a - b|^2 <= 2 K^2 + 4 lost K + 2 lost^2.
pub fn start_bound(manifold: &dyn Manifold) -> Result<Option<StartBound>, Error> {
    let start = manifold.start();
    let Some(limit) = start.limit()? else { return Ok(None) };
    let square = limit.square.unsigned_abs();
    let mut weights = filled(1, start.message_size())?;
    weights[limit.once..].fill(2);
    let (replace, unit) = if let Start::Projector { order, rank, columns } = start {
        let entries = column_entries(order, columns);
        let (lost, longest) = (entries as u128, (square - 1).isqrt() + 1);
        let scale = column_scale(entries);
        (2 * square + 4 * lost * longest + 2 * lost * lost, rank as f64 * scale * scale)
    } else {
        let length = start.vector().map_or(0, |(_, length)| length);
        ((length as u128) << (2 * LENGTH_BITS + 2), constant(length) as f64)
    };
    Ok(Some(StartBound { add: root_up(square), replace: root_up(replace), unit, weights }))
}
