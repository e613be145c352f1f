//! Private Fréchet means: found within the tolerance of the design's plan, noise placed around them, rounded
//! to the public grid.

use super::{Groups, Statistic, Task};
use crate::ball::Frame;
use crate::error::Error;
use crate::mean::in_ball_each;
use crate::release::{Grid, Placement};
use crate::rows::Rows;

/// The mean of every group: a point.
pub struct Means {
    /// Where the noise is drawn.
    pub placement: Placement,
}

impl Statistic for Means {
    fn width(&self, groups: &Groups) -> usize {
        groups.records.size()
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
        let plans: Vec<_> = task.designs().map(|(_, design)| &design.plan).collect();
        let grids: Vec<Grid> = task.designs().map(|(_, design)| design.grid).collect();
        let mut means = vec![0.0; plans.len() * width];
        let points = Rows::new(points, width);
        in_ball_each(&ball, points, &task.rows(), &plans, &mut means, task.interrupt)?;
        let mut coords = vec![0.0; plans.len() * dim];
        let mut stream = task.streams.stream(0, 0);
        for (i, ((_, design), noise)) in
            task.designs().zip(coords.chunks_exact_mut(dim)).enumerate()
        {
            task.streams.restart(i, 0, &mut stream);
            design.noise.sample_coords(&mut stream, noise);
        }
        leave_noisy(task.frame(), self.placement, &means, &mut coords, |i| grids[i], out);
        Ok(())
    }
}

/// Private means of a task's groups as base points of further statistics.
pub(super) struct PrivateMeans {
    /// The released points.
    pub means: Vec<f64>,
    /// The same in the frame, moved to the ball.
    pub bases: Vec<f64>,
    /// The same on the manifold.
    pub kept: Vec<f64>,
    /// Their distances from the ball's centre.
    pub to_center: Vec<f64>,
}

impl Means {
    /// The means of a task's records, which are given in the frame, as base points.
    pub(super) fn private(&self, task: &Task, points: &[f64]) -> Result<PrivateMeans, Error> {
        let (frame, size) = (task.frame(), task.groups.records.size());
        let ball = frame.ball();
        let (width, count) = (ball.manifold.point_size(), task.range.len());
        let mut means = vec![0.0; count * size];
        self.around(task, points, &mut means)?;
        let mut bases = vec![0.0; count * width];
        frame.enter_piece(Rows::new(&means, size), &mut bases);
        let mut kept = vec![0.0; count * size];
        frame.leave(Rows::new(&bases, width), &mut kept);
        let mut to_center = vec![f64::NAN; count];
        ball.manifold.dist_origin(Rows::new(&bases, width), &mut to_center);
        Ok(PrivateMeans { means, bases, kept, to_center })
    }
}

/// Releases around means of a frame, moved back to the manifold; see [`Ball::release`](crate::ball::Ball).
pub(super) fn leave_noisy(
    frame: &Frame,
    placement: Placement,
    means: &[f64],
    noise: &mut [f64],
    grids: impl Fn(usize) -> Grid,
    out: &mut [f64],
) {
    let ball = frame.ball();
    let mut drawn = vec![0.0; means.len()];
    ball.release(placement, means, noise, grids, &mut drawn);
    frame.leave(Rows::new(&drawn, ball.manifold.point_size()), out);
}
