//! The eigenvalues of the curvature operator of a velocity, with the projections on its eigenspaces.

use std::cell::RefCell;

use crate::manifold::Manifold;
use crate::simd::elementary::{cosh, sin_cos, sinc, sinhc};
use crate::simd::vectorize;

/// R_v = sum_k k P_k. As R_{tv} = t^2 R_v, sums of f(R_{t_i v}) u_i over records are
/// sum_k P_k sum_i f(k t_i^2) u_i.
pub struct Spectrum {
    /// The distinct eigenvalues k.
    pub eigenvalues: Vec<f64>,
    /// The matrices P_k (`dim` x `dim`).
    projections: Vec<Vec<f64>>,
}

impl Spectrum {
    /// Of the velocity with the given coordinates.
    pub fn new(manifold: &dyn Manifold, velocity: &[f64]) -> Self {
        let dim = velocity.len();
        let seen = RefCell::new(Vec::new());
        let mut projection = vec![0.0; dim * dim];
        let note = |k: f64| {
            seen.borrow_mut().push(k);
            0.0
        };
        manifold.curvature_function(velocity, &note, &mut projection);
        let mut eigenvalues = seen.into_inner();
        eigenvalues.sort_by(f64::total_cmp);
        eigenvalues.dedup();
        let projections = eigenvalues
            .iter()
            .map(|k| {
                let indicator = |other: f64| if other == *k { 1.0 } else { 0.0 };
                manifold.curvature_function(velocity, &indicator, &mut projection);
                projection.clone()
            })
            .collect();
        Self { eigenvalues, projections }
    }

    /// sum_k P_k x_k for the rows x_k of `vectors`.
    pub fn assemble(&self, vectors: &[f64]) -> Vec<f64> {
        let dim = vectors.len() / self.eigenvalues.len();
        let mut sum = vec![0.0; dim];
        for (projection, x) in self.projections.iter().zip(vectors.chunks_exact(dim)) {
            let image = project(projection, x);
            sum.iter_mut().zip(image).for_each(|(sum, x)| *sum += x);
        }
        sum
    }

    /// P_k x for every k, one after the other.
    pub fn split(&self, x: &[f64]) -> Vec<f64> {
        self.projections.iter().flat_map(|projection| project(projection, x)).collect()
    }
}

/// The product of a symmetric matrix and a vector, a sum of rows: entries next to each other are independent.
fn project(projection: &[f64], x: &[f64]) -> Vec<f64> {
    let mut image = vec![0.0; x.len()];
    vectorize(
        #[inline(always)]
        || {
            for (row, x) in projection.chunks_exact(x.len()).zip(x) {
                image.iter_mut().zip(row).for_each(|(image, p)| *image += p * x);
            }
        },
    );
    image
}

/// c(k t^2) and t g(k t^2): how a Jacobi field grows up to time t that starts with size 1 and slope 0, and
/// with size 0 and slope 1.
#[inline(always)]
pub fn jacobi_fields(k: f64, t: f64) -> (f64, f64) {
    if k == 0.0 {
        return (1.0, t);
    }
    let x = k.abs().sqrt() * t;
    if k > 0.0 { (sin_cos(x).1, t * sinc(x)) } else { (cosh(x), t * sinhc(x)) }
}
