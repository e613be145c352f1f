use super::bound::{Limit, divide, root_up, squares};
use super::*;
use crate::manifold::build;

fn never() -> bool {
    false
}

fn sums(kind: &str, size: usize, parameter: f64, records: &[f64]) -> MessageSums {
    let manifold = build(kind, size, parameter).unwrap().into();
    MessageSums::new(manifold, records, None, &never).unwrap()
}

#[test]
fn roots_are_rounded_up_and_exact_where_they_are_integers() {
    assert_eq!(root_up(1 << 50), (1_u64 << 25) as f64);
    for square in [2, 3, (1 << 48) + (1 << 46), 123_456_789_012_345, (1 << 70) + 1] {
        let root = root_up(square);
        // both are whole numbers of 2^-k, whose squares 128 bits hold
        let shift = (104 - (128 - square.leading_zeros())) / 2;
        let whole = (root * (1_u64 << shift) as f64) as u128;
        assert!(whole * whole >= square << (2 * shift), "{square}");
        assert!((whole - 1) * (whole - 1) < square << (2 * shift), "{square}");
    }
}

#[test]
fn squares_are_exact_or_refused_whatever_the_entries() {
    assert_eq!(squares(&[3, -4]), Some(25));
    assert_eq!(squares(&[1 << 40; 64]), Some(1 << 86));
    for entry in [i64::MAX, i64::MIN, (1 << 40) + 1] {
        assert_eq!(squares(&[0, entry]), None);
    }
}

#[test]
fn a_limit_counts_entries_off_the_diagonal_twice() {
    let limit = Limit { square: 9, once: 1 };
    assert!(limit.holds(&[1, 2]));
    assert!(!limit.holds(&[2, 2]));
    assert!(!limit.holds(&[i64::MIN, 0]));
}

#[test]
fn messages_beyond_their_limit_are_not_added() {
    let two = sums("euclidean", 1, 0.0, &[0.0, 1.0, f64::NAN]);
    let limit = Limit { square: 25, once: 2 };
    let send = |first: i64| {
        move |i: usize, out: &mut [i64]| {
            out.copy_from_slice(&if i == 0 { [first, 4] } else { [0, 1] });
            true
        }
    };
    assert_eq!(two.sum(&limit, 2, &never, send(3)).unwrap(), [3, 5]);
    assert_eq!(two.sum(&limit, 2, &never, send(6)).unwrap(), [0, 1]);
    assert_eq!(two.sum(&limit, 2, &never, send(i64::MAX)).unwrap(), [0, 1]);
}

#[test]
fn means_of_units_are_rounded_towards_zero_and_units_without_records_send_nothing() {
    let mut sums = [7, -7, 6];
    divide(&mut sums, 2);
    assert_eq!(sums, [3, -3, 3]);
    let manifold: Arc<dyn Manifold> = build("euclidean", 1, 0.0).unwrap().into();
    let ends = Some(vec![0, 0, 2, 2]);
    let of_units = MessageSums::new(manifold, &[1.0, f64::NAN], ends, &never).unwrap();
    let limit = Limit { square: 49, once: 1 };
    let seven = |_: usize, out: &mut [i64]| {
        out[0] = -7;
        true
    };
    assert_eq!(of_units.sum(&limit, 1, &never, seven).unwrap(), [-3]);
}

#[test]
fn more_records_than_64_bits_hold_are_refused() {
    let limit = Limit { square: 1 << 48, once: 1 };
    assert!(limit.admit((1 << 38) + 1).is_ok());
    assert!(limit.admit(1 << 39).is_err());
    let longest = Limit { square: 1 << 100, once: 1 };
    assert!(longest.admit(usize::MAX).is_err());
}

#[test]
fn columns_are_a_square_root_of_prefix_sums() {
    let bins = 40;
    let column = square_root_column(bins).unwrap();
    for k in 0..bins {
        let sum: i64 = (0..=k).map(|i| column[i] * column[k - i]).sum();
        assert!(((sum as f64) / 2.0_f64.powi(40) - 1.0).abs() < 1e-5, "{k}");
    }
    for bins in [0, 4097, usize::MAX] {
        assert!(square_root_column(bins).is_err() && tail_bound(bins).is_err());
    }
}

