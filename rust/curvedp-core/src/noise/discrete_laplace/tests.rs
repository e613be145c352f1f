use super::*;

fn stream() -> Stream {
    Stream::from_key([9; 32], 4)
}

/// The same law by the loops of Canonne, Kamath and Steinke 2020, Algorithms 1 and 2: comparisons of
/// random integers.
mod twin {
    use super::*;

    pub fn sample(law: &DiscreteLaplace, stream: &mut Stream) -> i128 {
        loop {
            // geometric with ratio exp(-1/2^shift), cut into its remainder and its quotient
            let remainder = fraction(law, stream);
            if !exponential_of(law, remainder, stream) {
                continue;
            }
            let mut quotient: u128 = 0;
            while exponential_of_one(stream) {
                quotient += 1;
            }
            let size = ((quotient << law.shift) + remainder) / u128::from(law.numerator);
            let negative = stream.bits() >> 63 == 1;
            if negative && size == 0 {
                continue;
            }
            return if negative { -(size as i128) } else { size as i128 };
        }
    }

    /// Uniform on 0 .. 2^shift.
    fn fraction(law: &DiscreteLaplace, stream: &mut Stream) -> u128 {
        let low = u128::from(stream.bits());
        let bits = if law.shift <= 64 { low } else { low | u128::from(stream.bits()) << 64 };
        bits & ((1 << law.shift) - 1)
    }

    /// True with probability exp(-u/2^shift), u < 2^shift: the first k at which a draw with probability
    /// u/(k 2^shift) fails is odd.
    fn exponential_of(law: &DiscreteLaplace, u: u128, stream: &mut Stream) -> bool {
        let mut k = 1;
        while fraction(law, stream) < u && below(k, stream) == 0 {
            k += 1;
        }
        k % 2 == 1
    }

    /// True with probability 1/e.
    fn exponential_of_one(stream: &mut Stream) -> bool {
        let mut k = 1;
        while below(k, stream) == 0 {
            k += 1;
        }
        k % 2 == 1
    }

    /// Uniform on 0 .. count.
    fn below(count: u64, stream: &mut Stream) -> u64 {
        if count == 1 {
            return 0;
        }
        let whole = u64::MAX / count * count;
        loop {
            let bits = stream.bits();
            if bits < whole {
                return bits % count;
            }
        }
    }
}

#[test]
fn the_rate_is_rounded_down_by_little() {
    for rate in [1e-18, 3e-9, 0.15, 0.5, 1.0, 2.0 / 3.0, 63.9] {
        let found = DiscreteLaplace::new(rate).unwrap().rate();
        assert!(found <= rate && found > rate * (1.0 - 2f64.powi(-31)), "{rate} {found}");
    }
    assert_eq!(DiscreteLaplace::new(1e300).unwrap().rate(), 64.0);
    for rate in [0.0, -1.0, 1e-19, f64::NAN] {
        assert!(DiscreteLaplace::new(rate).is_err());
    }
}

