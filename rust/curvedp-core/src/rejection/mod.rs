//! Exact draws in few dimensions: rejection from a piecewise log-affine envelope that grows finer where it
//! rejects (branch and bound).
//!
//! The support is covered by boxes, each with an affine upper bound of the log density. A box is drawn in
//! proportion to the integral of its bound, a point in it from the bound, coordinate by coordinate, and
//! accepted with probability density / bound; a box that rejects is halved. Whatever the boxes are when a
//! point is accepted, its law is the target: every envelope is above the density, and which one is used
//! depends on earlier, rejected points alone. Bounds therefore decide about the time that a draw takes, not
//! about its law.

pub(crate) mod chart;
#[cfg(test)]
mod tests;

pub use chart::MAX_DIM;

use crate::error::Error;
use crate::noise::Stream;
use crate::parallel::{Interrupt, Pace};

/// A density on a bounded part of R^k, known up to a constant, with upper bounds on boxes.
pub trait Bounded {
    /// Half widths of a box about 0 that holds the support.
    fn extent(&self) -> Vec<f64>;

    /// Log density; none outside the support.
    fn log_density(&self, point: &[f64]) -> Option<f64>;

    /// A bound on the box of the given centre and half widths; none if it misses the support.
    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound>;
}

/// Upper bound of a density on a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Value at the centre of an affine upper bound of the log density.
    pub log_density: f64,
    /// Its slope, 0 from the dimension on.
    pub slope: [f64; MAX_DIM],
    /// The coordinate to halve: the one that makes the bound loose.
    pub axis: usize,
}

/// Nodes of the tree of boxes beyond which none is halved: draws then take longer, they do not fail.
const MAX_NODES: usize = 1 << 22;

/// A rejected point at which the bound is closer than this does not halve its box.
const TIGHT: f64 = 0.7;

/// Independent points of the law, and how many densities and bounds were computed for them. Boxes are kept
/// from one point to the next: given what was drawn before, the next point has the same law.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn sample(
    target: &dyn Bounded,
    count: usize,
    stream: &mut Stream,
    interrupt: Interrupt,
) -> Result<(Vec<Vec<f64>>, usize), Error> {
    let mut boxes = Boxes::cover(target);
    let mut pace = Pace::new();
    let mut rest = pace.pieces();
    let (mut points, mut evaluations) = (Vec::with_capacity(count), 1);
    while points.len() < count {
        evaluations += 1;
        match boxes.propose(target, stream) {
            Ok(point) => points.push(point),
            Err(halved) => evaluations += if halved { 2 } else { 0 },
        }
        rest -= 1;
        if rest == 0 {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            pace.adapt();
            rest = pace.pieces();
        }
    }
    Ok((points, evaluations))
}

/// The tree of boxes.
struct Boxes {
    nodes: Vec<Node>,
    extent: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Node {
    /// Logarithm of the bound's integral, summed over the leaves below, relative to the root's volume.
    log_mass: f64,
    /// Bound on this box: at its centre, and the slope.
    log_bound: f64,
    slope: [f64; MAX_DIM],
    axis: u32,
    /// The first of two children; 0 for a leaf.
    children: u32,
}

/// A box on the way down the tree.
struct Cell {
    center: Vec<f64>,
    half: Vec<f64>,
    log_volume: f64,
}

impl Cell {
    /// The lower or upper half across a coordinate.
    fn enter(&mut self, axis: usize, upper: bool) {
        self.half[axis] *= 0.5;
        self.center[axis] += if upper { self.half[axis] } else { -self.half[axis] };
        self.log_volume -= std::f64::consts::LN_2;
    }

    /// Undoes [`Cell::enter`].
    fn leave(&mut self, axis: usize, upper: bool) {
        self.center[axis] -= if upper { self.half[axis] } else { -self.half[axis] };
        self.half[axis] *= 2.0;
        self.log_volume += std::f64::consts::LN_2;
    }
}

impl Boxes {
    fn cover(target: &dyn Bounded) -> Self {
        let extent = target.extent();
        let root = Cell { center: vec![0.0; extent.len()], half: extent.clone(), log_volume: 0.0 };
        let nodes = vec![Node::leaf(target, &root, None)];
        Self { nodes, extent }
    }

