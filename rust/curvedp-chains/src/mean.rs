//! The walk on the ball towards the law of the K-norm gradient of the Fréchet mean.

use super::Target;
use curvedp_core::mean::KNorm;
use curvedp_core::noise::Stream;
use curvedp_core::rows::Rows;
use curvedp_core::vector::length;

impl Target for KNorm<'_> {
    type State = Vec<f64>;

    fn log_density(&self, state: &mut Vec<f64>) -> f64 {
        let mut dist = [f64::NAN];
        self.manifold.dist(Rows::shared(self.center), Rows::shared(state), &mut dist);
        if dist[0] <= self.radius { -self.norm(state) / self.scale } else { f64::NEG_INFINITY }
    }

    fn propose(&self, from: &Vec<f64>, scale: f64, stream: &mut Stream, to: &mut Vec<f64>) -> f64 {
        let shift: Vec<f64> = (0..self.manifold.dim()).map(|_| scale * stream.normal()).collect();
        if length(&shift) >= self.manifold.injectivity_radius() {
            return f64::NEG_INFINITY; // past the cut locus the way back is another one
        }
        self.manifold.exp_coords(Rows::shared(&shift), Rows::shared(from), to);
        0.0
    }

    fn width(&self) -> usize {
        self.manifold.point_size()
    }

    fn describe(&self, state: &Vec<f64>, row: &mut [f64]) {
        row.copy_from_slice(state);
    }
}
