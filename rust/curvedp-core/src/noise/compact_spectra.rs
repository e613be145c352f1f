//! Directions over which the volumes of compact spaces are averaged: by their angles, in quadrature where the rank is small.

use super::compact::{Angles, PANELS};
use super::quadrature::GaussLegendre;
use super::radial::fill_direction;
use super::spd_volume::{MAX_ORDER, Spectrum, spectrum};
use super::stream::Stream;
use crate::roots::Matrices;
use crate::vector::norm;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_3};

/// Bound of the number of roots that are evaluated where directions are drawn.
const BUDGET: usize = 2_000_000;

/// Angles of vectors of length 1 in uniformly distributed directions, with weights.
pub(super) fn spectra(angles: &Angles, key: [u8; 32]) -> Vec<(f64, Spectrum)> {
    let Angles { roots, factor, .. } = *angles;
    let mut values = [0.0; MAX_ORDER];
    match roots.rank {
        1 => {
            values[0] = factor;
            vec![(1.0, values)]
        }
        _ if roots.has_flat_factor() => spectra_about_identity(angles, key),
        // (cos x, sin x) with density (cos x sin x)^s (cos 2x)^m
        2 => {
            let rule = GaussLegendre::<16>::new();
            let weighted: Vec<_> = rule
                .on_panels(0.0, 0.5 * FRAC_PI_2, 8)
                .map(|(x, w)| {
                    let (sin, cos) = libm::sincos(x);
                    values[..2].copy_from_slice(&[cos, sin].map(|x| factor * x));
                    let single = libm::pow(2.0 * sin * cos, roots.single as f64);
                    let pair = libm::cos(2.0 * x).powi(roots.sums as i32);
                    (w * single * pair, values)
                })
                .collect();
            let total: f64 = weighted.iter().map(|(w, _)| w).sum();
            weighted.into_iter().map(|(w, values)| (w / total, values)).collect()
        }
        rank => {
            let count = (BUDGET / (16 * PANELS * rank * rank)).min(4096);
            let mut stream = Stream::from_key(key, 0);
            let mut coords = vec![0.0; roots.dim()];
            let mut draw = || {
                fill_direction(&mut stream, 1.0, &mut coords);
                (1.0 / count as f64, angles.of(&coords))
            };
            (0..count).map(|_| draw()).collect()
        }
    }
}

/// The same on U(n), rank n > 1: at the angle y from multiples of the identity, of density sin^(D-2) y, y up to pi/2 by
/// symmetry.
fn spectra_about_identity(angles: &Angles, key: [u8; 32]) -> Vec<(f64, Spectrum)> {
    let Angles { roots, factor, .. } = *angles;
    let nodes: Vec<_> = GaussLegendre::<16>::new().on_panels(0.0, FRAC_PI_2, 8).collect();
    let count = (BUDGET / (16 * PANELS * roots.rank * roots.rank)).min(4096) / nodes.len();
    let mut stream = Stream::from_key(key, 0);
    let mut weighted = vec![];
    for (y, w) in nodes {
        let (sin, cos) = libm::sincos(y);
        let density = w * libm::pow(sin, roots.dim() as f64 - 2.0);
        let along = cos / (roots.rank as f64).sqrt();
        for (share, mut values) in spectra_across(angles, count.max(1), &mut stream) {
            values.iter_mut().for_each(|x| *x = factor * (along + sin * *x));
            weighted.push((density * share, values));
        }
    }
    let total: f64 = weighted.iter().map(|(w, _)| w).sum();
    weighted.into_iter().map(|(w, values)| (w / total, values)).collect()
}

/// Eigenvalues of Hermitian matrices of length 1 and trace 0, with weights whose sum is the same each time.
fn spectra_across(angles: &Angles, count: usize, stream: &mut Stream) -> Vec<(f64, Spectrum)> {
    let (rank, mut values) = (angles.roots.rank, [0.0; MAX_ORDER]);
    match rank {
        2 => {
            values[..2].copy_from_slice(&[FRAC_1_SQRT_2, -FRAC_1_SQRT_2]);
            vec![(1.0, values)]
        }
        // cosines of x and 120 degrees before and after it, with density sin^2 3x
        3 => {
            let rule = GaussLegendre::<16>::new();
            let nodes = rule.on_panels(0.0, FRAC_PI_3, 1);
            let spectrum = |(x, w): (f64, f64)| {
                let cosine =
                    |i: usize| (2.0f64 / 3.0).sqrt() * libm::cos(x + (i * 2) as f64 * FRAC_PI_3);
                (0..3).for_each(|i| values[i] = cosine(i));
                (w * libm::sin(3.0 * x).powi(2), values)
            };
            nodes.map(spectrum).collect()
        }
        _ => {
            let mut coords = vec![0.0; angles.dim()];
            let mut draw = || {
                fill_direction(stream, 1.0, &mut coords);
                let mut values = spectrum(&coords, Matrices::hermitian(rank));
                let mean = values[..rank].iter().sum::<f64>() / rank as f64;
                values[..rank].iter_mut().for_each(|x| *x -= mean);
                let length = norm(&values[..rank]);
                values.iter_mut().for_each(|x| *x /= length);
                (1.0, values)
            };
            (0..count).map(|_| draw()).collect()
        }
    }
}
