//! Distances of 2x2 matrices in closed form, with the relative accuracy of the general path.
//!
//! With P = G G^T the whitened point W = G^-1 Q G^-T has the eigenvalues of P^-1 Q. The larger comes from
//! its trace and discriminant, (w_11 - w_22)^2 + 4 w_12^2, both free of cancellation; the smaller is
//! det Q / det P over it. Where Q is close to P the same is done with the difference Q - P and log1p.

use super::whitened::NEAR;
use crate::rows::Rows;
use crate::simd::elementary::ln;
use crate::simd::lanes::Lane;

/// rho(base, point) of a batch of 2x2 matrices.
#[inline(always)]
pub(super) fn dist_block<const L: usize>(base: Rows, point: Rows, out: &mut [f64]) {
    for (block, rows) in out.chunks_mut(L).enumerate() {
        let (start, count) = (block * L, rows.len());
        let (p, q) = (entries::<L>(base, start, count), entries::<L>(point, start, count));
        let mut dist: Lane<L> = [0.0; L];
        for l in 0..L {
            dist[l] = dist_of([p[0][l], p[1][l], p[2][l]], [q[0][l], q[1][l], q[2][l]]);
        }
        rows.copy_from_slice(&dist[..count]);
    }
}

/// The entries (0, 0), (1, 0) and (1, 1) of the matrices `start..start + count`, then of identities.
#[inline(always)]
fn entries<const L: usize>(rows: Rows, start: usize, count: usize) -> [Lane<L>; 3] {
    if rows.is_shared() {
        let matrix = rows.data();
        return [[matrix[0]; L], [matrix[2]; L], [matrix[3]; L]];
    }
    let mut entries = [[1.0; L], [0.0; L], [1.0; L]];
    let matrices = rows.range(start..start + count).data().as_chunks::<4>().0;
    for (l, matrix) in matrices.iter().enumerate().take(L) {
        (entries[0][l], entries[1][l], entries[2][l]) = (matrix[0], matrix[2], matrix[3]);
    }
    entries
}

/// The factorisation [1 0; slope 1] diag(first, second) [1 slope; 0 1].
struct Pivots {
    first: f64,
    slope: f64,
    second: f64,
}

#[inline(always)]
fn positive(x: f64) -> f64 {
    if x > f64::MIN_POSITIVE { x } else { f64::MIN_POSITIVE }
}

#[inline(always)]
fn pivots([a, b, c]: [f64; 3]) -> Pivots {
    let first = positive(a);
    let slope = b / first;
    Pivots { first, slope, second: positive(c - slope * b) }
}

/// w_11, w_22, and two factors of w_12^2, of the whitened matrix W.
#[inline(always)]
fn whitened(p: &Pivots, inverse: [f64; 2], [a, b, c]: [f64; 3]) -> [f64; 4] {
    let across = b - p.slope * a;
    let rest = c - p.slope * (b + across);
    [a * inverse[0], rest * inverse[1], across * inverse[0], across * inverse[1]]
}

#[inline(always)]
fn dist_of(p: [f64; 3], q: [f64; 3]) -> f64 {
    let (base, point) = (pivots(p), pivots(q));
    let inverse = [1.0 / base.first, 1.0 / base.second];
    let difference = whitened(&base, inverse, [q[0] - p[0], q[1] - p[1], q[2] - p[2]]);
    let far = whitened(&base, inverse, q);
    let square = difference[0] * difference[0]
        + difference[1] * difference[1]
        + 2.0 * (difference[2] * difference[3]);
    let near = square < NEAR;
    let [x, y, first, second] = if near { difference } else { far };
    // scaled by the larger entry, which may be as large as a number can be
    let size = if near { 1.0 } else { positive(if x > y { x } else { y }) };
    let shrink = 1.0 / size;
    let gap = (x - y) * shrink;
    let root = size * (gap * gap + 4.0 * ((first * shrink) * (second * shrink))).sqrt();
    let high = 0.5 * ((x + y) + root);
    let low = if near {
        0.5 * ((x + y) - root)
    } else {
        (point.first * inverse[0]) * ((point.second * inverse[1]) / positive(high))
    };
    let (high, low) = (log_of(near, high), log_of(near, low));
    (high * high + low * low).sqrt()
}

/// ln(1 + x) if near, else ln x.
#[inline(always)]
fn log_of(near: bool, x: f64) -> f64 {
    let u = if near { 1.0 + x } else { positive(x) };
    let rest = if near { x - (u - 1.0) } else { 0.0 };
    ln(u) + rest / u
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dist(p: [f64; 3], q: [f64; 3]) -> f64 {
        let full = |[a, b, c]: [f64; 3]| [a, b, b, c];
        let mut out = [0.0];
        dist_block::<4>(Rows::new(&full(p), 4), Rows::new(&full(q), 4), &mut out);
        out[0]
    }

    /// P = [2 1; 1 1] and Q = [3 1; 1 2]: P^-1 Q has trace 5 and determinant 5.
    #[test]
    fn scales_of_any_size_only_shift_the_log_eigenvalues() {
        let root = 5.0_f64.sqrt();
        let logs = [libm::log((5.0 + root) / 2.0), libm::log((5.0 - root) / 2.0)];
        for exponent in [-280, -200, -100, -3, 0, 1, 100, 200, 280] {
            let (half, rest) = (exponent / 2, exponent - exponent / 2);
            let (down, up) = (libm::pow(10.0, -f64::from(half)), libm::pow(10.0, f64::from(rest)));
            let shift = libm::log(up) - libm::log(down);
            let expected = libm::hypot(logs[0] + shift, logs[1] + shift);
            let found = dist([2.0 * down, down, down], [3.0 * up, up, 2.0 * up]);
            assert!((found / expected - 1.0).abs() < 1e-14, "{exponent}: {found} {expected}");
        }
    }

    #[test]
    fn equal_matrices_have_distance_zero_and_strange_ones_a_number() {
        assert_eq!(dist([2.0, 0.3, 1.0], [2.0, 0.3, 1.0]), 0.0);
        for strange in [[0.0; 3], [1.0, 1.0, 1.0], [-1.0, 0.0, 2.0], [1e308, 0.0, 1e-308]] {
            assert!(dist([1.0, 0.0, 1.0], strange).is_finite(), "{strange:?}");
            assert!(dist(strange, [1.0, 0.0, 1.0]) >= 0.0, "{strange:?}");
        }
    }
}
