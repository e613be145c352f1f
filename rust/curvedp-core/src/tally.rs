//! Numbers of records that were no points of the ball when they entered it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::error::Error;

/// A count of records on all threads. What it holds is exact: it is private like the records.
#[derive(Default)]
pub struct Tally {
    outside: AtomicU64,
    no_point: AtomicU64,
    /// What each record was, if that is kept: a point of the ball, [`OUTSIDE`] or [`NO_POINT`].
    kinds: Option<Vec<AtomicU8>>,
}

const OUTSIDE: u8 = 1;
const NO_POINT: u8 = 2;

impl Tally {
    /// A tally that also keeps what each of so many records was, or [`Error::Memory`].
    pub fn of_each(records: usize) -> Result<Self, Error> {
        let mut kinds = Vec::new();
        kinds.try_reserve_exact(records).map_err(|_| Error::Memory)?;
        kinds.resize_with(records, AtomicU8::default);
        Ok(Self { kinds: Some(kinds), ..Self::default() })
    }

    /// Points outside the ball, and records that are no points.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.outside.load(Ordering::Relaxed), self.no_point.load(Ordering::Relaxed))
    }

    /// The same of each group of records, group g being `offsets[g]..offsets[g + 1]`; 0 if that was not kept.
    pub fn write_counts(&self, offsets: &[usize], outside: &mut [f64], no_point: &mut [f64]) {
        let kinds = self.kinds.as_deref().unwrap_or(&[]);
        let out = outside.iter_mut().zip(no_point);
        for (own, (outside, no_point)) in offsets.windows(2).zip(out) {
            let (mut far, mut none) = (0, 0);
            for kind in kinds.get(own[0]..own[1]).unwrap_or(&[]) {
                let kind = kind.load(Ordering::Relaxed);
                far += u64::from(kind == OUTSIDE);
                none += u64::from(kind == NO_POINT);
            }
            (*outside, *no_point) = (far as f64, none as f64);
        }
    }
}

/// Where records that enter a ball are counted: in a tally, from the number that the first of them has there, or nowhere.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    tally: Option<&'a Tally>,
    first: usize,
}

impl<'a> Counted<'a> {
    /// Counts nothing.
    pub const NOWHERE: Self = Self { tally: None, first: 0 };

    /// Counts in a tally, if there is one, in which the first record has this number.
    #[must_use]
    pub fn from(tally: Option<&'a Tally>, first: usize) -> Self {
        Self { tally, first }
    }

    /// The same for the records after so many.
    pub(crate) fn after(self, records: usize) -> Self {
        Self { first: self.first + records, ..self }
    }

    /// Adds records: whether each is a point of the manifold, and whether it counts as outside the ball.
    pub(crate) fn add(self, valid: &[bool], outside: &[bool]) {
        let Some(tally) = self.tally else { return };
        let count = |flags: &[bool], wanted: bool| {
            flags.iter().map(|&flag| u64::from(flag == wanted)).sum::<u64>()
        };
        tally.outside.fetch_add(count(outside, true), Ordering::Relaxed);
        tally.no_point.fetch_add(count(valid, false), Ordering::Relaxed);
        if let Some(kinds) = &tally.kinds {
            for ((kind, &valid), &outside) in kinds[self.first..].iter().zip(valid).zip(outside) {
                let own = NO_POINT * u8::from(!valid) + OUTSIDE * u8::from(valid & outside);
                kind.store(own, Ordering::Relaxed);
            }
        }
    }
}
