//! Private Fréchet means: found within the tolerance of the design's plan, noise placed around them, rounded
//! to the public grid.

use super::{Groups, Statistic, Task};
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
        for (i, ((_, design), noise)) in
            task.designs().zip(coords.chunks_exact_mut(dim)).enumerate()
        {
            design.noise.sample_coords(&mut task.stream(i, 0), noise);
        }
        let mut drawn = vec![0.0; means.len()];
        ball.place(self.placement, &means, &mut coords, |i| grids[i], &mut drawn);
        ball.round_to_grid(&mut drawn, |i| grids[i]);
        task.frame().leave(Rows::new(&drawn, width), out);
        Ok(())
    }
}
