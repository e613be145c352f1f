//! Enclosures against arithmetic with up to 2,500 correctly rounded bits.

use super::entries::{Complex, Entry};
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
    wide_to(x, BITS)
}

fn wide_to(x: f64, bits: usize) -> Wide {
    Wide::try_from(x).unwrap().with_precision(bits).value()
}

/// Bits beside which N words are few.
const fn bits_beside(words: usize) -> usize {
    64 * words + 452
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
    let wide = |x| wide_to(x, bits_beside(N));
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
    let wide = |x| wide_to(x, bits_beside(N));
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

/// Quotients and roots of numbers of every size that the words hold.
#[test]
fn quotients_and_roots_of_small_and_large_numbers_are_enclosed() {
    let third = Enclosure::<8>::integer(3).reciprocal().unwrap();
    for exponent in -100..=62 {
        let size = wide(2f64.powi(exponent)) / wide(3.0);
        let x = third.shifted(exponent);
        assert!(holds(&x.sqrt().unwrap(), &size.sqrt()), "{exponent}");
        assert!(holds(&x.inverse_sqrt().unwrap(), &(wide(1.0) / size.sqrt())), "{exponent}");
        assert!(holds(&x.times(&x).over(&x).unwrap(), &size), "{exponent}");
        assert!(holds(&x.negated().over(&x).unwrap(), &wide(-1.0)), "{exponent}");
        assert!(x.negated().sqrt().is_err());
        if exponent > -60 {
            assert!(holds(&x.reciprocal().unwrap(), &(wide(1.0) / size)), "{exponent}");
        }
    }
    assert!(Enclosure::<8>::ZERO.sqrt().is_err() && third.over(&Enclosure::ZERO).is_err());
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

#[test]
fn nearest_multiples_are_those_of_shifted_numbers() {
    fn check<const N: usize>(a: f64, step: i32) {
        let x = Enclosure::<N>::double(a, 0);
        let third = x.times(&Enclosure::integer(3).reciprocal().unwrap());
        for x in [x, third, third.wider_by(5)] {
            let shifted = x.shifted(-step).nearest();
            assert!(shifted.is_err() || x.nearest_multiple(step) == shifted, "{a} {step}");
            let found = x.nearest_multiple(step);
            let about = x.middle_as_double() * 2f64.powi(-step);
            let slack = 0.5 + 1e-9 + about.abs() * 2f64.powi(-50);
            assert!(found.is_err() || (found.unwrap() as f64 - about).abs() <= slack);
            let decides = about.abs() > 2f64.powi(63) || (found.is_err() && shifted.is_err());
            assert!(found.is_ok() || decides, "{a} {step}");
        }
    }
    let mut stream = Stream::from_key([9; 32], 2);
    for _ in 0..2000 {
        let a = any_double(&mut stream, 20);
        for step in [-70, -64, -63, -40, -1, 0, 3, 64] {
            check::<2>(a, step);
            check::<3>(a, step);
            check::<8>(a, step);
        }
    }
    // an error that a product would take out of range
    let wide = Enclosure::<32>::integer(-5).wider_by(1 << 120);
    assert_eq!(wide.nearest_multiple(-50), Ok(-5 << 50));
    assert!(wide.shifted(50).nearest().is_err());
    // too far, or on a border
    assert!(Enclosure::<4>::integer(9).nearest_multiple(-60).is_err());
    let half = Enclosure::<4>::dyadic(1, -11);
    assert_eq!(half.nearest_multiple(-10), Ok(1));
    assert_eq!(half.wider_by(1).nearest_multiple(-10), Err(Undecided));
}

/// Answers at five words' numbers, where fewer are undecided.
struct AtLeast(usize);

impl Question for AtLeast {
    type Answer = usize;

    fn ask<const N: usize>(&self) -> Result<usize, Undecided> {
        if N >= self.0 { Ok(N) } else { Err(Undecided) }
    }
}

#[test]
fn questions_are_asked_with_more_words_until_they_are_decided() {
    let ask = |words, effort| decide(&AtLeast(words), effort);
    assert_eq!([2, 3, 4, 5, 9, 17].map(|n| ask(n, Effort::Least)), [2, 3, 8, 8, 32, 32]);
    assert_eq!(try_decide(&AtLeast(33), Effort::Least), Err(Undecided));
    assert_eq!(ask(2, Effort::Steady), 3);
}

/// A symmetric matrix with two eigenvalues that nearly meet, as doubles.
fn symmetric(m: usize, stream: &mut Stream) -> Vec<f64> {
    let mut a = vec![0.0; m * m];
    for i in 0..m {
        for j in i..m {
            let near = if i == j && i < 2 { 1.0 } else { stream.normal() };
            let x = if i < 2 && j < 2 && i != j { 1e-12 } else { near };
            (a[i * m + j], a[j * m + i]) = (x, x);
        }
    }
    a
}

fn enclosed<const N: usize>(a: &[f64]) -> Vec<Enclosure<N>> {
    a.iter().map(|x| Enclosure::double(*x, 0)).collect()
}

/// True if the enclosures of few words hold those of many, and are `bits` wide at most.
fn contain<const N: usize>(few: &[Enclosure<N>], many: &[Enclosure<32>], bits: i32) -> bool {
    few.iter().zip(many).all(|(x, y)| {
        let (inside, narrow) = (ends(x), ends(y));
        inside.0 <= narrow.0 && narrow.1 <= inside.1 && x.is_known_to(-bits)
    })
}

#[test]
fn eigenvalues_are_enclosed() {
    use matrices::eigenvalues;
    let mut stream = Stream::from_key([1; 32], 5);
    for m in [2, 3, 4, 7] {
        for _ in 0..10 {
            let a = symmetric(m, &mut stream);
            let many = eigenvalues(enclosed::<32>(&a), m).unwrap();
            assert!(contain(&eigenvalues(enclosed::<2>(&a), m).unwrap(), &many, 35));
            assert!(contain(&eigenvalues(enclosed::<4>(&a), m).unwrap(), &many, 140));
            // the characteristic polynomial changes its sign in each
            for x in &many {
                let (low, high) = ends(x);
                let sign = |x: &Wide| determinant(&a, x, m) > wide(0.0);
                assert!(sign(&low) != sign(&high), "{m}");
            }
            assert!(many.windows(2).all(|pair| pair[1].is_less(&pair[0]) == Ok(true)));
        }
    }
}

/// det(A - x I) by elimination.
fn determinant(a: &[f64], x: &Wide, m: usize) -> Wide {
    let mut rows: Vec<Vec<Wide>> =
        a.chunks(m).map(|row| row.iter().map(|a| wide(*a)).collect()).collect();
    rows.iter_mut().enumerate().for_each(|(i, row)| row[i] -= x);
    let mut product = wide(1.0);
    for i in 0..m {
        product *= &rows[i][i];
        for k in i + 1..m {
            let share = &rows[k][i] / &rows[i][i];
            for j in i..m {
                let part = &share * &rows[i][j];
                rows[k][j] -= part;
            }
        }
    }
    product
}

/// cos^2 + T^2 (sin(T)/T)^2 = I, and the trace of the cosine is the sum of those of the eigenvalues.
#[test]
fn cosines_of_matrices_are_enclosed() {
    use matrices::{circular, eigenvalues, gram, product};
    let mut stream = Stream::from_key([1; 32], 6);
    for m in [1, 2, 3, 5] {
        for size in [1e-9, 0.3, 1.4] {
            let b: Vec<f64> = (0..m * m).map(|_| size * stream.uniform_open()).collect();
            let square = gram(&enclosed::<32>(&b), m);
            let (cos, sinc) = circular(&square, m, 6).unwrap();
            let (few, other) = circular(&gram(&enclosed::<3>(&b), m), m, 6).unwrap();
            assert!(contain(&few, &cos, 90) && contain(&other, &sinc, 90));
            let squared = product(&square, &product(&sinc, &sinc, m), m);
            for (i, (x, y)) in product(&cos, &cos, m).iter().zip(&squared).enumerate() {
                let sum = x.plus(y);
                let identity = wide(f64::from(i.is_multiple_of(m + 1)));
                assert!(holds(&sum, &identity) && sum.is_known_to(-1800), "{m} {size}");
            }
            let mut trace = Enclosure::<32>::ZERO;
            (0..m).for_each(|i| trace = trace.plus(&cos[i * (m + 1)]));
            for x in eigenvalues(square.to_vec(), m).unwrap() {
                trace = trace.minus(&x.circular().unwrap().0);
            }
            assert!(holds(&trace, &wide(0.0)) && trace.is_known_to(-1700), "{m} {size}");
        }
    }
    let large = [8.0, 0.0, 0.0, 1.0];
    let square = gram(&enclosed::<3>(&large), 2);
    assert!(circular(&square, 2, 6).is_err());
    let (cos, sinc) = circular(&square, 2, 7).unwrap();
    assert!((cos[0].middle_as_double() - 8f64.cos()).abs() < 1e-15);
    assert!((sinc[0].middle_as_double() - 8f64.sin() / 8.0).abs() < 1e-15);
}

#[test]
fn factors_are_enclosed() {
    use matrices::{cholesky, dot, orthonormal};
    let mut stream = Stream::from_key([2; 32], 5);
    for m in [2, 3, 6] {
        let normals: Vec<f64> = (0..m * m).map(|_| stream.normal()).collect();
        let rows = orthonormal(&enclosed::<4>(&normals), m).unwrap();
        let row = |x: &[Enclosure<4>], i: usize| x[i * m..i * m + m].to_vec();
        for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
            let product = dot(&row(&rows, i), &row(&rows, j));
            assert!(
                holds(&product, &wide(f64::from(u8::from(i == j)))) && product.is_known_to(-150)
            );
            // row i is a sum of the first i + 1 given ones
            let given = dot(&row(&rows, i), &enclosed(&normals[j * m..j * m + m]));
            assert!(j >= i || holds(&given, &wide(0.0)));
            assert!(j != i || given.sign() == Ok(std::cmp::Ordering::Greater));
        }
        let mut spd = symmetric(m, &mut stream);
        (0..m).for_each(|i| spd[i * m + i] += 9.0);
        let lower = cholesky(&enclosed::<4>(&spd), m).unwrap();
        for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
            let product = dot(&row(&lower, i), &row(&lower, j));
            assert!(holds(&product, &wide(spd[i * m + j])) && product.is_known_to(-150));
            assert!(j <= i || lower[i * m + j].is_zero());
        }
        spd[m] = -100.0;
        assert!(cholesky(&enclosed::<4>(&spd), m).is_err());
    }
}

