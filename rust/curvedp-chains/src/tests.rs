use super::*;
use curvedp_core::parallel::set_num_threads;

const KEY: [u8; 32] = [9; 32];

/// The standard normal law on R^2, proposals uniform on a square.
struct Normal;

impl Target for Normal {
    type State = [f64; 2];

    fn log_density(&self, state: &mut [f64; 2]) -> f64 {
        -0.5 * (state[0] * state[0] + state[1] * state[1])
    }

    fn propose(&self, from: &[f64; 2], scale: f64, stream: &mut Stream, to: &mut [f64; 2]) -> f64 {
        *to = from.map(|x| x + scale * (2.0 * stream.uniform_open() - 1.0));
        0.0
    }

    fn width(&self) -> usize {
        3
    }

    fn describe(&self, state: &[f64; 2], row: &mut [f64]) {
        row.copy_from_slice(&[state[0], state[1], state[0] * state[0] + state[1] * state[1]]);
    }
}

/// exp(-x) on the half line, proposals x e^(scale z), with the log ratio of their densities or without.
struct Exponential {
    with_ratio: bool,
}

impl Target for Exponential {
    type State = f64;

    fn log_density(&self, state: &mut f64) -> f64 {
        if *state > 0.0 { -*state } else { f64::NAN }
    }

    fn propose(&self, from: &f64, scale: f64, stream: &mut Stream, to: &mut f64) -> f64 {
        *to = from * (scale * stream.normal()).exp();
        if self.with_ratio { (*to / from).ln() } else { 0.0 }
    }

    fn width(&self) -> usize {
        1
    }

    fn describe(&self, state: &f64, row: &mut [f64]) {
        row[0] = *state;
    }
}

/// Two narrow wells at -5 and 5.
struct Wells;

impl Target for Wells {
    type State = f64;

    fn log_density(&self, state: &mut f64) -> f64 {
        -50.0 * (state.abs() - 5.0).powi(2)
    }

    fn propose(&self, from: &f64, scale: f64, stream: &mut Stream, to: &mut f64) -> f64 {
        *to = from + scale * stream.normal();
        0.0
    }

    fn width(&self) -> usize {
        1
    }

    fn describe(&self, state: &f64, row: &mut [f64]) {
        row[0] = *state;
    }
}

fn plan(burn_in: usize, draws: usize, thinning: usize) -> Plan {
    Plan { burn_in, draws, thinning, scale: 0.01, acceptance: Some(0.4) }
}

