//! The Metropolis-Hastings sampler of a Laplace law in a conformal metric (He et al., section VI).
//!
//! Target: exp(-rate rho*(eta, x)) phi(x)^{d/2} with respect to the Riemannian volume, phi that of the node
//! nearest to x. Proposals are exp_x of a normal tangent vector, symmetric on symmetric spaces.
//! A chain is not an exact sampler: what it draws carries no guarantee.

#[cfg(test)]
mod tests;

use crate::graph::{NodeIndex, Nodes};
use curvedp_chains::{Target, walk};
use curvedp_core::error::Error;
use curvedp_core::manifold::Manifold;
use curvedp_core::noise::Stream;
use curvedp_core::parallel::Interrupt;
use curvedp_core::rows::Rows;

/// Method of computing the distance rho*(eta, x).
#[derive(Clone, Debug, PartialEq)]
pub enum Distance {
    /// The path to the nearest node z, whose length from eta is given for every node, and from there
    /// √phi_z rho(z, x).
    Graph(Vec<f64>),
    /// The integral of √phi along the geodesic from eta to x: midpoint rule with this many points.
    Line(usize),
}

/// The law.
pub struct ConformalLaplace<'a> {
    manifold: &'a dyn Manifold,
    points: Rows<'a>,
    index: NodeIndex<'a>,
    /// log √phi at the nodes.
    sigma: &'a [f64],
    /// √phi at the nodes.
    root: Vec<f64>,
    eta: &'a [f64],
    rate: f64,
    /// Weight of log √phi in the log density: the dimension, or 0 for a law with respect to the volume
    /// of the original metric.
    volume: f64,
    distance: Distance,
}

/// A point, the node nearest to it and work space.
#[derive(Clone)]
pub struct State {
    /// The point.
    pub point: Vec<f64>,
    coords: Vec<f64>,
    along: Vec<f64>,
    stack: Vec<(u32, f64)>,
}

impl<'a> ConformalLaplace<'a> {
    /// The law of rate `rate` about `eta`; `volume` says whether the factor phi^{d/2} is in the target.
    ///
    /// # Errors
    /// Those of [`NodeIndex::new`].
    pub fn new(
        nodes: &Nodes<'a>,
        sigma: &'a [f64],
        eta: &'a [f64],
        rate: f64,
        volume: bool,
        distance: Distance,
        interrupt: Interrupt,
    ) -> Result<Self, Error> {
        let dim = nodes.manifold.dim() as f64;
        Ok(Self {
            manifold: nodes.manifold,
            points: nodes.points,
            index: NodeIndex::new(nodes, interrupt)?,
            sigma,
            root: sigma.iter().map(|s| s.exp()).collect(),
            eta,
            rate,
            volume: if volume { dim } else { 0.0 },
            distance,
        })
    }

    /// A state at a point.
    pub fn state(&self, point: &[f64]) -> State {
        State {
            point: point.to_vec(),
            coords: vec![0.0; self.manifold.dim()],
            along: vec![0.0; point.len()],
            stack: Vec::new(),
        }
    }

    fn dist(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut dist = [0.0];
        self.manifold.dist(Rows::shared(a), Rows::shared(b), &mut dist);
        dist[0]
    }

    fn conformal_dist(&self, state: &mut State, node: usize) -> f64 {
        match &self.distance {
            Distance::Graph(lengths) => {
                let rest = self.dist(self.points.row(node), &state.point);
                lengths[node] + self.root[node] * rest
            }
            Distance::Line(steps) => {
                let State { point, along, stack, .. } = state;
                let eta = Rows::shared(self.eta);
                let mut direction = vec![0.0; self.manifold.dim()];
                self.manifold.log_coords(Rows::shared(point), eta, &mut direction);
                let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
                let mut coords = direction.clone();
                let mut sum = 0.0;
                for i in 0..*steps {
                    let t = (i as f64 + 0.5) / *steps as f64;
                    coords.iter_mut().zip(&direction).for_each(|(c, d)| *c = t * d);
                    self.manifold.exp_coords(Rows::shared(&coords), eta, along);
                    sum += self.root[self.index.nearest(along, stack)];
                }
                length * sum / *steps as f64
            }
        }
    }
}

impl Target for ConformalLaplace<'_> {
    type State = State;

    fn log_density(&self, state: &mut State) -> f64 {
        let node = self.index.nearest(&state.point, &mut state.stack);
        let dist = self.conformal_dist(state, node);
        self.volume * self.sigma[node] - self.rate * dist
    }

    fn propose(&self, from: &State, scale: f64, stream: &mut Stream, to: &mut State) -> f64 {
        stream.fill_normal(&mut to.coords);
        to.coords.iter_mut().for_each(|x| *x *= scale);
        let mut ratio = [0.0];
        walk(self.manifold, Rows::shared(&from.point), &to.coords, &mut to.point, &mut ratio);
        ratio[0]
    }

    fn width(&self) -> usize {
        self.manifold.dim() + 1
    }

    /// Coordinates of log_eta and the distance from eta.
    fn describe(&self, state: &State, row: &mut [f64]) {
        let dim = self.manifold.dim();
        let (point, eta) = (Rows::shared(&state.point), Rows::shared(self.eta));
        self.manifold.log_coords(point, eta, &mut row[..dim]);
        row[dim] = row[..dim].iter().map(|x| x * x).sum::<f64>().sqrt();
    }
}
