//! Subspaces by their logarithm X at the one that the first axes span; a tangent vector at X is the matrix that E(X)
//! carries there (see [`super::turn`]).

use super::turn::{Log, Turn};
use super::{Shape, roots};
use crate::manifold::chart::{Chart, Logarithm, Turning};
use crate::manifold::curvature;
use crate::manifold::matrix::Matrix;
use crate::roots::{Compact, Space};
use std::f64::consts::FRAC_1_SQRT_2;

/// The subspaces within the cut locus of that of the first axes.
pub type SubspaceChart = Chart<Shape>;

impl SubspaceChart {
    /// # Panics
    /// Unless 0 < k < n.
    pub fn new(n: usize, k: usize) -> Self {
        Self { shape: Shape::new(n, k) }
    }
}

impl Turning for Shape {
    type Turn = Turn;
    type Place = [Matrix; 2];

    fn space(self) -> Space {
        Compact::Subspaces { n: self.n, k: self.k }.into()
    }

    fn size(self) -> [usize; 2] {
        [self.n, self.k]
    }

    fn turn(self, log: &[f64]) -> Turn {
        Turn::of(Matrix::of(self.rest(), self.k, log))
    }

    fn end(turn: &Turn) -> [Matrix; 2] {
        turn.basis()
    }

    fn moved(turn: &Turn, place: &[Matrix; 2]) -> [Matrix; 2] {
        turn.applied(place)
    }

    fn seen(turn: &Turn, place: &[Matrix; 2]) -> [Matrix; 2] {
        turn.seen(place)
    }

    fn log(self, place: &[Matrix; 2]) -> Logarithm {
        let log = Log::of(place);
        let (length, mut angles) = (log.length(), log.angles);
        // angles of k columns, of which n - k at most are not 0
        angles.sort_by(|a, b| b.total_cmp(a));
        angles.truncate(self.rest());
        Logarithm { coords: log.x.data, length, angles }
    }

    fn log_along(self, way: &[f64], place: &[Matrix; 2]) -> Vec<f64> {
        Log::of(&self.turn(way).undone(place)).x.data
    }

    fn carry(self, vector: &[f64], velocity: &[f64], base: &[f64], end: &[f64]) -> Vec<f64> {
        let (k, rest) = (self.k, self.rest());
        // columns of the identity from there on
        let identity = |first: usize, columns: usize| {
            let part = |rows: usize, from: usize| {
                Matrix::from(rows, columns, |i, j| f64::from(i + from == j + first))
            };
            [part(k, 0), part(rest, k)]
        };
        let [base, velocity, end] = [base, velocity, end].map(|log| self.turn(log));
        let rotated = |axes| end.undone(&base.applied(&velocity.applied(&axes)));
        let [[own, _], [_, across]] = [rotated(identity(0, k)), rotated(identity(k, rest))];
        across.times(&Matrix::of(rest, k, vector)).times_transpose(&own).data
    }

    fn matrix([top, bottom]: &[Matrix; 2]) -> Vec<f64> {
        [&top.data[..], &bottom.data].concat()
    }

    /// The span of the columns.
    fn closest(self, matrix: &[f64]) -> Option<[Matrix; 2]> {
        let mut basis = matrix.to_vec();
        self.project(&mut basis).then(|| {
            let (top, bottom) = basis.split_at(self.k * self.k);
            [Matrix::of(self.k, self.k, top), Matrix::of(self.rest(), self.k, bottom)]
        })
    }

    fn spectrum(self, u: &[f64]) -> Vec<f64> {
        roots::singular_values(self.rest(), self.k, u)
    }

    fn curvature_function(self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        let roots = self.space().roots();
        match roots.rank {
            1 => curvature::function(roots, u, f, out),
            _ => roots::curvature_function(self.rest(), self.k, u, f, out),
        }
    }

    /// The entries P_ij, j < i, and P_ii/sqrt 2 of the projector, an isometric copy of P/sqrt 2:
    /// |P - P'|/sqrt 2 = (sum of the squared sines of principal angles)^(1/2).
    fn image(self, matrix: &[f64]) -> Vec<f64> {
        let row = |i: usize| &matrix[i * self.k..(i + 1) * self.k];
        let product =
            |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(x, y)| x * y).sum::<f64>();
        let entries = |i: usize| {
            let off = (0..i).map(move |j| product(i, j));
            off.chain([FRAC_1_SQRT_2 * product(i, i)])
        };
        (0..self.n).flat_map(entries).collect()
    }

    fn image_size(self) -> usize {
        self.n * (self.n + 1) / 2
    }
}
