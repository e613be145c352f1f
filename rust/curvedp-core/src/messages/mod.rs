//! Sums of messages: each record becomes one vector of integers no longer than a public bound, and the vectors are
//! added exactly.
//!
//! Nothing in floating point is trusted. A message is a function of one record and of public numbers, its squared
//! length is taken in 128-bit integers, and a record whose message is too long sends 0. The sum over records, or over
//! the means of units, then moves by no more than the bound if one of them is added or removed, and by no more than
//! [`StartBound::replace`] and its kind if one is replaced. Sums of integers do not depend on the order of records, on
//! blocks or on threads.

mod bound;
mod point;
mod scale;
mod start;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

pub use bound::{COUNT_UNIT, ROUND_BOUND, square_root_column, tail_bound};
pub use point::start_point;
pub use scale::SCALE_BINS;
pub use start::{Columns, Start, StartBound, start_bound};

use crate::batch::piece_rows;
use crate::error::{Error, filled};
use crate::manifold::Manifold;
use crate::parallel::{Interrupt, for_rows, map};
use crate::rows::Rows;
use crate::vector::norm;
use bound::{Limit, add, divide, squares};

/// Records of a manifold, whose messages are added.
pub struct MessageSums {
    manifold: Arc<dyn Manifold>,
    /// Rounded onto the manifold; a row of NaN is no point.
    records: Vec<f64>,
    count: usize,
    /// Unit j has the records `units[j]..units[j + 1]`; without units each record is one.
    units: Option<Vec<usize>>,
    /// Coordinates of the logarithms at `base`.
    logs: Vec<f64>,
    /// Bits of the base point of `logs`.
    base: Option<Vec<u64>>,
}

impl MessageSums {
    /// Records in rows, and the ends of units if there are any: offsets from 0 to the number of records.
    pub fn new(
        manifold: Arc<dyn Manifold>,
        records: &[f64],
        units: Option<Vec<usize>>,
        interrupt: Interrupt,
    ) -> Result<Self, Error> {
        let size = manifold.point_size();
        let mut own = filled(0.0, records.len())?;
        for_rows(&mut own, size, piece_rows(size), interrupt, |first, piece| {
            piece.copy_from_slice(&records[first * size..first * size + piece.len()]);
            let mut valid = vec![false; piece.len() / size];
            manifold.snap(piece, &mut valid);
            for (row, valid) in piece.chunks_exact_mut(size).zip(valid) {
                if !valid {
                    row.fill(f64::NAN);
                }
            }
        })?;
        let count = own.len() / size;
        Ok(Self { manifold, records: own, count, units, logs: Vec::new(), base: None })
    }

    /// Points embedded in Euclidean space, see [`Start`]; None where there is no such message.
    pub fn start(&self, interrupt: Interrupt) -> Result<Option<Vec<i64>>, Error> {
        let start = self.manifold.start();
        let Some(limit) = start.limit()? else { return Ok(None) };
        self.sum(&limit, start.message_size(), interrupt, |i, out| {
            start.write(self.point(i), out);
            true
        })
        .map(Some)
    }

    /// Column j of the square root of the matrix of prefix sums, see [`square_root_column`], for records at a distance t
    /// of largest 2^(-(j+1)/4) < t <= largest 2^(-j/4) from `base`; the first for those beyond, the last for those below.
    pub fn tail(
        &mut self,
        base: &[f64],
        largest: f64,
        bins: usize,
        interrupt: Interrupt,
    ) -> Result<Vec<i64>, Error> {
        require_positive("largest", largest)?;
        let grid: Vec<f64> = (0..bins)
            .map(|j| largest * (-((j % 4) as f64) / 4.0).exp2() * (-((j / 4) as f64)).exp2())
            .collect();
        self.log_at(base, interrupt)?;
        self.columns(bins, interrupt, |i| self.bin(i, &grid))
    }

