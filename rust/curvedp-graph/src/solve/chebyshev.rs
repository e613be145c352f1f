//! Functions of a Laplacian as Chebyshev series.

use super::sums::blocks;
use crate::graph::Laplacian;
use curvedp_core::error::Error;
use curvedp_core::parallel::Interrupt;

/// sum_k c_k T_k(2L/b - 1) f for a spectrum of L within [0, b]; one entry of f for each node.
pub fn chebyshev(
    laplacian: &Laplacian,
    coefficients: &[f64],
    bound: f64,
    f: &[f64],
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    // (2L/b - 1) x
    let apply = |i: usize, x: &[f64]| {
        let (columns, weights) = laplacian.weights.row(i);
        let here = x[i];
        let edges = columns.iter().zip(weights);
        let sum: f64 = edges.map(|(&j, w)| w * (here - x[j as usize])).sum();
        2.0 * sum / (bound * laplacian.mass[i]) - here
    };
    let fill = |out: &mut [f64], entry: &(dyn Fn(usize) -> f64 + Sync)| {
        blocks(out, |range, out| {
            range.zip(out).for_each(|(i, x)| *x = entry(i));
            0.0
        });
    };
    let coefficient = |k: usize| coefficients.get(k).copied().unwrap_or(0.0);
    let mut before = f.to_vec();
    let mut here = vec![0.0; f.len()];
    fill(&mut here, &|i| apply(i, &before));
    let mut result = vec![0.0; f.len()];
    fill(&mut result, &|i| coefficient(0) * before[i] + coefficient(1) * here[i]);
    let mut next = vec![0.0; f.len()];
    for k in 2..coefficients.len() {
        fill(&mut next, &|i| 2.0 * apply(i, &here) - before[i]);
        for (sum, x) in result.iter_mut().zip(&next) {
            *sum += coefficients[k] * x;
        }
        (before, here, next) = (here, next, before);
        if interrupt() {
            return Err(Error::Interrupted);
        }
    }
    Ok(result)
}
