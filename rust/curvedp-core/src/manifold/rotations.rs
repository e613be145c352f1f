//! Rotations of three-dimensional space: 3 x 3 matrices, the distance being the angle of the rotation between
//! two of them. The 3-sphere of radius 2 covers them twice (docs/proofs/coverings.md).
//!
//! The tangent vector R [w] at R, [w] u = w x u, has the coordinates w. The rotation R^T S between two points
//! is found as a unit quaternion whose vector part comes from S - R, so that it keeps its digits for rotations
//! that are close to each other.

use std::f64::consts::PI;

use super::{Embedding, LogSums, Manifold, Sphere};
use crate::manifold::checked::Checked;
use crate::messages::{Columns, Start};
use crate::roots::{Radial, Space};
use crate::rows::Rows;
use crate::simd::elementary::{atan2_nonneg, sin_cos, sinc};
use crate::simd::jacobi::diagonalize;
use crate::simd::matrices::{load, packed, packed_len, squared_norm};
use crate::vector::{norm, scale_to};

/// SO(3) with the bi-invariant metric of curvature 1/4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotations;

/// A row-major 3 x 3 matrix.
type Matrix = [f64; 9];

/// Coordinates of a tangent vector.
type Vector = [f64; 3];

/// Scalar part first.
type Quaternion = [f64; 4];

/// Entries of a point.
const SIZE: usize = 9;

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// Largest error of R^T R at which two Newton steps round a matrix onto the rotations.
const NEAR: f64 = 1e-4;

/// Largest error of R^T R at which a matrix is a rotation up to rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Gap of two eigenvalues, relative to the largest entry, below which no rotation is the closest.
const GAP: f64 = 1e-12;

fn times(a: &[f64], b: &[f64]) -> Matrix {
    std::array::from_fn(|at| (0..3).map(|k| a[at / 3 * 3 + k] * b[3 * k + at % 3]).sum())
}

fn transpose_times(a: &[f64], b: &[f64]) -> Matrix {
    std::array::from_fn(|at| (0..3).map(|k| a[3 * k + at / 3] * b[3 * k + at % 3]).sum())
}

/// w for the skew part [w] of a matrix.
fn axis(m: &Matrix) -> Vector {
    [0.5 * (m[7] - m[5]), 0.5 * (m[2] - m[6]), 0.5 * (m[3] - m[1])]
}

/// Coordinates of the tangent part of a matrix at a base point.
fn coords(vector: &[f64], base: &[f64]) -> Vector {
    axis(&transpose_times(base, vector))
}

/// The tangent vector with the given coordinates.
fn tangent([x, y, z]: Vector, base: &[f64]) -> Matrix {
    times(base, &[0.0, -z, y, z, 0.0, -x, -y, x, 0.0])
}

fn vector(row: &[f64]) -> Vector {
    [row[0], row[1], row[2]]
}

/// The rotation of a unit quaternion.
fn rotation([w, x, y, z]: Quaternion) -> Matrix {
    let off = |a: f64, b: f64, c: f64| 2.0 * (a * b + w * c);
    [
        1.0 - 2.0 * (y * y + z * z),
        off(x, y, -z),
        off(x, z, y),
        off(x, y, z),
        1.0 - 2.0 * (x * x + z * z),
        off(y, z, -x),
        off(x, z, -y),
        off(y, z, x),
        1.0 - 2.0 * (x * x + y * y),
    ]
}

/// The quaternion at unit length.
fn unit(q: Quaternion) -> Quaternion {
    let length = norm(&q);
    q.map(|x| x / length)
}

/// The unit quaternion of exp [w].
fn exp(w: Vector) -> Quaternion {
    let half = 0.5 * norm(&w);
    let (_, cos) = sin_cos(half);
    let share = 0.5 * sinc(half);
    [cos, share * w[0], share * w[1], share * w[2]]
}

/// The shortest w with exp [w] = q; at the cut locus one of the two.
fn log(q: Quaternion) -> Vector {
    let length = norm(&q[1..]);
    let share = if length > 0.0 { angle(q) / length } else { 2.0 };
    [share * q[1], share * q[2], share * q[3]]
}

/// Angle of the rotation, for a scalar part of at least 0.
fn angle(q: Quaternion) -> f64 {
    2.0 * atan2_nonneg(norm(&q[1..]), q[0])
}

