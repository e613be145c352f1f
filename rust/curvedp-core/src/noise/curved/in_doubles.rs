//! A draw on a sphere decided in doubles, where their rounding cannot change it (docs/proofs/exact-draws.md,
//! section "Doubles first"): sums, products, quotients and square roots alone, each correctly rounded.

use smallvec::SmallVec;

use super::{Multiples, Point};

type Doubles = SmallVec<[f64; 4]>;

/// Distances beyond this, in units of the radius, are left to enclosures.
const FARTHEST: f64 = 1.0;

/// Tangent parts of the normals shorter than this, or than this share of them, are left to enclosures.
const LEAST_SHARE: f64 = 1.0 / 64.0;

impl Point<'_> {
    /// The answer on a sphere, if doubles decide it. `trust` is 1; bounds on the error that are multiplied by less
    /// claim too much.
    pub(super) fn in_doubles(&self, trust: f64) -> Option<Multiples> {
        let d = self.base.len() as f64;
        let normals = self.normals.iter().map(|normal| normal.about(self.stream));
        let normals: Doubles = normals.collect::<Option<_>>()?;
        let x = self.distance.about(self.stream)? * self.noise.distances.density().of.angle;
        let length = norm(self.base);
        // doubles times a power of two
        let steps = self.noise.radius * 2f64.powi(-self.grid);
        let is_in_range = (length * length).is_normal() && steps.is_normal();
        if normals.len() < 2 || !is_in_range || x > FARTHEST {
            return None;
        }
        let along = normals.iter().zip(self.base).map(|(z, q)| z * (q / length)).sum::<f64>();
        let tangent = normals.iter().zip(self.base).map(|(z, q)| z - along * (q / length));
        let tangent: Doubles = tangent.collect();
        let (whole, part) = (norm(&normals), norm(&tangent));
        if part < LEAST_SHARE * whole.max(1.0) {
            return None;
        }
        let error = f64::EPSILON * ((d + 32.0) + (5.0 * d + 48.0) * x * (whole / part));
        let (cos, sin) = circular(x);
        let room = 0.5 - trust * error * steps;
        let both = self.base.iter().zip(&tangent);
        both.map(|(q, v)| {
            let y = ((q / length) * cos + (v / part) * sin) * steps;
            let multiple = y.round();
            ((y - multiple).abs() < room).then_some(multiple as i64)
        })
        .collect()
    }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// cos x and sin x for 0 <= x <= 1, by their series.
fn circular(x: f64) -> (f64, f64) {
    let square = x * x;
    // 1 - y/((k + 1)(k + 2)) (1 - y/((k + 3)(k + 4)) (...)), to x^22
    let series = |first: u32| {
        let terms = (0..10).rev().map(|j| f64::from(2 * j + first));
        terms.fold(1.0, |sum, k| 1.0 - square / (k * (k + 1.0)) * sum)
    };
    (series(1), x * series(2))
}
