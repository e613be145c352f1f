//! Public measures on the points of a grid, in integers.
//!
//! Point x of the grid has the mass
//!
//! ```text
//! max(4 K, 1) f(x) + sum over k = 1..K with 10^k | x of f_k(x / 10^k)
//! ```
//!
//! so four fifths of all mass are spread over all points and one, in equal parts, over the multiples of 10, 100, ...,
//! which are short decimals. Flat: f = 1 and `f_k` = 10^k. By octaves, for numbers whose order of magnitude is not known:
//! f = `f_k` = 2^(60 - e) at numbers from 2^e to 2^(e + 1), so that each doubling has the same mass
//! (docs/proofs/private-quantile.md).

/// Points are numbered below 2^61.
const MOST: u32 = 60;

/// The measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridMeasure {
    /// Number of the first point.
    pub first: u64,
    /// Number of the last point.
    pub last: u64,
    /// K, the number of powers of ten whose multiples weigh more.
    pub decimals: u32,
    /// True if each doubling of the number has the same mass; then no point has the number 0.
    pub octaves: bool,
}

impl GridMeasure {
    /// None unless the points are numbered in order and below 2^61, from 1 on if octaves weigh the same.
    #[must_use]
    pub fn checked(self) -> Option<Self> {
        let fits = self.first <= self.last && self.last < 1 << (MOST + 1) && self.decimals <= 18;
        (fits && !(self.octaves && self.first == 0)).then_some(self)
    }

    /// Mass of the points whose number is below x.
    pub(super) fn before(&self, x: u64) -> u128 {
        let Some(mut last) = x.checked_sub(1) else { return 0 };
        let (mut sum, mut power) = (u128::from(self.of_all()) * self.up_to(last, 1), 1);
        for _ in 0..self.decimals {
            last /= 10;
            power *= 10;
            sum += self.up_to(last, power);
        }
        sum
    }

    /// The factor of the term that all points have.
    fn of_all(&self) -> u32 {
        (4 * self.decimals).max(1)
    }

    /// Mass of the multiples up to m that one term of the sum gives.
    fn up_to(&self, m: u64, power: u64) -> u128 {
        if !self.octaves {
            return (u128::from(m) + 1) * u128::from(power);
        }
        let Some(e) = m.checked_ilog2() else { return 0 };
        (u128::from(e) << MOST) + (u128::from(m - (1 << e) + 1) << (MOST - e))
    }

    /// Mass of one point.
    pub(super) fn at(&self, x: u64) -> u128 {
        self.before(x + 1) - self.before(x)
    }

    /// Mass of all points.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.before(self.last + 1) - self.before(self.first)
    }

    /// Mass of points `first`..`stop`.
    #[must_use]
    pub fn between(&self, first: u64, stop: u64) -> u128 {
        self.before(stop) - self.before(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula, point by point.
    fn mass(measure: &GridMeasure, x: u64) -> u128 {
        let own = |m: u64, power: u64| match (measure.octaves, m) {
            (false, _) => u128::from(power),
            (true, 0) => 0,
            (true, _) => 1 << (60 - m.ilog2()),
        };
        let powers = (1..=measure.decimals).map(|k| 10u64.pow(k)).filter(|p| x.is_multiple_of(*p));
        u128::from((4 * measure.decimals).max(1)) * own(x, 1)
            + powers.map(|p| own(x / p, p)).sum::<u128>()
    }

    #[test]
    fn sums_are_those_of_the_formula() {
        for octaves in [false, true] {
            for decimals in 0..4 {
                let first = u64::from(octaves);
                let measure = GridMeasure { first, last: 2500, decimals, octaves };
                let mut sum = 0;
                for x in first..=2500 {
                    assert_eq!(
                        (measure.at(x), measure.between(first, x)),
                        (mass(&measure, x), sum)
                    );
                    assert!(measure.at(x) > 0);
                    sum += mass(&measure, x);
                }
                assert_eq!(measure.total(), sum);
            }
        }
    }

    #[test]
    fn short_decimals_have_a_fifth_of_the_mass_and_octaves_the_same() {
        let flat = GridMeasure { first: 0, last: 9_999_999, decimals: 7, octaves: false };
        let fine = 28 * (flat.last + 1);
        assert!((fine as f64 / flat.total() as f64 - 0.8).abs() < 1e-12);
        let scales = GridMeasure { first: 1, last: (1 << 61) - 1, decimals: 0, octaves: true };
        for e in 0..=60 {
            assert_eq!(scales.between(1 << e, 2 << e), 1 << 60);
        }
        assert_eq!(scales.at(scales.last), 1);
        let widest = GridMeasure { decimals: 18, first: 0, octaves: false, ..scales };
        assert!(widest.total() < 1 << 71);
    }

    #[test]
    fn numbers_that_no_sum_holds_are_refused() {
        let good = GridMeasure { first: 1, last: 9, decimals: 1, octaves: true };
        assert_eq!(good.checked(), Some(good));
        let bad = [
            GridMeasure { first: 0, ..good },
            GridMeasure { last: 0, ..good },
            GridMeasure { last: 1 << 61, ..good },
            GridMeasure { decimals: 19, ..good },
        ];
        assert!(bad.into_iter().all(|measure| measure.checked().is_none()));
    }
}
