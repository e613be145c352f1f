//! Numbers in [0, 1) of N 64-bit words, and e^(-y) in them with a bound on its error. All of it is
//! integer arithmetic that takes the same steps for every value. An *ulp* is 2^(-64 N).

/// A number in [0, 1): its words, the most significant first, so that the order of arrays is the order
/// of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fixed<const N: usize>(pub [u64; N]);

impl<const N: usize> Fixed<N> {
    /// `bits` / 2^128.
    pub fn from_top(bits: u128) -> Self {
        let mut words = [0; N];
        (words[0], words[1]) = ((bits >> 64) as u64, bits as u64);
        Self(words)
    }

    /// The greatest integer that is at most 2^128 times the number.
    pub fn top(self) -> u128 {
        u128::from(self.0[0]) << 64 | u128::from(self.0[1])
    }

    /// 1 minus the number, an ulp too low.
    fn complement(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    /// The number divided by k, less than an ulp too low.
    fn over(self, k: u64) -> Self {
        let mut rest = 0;
        Self(self.0.map(|word| {
            let part = u128::from(rest) << 64 | u128::from(word);
            rest = (part % u128::from(k)) as u64;
            (part / u128::from(k)) as u64
        }))
    }

    /// The product, less than an ulp too low.
    fn times(self, other: Self) -> Self {
        // words 0..N and N..2N of the whole product
        let mut product = [[0; N]; 2];
        for i in (0..N).rev() {
            let mut carry = 0;
            for j in (0..N).rev() {
                let word = &mut product[(i + j + 1) / N][(i + j + 1) % N];
                let sum =
                    u128::from(self.0[i]) * u128::from(other.0[j]) + u128::from(*word) + carry;
                *word = sum as u64;
                carry = sum >> 64;
            }
            product[0][i] = carry as u64;
        }
        Self(product[0])
    }

    /// x/(1 + x) for the number x, less than an ulp too low: long division, bit by bit.
    fn share(self) -> Self {
        // invariant: the remainder, whole + rest, is below 1 + x
        let (mut whole, mut rest) = (0, self);
        let mut quotient = [0; N];
        for at in 0..64 * N {
            let carry = rest.double();
            whole = 2 * whole + carry;
            let (difference, borrow) = rest.minus(self);
            let fits = whole > 1 || (whole == 1 && borrow == 0);
            if fits {
                (whole, rest) = (whole - 1 - borrow, difference);
            }
            quotient[at / 64] |= u64::from(fits) << (63 - at % 64);
        }
        Self(quotient)
    }

    /// Doubles the number modulo 1; returns what it carries.
    fn double(&mut self) -> u64 {
        let mut carry = 0;
        for word in self.0.iter_mut().rev() {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        carry
    }

    /// The difference modulo 1, and 1 if it is negative.
    fn minus(self, other: Self) -> (Self, u64) {
        let (mut words, mut borrow) = (self.0, false);
        for i in (0..N).rev() {
            let (part, first) = self.0[i].overflowing_sub(other.0[i]);
            let (part, second) = part.overflowing_sub(u64::from(borrow));
            (words[i], borrow) = (part, first || second);
        }
        (Self(words), u64::from(borrow))
    }

    /// `count` ulps.
    fn ulps(count: u128) -> Self {
        let mut words = [0; N];
        (words[N - 2], words[N - 1]) = ((count >> 64) as u64, count as u64);
        Self(words)
    }
}

/// A real number in [0, 1) that is known up to `error` ulps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosed<const N: usize> {
    middle: Fixed<N>,
    error: u128,
}

impl<const N: usize> Enclosed<N> {
    /// e^(-y) for 0 <= y < 2^-16, by the Taylor polynomial of degree 4N in Horner's form: r = 1 - (y/k) r from
    /// k = 4N to 1. What is left out is below an ulp. A step adds at most 2 ulps (quotient and product are too
    /// low, the complement is, with the other sign) and multiplies what was there by y/k: 4 ulps in all.
    pub fn exp_of_minus(y: Fixed<N>) -> Self {
        debug_assert!(y.0[0] >> 48 == 0);
        let terms = (1..=4 * N as u64).rev();
        let one = Fixed([u64::MAX; N]);
        let middle = terms.fold(one, |r, k| y.over(k).times(r).complement());
        Self { middle, error: 4 }
    }

    /// The square: a d (2 x + d) off where x is d off, with x and x + d below 1, and a rounding.
    pub fn square(self) -> Self {
        Self { middle: self.middle.times(self.middle), error: 2 * self.error + 1 }
    }

