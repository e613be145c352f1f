//! Lower bounds of the norm of the gradients around a geodesic.
//!
//! Let N be the norm at (p, v) and m, q dual vectors: N = <m, g_p> + <q, g_v>, the sum over records of
//! <w_i, u_i>/n with w_i = -c(R)m - t_i g(R)q. At any other (p', v') N is at least the same sum with m and q
//! carried along, w_i turned only as far as the Jacobi fields change. Rotations that all residuals make
//! together cost nothing to first order: that keeps boxes large far from the data. In flat space the
//! residual e_i becomes e_i - d_i, d_i = (a' - a) + t_i (w' - w); here it ends as near to that as curvature
//! allows. What clipping makes of e_i - d_i is bounded by an affine function of d_i: that of a residual
//! that is not clipped, that of one that is, or a constant, whichever is largest at the centre.
//!
//! Proof: docs/proofs/geodesic-regression.md, Lemma 5.

use super::k_norm::GradientNorm;
use super::model::{ABREAST, Gradients, Line, MAX, Model, Records, Residuals, Vector, Work};
use super::space::Space;
use crate::manifold::Range;
use crate::simd::elementary::{cosh, sinhc};
use crate::vector::length;
use std::f64::consts::{PI, SQRT_2};

/// Factor on lengths that covers the rounding of numbers computed from them.
const SLACK: f64 = 1.0 + 1e-9;

/// Room for what cancels in a difference of squares, in the larger one.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Largest second derivative of x/|x| times |x|^2: 2/√3.
const BEND: f64 = 1.154_700_538_379_251_7;

/// Stands for infinity where 0 times it shall be 0.
const HUGE: f64 = 1e100;

/// Largest deviations of the geodesics of a box from the one in its middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbourhood {
    /// |d|^2 <= far[0] + 2t far[1] + t^2 far[2], d the flat change of a prediction.
    far: [f64; 3],
    /// Largest |a - a_0| and |w - w_0|: all of them, the flat and the curved part.
    half: [f64; 2],
    flat: [f64; 2],
    curved: [f64; 2],
    /// Way of the footpoint and of the velocity, curved part.
    shift: f64,
    change: f64,
    /// Largest curved |w|.
    speed: f64,
    /// Square root of the absolute curvature, 0 for flat space, and its sign.
    root: f64,
    hyperbolic: bool,
    /// c̄ and ḡ: largest |c - 1| and |g - 1| at |t| = 1/2.
    start: f64,
    field: f64,
    /// |c'| and |g'| at |t| = 1/2, which fall with t, and what they never exceed.
    rates: [f64; 2],
    caps: [f64; 2],
    /// s̄: largest |d exp_c - 1|.
    spread: f64,
    /// ½κϱα', the turning of what is carried along the way of the footpoint.
    holonomy: f64,
    tau: f64,
}

/// The part of a box of normal coordinates in the support, around the centre or, where that is outside, the
/// point of the support closest to it.
pub(super) struct Patch<'a> {
    /// Half widths of the box.
    pub(super) half: [&'a Vector; 2],
    /// True if the point is the centre.
    pub(super) centred: bool,
    /// Largest lengths of the curved parts of a and w.
    pub(super) farthest: [f64; 2],
}

