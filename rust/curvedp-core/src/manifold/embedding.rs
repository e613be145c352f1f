//! Maps into Euclidean space that order distances or bound them below, so that neighbours can be sought there.

use crate::simd::elementary::sin_cos;
use std::borrow::Cow;

/// A map into Euclidean space in which neighbours are sought: |x - y| <= rho(x, y), up to a factor that all share where
/// distances are ordered.
pub struct Embedding<'a> {
    /// Entries of an image.
    pub size: usize,
    /// True if distances between images are a monotone function of the true ones.
    pub is_monotone: bool,
    /// True if images have many more entries than points, which are not always worth their memory.
    pub is_wide: bool,
    image: Box<Image<'a>>,
}

/// The image of a point.
type Image<'a> = dyn Fn(&[f64]) -> Cow<'_, [f64]> + Sync + 'a;

impl<'a> Embedding<'a> {
    /// A map with images of that size.
    pub(super) fn new(
        size: usize,
        is_monotone: bool,
        image: impl Fn(&[f64]) -> Cow<'_, [f64]> + Sync + 'a,
    ) -> Self {
        Self { size, is_monotone, is_wide: false, image: Box::new(image) }
    }

    /// The entries of points: |x - y| grows with rho(x, y).
    pub(super) fn entries(size: usize) -> Self {
        Self::new(size, true, |point| Cow::Borrowed(point))
    }

    /// z -> z z^* for complex unit vectors: |z z^* - w w^*| = sqrt 2 sin rho(z, w).
    pub(super) fn hermitian(size: usize) -> Self {
        let k = size / 2;
        Self { is_wide: true, ..Self::new(k * k, true, |z| hermitian_product(z).collect()) }
    }

    /// x -> x x^T for real unit vectors: |x x^T - y y^T| = sqrt 2 sin rho(x, y).
    pub(super) fn symmetric(size: usize) -> Self {
        let entries = size * (size + 1) / 2;
        Self { is_wide: true, ..Self::new(entries, true, |x| symmetric_product(x).collect()) }
    }

    /// x -> (cos x_j, sin x_j) for angles: |x - y| <= rho(x, y), and grows with it in dimension 1.
    pub(super) fn circles(size: usize) -> Self {
        Self::new(2 * size, size == 1, |x| circles(x).collect())
    }

    /// The image of a point.
    #[must_use]
    pub fn image<'p>(&self, point: &'p [f64]) -> Cow<'p, [f64]> {
        (self.image)(point)
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

/// The points (cos x_j, sin x_j) of circles.
fn circles(x: &[f64]) -> impl Iterator<Item = f64> {
    x.iter().flat_map(|&angle| {
        let (sin, cos) = sin_cos(angle);
        [cos, sin]
    })
}
