//! Draws from a log-concave density by rejection from steps, decided by integers and enclosures alone.
//!
//! The half-line is cut into cells of a width w, a power of two, up to an end T, and units of a length v behind
//! it. A cell is chosen with an integer weight W of at least U times the largest value of the density f in it; the
//! place in the cell has infinitely many random bits, as has the height V, and the proposal is accepted if
//! V W < U f(place). So the law is f, whatever the weights are, as long as none is too small:
//!
//! ```text
//! P(cell, place in dt, accepted) = 2^-62 W (dt/w) (U f(t)/W) = 2^-62 (U/w) f(t) dt
//! ```
//!
//! Behind T the unit is k with probability 2^-(k+1), from the zeros before the first 1 of the place's bits. Its
//! weight is that of f(T) 2^-k: f is log-concave, f(T) is less than f at some earlier end and f(T + v) <= f(T)/2.
//! The proof is in docs/proofs/exact-draws.md.

use super::stream::{Stream, Variable};
use crate::exact::{Effort, Enclosure, MOST_WORDS, Question, Undecided, decide, try_decide};
use crate::vector::{exponent, power_of_two};

/// A density on the positive numbers, known up to a factor: log-concave, and at most about 1.
pub(super) trait Density {
    /// Its value.
    ///
    /// # Errors
    /// [`Undecided`] if more words are needed.
    fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided>;
}

/// The logarithm of a log-concave density on the positive numbers, known up to a constant.
pub(super) trait LogDensity {
    /// Its value; none where the density is 0.
    ///
    /// # Errors
    /// [`Undecided`] if more words are needed.
    fn ln<const N: usize>(&self, t: &Enclosure<N>) -> Result<Option<Enclosure<N>>, Undecided>;
}

/// A density that is about 1 at its mode.
pub(super) struct Scaled<D> {
    pub(super) of: D,
    /// About the logarithm at the mode.
    offset: f64,
}

impl<D: LogDensity> Scaled<D> {
    /// None if the logarithm at the mode has no enclosure.
    pub(super) fn new(of: D, mode: f64) -> Option<Self> {
        let offset = try_decide(&LnAt { density: &of, t: mode }, Effort::Least).ok()??;
        Some(Self { of, offset })
    }
}

impl<D: LogDensity> Density for Scaled<D> {
    fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
        let ln = self.of.ln(t)?;
        Ok(ln.map_or(Enclosure::ZERO, |ln| ln.minus(&Enclosure::double(self.offset, 0)).exp()))
    }
}

/// About what is the logarithm of a density at t?
struct LnAt<'a, D> {
    density: &'a D,
    t: f64,
}

impl<D: LogDensity> Question for LnAt<'_, D> {
    type Answer = Option<f64>;

    fn ask<const N: usize>(&self) -> Result<Option<f64>, Undecided> {
        let ln = self.density.ln::<N>(&Enclosure::double(self.t, 0))?;
        Ok(ln.map(|ln| ln.middle_as_double()))
    }
}

/// Weights have this sum.
const TOTAL_BITS: u32 = 62;

/// A cell and what stands beside it in the table.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// W, in units of which there are 2^62.
    weight: u64,
    /// Heights whose first word is below this are accepted wherever the place is.
    sure: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Integers below this stand for the slot's own entry, others for `other`.
    threshold: u64,
    other: u32,
}

/// The table of a density.
pub(super) struct Steps<D> {
    density: D,
    /// w = 2^width
    width: i32,
    /// v = 2^(width + unit)
    unit: i32,
    /// U, the number of units in a density of 1.
    units: u64,
    /// The cells, and last the tail.
    cells: Vec<Cell>,
    slots: Vec<Slot>,
}

/// A draw: a number with as many bits as are asked for.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of the cell; that of T for the tail.
    cell: u64,
    is_tail: bool,
    width: i32,
    unit: i32,
    within: Variable,
}

