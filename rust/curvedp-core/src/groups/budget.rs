//! What noise is calibrated to.

use crate::noise::{Profile, Stream, laplace};

/// What makes up for the rounding of sensitivities, which are right to 2^-42 relative, and of divisions.
const OUTWARD: f64 = 1.0 + 1.0 / (1u64 << 40) as f64;

/// A share of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// epsilon-DP: Laplace noise of scale Delta/epsilon.
    Pure(f64),
    /// mu-GDP: Gaussian noise of scale Delta/mu.
    Gaussian(f64),
}

impl Budget {
    /// The noise's scale for a statistic that moves by at most `sensitivity`: no less than Delta/epsilon in
    /// exact arithmetic, the sensitivity's own rounding included (docs/proofs/conversions.md, section 8).
    /// `outward_scale` of the Python package finds the same bits.
    pub(super) fn scale(self, sensitivity: f64) -> f64 {
        let (Self::Pure(budget) | Self::Gaussian(budget)) = self;
        (sensitivity / budget * OUTWARD).next_up()
    }

    /// The shape of the noise.
    pub(super) fn profile(self, scale: f64) -> Profile {
        match self {
            Self::Pure(_) => Profile::Laplace { scale },
            Self::Gaussian(_) => Profile::Gaussian { scale },
        }
    }

    /// Noise on the real line.
    pub(super) fn noise(self, scale: f64, stream: &mut Stream) -> f64 {
        match self {
            Self::Pure(_) => laplace(scale, stream),
            Self::Gaussian(_) => scale * stream.normal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Significand and exponent of a normal number.
    fn parts(x: f64) -> (u128, i32) {
        let bits = x.to_bits();
        (u128::from(bits & ((1 << 52) - 1) | 1 << 52), (bits >> 52) as i32 - 1075)
    }

    /// Whether scale * budget >= sensitivity, exactly, where they are about the same.
    fn covers(scale: f64, budget: f64, sensitivity: f64) -> bool {
        let ((a, at_a), (b, at_b), (c, at_c)) = (parts(scale), parts(budget), parts(sensitivity));
        a * b >= c << (at_c - at_a - at_b)
    }

    #[test]
    fn scales_are_no_less_than_exact_quotients() {
        let mut stream = Stream::from_key([5; 32], 0);
        let mut short = 0;
        for _ in 0..2000 {
            let sensitivity = libm::exp(20.0 * stream.normal());
            let budget = libm::exp(2.0 * stream.normal());
            for share in [Budget::Pure(budget), Budget::Gaussian(budget)] {
                let scale = share.scale(sensitivity);
                assert!(covers(scale, budget, sensitivity), "{sensitivity} {budget}");
                assert!(covers(scale, budget, sensitivity * (1.0 + 2f64.powi(-41))));
                assert!(scale <= sensitivity / budget * (1.0 + 2f64.powi(-39)));
            }
            short += u32::from(!covers(sensitivity / budget, budget, sensitivity));
        }
        // the control: quotients rounded to nearest are too small about as often as not
        assert!((900..1100).contains(&short), "{short}");
    }
}
