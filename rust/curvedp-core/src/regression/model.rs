//! Records of a space of at most three dimensions, in coordinates in which gradients cost nanoseconds.
//!
//! A symmetric space of dimension up to 3 is flat space times a space of constant curvature: the sphere or the
//! hyperboloid, here of curvature 1 or -1, lengths multiplied by the root of |k|. Points are (z, y), z flat
//! and y = (y_0, y_1, ...) the point itself. Geodesics are given by normal coordinates (a, w) at the origin:
//! p = exp(a), v is w carried there from the origin. The transvection along exp(sa) and a rotation take p to the origin
//! and v to the first axis: M y are the coordinates of y seen from there. That along exp_p(sv) turns the
//! plane of the first two by the angle of t v, and what is left to do is the logarithm at the origin.

use super::Sample;
use super::space::Space;
use crate::cascade::{ADDITIONS, PIECE};
use crate::manifold::Range;
use crate::rows::Rows;
use crate::simd::elementary::{asinh_nonneg, atan2_nonneg, exp, sin_cos};
use crate::simd::lanes::{LANES, Lane};
use crate::simd::{vectorize, vectorize_widest};
use crate::vector::length;
use std::f64::consts::PI;

/// Records side by side in a block.
pub(super) const ABREAST: usize = 2 * LANES;
/// Blocks in one partial sum.
const BLOCKS: usize = PIECE / ABREAST;
const _: () = assert!(BLOCKS + ABREAST <= ADDITIONS);
/// Angles up to this for a unit of time, at most 1, have short series.
const SLOW: f64 = 1e-2;
/// Largest dimension.
pub(super) const MAX: usize = 3;

/// A tangent vector: flat entries, then curved ones, then zeros.
pub type Vector = [f64; MAX];

/// The records.
pub(super) struct Model {
    pub(super) space: Space,
    pub(super) blocks: Vec<Records>,
    pub(super) count: usize,
}

/// Records of a block; absent ones are points at the origin that count 0.
#[derive(Clone)]
pub(super) struct Records {
    flat: [Lane<ABREAST>; MAX],
    curved: [Lane<ABREAST>; MAX + 1],
    pub(super) times: Lane<ABREAST>,
    pub(super) present: Lane<ABREAST>,
}

/// Residuals of a block, carried back to p: not clipped, first curved axis along v.
#[derive(Clone)]
pub(super) struct Residuals {
    pub(super) vectors: [Lane<ABREAST>; MAX],
    pub(super) squares: Lane<ABREAST>,
    /// c(R_tv) and t g(R_tv) across v.
    pub(super) start: Lane<ABREAST>,
    pub(super) field: Lane<ABREAST>,
}

/// A geodesic in the form from which residuals are computed.
pub(super) struct Line {
    /// M
    seen: [[f64; MAX + 1]; MAX + 1],
    /// The rotation in M, of the curved axes.
    turn: [Vector; MAX],
    flat: [Vector; 2],
    /// Angle for each unit of time.
    rate: f64,
    /// Length of an angle of 1.
    unit: f64,
}

/// Sums of the clipped residuals times both Jacobi fields, first curved axis along v.
pub(super) type Gradients = [Vector; 2];

impl Residuals {
    const ZERO: Self = Self {
        vectors: [[0.0; ABREAST]; MAX],
        squares: [0.0; ABREAST],
        start: [0.0; ABREAST],
        field: [0.0; ABREAST],
    };
}

impl Model {
    /// Of a sample, the origin at `center`, which no record shall be as far from as the injectivity radius.
    pub(super) fn of(sample: &Sample, center: &[f64]) -> Self {
        let dim = sample.manifold.dim();
        let mut coords = vec![0.0; sample.times.len() * dim];
        sample.manifold.log_coords(sample.points, Rows::shared(center), &mut coords);
        Self::new(Space::of(sample.manifold), &coords, sample.times)
    }

