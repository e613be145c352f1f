//! Exact draws of a lattice point in few dimensions: rejection from a log-affine envelope that grows finer where
//! it rejects (branch and bound), decided by integers and enclosures.
//!
//! The lattice has a power of two of points along each coordinate of a cuboid about 0. The support is covered by
//! boxes of it, each with an affine upper bound of the log density. A box is drawn in proportion to an integer weight
//! that is at least the sum of its bound, a point in it from the bound, and accepted in proportion to density / bound;
//! a box that rejects is halved. Whatever the boxes are when a point is accepted, its law is the target: every
//! envelope is above the density, and which one is used depends on earlier, rejected points alone. Bounds
//! therefore decide about the time that a draw takes, not about its law (docs/proofs/exact-draws.md).

pub(crate) mod chart;
#[cfg(test)]
mod tests;
mod tilt;

pub use chart::MAX_DIM;

use crate::error::Error;
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::noise::{Power, Stream, Variable, rate};
use crate::parallel::{Interrupt, Pace};
use crate::vector::power_of_two_below;
use smallvec::SmallVec;
use tilt::Tilt;

/// A density e^(volume - norm/scale) on a bounded part of R^k, known up to a constant, with upper bounds on boxes.
pub trait Bounded {
    /// Half widths of a box about 0 that holds the support.
    fn extent(&self) -> Vec<f64>;

    /// A positive number.
    fn scale(&self) -> f64;

    /// Volume and norm at a point; none outside the support.
    fn exponent(&self, point: &[f64]) -> Option<Exponent>;

    /// A bound on the box of the given centre and half widths; none if it misses the support.
    fn bound(&self, center: &[f64], half: &[f64]) -> Option<Bound>;
}

/// The parts of a log density, which stand for real numbers exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponent {
    /// A term that does not depend on records.
    pub volume: f64,
    /// What is divided by the scale.
    pub norm: f64,
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

/// A bound of 1 on a box of a 2^-n-th of the root's volume weighs 2^(120 - n).
const ROOT_BITS: i64 = 120;

/// A total weight below this asks for a new unit.
const LEAST_TOTAL: u128 = 1 << 100;

/// Independent points of the law on a lattice whose steps are at most `step`, and how many densities and bounds were
/// computed for them. Boxes are kept from one point to the next: given what was drawn before, the next point
/// has the same law.
///
/// # Errors
/// [`Error::Parameter`] for a step that is too small beside the extent; [`Error::Interrupted`].
pub fn sample(
    target: &dyn Bounded,
    step: f64,
    count: usize,
    stream: &mut Stream,
    interrupt: Interrupt,
) -> Result<(Vec<Vec<f64>>, usize), Error> {
    let mut boxes = Boxes::cover(target, step)?;
    let mut pace = Pace::start();
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
    root: Cell,
    /// Distance of neighbouring points in each coordinate.
    steps: Vec<f64>,
    /// The log density that counts as 1: any will do.
    reference: f64,
}

#[derive(Clone, Copy)]
struct Node {
    /// Weight, of an inner node that of the leaves below.
    weight: u128,
    /// About the logarithm of a leaf's bound times its share of the root's volume.
    log_mass: f64,
    bound: Bound,
    /// The first of two children; 0 for a leaf.
    children: u32,
}

/// A box on the way down the tree.
#[derive(Clone)]
struct Cell {
    /// The least multiples of the step in it.
    lower: Vec<i64>,
    /// It has 2^bits of them in each coordinate.
    bits: Vec<u32>,
    /// How often the root was halved.
    depth: i64,
}

impl Cell {
    /// The lower or upper half across a coordinate.
    fn enter(&mut self, axis: usize, upper: bool) {
        self.bits[axis] -= 1;
        self.lower[axis] += i64::from(upper) << self.bits[axis];
        self.depth += 1;
    }

