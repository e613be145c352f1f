//! Noise on R^d, drawn exactly: a vector of doubles plus noise, rounded to a grid, with the law that the rounded
//! sum of real numbers has (docs/proofs/exact-draws.md).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use smallvec::SmallVec;

use super::Profile;
use super::normal::{Normal, Normals, all_at};
use super::steps::{Density, Place, Steps};
use super::stream::Stream;
use crate::exact::matrices::{Unit, Vector};
use crate::exact::{Effort, Enclosure, Question, Undecided, decide};
use crate::vector::{exponent, power_of_two};

/// The density t^power e^-t up to a factor: of the length of a Laplace vector in R^(power + 1).
struct Length {
    power: u32,
}

impl Density for Length {
    fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
        if self.power == 0 {
            return Ok(t.negated().exp());
        }
        let mode = f64::from(self.power);
        let top = Enclosure::double(mode - mode * libm::log(mode), 0);
        let power = Enclosure::integer(i64::from(self.power));
        Ok(t.ln()?.times(&power).minus(t).plus(&top).exp())
    }
}

/// The tables of lengths that were used, by the power.
static LENGTHS: LazyLock<Mutex<HashMap<u32, Arc<Steps<Length>>>>> = LazyLock::new(Mutex::default);

/// The table of lengths of Laplace vectors of scale 1 in R^(power + 1).
fn lengths(power: u32) -> Arc<Steps<Length>> {
    let mut known = LENGTHS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(steps) = known.get(&power) {
        return steps.clone();
    }
    // cells of a sixteenth to a thirty-second of the standard deviation, to eight of them above the mode
    let deviation = f64::from(power + 1).sqrt();
    let width = deviation.log2().floor() as i32 - 4;
    let end = (f64::from(power) + 8.0 * deviation + 8.0) * 2f64.powi(-width);
    let steps = Steps::new(Length { power }, width, end.ceil() as u32);
    let steps = Arc::new(steps.expect("the density falls by more than half in one deviation"));
    known.insert(power, steps.clone());
    steps
}

/// Dimensions beyond this have no Laplace law here.
pub(super) const MOST_DIMENSIONS: usize = 1 << 30;

/// Adds noise of density psi(|y|), psi the profile, to a vector and rounds the sum to multiples of `step`, a
/// power of two.
///
/// The multiples have the law of those of real numbers: they are a function of random bits, found by integer
/// arithmetic. What is not finite counts as 0, and more than 2^60 steps as 2^60.
pub fn add_on_grid(
    profile: Profile,
    vector: &mut [f64],
    step: f64,
    stream: &mut Stream,
    effort: Effort,
) {
    // steps of 2^-24 of the scale are fine enough, and lengths in them fit their words
    let grid = exponent(step).max(exponent(profile.scale()) - 24);
    let step = power_of_two(grid);
    match profile {
        Profile::Gaussian { scale } => {
            for x in vector {
                let normal = Normal::draw(stream, effort);
                let sum = NormalSum { value: *x, scale, grid, normal, stream };
                *x = decide(&sum, effort) as f64 * step;
            }
        }
        Profile::Laplace { .. } if vector.is_empty() => {}
        Profile::Laplace { scale } => {
            let steps = lengths(vector.len() as u32 - 1);
            let (length, is_negative) = steps.draw(stream, effort);
            // a sign is the direction on a line
            let count = if vector.len() == 1 { 0 } else { vector.len() };
            let normals = Normal::draw_all(count, stream, effort);
            let sum = LaplaceSum { vector, scale, grid, length, is_negative, normals, stream };
            let multiples = decide(&sum, effort);
            write(multiples, grid, vector);
        }
    }
}

/// Multiples of a grid step.
pub(super) type Multiples = SmallVec<[i64; 4]>;

/// Writes multiples of 2^`grid` as numbers.
pub(super) fn write(multiples: Multiples, grid: i32, out: &mut [f64]) {
    let step = power_of_two(grid);
    out.iter_mut().zip(multiples).for_each(|(x, multiple)| *x = multiple as f64 * step);
}

/// A finite double within 2^60 grid steps of 0, in steps.
fn in_steps<const N: usize>(value: f64, grid: i32) -> Enclosure<N> {
    let limit = power_of_two(grid.saturating_add(60));
    let value = if value.is_finite() { value.clamp(-limit, limit) } else { 0.0 };
    Enclosure::double(value, -grid)
}

/// Which multiple of the step is closest to value + scale normal?
struct NormalSum<'a> {
    value: f64,
    scale: f64,
    grid: i32,
    normal: Normal,
    stream: &'a Stream,
}

