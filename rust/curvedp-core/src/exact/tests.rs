//! Enclosures against arithmetic with 2,500 correctly rounded bits.

use super::*;
use crate::noise::Stream;
use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

type Wide = FBig<HalfEven, 2>;

const BITS: usize = 2500;

/// An integer from its words, least first.
fn integer(words: &[u64]) -> Wide {
    let power = Wide::ONE.with_precision(BITS).value() << 64;
    let word = |w: u64| Wide::from(w).with_precision(BITS).value();
    words.iter().rev().fold(word(0), |sum, w| sum * &power + word(*w))
}

/// The lower and the upper end.
fn ends<const N: usize>(x: &Enclosure<N>) -> (Wide, Wide) {
    let (negative, magnitude, error) = x.parts();
    let size = integer(&magnitude);
    let middle = if negative { -size } else { size };
    let error = integer(&[error as u64, (error >> 64) as u64]);
    let down = Enclosure::<N>::FRACTION as isize;
    ((middle.clone() - &error) >> down, (middle + error) >> down)
}

fn holds<const N: usize>(x: &Enclosure<N>, exact: &Wide) -> bool {
    let (low, high) = ends(x);
    let is_unknown = x.parts().2 == u128::MAX;
    is_unknown || (low <= *exact && *exact <= high)
}

fn wide(x: f64) -> Wide {
    Wide::try_from(x).unwrap().with_precision(BITS).value()
}

/// A double of a random sign and size.
fn any_double(stream: &mut Stream, exponents: i32) -> f64 {
    let exponent = (stream.bits() % (2 * exponents as u64 + 1)) as i32 - exponents;
    stream.sign() * (1.0 + stream.uniform_open()) * 2f64.powi(exponent)
}

fn errors<const N: usize>(values: &[Enclosure<N>]) -> u128 {
    values.iter().map(|x| x.parts().2).max().unwrap()
}

fn rational_operations<const N: usize>(count: u32) {
    let mut stream = Stream::from_key([N as u8; 32], 0);
    for _ in 0..count {
        let (a, b) = (any_double(&mut stream, 20), any_double(&mut stream, 20));
        let (x, y) = (Enclosure::<N>::double(a, 0), Enclosure::<N>::double(b, 0));
        let (u, v) = (wide(a), wide(b));
        assert!(holds(&x, &u) && holds(&x.negated(), &-u.clone()));
        assert!(holds(&x.plus(&y), &(&u + &v)) && holds(&x.minus(&y), &(&u - &v)));
        let shift = (stream.bits() % 40) as i32 - 20;
        assert!(holds(&x.shifted(shift), &wide(a * 2f64.powi(shift))));
        let product = x.times(&y);
        assert!(holds(&product, &(&u * &v)), "{a} {b}");
        assert_eq!(x.is_less(&y), if a == b { Err(Undecided) } else { Ok(a < b) });
        assert_eq!(x.floor().unwrap_or(a.floor() as i64), a.floor() as i64);
        assert!(
            x.above(0).is_some_and(|bound| bound as f64 >= a && bound as f64 <= a.ceil() + 1.0)
        );
        assert!(
            x.below(0).is_some_and(|bound| bound as f64 <= a && bound as f64 >= a.floor() - 1.0)
        );
        // of a third of what is known too
        let third = x.times(&Enclosure::integer(3).reciprocal().unwrap());
        assert!(holds(&third.times(&third), &(&u * &u / wide(9.0))));
        let quotient = x.over(&y).unwrap_or_else(|_| panic!("{a}/{b}"));
        assert!(holds(&quotient, &(&u / &v)), "{a} {b}");
        let root = Enclosure::<N>::double(a.abs(), 0).inverse_sqrt().unwrap();
        assert!(holds(&root, &(wide(1.0) / wide(a.abs()).sqrt())), "{a}");
        if (0.5..2.0).contains(&a.abs()) && (0.5..2.0).contains(&b.abs()) {
            assert!(errors(&[product, third, quotient, root]) < 64);
        }
    }
}

#[test]
fn rational_operations_are_enclosed() {
    rational_operations::<2>(800);
    rational_operations::<3>(300);
    rational_operations::<4>(300);
    rational_operations::<8>(100);
    rational_operations::<32>(50);
}

fn functions<const N: usize>(count: u32) {
    let mut stream = Stream::from_key([N as u8; 32], 1);
    for _ in 0..count {
        let a = any_double(&mut stream, 50).clamp(-700.0, 40.0);
        let power = Enclosure::<N>::double(a, 0).exp();
        assert!(holds(&power, &wide(a).exp()), "{a}");
        if a.abs() < 1.0 {
            assert!(errors(&[power]) < 1 << 20);
        }
        let b = any_double(&mut stream, 30).abs();
        let x = Enclosure::<N>::double(b, 0);
        let log = x.ln();
        assert!(log.is_ok() || (N == 2 && b < 1e-4), "{b}");
        assert!(log.is_err() || holds(&log.unwrap(), &wide(b).ln()), "{b}");
        // of numbers that are not doubles, and of small ones
        let small =
            Enclosure::<N>::double(b, -60).times(&Enclosure::integer(3).reciprocal().unwrap());
        assert!(N < 4 || holds(&small.ln().unwrap(), &(wide(b) / wide(3.0 * 2f64.powi(60))).ln()));
        let y = x.times(&Enclosure::integer(3).reciprocal().unwrap());
        if let (Ok(log), 1.0..) = (y.ln(), b) {
            assert!(holds(&log, &(wide(b) / wide(3.0)).ln()));
            assert!(errors(&[log]) < 1 << 24);
        }
    }
    for _ in 0..count / 4 {
        let x = 4.0 * stream.uniform_open() * if stream.sign() > 0.0 { 1.0 } else { 1e-6 };
        let square = Enclosure::<N>::double(x, 0).times(&Enclosure::double(x, 0));
        let (cosh, sinhc) = square.negated().circular().unwrap();
        let [up, down] = [wide(x).exp(), (-wide(x)).exp()];
        assert!(holds(&cosh, &((&up + &down) / wide(2.0))), "{x}");
        assert!(holds(&sinhc, &((&up - &down) / wide(2.0) / wide(x))), "{x}");
        let (cos, sinc) = square.circular().unwrap();
        assert!(holds(&cos, &wide(x).cos()) && holds(&sinc, &(wide(x).sin() / wide(x))), "{x}");
        assert!(errors(&[cos, sinc]) < 1 << 16);
    }
    assert!(Enclosure::<N>::integer(17).circular().is_err());
    assert!(holds(&Enclosure::<N>::ln_2(), &wide(2.0).ln()));
    assert!(Enclosure::<N>::integer(-1).ln().is_err() && Enclosure::<N>::ZERO.ln().is_err());
    assert!(holds(&Enclosure::<N>::ZERO.exp(), &wide(1.0)));
}