    /// Undoes [`Cell::enter`].
    fn leave(&mut self, axis: usize, upper: bool) {
        self.lower[axis] -= i64::from(upper) << self.bits[axis];
        self.bits[axis] += 1;
        self.depth -= 1;
    }

    /// Half widths.
    fn half(&self, steps: &[f64]) -> Vec<f64> {
        let axes = self.bits.iter().zip(steps);
        axes.map(|(bits, step)| 2f64.powi(*bits as i32 - 1) * step).collect()
    }

    fn center(&self, steps: &[f64]) -> Vec<f64> {
        let axes = self.lower.iter().zip(steps).zip(self.half(steps));
        axes.map(|((lower, step), half)| *lower as f64 * step + half).collect()
    }
}

/// A point that was drawn from the bound of a box.
struct Proposal<'a> {
    exponent: Exponent,
    scale: f64,
    reference: f64,
    weight: u128,
    depth: i64,
    tilts: &'a [Tilt],
    parts: &'a [u64],
    height: Variable,
    stream: &'a Stream,
}

impl Question for Proposal<'_> {
    type Answer = bool;

    /// Is V times the bound at the point less than the density? The bound is weight/mean times its value on the
    /// part, in units of 2^(depth - ROOT_BITS).
    fn ask<const N: usize>(&self) -> Result<bool, Undecided> {
        let Exponent { volume, norm } = self.exponent;
        let norm = Enclosure::double(norm, 0).times(&rate(self.scale, 0)?);
        let volume = Enclosure::double(volume, 0).minus(&Enclosure::double(self.reference, 0));
        let density = Power::<N>::new(&volume.minus(&norm));
        let size = 128 - self.weight.leading_zeros() as i64;
        let weight = Enclosure::dyadic(self.weight as i128, -size as i32);
        let one = Enclosure::integer(1);
        let mean = self.tilts.iter().fold(one, |mean, tilt| mean.times(&tilt.mean()));
        let on_parts = self.tilts.iter().zip(self.parts);
        let bound = on_parts.fold(weight, |bound, (tilt, part)| bound.times(&tilt.on(*part)));
        let density = density.scaled(&mean, size + self.depth - ROOT_BITS);
        bound.times(&self.height.at(self.stream)).is_less(&density)
    }
}

impl Boxes {
    fn cover(target: &dyn Bounded, step: f64) -> Result<Self, Error> {
        let (mut bits, mut steps) = (Vec::new(), Vec::new());
        for extent in target.extent() {
            // of few digits, so that all multiples are doubles
            let unit = power_of_two_below(extent) / 128.0;
            let extent = (extent / unit).ceil() * unit;
            let count = (extent / step).log2().ceil();
            if count.is_nan() || count > 44.0 {
                let allowed = "at least 2^-44 of the extent";
                return Err(Error::Parameter { name: "step", allowed, value: step });
            }
            let count = count.max(0.0) as u32;
            bits.push(count + 1);
            steps.push(extent * 2f64.powi(-(count as i32)));
        }
        let lower = bits.iter().map(|bits| -1 << (bits - 1)).collect();
        let root = Cell { lower, bits, depth: 0 };
        let mut boxes = Self { nodes: Vec::new(), root, steps, reference: 0.0 };
        let whole = boxes.leaf(target, &boxes.root, None);
        boxes.nodes.push(whole);
        boxes.rescale();
        Ok(boxes)
    }

    /// The largest value of a bound on a box, with room for its rounding.
    fn top(&self, bound: &Bound, cell: &Cell) -> f64 {
        let half = cell.half(&self.steps);
        let rise: f64 =
            bound.slope.iter().zip(half).map(|(slope, half)| (slope * half).abs()).sum();
        bound.log_density + rise + (bound.log_density.abs() + rise) * 2f64.powi(-40)
    }

    fn tilts(&self, bound: &Bound, cell: &Cell) -> SmallVec<[Tilt; MAX_DIM]> {
        let half = cell.half(&self.steps);
        let axes = bound.slope.iter().zip(half).zip(&cell.bits);
        axes.map(|((slope, half), bits)| Tilt::new(*slope, half, *bits)).collect()
    }