/// Ends of independent chains against a distribution function: sqrt(n) sup |F_n - F| (Kolmogorov).
fn distance_from(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let gaps = draws.iter().enumerate().map(|(i, x)| {
        let f = cdf(*x);
        (f - i as f64 / n).max((i + 1) as f64 / n - f)
    });
    gaps.fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn ends_of_chains_follow_the_normal_law() {
    let starts = (0..4000).map(|i| [8.0 * f64::from(i % 3) - 8.0, 6.0]).collect();
    let chains = run(&Normal, starts, &plan(400, 1, 1), KEY, &|| false).unwrap();
    let squares: Vec<f64> = chains.iter().map(|chain| chain.draws[2]).collect();
    let cdf = |s: f64| 1.0 - (-0.5 * s).exp();
    assert!(distance_from(squares, cdf) < 2.6); // p = 3e-6
    // the negative control: short chains still sit at their starts
    let starts = (0..4000).map(|i| [8.0 * f64::from(i % 3) - 8.0, 6.0]).collect();
    let chains = run(&Normal, starts, &plan(20, 1, 1), KEY, &|| false).unwrap();
    let squares: Vec<f64> = chains.iter().map(|chain| chain.draws[2]).collect();
    assert!(distance_from(squares, cdf) > 2.6);
}

#[test]
fn the_ratio_of_proposals_counts() {
    let cdf = |x: f64| 1.0 - (-x).exp();
    for (with_ratio, fits) in [(true, true), (false, false)] {
        let starts = (0..4000).map(|i| 0.1 + f64::from(i % 7)).collect();
        let target = Exponential { with_ratio };
        let chains = run(&target, starts, &plan(300, 1, 1), KEY, &|| false).unwrap();
        let ends: Vec<f64> = chains.iter().map(|chain| chain.draws[0]).collect();
        assert_eq!(distance_from(ends, cdf) < 2.6, fits);
    }
}

#[test]
fn the_scale_adapts_to_the_acceptance_rate_while_burning_in() {
    for wished in [0.2, 0.4, 0.7] {
        let plan = Plan { acceptance: Some(wished), ..plan(20_000, 20_000, 1) };
        let chains = run(&Normal, vec![[0.0; 2]; 2], &plan, KEY, &|| false).unwrap();
        for chain in &chains {
            assert!((chain.acceptance - wished).abs() < 0.05, "{}", chain.acceptance);
        }
        let fixed = Plan { acceptance: None, ..plan };
        let chains = run(&Normal, vec![[0.0; 2]], &fixed, KEY, &|| false).unwrap();
        assert_eq!(chains[0].scale.to_bits(), plan.scale.to_bits());
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_other_chains() {
    let starts = |count: usize| -> Vec<[f64; 2]> { (0..count).map(|i| [i as f64, 0.0]).collect() };
    let plan = plan(50, 40, 3);
    let run = |count| run(&Normal, starts(count), &plan, KEY, &|| false).unwrap();
    set_num_threads(1);
    let alone = run(5);
    set_num_threads(3);
    let together = run(5);
    set_num_threads(0);
    assert_eq!(alone, together);
    assert_eq!(run(2), alone[..2]);
    assert_ne!(alone[0].draws, alone[1].draws);
    assert_eq!(alone[0].draws.len(), 40 * 3);
}

#[test]
fn a_raised_flag_ends_the_run() {
    let outcome = run(&Normal, vec![[0.0; 2]], &plan(0, usize::MAX, 1), KEY, &|| true);
    assert_eq!(outcome, Err(Error::Interrupted));
}

#[test]
fn an_effective_sample_size_is_that_of_an_autoregression() {
    let mut stream = Stream::from_key(KEY, 0);
    for phi in [0.0, 0.5, 0.9, -0.3] {
        let chains: Vec<Vec<f64>> = (0..4)
            .map(|_| {
                let mut x = stream.normal() / (1.0_f64 - phi * phi).sqrt();
                (0..20_000)
                    .map(|_| {
                        x = phi * x + stream.normal();
                        x
                    })
                    .collect()
            })
            .collect();
        let draws: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let expected = 80_000.0 * (1.0 - phi) / (1.0 + phi);
        let found = effective_sample_size(&draws);
        assert!((found / expected - 1.0).abs() < 0.12, "{phi}: {found} against {expected}");
        assert!((split_r_hat(&draws) - 1.0).abs() < 0.01);
    }
}

#[test]
fn overdispersed_starts_show_what_one_start_hides() {
    let plan = Plan { scale: 0.2, acceptance: None, ..plan(200, 2000, 1) };
    let r_hat = |starts: Vec<f64>| {
        let chains = run(&Wells, starts, &plan, KEY, &|| false).unwrap();
        diagnose(&chains, 1)[0].r_hat
    };
    assert!(r_hat(vec![-5.0, 5.0, -5.0, 5.0]) > 5.0);
    assert!(r_hat(vec![5.0; 4]) < 1.05);
}

#[test]
fn diagnoses_of_degenerate_chains_are_defined() {
    assert!(split_r_hat(&[]).is_nan() && effective_sample_size(&[&[1.0, 2.0]]).is_nan());
    assert_eq!(split_r_hat(&[&[1.0; 8], &[1.0; 8]]), 1.0);
    assert_eq!(effective_sample_size(&[&[1.0; 8]]), 1.0);
    assert_eq!(split_r_hat(&[&[1.0; 8], &[2.0; 8]]), f64::INFINITY);
}