/// log(sum e^(l_i) c_i c_i^T) with few words holds that with many, and e^ of it gives the sum back.
#[test]
fn logarithms_of_sums_are_enclosed() {
    use matrices::log_of_sum;
    let mut stream = Stream::from_key([3; 32], 5);
    for (m, spread) in [(2, 1.0), (2, 900.0), (3, 0.1), (3, 40.0), (5, 300.0)] {
        for _ in 0..6 {
            let l: Vec<f64> = (0..m).map(|i| spread * (0.3 - i as f64 / m as f64)).collect();
            let c: Vec<f64> = (0..m * m).map(|_| stream.normal()).collect();
            let many = log_of_sum(&enclosed::<32>(&l), enclosed(&c)).unwrap();
            let few = log_of_sum(&enclosed::<4>(&l), enclosed(&c)).unwrap();
            assert!(contain(&few, &many, 90), "{m} {spread}");
            if let Ok(few) = log_of_sum(&enclosed::<2>(&l), enclosed(&c)) {
                assert!(contain(&few, &many, 10), "{m} {spread}");
            }
            // its trace is the logarithm of the determinant
            let trace = (0..m).fold(Enclosure::ZERO, |sum, i| sum.plus(&many[i * (m + 1)]));
            let square = determinant(&c, &wide(0.0), m).sqr();
            let exact = l.iter().fold(square.ln(), |sum, l| sum + wide(*l));
            assert!(holds(&trace, &exact), "{m} {spread}");
            // with e^l in the range of doubles, its square is that of the logarithm of the plain sum
            if spread < 50.0 {
                let sum = |i: usize, j: usize| {
                    (0..m).fold(wide(0.0), |sum, k| {
                        sum + wide(l[k]).exp() * wide(c[k * m + i]) * wide(c[k * m + j])
                    })
                };
                assert!(is_logarithm(&many, &sum, m), "{m} {spread}");
            }
        }
    }
}

