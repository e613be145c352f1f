//! The range of the term that one record adds to a sum, and the margins by which rounding stays in it.

/// Unit roundoff.
const U: f64 = f64::EPSILON / 2.0;

/// Squared lengths below this count as 0: there squares lose digits to underflow.
const SMALLEST: f64 = 1e-280;

/// The largest length R of a logarithm in `dim` coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    max_dist: f64,
    /// The same in the units of the vectors.
    longest: f64,
    /// The relative rounding error of a computed length, and of the entries once scaled, is below this: each
    /// square passes through at most `dim` roundings on the way into the sum, half of which is left after the
    /// root; the root, the factor and the entries round a few times more.
    slack: f64,
}

impl Range {
    /// Lengths up to `max_dist` of vectors of `dim` entries.
    pub fn new(max_dist: f64, dim: usize) -> Self {
        Self { max_dist, longest: max_dist, slack: (0.5 * dim as f64 + 8.0) * U }
    }

    /// The same for vectors of `dim` entries that are `factor` times as long.
    pub(super) fn stretched(&self, factor: f64, dim: usize) -> Self {
        Self { longest: factor * self.max_dist, ..Self::new(self.max_dist, dim) }
    }

    /// The factor, 0, 1 or between, that makes a vector whose computed squared length is `square` at
    /// most R long, rounding included, and the squared length that it has then. It is 0 where the square
    /// is not finite, or so small that digits were lost.
    #[inline(always)]
    pub fn scale(&self, square: f64) -> (f64, f64) {
        let usable = (SMALLEST..f64::INFINITY).contains(&square);
        let square = if usable { square } else { 1.0 };
        let length = square.sqrt() * (1.0 + self.slack);
        let short = length <= self.longest;
        let scale = if short { 1.0 } else { self.longest / length };
        // a factor below the normal numbers has lost digits and could leave the vector too long
        let usable = usable && scale >= f64::MIN_POSITIVE;
        let clipped = if short { square } else { scale * scale * square };
        if usable { (scale, clipped) } else { (0.0, 0.0) }
    }

    /// Applies [`Range::scale`] to the vector `u` and returns its squared length.
    pub fn clip(&self, u: &mut [f64]) -> f64 {
        let (scale, square) = self.scale(u.iter().map(|x| x * x).sum());
        if scale == 0.0 {
            u.fill(0.0); // its entries may be infinite
        } else if scale < 1.0 {
            u.iter_mut().for_each(|x| *x *= scale);
        }
        square
    }

    /// The largest coefficient kappa s^2 q(kappa s^2), s <= R, for an increasing z q(z), rounded down.
    #[inline(always)]
    pub fn largest(&self, kappa: f64, q: impl Fn(f64) -> f64) -> Limit {
        // a margin of 32 roundings in R covers those of q, also where its slope is large
        let z = kappa * (self.max_dist * self.max_dist) * (1.0 - 64.0 * U);
        Limit(z * q(z))
    }
}

/// The largest value of a coefficient c = phi s^2. NaN, which is what an infinite R yields, is none.
#[derive(Clone, Copy, Debug)]
pub struct Limit(f64);

impl Limit {
    /// phi, or what is left of it when phi s^2 would exceed the limit.
    #[inline(always)]
    pub fn clamp(self, phi: f64, square: f64) -> f64 {
        if phi * square > self.0 { self.0 / square } else { phi }
    }

    /// c, or the limit if c exceeds it.
    #[inline(always)]
    pub fn clamp_product(self, c: f64) -> f64 {
        if c > self.0 { self.0 } else { c }
    }
}
