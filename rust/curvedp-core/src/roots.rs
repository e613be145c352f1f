//! Symmetric spaces and their restricted roots: one line for each space, from which its dimension, curvatures,
//! Hessians, volumes and their growth follow.
//!
//! An isometry takes a tangent vector u into a maximal flat, where it has coordinates t_1, ..., t_p: eigenvalues,
//! singular values or angles of its matrix, or its length alone. The curvature operator R_u v = R(v, u)u has the
//! eigenvalue c a(t)^2 for each of the roots a, as often as its multiplicity says, and p times 0.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::simd::matrices::{hermitian_above, hermitian_diagonal, packed};

/// The restricted roots of a symmetric space, up to a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roots {
    /// p: dimension of a maximal flat.
    pub rank: usize,
    /// c, negative for noncompact spaces.
    pub curvature: f64,
    /// Multiplicity of t_i - t_j, i < j.
    pub differences: usize,
    /// Multiplicity of t_i + t_j, i < j: that of differences or 0.
    pub sums: usize,
    /// Multiplicity of t_i.
    pub single: usize,
    /// Multiplicity of 2 t_i.
    pub double: usize,
    /// No t_i of a shortest geodesic is larger.
    pub farthest: f64,
}

impl Roots {
    const NONE: Self = Self {
        rank: 1,
        curvature: 0.0,
        differences: 0,
        sums: 0,
        single: 0,
        double: 0,
        farthest: f64::INFINITY,
    };

    /// Number of roots, each as often as its multiplicity says.
    #[must_use]
    pub fn count(self) -> usize {
        let pairs = self.rank * self.rank.saturating_sub(1) / 2;
        (self.differences + self.sums) * pairs + (self.single + self.double) * self.rank
    }

    /// Dimension of the space.
    #[must_use]
    pub fn dim(self) -> usize {
        self.rank + self.count()
    }

    /// Eigenspaces of a curvature operator at most.
    #[must_use]
    pub fn eigenspaces(self) -> usize {
        let distinct = |multiplicity: usize| multiplicity.min(1);
        let [differences, sums] = [self.differences, self.sums].map(distinct);
        let [single, double] = [self.single, self.double].map(distinct);
        Self { differences, sums, single, double, ..self }.count() + 1
    }

    /// Squared lengths of roots, the largest first, with their multiplicities.
    fn squares(self) -> impl Iterator<Item = (usize, f64)> {
        let pairs = if self.rank > 1 { self.differences } else { 0 };
        let all = [(self.double, 4.0), (pairs, 2.0), (self.single, 1.0)];
        all.into_iter().filter(|(multiplicity, _)| *multiplicity > 0)
    }

    /// Lower and upper bound of the sectional curvatures.
    #[must_use]
    pub fn curvature_bounds(self) -> (f64, f64) {
        let most = self.squares().next().map_or(0.0, |(_, square)| square);
        let least = if self.rank == 1 { self.squares().last() } else { None };
        let least = least.map_or(0.0, |(_, square)| square);
        // + 0.0 leaves no negative zero
        let [least, most] = [least, most].map(|square| self.curvature * square + 0.0);
        if least < most { (least, most) } else { (most, least) }
    }

    /// Number and curvature of the planes through a direction that are not flat, where they are the same for every
    /// direction.
    #[must_use]
    pub fn planes(self) -> Option<Vec<(f64, f64)>> {
        let plane = |(number, square): (usize, f64)| (number as f64, square * self.curvature);
        (self.rank == 1 || self.count() == 0).then(|| self.squares().map(plane).collect())
    }

    /// Ricci curvature of unit vectors; of those across the flat factor where all roots are differences.
    #[must_use]
    pub fn ricci(self) -> f64 {
        let others = self.rank.saturating_sub(usize::from(!self.has_flat_factor()));
        let sum = others * (self.differences + self.sums) + self.single + 4 * self.double;
        self.curvature * sum as f64
    }

    /// True where all roots are differences: multiples of (1, ..., 1) are in no curved plane.
    pub(crate) fn has_flat_factor(self) -> bool {
        self.sums + self.single + self.double == 0
    }

    /// Exponential rate at which the volume of geodesic spheres grows with their radius: the length of the sum of
    /// all roots that are positive on one side.
    #[must_use]
    pub fn growth_rate(self) -> f64 {
        if self.curvature >= 0.0 {
            return 0.0;
        }
        let rank = self.rank as f64;
        let [differences, sums, single, double] =
            [self.differences, self.sums, self.single, self.double].map(|number| number as f64);
        let entry = |i: usize| {
            let ahead = rank - 1.0 - 2.0 * i as f64;
            differences * ahead + sums * (rank - 1.0) + single + 2.0 * double
        };
        let square: f64 = (0..self.rank).map(|i| entry(i) * entry(i)).sum();
        square.sqrt() * (-self.curvature).sqrt()
    }