    /// Of records with normal coordinates `coords` at the origin, one after the other, and their times.
    pub(super) fn new(space: Space, coords: &[f64], times: &[f64]) -> Self {
        let dim = space.dim();
        let mut origin = [[0.0; ABREAST]; MAX + 1];
        origin[0] = [1.0; ABREAST];
        let empty = Records {
            flat: [[0.0; ABREAST]; MAX],
            curved: origin,
            times: [0.0; ABREAST],
            present: [0.0; ABREAST],
        };
        let mut blocks = vec![empty; times.len().div_ceil(ABREAST)];
        for (i, (coords, &t)) in coords.chunks_exact(dim).zip(times).enumerate() {
            let (block, l) = (&mut blocks[i / ABREAST], i % ABREAST);
            block.times[l] = t;
            block.present[l] = 1.0;
            let vector = space.enter(coords);
            if vector.iter().all(|x| x.is_finite()) {
                let (angle, direction) = space.angle(&vector);
                let (cos, sin) = space.cos_sin(angle);
                block.curved[0][l] = cos;
                for j in 0..space.curved {
                    block.curved[j + 1][l] = sin * direction[j];
                }
                for j in 0..space.flat {
                    block.flat[j][l] = vector[j];
                }
            }
        }
        Self { space, blocks, count: times.len() }
    }

    /// Both gradients at a geodesic, residuals clipped.
    pub(super) fn gradients(&self, line: &Line, longest: &Range) -> Gradients {
        let mut tree: Vec<(u32, Gradients)> = Vec::new();
        for piece in self.blocks.chunks(BLOCKS) {
            let mut sum = self.space.dispatch_widest(Sums { line, piece, longest });
            let mut level = 0;
            while let Some((_, left)) = tree.pop_if(|(other, _)| *other == level) {
                add(&mut sum, &left);
                level += 1;
            }
            tree.push((level, sum));
        }
        let mut total = [[0.0; MAX]; 2];
        tree.iter().rev().for_each(|(_, sum)| add(&mut total, sum));
        total.map(|sum| sum.map(|x| -x / self.count as f64))
    }

    /// Residuals of all records.
    pub(super) fn residuals(&self, line: &Line, out: &mut Vec<Residuals>) {
        out.resize(self.blocks.len(), Residuals::ZERO);
        self.space.dispatch(Each { line, blocks: &self.blocks, out });
    }

    /// Sums over records of the clipped residuals times both Jacobi fields.
    pub(super) fn clipped_sums(&self, residuals: &[Residuals], longest: &Range) -> Gradients {
        self.space.dispatch(Clipped { blocks: &self.blocks, residuals, longest })
    }
}