/// The first half of floor(2^128 p_j), from decimal arithmetic with 760 digits, at the rate rounded down to 32 bits.
#[test]
fn thresholds_are_those_of_decimal_arithmetic() {
    let known: [(f64, usize, u128); 17] = [
        (1e-18, 0, 0x7fff_ffff_ffff_fffb_6368_8b90_0000_0000),
        (1e-18, 5, 0x7fff_ffff_ffff_ff6c_6d11_7200_0000_0000),
        (1e-18, 22, 0x7fff_ffff_fed8_da22_e400_0000_0000_020b),
        (1e-18, 60, 0x3d6d_bf58_0f8c_6231_5283_49eb_2acf_18ce),
        (1e-06, 0, 0x7fff_fbce_4217_d800_6261_f45d_8a46_1d2b),
        (1e-06, 3, 0x7fff_de72_10be_c0c4_c3e8_bb0f_393f_fd42),
        (1e-06, 22, 0x03cd_adf7_087f_ed58_f796_6946_3d56_2210),
        (0.3, 0, 0x6cf1_55d0_ef71_ea31_89ce_33f1_e916_3bbd),
        (0.3, 3, 0x154a_ce4b_8b67_222d_f03f_81dd_b5f8_ac27),
        (0.3, 5, 0x0004_7039_0227_944a_d775_c770_e737_f52b),
        (1.0, 0, 0x44d9_5851_52ea_1935_dae2_3bc7_349e_e58b),
        (1.0, 3, 0x0015_fa3d_d7d2_f7a5_ea36_e4f9_88e7_d4d1),
        (1.0, 5, 0x0000_0000_0003_908c_9eec_2c80_4eda_f9af),
        (2.5, 0, 0x136b_7112_5348_4762_4915_8ca3_fd30_bad1),
        (2.5, 5, 0x0000_0000_0000_0000_0000_0000_0000_17fd),
        (64.0, 0, 0x0000_0000_0000_0000_0000_000c_b4ea_3990),
        (64.0, 1, 0),
    ];
    for (rate, j, threshold) in known {
        let found = DiscreteLaplace::new(rate).unwrap().thresholds[j];
        assert_eq!(found, (threshold >> 64) as u64, "{rate} {j}");
    }
    let digits = |rate| DiscreteLaplace::new(rate).unwrap().thresholds.len();
    assert_eq!((digits(1e-18), digits(1e-6), digits(1.0), digits(64.0)), (71, 31, 11, 5));
}

/// Frequencies of every value against P(X = x) = (1 - q)/(1 + q) q^|x|, q = exp(-rate).
#[test]
fn frequencies_are_two_sided_geometric() {
    for draw in [DiscreteLaplace::sample, twin::sample] {
        for rate in [0.07, 0.5, 1.0, 2.5] {
            let law = DiscreteLaplace::new(rate).unwrap();
            let (mut stream, n, reach) = (stream(), 300_000, 40i128);
            let mut counts = vec![0u32; 2 * reach as usize + 1];
            let mut square = 0.0;
            for _ in 0..n {
                let x = draw(&law, &mut stream);
                square += (x * x) as f64 / f64::from(n);
                if x.abs() <= reach {
                    counts[(x + reach) as usize] += 1;
                }
            }
            let q = (-rate).exp();
            for x in -reach..=reach {
                let p = (1.0 - q) / (1.0 + q) * q.powi(x.abs() as i32);
                let found = f64::from(counts[(x + reach) as usize]) / f64::from(n);
                assert!((found - p).abs() < 5.5 * (p / f64::from(n)).sqrt() + 1e-5, "{rate} {x}");
            }
            // a rate a twentieth off would move the variance by a tenth
            let variance = 2.0 * q / (1.0 - q).powi(2);
            assert!((square / variance - 1.0).abs() < 0.05, "{rate} {square} {variance}");
        }
    }
}

/// A small rate: the scaled draws are continuous Laplace noise.
#[test]
fn small_rates_give_large_draws() {
    let law = DiscreteLaplace::new(1e-18).unwrap();
    let mut stream = stream();
    let n = 100_000;
    let draws: Vec<f64> = (0..n).map(|_| law.sample(&mut stream) as f64 * 1e-18).collect();
    let mean_size = draws.iter().map(|x| x.abs()).sum::<f64>() / f64::from(n);
    assert!((mean_size - 1.0).abs() < 0.02, "{mean_size}");
    assert!(draws.iter().all(|x| x.is_finite() && x.abs() < 40.0));
}

/// Words that `draw` takes from a stream, found by reading the same stream beside it.
fn words_of(draw: impl Fn(&mut Stream) -> i128) -> Vec<(i128, usize)> {
    let (mut stream, mut beside) = (stream(), stream());
    let mut last = [0; 3];
    (0..300)
        .map(|_| {
            let x = draw(&mut stream);
            // three words in a row meet by chance with probability 2^-192
            let after = [(); 3].map(|()| stream.bits());
            let mut count = 0;
            last = [(); 3].map(|()| beside.bits());
            while last != after {
                last = [last[1], last[2], beside.bits()];
                count += 1;
            }
            (x, count)
        })
        .collect()
}