impl Neighbourhood {
    /// Of a box, residuals clipped at tau.
    pub(super) fn new(space: &Space, patch: &Patch, tau: f64) -> Self {
        let half = patch.half.map(|half| SLACK * length(half));
        let dot = |x: &Vector, y: &Vector| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
        let [of_a, of_w] = patch.half;
        // from the point closest to the centre no point is farther than from the centre, but each
        // coordinate of it may be
        let (far, flat, curved) = if patch.centred {
            let far = [dot(of_a, of_a), dot(of_a, of_w), dot(of_w, of_w)];
            let flat = patch.half.map(|half| SLACK * length(&half[..space.flat]));
            (far, flat, patch.half.map(|half| SLACK * length(space.curved_part(half))))
        } else {
            ([half[0] * half[0], half[0] * half[1], half[1] * half[1]], half, half)
        };
        let root = if space.curved > 0 { space.root() } else { 0.0 };
        let [distance, speed] = patch.farthest.map(|x| x * SLACK);
        let hyperbolic = space.is_hyperbolic();
        let (x, y) = (0.5 * root * speed, root * distance);
        let (start, field, spread, rates, caps) = if hyperbolic {
            let sinh = x * sinhc(x);
            (cosh(x) - 1.0, sinhc(x) - 1.0, sinhc(y) - 1.0, [sinh, 0.5 * sinh], [HUGE; 2])
        } else {
            (x * x / 2.0, x * x / 6.0, y * y / 6.0, [x, x / 3.0], [1.0, 0.5])
        };
        let shift = if hyperbolic { (1.0 + spread) * curved[0] } else { curved[0] };
        let holonomy = 0.5 * root * root * distance * shift;
        Self {
            far: far.map(|x| x * SLACK * SLACK),
            half,
            flat,
            curved,
            shift,
            change: curved[1] + holonomy * speed,
            speed,
            root,
            hyperbolic,
            start,
            field,
            rates,
            caps,
            spread,
            holonomy,
            tau,
        }
    }

    /// Largest changes of residuals and Jacobi fields at a time, for a residual of length `size` at the
    /// centre; `dual` are the lengths of the curved parts of m and q.
    #[inline(always)]
    fn change(&self, time: f64, size: f64, dual: [f64; 2]) -> Change {
        let (t, square) = (time, 4.0 * time * time);
        let flat = (self.far[0] + 2.0 * t * self.far[1] + t * t * self.far[2]).sqrt();
        let (start, field) = if self.hyperbolic {
            (1.0 + square * self.start, 1.0 + square * self.field)
        } else {
            (1.0, 1.0)
        };
        let curved_way = start * self.shift + t * field * self.change;
        let flat_way = self.flat[0] + t * self.flat[1];
        let way = (curved_way * curved_way + flat_way * flat_way).sqrt();
        let area = t * (start * self.shift + 0.5 * t * field * self.change);
        let turned = self.root * self.root * self.speed * area;
        let rate = |i: usize| least(2.0 * t * self.rates[i], self.caps[i]);
        let bent = turned * (start * dual[0] + t * field * dual[1])
            + SQRT_2 * self.root * t * self.change * (rate(0) * dual[0] + t * rate(1) * dual[1]);
        let y = self.root * (size + way);
        let hessian = if self.hyperbolic {
            least(y * y / 3.0, y)
        } else {
            let rest = 1.0 - y * y / (PI * PI);
            if rest > 1e-9 { y * y / 3.0 / rest } else { HUGE }
        };
        let curved = self.curved[0] + t * self.curved[1];
        let bias = (hessian + turned) * curved_way
            + square * (self.start * self.shift + t * self.field * self.change)
            + self.spread * self.curved[0]
            + self.holonomy * (t * self.speed + curved);
        Change { flat, bias, bent }
    }
}

/// Of one record.
struct Change {
    /// Largest |d|.
    flat: f64,
    /// Largest distance of the residual at the end from e - d.
    bias: f64,
    /// Largest change of w.
    bent: f64,
}

/// f(x) >= value - <w_share w + residual_share e, d>.
struct Affine {
    value: f64,
    of_w: f64,
    of_residual: f64,
}

