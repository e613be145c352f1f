//! Diagnosis of convergence: split R-hat and effective sample size (Gelman et al. 2013, chapter 11; Geyer
//! 1992; Vehtari et al. 2021).

use super::Chain;
use curvedp_core::simd::lanes::lane_sums;

/// Diagnosis of one number that chains keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// See [`effective_sample_size`].
    pub effective_sample_size: f64,
    /// See [`split_r_hat`].
    pub r_hat: f64,
}

/// A diagnosis of each of the `width` numbers that the chains keep.
#[must_use]
pub fn diagnose(chains: &[Chain], width: usize) -> Vec<Diagnosis> {
    let column = |chain: &Chain, j: usize| -> Vec<f64> {
        chain.draws.chunks_exact(width).map(|row| row[j]).collect()
    };
    let of_number = |j| {
        let draws: Vec<Vec<f64>> = chains.iter().map(|chain| column(chain, j)).collect();
        let draws: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        Diagnosis {
            effective_sample_size: effective_sample_size(&draws),
            r_hat: split_r_hat(&draws),
        }
    };
    (0..width).map(of_number).collect()
}

/// Root of the variance of all draws over that within the halves of chains: near 1 (below 1.01) where the
/// chains have met. Chains of equal length; NaN for fewer than 4 draws, infinite for constants that differ.
#[must_use]
pub fn split_r_hat(chains: &[&[f64]]) -> f64 {
    Variances::of_halves(chains)
        .map_or(f64::NAN, |v| if v.pooled == 0.0 { 1.0 } else { (v.pooled / v.within).sqrt() })
}

/// Number of independent draws that would estimate the mean as well: Geyer's initial monotone sequence over
/// the halves of all chains, at most N log10 N of N draws. NaN where [`split_r_hat`] is, 1 for constants.
#[must_use]
pub fn effective_sample_size(chains: &[&[f64]]) -> f64 {
    let Some(variances) = Variances::of_halves(chains) else { return f64::NAN };
    let halves: Vec<Vec<f64>> = halves(chains).into_iter().map(centred).collect();
    let length = halves[0].len();
    let total = (halves.len() * length) as f64;
    if variances.pooled == 0.0 {
        return 1.0;
    }
    let correlation = |lag: usize| {
        let sums = halves.iter().map(|half| lagged(half, lag));
        let mean = sums.sum::<f64>() / halves.len() as f64 * length as f64 / (length - 1) as f64;
        1.0 - (variances.within - mean) / variances.pooled
    };
    let (mut sum, mut smallest) = (0.0, f64::INFINITY);
    for lag in (0..length - 1).step_by(2) {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        smallest = f64::min(smallest, pair);
        sum += smallest;
    }
    let time = (2.0 * sum - 1.0).max(1.0 / total.log10());
    total / time
}

struct Variances {
    /// Mean variance within sequences.
    within: f64,
    /// Variance of the law as all sequences together show it.
    pooled: f64,
}

impl Variances {
    fn of_halves(chains: &[&[f64]]) -> Option<Self> {
        let halves = halves(chains);
        let length = halves.first().map_or(0, |half| half.len());
        if length < 2 {
            return None;
        }
        let means: Vec<f64> = halves.iter().map(|half| mean(half)).collect();
        let unbiased = length as f64 / (length - 1) as f64;
        let within: Vec<f64> = halves.iter().map(|half| variance(half) * unbiased).collect();
        let within = mean(&within);
        let between = variance(&means) * means.len() as f64 / (means.len() - 1) as f64;
        Some(Self { within, pooled: within / unbiased + between })
    }
}

/// First and second half of every chain, without the middle of an odd one.
fn halves<'a>(chains: &[&'a [f64]]) -> Vec<&'a [f64]> {
    let length = chains.iter().map(|chain| chain.len()).min().unwrap_or(0);
    let half = length / 2;
    chains.iter().flat_map(|chain| [&chain[..half], &chain[length - half..length]]).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// (1/n) sum_i (x_i - mean)^2
fn variance(x: &[f64]) -> f64 {
    lagged(&centred(x), 0)
}

fn centred(x: &[f64]) -> Vec<f64> {
    let mean = mean(x);
    x.iter().map(|x| x - mean).collect()
}

/// (1/n) sum_i x_i x_(i + lag)
fn lagged(x: &[f64], lag: usize) -> f64 {
    let (sums, a, b) = lane_sums(&x[..x.len() - lag], &x[lag..], |a, b| a * b);
    let rest: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    (sums.iter().sum::<f64>() + rest) / x.len() as f64
}