#[test]
fn functions_are_enclosed() {
    functions::<2>(400);
    functions::<3>(300);
    functions::<4>(300);
    functions::<8>(60);
    functions::<16>(20);
    functions::<32>(10);
}

#[test]
fn what_leaves_the_range_is_unknown() {
    let large = Enclosure::<2>::integer(i64::MAX);
    let least = Enclosure::<2>::integer(i64::MIN);
    let unknown = [
        large.plus(&large),
        least.negated(),
        least.plus(&least),
        large.times(&large),
        large.shifted(1),
        Enclosure::double(f64::NAN, 0),
        Enclosure::double(f64::INFINITY, 0),
        Enclosure::double(1e300, 0),
        Enclosure::double(60.0, 0).exp(),
        Enclosure::double(1e18, 0).exp(),
        Enclosure::fraction(&[0; 2], 0).times(&large).times(&large),
    ];
    is_unknown(&unknown, large);
    let large = Enclosure::<4>::integer(i64::MAX);
    let unknown = [
        large.plus(&large),
        large.plus(&large).exp(),
        large.times(&large).plus(&Enclosure::double(-2f64.powi(21), 0)).exp(),
        large.shifted(-1).negated().wider_by(u128::MAX).exp(),
        Enclosure::double(60.0, 0).exp(),
    ];
    is_unknown(&unknown, large);
    is_unknown(&[Enclosure::<8>::NOTHING.exp()], Enclosure::integer(1));
    assert!(Enclosure::<4>::ZERO.shifted(1000).sign().is_err());
    assert_eq!(Enclosure::<4>::ZERO.shifted(1000).nearest(), Ok(0));
    assert_eq!(Enclosure::<4>::dyadic(-1, -500).nearest(), Ok(0));
}

fn is_unknown<const N: usize>(unknown: &[Enclosure<N>], large: Enclosure<N>) {
    for &x in unknown {
        for y in [x, x.plus(&large.negated()), x.times(&Enclosure::integer(1)), x.shifted(-3)] {
            assert!(y.sign().is_err() && y.floor().is_err() && y.above(0).is_none(), "{y:?}");
            assert!(y.ln().is_err() && y.inverse_sqrt().is_err() && y.reciprocal().is_err());
        }
    }
}

#[test]
fn wide_errors_multiply_without_leaving_their_range() {
    for exponent in [1, 63, 64, 65, 100, 126] {
        let wide = Enclosure::<3>::integer(1).wider_by(1 << exponent);
        let wider = Enclosure::<4>::integer(1).wider_by(u128::MAX - 1);
        let product = wide.times(&wide);
        // (1 + e)^2 is in it
        let e = super::tests::integer(&[
            (1u128 << exponent) as u64,
            ((1u128 << exponent) >> 64) as u64,
        ]) >> 128;
        let end = Wide::ONE.with_precision(BITS).value() + e;
        assert!(holds(&product, &(&end * &end)));
        assert!(wider.times(&wider).sign().is_err());
    }
}

#[test]
fn numbers_near_a_border_are_undecided() {
    let half = Enclosure::<4>::dyadic(1, -1);
    let ulp = Enclosure::<4>::dyadic(1, -192);
    assert_eq!(half.nearest(), Ok(1));
    assert_eq!(half.minus(&ulp).nearest(), Ok(0));
    assert_eq!(half.wider_by(1).nearest(), Err(Undecided));
    assert_eq!(half.plus(&ulp).wider_by(1).nearest(), Ok(1));
    assert_eq!(half.wider_by(1).is_less(&half), Err(Undecided));
    assert_eq!(half.negated().nearest(), Ok(0));
    assert_eq!(half.negated().minus(&ulp).nearest(), Ok(-1));
}

/// Answers at five words' numbers, where fewer are undecided.
struct AtLeast(usize);

impl Question for AtLeast {
    type Answer = usize;

    fn ask<const N: usize>(&self) -> Result<usize, Undecided> {
        if N >= self.0 { Ok(N) } else { Err(Undecided) }
    }

    fn give_up(&self) -> usize {
        0
    }
}

#[test]
fn questions_are_asked_with_more_words_until_they_are_decided() {
    let ask = |words, effort| decide(&AtLeast(words), effort);
    assert_eq!([2, 3, 5, 9, 17, 33].map(|n| ask(n, Effort::Least)), [2, 4, 8, 16, 32, 0]);
    assert_eq!(ask(2, Effort::Steady), 4);
}