/// Bound of <w, F(e')>, F clipping at tau and e' the residual e after a change, for |w| = `size`,
/// |e| = `length` and <w, e> = `product`.
#[inline(always)]
fn bound(tau: f64, size: f64, length: f64, product: f64, change: &Change) -> Affine {
    let inverse = 1.0 / largest(length, 1e-150);
    let along = least(largest(product * inverse, -size), size);
    let d = change.flat;
    let end = largest(tau, length - d - change.bias);
    let drift = size * change.bias * tau / end;
    let share = d * inverse;
    let near = share >= 0.999;
    // largest <w, x>/|x| for |x - e| <= d
    let chord = least(largest(along + SQRT_2 * size * share, 0.0), size);
    let pull = if near { size } else { chord };
    // not clipped, but for what is beyond tau
    let free = product - largest(length + d - tau, 0.0) * pull - drift;
    // clipped, but for what is short of tau
    let usable = if near { 0.5 } else { share };
    let bend = BEND * usable * usable * (0.5 + usable / (3.0 * (1.0 - usable)));
    let clipped = tau * (along - size * bend) - largest(tau - length + d, 0.0) * pull - drift;
    let clipped = if near { -HUGE } else { clipped };
    // turned as far as possible
    let moved = d + change.bias;
    let sin = least(moved * inverse, 1.0);
    let cos = (1.0 - sin * sin).sqrt();
    let across = (largest(size * size - along * along, 0.0) + ROUNDING * size * size).sqrt();
    let turned = if along <= -size * cos { -size } else { along * cos - across * sin };
    let turned = if sin < 1.0 { turned } else { -size };
    let remaining = least(tau, largest(length - moved, 0.0));
    let turned = turned * if turned > 0.0 { remaining } else { tau };
    if free >= clipped && free >= turned {
        Affine { value: free, of_w: 1.0, of_residual: 0.0 }
    } else if clipped >= turned {
        let of_w = tau * inverse;
        Affine { value: clipped, of_w, of_residual: -of_w * along * inverse }
    } else {
        Affine { value: turned, of_w: 0.0, of_residual: 0.0 }
    }
}

#[inline(always)]
fn least(x: f64, y: f64) -> f64 {
    if x < y { x } else { y }
}

#[inline(always)]
fn largest(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

/// An affine lower bound of N on a box.
pub(super) struct Least {
    /// Value at the point that stands for the centre.
    pub(super) value: f64,
    /// Slope in a and in w.
    pub(super) slope: [Vector; 2],
    /// Looseness of the bound due to the extent of the box in a and in w.
    pub(super) loss: [f64; 2],
}

/// Affine lower bound of the norm of the gradients in a neighbourhood of a geodesic, less what rounding by `room` of
/// residuals takes from it; `work` is space.
pub(super) fn least_norm(
    model: &Model,
    norm: GradientNorm,
    line: &Line,
    around: &Neighbourhood,
    room: f64,
    work: &mut Vec<Residuals>,
) -> Least {
    let space = &model.space;
    model.residuals(line, work);
    let longest = Range::new(around.tau, space.dim());
    let [g_p, g_v] = model.clipped_sums(work, &longest).map(|sum| sum.map(|x| -x));
    let (m, q) = norm.dual(&g_p, &g_v);
    let dual: [Vector; 2] = [m, q].map(|x| [x[0], x[1], x[2]]);
    let lengths = dual.map(|x| length(space.curved_part(&x)));
    let blocks = (&model.blocks[..], &work[..]);
    let [sums, slopes @ ..] = space.dispatch(Bounds { blocks, around, dual, lengths });
    let count = model.count as f64;
    let sizes = length(&dual[0]) + length(&dual[1]);
    Least {
        value: sums[0] / count - (1.0 + around.start) * (1e-9 * around.tau + room) * sizes,
        slope: slopes.map(|x| line.turned_back(space, &x.map(|x| -x / count))),
        loss: [sums[1] / count, sums[2] / count],
    }
}

/// Sums over records: the bound, the losses by a and by w; the slopes in d and in t d.
struct Bounds<'a> {
    blocks: (&'a [Records], &'a [Residuals]),
    around: &'a Neighbourhood,
    dual: Gradients,
    lengths: [f64; 2],
}