impl Place {
    /// The number.
    ///
    /// # Errors
    /// [`Undecided`] if all N - 1 words are 0, in the tail.
    pub(super) fn at<const N: usize>(&self, stream: &Stream) -> Result<Enclosure<N>, Undecided> {
        let start = Enclosure::<N>::dyadic(i128::from(self.cell), self.width);
        if self.is_tail {
            let (_, within) = self.in_unit(stream)?;
            return Ok(start.plus(&within.shifted(self.width + self.unit)));
        }
        Ok(start.plus(&self.within.at::<N>(stream).shifted(self.width)))
    }

    /// The number x as a double y from its first bits, |x - y| <= 3 2^-53 (x + 2^-8 w), w the width of the cell; none
    /// in the tail.
    #[inline]
    pub(super) fn about(&self, stream: &Stream) -> Option<f64> {
        let first = if self.is_tail { None } else { self.within.first_word(stream) }?;
        Some((self.cell as f64 + first as f64 * 2f64.powi(-64)) * power_of_two(self.width))
    }

    /// Makes it about a 2^-`zeros` of a cell.
    #[cfg(test)]
    pub(super) fn set_small(&mut self, zeros: u32) {
        (self.cell, self.is_tail, self.within) = (0, false, Variable::after_zeros(zeros));
    }

    /// The same with only the first bits, and an error as if `trust` more were known.
    #[cfg(test)]
    pub(super) fn shortened(&self, bits: u32, trust: u32) -> Self {
        Self { within: self.within.shortened(bits, trust), ..*self }
    }

    /// k, and k plus the place in unit k.
    fn in_unit<const N: usize>(&self, stream: &Stream) -> Result<(i32, Enclosure<N>), Undecided> {
        // twice as many words as are kept: the zeros cost none of them
        let mut words = [0; 2 * MOST_WORDS];
        let count = 2 * (N - 1);
        let known = self.within.read(stream, &mut words[..count]);
        let whole = words[..N - 1].iter().position(|word| *word != 0).ok_or(Undecided)?;
        let zeros = words[whole].leading_zeros() as usize;
        let (k, bits) = (64 * whole + zeros, zeros + 1);
        let known = (known as usize).min(64 * count);
        if k >= known {
            return Err(Undecided);
        }
        let mut rest = [0; N];
        for (i, word) in rest[..N - 1].iter_mut().enumerate() {
            let (high, low) = (words[whole + i], words[whole + i + 1]);
            *word = high.checked_shl(bits as u32).unwrap_or(0) | low >> (64 - bits);
        }
        let place = Enclosure::fraction(&rest, (known - k - 1) as u32);
        Ok((k as i32, place.plus(&Enclosure::integer(k as i64))))
    }
}

/// The question whether a proposal is accepted.
struct Acceptance<'a, D> {
    steps: &'a Steps<D>,
    stream: &'a Stream,
    place: Place,
    weight: u64,
    height: Variable,
}

impl<D: Density> Question for Acceptance<'_, D> {
    type Answer = bool;

    fn ask<const N: usize>(&self) -> Result<bool, Undecided> {
        let (steps, place) = (self.steps, &self.place);
        // both sides are divided by the power of two above U
        let size = 64 - steps.units.leading_zeros() as i32;
        let height = self.height.at::<N>(self.stream);
        let mut left = Enclosure::dyadic(i128::from(self.weight), -size).times(&height);
        let mut right = steps.density.at(&place.at::<N>(self.stream)?)?;
        right = right.times(&Enclosure::dyadic(i128::from(steps.units), -size));
        if place.is_tail {
            let (k, _) = place.in_unit::<N>(self.stream)?;
            (left, right) = (left.shifted(-k - 1), right.shifted(steps.unit));
        }
        left.is_less(&right)
    }
}

