//! Both gradients of the energy in normal coordinates about a point, the origin: fast, in few dimensions.

use super::Sample;
use super::model::{Line, MAX, Model, Vector};
use crate::manifold::Range;

/// The gradients at any geodesic. Vectors have coordinates along the axes of the space's factors, zeros behind them.
pub struct Gradients {
    model: Model,
    longest: Range,
}

impl Gradients {
    /// Of residuals clipped at a length; none where the manifold has more dimensions than a [`Vector`].
    #[must_use]
    pub fn about(origin: &[f64], sample: &Sample, max_residual: f64) -> Option<Self> {
        let dim = sample.manifold.dim();
        let longest = Range::new(max_residual, dim);
        (dim <= MAX).then(|| Self { model: Model::of(sample, origin), longest })
    }

    /// The gradients at p = exp(a) and v, which is w carried there.
    #[must_use]
    pub fn at(&self, a: &Vector, w: &Vector) -> [Vector; 2] {
        self.model.gradients(&Line::new(&self.model.space, a, w), &self.longest)
    }

    /// A vector in its axes, from orthonormal coordinates at the origin.
    #[must_use]
    pub fn enter(&self, coords: &[f64]) -> Vector {
        self.model.space.enter(coords)
    }

    /// Inverse of [`Gradients::enter`].
    #[must_use]
    pub fn leave(&self, vector: &[f64]) -> Vec<f64> {
        self.model.space.leave(vector)
    }

    /// Normal coordinates of exp_p(shift), p = exp(a) and the shift carried there from the origin.
    #[must_use]
    pub fn moved(&self, a: &Vector, shift: &Vector) -> Vector {
        self.model.space.moved(a, shift)
    }

    /// A vector carried from the origin to p = exp(a), to q = exp_p(shift) and back, b normal coordinates of q.
    #[must_use]
    pub fn around(&self, a: &Vector, shift: &Vector, b: &Vector, vector: &Vector) -> Vector {
        self.model.space.around(a, shift, b, vector)
    }
}
