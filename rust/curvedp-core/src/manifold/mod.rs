//! Manifolds: one trait, one file each.
//!
//! Every kernel works on a block of rows (see [`Rows`]); the drivers in [`crate::batch`] cut large
//! batches into blocks and spread them over threads. Kernels never fail: on rows that are not points
//! the result is unspecified but finite time, and records are made points by
//! [`crate::ball::Ball::project`] before any statistic sees them.

mod chart;
mod checked;
mod curvature;
mod embedding;
mod euclidean;
mod grassmann;
mod hpd;
mod hyperboloid;
mod kendall;
mod matrix;
mod moments;
mod polar;
mod projective;
mod range;
mod real_projective;
mod rotations;
mod spd;
mod special_orthogonal;
mod sphere;
mod sums;
#[cfg(test)]
mod tests;
mod torus;
mod transvection;

pub use curvature::{
    ExcessDiameter, HessianTrace, exp_growth, hessian_excess, log_jacobian, log_jacobian_bound,
    log_jacobians,
};
pub use embedding::Embedding;
pub use euclidean::Euclidean;
pub use grassmann::{Grassmann, SubspaceChart};
pub use hpd::{Hermitian, Hpd, HpdFactors};
pub use hyperboloid::{HyperbolicChart, Hyperboloid};
pub use kendall::KendallPlanar;
pub(crate) use matrix::{Matrix, Spectrum};
pub use projective::ComplexProjective;
pub use range::{Limit, Range};
pub use real_projective::RealProjective;
pub use rotations::Rotations;
pub(crate) use rotations::{quaternion, turn_of};
pub use spd::{Flat, FlatChart, LogCholesky, LogEuclidean, OffLog, SpdAffine, SpdFactors};
pub use special_orthogonal::{RotationChart, SpecialOrthogonal};
pub use sphere::Sphere;
pub use sums::{LogMoments, LogSums};
pub use torus::Torus;

use crate::error::Error;
use crate::messages::Start;
use checked::Checked;
use std::ops::Range as Indices;
use std::sync::Arc;

use crate::roots::{Roots, Space};
use crate::rows::Rows;
use crate::vector::norm;

/// Records may be off the manifold by this much, relative to their size, and are then rounded onto
/// it; float32 data are.
pub const RECORD_TOLERANCE: f64 = 1e-5;

/// Releases stay within this distance of the centre where entries grow exponentially, in units of curvature -1.
const CLIP_LENGTH: f64 = 16.0;

/// Unit roundoff u of double precision.
pub(crate) const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// A Riemannian manifold with closed-form exponential and logarithm.
pub trait Manifold: Send + Sync {
    /// Number of float64 entries in a point and in a tangent vector.
    fn point_size(&self) -> usize;

    /// Dimension of the manifold.
    fn dim(&self) -> usize;

    /// The symmetric space that it is, or that covers it: isotropic noise is drawn there.
    fn space(&self) -> Space;

    /// The restricted roots, from which curvature bounds, Hessians of squared distances, Jacobi fields and volumes
    /// follow.
    fn roots(&self) -> Roots {
        self.space().roots()
    }

    /// Coordinates in a maximal flat of the tangent vector with coordinates `u`: see [`Roots::trace`].
    fn spectrum(&self, u: &[f64]) -> Vec<f64> {
        vec![norm(u)]
    }

    /// Lower and upper bound of the sectional curvatures.
    fn curvature_bounds(&self) -> (f64, f64) {
        self.roots().curvature_bounds()
    }

    /// Injectivity radius (infinite on Hadamard manifolds).
    fn injectivity_radius(&self) -> f64 {
        self.roots().farthest
    }

    /// Distance from the centre within which releases on a small ball stay, far inside what double precision
    /// holds; infinite for no clipping.
    fn clip_limit(&self) -> f64 {
        f64::INFINITY
    }

    /// True if `point` lies on the manifold, up to `tolerance` relative to its size. Total: false
    /// for NaN and infinities.
    fn belongs(&self, point: &[f64], tolerance: f64) -> bool;

