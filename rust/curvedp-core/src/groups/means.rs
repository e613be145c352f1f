//! Private Fréchet means: found within the tolerance of the design's plan, noise placed around them, rounded
//! to the public grid.

use super::{Column, Groups, Statistic, Task};
use crate::ball::Frame;
use crate::error::Error;
use crate::mean::in_ball_each;
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
        let (width, dim) = (ball.manifold.point_size(), ball.manifold.dim());
        let designs: Vec<_> = task.means().collect();
        let plans: Vec<_> = designs.iter().map(|design| &design.plan).collect();
        let grids: Vec<Grid> = designs.iter().map(|design| design.grid).collect();
        let mut means = vec![0.0; plans.len() * width];
        let points = Rows::new(points, width);
        in_ball_each(&ball, points, &task.rows(), &plans, &mut means, task.interrupt)?;
        let mut coords = vec![0.0; plans.len() * dim];
        let mut stream = task.streams.stream(0, 0);
        for (i, (design, noise)) in designs.iter().zip(coords.chunks_exact_mut(dim)).enumerate() {
            task.streams.restart(i, 0, &mut stream);
            design.noise.sample_coords(&mut stream, noise);
        }
        leave_noisy(task.frame(), self.placement, &means, &coords, |i| grids[i], out);
        Ok(())
    }
}

/// Releases around means of a frame, moved back to the manifold: row i of `noise` holds the coordinates of the
/// noise of mean i. See [`Ball::release`](crate::ball::Ball).
pub(super) fn leave_noisy(
    frame: &Frame,
    placement: Placement,
    means: &[f64],
    noise: &[f64],
    grids: impl Fn(usize) -> Grid,
    out: &mut [f64],
) {
    let ball = frame.ball();
    let mut drawn = vec![0.0; means.len()];
    ball.release(placement, means, noise, grids, &mut drawn);
    frame.leave(Rows::new(&drawn, ball.manifold.point_size()), out);
}