    /// x/(1 + x): the derivative is at most 1.
    pub fn share(self) -> Self {
        Self { middle: self.middle.share(), error: self.error + 1 }
    }

    /// The least and the greatest number that it may be.
    pub fn ends(self) -> (Fixed<N>, Fixed<N>) {
        let error = Fixed::ulps(self.error);
        let (least, below_zero) = self.middle.minus(error);
        let least = if below_zero == 1 { Fixed([0; N]) } else { least };
        let (rest, beyond_one) = self.middle.complement().minus(error);
        let greatest = if beyond_one == 1 { Fixed([u64::MAX; N]) } else { rest.complement() };
        (least, greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1/(1 + e) and e^(-2^-20) to 512 bits, from decimal arithmetic with 700 digits.
    const SHARE_OF_ONE: [u64; 8] = [
        0x44d9_5851_52ea_1935,
        0xdae2_3bc7_349e_e58b,
        0x066c_d42f_a414_b2df,
        0x6931_a02f_d276_d114,
        0x1cc9_e9e7_5b70_2fbc,
        0x7a33_1ba0_4e5d_2736,
        0x4702_e9a2_7ff4_4861,
        0x3f3a_1803_ed69_a999,
    ];
    const EXP_OF_SMALL: [u64; 8] = [
        0xffff_f000_007f_fffd,
        0x5555_5fff_ffdd_ddde,
        0x38e3_8d68_d68f_08f0,
        0x8c25_341e_fdab_8fbb,
        0x91bc_e6b5_b973_6179,
        0x8581_95d6_1482_0f82,
        0xb6f4_e2ad_ab44_c9e8,
        0xabb5_d017_a042_178e,
    ];

    fn lies_within<const N: usize>(known: &[u64; 8], found: Enclosed<N>, most: u128) {
        let (least, greatest) = found.ends();
        assert!(least.0[..] <= known[..N] && known[..N] <= greatest.0[..]);
        assert!(found.error <= most, "{}", found.error);
    }

    fn share_of_one<const N: usize>() -> Enclosed<N> {
        let start = Enclosed::exp_of_minus(Fixed::from_top(1 << 108));
        (0..20).fold(start, |x, _| x.square()).share()
    }

    #[test]
    fn exponentials_and_shares_are_enclosed() {
        lies_within::<4>(&EXP_OF_SMALL, Enclosed::exp_of_minus(Fixed::from_top(1 << 108)), 4);
        lies_within::<8>(&EXP_OF_SMALL, Enclosed::exp_of_minus(Fixed::from_top(1 << 108)), 4);
        lies_within::<4>(&SHARE_OF_ONE, share_of_one(), 1 << 23);
        lies_within::<8>(&SHARE_OF_ONE, share_of_one(), 1 << 23);
        let (least, greatest) = share_of_one::<32>().ends();
        assert!(least.0[..7] == SHARE_OF_ONE[..7] && greatest.0[..7] == SHARE_OF_ONE[..7]);
    }

    #[test]
    fn enclosures_of_more_words_lie_in_those_of_fewer() {
        let (least, greatest) = share_of_one::<16>().ends();
        let (inner_least, inner_greatest) = share_of_one::<32>().ends();
        assert!(least.0[..] <= inner_least.0[..16] && inner_greatest.0[..16] <= greatest.0[..]);
    }

    #[test]
    fn arithmetic_agrees_with_that_of_wide_integers() {
        let mut x: u128 = 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978;
        for k in 1..200u64 {
            x = x.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).rotate_left(29) ^ 77;
            let y = x.rotate_left(64) | 1;
            let (a, b) = (Fixed::<2>::from_top(x), Fixed::<2>::from_top(y));
            assert_eq!(a.over(k).top(), x / u128::from(k));
            assert_eq!(a.minus(b), (Fixed::from_top(x.wrapping_sub(y)), u64::from(x < y)));
            assert_eq!(a.complement().top(), !x);
            // the upper half of x y, from halves of 64 bits
            let half = |n: u128| (n >> 64, n & u128::from(u64::MAX));
            let ((x1, x0), (y1, y0)) = (half(x), half(y));
            let (low, high) = half(x1 * y0 + half(x0 * y0).0);
            let upper = x1 * y1 + low + half(x0 * y1 + high).0;
            assert_eq!(a.times(b).top(), upper);
            // p = x/(1 + x) to 128 bits: p (1 + x) <= x < (p + ulp) (1 + x), up to the products' roundings
            let p = a.share();
            let sum = p.top() + p.times(a).top();
            assert!(sum <= x && x - sum <= 3, "{x:x} {sum:x}");
        }
    }
}