    /// The closest point of the manifold (or its customary stand-in), written in place; false if
    /// there is none, and then `point` is unspecified.
    fn project(&self, point: &mut [f64]) -> bool;

    /// Rounds records onto the manifold: those within [`RECORD_TOLERANCE`] of it, and where the size of a
    /// row says nothing (directions, landmarks) those of any size; `valid` tells which rows are points
    /// now, the others are unspecified. Row by row, total.
    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        for (row, valid) in records.chunks_exact_mut(self.point_size()).zip(valid) {
            *valid = self.belongs(row, RECORD_TOLERANCE) && self.project(row);
        }
    }

    /// Entries of the short form of a point; None if there is none.
    fn short_size(&self) -> Option<usize> {
        None
    }

    /// Points from their short forms; rows that are none become NaN, all where points have none. Row by row, total.
    fn from_short(&self, _rows: Rows, out: &mut [f64]) {
        out.fill(f64::NAN);
    }

    /// The tangent part at `base` of an ambient vector.
    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]);

    /// exp_base(tangent); one output row for each `point_size()` entries of `out`.
    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]);

    /// log_base(point): total, of length rho(base, point), deterministic at the cut locus.
    fn log(&self, point: Rows, base: Rows, out: &mut [f64]);

    /// rho(a, b); one entry of `out` for each pair.
    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]);

    /// Parallel transport of `tangent` along the minimising geodesic from `base` to `end`.
    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]);

    /// <a, b>_base; one entry of `out` for each pair.
    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]);

    /// Coordinates of `tangent` in an orthonormal basis of the tangent space at `base` that depends on
    /// `base` alone: `dim()` entries a row, Euclidean norm = Riemannian norm.
    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]);

    /// The tangent vector with the given coordinates: the inverse of [`Manifold::coords`].
    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]);

    /// exp_base of the tangent vector with the given coordinates.
    fn exp_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        with_zeros(out.len(), |tangent| {
            self.from_coords(coords, base, tangent);
            self.exp(Rows::new(tangent, self.point_size()), base, out);
        });
    }

    /// Coordinates of log_base(point): [`Manifold::log`] followed by [`Manifold::coords`].
    fn log_coords(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let size = self.point_size();
        with_zeros(out.len() / self.dim() * size, |tangent| {
            self.log(point, base, tangent);
            self.coords(Rows::new(tangent, size), base, out);
        });
    }

    /// The map into Euclidean space in which neighbours are sought; none for logarithms, which are right wherever the
    /// curvature is nowhere positive.
    fn embedding(&self) -> Option<Embedding<'_>> {
        None
    }

    /// The kind of its start messages, see [`crate::messages`].
    fn start(&self) -> Start {
        Start::None
    }

    /// The point closest to a sum of start vectors, without their constants, and how far the sum decides it; none if it
    /// is not unique. The default is a direction, decided by the length.
    fn start_point(&self, sum: &[f64]) -> Option<(Vec<f64>, f64)> {
        let mut point = sum.to_vec();
        self.project(&mut point).then(|| (point, norm(sum)))
    }

    /// True if a point is a class of rows, whose average means nothing.
    fn is_quotient(&self) -> bool {
        false
    }

    /// The point closest to drawn numbers (see [`crate::noise::Drawing::Ambient`]), false if there is none: those of the
    /// space around it, if they are no others.
    fn from_drawn(&self, drawn: &[f64], out: &mut [f64]) -> bool {
        out.copy_from_slice(drawn);
        self.project(out)
    }

    /// Factor by which the geometry at `point` amplifies relative rounding of its entries: the condition
    /// number of an SPD matrix, squared time on hyperbolic space.
    fn conditioning(&self, point: &[f64]) -> f64 {
        let _ = point;
        1.0
    }

    /// The manifold on which centred points live; see [`Manifold::centre`].
    fn centred(&self) -> Box<dyn Manifold>;

    /// True if [`Manifold::centre`] keeps digits for points near this centre.
    fn carries(&self, center: &[f64]) -> bool {
        let _ = center;
        true
    }

    /// The point of a centred manifold to which centring moves the centre.
    fn origin(&self) -> Vec<f64>;

    /// An isometry onto [`Manifold::centred`] that moves `center` to its [`Manifold::origin`], so that the
    /// rounding of what is computed there does not depend on where the centre lies.
    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]);

    /// The inverse of [`Manifold::centre`].
    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]);

    /// Distances from the origin, on centred manifolds: for numbers of every size within
    /// [`Manifold::dist_origin_error`] of the distance of the exact point that they stand for, or else
    /// beyond every ball or NaN.
    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        self.dist(Rows::shared(&self.origin()), point, out);
    }

    /// Bound on the error of [`Manifold::dist_origin`] where it returns at most `radius`.
    fn dist_origin_error(&self, radius: f64) -> f64 {
        (self.point_size() as f64 + 32.0) * UNIT_ROUNDOFF * radius
    }

    /// Writes true where [`Manifold::dist_origin`] is at most `limit`, up to a relative error of 1e-12 in
    /// `limit`; false for NaN.
    fn within_origin(&self, point: Rows, limit: f64, out: &mut [bool]) {
        with_zeros(out.len(), |dist| {
            self.dist_origin(point, dist);
            out.iter_mut().zip(&*dist).for_each(|(within, dist)| *within = *dist <= limit);
        });
    }

    /// The chart log at the origin, on centred manifolds: `dim()` coordinates of points, whose length is
    /// [`Manifold::dist_origin`] up to rounding.
    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        self.log_coords(point, Rows::shared(&self.origin()), out);
    }

    /// The inverse of [`Manifold::log_origin`].
    fn exp_origin(&self, coords: Rows, out: &mut [f64]) {
        self.exp_coords(coords, Rows::shared(&self.origin()), out);
    }

    /// Moves a point along its geodesic to the origin, to that distance from it; on centred manifolds.
    fn pull(&self, point: &mut [f64], dist: f64) {
        let mut coords = vec![0.0; self.dim()];
        self.log_origin(Rows::shared(point), &mut coords);
        let length = norm(&coords);
        coords.iter_mut().for_each(|x| *x = *x / length * dist);
        self.exp_origin(Rows::shared(&coords), point);
    }

    /// Bound on the rounding error of chart coordinates at the origin of a point within `radius` of it.
    fn chart_error(&self, radius: f64) -> f64 {
        4.0 * (self.point_size() as f64 + 4.0) * UNIT_ROUNDOFF * radius
    }

    /// Bound on the rounding error of logarithms between points within `radius` of the origin, on centred manifolds,
    /// and of the steps that an iteration takes there. It includes the distance of stored numbers from the exact
    /// point that they stand for.
    fn log_error(&self, radius: f64) -> f64 {
        let (_, upper) = self.curvature_bounds();
        if upper <= 0.0 && self.injectivity_radius().is_infinite() {
            return UNIT_ROUNDOFF * 2.0 * radius; // one subtraction
        }
        // the logarithm is as ill-conditioned as 1/sin near the cut locus, 2r away at most; entries other
        // than the first are at most r long
        let entries = self.point_size() as f64;
        let inverse = std::f64::consts::PI / self.injectivity_radius();
        let (s, angle) =
            if upper > 0.0 { (upper.sqrt(), upper.sqrt()) } else { (inverse, inverse) };
        let angle = f64::max(2.0 * radius * angle, f64::MIN_POSITIVE);
        9.0 * (entries + 4.0) * UNIT_ROUNDOFF * f64::min(1.0 / s, 2.0 * radius) * angle
            / angle.sin()
    }

    /// The same points in numbers that hold those of B(origin, radius) better, on centred manifolds, where theirs
    /// are not good enough.
    fn precise(&self, radius: f64) -> Option<Arc<dyn Precise>> {
        let _ = radius;
        None
    }

    /// Adds sum_i w_i log_base(x_i), in coordinates at `base`, to `sum` (`dim()` entries), for the
    /// `count` rows of `points`; `weights` are 1 if absent.
    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums;

    /// [`Manifold::sum_log`] for several ranges of rows, each at a base point of its own; range g adds to
    /// row g of `sums` and writes entry g of `others`. The same bits as one by one.
    fn sum_log_each(
        &self,
        points: Rows,
        ranges: &[Indices<usize>],
        bases: Rows,
        sums: &mut [f64],
        others: &mut [LogSums],
    ) {
        let rows = sums.chunks_exact_mut(self.dim()).zip(others);
        for (g, (range, (sum, other))) in ranges.iter().zip(rows).enumerate() {
            let points = points.range(range.clone());
            *other = self.sum_log(points, range.len(), None, bases.row(g), sum);
        }
    }

    /// f(R_u) as a matrix in coordinates (`dim()` x `dim()`), where R_u v = R(v, u)u is the curvature
    /// operator of the tangent vector with coordinates `u`; f(0) I on flat space. The default is for rank 1.
    fn curvature_function(&self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        curvature::function(self.roots(), u, f, out);
    }

    /// Parallel transport of the rows of `tangent` along exp_base(t velocity), 0 <= t <= 1, up to its
    /// `end`. Where the geodesic does not minimise, this is not [`Manifold::parallel_transport`].
    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        end: &[f64],
        out: &mut [f64],
    ) {
        let _ = velocity;
        self.parallel_transport(tangent, Rows::shared(base), Rows::shared(end), out);
    }

    /// The differential of exp_base at the tangent vector with the given coordinates: a matrix
    /// (`dim()` x `dim()`) from orthonormal coordinates at `base` to those at its end point.
    fn exp_differential(&self, coords: &[f64], base: &[f64], out: &mut [f64]) {
        curvature::exp_differential(self, coords, base, out);
    }

    /// Relative error, in Frobenius norm and unit roundoffs, of what a record adds to the sum of
    /// Hessians in [`Manifold::sum_log_moments`], compared to the same for some vector at most R long.
    fn hessian_rounding(&self) -> f64 {
        // |u|^2 of the identity's part and of u u^T differ by its rounding; 8 for phi and the products
        8.0 + (self.dim() as f64).sqrt()
    }

    /// Coordinates at `base` of log_q(y_i), q = exp_base(t_i v), carried back to `base` along exp_base(s v),
    /// 0 <= s <= t_i, for the rows y_i of `points`, the numbers t_i of `times` and the tangent vector v
    /// with coordinates `velocity`. The default is for flat space.
    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        self.log_coords(points, Rows::shared(base), out);
        for (log, t) in out.chunks_exact_mut(velocity.len()).zip(times) {
            log.iter_mut().zip(velocity).for_each(|(u, v)| *u -= t * v);
        }
    }

    /// Adds the sums of [`crate::moments::log_moments`] over the `count` rows of `points` to `sums`
    /// (upper triangles).
    fn sum_log_moments(
        &self,
        points: Rows,
        count: usize,
        base: &[f64],
        range: &Range,
        sums: &mut LogMoments,
    ) {
        moments::sum_log_moments(self, points, count, base, range, sums);
    }
}