#[test]
fn a_flat_round_is_the_clipped_difference() {
    let mut line = sums("euclidean", 1, 0.0, &[0.5, 4.0, f64::INFINITY]);
    let whole = ROUND_BOUND - 8;
    let half = whole / 2;
    let rest = |z: i64| (ROUND_BOUND * ROUND_BOUND - z * z).isqrt();
    let expected = [half + whole, rest(half) + rest(whole)];
    assert_eq!(line.round(&[0.0], 1.0, &never).unwrap(), expected);
    assert_eq!(line.round(&[f64::NAN], 1.0, &never).unwrap(), [0, 0]);
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(line.round(&[0.0], radius, &never).is_err());
    }
}

#[test]
fn distances_fall_into_the_bins_whose_upper_ends_they_reach() {
    let mut line = sums("euclidean", 1, 0.0, &[9.0, 8.0, 4.0, 4.0 + 1e-9, 1e-9, 0.0]);
    let bins = 8;
    let mut counts = vec![0; bins];
    // 8 2^(-j/4): 4 is the fifth end
    [0, 0, 4, 3, 7, 7].iter().for_each(|j: &usize| counts[*j] += 1);
    let column = square_root_column(bins).unwrap();
    let expected: Vec<i64> =
        (0..bins).map(|i| (0..=i).map(|j| counts[j] * column[i - j]).sum()).collect();
    assert_eq!(line.tail(&[0.0], 8.0, bins, &never).unwrap(), expected);
}

#[test]
fn logarithms_of_the_last_base_are_kept_and_those_of_another_are_not() {
    let mut line = sums("euclidean", 1, 0.0, &[0.5]);
    line.tail(&[0.0], 8.0, 4, &never).unwrap();
    line.logs[0] = 0.25;
    let kept = line.round(&[0.0], 1.0, &never).unwrap();
    assert_eq!(kept[0], (ROUND_BOUND - 8) / 4);
    line.round(&[1.0], 1.0, &never).unwrap();
    assert_eq!(line.round(&[0.0], 1.0, &never).unwrap()[0], (ROUND_BOUND - 8) / 2);
}

#[test]
fn histograms_count_what_tail_counts_do() {
    let records: Vec<f64> = (0..60).map(|i| f64::from(i * i % 61) * 0.07).collect();
    let mut line = sums("euclidean", 1, 0.0, &records);
    let levels: Vec<f64> = (0..9).map(|j| 2.0 * (-f64::from(j) / 4.0).exp2()).collect();
    let histogram = line.histogram(&[0.4], &levels, &never).unwrap();
    let column = square_root_column(9).unwrap();
    let mut tail = vec![0; 9];
    for (j, sum) in histogram.iter().enumerate() {
        assert_eq!(sum % COUNT_UNIT, 0);
        tail[j..].iter_mut().zip(&column).for_each(|(t, b)| *t += sum / COUNT_UNIT * b);
    }
    assert_eq!(tail, line.tail(&[0.4], 2.0, 9, &never).unwrap());
    assert_eq!(histogram.iter().sum::<i64>(), 60 * COUNT_UNIT);
    assert!(line.histogram(&[0.4], &[], &never).is_err());
    assert!(line.histogram(&[0.4], &[1.0, f64::NAN], &never).is_err());
}

#[test]
fn a_unit_adds_one_to_a_histogram_however_its_records_lie() {
    let manifold: Arc<dyn Manifold> = build("euclidean", 1, 0.0).unwrap().into();
    let (records, ends) = ([0.1, 3.0, 9.0, f64::NAN, 0.1], Some(vec![0, 3, 5]));
    let mut units = MessageSums::new(manifold, &records, ends, &never).unwrap();
    let histogram = units.histogram(&[0.0], &[4.0, 1.0], &never).unwrap();
    // thirds are rounded towards zero; a record that is no point counts in no bin
    assert_eq!(histogram, [2 * COUNT_UNIT / 3, COUNT_UNIT / 3 + COUNT_UNIT / 2]);
}
