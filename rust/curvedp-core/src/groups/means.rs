//! Private Fréchet means: found within the tolerance of the design's plan, noise placed around them, rounded
//! to the public grid.

use super::{Column, Groups, Statistic, Task};
use crate::ball::{Frame, Points};
use crate::error::Error;
use crate::exact::Effort;
use crate::mean::in_ball_each;
use crate::noise::{IsotropicNoise, Stream};
use crate::release::Grid;
use crate::rows::Rows;

/// The mean of every group: a point of the ball, and as it was before it was moved there.
pub struct Means;

impl Statistic for Means {
    fn columns(&self, groups: &Groups) -> Vec<Column> {
        let size = groups.records.size();
        let points = ["value", "unprojected"].map(|name| Column::new(name, size));
        let numbers = ["dist", "stretch"].map(|name| Column::new(name, 1));
        points.into_iter().chain(numbers).collect()
    }

    fn stages(&self) -> u64 {
        1
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        let (frame, size) = (task.frame(), task.groups.records.size());
        let count = task.range.len();
        let (mut kept, mut raw) = (vec![0.0; count * size], vec![0.0; count * size]);
        let inner = noisy_means(task, &task.enter()?, &mut kept, Some(&mut raw))?;
        let rows = kept.chunks_exact(size).zip(raw.chunks_exact(size));
        let out = out.chunks_exact_mut(2 * size + 2);
        for (i, ((row, (kept, raw)), mean)) in out.zip(rows).zip(task.means()).enumerate() {
            row[..size].copy_from_slice(kept);
            row[size..2 * size].copy_from_slice(raw);
            let place = frame.ball().place(inner.row(i), mean.mean_square, mean.placement);
            row[2 * size..].copy_from_slice(&place);
        }
        Ok(())
    }
}

/// The means of a task's records, which are given in the frame, with the noise of stage 0, moved to the ball; `raw`
/// as they were before, which are returned as points of the frame.
pub(super) fn noisy_means(
    task: &Task,
    points: &Points,
    out: &mut [f64],
    raw: Option<&mut [f64]>,
) -> Result<Points, Error> {
    let frame = task.frame();
    let designs: Vec<_> = task.means().collect();
    let plans: Vec<_> = designs.iter().map(|design| &design.plan).collect();
    let (mut means, rows) = (frame.points(plans.len()), task.rows());
    let found = means.entries_mut();
    in_ball_each(&frame.ball(), points.rows(), &rows, &plans, found, task.interrupt)?;
    let mut stream = task.streams.stream(0, 0);
    let draws = |i: usize, draw: &mut dyn FnMut(&mut Stream)| {
        task.streams.restart(i, 0, &mut stream);
        draw(&mut stream);
    };
    let law = |i: usize| (designs[i].noise, designs[i].grid);
    Ok(leave_noisy(frame, means.rows(), law, draws, task.effort(), out, raw))
}

/// Releases around means of a frame, moved to the ball and back to the manifold; `raw` as they were before, which
/// are returned as points of the frame. See [`Ball::release`](crate::ball::Ball).
pub(super) fn leave_noisy<'a>(
    frame: &Frame,
    means: Rows,
    law: impl Fn(usize) -> (&'a IsotropicNoise, Grid),
    draws: impl FnMut(usize, &mut dyn FnMut(&mut Stream)),
    effort: Effort,
    out: &mut [f64],
    raw: Option<&mut [f64]>,
) -> Points {
    let size = frame.manifold().point_size();
    let mut drawn = frame.points(out.len() / size);
    frame.ball().release(means, law, draws, effort, drawn.entries_mut());
    let mut own = Vec::new();
    let raw = raw.unwrap_or_else(|| {
        own.resize(out.len(), 0.0);
        &mut own
    });
    frame.leave(drawn.rows(), raw);
    frame.keep(Rows::new(raw, size), out);
    drawn
}