/// A centred manifold in other numbers; see [`Manifold::precise`].
pub trait Precise: Manifold {
    /// Number of entries of a point of that manifold.
    fn own_size(&self) -> usize;

    /// From points of the manifold. Total: any numbers become some.
    fn from_points(&self, points: Rows, out: &mut [f64]);

    /// To points of the manifold.
    fn to_points(&self, points: Rows, out: &mut [f64]);
}

/// Work space of `len` zeros, on the stack for a point or a few: chains ask for one at a time.
fn with_zeros(len: usize, work: impl FnOnce(&mut [f64])) {
    const FEW: usize = 16;
    if len <= FEW {
        work(&mut [0.0; FEW][..len]);
    } else {
        work(&mut vec![0.0; len]);
    }
}

/// exp_base(t v) for each t of `times`, v the tangent vector with coordinates `velocity`.
fn exp_along(
    manifold: &impl Manifold,
    times: &[f64],
    velocity: &[f64],
    base: &[f64],
    out: &mut [f64],
) {
    let steps: Vec<f64> = times.iter().flat_map(|t| velocity.iter().map(move |v| t * v)).collect();
    manifold.exp_coords(Rows::new(&steps, velocity.len()), Rows::shared(base), out);
}

/// Adds the coordinates at `base` of the tangent parts of rows of `ambient` to those of `sum`. The
/// projection runs twice: what the first leaves of a long normal part is rounding, and the second removes
/// that.
pub(crate) fn add_coords(manifold: &impl Manifold, ambient: &[f64], base: Rows, sum: &mut [f64]) {
    let size = manifold.point_size();
    let mut once = vec![0.0; ambient.len()];
    let mut tangent = vec![0.0; ambient.len()];
    let mut coords = vec![0.0; sum.len()];
    manifold.to_tangent(Rows::new(ambient, size), base, &mut once);
    manifold.to_tangent(Rows::new(&once, size), base, &mut tangent);
    manifold.coords(Rows::new(&tangent, size), base, &mut coords);
    sum.iter_mut().zip(&coords).for_each(|(sum, x)| *sum += x);
}

