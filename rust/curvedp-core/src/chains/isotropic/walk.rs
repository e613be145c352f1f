//! What a random walk on a homogeneous space needs: steps, distances from the origin and normal coordinates
//! about it, for `L` chains at once.

use crate::linalg::lanes::Lane;

/// Geometry of a space of unit curvature (or none) about an origin. Steps are isometries drawn at random,
/// as likely as their inverses: proposals are symmetric with respect to the volume.
pub(super) trait Walk: Copy + Send + Sync {
    /// Dimension of the space.
    fn dim(self) -> usize;

    /// Lanes that hold a state.
    fn size(self) -> usize;

    /// Standard normals that make the direction of a step.
    fn normals(self) -> usize;

    /// Lanes of work space.
    fn work(self) -> usize;

    /// The states exp_origin(u).
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], work: &mut [Lane<L>]);

    /// The states `to` a step away from `from`; a normal vector `z` makes a step of the standard normal
    /// law.
    fn step<const L: usize>(
        self,
        from: &[Lane<L>],
        z: &[Lane<L>],
        to: &mut [Lane<L>],
        work: &mut [Lane<L>],
    );

    /// Distances from the origin; NaN for what rounding has moved off the space.
    fn dist<const L: usize>(self, state: &[Lane<L>], work: &mut [Lane<L>]) -> Lane<L>;

    /// Coordinates of log_origin: as long as the distance, orthonormal.
    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], work: &mut [Lane<L>]);
}

/// Euclidean length of vectors.
#[inline(always)]
pub(super) fn length<const L: usize>(x: &[Lane<L>]) -> Lane<L> {
    let mut sum = [0.0; L];
    for x in x {
        for l in 0..L {
            sum[l] += x[l] * x[l];
        }
    }
    each(&sum, f64::sqrt)
}

/// out <- factor x
#[inline(always)]
pub(super) fn multiply<const L: usize>(factor: &Lane<L>, x: &[Lane<L>], out: &mut [Lane<L>]) {
    for (out, x) in out.iter_mut().zip(x) {
        for l in 0..L {
            out[l] = factor[l] * x[l];
        }
    }
}

/// a / b, or 1 where b is 0: the ratio of a length in a curved space to that in a chart.
#[inline(always)]
pub(super) fn ratio<const L: usize>(a: &Lane<L>, b: &Lane<L>) -> Lane<L> {
    let mut ratio = [1.0; L];
    for l in 0..L {
        let quotient = a[l] / b[l];
        ratio[l] = if b[l] > 0.0 { quotient } else { 1.0 };
    }
    ratio
}

/// f of every lane.
#[inline(always)]
pub(super) fn each<const L: usize>(x: &Lane<L>, f: impl Fn(f64) -> f64) -> Lane<L> {
    let mut out = [0.0; L];
    for l in 0..L {
        out[l] = f(x[l]);
    }
    out
}