    /// An accepted point, or whether the box that rejected it was halved.
    fn propose(&mut self, target: &dyn Bounded, stream: &mut Stream) -> Result<Vec<f64>, bool> {
        let dim = self.extent.len();
        let mut cell = Cell { center: vec![0.0; dim], half: self.extent.clone(), log_volume: 0.0 };
        let mut path = vec![0];
        let mut index = 0;
        while self.nodes[index].children > 0 {
            let node = self.nodes[index];
            let lower = node.children as usize;
            let odds = self.nodes[lower + 1].log_mass - self.nodes[lower].log_mass;
            let upper = stream.uniform_open() * (1.0 + odds.exp()) > 1.0 || odds == f64::INFINITY;
            cell.enter(node.axis as usize, upper);
            index = lower + usize::from(upper);
            path.push(index);
        }
        let leaf = self.nodes[index];
        let mut log_bound = leaf.log_bound;
        let mut point = cell.center.clone();
        for ((x, half), slope) in point.iter_mut().zip(&cell.half).zip(leaf.slope) {
            let step = half * exponential_on_interval(slope * half, stream.uniform_open());
            *x += step;
            log_bound += slope * step;
        }
        let gap = match target.log_density(&point) {
            Some(log_density) => log_bound - log_density,
            None => f64::INFINITY,
        };
        if stream.exponential() > gap {
            return Ok(point);
        }
        if gap < TIGHT || self.nodes.len() + 2 > MAX_NODES {
            return Err(false);
        }
        self.halve(target, index, &mut cell);
        for &index in path.iter().rev() {
            let lower = self.nodes[index].children as usize;
            self.nodes[index].log_mass =
                log_sum(self.nodes[lower].log_mass, self.nodes[lower + 1].log_mass);
        }
        Err(true)
    }

    fn halve(&mut self, target: &dyn Bounded, index: usize, cell: &mut Cell) {
        self.nodes[index].children = self.nodes.len() as u32;
        let parent = self.nodes[index];
        let axis = parent.axis as usize;
        for upper in [false, true] {
            cell.enter(axis, upper);
            let step = if upper { cell.half[axis] } else { -cell.half[axis] };
            let log_bound = parent.log_bound + step * parent.slope[axis];
            self.nodes.push(Node::leaf(target, cell, Some((log_bound, parent.slope))));
            cell.leave(axis, upper);
        }
    }
}

impl Node {
    /// A leaf with its own bound or that of the box it was cut from, whichever has the smaller integral.
    fn leaf(target: &dyn Bounded, cell: &Cell, inherited: Option<(f64, [f64; MAX_DIM])>) -> Self {
        let Some(Bound { log_density, slope, axis }) = target.bound(&cell.center, &cell.half)
        else {
            let nothing = f64::NEG_INFINITY;
            let slope = [0.0; MAX_DIM];
            return Self { log_mass: nothing, log_bound: nothing, slope, axis: 0, children: 0 };
        };
        let mass = |(log_bound, slope): (f64, [f64; MAX_DIM])| {
            cell.log_volume + log_bound + log_mean_exp(&slope, &cell.half)
        };
        let own = (log_density, slope);
        let best = inherited.filter(|inherited| mass(*inherited) < mass(own)).unwrap_or(own);
        let (log_bound, slope) = best;
        Self { log_mass: mass(best), log_bound, slope, axis: axis as u32, children: 0 }
    }
}

/// ln of the mean of exp(slope . x) over the box of the given half widths about 0.
pub(crate) fn log_mean_exp(slope: &[f64; MAX_DIM], half: &[f64]) -> f64 {
    let of_axis = |(slope, half): (&f64, &f64)| {
        let k = (slope * half).abs();
        // ln(sinh(k)/k)
        if k < 1e-3 { k * k / 6.0 } else { k + (-(-2.0 * k).exp_m1() / (2.0 * k)).ln() }
    };
    slope.iter().zip(half).map(of_axis).sum()
}

/// The point of [-1, 1] below which exp(k x) has the share u of its integral.
fn exponential_on_interval(k: f64, u: f64) -> f64 {
    let x = |k: f64, u: f64| 1.0 + ((1.0 - u) * (-2.0 * k).exp_m1()).ln_1p() / k;
    let found = if k > 0.0 {
        x(k, u)
    } else if k < 0.0 {
        -x(-k, u)
    } else {
        2.0 * u - 1.0
    };
    found.clamp(-1.0, 1.0)
}

/// ln(e^a + e^b)
fn log_sum(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}