/// The manifold called `kind`: "euclidean" (size = dim), "sphere" (dim, radius), "hyperboloid" (dim,
/// curvature), "spd" / "spd:log-euclidean" / "spd:log-cholesky" (m), "hpd" (m), "correlation" (m),
/// "kendall" (landmarks), "rotations", "projective" (dim), "torus" (dim), "grassmann" (n, k), "so" (n),
/// "unitary" (n).
pub fn build(kind: &str, size: usize, parameter: f64) -> Result<Box<dyn Manifold>, Error> {
    let (least, allowed) = match kind {
        "kendall" => (3, "at least 3"),
        "correlation" | "grassmann" | "so" => (2, "at least 2"),
        _ => (1, "at least 1"),
    };
    if size < least {
        return Err(Error::Parameter { name: "size", allowed, value: size as f64 });
    }
    let finite = |name, allowed, ok: bool| {
        if ok && parameter.is_finite() {
            Ok(parameter)
        } else {
            Err(Error::Parameter { name, allowed, value: parameter })
        }
    };
    Ok(match kind {
        "euclidean" => Box::new(Checked(Euclidean::new(size))),
        "sphere" => {
            let radius = finite("radius", "positive and finite", parameter > 0.0)?;
            Box::new(Checked(Sphere::new(size, radius)))
        }
        "hyperboloid" => {
            let curvature = finite("curvature", "negative and finite", parameter < 0.0)?;
            Box::new(Checked(Hyperboloid::new(size, curvature)))
        }
        "kendall" => Box::new(Checked(KendallPlanar::new(size))),
        "rotations" if size != 3 => {
            return Err(Error::Parameter { name: "size", allowed: "3", value: size as f64 });
        }
        "rotations" => Box::new(Checked(Rotations)),
        "projective" => Box::new(Checked(RealProjective::new(size))),
        "torus" => Box::new(Checked(Torus::new(size))),
        "grassmann" => {
            let inside = 1.0 <= parameter && parameter < size as f64 && parameter.fract() == 0.0;
            let k = finite("k", "an integer from 1 to n - 1", inside)?;
            Box::new(Checked(Grassmann::new(size, k as usize)))
        }
        "so" => Box::new(Checked(SpecialOrthogonal::new(size))),
        "unitary" => Box::new(Checked(SpecialOrthogonal::unitary(size))),
        "spd" => Box::new(Checked(SpdAffine::new(size))),
        "hpd" => Box::new(Checked(Hpd::new(size))),
        "spd:log-euclidean" => Box::new(Checked(Flat(LogEuclidean::new(size)))),
        "spd:log-cholesky" => Box::new(Checked(Flat(LogCholesky::new(size)))),
        "correlation" => Box::new(Checked(Flat(OffLog::new(size)))),
        other => return Err(Error::UnknownManifold(other.to_owned())),
    })
}
