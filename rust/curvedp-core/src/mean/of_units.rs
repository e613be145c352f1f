//! One record in place of all records of a unit: their mean, projected on the ball.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::certificate::{Plan, plan};
use super::in_ball::in_ball_each;
use crate::ball::Frame;
use crate::error::Error;
use crate::parallel::{Interrupt, for_rows};
use crate::rows::Rows;
use crate::tally::Counted;

/// Tolerance of a unit's mean, in radii.
const TOLERANCE: f64 = 1e-9;
/// Units whose means are sought together.
const TOGETHER: usize = 32;

/// Writes one record for each unit, of which unit j has the records `ends[j]..ends[j + 1]`: its only record as it
/// is, or else the mean of its records on the ball. Where no mean can be certified, that in the chart at the centre.
pub fn of_units(
    frame: &Frame,
    records: Rows,
    ends: &[usize],
    out: &mut [f64],
    interrupt: Interrupt,
) -> Result<(), Error> {
    let ball = frame.ball();
    let plan_of = |n: usize| plan(ball.manifold, ball.radius, n, TOLERANCE * ball.radius);
    let counts: HashSet<usize> = ends.windows(2).map(|range| range[1] - range[0]).collect();
    let plans = counts.into_iter().filter(|&n| n > 1).map(|n| (n, plan_of(n))).collect();
    let size = frame.manifold().point_size();
    for_rows(out, size, TOGETHER, interrupt, |first, rows| {
        let count = rows.len() / size;
        means(frame, records, &ends[first..=first + count], &plans, rows);
    })
}

/// [`of_units`] on this thread.
fn means(
    frame: &Frame,
    records: Rows,
    ends: &[usize],
    plans: &HashMap<usize, Option<Plan>>,
    out: &mut [f64],
) {
    let (ball, size) = (frame.ball(), frame.manifold().point_size());
    let width = ball.manifold.point_size();
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    let inner = frame.enter_here(records.range(first..last), last - first, Counted::NOWHERE);
    let points = inner.rows();
    let mut found = frame.points(out.len() / size);
    let (mut units, mut ranges, mut certified) = (vec![], vec![], vec![]);
    for (j, row) in found.entries_mut().chunks_exact_mut(width).enumerate() {
        let range = ends[j] - first..ends[j + 1] - first;
        match plans.get(&range.len()) {
            Some(Some(plan)) => {
                units.push(j);
                ranges.push(range);
                certified.push(plan);
            }
            Some(None) => chart_mean(frame, points, range, row),
            None => {}
        }
    }
    let mut each = frame.points(units.len());
    // one piece of work at a time: it ends soon, and nobody asks to end it earlier
    let ended = in_ball_each(&ball, points, &ranges, &certified, each.entries_mut(), &|| false);
    debug_assert!(ended.is_ok());
    for (i, &j) in units.iter().enumerate() {
        found.entries_mut()[j * width..(j + 1) * width].copy_from_slice(each.row(i));
    }
    frame.leave(found.rows(), out);
    for (j, row) in out.chunks_exact_mut(size).enumerate() {
        if ends[j + 1] - ends[j] == 1 {
            row.copy_from_slice(records.row(ends[j]));
        }
    }
}

/// The mean of logarithms at the centre, moved back.
fn chart_mean(frame: &Frame, points: Rows, range: Range<usize>, out: &mut [f64]) {
    let ball = frame.ball();
    let (dim, count) = (ball.manifold.dim(), range.len() as f64);
    let mut coords = vec![0.0; range.len() * dim];
    ball.manifold.log_origin(points.range(range), &mut coords);
    let mut mean = vec![0.0; dim];
    for row in coords.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / count);
    }
    ball.manifold.exp_origin(Rows::shared(&mean), out);
}