    /// The trace of f(R_u) for a vector with coordinates t in a maximal flat. Those beyond its length are 0 in a space
    /// without roots, and its length will do in one of rank 1.
    pub fn trace(self, t: &[f64], f: impl Fn(f64) -> f64) -> f64 {
        let mut sum = self.rank as f64 * f(0.0);
        let mut add = |multiplicity: usize, root: f64| {
            if multiplicity > 0 {
                sum += multiplicity as f64 * f(self.curvature * (root * root));
            }
        };
        for (i, x) in t.iter().enumerate() {
            add(self.single, *x);
            add(self.double, 2.0 * x);
            for y in &t[..i] {
                add(self.differences, x - y);
                add(self.sums, x + y);
            }
        }
        sum
    }
}

/// A symmetric space, by the kind of noise that is drawn on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    /// A space in which isotropic noise is fixed by its radius.
    Radial(Radial),
    /// Positive definite matrices with the affine-invariant metric; exact samplers go up to order 16.
    Matrices(Matrices),
    /// A compact space of any rank; exact samplers go up to rank 16.
    Compact(Compact),
}

impl Space {
    /// Euclidean space; also the tangent space of any manifold.
    #[must_use]
    pub fn flat(dim: usize) -> Self {
        Self::Radial(Radial::Flat { dim })
    }

    /// The space called `name`; none if there is no such space.
    #[must_use]
    pub fn named(name: &str, size: usize, parameter: f64) -> Option<Self> {
        Some(match name {
            "flat" => Radial::Flat { dim: size }.into(),
            "sphere" => Radial::Sphere { dim: size, radius: parameter }.into(),
            "hyperbolic" => Radial::Hyperbolic { dim: size, curvature: parameter }.into(),
            "projective" => Radial::ComplexProjective { m: size }.into(),
            "spd" => Matrices::symmetric(size).into(),
            "hpd" => Matrices::hermitian(size).into(),
            other => Compact::named(other, size, parameter)?.into(),
        })
    }

    /// The inverse of [`Space::named`].
    #[must_use]
    pub fn name(self) -> (&'static str, usize, f64) {
        match self {
            Self::Radial(Radial::Flat { dim }) => ("flat", dim, 0.0),
            Self::Radial(Radial::Sphere { dim, radius }) => ("sphere", dim, radius),
            Self::Radial(Radial::Hyperbolic { dim, curvature }) => ("hyperbolic", dim, curvature),
            Self::Radial(Radial::ComplexProjective { m }) => ("projective", m, 0.0),
            Self::Matrices(Matrices { m, beta: 1 }) => ("spd", m, 0.0),
            Self::Matrices(Matrices { m, .. }) => ("hpd", m, 0.0),
            Self::Compact(space) => space.name(),
        }
    }

    /// Its restricted roots.
    #[must_use]
    pub fn roots(self) -> Roots {
        match self {
            Self::Radial(space) => space.roots(),
            Self::Matrices(space) => space.roots(),
            Self::Compact(space) => space.roots(),
        }
    }

    /// Dimension over the reals.
    #[must_use]
    pub fn dim(self) -> usize {
        match self {
            Self::Radial(space) => space.dim(),
            Self::Matrices(space) => space.dim(),
            Self::Compact(space) => space.roots().dim(),
        }
    }
}

impl From<Radial> for Space {
    fn from(space: Radial) -> Self {
        Self::Radial(space)
    }
}

impl From<Matrices> for Space {
    fn from(space: Matrices) -> Self {
        Self::Matrices(space)
    }
}

impl From<Compact> for Space {
    fn from(space: Compact) -> Self {
        Self::Compact(space)
    }
}

/// A space of rank 1, or without curvature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radial {
    /// Euclidean space; also the tangent space of any manifold.
    Flat {
        /// Dimension.
        dim: usize,
    },
    /// The sphere of curvature 1/radius^2.
    Sphere {
        /// Dimension.
        dim: usize,
        /// Radius.
        radius: f64,
    },
    /// The hyperbolic space of constant negative curvature.
    Hyperbolic {
        /// Dimension.
        dim: usize,
        /// Sectional curvature, negative.
        curvature: f64,
    },
    /// The complex projective space of sectional curvature between 1 and 4: planar shapes of m + 2
    /// landmarks.
    ComplexProjective {
        /// Complex dimension.
        m: usize,
    },
}

impl Radial {
    /// Its restricted roots.
    #[must_use]
    pub fn roots(self) -> Roots {
        const NONE: Roots = Roots::NONE;
        match self {
            Self::Flat { dim } => Roots { rank: dim, ..NONE },
            Self::Sphere { dim, radius } => {
                let (curvature, farthest) = (1.0 / (radius * radius), PI * radius);
                Roots { curvature, single: dim.saturating_sub(1), farthest, ..NONE }
            }
            Self::Hyperbolic { dim, curvature } => {
                Roots { curvature, single: dim.saturating_sub(1), ..NONE }
            }
            Self::ComplexProjective { m } => {
                let single = 2 * m.saturating_sub(1);
                Roots { curvature: 1.0, single, double: 1, farthest: FRAC_PI_2, ..NONE }
            }
        }
    }

