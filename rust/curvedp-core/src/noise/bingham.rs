//! Directions x with a density in proportion to e^(rate x'Sx), S an integer matrix: the Bingham law, drawn exactly by
//! rejection from angular central Gaussian directions (Kent, Ganeiban and Mardia 2018, J. Comput. Graph. Stat. 27
//! (2), section 3; docs/proofs/principal-components.md).
//!
//! A proposal is y/|y|, y = V D z, z normal, with any V and D > 0 in doubles. It has a density in proportion to
//! (|z|/|y|)^d, so whether it is kept is decided from z and y alone, and V and D only say how often: eigenvectors that
//! are computed badly make a draw slow, not wrong.

use super::normal::{Normal, Normals, all_at};
use super::stream::{Stream, Variable};
use crate::exact::matrices::{Unit, Vector, dot};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};

/// Drawn coordinates are multiples of 2^-`GRID`.
pub const GRID: i32 = 48;

/// The largest rate times sum of squares, and its unit.
const LARGEST: f64 = (1u64 << 50) as f64;
const UNIT: f64 = 1.0 / (1u64 << 52) as f64;

/// The law of a direction.
pub struct Bingham {
    dim: usize,
    /// S in units of 2^-`exponent`, row by row.
    score: Vec<i64>,
    exponent: i32,
    rate: f64,
    /// V, row by row.
    vectors: Vec<f64>,
    /// The diagonal of D: 1 for the direction of the largest score, less for the others.
    widths: Vec<f64>,
    /// Half of the b of Kent, Ganeiban and Mardia.
    half: f64,
    /// No eigenvalue of rate S + half (V D^2 V')^-1 is larger.
    bound: f64,
}

impl Bingham {
    /// For a positive semidefinite score in units of 2^-`exponent` and guesses of its eigenvectors, in columns.
    ///
    /// None for sizes that do not match, dimensions below 2, and rates for which there is no draw.
    #[must_use]
    pub fn new(score: Vec<i64>, exponent: i32, rate: f64, vectors: &[f64]) -> Option<Self> {
        let dim = score.len().isqrt();
        let trace: f64 = (0..dim).map(|i| score[i * (dim + 1)] as f64).sum();
        let in_range = rate > 0.0 && rate * trace * 2f64.powi(-exponent) <= LARGEST;
        let fits = dim >= 2 && dim * dim == score.len() && vectors.len() == score.len();
        if !fits || !in_range || !(0..=62).contains(&exponent) {
            return None;
        }
        let (vectors, away) = near_orthogonal(vectors, dim);
        let unit = rate * 2f64.powi(-exponent);
        let scaled: Vec<f64> = score.iter().map(|s| *s as f64 * unit).collect();
        let rotated = congruent(&scaled, &vectors, dim);
        let size = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
        let values: Vec<f64> = (0..dim).map(|i| rotated[i * (dim + 1)]).collect();
        let (half, widths) = envelope(&values);
        // Gershgorin's discs of the matrix in the coordinates of V, and what doubles round off in them
        let d = dim as f64;
        let rounding = d * (2.0 * d + 16.0) * UNIT * 1.1 * size;
        let disc = |i: usize| {
            let row = &rotated[i * dim..(i + 1) * dim];
            let others: f64 = row.iter().map(|x| x.abs()).sum::<f64>() - row[i].abs();
            let own = half / (widths[i] * widths[i]);
            row[i] + own + others + 8.0 * d * UNIT * (row[i].abs() + own + others)
        };
        let largest = (0..dim).map(disc).fold(0.0, f64::max) + rounding;
        let bound = largest / (1.0 - away) * (1.0 + 8.0 * UNIT);
        Some(Self { dim, score, exponent, rate, vectors, widths, half, bound })
    }

    /// Fills `out` with a direction, of either sign, rounded to the grid. False if it was interrupted.
    pub fn draw(
        &self,
        stream: &mut Stream,
        effort: Effort,
        interrupted: &dyn Fn() -> bool,
        out: &mut [f64],
    ) -> bool {
        while !interrupted() {
            let normals = Normal::draw_all(self.dim, stream, effort);
            let height = stream.variable();
            let proposal = Proposal { law: self, normals: &normals, stream };
            if decide(&Acceptance { proposal: &proposal, height }, effort) {
                let multiples = decide(&proposal, effort);
                for (to, from) in out.iter_mut().zip(multiples) {
                    *to = from as f64 * 2f64.powi(-GRID);
                }
                return true;
            }
        }
        false
    }

