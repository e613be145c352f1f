//! Properties that hold on every manifold, and accuracy against double-double arithmetic.

mod accuracy;
mod moments;
mod precise;
mod properties;
mod totality;

use super::{
    Euclidean, Grassmann, HpdFactors, HyperbolicChart, Hyperboloid, KendallPlanar, Manifold,
    RealProjective, RotationChart, Rotations, SpdFactors, SpecialOrthogonal, Sphere, SubspaceChart,
    Torus,
};
use crate::rows::Rows;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

fn manifolds() -> Vec<(String, Box<dyn Manifold>)> {
    let mut list: Vec<(String, Box<dyn Manifold>)> =
        vec![("euclidean:3".into(), Box::new(Euclidean::new(3)))];
    for (dim, radius) in [(1, 1.0), (2, 1.0), (2, 2.5), (3, 0.1), (7, 1.0), (9, 1.0), (41, 3.0)] {
        list.push((format!("sphere:{dim}:{radius}"), Box::new(Sphere::new(dim, radius))));
    }
    for (dim, curvature) in [(1, -1.0), (2, -1.0), (2, -0.25), (10, -1.0), (33, -4.0)] {
        let space = Hyperboloid::new(dim, curvature);
        list.push((format!("hyperboloid:{dim}:{curvature}"), Box::new(space)));
    }
    for (dim, curvature) in [(1, -1.0), (2, -0.25), (10, -1.0)] {
        let space = HyperbolicChart::new(dim, curvature);
        list.push((format!("hyperbolic chart:{dim}:{curvature}"), Box::new(space)));
    }
    for m in [1, 2, 3, 6] {
        list.push((format!("spd factors:{m}"), Box::new(SpdFactors::new(m, 6.0))));
    }
    for m in [1, 2, 3, 5] {
        list.push((format!("hpd factors:{m}"), Box::new(HpdFactors::new(m, 6.0))));
    }
    for k in [3, 4, 7, 50] {
        list.push((format!("kendall:{k}"), Box::new(KendallPlanar::new(k))));
    }
    list.push(("rotations".into(), Box::new(Rotations)));
    for dim in [1, 2, 9] {
        list.push((format!("projective:{dim}"), Box::new(RealProjective::new(dim))));
        list.push((format!("torus:{dim}"), Box::new(Torus::new(dim))));
    }
    for (n, k) in [(2, 1), (4, 1), (4, 2), (5, 2), (5, 3), (7, 3), (5, 4)] {
        list.push((format!("grassmann:{n}:{k}"), Box::new(Grassmann::new(n, k))));
        list.push((format!("subspace chart:{n}:{k}"), Box::new(SubspaceChart::new(n, k))));
    }
    for n in [2, 3, 4, 5, 6] {
        list.push((format!("so:{n}"), Box::new(SpecialOrthogonal::new(n))));
        list.push((format!("rotation chart:{n}"), Box::new(RotationChart::new(n))));
    }
    for n in [1, 2, 3] {
        list.push((format!("unitary:{n}"), Box::new(SpecialOrthogonal::unitary(n))));
        list.push((format!("unitary chart:{n}"), Box::new(RotationChart::unitary(n))));
    }
    list
}

/// A manifold with a source of random points and vectors.
struct Field<'a> {
    manifold: &'a dyn Manifold,
    rng: ChaCha20Rng,
}

impl<'a> Field<'a> {
    fn new(manifold: &'a dyn Manifold, seed: u64) -> Self {
        Self { manifold, rng: ChaCha20Rng::seed_from_u64(seed) }
    }

    fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.rng.random_range(-1.0..1.0)).collect()
    }

    fn point(&mut self) -> Vec<f64> {
        let mut point = self.vector(self.manifold.point_size());
        if self.manifold.point_size() == self.manifold.dim() {
            let coords = point.clone();
            self.manifold.exp_origin(row(&coords), &mut point);
        }
        assert!(self.manifold.project(&mut point));
        point
    }

    fn points(&mut self, count: usize) -> Vec<f64> {
        (0..count).flat_map(|_| self.point()).collect()
    }

    fn tangent(&mut self, base: &[f64]) -> Vec<f64> {
        let vector = self.vector(self.manifold.point_size());
        self.apply(vector.len(), |m, out| m.to_tangent(row(&vector), row(base), out))
    }

    /// A tangent vector of the given length.
    fn tangent_of_length(&mut self, base: &[f64], length: f64) -> Vec<f64> {
        let tangent = self.tangent(base);
        let scale = length / self.norm(&tangent, base);
        tangent.iter().map(|x| scale * x).collect()
    }

    fn apply(&self, len: usize, f: impl Fn(&dyn Manifold, &mut [f64])) -> Vec<f64> {
        let mut out = vec![f64::NAN; len];
        f(self.manifold, &mut out);
        out
    }

    fn exp(&self, tangent: &[f64], base: &[f64]) -> Vec<f64> {
        self.apply(base.len(), |m, out| m.exp(row(tangent), row(base), out))
    }

    fn log(&self, point: &[f64], base: &[f64]) -> Vec<f64> {
        self.apply(base.len(), |m, out| m.log(row(point), row(base), out))
    }

    fn dist(&self, a: &[f64], b: &[f64]) -> f64 {
        self.apply(1, |m, out| m.dist(row(a), row(b), out))[0]
    }

    fn inner(&self, a: &[f64], b: &[f64], base: &[f64]) -> f64 {
        self.apply(1, |m, out| m.inner(row(a), row(b), row(base), out))[0]
    }

    fn norm(&self, v: &[f64], base: &[f64]) -> f64 {
        self.inner(v, v, base).max(0.0).sqrt()
    }

    fn transport(&self, v: &[f64], base: &[f64], end: &[f64]) -> Vec<f64> {
        self.apply(v.len(), |m, out| m.parallel_transport(row(v), row(base), row(end), out))
    }

    fn coords(&self, v: &[f64], base: &[f64]) -> Vec<f64> {
        self.apply(self.manifold.dim(), |m, out| m.coords(row(v), row(base), out))
    }

    fn vector_from(&self, c: &[f64], base: &[f64]) -> Vec<f64> {
        self.apply(base.len(), |m, out| m.from_coords(row(c), row(base), out))
    }

    /// The longest geodesics tried: short of the cut locus, and of length 3 where there is none.
    fn reach(&self) -> f64 {
        (0.98 * self.manifold.injectivity_radius()).min(3.0)
    }
}

fn row(x: &[f64]) -> Rows<'_> {
    Rows::new(x, x.len())
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn size(a: &[f64]) -> f64 {
    a.iter().map(|a| a * a).sum::<f64>().sqrt()
}
