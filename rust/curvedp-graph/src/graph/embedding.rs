//! Maps into Euclidean space that order distances or bound them below, so that neighbours can be
//! sought there.

use std::borrow::Cow;

use super::nodes::Nodes;
use curvedp_core::batch;
use curvedp_core::error::Error;
use curvedp_core::manifold::{Embedding, Manifold};
use curvedp_core::parallel::Interrupt;
use curvedp_core::rows::Rows;
use curvedp_core::simd::elementary::sin_cos;

/// Widest outer product that is worth its memory.
const WIDEST_PRODUCT: usize = 64;

/// The images of points: rows of `dim` entries.
pub(super) struct Embedded {
    pub dim: usize,
    pub coords: Vec<f64>,
}

impl Embedded {
    /// Refuses nodes that have no image.
    pub fn check(&self) -> Result<(), Error> {
        match self.coords.iter().find(|x| !x.is_finite()) {
            None => Ok(()),
            Some(&value) => {
                let allowed = "finite points of the manifold";
                Err(Error::Parameter { name: "nodes", allowed, value })
            }
        }
    }
}

/// A map that is ready to be applied.
pub(super) struct Embedder<'a> {
    manifold: &'a dyn Manifold,
    base: Vec<f64>,
    /// True if distances in the image are a monotone function of the true ones.
    pub exact: bool,
    conditioning: f64,
}

impl<'a> Embedder<'a> {
    /// The map for a set of points; none where only the distance itself can be used.
    pub fn new(nodes: &Nodes<'a>) -> Option<Self> {
        let Nodes { manifold, points, count } = *nodes;
        let size = manifold.point_size();
        let mut embedder = Self { manifold, base: Vec::new(), exact: true, conditioning: 1.0 };
        match manifold.embedding() {
            Embedding::Hermitian if size / 2 * (size / 2) > WIDEST_PRODUCT => return None,
            Embedding::Symmetric if size * (size + 1) / 2 > WIDEST_PRODUCT => return None,
            Embedding::Projectors if projector_size(manifold, points.row(0)) > WIDEST_PRODUCT => {
                return None;
            }
            Embedding::Projectors => embedder.exact = manifold.curvature_bounds().0 > 0.0,
            // more than one angle from n = 4 on
            Embedding::Rotations => embedder.exact = manifold.dim() <= 3,
            Embedding::Ambient | Embedding::Hermitian | Embedding::Symmetric => {}
            Embedding::Circles => embedder.exact = size == 1,
            Embedding::Logarithm => {
                embedder.base = middle(nodes);
                embedder.exact = manifold.curvature_bounds() == (0.0, 0.0);
                embedder.conditioning =
                    (0..count).map(|i| manifold.conditioning(points.row(i))).fold(1.0, f64::max);
            }
        }
        Some(embedder)
    }

    /// Bound on the rounding error of the distance between two images, and of the true distance.
    pub fn slack(&self, images: &Embedded) -> f64 {
        let largest = images.coords.iter().fold(0.0, |acc: f64, x| acc.max(x.abs()));
        64.0 * f64::EPSILON * self.conditioning * largest * (images.dim as f64).sqrt()
    }

    /// The image of one point.
    pub fn image<'p>(&self, point: &'p [f64]) -> Cow<'p, [f64]> {
        match self.manifold.embedding() {
            Embedding::Ambient => Cow::Borrowed(point),
            Embedding::Hermitian => hermitian_product(point).collect(),
            Embedding::Symmetric => symmetric_product(point).collect(),
            Embedding::Circles => circles(point).collect(),
            Embedding::Projectors => Cow::Owned(projector(self.manifold, point)),
            Embedding::Rotations => rotation(self.manifold, point).collect(),
            Embedding::Logarithm => {
                let mut coords = vec![0.0; self.manifold.dim()];
                let base = Rows::shared(&self.base);
                self.manifold.log_coords(Rows::shared(point), base, &mut coords);
                Cow::Owned(coords)
            }
        }
    }

    /// The images of `count` points.
    pub fn embed(
        &self,
        points: Rows,
        count: usize,
        interrupt: Interrupt,
    ) -> Result<Embedded, Error> {
        let size = self.manifold.point_size();
        let (dim, coords) = match self.manifold.embedding() {
            Embedding::Ambient => (size, points.range(0..count).data().to_vec()),
            Embedding::Hermitian => {
                let k = size / 2;
                let rows = (0..count).flat_map(|i| hermitian_product(points.row(i)));
                (k * k, rows.collect())
            }
            Embedding::Symmetric => {
                let rows = (0..count).flat_map(|i| symmetric_product(points.row(i)));
                (size * (size + 1) / 2, rows.collect())
            }
            Embedding::Circles => {
                (2 * size, (0..count).flat_map(|i| circles(points.row(i))).collect())
            }
            Embedding::Projectors => {
                let rows = (0..count).flat_map(|i| projector(self.manifold, points.row(i)));
                (projector_size(self.manifold, points.row(0)), rows.collect())
            }
            Embedding::Rotations => {
                let rows: Vec<f64> =
                    (0..count).flat_map(|i| rotation(self.manifold, points.row(i))).collect();
                (rows.len() / count.max(1), rows)
            }
            Embedding::Logarithm => {
                let dim = self.manifold.dim();
                let mut coords = vec![0.0; count * dim];
                let base = Rows::shared(&self.base);
                batch::binary(dim, points, base, &mut coords, interrupt, |x, c, out| {
                    self.manifold.log_coords(x, c, out);
                })?;
                (dim, coords)
            }
        };
        Ok(Embedded { dim, coords })
    }
}