    /// Units in each bin of distances from `base`, times [`COUNT_UNIT`]: bin j holds distances t of
    /// levels[j+1] < t <= levels[j], the first those beyond, the last those below. Levels fall.
    pub fn histogram(
        &mut self,
        base: &[f64],
        levels: &[f64],
        interrupt: Interrupt,
    ) -> Result<Vec<i64>, Error> {
        let bins = levels.len();
        square_root_column(bins)?; // as many bins as columns may have
        levels.iter().try_for_each(|level| require_positive("levels", *level))?;
        self.log_at(base, interrupt)?;
        let limit = Limit { square: i128::from(COUNT_UNIT * COUNT_UNIT), once: bins };
        let index = |i| if self.is_point(i) { self.bin(i, levels) } else { None };
        if self.units.is_some() {
            return self.sum(&limit, bins, interrupt, |i, out| {
                let Some(index) = index(i) else { return false };
                out.fill(0);
                out[index] = COUNT_UNIT;
                true
            });
        }
        limit.admit(self.count)?;
        let counts = self.counts(bins, interrupt, index)?;
        Ok(counts.iter().map(|count| count * COUNT_UNIT).collect())
    }

    /// Logarithms at `base`, cut to length `radius` and in units of radius/(2^24 - 8 d), and one more entry that makes
    /// the whole as long as [`ROUND_BOUND`], rounded down.
    pub fn round(
        &mut self,
        base: &[f64],
        radius: f64,
        interrupt: Interrupt,
    ) -> Result<Vec<i64>, Error> {
        require_positive("radius", radius)?;
        self.log_at(base, interrupt)?;
        let bound = i128::from(ROUND_BOUND);
        let dim = self.manifold.dim();
        // roundings to integers add at most sqrt(d)/2 to the length
        let whole = (ROUND_BOUND as f64 - 8.0 * dim as f64).max(0.0);
        let limit = Limit { square: bound * bound, once: dim + 1 };
        self.sum(&limit, dim + 1, interrupt, |i, out| {
            let log = self.log(i);
            let length = norm(log);
            let farthest = length.max(radius);
            for (z, x) in out.iter_mut().zip(log) {
                *z = (x / farthest * whole).round_ties_even() as i64;
            }
            let rest = squares(&out[..dim]).map_or(-1, |square| bound * bound - square);
            out[dim] = u64::try_from(rest).map_or(0, u64::isqrt) as i64;
            rest >= 0 && length.is_finite()
        })
    }

    /// Column j of the square root for positive definite matrices with ln 1e-30 + j/2 <= ln det/m < ln 1e-30 + (j+1)/2,
    /// the first and the last for those beyond; None on other manifolds.
    pub fn scale(&self, bins: usize, interrupt: Interrupt) -> Result<Option<Vec<i64>>, Error> {
        let Start::Determinant { order, is_complex } = self.manifold.start() else {
            return Ok(None);
        };
        let bin = |i| scale::bin(self.point(i), order, is_complex, bins);
        self.columns(bins, interrupt, bin).map(Some)
    }

    fn point(&self, i: usize) -> &[f64] {
        let size = self.manifold.point_size();
        &self.records[i * size..(i + 1) * size]
    }

    fn is_point(&self, i: usize) -> bool {
        !self.point(i)[0].is_nan()
    }

    fn log(&self, i: usize) -> &[f64] {
        let dim = self.manifold.dim();
        &self.logs[i * dim..(i + 1) * dim]
    }

    /// The bin of record i, see [`Self::histogram`]; None where it has no logarithm.
    fn bin(&self, i: usize, levels: &[f64]) -> Option<usize> {
        let dist = norm(self.log(i));
        let above = levels.partition_point(|y| dist <= *y);
        dist.is_finite().then(|| above.saturating_sub(1))
    }

    /// Takes the logarithms at a base point, unless those there were the last.
    fn log_at(&mut self, base: &[f64], interrupt: Interrupt) -> Result<(), Error> {
        let bits: Vec<u64> = base.iter().map(|x| x.to_bits()).collect();
        if self.base.as_ref() == Some(&bits) {
            return Ok(());
        }
        self.base = None;
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        if self.logs.is_empty() {
            self.logs = filled(f64::NAN, self.count * dim)?;
        }
        let points = Rows::new(&self.records, size);
        if base.iter().all(|x| x.is_finite()) {
            for_rows(&mut self.logs, dim, piece_rows(size), interrupt, |first, piece| {
                let points = points.range(first..first + piece.len() / dim);
                self.manifold.log_coords(points, Rows::shared(base), piece);
            })?;
        } else {
            self.logs.fill(f64::NAN);
        }
        self.base = Some(bits);
        Ok(())
    }

