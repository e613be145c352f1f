//! The point of a noisy sum of start messages. What comes in is released: nothing here is trusted.

use super::start::{Columns, Start};
use crate::error::Error;
use crate::manifold::{Manifold, Matrix, Spectrum, turn_of};

type Complex = [f64; 2];

/// A point, how far the sum decides it, in the sum's units, and the order of the noise to which that is compared.
pub type Found = (Vec<f64>, f64, usize);

/// The point that a noisy sum of start messages stands for.
///
/// Projectors: the leading eigenvectors, decided by the gap behind their eigenvalues. Vectors: see
/// [`Manifold::start_point`]. A sum that is not finite, or stands for none, gives the manifold's origin, decided by 0.
pub fn start_point(manifold: &dyn Manifold, sum: &[f64]) -> Result<Found, Error> {
    let start = manifold.start();
    if start.limit()?.is_none() || sum.len() != start.message_size() {
        let allowed = "that of a start message";
        let value = sum.len() as f64;
        return Err(Error::Parameter { name: "the number of entries", allowed, value });
    }
    let size = match start {
        Start::Direction { size, .. } => size,
        Start::Orthogonal { order, .. } => order,
        Start::Projector { order, columns, .. } => {
            order - usize::from(columns == Columns::Landmarks) // centred
        }
        _ => 2,
    };
    let largest = sum.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let found = (largest > 0.0 && sum.iter().all(|x| x.is_finite()))
        .then(|| sum.iter().map(|x| x / largest).collect::<Vec<f64>>())
        .and_then(|sum| match start {
            Start::Projector { order, rank, columns } => {
                leading(manifold, &sum, order, rank, columns)
            }
            _ => manifold.start_point(&sum[..sum.len() - 1]),
        })
        .map(|(point, signal)| (point, signal * largest))
        .filter(|(point, signal)| signal.is_finite() && point.iter().all(|x| x.is_finite()));
    let (point, signal) = found.unwrap_or_else(|| (manifold.origin(), 0.0));
    Ok((point, signal, size))
}

/// The leading eigenvectors of the matrix with the given diagonal and entries above it, and the gap behind them.
fn leading(
    manifold: &dyn Manifold,
    sum: &[f64],
    order: usize,
    rank: usize,
    columns: Columns,
) -> Option<(Vec<f64>, f64)> {
    let is_complex = columns == Columns::Landmarks;
    let above = |i: usize, j: usize| {
        let at = i * (2 * order - i - 1) / 2 + j - i - 1;
        if is_complex {
            [sum[order + 2 * at], sum[order + 2 * at + 1]]
        } else {
            [sum[order + at], 0.0]
        }
    };
    let entry = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Equal => [sum[i], 0.0],
        std::cmp::Ordering::Less => above(i, j),
        std::cmp::Ordering::Greater => conjugate(above(j, i)),
    };
    let values = if is_complex { centred(order, entry) } else { descending(order, false, entry) };
    let gap = values.get(rank - 1)?.0 - values.get(rank)?.0;
    let mut point = match columns {
        Columns::Quaternion => turn_of(&values[0].1).to_vec(),
        Columns::Landmarks => values[0].1.clone(),
        Columns::Real => (0..order * rank).map(|at| values[at % rank].1[at / rank]).collect(),
    };
    manifold.project(&mut point).then_some((point, gap))
}

fn conjugate([x, y]: Complex) -> Complex {
    [x, -y]
}

/// The eigenvalues of a Hermitian matrix in descending order, and its eigenvectors: complex ones in real and
/// imaginary parts. As those of a real matrix of twice the order, which has each twice.
fn descending(
    order: usize,
    is_complex: bool,
    entry: impl Fn(usize, usize) -> Complex,
) -> Vec<(f64, Vec<f64>)> {
    let copies = if is_complex { 2 } else { 1 };
    let size = copies * order;
    let matrix = Matrix::from(size, size, |i, j| {
        let [x, y] = entry(i % order, j % order);
        match (i < order, j < order) {
            (true, false) => -y,
            (false, true) => y,
            _ => x,
        }
    });
    let Spectrum { values, vectors } = &Spectrum::of(&matrix);
    let mut places: Vec<usize> = (0..size).collect();
    places.sort_by(|i, j| values[*j].total_cmp(&values[*i]));
    let vector = |j: usize| {
        let parts = |i: usize| (0..copies).map(move |part| vectors.at(part * order + i, j));
        (0..order).flat_map(parts).collect()
    };
    places.iter().step_by(copies).map(|j| (values[*j], vector(*j))).collect()
}

/// The same on the centred vectors alone: those along (1, ..., 1) are moved below all others.
fn centred(order: usize, entry: impl Fn(usize, usize) -> Complex) -> Vec<(f64, Vec<f64>)> {
    let k = order as f64;
    let mean = |i: usize| {
        let [x, y] =
            (0..order).map(|j| entry(i, j)).fold([0.0, 0.0], |[a, b], [x, y]| [a + x, b + y]);
        [x / k, y / k]
    };
    let means: Vec<Complex> = (0..order).map(mean).collect();
    // real, as the matrix is Hermitian; entries are at most 1, so eigenvalues at most 2 k
    let overall = means.iter().map(|[x, _]| x).sum::<f64>() / k - 4.0;
    let mut values = descending(order, true, |i, j| {
        let ([x, y], [a, b], [c, d]) = (entry(i, j), means[i], conjugate(means[j]));
        [x - a - c + overall, y - b - d]
    });
    values.pop();
    values
}