/// The entries |z_i|^2 and sqrt 2 (Re, Im) z_i conj(z_j), j < i: an isometric copy of z z^*.
fn hermitian_product(z: &[f64]) -> impl Iterator<Item = f64> {
    let root = std::f64::consts::SQRT_2;
    let k = z.len() / 2;
    (0..k).flat_map(move |i| {
        let (x, y) = (z[2 * i], z[2 * i + 1]);
        let off = (0..i).flat_map(move |j| {
            let (u, v) = (z[2 * j], z[2 * j + 1]);
            [root * (x * u + y * v), root * (y * u - x * v)]
        });
        off.chain([x * x + y * y])
    })
}

/// The entries x_i^2 and sqrt 2 x_i x_j, j < i: an isometric copy of x x^T.
fn symmetric_product(x: &[f64]) -> impl Iterator<Item = f64> {
    let root = std::f64::consts::SQRT_2;
    (0..x.len()).flat_map(move |i| (0..i).map(move |j| root * x[i] * x[j]).chain([x[i] * x[i]]))
}

/// Order of the projector on a subspace.
fn ambient_dim(manifold: &dyn Manifold, basis: &[f64]) -> usize {
    // k n entries, k (n - k) dimensions
    let square = basis.len() - manifold.dim();
    basis.len() / square.isqrt()
}

fn projector_size(manifold: &dyn Manifold, point: &[f64]) -> usize {
    let n = ambient_dim(manifold, &manifold.basis(point));
    n * (n + 1) / 2
}

/// The entries P_ij, j < i, and P_ii/sqrt 2 of a projector: an isometric copy of P/sqrt 2.
fn projector(manifold: &dyn Manifold, point: &[f64]) -> Vec<f64> {
    let basis = manifold.basis(point);
    let n = ambient_dim(manifold, &basis);
    let rows: Vec<&[f64]> = basis.chunks_exact(basis.len() / n).collect();
    let product = |i: usize, j: usize| rows[i].iter().zip(rows[j]).map(|(x, y)| x * y).sum::<f64>();
    let row = |i: usize| {
        let off = (0..i).map(move |j| product(i, j));
        off.chain([std::f64::consts::FRAC_1_SQRT_2 * product(i, i)])
    };
    (0..n).flat_map(row).collect()
}

/// The entries of a rotation matrix over sqrt 2.
fn rotation(manifold: &dyn Manifold, point: &[f64]) -> impl Iterator<Item = f64> {
    manifold.basis(point).into_iter().map(|x| std::f64::consts::FRAC_1_SQRT_2 * x)
}

/// The points (cos x_j, sin x_j) of circles.
fn circles(x: &[f64]) -> impl Iterator<Item = f64> {
    x.iter().flat_map(|&angle| {
        let (sin, cos) = sin_cos(angle);
        [cos, sin]
    })
}

/// A point among the others: three steps towards their mean. The nearer the base, the sharper the bound.
fn middle(nodes: &Nodes) -> Vec<f64> {
    let Nodes { manifold, points, count } = *nodes;
    let mut base = points.row(0).to_vec();
    if manifold.curvature_bounds() == (0.0, 0.0) {
        return base;
    }
    for _ in 0..3 {
        let mut sum = vec![0.0; manifold.dim()];
        let sums = manifold.sum_log(points, count, None, &base, &mut sum);
        sum.iter_mut().for_each(|x| *x /= f64::max(sums.curvature, count as f64));
        let mut next = vec![0.0; base.len()];
        manifold.exp_coords(Rows::shared(&sum), Rows::shared(&base), &mut next);
        if !manifold.belongs(&next, 1e-5) {
            break;
        }
        base = next;
    }
    base
}