    /// ln of the largest density over the proposals', both without factors that do not depend on the direction.
    fn log_envelope<const N: usize>(&self) -> Result<Enclosure<N>, Undecided> {
        let d = Enclosure::integer(self.dim as i64);
        let ratio = d.over(&Enclosure::double(self.half, 1))?.ln()?;
        let tangent = ratio.minus(&Enclosure::integer(1)).times(&d).shifted(-1);
        Ok(tangent.plus(&Enclosure::double(self.bound, 0)))
    }
}

/// The matrix, if its columns are orthonormal but for the errors of an eigensolver, or else the identity; and a bound on
/// the norm of V'V - I.
fn near_orthogonal(vectors: &[f64], dim: usize) -> (Vec<f64>, f64) {
    let identity: Vec<f64> = (0..dim * dim).map(|i| f64::from(i.is_multiple_of(dim + 1))).collect();
    let gram = congruent(&identity, vectors, dim);
    let away = |i: usize| -> f64 {
        let row = &gram[i * dim..(i + 1) * dim];
        let rest = |(j, x): (usize, &f64)| (x - f64::from(i == j)).abs();
        row.iter().enumerate().map(rest).sum()
    };
    let d = dim as f64;
    let rounding = d * (2.0 * d + 16.0) * UNIT * 1.1;
    let most = (0..dim).map(away).fold(0.0, |a, b| if a >= b { a } else { b });
    if most < 1e-3 { (vectors.to_vec(), most * 1.001 + rounding) } else { (identity, 0.0) }
}

/// V'AV for a symmetric A.
fn congruent(a: &[f64], v: &[f64], dim: usize) -> Vec<f64> {
    let mut half = vec![0.0; dim * dim]; // A V
    let mut whole = vec![0.0; dim * dim];
    for i in 0..dim {
        let to = &mut half[i * dim..(i + 1) * dim];
        for k in 0..dim {
            add_multiple(to, a[i * dim + k], &v[k * dim..(k + 1) * dim]);
        }
    }
    for k in 0..dim {
        let from = &half[k * dim..(k + 1) * dim];
        for i in 0..dim {
            add_multiple(&mut whole[i * dim..(i + 1) * dim], v[k * dim + i], from);
        }
    }
    whole
}

fn add_multiple(to: &mut [f64], factor: f64, from: &[f64]) {
    for (x, y) in to.iter_mut().zip(from) {
        *x += factor * y;
    }
}

/// b/2 with sum 1/(b + 2 (l_1 - l_i)) = 1 and the widths (1 + 2 (l_1 - l_i)/b)^(-1/2) for the eigenvalues l.
fn envelope(values: &[f64]) -> (f64, Vec<f64>) {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum = |half: f64| -> f64 { values.iter().map(|l| 0.5 / (half + largest - l)).sum() };
    let (mut low, mut high) = (0.5, 0.5 * values.len() as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if sum(middle) > 1.0 { low = middle } else { high = middle }
    }
    (low, values.iter().map(|l| 1.0 / (1.0 + (largest - l) / low).sqrt()).collect())
}

/// A direction that is proposed; as a question, its multiples of the grid.
struct Proposal<'a> {
    law: &'a Bingham,
    normals: &'a Normals,
    stream: &'a Stream,
}

impl Proposal<'_> {
    /// z and y = V D z.
    fn vectors<const N: usize>(&self) -> Result<(Vector<N>, Vector<N>), Undecided> {
        let law = self.law;
        let z = all_at::<N>(self.normals, self.stream)?;
        let narrowed: Vector<N> =
            z.iter().zip(&law.widths).map(|(z, w)| z.times(&Enclosure::double(*w, 0))).collect();
        let rows = law.vectors.chunks_exact(law.dim);
        let y = rows.map(|row| weighted(row.iter().map(|v| Enclosure::double(*v, 0)), &narrowed));
        Ok((z, y.collect()))
    }
}

fn weighted<const N: usize>(
    weights: impl Iterator<Item = Enclosure<N>>,
    x: &[Enclosure<N>],
) -> Enclosure<N> {
    weights.zip(x).fold(Enclosure::ZERO, |sum, (w, x)| sum.plus(&w.times(x)))
}