fn add(sum: &mut Gradients, terms: &Gradients) {
    for (sum, terms) in sum.iter_mut().zip(terms) {
        sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
}

impl Line {
    /// The geodesic with normal coordinates (a, w).
    pub(super) fn new(space: &Space, a: &Vector, w: &Vector) -> Self {
        let (angle, n) = space.angle(a);
        let (cos, sin) = space.cos_sin(angle);
        let back = if space.is_hyperbolic() { -sin } else { sin };
        let (rate, v) = space.angle(w);
        let turn = to_first_axis(space.curved, &v);
        // rows: y_0, then y_j + n_j ((cos - 1) <n, y> - sin y_0)
        let mut seen = [[0.0; MAX + 1]; MAX + 1];
        seen[0][0] = cos;
        for i in 0..space.curved {
            seen[0][i + 1] = back * n[i];
        }
        for (row, axis) in seen[1..].iter_mut().zip(&turn).take(space.curved) {
            let along: f64 = axis.iter().zip(&n).map(|(x, n)| x * n).sum();
            row[0] = -sin * along;
            for i in 0..space.curved {
                row[i + 1] = axis[i] + along * (cos - 1.0) * n[i];
            }
        }
        let flat = [a, w].map(|x| {
            let mut flat = [0.0; MAX];
            flat[..space.flat].copy_from_slice(&x[..space.flat]);
            flat
        });
        Self { seen, turn, flat, rate, unit: 1.0 / space.root() }
    }

    /// A vector whose first curved axis is v, in normal coordinates.
    pub(super) fn turned_back(&self, space: &Space, x: &Vector) -> Vector {
        let mut result = [0.0; MAX];
        result[..space.flat].copy_from_slice(&x[..space.flat]);
        for (axis, x) in self.turn.iter().zip(&x[space.flat..space.dim()]) {
            for i in 0..space.curved {
                result[space.flat + i] += axis[i] * x;
            }
        }
        result
    }
}

/// A rotation (or reflection) whose first row is the unit vector v; the identity for 0.
fn to_first_axis(dim: usize, v: &Vector) -> [Vector; MAX] {
    let mut rows = [[0.0; MAX]; MAX];
    (0..dim).for_each(|i| rows[i][i] = 1.0);
    let sign = if v[0] < 0.0 { -1.0 } else { 1.0 };
    let mut h = *v;
    h[0] += sign;
    let square = length(&h).powi(2);
    if dim < 1 || length(v) == 0.0 {
        return rows;
    }
    for i in 0..dim {
        for j in 0..dim {
            rows[i][j] -= 2.0 * h[i] * h[j] / square;
        }
    }
    rows[0].iter_mut().for_each(|x| *x *= -sign);
    rows
}

/// Work on the records, with the numbers of flat and curved axes known to the compiler.
pub(super) trait Work {
    type Output;
    fn run<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(self) -> Self::Output;
}

impl Space {
    /// Runs it for this space.
    pub(super) fn dispatch<W: Work>(&self, work: W) -> W::Output {
        vectorize(
            #[inline(always)]
            || self.choose(work),
        )
    }

    /// The same, with the widest vector instructions.
    fn dispatch_widest<W: Work>(&self, work: W) -> W::Output {
        vectorize_widest(
            #[inline(always)]
            || self.choose(work),
        )
    }

    #[inline(always)]
    fn choose<W: Work>(&self, work: W) -> W::Output {
        match (self.flat, self.curved, self.is_hyperbolic()) {
            (1, 0, _) => work.run::<1, 0, true>(),
            (2, 0, _) => work.run::<2, 0, true>(),
            (0, 2, false) => work.run::<0, 2, false>(),
            (0, 2, true) => work.run::<0, 2, true>(),
            (0, 3, false) => work.run::<0, 3, false>(),
            (0, 3, true) => work.run::<0, 3, true>(),
            (1, 2, false) => work.run::<1, 2, false>(),
            (1, 2, true) => work.run::<1, 2, true>(),
            _ => work.run::<3, 0, true>(),
        }
    }
}

struct Each<'a> {
    line: &'a Line,
    blocks: &'a [Records],
    out: &'a mut [Residuals],
}

impl Work for Each<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(self) {
        for (records, out) in self.blocks.iter().zip(self.out) {
            *out = records.residuals::<FLAT, CURVED, HYPERBOLIC>(self.line);
        }
    }
}

struct Sums<'a> {
    line: &'a Line,
    piece: &'a [Records],
    longest: &'a Range,
}

impl Work for Sums<'_> {
    type Output = Gradients;

    #[inline(always)]
    fn run<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(self) -> Gradients {
        let mut sums = LaneSums::default();
        for records in self.piece {
            let residuals = records.residuals::<FLAT, CURVED, HYPERBOLIC>(self.line);
            sums.add::<FLAT, CURVED>(records, &residuals, self.longest);
        }
        sums.total()
    }
}

struct Clipped<'a> {
    blocks: &'a [Records],
    residuals: &'a [Residuals],
    longest: &'a Range,
}

impl Work for Clipped<'_> {
    type Output = Gradients;

    #[inline(always)]
    fn run<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(self) -> Gradients {
        let mut sums = LaneSums::default();
        for (records, residuals) in self.blocks.iter().zip(self.residuals) {
            sums.add::<FLAT, CURVED>(records, residuals, self.longest);
        }
        sums.total()
    }
}

/// [`Gradients`] lane by lane.
#[derive(Default)]
struct LaneSums([[Lane<ABREAST>; MAX]; 2]);