impl Question for NormalSum<'_> {
    type Answer = i64;

    fn ask<const N: usize>(&self) -> Result<i64, Undecided> {
        let noise =
            self.normal.at::<N>(self.stream)?.times(&Enclosure::double(self.scale, -self.grid));
        in_steps(self.value, self.grid).plus(&noise).nearest()
    }
}

/// Which multiples of the step are closest to vector + scale length normals/|normals|?
struct LaplaceSum<'a> {
    vector: &'a [f64],
    scale: f64,
    grid: i32,
    length: Place,
    is_negative: bool,
    normals: Normals,
    stream: &'a Stream,
}

impl Question for LaplaceSum<'_> {
    type Answer = Multiples;

    fn ask<const N: usize>(&self) -> Result<Multiples, Undecided> {
        let scale = Enclosure::<N>::double(self.scale, -self.grid);
        let length = self.length.at::<N>(self.stream)?.times(&scale);
        let direction = if self.normals.is_empty() {
            Vector::from_elem(Enclosure::integer(1).negated_if(self.is_negative), 1)
        } else {
            Unit::of(all_at(&self.normals, self.stream)?)?.vector
        };
        let sums = self.vector.iter().zip(&direction);
        sums.map(|(x, u)| in_steps(*x, self.grid).plus(&length.times(u)).nearest()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::steps::tests::check_all_heights;
    use super::super::stream::Variable;
    use super::*;

    fn stream(id: u64) -> Stream {
        Stream::from_key([11; 32], id)
    }

    #[test]
    fn lengths_have_a_table_in_every_dimension() {
        for power in [0, 1, 2, 3, 4, 7, 10, 100, 1000, 65_535, 1_000_000, (1 << 30) - 1] {
            lengths(power);
        }
    }

    #[test]
    fn all_heights_give_the_density_of_a_length() {
        for power in [0, 1, 4] {
            check_all_heights(Steps::new(Length { power }, -1, 40).unwrap());
        }
    }

    /// The same draws with the most and with the least effort.
    #[test]
    fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
        for (i, scale) in [1e-9, 1e-3, 0.7, 10.0, 3e5].into_iter().enumerate() {
            for dim in [1, 2, 3, 17] {
                for profile in [Profile::Gaussian { scale }, Profile::Laplace { scale }] {
                    let step = 2f64.powi(exponent(scale) - 20);
                    let value = (0..dim).map(|j| scale * (f64::from(j) - 1.3) * 40.0);
                    let value: Vec<f64> = value.collect();
                    let (mut steady, mut least) = (stream(i as u64), stream(i as u64));
                    for _ in 0..300 {
                        let (mut a, mut b) = (value.clone(), value.clone());
                        add_on_grid(profile, &mut a, step, &mut steady, Effort::Steady);
                        add_on_grid(profile, &mut b, step, &mut least, Effort::Least);
                        assert_eq!(a, b, "{profile:?}");
                        assert!(a.iter().all(|x| (x / step).fract() == 0.0 && x.is_finite()));
                    }
                }
            }
        }
    }

    /// The sum with only the first bits of the normal in two words; all of them, if that does not decide. With
    /// `trust` bits more than are known it claims too much.
    struct Narrow<'a> {
        sum: NormalSum<'a>,
        bits: u32,
        trust: u32,
    }

    impl Question for Narrow<'_> {
        type Answer = (i64, bool);

        fn ask<const N: usize>(&self) -> Result<(i64, bool), Undecided> {
            if N > 2 {
                return self.sum.ask::<N>().map(|found| (found, true));
            }
            let mut sum = NormalSum { ..self.sum };
            sum.normal.size = sum.normal.size.shortened(self.bits, self.trust);
            sum.ask::<N>().map(|found| (found, false))
        }
    }

    /// Draws of 20,000 that differ with narrow numbers, and how many of them needed more words.
    fn differing(bits: u32, trust: u32) -> (usize, usize) {
        let mut stream = stream(77);
        let (mut differ, mut refined) = (0, 0);
        for _ in 0..20_000 {
            let normal = Normal::draw(&mut stream, Effort::Least);
            let sum = NormalSum { value: 0.3, scale: 1.7, grid: -20, normal, stream: &stream };
            let exact = decide(&sum, Effort::Steady);
            let (found, more) = decide(&Narrow { sum, bits, trust }, Effort::Least);
            differ += usize::from(found != exact);
            refined += usize::from(more);
        }
        (differ, refined)
    }

    #[test]
    fn numbers_of_few_bits_give_the_same_draws() {
        for bits in [18, 20, 24, 28, 34, 40] {
            let (differ, refined) = differing(bits, 0);
            assert_eq!(differ, 0);
            assert!(bits > 24 || refined > 10, "{bits} {refined}");
        }
    }

    /// The control: bounds an eighth as wide.
    #[test]
    fn numbers_that_claim_more_bits_than_they_know_give_others() {
        assert!(differing(20, 3).0 > 20);
    }

    /// Chi-square over the cells of a coarse grid against the law with another scale.
    fn distance_from_law(profile: Profile, factor: f64) -> f64 {
        let (scale, n) = (profile.scale(), 60_000);
        let (step, mut stream) = (0.5, stream(5));
        let below = |x: f64| match profile {
            Profile::Gaussian { .. } => {
                0.5 * libm::erfc(-x / (scale * factor) * std::f64::consts::FRAC_1_SQRT_2)
            }
            Profile::Laplace { .. } if x < 0.0 => 0.5 * libm::exp(x / (scale * factor)),
            Profile::Laplace { .. } => 1.0 - 0.5 * libm::exp(-x / (scale * factor)),
        };
        let (value, cells) = (0.2, 8);
        let mut seen = vec![0.0; 2 * cells + 1];
        for _ in 0..n {
            let mut x = [value];
            add_on_grid(profile, &mut x, step, &mut stream, Effort::Least);
            let k = (x[0] / step).clamp(-(cells as f64), cells as f64);
            seen[(k + cells as f64) as usize] += 1.0;
        }
        let border = |k: f64| below((k - 0.5) * step - value);
        seen.iter()
            .enumerate()
            .map(|(i, seen)| {
                let k = i as f64 - cells as f64;
                let low = if i == 0 { 0.0 } else { border(k) };
                let high = if i == 2 * cells { 1.0 } else { border(k + 1.0) };
                let expected = f64::from(n) * (high - low);
                (seen - expected) * (seen - expected) / expected
            })
            .sum()
    }

    #[test]
    fn cells_of_the_grid_have_the_mass_of_the_law() {
        for profile in [Profile::Gaussian { scale: 1.1 }, Profile::Laplace { scale: 0.9 }] {
            let distance = distance_from_law(profile, 1.0);
            assert!(distance < 40.0, "{profile:?} {distance}"); // 16 degrees of freedom
            let control = distance_from_law(profile, 1.03);
            assert!(control > 50.0, "{profile:?} {control}");
        }
    }

    #[test]
    fn laplace_vectors_have_the_length_and_the_directions_of_their_law() {
        let mut stream = stream(9);
        for dim in [2usize, 3, 40] {
            let (mut length, mut square, mut first, n) = (0.0, 0.0, 0.0, 20_000);
            for _ in 0..n {
                let mut x = vec![0.0; dim];
                let profile = Profile::Laplace { scale: 2.0 };
                add_on_grid(profile, &mut x, 2f64.powi(-19), &mut stream, Effort::Least);
                let own = x.iter().map(|x| x * x).sum::<f64>() / 4.0;
                length += own.sqrt() / f64::from(n);
                square += own / f64::from(n);
                first += x[0] * x[0] / 4.0 / own * dim as f64 / f64::from(n);
            }
            let d = dim as f64;
            let error = |deviation: f64| 5.0 * deviation / f64::from(n).sqrt();
            assert!((length - d).abs() < error(d.sqrt()), "{length}");
            assert!((square - d * (d + 1.0)).abs() < error(3.0 * d.powf(1.5)), "{square}");
            assert!((first - 1.0).abs() < error(1.5), "{first}");
        }
    }

    #[test]
    fn tails_go_on() {
        let normal = Normal::beyond(Variable::prefix(1, 64));
        let size = normal.at::<8>(&stream(0)).unwrap().middle_as_double();
        assert!(size < -15.0, "{size}");
    }

    #[test]
    fn what_is_not_finite_counts_as_zero() {
        let profile = Profile::Gaussian { scale: 1.0 };
        let draw = |value: f64| {
            let mut x = [value];
            add_on_grid(profile, &mut x, 2f64.powi(-20), &mut stream(1), Effort::Least);
            x[0]
        };
        assert!([f64::NAN, f64::INFINITY, -f64::INFINITY].iter().all(|x| draw(*x) == draw(0.0)));
        assert!(draw(1e300).is_finite() && draw(1e300) > 1e10);
        // a scale far beyond the grid takes steps of its own
        let mut x = [0.0];
        add_on_grid(Profile::Laplace { scale: 1e90 }, &mut x, 1.0, &mut stream(1), Effort::Least);
        assert!(x[0].abs() > 1e80 && x[0].is_finite());
    }
}
