//! Rotations and unitary matrices by their logarithm X at the identity; a tangent vector at exp(X) is exp(X) times the
//! skew matrix with its coordinates.

use super::planes::{self, Planes};
use super::turn::{identity, rotation_minus_identity, turned_back};
use super::{Matrix, Shape};
use crate::manifold::chart::{Chart, Logarithm, Turning};
use crate::manifold::{Hpd, Manifold, curvature};
use crate::roots::Space;

/// The rotations, or unitary matrices, within the cut locus of the identity.
pub type RotationChart = Chart<Shape>;

impl RotationChart {
    /// # Panics
    /// Unless n >= 2.
    pub fn new(n: usize) -> Self {
        Self { shape: Shape::new(n) }
    }

    /// Unitary matrices.
    ///
    /// # Panics
    /// Unless n >= 1.
    pub fn unitary(n: usize) -> Self {
        Self { shape: Shape::unitary(n) }
    }
}

/// Points R and turns by them are R - I.
impl Turning for Shape {
    type Turn = Matrix;
    type Place = Matrix;

    fn space(self) -> Space {
        self.compact().into()
    }

    fn size(self) -> [usize; 2] {
        [self.order(); 2]
    }

    fn turn(self, log: &[f64]) -> Matrix {
        rotation_minus_identity(&self.skew(log))
    }

    fn end(turn: &Matrix) -> Matrix {
        turn.clone()
    }

    /// (I + F)(I + G) - I
    fn moved(turn: &Matrix, place: &Matrix) -> Matrix {
        place.clone().plus(1.0, turn).plus(1.0, &turn.times(place))
    }

    fn seen(turn: &Matrix, place: &Matrix) -> Matrix {
        let apart = place.clone().plus(-1.0, turn);
        let turned = turn.transpose_times(&apart);
        apart.plus(1.0, &turned)
    }

    fn log(self, place: &Matrix) -> Logarithm {
        let log = self.log_of(place);
        let (coords, length) = (self.coords(&log.x), log.length());
        if self.is_complex {
            let angles = self.spectrum(&coords);
            return Logarithm { coords, length, angles };
        }
        let mut angles = log.angles;
        angles.sort_by(|a, b| b.total_cmp(a));
        // each of a plane is there twice
        let angles = angles.into_iter().step_by(2).take(self.n / 2).collect();
        Logarithm { coords, length, angles }
    }

    fn log_along(self, way: &[f64], place: &Matrix) -> Vec<f64> {
        let way = self.skew(way);
        let log = self.log_of(&Self::seen(&rotation_minus_identity(&way), place));
        self.coords(&turned_back(&log.x, &way, -0.5))
    }

    /// Coordinates turned back by half of exp(V).
    fn carry(self, vector: &[f64], velocity: &[f64], _: &[f64], _: &[f64]) -> Vec<f64> {
        self.coords(&turned_back(&self.skew(vector), &self.skew(velocity), 0.5))
    }

    fn matrix(place: &Matrix) -> Vec<f64> {
        identity(place.rows).plus(1.0, place).data
    }

    fn closest(self, matrix: &[f64]) -> Option<Matrix> {
        let mut matrix = matrix.to_vec();
        self.project(&mut matrix)
            .then(|| self.rotation(&matrix).plus(-1.0, &identity(self.order())))
    }

    /// Angles of planes; of unitary matrices eigenvalues, with signs.
    fn spectrum(self, u: &[f64]) -> Vec<f64> {
        if self.is_complex {
            return Hpd::new(self.n).spectrum(u);
        }
        Planes::of(&self.skew(u)).angles
    }

    fn curvature_function(self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        let roots = self.space().roots();
        match roots.rank {
            1 => curvature::function(roots, u, f, out),
            // the dual space: the same roots in the same coordinates, of the other sign
            _ if self.is_complex => Hpd::new(self.n).curvature_function(u, &|k| f(0.0 - k), out),
            _ => planes::curvature_function(self.n, u, f, out),
        }
    }

    /// The matrix over sqrt 2, or the parts of complex entries: |R - S|/sqrt 2 = (sum of the squared 2 sin(t/2) of the angles)^(1/2).
    fn image(self, matrix: &[f64]) -> Vec<f64> {
        if self.is_complex {
            let mut parts = vec![0.0; self.image_size()];
            self.write(&Matrix::of(self.order(), self.order(), matrix), &mut parts);
            return parts;
        }
        matrix.iter().map(|x| std::f64::consts::FRAC_1_SQRT_2 * x).collect()
    }

    fn image_size(self) -> usize {
        self.compact().matrix_size()
    }
}