    /// An integer that is at least the mean of the bound over the box in units of 2^(depth - ROOT_BITS).
    fn weight(&self, bound: &Bound, cell: &Cell) -> u128 {
        let tilts = self.tilts(bound, cell);
        let top = Enclosure::double(self.top(bound, cell), 0);
        let top = Power::<3>::new(&top.minus(&Enclosure::double(self.reference, 0)));
        let mean = tilts.iter().fold(top.mantissa, |mean, tilt| mean.times(&tilt.mean()));
        let mean = mean.above(60).map_or(u128::MAX >> 66, |mean| mean.unsigned_abs().into());
        match top.exponent + ROOT_BITS - cell.depth - 60 {
            shift @ 0..127 if mean.leading_zeros() as i64 > shift => mean << shift,
            0.. => 1 << 124, // never: no leaf weighs more than the root did
            shift @ -127..0 => (mean >> -shift) + 1,
            _ => 1,
        }
    }

    /// A leaf with its own bound or that of the box it was cut from, whichever weighs less.
    fn leaf(&self, target: &dyn Bounded, cell: &Cell, inherited: Option<Bound>) -> Node {
        let own = if cell.bits.iter().all(|bits| *bits == 0) {
            let lower = cell.lower.iter().zip(&self.steps);
            let point: Vec<f64> = lower.map(|(lower, step)| *lower as f64 * step).collect();
            target.exponent(&point).map(|Exponent { volume, norm }| {
                let room = (volume.abs() + norm / target.scale()) * 2f64.powi(-50);
                let log_density = volume - norm / target.scale() + room;
                Bound { log_density, slope: [0.0; MAX_DIM], axis: 0 }
            })
        } else {
            target.bound(&cell.center(&self.steps), &cell.half(&self.steps))
        };
        let nothing = Bound { log_density: 0.0, slope: [0.0; MAX_DIM], axis: 0 };
        let Some(own) = own else {
            return Node { weight: 0, log_mass: f64::NEG_INFINITY, bound: nothing, children: 0 };
        };
        let size = |bound: &Bound| {
            let tilts = self.tilts(bound, cell);
            self.top(bound, cell) + tilts.iter().map(Tilt::ln_mean).sum::<f64>()
        };
        let inherited = inherited.map(|bound| Bound { axis: own.axis, ..bound });
        let bound = inherited.filter(|bound| size(bound) < size(&own)).unwrap_or(own);
        let log_mass = size(&bound) - cell.depth as f64 * std::f64::consts::LN_2;
        Node { weight: self.weight(&bound, cell), log_mass, bound, children: 0 }
    }