impl Question for Proposal<'_> {
    type Answer = Vec<i64>;

    fn ask<const N: usize>(&self) -> Result<Vec<i64>, Undecided> {
        let (_, y) = self.vectors::<N>()?;
        Unit::of(y)?.vector.iter().map(|x| x.nearest_multiple(-GRID)).collect()
    }
}

/// Is it kept?
struct Acceptance<'a> {
    proposal: &'a Proposal<'a>,
    height: Variable,
}

impl Acceptance<'_> {
    /// ln of the density over that of the proposals, 0 at most.
    fn log_ratio<const N: usize>(&self) -> Result<Enclosure<N>, Undecided> {
        let law = self.proposal.law;
        let (z, y) = self.proposal.vectors::<N>()?;
        let score = |row: &[i64]| {
            weighted(row.iter().map(|s| Enclosure::dyadic(i128::from(*s), -law.exponent)), &y)
        };
        let moved: Vector<N> = law.score.chunks_exact(law.dim).map(score).collect();
        let square = dot(&y, &y);
        let score = dot(&y, &moved).over(&square)?.times(&Enclosure::double(law.rate, 0));
        let length = dot(&z, &z).over(&square)?.ln()?;
        let length = length.times(&Enclosure::integer(law.dim as i64)).shifted(-1);
        Ok(score.plus(&length).minus(&law.log_envelope()?))
    }
}

impl Question for Acceptance<'_> {
    type Answer = bool;

    fn ask<const N: usize>(&self) -> Result<bool, Undecided> {
        self.height.at::<N>(self.proposal.stream).is_less(&self.log_ratio()?.exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A score of 3 directions with eigenvalues in a ratio of 2^20, and guesses of its eigenvectors.
    fn law(rate: f64, guess: &[f64]) -> Bingham {
        let score = vec![1 << 40, 1 << 30, 0, 1 << 30, 1 << 39, -(1 << 18), 0, -(1 << 18), 1 << 20];
        Bingham::new(score, 30, rate, guess).expect("a law")
    }

    const EYE: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

    #[test]
    fn answers_do_not_depend_on_the_effort() {
        for rate in [1e-4, 1e-2, 0.5] {
            let law = law(rate, &EYE);
            for number in 0..20 {
                let draw = |effort| {
                    let (mut stream, mut out) = (Stream::from_key([7; 32], number), [0.0; 3]);
                    assert!(law.draw(&mut stream, effort, &|| false, &mut out));
                    out
                };
                let found = draw(Effort::Least);
                assert_eq!(found, draw(Effort::Steady));
                assert!((found.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn no_ratio_exceeds_one() {
        let turned = [0.6, -0.8, 0.0, 0.8, 0.6, 0.0, 0.0, 0.0, 1.0];
        let (mut closest, mut broken) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for guess in [EYE, turned] {
            for rate in [1e-6, 1e-3, 0.3, 40.0, 1e6] {
                let mut law = law(rate, &guess);
                for number in 0..200 {
                    let mut stream = Stream::from_key([9; 32], number);
                    let normals = Normal::draw_all(3, &mut stream, Effort::Least);
                    let height = stream.variable();
                    let ratio = |law: &Bingham| {
                        let proposal = Proposal { law, normals: &normals, stream: &stream };
                        let question = Acceptance { proposal: &proposal, height };
                        question.log_ratio::<3>().expect("known").middle_as_double()
                    };
                    closest = closest.max(ratio(&law));
                    let right = law.bound;
                    law.bound -= 0.05 * law.half;
                    broken = broken.max(ratio(&law));
                    law.bound = right;
                }
            }
        }
        assert!(closest <= 0.0 && closest > -0.02, "{closest}");
        assert!(broken > 0.0, "{broken}");
    }

    #[test]
    fn bad_guesses_are_replaced_and_bad_input_refused() {
        let (vectors, away) = near_orthogonal(&[f64::NAN; 9], 3);
        assert_eq!((vectors, away), (EYE.to_vec(), 0.0));
        let (kept, away) = near_orthogonal(&EYE, 3);
        assert!(kept == EYE && away < 1e-13);
        let refused = [(1e30, 30), (0.0, 30), (f64::NAN, 30), (1.0, 63)];
        for (rate, exponent) in refused {
            assert!(Bingham::new(vec![1 << 40, 0, 0, 1], exponent, rate, &EYE[..4]).is_none());
        }
        assert!(Bingham::new(vec![1], 0, 1.0, &[1.0]).is_none());
    }
}