impl<D: Density> Steps<D> {
    /// The table with cells of width 2^`width` up to `end` of them. None if the density cannot be enclosed at the
    /// cells' ends, is not known to be less at the last one than at another, or neither vanishes nor falls behind it.
    pub(super) fn new(density: D, width: i32, end: u32) -> Option<Self> {
        let at = |mantissa: i128, exponent: i32| {
            try_decide(&Value { density: &density, mantissa, exponent }, Effort::Least).ok()
        };
        // where it vanishes at 0 it has no logarithm there
        let first = density.at::<WORDS>(&Enclosure::ZERO).unwrap_or(Enclosure::ZERO);
        let rest = (1..=end).map(|i| at(i128::from(i), width));
        let ends: Vec<_> = std::iter::once(Some(first)).chain(rest).collect::<Option<_>>()?;
        let last = ends[end as usize];
        let unit = if last.is_zero() {
            0
        } else {
            let fallen = |unit: i32| at((i128::from(end) << 1) + (1 << (unit + 1)), width - 1);
            let halved =
                |unit: &i32| fallen(*unit).is_some_and(|f| f.shifted(1).is_less(&last) == Ok(true));
            (0..40).find(halved)?
        };
        let tail = last.shifted(unit + 1);
        // the units behind the last end are right only if the density falls there
        let falls = ends[..end as usize].iter().any(|f| last.is_less(f) == Ok(true));
        if !falls {
            return None;
        }
        let cells = 0..end as usize;
        let size = |i: &usize| ends[*i].middle_as_double();
        let most = (0..ends.len()).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(0);
        let tops = cells.clone().map(|i| highest(&ends, i, most)).chain([Some([tail; 2])]);
        let tops: Vec<_> = tops.collect::<Option<_>>()?;
        let [one, other] = [0, 1].map(|k| tops.iter().map(move |top| top[k].middle_as_double()));
        let total: f64 = one.zip(other).map(|(a, b)| a.max(b)).sum();
        let (count, whole) = (tops.len() as f64 + 1.0, 2f64.powi(TOTAL_BITS as i32));
        let units = (whole / total * (1.0 - 2f64.powi(-20)) - 2.0 * count) as u64;
        let bits = TOTAL_BITS as i32;
        let factor = Enclosure::dyadic(i128::from(units), -bits);
        let weight = |top: &Enclosure<WORDS>| {
            if top.is_zero() {
                Some(0)
            } else {
                Some(top.times(&factor).above(bits)?.max(1) as u64)
            }
        };
        let weights = tops.iter().map(|[a, b]| Some(weight(a)?.max(weight(b)?)));
        let weights: Vec<u64> = weights.collect::<Option<_>>()?;
        // unimodal, so that it is least at an end; 2^62 f U, rounded down
        let below =
            |f: &Enclosure<WORDS>| f.times(&factor).below(bits).map_or(0, |w| w.max(0) as u64);
        let lows = cells.map(|i| below(&ends[i]).min(below(&ends[i + 1])));
        let sure = lows.zip(&weights).map(|(low, weight)| {
            let share = (u128::from(low) << 64).checked_div(u128::from(*weight)).unwrap_or(0);
            u64::try_from(share).unwrap_or(u64::MAX)
        });
        let sure: Vec<u64> = sure.chain([0]).collect();
        let cells = weights.iter().zip(sure).map(|(&weight, sure)| Cell { weight, sure }).collect();
        let slots = slots(&weights)?;
        Some(Self { density, width, unit, units, cells, slots })
    }

    /// The table with cells of an eighth to a quarter of the standard deviation, to at most eight of them above the mean
    /// or, if that is near, to the farthest point. None as for [`Steps::new`], or for numbers out of range.
    pub(super) fn over(density: D, mean: f64, deviation: f64, farthest: f64) -> Option<Self> {
        let width = exponent(deviation.max(mean * 1e-6).max(1e-300)) - 2;
        // to where two words still tell the density well
        let value = |t: f64| density.at::<WORDS>(&Enclosure::double(t, 0));
        let is_known = |t: &f64| value(*t).is_ok_and(|f| f.middle_as_double() > 2f64.powi(-50));
        let enough = (2..=8).rev().map(|k| mean + f64::from(k) * deviation).find(is_known);
        let enough = enough.unwrap_or(mean + deviation);
        let end = if farthest < enough + 4.0 * deviation { farthest } else { enough };
        let end = end * 2f64.powi(-width) + 2.0;
        if end.is_finite() && end < 1e6 { Self::new(density, width, end as u32) } else { None }
    }

    /// The density.
    pub(super) fn density(&self) -> &D {
        &self.density
    }

