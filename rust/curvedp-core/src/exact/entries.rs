//! Entries of matrices of enclosed numbers: real or complex.

use super::{Enclosure, Undecided};

/// An enclosed number, real or complex.
pub trait Entry<const N: usize>: Copy {
    /// Real numbers in it.
    const PARTS: usize;

    /// 0
    const ZERO: Self;

    /// From its real numbers.
    fn read(parts: &[Enclosure<N>]) -> Self;

    /// About a number given in doubles, times a power of two, exactly.
    fn double(value: [f64; 2], exponent: i32) -> Self;

    /// Real and imaginary part.
    fn parts(&self) -> [Enclosure<N>; 2];

    /// The sum.
    fn plus(&self, other: &Self) -> Self;

    /// The difference.
    fn minus(&self, other: &Self) -> Self;

    /// x times the conjugate of y: of real numbers, the product.
    fn times_conjugate(&self, other: &Self) -> Self;

    /// The product.
    fn times(&self, other: &Self) -> Self;

    /// The conjugate.
    fn conjugate(&self) -> Self;

    /// A real multiple.
    fn scaled(&self, factor: &Enclosure<N>) -> Self;

    /// The number times 2^`exponent`.
    fn shifted(&self, exponent: i32) -> Self;

    /// |x|^2
    fn square(&self) -> Enclosure<N>;

    /// The number, its parts known `ulps` worse.
    fn wider_by(&self, ulps: u128) -> Self;

    /// The exponent of the larger part's middle; none for 0.
    fn exponent(&self) -> Option<i32>;

    /// About the middle: doubles times a power of two.
    fn middle_as_scaled(&self) -> ([f64; 2], i32);

    /// About the squared size of the middle.
    fn middle_square(&self) -> f64;

    /// A bound in ulps on the size of a number whose parts are known to be at most 1/4.
    ///
    /// # Errors
    /// [`Undecided`] if they are not.
    fn at_most_quarter(&self) -> Result<u128, Undecided>;
}

impl<const N: usize> Entry<N> for Enclosure<N> {
    const PARTS: usize = 1;
    const ZERO: Self = Self::ZERO;

    fn read(parts: &[Enclosure<N>]) -> Self {
        parts[0]
    }

    fn double(value: [f64; 2], exponent: i32) -> Self {
        Self::double(value[0], exponent)
    }

    fn parts(&self) -> [Self; 2] {
        [*self, Self::ZERO]
    }

    #[inline]
    fn plus(&self, other: &Self) -> Self {
        self.plus(other)
    }

    #[inline]
    fn minus(&self, other: &Self) -> Self {
        self.minus(other)
    }

    #[inline]
    fn times_conjugate(&self, other: &Self) -> Self {
        self.times(other)
    }

    #[inline]
    fn times(&self, other: &Self) -> Self {
        self.times(other)
    }

    fn conjugate(&self) -> Self {
        *self
    }

    #[inline]
    fn scaled(&self, factor: &Self) -> Self {
        self.times(factor)
    }

    fn shifted(&self, exponent: i32) -> Self {
        self.shifted(exponent)
    }

    #[inline]
    fn square(&self) -> Self {
        self.times(self)
    }

    fn wider_by(&self, ulps: u128) -> Self {
        self.wider_by(ulps)
    }

    fn exponent(&self) -> Option<i32> {
        self.exponent()
    }

    fn middle_as_scaled(&self) -> ([f64; 2], i32) {
        let (value, scale) = self.middle_as_scaled();
        ([value, 0.0], scale)
    }

    fn middle_square(&self) -> f64 {
        self.middle_as_double().powi(2)
    }

    fn at_most_quarter(&self) -> Result<u128, Undecided> {
        self.at_most_quarter()
    }
}

/// A complex number: real and imaginary part.
#[derive(Clone, Copy)]
pub struct Complex<const N: usize>([Enclosure<N>; 2]);

impl<const N: usize> Complex<N> {
    /// The number whose parts are those of this one, changed alike.
    fn with(&self, change: impl Fn(&Enclosure<N>) -> Enclosure<N>) -> Self {
        Self([change(&self.0[0]), change(&self.0[1])])
    }
}

impl<const N: usize> Entry<N> for Complex<N> {
    const PARTS: usize = 2;
    const ZERO: Self = Self([Enclosure::ZERO; 2]);

    fn read(parts: &[Enclosure<N>]) -> Self {
        Self([parts[0], parts[1]])
    }

    fn double(value: [f64; 2], exponent: i32) -> Self {
        Self([Enclosure::double(value[0], exponent), Enclosure::double(value[1], exponent)])
    }

    fn parts(&self) -> [Enclosure<N>; 2] {
        self.0
    }

    fn plus(&self, other: &Self) -> Self {
        Self([self.0[0].plus(&other.0[0]), self.0[1].plus(&other.0[1])])
    }

    fn minus(&self, other: &Self) -> Self {
        Self([self.0[0].minus(&other.0[0]), self.0[1].minus(&other.0[1])])
    }

    fn times_conjugate(&self, other: &Self) -> Self {
        self.times(&other.conjugate())
    }

    fn times(&self, other: &Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([a.times(&c).minus(&b.times(&d)), a.times(&d).plus(&b.times(&c))])
    }

    fn conjugate(&self) -> Self {
        Self([self.0[0], self.0[1].negated()])
    }

    fn scaled(&self, factor: &Enclosure<N>) -> Self {
        self.with(|x| x.times(factor))
    }

    fn shifted(&self, exponent: i32) -> Self {
        self.with(|x| x.shifted(exponent))
    }

    fn square(&self) -> Enclosure<N> {
        self.0[0].times(&self.0[0]).plus(&self.0[1].times(&self.0[1]))
    }

    fn wider_by(&self, ulps: u128) -> Self {
        self.with(|x| x.wider_by(ulps))
    }

    fn exponent(&self) -> Option<i32> {
        self.0[0].exponent().max(self.0[1].exponent())
    }

    fn middle_as_scaled(&self) -> ([f64; 2], i32) {
        let parts = self.0.map(|x| x.middle_as_scaled());
        let scale = parts[0].1.max(parts[1].1);
        (parts.map(|(value, own)| value * 2f64.powi(own - scale)), scale)
    }

    fn middle_square(&self) -> f64 {
        self.0.iter().map(|x| x.middle_as_double().powi(2)).sum()
    }

    fn at_most_quarter(&self) -> Result<u128, Undecided> {
        let [re, im] = [self.0[0].at_most_quarter()?, self.0[1].at_most_quarter()?];
        Ok(re.saturating_add(im))
    }
}
