//! The factors of a symmetric space of dimension up to 3.

use super::model::{MAX, Vector};
use crate::manifold::Manifold;
use crate::simd::elementary::{asinh_nonneg, cosh, sin_cos, sinc, sinh, sinhc};
use crate::simd::jacobi::diagonalize;
use crate::simd::matrices::{packed, packed_len};
use crate::vector::length;

/// Coordinates in the space around a sphere or hyperboloid.
type Ambient = [f64; MAX + 1];

/// Flat space times a space of constant curvature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// Their dimensions.
    pub(super) flat: usize,
    pub(super) curved: usize,
    /// k, 0 if there is no curved factor.
    pub(super) curvature: f64,
    /// Orthonormal coordinates of the axes, flat ones first.
    axes: [Vector; MAX],
}

impl Space {
    /// The factors of `manifold`: sum_j R_{e_j} is 0 on the flat and (dim - 1) k on the curved one.
    pub(super) fn of(manifold: &dyn Manifold) -> Self {
        let dim = manifold.dim();
        let mut ricci = vec![[0.0; 1]; packed_len(dim)];
        let mut operator = vec![0.0; dim * dim];
        for j in 0..dim {
            let unit: Vec<f64> = (0..dim).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
            manifold.curvature_function(&unit, &|k| k, &mut operator);
            for row in 0..dim {
                for column in row..dim {
                    ricci[packed(dim, row, column)][0] += operator[row * dim + column];
                }
            }
        }
        let mut vectors = vec![[0.0; 1]; dim * dim];
        let unit = ricci.iter().fold(0.0, |largest: f64, x| largest.max(x[0].abs()));
        let unit = if unit > 0.0 { unit } else { 1.0 };
        ricci.iter_mut().for_each(|x| x[0] /= unit);
        diagonalize::<0, 1>(dim, &mut ricci, Some(&mut vectors), &[1e-28]);
        let mut values: Vec<(f64, usize)> =
            (0..dim).map(|i| (ricci[packed(dim, i, i)][0], i)).collect();
        values.sort_by(|(x, _), (y, _)| x.abs().total_cmp(&y.abs()));
        let largest = values.last().map_or(0.0, |(value, _)| *value) * unit;
        let flat = values.iter().filter(|(value, _)| value.abs() < 1e-9).count();
        let curved = dim - flat;
        let mut axes = [[0.0; MAX]; MAX];
        for (axis, (_, column)) in axes.iter_mut().zip(&values) {
            for (i, entry) in axis.iter_mut().take(dim).enumerate() {
                *entry = vectors[i * dim + column][0];
            }
        }
        let curvature = if curved > 0 { largest / (curved - 1) as f64 } else { 0.0 };
        Self { flat, curved, curvature, axes }
    }

    pub(super) fn dim(&self) -> usize {
        self.flat + self.curved
    }

    pub(super) fn is_hyperbolic(&self) -> bool {
        self.curvature < 0.0
    }

    /// Root of |k|; 1 for flat space.
    pub(super) fn root(&self) -> f64 {
        if self.curved > 0 { self.curvature.abs().sqrt() } else { 1.0 }
    }

    /// A vector along these axes, from orthonormal coordinates.
    pub(super) fn enter(&self, coords: &[f64]) -> Vector {
        let mut vector = [0.0; MAX];
        for (x, axis) in vector.iter_mut().zip(&self.axes).take(coords.len()) {
            *x = axis.iter().zip(coords).map(|(axis, x)| axis * x).sum();
        }
        vector
    }

    /// Inverse of [`Space::enter`].
    pub(super) fn leave(&self, vector: &[f64]) -> Vec<f64> {
        let coordinate =
            |i: usize| vector.iter().zip(&self.axes).map(|(x, axis)| x * axis[i]).sum();
        (0..self.dim()).map(coordinate).collect()
    }