    /// A draw, and a random bit.
    pub(super) fn draw(&self, stream: &mut Stream, effort: Effort) -> (Place, bool) {
        let bits = self.slots.len().trailing_zeros();
        let capacity = 1 << (TOTAL_BITS - bits);
        loop {
            let word = stream.bits();
            let (own, rest) =
                (word as usize & (self.slots.len() - 1), word >> bits & (capacity - 1));
            let slot = &self.slots[own];
            let chosen = if rest < slot.threshold { own } else { slot.other as usize };
            let (within, height) = (stream.variable(), stream.variable());
            let Some(cell) = self.cells.get(chosen) else { continue };
            let place = self.place(chosen, within);
            let is_sure = effort == Effort::Least && height.first < cell.sure;
            let acceptance =
                || Acceptance { steps: self, stream, place, weight: cell.weight, height };
            if is_sure || decide(&acceptance(), effort) {
                return (place, word >> 63 == 1);
            }
        }
    }

    /// A place in the tail.
    #[cfg(test)]
    pub(super) fn beyond(&self, within: Variable) -> Place {
        self.place(self.cells.len() - 1, within)
    }

    fn place(&self, cell: usize, within: Variable) -> Place {
        let is_tail = cell + 1 == self.cells.len();
        Place { cell: cell as u64, is_tail, width: self.width, unit: self.unit, within }
    }
}

/// Words of the values from which a table is made.
const WORDS: usize = 2;

/// What is the density at `mantissa` 2^`exponent`?
struct Value<'a, D> {
    density: &'a D,
    mantissa: i128,
    exponent: i32,
}

impl<D: Density> Question for Value<'_, D> {
    type Answer = Enclosure<WORDS>;

    fn ask<const N: usize>(&self) -> Result<Self::Answer, Undecided> {
        self.density.at::<N>(&Enclosure::dyadic(self.mantissa, self.exponent))?.narrowed()
    }
}

/// Two numbers, the larger of which bounds the density in cell i, from its values at the ends of all cells, the
/// largest of which is `most`.
///
/// The density rises up to any end where it is known to be less than at a later one, and falls from any where it is
/// known to be less than at an earlier one. Near its mode the chord of its logarithm over a neighbouring
/// cell, continued, lies above it: f(b) at the near end and f(b)^2/f(c) at the far one.
fn highest(ends: &[Enclosure<WORDS>], i: usize, most: usize) -> Option<[Enclosure<WORDS>; 2]> {
    if i + 1 < most && ends[i + 1].is_less(&ends[most]) == Ok(true) {
        return Some([ends[i + 1]; 2]);
    }
    if i > most && ends[i].is_less(&ends[most]) == Ok(true) {
        return Some([ends[i]; 2]);
    }
    let chord = |near: &Enclosure<WORDS>, far: &Enclosure<WORDS>| {
        near.over(far).ok().map(|ratio| [*near, ratio.times(near)])
    };
    let right = ends.get(i + 2).and_then(|far| chord(&ends[i + 1], far));
    let left = if i > 0 { chord(&ends[i], &ends[i - 1]) } else { None };
    right.or(left)
}