/// The unit quaternion of R^T S, with a scalar part of at least 0: from its largest entry.
fn between(base: &[f64], point: &[f64]) -> Quaternion {
    let difference: Matrix = std::array::from_fn(|k| point[k] - base[k]);
    // sin t times the axis; what R^T R lacks to the identity is symmetric
    let sine = coords(&difference, base);
    let m = transpose_times(base, point);
    let trace = m[0] + m[4] + m[8];
    let largest = m[0].max(m[4]).max(m[8]);
    let q = if trace >= largest {
        let w = 0.5 * (1.0 + trace).sqrt();
        [w, sine[0] / (2.0 * w), sine[1] / (2.0 * w), sine[2] / (2.0 * w)]
    } else {
        let i = (0..3).find(|i| m[4 * i] == largest).unwrap_or(0);
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let x = 0.5 * (1.0 + 2.0 * m[4 * i] - trace).max(0.0).sqrt();
        let mut q = [0.5 * sine[i] / x, 0.0, 0.0, 0.0];
        q[1 + i] = x;
        q[1 + j] = 0.25 * (m[3 * i + j] + m[3 * j + i]) / x;
        q[1 + k] = 0.25 * (m[3 * i + k] + m[3 * k + i]) / x;
        q
    };
    unit(if q[0] < 0.0 { q.map(|x| -x) } else { q })
}

/// A unit quaternion of a rotation.
pub(crate) fn quaternion(point: &[f64]) -> Quaternion {
    between(&IDENTITY, point)
}

/// The rotation of a quaternion of any length but 0.
pub(crate) fn turn_of(q: &[f64]) -> Matrix {
    rotation(unit([q[0], q[1], q[2], q[3]]))
}

/// R exp(q), rounded onto the rotations.
fn turn(base: &[f64], q: Quaternion, out: &mut [f64]) {
    out.copy_from_slice(&times(base, &rotation(q)));
    round(out);
}

/// A Newton step to the closest orthogonal matrix: R (3 I - R^T R)/2.
fn round(r: &mut [f64]) {
    let gram = transpose_times(r, r);
    let step: Matrix =
        std::array::from_fn(|at| 0.5 * (if at % 4 == 0 { 3.0 } else { 0.0 } - gram[at]));
    r.copy_from_slice(&times(r, &step));
}

/// The vector turned back by the rotation of q. Parallel transport turns coordinates back by half the way.
fn back(w: Vector, q: Quaternion) -> Vector {
    let turn = rotation(q);
    std::array::from_fn(|i| (0..3).map(|k| turn[3 * k + i] * w[k]).sum())
}

/// The unit quaternion of half the rotation.
fn half(q: Quaternion) -> Quaternion {
    unit([1.0 + q[0], q[1], q[2], q[3]])
}

/// Largest entry of R^T R - I; infinite for a matrix that turns orientation or is not finite.
fn defect(r: &[f64]) -> f64 {
    let gram = transpose_times(r, r);
    let off = (0..SIZE).map(|at| (gram[at] - if at % 4 == 0 { 1.0 } else { 0.0 }).abs());
    let determinant = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6])
        + r[2] * (r[3] * r[7] - r[4] * r[6]);
    if determinant > 0.0 && r.iter().all(|x| x.is_finite()) {
        off.fold(0.0, f64::max)
    } else {
        f64::INFINITY
    }
}

/// The closest rotation: the quaternion q with the largest q^T K q = tr(R(q)^T A) (Horn 1987).
fn closest(a: &[f64]) -> Option<Matrix> {
    let size = a.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    if !a.iter().all(|x| x.is_finite()) || size < f64::MIN_POSITIVE {
        return None;
    }
    let a: Matrix = std::array::from_fn(|k| a[k] / size);
    let mut form = [0.0; 16];
    let trace = a[0] + a[4] + a[8];
    let skew = axis(&a);
    form[0] = trace;
    for i in 0..3 {
        form[4 * (i + 1)] = 2.0 * skew[i];
        for j in 0..3 {
            let shift = if i == j { trace } else { 0.0 };
            form[4 * (i + 1) + j + 1] = a[3 * i + j] + a[3 * j + i] - shift;
        }
    }
    let mut lanes = vec![[0.0; 1]; packed_len(4)];
    let mut vectors = vec![[0.0; 1]; 16];
    load::<0, 1>(4, &form, &mut lanes);
    let floor = squared_norm(4, &lanes).map(|square| square * f64::EPSILON * f64::EPSILON);
    diagonalize::<0, 1>(4, &mut lanes, Some(&mut vectors), &floor);
    let mut values: [(f64, usize); 4] = std::array::from_fn(|i| (lanes[packed(4, i, i)][0], i));
    values.sort_by(|(x, _), (y, _)| y.total_cmp(x));
    let [(first, column), (second, _), ..] = values;
    (first - second > GAP)
        .then(|| rotation(unit(std::array::from_fn(|i| vectors[4 * i + column][0]))))
}