/// Complex numbers from real and imaginary parts in turn.
fn complex<const N: usize>(parts: &[f64]) -> Vec<Complex<N>> {
    enclosed(parts).chunks_exact(2).map(Complex::read).collect()
}

fn parts<const N: usize>(entries: &[Complex<N>]) -> Vec<Enclosure<N>> {
    entries.iter().flat_map(Complex::parts).collect()
}

#[test]
fn complex_factors_are_enclosed() {
    use matrices::{cholesky, dot, orthonormal};
    let mut stream = Stream::from_key([4; 32], 5);
    for m in [2, 3, 6] {
        let normals: Vec<f64> = (0..2 * m * m).map(|_| stream.normal()).collect();
        let rows = orthonormal(&complex::<4>(&normals), m).unwrap();
        let row = |x: &[Complex<4>], i: usize| x[i * m..i * m + m].to_vec();
        for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
            let [re, im] = dot(&row(&rows, i), &row(&rows, j)).parts();
            assert!(holds(&re, &wide(f64::from(u8::from(i == j)))) && holds(&im, &wide(0.0)));
            assert!(re.is_known_to(-150) && im.is_known_to(-150));
        }
        // sixteenths, so that few bits hold the product
        let sixteenth = |k: usize| (f64::from((k * 5 % 7) as u32) - 3.0) / 16.0;
        let mut factor = vec![0.0; 2 * m * m];
        for i in 0..m {
            (0..2 * i).for_each(|k| factor[2 * i * m + k] = sixteenth(i + 3 * k));
            factor[2 * i * (m + 1)] = 1.0 + 0.25 * i as f64;
        }
        let factor = complex::<4>(&factor);
        let mut matrix: Vec<_> =
            (0..m * m).map(|at| dot(&row(&factor, at / m), &row(&factor, at % m))).collect();
        let lower = cholesky(&matrix, m).unwrap();
        for (found, exact) in parts(&lower).iter().zip(parts(&factor)) {
            assert!(holds(found, &ends(&exact).0) && found.is_known_to(-150));
        }
        matrix[m] = Complex::read(&enclosed(&[0.0, 100.0]));
        assert!(cholesky(&matrix, m).is_err());
    }
}