/// Walker's alias table in integers: entry i is drawn with probability `weights[i]`/2^62, and one beyond all
/// with the rest. None if the weights exceed 2^62.
fn slots(weights: &[u64]) -> Option<Vec<Slot>> {
    let count = (weights.len() + 1).next_power_of_two();
    let capacity = (1u64 << TOTAL_BITS) / count as u64;
    let used: u128 = weights.iter().map(|w| u128::from(*w)).sum();
    let rest = (1u128 << TOTAL_BITS).checked_sub(used)?;
    let mut share: Vec<u64> = weights.iter().copied().chain([rest as u64]).collect();
    share.resize(count, 0);
    let mut slots: Vec<Slot> =
        (0..count).map(|i| Slot { threshold: capacity, other: i as u32 }).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|&i| share[i] < capacity);
    while let (Some(low), Some(&high)) = (poor.pop(), rich.last()) {
        slots[low] = Slot { threshold: share[low], other: high as u32 };
        share[high] -= capacity - share[low];
        if share[high] < capacity {
            rich.pop();
            poor.push(high);
        }
    }
    Some(slots)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::normal::HalfNormal;
    use super::*;

    /// The density t^3 e^-t, up to a factor.
    struct Rising;

    impl Density for Rising {
        fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
            Ok(t.ln()?.times(&Enclosure::integer(3)).minus(t).exp().shifted(-1))
        }
    }

    /// Weights and bounds against the density at 50 points of each cell, with twice the words of the table.
    fn check_table<D: Density>(steps: &Steps<D>, width: i32) {
        let units = steps.units as f64;
        for (i, cell) in steps.cells[..steps.cells.len() - 1].iter().enumerate() {
            for part in 0..=50 {
                let t = (i as f64 + f64::from(part) / 50.0) * 2f64.powi(width);
                let value = steps.density.at::<8>(&Enclosure::double(t, 0));
                let value = value.map_or(0.0, |f| f.middle_as_double()) * units;
                assert!(value <= cell.weight as f64 * (1.0 + 1e-15) + 1e-6, "{i} {t}");
                let sure = cell.sure as f64 * 2f64.powi(-64) * cell.weight as f64;
                assert!(sure <= value * (1.0 + 1e-15) + 1e-6, "{i} {t}");
            }
        }
        let weights: Vec<u64> = steps.cells.iter().map(|cell| cell.weight).collect();
        let capacity = (1u64 << TOTAL_BITS) / steps.slots.len() as u64;
        let mut shares = vec![0; steps.slots.len()];
        for (i, slot) in steps.slots.iter().enumerate() {
            shares[i] += slot.threshold;
            shares[slot.other as usize] += capacity - slot.threshold;
        }
        assert_eq!(shares[..weights.len()], weights);
        let total: u64 = weights.iter().sum();
        assert_eq!(shares[weights.len()], (1 << TOTAL_BITS) - total);
        assert!(total as f64 > 2f64.powi(TOTAL_BITS as i32) * 0.99);
    }

    #[test]
    fn tables_lie_above_their_density() {
        check_table(&Steps::new(HalfNormal, -6, 512).unwrap(), -6);
        check_table(&Steps::new(HalfNormal, -1, 16).unwrap(), -1);
        check_table(&Steps::new(Rising, -3, 160).unwrap(), -3);
    }

    /// No height is accepted without a look at the density that it would reject, also where the ends of the cell at
    /// the mode are equal but for rounding.
    #[test]
    fn sure_heights_lie_below_the_density() {
        /// The density t^3 e^(-rate t).
        struct Tuned(f64);
        impl Density for Tuned {
            fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
                let fall = t.times(&Enclosure::double(self.0, 0));
                Ok(t.ln()?.times(&Enclosure::integer(3)).minus(&fall).exp().shifted(-4))
            }
        }
        for i in [9u32, 24, 25, 40] {
            // f((i + 1)/8) = f(i/8), and rates nearby
            let rate = 24.0 * (f64::from(i + 1) / f64::from(i)).ln();
            let end = (200.0 / rate) as u32;
            for ulps in -60..60 {
                let tuned = Tuned(rate + f64::from(ulps) * rate * 2f64.powi(-53));
                let steps = Steps::new(tuned, -3, end).unwrap();
                let cells = steps.cells[..end as usize].iter().enumerate();
                for (k, cell) in cells.skip(i as usize - 1).take(3) {
                    let value = |k: usize| {
                        let t = Enclosure::dyadic(k as i128, -3);
                        let f = steps.density.at::<8>(&t).unwrap();
                        f.times(&Enclosure::dyadic(i128::from(steps.units), -62))
                    };
                    let (weight, sure) = (i128::from(cell.weight), i128::from(cell.sure));
                    let height =
                        Enclosure::dyadic(weight, -62).times(&Enclosure::dyadic(sure, -64));
                    for end in [k, k + 1] {
                        assert_ne!(value(end).is_less(&height), Ok(true), "{i} {ulps} {k}");
                    }
                }
            }
        }
    }

    /// Flat at the mode, so that neighbouring ends are equal but for rounding.
    #[test]
    fn plateaus_have_a_table() {
        /// A constant up to 4, known to few bits, and e^-t behind.
        struct Plateau;
        impl Density for Plateau {
            fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
                let behind = t.minus(&Enclosure::integer(4));
                let is_flat = behind.middle_as_double() <= 0.0;
                let height = if is_flat { Enclosure::integer(1) } else { behind.negated().exp() };
                let third = Enclosure::integer(3).reciprocal()?;
                Ok(height.times(&third).times(&Enclosure::integer(3)).shifted(-1))
            }
        }
        check_table(&Steps::new(Plateau, -3, 128).unwrap(), -3);
    }

    #[test]
    fn densities_without_an_end_or_a_fall_have_no_table() {
        struct Flat;
        impl Density for Flat {
            fn at<const N: usize>(&self, _: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
                Ok(Enclosure::integer(1))
            }
        }
        assert!(Steps::new(Flat, 0, 4).is_none());
        // it has fallen to half some units behind T = 2, but rises to 3 before
        assert!(Steps::new(Rising, -3, 16).is_none() && Steps::new(Rising, -3, 32).is_some());
        assert!(Steps::new(HalfNormal, 40, 4).is_none());
    }

    /// Leading bits of places, and bits of heights, that are enumerated.
    const PLACES: u32 = 5;
    const HEIGHTS: u32 = 9;

    /// The number of places at which the share of heights that the sampler's own decisions accept is not that of the
    /// density, and what is undecided in all.
    fn contradictions<D: Density>(steps: &Steps<D>) -> (usize, f64) {
        let stream = &Stream::from_key([0; 32], 0);
        let (mut found, mut undecided) = (0, 0);
        for (i, cell) in steps.cells.iter().enumerate().filter(|(_, cell)| cell.weight > 0) {
            for leading in 0..1 << PLACES {
                let within = Variable::prefix(leading << (64 - PLACES) | 0x1234_5678_9abc, 64);
                let (place, weight) = (steps.place(i, within), cell.weight);
                let counts = (0..1 << HEIGHTS).map(|height| {
                    let height = Variable::prefix(height, HEIGHTS);
                    match (Acceptance { steps, stream, place, weight, height }).ask::<2>() {
                        Ok(accepted) => (u32::from(accepted), 0),
                        Err(Undecided) => (0, 1),
                    }
                });
                let (accepted, open) = counts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
                undecided += open;
                let t = place.at::<2>(stream).unwrap().middle_as_double();
                let value = steps.density.at::<8>(&Enclosure::double(t, 0));
                let value = value.map_or(0.0, |f| f.middle_as_double()) * steps.units as f64;
                let unit = if place.is_tail {
                    let (k, _) = place.in_unit::<2>(stream).unwrap();
                    2f64.powi(steps.unit + k + 1)
                } else {
                    1.0
                };
                let exact = value * unit / weight as f64 * 2f64.powi(HEIGHTS as i32);
                let (least, most) = (f64::from(accepted), f64::from(accepted + open));
                found += usize::from(exact < least - 1e-6 || exact > most + 1e-6);
            }
        }
        let all = steps.cells.len() as f64 * 2f64.powi((PLACES + HEIGHTS) as i32);
        (found, f64::from(undecided) / all)
    }

    /// All heights at a place in each part of each cell are accepted as the density says. A weight that is below the
    /// density is seen.
    pub(in super::super) fn check_all_heights<D: Density>(mut steps: Steps<D>) {
        let (contradicted, undecided) = contradictions(&steps);
        assert_eq!(contradicted, 0);
        assert!(undecided < 0.01, "{undecided}");
        let at = |i: usize| steps.density.at::<8>(&Enclosure::dyadic(i as i128, steps.width));
        let value = |i: usize| at(i).map_or(0.0, |f| f.middle_as_double());
        let highest = (0..steps.cells.len() - 1).max_by(|i, j| value(*i).total_cmp(&value(*j)));
        let highest = highest.unwrap();
        steps.cells[highest].weight = (0.9 * value(highest) * steps.units as f64) as u64;
        assert!(contradictions(&steps).0 > 0);
    }

    #[test]
    fn all_heights_give_the_density() {
        check_all_heights(Steps::new(HalfNormal, -1, 16).unwrap());
        check_all_heights(Steps::new(Rising, -1, 40).unwrap());
    }

    /// Bits of place and height that are enumerated.
    const DEPTH: u32 = 8;

    /// Mass of each half cell, and at last of the tail, that all tapes of one proposal decide and leave
    /// undecided, found by the sampler's own decisions.
    fn all_tapes(steps: &Steps<HalfNormal>) -> Vec<(f64, f64)> {
        let stream = Stream::from_key([0; 32], 0);
        let cells = steps.cells.len();
        let mut masses = vec![(0.0, 0.0); 2 * cells - 1];
        for (i, cell) in steps.cells.iter().enumerate() {
            for within in 0..1 << DEPTH {
                let at = if i + 1 == cells { 2 * i } else { 2 * i + (within >> (DEPTH - 1)) };
                for height in 0..1 << DEPTH {
                    let place = steps.place(i, Variable::prefix(within as u64, DEPTH));
                    let height = Variable::prefix(height, DEPTH);
                    let (stream, weight) = (&stream, cell.weight);
                    let mass = weight as f64 * 4f64.powi(-(DEPTH as i32));
                    match (Acceptance { steps, stream, place, weight, height }).ask::<2>() {
                        Ok(true) => masses[at].0 += mass,
                        Ok(false) => {}
                        Err(Undecided) => masses[at].1 += mass,
                    }
                }
            }
        }
        masses
    }

    /// The number of masses that the enumeration contradicts, and what it leaves undecided in all.
    fn mass_contradictions(steps: &Steps<HalfNormal>) -> (usize, f64) {
        let masses = all_tapes(steps);
        let root = std::f64::consts::FRAC_1_SQRT_2;
        let from = |t: f64| (std::f64::consts::PI / 2.0).sqrt() * libm::erfc(t * root);
        let found = masses.iter().enumerate().filter(|(at, (decided, undecided))| {
            let (low, high) = (0.25 * *at as f64, 0.25 * (*at as f64 + 1.0));
            let mass = if at + 1 == masses.len() { from(low) } else { from(low) - from(high) };
            let mass = mass * 2.0 * steps.units as f64;
            let slack = 1e-12 * mass;
            mass < decided - slack || mass > decided + undecided + slack
        });
        let total: f64 = masses.iter().map(|(_, undecided)| undecided).sum();
        (found.count(), total / 2f64.powi(TOTAL_BITS as i32))
    }

    #[test]
    fn all_tapes_of_a_proposal_give_the_law() {
        let steps = Steps::new(HalfNormal, -1, 16).unwrap();
        let (contradicted, undecided) = mass_contradictions(&steps);
        assert_eq!(contradicted, 0);
        assert!(undecided < 0.02, "{undecided}");
    }

    /// Places with many leading zeros, near 0 and far out in the tail, are decided.
    #[test]
    fn no_words_are_lost_to_leading_zeros() {
        let stream = Stream::from_key([1; 32], 0);
        let steps = Steps::new(Rising, -3, 160).unwrap();
        for zeros in [1, 20, 23, 40, 63, 100, 120] {
            let within = Variable::after_zeros(zeros);
            let near = steps.place(0, within).at::<8>(&stream).unwrap();
            assert!(steps.density.at(&near).is_ok(), "{zeros}");
            let far = steps.beyond(within);
            let (k, place) = far.in_unit::<8>(&stream).unwrap();
            assert_eq!(k, zeros as i32);
            assert_eq!(place.floor(), Ok(i64::from(zeros)));
            let height = Variable::after_zeros(5);
            let weight = steps.cells[160].weight;
            let acceptance =
                Acceptance { steps: &steps, stream: &stream, place: far, weight, height };
            assert!(acceptance.ask::<8>().is_ok(), "{zeros}");
        }
    }

    /// The control: a weight that is too small in one cell is seen.
    #[test]
    fn all_tapes_of_a_low_step_give_another_law() {
        for (cell, share) in [(0, 0.7), (3, 0.9)] {
            let mut steps = Steps::new(HalfNormal, -1, 16).unwrap();
            let weight = &mut steps.cells[cell].weight;
            *weight = (*weight as f64 * share) as u64;
            assert!(mass_contradictions(&steps).0 > 0);
        }
    }
}