impl Manifold for Rotations {
    fn point_size(&self) -> usize {
        SIZE
    }

    fn dim(&self) -> usize {
        3
    }

    /// The sphere that covers it.
    fn space(&self) -> Space {
        Radial::Sphere { dim: 3, radius: 2.0 }.into()
    }

    fn injectivity_radius(&self) -> f64 {
        PI
    }

    fn start(&self) -> Start {
        Start::Projector { order: 4, rank: 1, columns: Columns::Quaternion }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        defect(point) <= 2.0 * tolerance
    }

    /// Leaves a matrix that is a rotation up to rounding as it is.
    fn project(&self, point: &mut [f64]) -> bool {
        let defect = defect(point);
        if defect <= NEAR {
            if defect > ROUNDING {
                round(point);
                round(point);
            }
            return true;
        }
        let found = closest(point);
        if let Some(rotation) = found {
            point.copy_from_slice(&rotation);
        }
        found.is_some()
    }

    /// A quaternion of any length, its scalar last.
    fn short_size(&self) -> Option<usize> {
        Some(4)
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        for (i, out) in out.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
            let [x, y, z, w] = rows.row(i).try_into().expect("four entries");
            let mut q = [w, x, y, z];
            *out = if scale_to(&mut q, 1.0) { rotation(q) } else { [f64::NAN; SIZE] };
        }
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            out.copy_from_slice(&tangent(coords(vector.row(i), base.row(i)), base.row(i)));
        }
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            turn(base.row(i), exp(coords(tangent.row(i), base.row(i))), out);
        }
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            let w = log(between(base.row(i), point.row(i)));
            out.copy_from_slice(&tangent(w, base.row(i)));
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        for (i, dist) in out.iter_mut().enumerate() {
            *dist = angle(between(a.row(i), b.row(i)));
        }
    }

    fn parallel_transport(&self, tangents: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            let (base, end) = (base.row(i), end.row(i));
            let w = back(coords(tangents.row(i), base), half(between(base, end)));
            out.copy_from_slice(&tangent(w, end));
        }
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        for (i, inner) in out.iter_mut().enumerate() {
            *inner = 0.5 * a.row(i).iter().zip(b.row(i)).map(|(x, y)| x * y).sum::<f64>();
        }
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(3).enumerate() {
            out.copy_from_slice(&coords(tangent.row(i), base.row(i)));
        }
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            out.copy_from_slice(&tangent(vector(coords.row(i)), base.row(i)));
        }
    }

    /// |R - S| = sqrt 8 sin(t/2).
    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::entries(SIZE))
    }

    /// The covering sphere, on which B(c, r), r < pi/2, has an isometric copy.
    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(Sphere::new(3, 2.0)))
    }

    fn origin(&self) -> Vec<f64> {
        IDENTITY.to_vec()
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(4).enumerate() {
            out.copy_from_slice(&between(center, point.row(i)).map(|x| 2.0 * x));
        }
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            let q = point.row(i);
            turn(center, unit([q[0], q[1], q[2], q[3]]), out);
        }
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let mut sums = LogSums::default();
        for i in 0..count {
            let (q, weight) = (between(base, points.row(i)), weights.map_or(1.0, |w| w[i]));
            let (w, t) = (log(q), angle(q));
            sum.iter_mut().zip(w).for_each(|(sum, w)| *sum += weight * w);
            let across = if t > 0.0 { 0.5 * t * q[0] / norm(&q[1..]) } else { 1.0 };
            sums.squared_dist += weight * t * t;
            sums.curvature += weight * (1.0 + 2.0 * across) / 3.0;
        }
        sums
    }

    fn transport_along(
        &self,
        tangents: Rows,
        velocity: &[f64],
        base: &[f64],
        end: &[f64],
        out: &mut [f64],
    ) {
        let half = exp(coords(velocity, base).map(|w| 0.5 * w));
        for (i, out) in out.chunks_exact_mut(SIZE).enumerate() {
            let w = coords(tangents.row(i), base);
            out.copy_from_slice(&tangent(back(w, half), end));
        }
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let velocity = vector(velocity);
        let mut along = [0.0; SIZE];
        for (i, (out, t)) in out.chunks_exact_mut(3).zip(times).enumerate() {
            turn(base, exp(velocity.map(|v| t * v)), &mut along);
            let w = log(between(&along, points.row(i)));
            out.copy_from_slice(&back(w, exp(velocity.map(|v| -0.5 * t * v))));
        }
    }
}
