//! Places along one coordinate of a box, drawn from a log-affine bound by integers.

use smallvec::SmallVec;

use crate::exact::Enclosure;
use crate::noise::{Stream, below};

/// Leading bits of a place in a box that are drawn from the bound; the others are fair.
const TILTED: u32 = 9;

/// Bounds that change by less than this over a box count as constant.
const FLAT: f64 = 0.01;

/// How places along one coordinate of a box are drawn: in 2^count parts, numbered in the direction in which the
/// bound falls, by the bits of the number.
///
/// The bound on part m is its largest value times the ratios of m's bits: ratio i is at least e^(-2^i x), x the fall
/// of its logarithm over one part.
pub(super) struct Tilt {
    /// In units of 2^-53.
    pub(super) ratios: SmallVec<[u64; TILTED as usize]>,
    pub(super) falls: bool,
}

/// 1 in units of ratios.
const ONE: u64 = 1 << 53;

impl Tilt {
    pub(super) fn new(slope: f64, half: f64, bits: u32) -> Self {
        let fall = 2.0 * (slope * half).abs();
        let count = if fall < FLAT { 0 } else { TILTED.min(bits) };
        let x = fall * 2f64.powi(-(count as i32)) * (1.0 - 1e-14);
        // e^x is more than its first terms
        let series = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)));
        let mut ratio = 1.0 / (series * (1.0 - 1e-14));
        let ratios = (0..count).map(|_| {
            let units = ((ratio * ONE as f64).ceil() as u64).min(ONE);
            let own = share(units);
            ratio = (own * own).next_up();
            units
        });
        Self { ratios: ratios.collect(), falls: slope < 0.0 }
    }

    /// Mean over the parts, in units of the largest value.
    pub(super) fn mean<const N: usize>(&self) -> Enclosure<N> {
        let halves =
            self.ratios.iter().map(|units| Enclosure::dyadic(i128::from(ONE + units), -54));
        halves.fold(Enclosure::integer(1), |product, half| product.times(&half))
    }

    /// The same, about, as a logarithm.
    pub(super) fn ln_mean(&self) -> f64 {
        self.ratios.iter().map(|units| libm::log(0.5 + 0.5 * share(*units))).sum()
    }

    /// The number of a part, drawn in proportion to the bound.
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        let bits = self.ratios.iter().enumerate();
        bits.map(|(i, units)| u64::from(below(ONE + units, stream) >= ONE) << i).sum()
    }

    /// About the logarithm of the bound on a part, in units of the largest value.
    pub(super) fn ln_on(&self, part: u64) -> f64 {
        self.chosen(part).map(|units| libm::log(share(units))).sum()
    }

    /// The bound on a part, in units of the largest value.
    pub(super) fn on<const N: usize>(&self, part: u64) -> Enclosure<N> {
        let ratios = self.chosen(part).map(|units| Enclosure::dyadic(i128::from(units), -53));
        ratios.fold(Enclosure::integer(1), |product, ratio| product.times(&ratio))
    }

    /// The ratios of the bits that are set.
    fn chosen(&self, part: u64) -> impl Iterator<Item = u64> {
        let bits = self.ratios.iter().enumerate().filter(move |(i, _)| part >> i & 1 == 1);
        bits.map(|(_, units)| *units)
    }
}

fn share(units: u64) -> f64 {
    units as f64 / ONE as f64
}
