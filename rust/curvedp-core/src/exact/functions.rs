//! Exponentials and logarithms of enclosed numbers.

use super::{Enclosure, MOST_WORDS, Undecided};

/// Coefficients that are kept of each series: enough for the widest enclosures.
const TERMS: usize = 256;

/// e^x beyond this is below every ulp, or out of range.
const LARGEST: f64 = (1 << 20) as f64;

/// The first words of ln 2 behind the binary point, as many as the widest enclosures have.
const LN_2: [u64; MOST_WORDS - 1] = [
    0xb172_17f7_d1cf_79ab,
    0xc9e3_b398_03f2_f6af,
    0x40f3_4326_7298_b62d,
    0x8a0d_175b_8baa_fa2b,
    0xe7b8_7620_6deb_ac98,
    0x5595_52fb_4afa_1b10,
    0xed2e_ae35_c138_2144,
    0x2757_3b29_1169_b825,
    0x3e96_ca16_224a_e8c5,
    0x1acb_da11_317c_387e,
    0xb9ea_9bc3_b136_603b,
    0x256f_a0ec_7657_f74b,
    0x72ce_87b1_9d65_48ca,
    0xf5df_a6bd_3830_3248,
    0x655f_a187_2f20_e3a2,
    0xda2d_97c5_0f3f_d5c6,
    0x07f4_ca11_fb5b_fb90,
    0x610d_30f8_8fe5_51a2,
    0xee56_9d6d_fc1e_fa15,
    0x7d2e_23de_1400_b396,
    0x1746_0775_db89_90e5,
    0xc943_e732_b479_cd33,
    0xcccc_4e65_9393_514c,
    0x4c1a_1e0b_d1d6_095d,
    0x2566_9b33_3564_a337,
    0x6a9c_7f8a_5e14_8e82,
    0x074d_b601_5cfe_7aa3,
    0x0c48_0a54_1735_0d2c,
    0x955d_5179_b1e1_7b9d,
    0xae31_3cdb_6c60_6cb1,
    0x078f_735d_1b2d_b31b,
];

