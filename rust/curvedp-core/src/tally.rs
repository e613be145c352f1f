//! Numbers of records that were no points of the ball when they entered it.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count of records on all threads. What it holds is exact: it is private like the records.
#[derive(Default)]
pub struct Tally {
    outside: AtomicU64,
    no_point: AtomicU64,
}

impl Tally {
    /// Adds records: whether each is a point of the manifold, and whether it was moved to the ball's edge.
    pub(crate) fn add(&self, valid: &[bool], moved: &[bool]) {
        let count = |flags: &[bool], wanted: bool| {
            flags.iter().map(|&flag| u64::from(flag == wanted)).sum::<u64>()
        };
        self.outside.fetch_add(count(moved, true), Ordering::Relaxed);
        self.no_point.fetch_add(count(valid, false), Ordering::Relaxed);
    }

    /// Points outside the ball, and records that are no points.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.outside.load(Ordering::Relaxed), self.no_point.load(Ordering::Relaxed))
    }
}
