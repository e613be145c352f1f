//! Private Fréchet means: found within the tolerance of the design's plan, noise placed around them, rounded
//! to the public grid.

use super::{Column, Groups, Statistic, Task};
use crate::ball::Frame;
use crate::error::Error;
use crate::exact::Effort;
use crate::mean::in_ball_each;
use crate::noise::{IsotropicNoise, Stream};
use crate::release::{Grid, Placement};
use crate::rows::Rows;

/// The mean of every group: a point.
pub struct Means {
    /// The place where the noise is drawn.
    pub placement: Placement,
}

impl Statistic for Means {
    fn columns(&self, groups: &Groups) -> Vec<Column> {
        vec![Column::new("value", groups.records.size())]
    }

    fn stages(&self) -> u64 {
        1
    }

    fn release(&self, task: &Task, out: &mut [f64]) -> Result<(), Error> {
        self.around(task, &task.enter()?, out)
    }
}

impl Means {
    /// The means of a task's records, which are given in the frame, with the noise of stage 0.
    pub(super) fn around(&self, task: &Task, points: &[f64], out: &mut [f64]) -> Result<(), Error> {
        let ball = task.frame().ball();
        let width = ball.manifold.point_size();
        let designs: Vec<_> = task.means().collect();
        let plans: Vec<_> = designs.iter().map(|design| &design.plan).collect();
        let mut means = vec![0.0; plans.len() * width];
        let points = Rows::new(points, width);
        in_ball_each(&ball, points, &task.rows(), &plans, &mut means, task.interrupt)?;
        let mut stream = task.streams.stream(0, 0);
        let draws = |i: usize, draw: &mut dyn FnMut(&mut Stream)| {
            task.streams.restart(i, 0, &mut stream);
            draw(&mut stream);
        };
        let law = |i: usize| (designs[i].noise, designs[i].grid);
        leave_noisy(task.frame(), &means, law, draws, task.effort(), out);
        Ok(())
    }
}

/// Releases around means of a frame, moved back to the manifold. See [`Ball::release`](crate::ball::Ball).
pub(super) fn leave_noisy<'a>(
    frame: &Frame,
    means: &[f64],
    law: impl Fn(usize) -> (&'a IsotropicNoise, Grid),
    draws: impl FnMut(usize, &mut dyn FnMut(&mut Stream)),
    effort: Effort,
    out: &mut [f64],
) {
    let ball = frame.ball();
    let mut drawn = vec![0.0; means.len()];
    ball.release(means, law, draws, effort, &mut drawn);
    frame.leave(Rows::new(&drawn, ball.manifold.point_size()), out);
}