impl<const N: usize> Enclosure<N> {
    /// 1/k!, for k up to [`TERMS`].
    const INVERSE_FACTORIALS: &'static [[u64; N]; TERMS] = &{
        let mut all = [[0; N]; TERMS];
        all[0][N - 1] = 1;
        let mut k = 1;
        while k < TERMS {
            all[k] = quotient(all[k - 1], k as u64);
            k += 1;
        }
        all
    };

    /// 1/k; the first entry is 0.
    const RECIPROCALS: &'static [[u64; N]; TERMS] = &{
        let mut all = [[0; N]; TERMS];
        let mut k = 1;
        while k < TERMS {
            let mut one = [0; N];
            one[N - 1] = 1;
            all[k] = quotient(one, k as u64);
            k += 1;
        }
        all
    };

    /// The least degree n for which 2 |y|^(n+1)/(n+1)! is below an ulp for |y| <= 2^-7.
    const DEGREE: usize = {
        let (mut n, mut bits) = (0, 7);
        // `bits` is at most -log2 of 2^-7(n+1)/(n+1)!
        while bits <= Self::FRACTION as u32 + 1 {
            n += 1;
            bits += 7 + (n as u32 + 1).ilog2();
        }
        n
    };

    /// The least degree n for which 2 |y|^(n+1)/(2n + 2)! is below an ulp for |y| <= 2^-4.
    const CIRCULAR_DEGREE: usize = {
        let (mut n, mut bits) = (0, 4 + 1);
        while bits <= Self::FRACTION as u32 + 1 {
            n += 1;
            bits += 4 + (2 * n as u32 + 1).ilog2() + (2 * n as u32 + 2).ilog2();
        }
        n
    };

    /// ln 2
    #[must_use]
    pub fn ln_2() -> Self {
        Self::fraction(&LN_2, u32::MAX)
    }

    /// e^x = 2^m e^r with |r| <= 2^-1: the series at y = r 2^-7, squared seven times.
    #[must_use]
    pub fn exp(&self) -> Self {
        let about = self.middle_as_double();
        if about.abs() > LARGEST {
            let is_zero = about < 0.0 && self.is_known_to(2);
            return if is_zero { Self::ZERO.wider_by(1) } else { Self::NOTHING };
        }
        // any integer near x/ln 2 will do
        let m = (about * std::f64::consts::LOG2_E).round() as i32;
        let rest = self.minus(&Self::ln_2().times(&Self::integer(i64::from(m))));
        let y = rest.shifted(-7);
        // |y| <= 2^-7
        if !y.is_known_to(-8) || y.exponent().is_some_and(|size| size >= -8) {
            return Self::NOTHING;
        }
        let mut sum = Self::truncated(Self::INVERSE_FACTORIALS[Self::DEGREE]).wider_by(1);
        for k in (0..Self::DEGREE).rev() {
            // truncated twice: less than two ulps
            let coefficient = Self::truncated(Self::INVERSE_FACTORIALS[k]).wider_by(1);
            sum = coefficient.plus(&y.times(&sum));
        }
        let mut power = sum.wider_by(1);
        for _ in 0..7 {
            power = power.times(&power);
        }
        power.shifted(m)
    }

    /// cos x and sin(x)/x for u = x^2; for negative u, cosh x and sinh(x)/x for u = -x^2.
    ///
    /// # Errors
    /// [`Undecided`] unless |u| is known to be at most 16.
    pub fn circular(&self) -> Result<(Self, Self), Undecided> {
        let limit = Self::integer(16);
        if self.is_less(&limit.negated())? || limit.is_less(self)? {
            return Err(Undecided);
        }
        // sum (-y)^k/(2k)! and sum (-y)^k/(2k + 1)! at y = u/256
        let minus_y = self.negated().shifted(-8);
        let series = |odd: usize| {
            let degree = Self::CIRCULAR_DEGREE;
            let coefficient = |k: usize| Self::truncated(Self::INVERSE_FACTORIALS[2 * k + odd]);
            let first = coefficient(degree).wider_by(1);
            let sum = (0..degree)
                .rev()
                .fold(first, |sum, k| coefficient(k).wider_by(1).plus(&minus_y.times(&sum)));
            sum.wider_by(1)
        };
        // cos 2x = 2 cos^2 x - 1 and sin(2x)/(2x) = cos x sin(x)/x
        let (mut cos, mut sinc) = (series(0), series(1));
        for _ in 0..4 {
            sinc = sinc.times(&cos);
            cos = cos.times(&cos).shifted(1).minus(&Self::integer(1));
        }
        Ok((cos, sinc))
    }

    /// sinh(x)/x for x >= 0: a factor and an exponent l, of which it is the product factor e^l.
    ///
    /// # Errors
    /// [`Undecided`] if that takes more words.
    pub fn sinhc(&self) -> Result<(Self, Self), Undecided> {
        // near 1 either formula will do
        if self.middle_as_double() < 1.0 {
            let (_, sinhc) = self.times(self).negated().circular()?;
            return Ok((sinhc, Self::ZERO));
        }
        let twice = self.shifted(1);
        let fallen = Self::integer(1).minus(&twice.negated().exp());
        Ok((fallen.over(&twice)?, *self))
    }

    /// ln x
    ///
    /// # Errors
    /// [`Undecided`] unless x is positive by far more than its error.
    pub fn ln(&self) -> Result<Self, Undecided> {
        let exponent = self.exponent().ok_or(Undecided)?;
        // x = 2^exponent u with u in [1, 2)
        let u = self.shifted(-exponent);
        let guess = libm::log(u.middle_as_double());
        if !(-0.1..0.8).contains(&guess) {
            return Err(Undecided);
        }
        // z = u e^-guess - 1 is small, which is seen and not trusted: ln u = guess + ln(1 + z)
        let guess = Self::double(guess, 0);
        let z = u.times(&guess.negated().exp()).minus(&Self::integer(1));
        let limit = Self::dyadic(1, -40);
        let small = z.is_less(&limit)? && limit.negated().is_less(&z)?;
        if !small {
            return Err(Undecided);
        }
        // terms beyond degree n with 40 (n + 1) > FRACTION are below an ulp together
        let degree = Self::FRACTION as usize / 40;
        let mut sum = Self::ZERO;
        for k in (1..=degree).rev() {
            let term = Self::truncated(Self::RECIPROCALS[k]);
            sum = term.minus(&z.times(&sum));
        }
        let ln_u = guess.plus(&z.times(&sum)).wider_by(1);
        let whole = Self::integer(i64::from(exponent)).times(&Self::ln_2());
        Ok(ln_u.plus(&whole))
    }
}

/// The words of a number divided by k, cut off.
const fn quotient<const N: usize>(mut words: [u64; N], k: u64) -> [u64; N] {
    let mut rest = 0;
    let mut i = N;
    while i > 0 {
        i -= 1;
        let part = (rest as u128) << 64 | words[i] as u128;
        words[i] = (part / k as u128) as u64;
        rest = (part % k as u128) as u64;
    }
    words
}