    /// The curved entries of a vector.
    pub(super) fn curved_part<'a>(&self, vector: &'a [f64]) -> &'a [f64] {
        &vector[self.flat..self.dim()]
    }

    /// Length of the curved part as an angle, and its direction.
    pub(super) fn angle(&self, vector: &Vector) -> (f64, Vector) {
        let part = self.curved_part(vector);
        let size = length(part);
        let mut direction = [0.0; MAX];
        if size > 0.0 {
            direction.iter_mut().zip(part).for_each(|(d, x)| *d = x / size);
        }
        (self.root() * size, direction)
    }

    /// cos and sin, or the hyperbolic ones.
    pub(super) fn cos_sin(&self, angle: f64) -> (f64, f64) {
        if self.is_hyperbolic() {
            (cosh(angle), sinh(angle))
        } else {
            let (sin, cos) = sin_cos(angle);
            (cos, sin)
        }
    }

    /// exp of a tangent vector at the origin: y_0, y_1, ... of the curved factor.
    fn point(&self, vector: &Vector) -> Ambient {
        let (angle, direction) = self.angle(vector);
        let (cos, sin) = self.cos_sin(angle);
        let mut point = [cos, 0.0, 0.0, 0.0];
        point[1..].iter_mut().zip(direction).for_each(|(y, d)| *y = sin * d);
        point
    }

    /// A point or tangent vector moved by the transvection that takes the origin to exp(a).
    fn transvect(&self, a: &Vector, y: Ambient) -> Ambient {
        let (angle, n) = self.angle(a);
        let (cos, sin) = self.cos_sin(angle);
        let along: f64 = n.iter().zip(&y[1..]).map(|(n, y)| n * y).sum();
        let back = if self.is_hyperbolic() { sin } else { -sin };
        let mut moved = [cos * y[0] + back * along, 0.0, 0.0, 0.0];
        for (moved, (n, y_j)) in moved[1..].iter_mut().zip(n.iter().zip(&y[1..])) {
            *moved = y_j + n * ((cos - 1.0) * along + sin * y[0]);
        }
        moved
    }

    /// Normal coordinates of exp_p(shift), p = exp(a) and the shift carried there from the origin.
    pub(super) fn moved(&self, a: &Vector, shift: &Vector) -> Vector {
        let end = self.transvect(a, self.point(shift));
        let sin = length(&end[1..]);
        let angle = if self.is_hyperbolic() { asinh_nonneg(sin) } else { sin.atan2(end[0]) };
        let scale = if sin > 0.0 { angle / (sin * self.root()) } else { 1.0 / self.root() };
        self.join(a, shift, |j| scale * end[j + 1])
    }

    /// A vector carried from the origin to p = exp(a), to q = exp_p(shift) and back, b normal coordinates of q.
    pub(super) fn around(&self, a: &Vector, shift: &Vector, b: &Vector, vector: &Vector) -> Vector {
        let mut tangent = [0.0; MAX + 1];
        tangent[1..=self.curved].copy_from_slice(self.curved_part(vector));
        let carried = self.transvect(a, self.transvect(shift, tangent));
        let back = self.transvect(&b.map(|x| -x), carried);
        self.join(vector, &[0.0; MAX], |j| back[j + 1])
    }

    /// The sum of two vectors in the flat part, the given entries in the curved one.
    fn join(&self, x: &Vector, y: &Vector, curved: impl Fn(usize) -> f64) -> Vector {
        std::array::from_fn(|i| {
            if i < self.flat {
                x[i] + y[i]
            } else if i < self.dim() {
                curved(i - self.flat)
            } else {
                0.0
            }
        })
    }

    /// Logarithm of the volume element of exp where the curved part has that length: (dim - 1) ln(sin x/x) or
    /// (dim - 1) ln(sinh x/x), which falls or grows with it.
    pub(super) fn log_jacobian(&self, curved_length: f64) -> f64 {
        if self.curved == 0 {
            return 0.0;
        }
        let angle = self.root() * curved_length;
        let growth = if self.is_hyperbolic() { sinhc(angle) } else { sinc(angle) };
        (self.curved - 1) as f64 * growth.ln()
    }
}