    /// The records of unit j.
    fn unit(&self, j: usize) -> Range<usize> {
        self.units.as_ref().map_or(j..j + 1, |ends| ends[j]..ends[j + 1])
    }

    /// Units in all, and in a piece of work.
    fn pieces(&self) -> (usize, usize) {
        let units = self.units.as_ref().map_or(self.count, |ends| ends.len() - 1);
        let rows = piece_rows(self.manifold.point_size());
        (units, (rows * units / self.count.max(1)).clamp(1, rows))
    }

    /// The sum over units of the means of their records' messages, rounded towards zero; `message(i, out)` writes that
    /// of record i, or returns false. Those beyond the limit are 0: first records, then units.
    fn sum(
        &self,
        limit: &Limit,
        width: usize,
        interrupt: Interrupt,
        message: impl Fn(usize, &mut [i64]) -> bool + Sync,
    ) -> Result<Vec<i64>, Error> {
        limit.admit(self.count)?;
        drop(filled(0_i64, width.saturating_mul(4))?); // room for a piece
        let (units, at_once) = self.pieces();
        let sums = map(units.div_ceil(at_once), interrupt, |piece| {
            let (mut total, mut mean, mut one) =
                (vec![0; width], vec![0_i64; width], vec![0; width]);
            for j in piece * at_once..((piece + 1) * at_once).min(units) {
                let records = self.unit(j);
                let size = records.len();
                mean.fill(0);
                for i in records {
                    if self.is_point(i) && message(i, &mut one) && limit.holds(&one) {
                        add(&mut mean, &one);
                    }
                }
                divide(&mut mean, size);
                if limit.holds(&mean) {
                    add(&mut total, &mean);
                }
            }
            total
        })?;
        Ok(total_of(sums, width))
    }

    /// The sum of columns of the square root: that of the bin of each record, if it has one.
    fn columns(
        &self,
        bins: usize,
        interrupt: Interrupt,
        bin: impl Fn(usize) -> Option<usize> + Sync,
    ) -> Result<Vec<i64>, Error> {
        let column = square_root_column(bins)?;
        let limit = Limit { square: squares(&column).unwrap_or(0), once: bins };
        let index = |i| if self.is_point(i) { bin(i).filter(|index| *index < bins) } else { None };
        if self.units.is_some() {
            return self.sum(&limit, bins, interrupt, |i, out| {
                let Some(index) = index(i) else { return false };
                out[..index].fill(0);
                out[index..].copy_from_slice(&column[..bins - index]);
                true
            });
        }
        // without units the sum is the matrix times the numbers of records in the bins
        limit.admit(self.count)?;
        let mut total = vec![0; bins];
        for (j, count) in self.counts(bins, interrupt, index)?.iter().enumerate() {
            total[j..].iter_mut().zip(&column).for_each(|(sum, entry)| *sum += count * entry);
        }
        Ok(total)
    }

    /// Numbers of records in the bins, without units.
    fn counts(
        &self,
        bins: usize,
        interrupt: Interrupt,
        bin: impl Fn(usize) -> Option<usize> + Sync,
    ) -> Result<Vec<i64>, Error> {
        let (records, at_once) = self.pieces();
        let counts = map(records.div_ceil(at_once), interrupt, |piece| {
            let mut counts = vec![0_i64; bins];
            for i in piece * at_once..((piece + 1) * at_once).min(records) {
                if let Some(index) = bin(i) {
                    counts[index] += 1;
                }
            }
            counts
        })?;
        Ok(total_of(counts, bins))
    }
}

fn total_of(sums: Vec<Vec<i64>>, width: usize) -> Vec<i64> {
    let mut total = vec![0; width];
    sums.iter().for_each(|sum| add(&mut total, sum));
    total
}

fn require_positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::Parameter { name, allowed: "positive and finite", value })
}