/// The logarithm of a sum of complex vectors is that of twice as many real ones, (Re c, Im c) and (-Im c, Re c).
#[test]
fn complex_logarithms_of_sums_are_those_of_real_ones() {
    use matrices::log_of_sum;
    let mut stream = Stream::from_key([5; 32], 5);
    for (m, spread) in [(2, 1.0), (2, 900.0), (3, 0.1), (3, 40.0), (5, 300.0)] {
        for _ in 0..4 {
            let l: Vec<f64> = (0..m).map(|i| spread * (0.3 - i as f64 / m as f64)).collect();
            let c: Vec<f64> = (0..2 * m * m).map(|_| stream.normal()).collect();
            let few = log_of_sum(&enclosed::<4>(&l), complex(&c)).unwrap();
            let many = log_of_sum(&enclosed::<32>(&l), complex(&c)).unwrap();
            assert!(contain(&parts(&few), &parts(&many), 90), "{m} {spread}");
            let twice: Vec<f64> = l.iter().flat_map(|x| [*x, *x]).collect();
            let turned = |row: &[f64]| -> Vec<f64> {
                let other = row.chunks_exact(2).flat_map(|z| [-z[1], z[0]]);
                row.iter().copied().chain(other).collect()
            };
            let real: Vec<f64> = c.chunks_exact(2 * m).flat_map(turned).collect();
            let real = log_of_sum(&enclosed::<32>(&twice), enclosed(&real)).unwrap();
            for (at, entry) in many.iter().enumerate() {
                // the block of entry (i, j)
                let at = 4 * m * (at / m) + 2 * (at % m);
                for (x, y) in entry.parts().iter().zip([real[at], real[at + 2 * m]]) {
                    let apart = ends(&x.minus(&y));
                    assert!(apart.0 <= wide(0.0) && wide(0.0) <= apart.1, "{m} {spread}");
                }
            }
        }
    }
}

/// True if e^x, by its series and squaring, is the matrix to 100 digits.
fn is_logarithm(x: &[Enclosure<32>], matrix: &dyn Fn(usize, usize) -> Wide, m: usize) -> bool {
    let x: Vec<Wide> = x.iter().map(|x| ends(x).0 >> 10).collect();
    let times = |a: &[Wide], b: &[Wide]| -> Vec<Wide> {
        let entry = |i: usize, j: usize| {
            (0..m).fold(wide(0.0), |sum, k| sum + &a[i * m + k] * &b[k * m + j])
        };
        (0..m * m).map(|at| entry(at / m, at % m)).collect()
    };
    let one: Vec<Wide> =
        (0..m * m).map(|at| wide(f64::from(u8::from(at % (m + 1) == 0)))).collect();
    let mut power = one.clone();
    for k in (1..120).rev() {
        let next = times(&x, &power);
        power = one.iter().zip(next).map(|(one, x)| one + x / wide(f64::from(k))).collect();
    }
    for _ in 0..10 {
        power = times(&power, &power);
    }
    let close = wide(1e-100);
    power.iter().enumerate().all(|(at, x)| {
        let apart = x - matrix(at / m, at % m);
        apart < close && -apart < close
    })
}