    /// Dimension over the reals.
    #[must_use]
    pub fn dim(self) -> usize {
        match self {
            Self::Flat { dim } | Self::Sphere { dim, .. } | Self::Hyperbolic { dim, .. } => dim,
            Self::ComplexProjective { m } => 2 * m,
        }
    }
}

/// Symmetric or Hermitian matrices of one order. Coordinates are the upper triangle row by row, real and imaginary
/// parts of entries beside the diagonal times sqrt 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrices {
    /// The order.
    pub m: usize,
    /// Numbers in an entry beside the diagonal, the multiplicity beta of roots: 1 or 2.
    pub beta: usize,
}

impl Matrices {
    /// Real symmetric ones.
    #[must_use]
    pub fn symmetric(m: usize) -> Self {
        Self { m, beta: 1 }
    }

    /// Complex Hermitian ones.
    #[must_use]
    pub fn hermitian(m: usize) -> Self {
        Self { m, beta: 2 }
    }

    /// The restricted roots of the positive definite ones: halves of differences of eigenvalues.
    #[must_use]
    pub fn roots(self) -> Roots {
        Roots { rank: self.m, curvature: -0.25, differences: self.beta, ..Roots::NONE }
    }

    /// True for complex ones.
    #[must_use]
    pub fn is_complex(self) -> bool {
        self.beta == 2
    }

    /// Number of coordinates.
    #[must_use]
    pub fn dim(self) -> usize {
        self.roots().dim()
    }

    /// Positions of the diagonal among the coordinates.
    pub(crate) fn diagonal(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.m).map(move |i| self.at(i, i))
    }

    /// Position of entry (i, j), i <= j, among the coordinates.
    pub(crate) fn at(self, i: usize, j: usize) -> usize {
        match (self.is_complex(), i == j) {
            (false, _) => packed(self.m, i, j),
            (true, true) => hermitian_diagonal(self.m, i),
            (true, false) => hermitian_above(self.m, i, j),
        }
    }
}

/// A compact space of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compact {
    /// k-dimensional subspaces of R^n, 0 < k < n. Coordinates are an (n - k) x k matrix, row by row.
    Subspaces {
        /// Dimension of the whole space.
        n: usize,
        /// Dimension of the subspaces.
        k: usize,
    },
    /// Rotations of R^n, n >= 2. Coordinates are the entries of a skew matrix below the diagonal, row by row.
    Rotations {
        /// Dimension of the space that is turned.
        n: usize,
    },
    /// Unitary matrices of order n >= 1. Coordinates are those of the Hermitian matrix H = -i X: see [`Matrices`].
    Unitary {
        /// The order.
        n: usize,
    },
}

impl Compact {
    /// The space called `name`, as its manifold is; none if there is no such space.
    fn named(name: &str, size: usize, parameter: f64) -> Option<Self> {
        Some(match name {
            "grassmann" => Self::Subspaces { n: size, k: parameter as usize },
            "so" => Self::Rotations { n: size },
            "unitary" => Self::Unitary { n: size },
            _ => return None,
        })
    }

    /// The inverse of [`Compact::named`].
    #[must_use]
    pub fn name(self) -> (&'static str, usize, f64) {
        match self {
            Self::Subspaces { n, k } => ("grassmann", n, k as f64),
            Self::Rotations { n } => ("so", n, 0.0),
            Self::Unitary { n } => ("unitary", n, 0.0),
        }
    }

    /// Numbers in the matrix of a point: n k, n^2 or 2 n^2.
    #[must_use]
    pub fn matrix_size(self) -> usize {
        match self {
            Self::Subspaces { n, k } => n * k,
            Self::Rotations { n } => n * n,
            Self::Unitary { n } => 2 * n * n,
        }
    }

    /// Its restricted roots: of singular values, and of halves of angles, which have signs in unitary matrices.
    #[must_use]
    pub fn roots(self) -> Roots {
        const NONE: Roots = Roots { curvature: 0.25, farthest: PI, ..Roots::NONE };
        match self {
            Self::Subspaces { n, k } => Roots {
                rank: k.min(n.saturating_sub(k)),
                curvature: 1.0,
                differences: 1,
                sums: 1,
                single: n.abs_diff(2 * k),
                farthest: FRAC_PI_2,
                ..NONE
            },
            Self::Rotations { n } => {
                Roots { rank: n / 2, differences: 2, sums: 2, single: 2 * (n % 2), ..NONE }
            }
            Self::Unitary { n } => Roots { rank: n, differences: 2, ..NONE },
        }
    }

    /// One of each kind and rank up to 3, for tests, and one of a higher rank.
    #[cfg(test)]
    pub(crate) fn examples() -> Vec<Self> {
        let subspaces = [(2, 1), (3, 1), (4, 2), (5, 2), (5, 3), (7, 3), (8, 4), (20, 2)];
        let subspaces = subspaces.map(|(n, k)| Self::Subspaces { n, k }).into_iter();
        let rotations = (2..8).map(|n| Self::Rotations { n });
        subspaces.chain(rotations).chain((1..5).map(|n| Self::Unitary { n })).collect()
    }
}