impl Work for Bounds<'_> {
    type Output = [Vector; 3];

    #[inline(always)]
    fn run<const FLAT: usize, const CURVED: usize, const HYPERBOLIC: bool>(self) -> [Vector; 3] {
        let Self { blocks: (records, residuals), around, dual: [m, q], lengths } = self;
        let tau = around.tau;
        let mut sums = [[[0.0; ABREAST]; MAX]; 3];
        for (records, residuals) in records.iter().zip(residuals) {
            let mut w = [[0.0; ABREAST]; MAX];
            let (mut products, mut squares) = ([0.0; ABREAST], [0.0; ABREAST]);
            for j in 0..FLAT + CURVED {
                let across = j > FLAT;
                for l in 0..ABREAST {
                    let start = if across { residuals.start[l] } else { 1.0 };
                    let field = if across { residuals.field[l] } else { records.times[l] };
                    w[j][l] = -(start * m[j] + field * q[j]);
                    products[l] += w[j][l] * residuals.vectors[j][l];
                    squares[l] += w[j][l] * w[j][l];
                }
            }
            let mut values = [[0.0; ABREAST]; 3];
            let (mut of_w, mut of_residual) = ([0.0; ABREAST], [0.0; ABREAST]);
            for l in 0..ABREAST {
                let t = records.times[l].abs();
                let present = records.present[l];
                let (size, length) = (squares[l].sqrt(), residuals.squares[l].sqrt());
                let change = around.change(t, length, lengths);
                let affine = bound(tau, size, length, products[l], &change);
                let value = affine.value - tau * change.bent;
                let here = products[l] * if length > tau { tau / length } else { 1.0 };
                let loss = present * (here - value + EVEN * size * change.flat);
                let (of_a, of_t) = (around.half[0], t * around.half[1]);
                values[0][l] = present * value;
                values[1][l] = loss * of_a / (of_a + of_t + 1e-300);
                values[2][l] = loss - values[1][l];
                of_w[l] = present * affine.of_w;
                of_residual[l] = present * affine.of_residual;
            }
            for j in 0..3 {
                for l in 0..ABREAST {
                    sums[0][j][l] += values[j][l];
                }
            }
            for j in 0..FLAT + CURVED {
                for l in 0..ABREAST {
                    let slope = of_w[l] * w[j][l] + of_residual[l] * residuals.vectors[j][l];
                    sums[1][j][l] += slope;
                    sums[2][j][l] += records.times[l] * slope;
                }
            }
        }
        sums.map(|vector| vector.map(|lane| lane.iter().sum()))
    }
}

/// Cost of the shape of a box where the bound is exact, in lengths.
const EVEN: f64 = 0.05;

impl GradientNorm {
    /// (m, q) with <m, g_p> + <q, g_v> = N(g_p, g_v), and no larger than N(g_p', g_v') for other gradients;
    /// 0 at 0.
    pub(super) fn dual(self, g_p: &[f64], g_v: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let unit = |x: Vec<f64>| -> Vec<f64> {
            let size = length(&x);
            x.into_iter().map(|x| if size > 0.0 { x / size } else { 0.0 }).collect()
        };
        let combine = |a: &[f64], b: &[f64], f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
        };
        match self {
            Self::SumOfNorms => {
                let plus = unit(combine(g_p, g_v, &|p, v| 0.5 * p + v));
                let minus = unit(combine(g_p, g_v, &|p, v| 0.5 * p - v));
                let m = combine(&plus, &minus, &|a, b| 0.5 * (a + b));
                (m, combine(&plus, &minus, &|a, b| a - b))
            }
            Self::Weighted { slope_weight: s } => {
                let norm = self.of(g_p, g_v);
                let scaled = |x: &[f64], factor: f64| -> Vec<f64> {
                    x.iter().map(|x| if norm > 0.0 { factor * x / norm } else { 0.0 }).collect()
                };
                (scaled(g_p, 1.0), scaled(g_v, s * s))
            }
        }
    }
}