impl LaneSums {
    #[inline(always)]
    fn add<const FLAT: usize, const CURVED: usize>(
        &mut self,
        records: &Records,
        residuals: &Residuals,
        longest: &Range,
    ) {
        let mut scales = [0.0; ABREAST];
        for l in 0..ABREAST {
            scales[l] = longest.scale(residuals.squares[l]).0 * records.present[l];
        }
        for j in 0..FLAT + CURVED {
            let across = j > FLAT;
            for l in 0..ABREAST {
                let (scale, u) = (scales[l], residuals.vectors[j][l]);
                let u = if scale == 0.0 { 0.0 } else { scale * u }; // u may be infinite
                let field = if across { residuals.field[l] } else { records.times[l] };
                self.0[0][j][l] += if across { residuals.start[l] * u } else { u };
                self.0[1][j][l] += field * u;
            }
        }
    }

    #[inline(always)]
    fn total(self) -> Gradients {
        self.0.map(|vector| vector.map(|lane| lane.iter().sum()))
    }
}

impl Records {
    #[inline(always)]
    fn residuals<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(
        &self,
        line: &Line,
    ) -> Residuals {
        let mut out = Residuals::ZERO;
        for j in 0..FLAT {
            let (start, speed) = (line.flat[0][j], line.flat[1][j]);
            for l in 0..ABREAST {
                let x = self.flat[j][l] - (start + self.times[l] * speed);
                out.vectors[j][l] = x;
                out.squares[l] += x * x;
            }
        }
        if CURVED > 0 {
            self.add_curved::<FLAT, CURVED, HYPERBOLIC>(line, &mut out);
        }
        out
    }

    #[inline(always)]
    fn add_curved<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(
        &self,
        line: &Line,
        out: &mut Residuals,
    ) {
        let unit = line.unit;
        let slow = line.rate < SLOW;
        let inverse_rate = if slow { 0.0 } else { 1.0 / line.rate };
        let mut seen = [[0.0; ABREAST]; MAX + 1];
        for i in 0..=CURVED {
            for j in 0..=CURVED {
                for l in 0..ABREAST {
                    seen[i][l] += line.seen[i][j] * self.curved[j][l];
                }
            }
        }
        for l in 0..ABREAST {
            let t = self.times[l];
            let x = line.rate * t;
            let (cos, sin) = if HYPERBOLIC {
                let (e, inverse) = (exp(x), 1.0 / exp(x));
                (0.5 * (e + inverse), 0.5 * (e - inverse))
            } else {
                let (sin, cos) = sin_cos(x);
                (cos, sin)
            };
            // sin(x)/x to the last bit where the quotient would lose digits
            let z = if HYPERBOLIC { x * x } else { -x * x };
            let growth = 1.0 + z / 6.0 * (1.0 + z / 20.0);
            let sin = if slow { x * growth } else { sin };
            out.start[l] = cos;
            out.field[l] = if slow { t * growth } else { sin * inverse_rate };
            let (time, along) = (seen[0][l], seen[1][l]);
            seen[0][l] =
                if HYPERBOLIC { cos * time - sin * along } else { cos * time + sin * along };
            seen[1][l] = cos * along - sin * time;
        }
        let mut ratios = [0.0; ABREAST];
        for l in 0..ABREAST {
            let mut square = 0.0;
            for seen in &seen[1..=CURVED] {
                square += seen[l] * seen[l];
            }
            let sin = square.sqrt();
            let dist = if HYPERBOLIC {
                asinh_nonneg(sin)
            } else {
                let cos = seen[0][l];
                let angle = atan2_nonneg(sin, if cos < 0.0 { -cos } else { cos });
                if cos < 0.0 { PI - angle } else { angle }
            };
            let ratio = if sin > 0.0 { dist / sin } else { 1.0 };
            ratios[l] = ratio * unit;
        }
        for j in 0..CURVED {
            for l in 0..ABREAST {
                let x = ratios[l] * seen[j + 1][l];
                out.vectors[FLAT + j][l] = x;
                out.squares[l] += x * x;
            }
        }
    }
}
