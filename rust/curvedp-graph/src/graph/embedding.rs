//! Images of points in Euclidean space, in which neighbours are sought.

use std::borrow::Cow;

use super::nodes::Nodes;
use curvedp_core::batch;
use curvedp_core::error::Error;
use curvedp_core::manifold::{Embedding, Manifold};
use curvedp_core::parallel::Interrupt;
use curvedp_core::rows::Rows;

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
    /// None for the logarithm at `base`: |log_c x - log_c y| <= rho(x, y) where the curvature is nowhere positive (Rauch),
    /// with equality where it is 0.
    map: Option<Embedding<'a>>,
    base: Vec<f64>,
    /// True if distances in the image are a monotone function of the true ones.
    pub exact: bool,
    conditioning: f64,
}

impl<'a> Embedder<'a> {
    /// The map for a set of points; none where only the distance itself can be used.
    pub fn new(nodes: &Nodes<'a>) -> Option<Self> {
        let Nodes { manifold, points, count } = *nodes;
        if let Some(map) = manifold.embedding() {
            let exact = map.is_monotone;
            let is_worth_it = !map.is_wide || map.size <= WIDEST_PRODUCT;
            let (map, base, conditioning) = (Some(map), Vec::new(), 1.0);
            return is_worth_it.then_some(Self { manifold, map, base, exact, conditioning });
        }
        let conditioning = (0..count).map(|i| manifold.conditioning(points.row(i)));
        Some(Self {
            manifold,
            map: None,
            base: middle(nodes),
            exact: manifold.curvature_bounds() == (0.0, 0.0),
            conditioning: conditioning.fold(1.0, f64::max),
        })
    }

    /// Bound on the rounding error of the distance between two images, and of the true distance.
    pub fn slack(&self, images: &Embedded) -> f64 {
        let largest = images.coords.iter().fold(0.0, |acc: f64, x| acc.max(x.abs()));
        64.0 * f64::EPSILON * self.conditioning * largest * (images.dim as f64).sqrt()
    }

    /// The image of one point.
    pub fn image<'p>(&self, point: &'p [f64]) -> Cow<'p, [f64]> {
        if let Some(map) = &self.map {
            return map.image(point);
        }
        let mut coords = vec![0.0; self.manifold.dim()];
        let base = Rows::shared(&self.base);
        self.manifold.log_coords(Rows::shared(point), base, &mut coords);
        Cow::Owned(coords)
    }

    /// The images of `count` points.
    pub fn embed(
        &self,
        points: Rows,
        count: usize,
        interrupt: Interrupt,
    ) -> Result<Embedded, Error> {
        if let Some(map) = &self.map {
            let mut coords = Vec::with_capacity(count * map.size);
            (0..count).for_each(|i| coords.extend_from_slice(&map.image(points.row(i))));
            return Ok(Embedded { dim: map.size, coords });
        }
        let dim = self.manifold.dim();
        let mut coords = vec![0.0; count * dim];
        let base = Rows::shared(&self.base);
        batch::binary(dim, points, base, &mut coords, interrupt, |x, c, out| {
            self.manifold.log_coords(x, c, out);
        })?;
        Ok(Embedded { dim, coords })
    }
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
