//! A draw on a sphere decided in doubles, where their rounding cannot change it (docs/proofs/exact-draws.md,
//! section "Doubles first"): sums, products, quotients and square roots alone, each correctly rounded.

use smallvec::SmallVec;

use super::{Multiples, Point};
use crate::vector::power_of_two;

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
        let steps = self.noise.radius * power_of_two(-self.grid);
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
            // the closest integer, unless that is nearly as far as another or there is no room
            let multiple = (y + 0.5f64.copysign(y)) as i64;
            ((y - multiple as f64).abs() < room).then_some(multiple)
        })
        .collect()
    }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// 1/((k + 1)(k + 2)) and 1/((k + 2)(k + 3)), k = 0, 2, 4 ...
const SHARES: [[f64; 2]; 10] = {
    let (mut shares, mut j) = ([[0.0; 2]; 10], 0);
    while j < shares.len() {
        let k = 2.0 * j as f64;
        shares[j] = [1.0 / ((k + 1.0) * (k + 2.0)), 1.0 / ((k + 2.0) * (k + 3.0))];
        j += 1;
    }
    shares
};

/// cos x and sin x for 0 <= x <= 1, by their series.
fn circular(x: f64) -> (f64, f64) {
    let square = x * x;
    // 1 - y/((k + 1)(k + 2)) (1 - y/((k + 3)(k + 4)) (...)), to x^22
    let after = |sum: f64, share: f64| 1.0 - square * share * sum;
    let terms = SHARES.iter().rev();
    let [cos, sinc] =
        terms.fold([1.0; 2], |[cos, sinc], [even, odd]| [after(cos, *even), after(sinc, *odd)]);
    (cos, x * sinc)
}