#[test]
fn the_words_of_an_attempt_do_not_depend_on_its_value() {
    for rate in [1e-9, 0.03, 0.5, 3.0] {
        let law = DiscreteLaplace::new(rate).unwrap();
        let width = law.thresholds.len() + 1;
        let found = words_of(|stream| law.sample(stream));
        assert!(found.iter().all(|(_, count)| count % width == 0), "{rate}");
        let single = found.iter().filter(|(_, count)| *count == width).count();
        assert!(single > 100, "{rate} {single}");
        let values = found.iter().map(|(x, _)| x);
        assert!(values.clone().max() > values.min());
        // the loops take more words for greater values
        let by_loops = words_of(|stream| twin::sample(&law, stream));
        assert!(by_loops.iter().any(|(_, count)| count % width != 0));
    }
}

/// Thresholds of 4 bits, so that a digit in 16 is a tie: the enclosures must give what 64 bits give.
#[test]
fn ties_of_narrow_thresholds_are_decided_as_by_wide_ones() {
    type Decision = fn(&DiscreteLaplace, usize, Variable, &Stream) -> bool;
    let right: Decision = DiscreteLaplace::settle;
    let never: Decision = |_, _, _, _| false;
    let fair: Decision = |_, _, number, _| number.first >> 59 & 1 == 1;
    let differences = |decision: Decision| {
        let (mut ties, mut differ) = (0, 0);
        for rate in [1e-18, 0.02, 0.7] {
            let law = DiscreteLaplace::new(rate).unwrap();
            let mut stream = stream();
            for draw in 0..3000 {
                let j = draw % law.thresholds.len();
                let number = stream.variable();
                let wide = number.first < law.thresholds[j];
                let (bits, threshold) = (number.first >> 60, law.thresholds[j] >> 60);
                let tie = bits == threshold;
                let narrow =
                    if tie { decision(&law, j, number, &stream) } else { bits < threshold };
                ties += usize::from(tie);
                differ += usize::from(narrow != wide);
            }
        }
        assert!(ties > 400, "{ties}");
        differ
    };
    assert_eq!(differences(right), 0);
    for wrong in [never, fair] {
        assert!(differences(wrong) > 50);
    }
}

/// Numbers that begin like the threshold: a digit is 1 with the probability that is left.
#[test]
fn tied_digits_come_out_with_their_conditional_probability() {
    let mut stream = stream();
    for (rate, j) in [(1.0, 0), (1.0, 3), (0.3, 1), (1e-18, 60)] {
        let law = DiscreteLaplace::new(rate).unwrap();
        let mut ones = 0;
        for _ in 0..2000 {
            let mut number = stream.variable();
            number.first = law.thresholds[j];
            ones += u32::from(law.settle(j, number, &stream));
        }
        // given its first 64 bits, U is below p_j with the probability of what follows them
        let power = law.power::<4>(j);
        let probability = power.over(&Enclosure::integer(1).plus(&power)).unwrap();
        let first = Enclosure::dyadic(i128::from(law.thresholds[j]), -64);
        let share = probability.minus(&first).shifted(64).middle_as_double();
        assert!((0.0..1.0).contains(&share));
        let deviation = (share * (1.0 - share) / 2000.0).sqrt();
        assert!((f64::from(ones) / 2000.0 - share).abs() <= 5.0 * deviation, "{rate} {j} {ones}");
    }
    // a threshold of 0 leaves none
    let law = DiscreteLaplace::new(64.0).unwrap();
    let mut number = stream.variable();
    number.first = 0;
    assert!(law.thresholds[4] == 0 && !law.settle(4, number, &stream));
}