    /// An accepted point, or whether the box that rejected it was halved.
    fn propose(&mut self, target: &dyn Bounded, stream: &mut Stream) -> Result<Vec<f64>, bool> {
        let mut cell = self.root.clone();
        let mut path = vec![0];
        let mut index = 0;
        let mut place = below_wide(self.nodes[0].weight, stream);
        while self.nodes[index].children > 0 {
            let node = self.nodes[index];
            let lower = node.children as usize;
            let weight = self.nodes[lower].weight;
            let upper = place >= weight;
            place -= if upper { weight } else { 0 };
            cell.enter(node.bound.axis, upper);
            index = lower + usize::from(upper);
            path.push(index);
        }
        let Node { weight, bound, .. } = self.nodes[index];
        let tilts = self.tilts(&bound, &cell);
        let mut parts = SmallVec::<[u64; MAX_DIM]>::new();
        let mut point = Vec::with_capacity(tilts.len());
        for (axis, tilt) in tilts.iter().enumerate() {
            let (lower, bits) = (cell.lower[axis], cell.bits[axis]);
            let part = tilt.draw(stream);
            let fair = bits - tilt.ratios.len() as u32;
            let at = part << fair | stream.bits() & ((1 << fair) - 1);
            let at = if tilt.falls { at } else { (1 << bits) - 1 - at };
            parts.push(part);
            point.push((lower + at as i64) as f64 * self.steps[axis]);
        }
        let height = stream.variable();
        let exponent = target.exponent(&point);
        let mut gap = f64::INFINITY;
        if let Some(exponent) = exponent {
            let (scale, reference, depth) = (target.scale(), self.reference, cell.depth);
            let (tilts, parts) = (&tilts[..], &parts[..]);
            let proposal = Proposal {
                exponent,
                scale,
                reference,
                weight,
                depth,
                tilts,
                parts,
                height,
                stream,
            };
            if decide(&proposal, Effort::Least) {
                return Ok(point);
            }
            let on_parts: f64 = tilts.iter().zip(parts).map(|(tilt, part)| tilt.ln_on(*part)).sum();
            let envelope = self.top(&bound, &cell) + on_parts;
            gap = envelope - (exponent.volume - exponent.norm / scale);
        }
        let widest = (0..cell.bits.len()).max_by_key(|axis| cell.bits[*axis]).unwrap_or(0);
        let axis = if cell.bits[bound.axis] > 0 { bound.axis } else { widest };
        if gap < TIGHT || self.nodes.len() + 2 > MAX_NODES || cell.bits[axis] == 0 {
            return Err(false);
        }
        self.halve(target, index, axis, &mut cell);
        for &index in path.iter().rev() {
            let lower = self.nodes[index].children as usize;
            self.nodes[index].weight = self.nodes[lower].weight + self.nodes[lower + 1].weight;
        }
        if self.nodes[0].weight < LEAST_TOTAL {
            self.rescale();
        }
        Err(true)
    }

    /// Weighs all leaves in a unit in which their total is about 2^ROOT_BITS.
    fn rescale(&mut self) {
        let leaves = || self.nodes.iter().filter(|node| node.children == 0);
        let largest = leaves().map(|node| node.log_mass).fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return;
        }
        let total: f64 = leaves().map(|node| libm::exp(node.log_mass - largest)).sum();
        self.reference = largest + libm::log(total);
        self.weigh(0, &mut self.root.clone());
    }

    /// Weighs a node and those below.
    fn weigh(&mut self, index: usize, cell: &mut Cell) {
        let node = self.nodes[index];
        let weight = if node.children == 0 {
            if node.weight == 0 { 0 } else { self.weight(&node.bound, cell) }
        } else {
            let axis = node.bound.axis;
            for upper in [false, true] {
                cell.enter(axis, upper);
                self.weigh(node.children as usize + usize::from(upper), cell);
                cell.leave(axis, upper);
            }
            let children = &self.nodes[node.children as usize..][..2];
            children[0].weight + children[1].weight
        };
        self.nodes[index].weight = weight;
    }

    fn halve(&mut self, target: &dyn Bounded, index: usize, axis: usize, cell: &mut Cell) {
        self.nodes[index].children = self.nodes.len() as u32;
        self.nodes[index].bound.axis = axis;
        let parent = self.nodes[index].bound;
        for upper in [false, true] {
            cell.enter(axis, upper);
            let half = cell.half(&self.steps)[axis];
            let moved = parent.slope[axis] * if upper { half } else { -half };
            // with room for the rounding of the sum
            let room = (parent.log_density.abs() + moved.abs()) * 2f64.powi(-50);
            let log_density = parent.log_density + moved + room;
            let inherited = Bound { log_density, ..parent };
            let leaf = self.leaf(target, cell, Some(inherited));
            self.nodes.push(leaf);
            cell.leave(axis, upper);
        }
    }
}

/// A uniform integer below `total`.
fn below_wide(total: u128, stream: &mut Stream) -> u128 {
    let mask = u128::MAX >> total.leading_zeros();
    loop {
        let word = (u128::from(stream.bits()) << 64 | u128::from(stream.bits())) & mask;
        if word < total {
            return word;
        }
    }
}
