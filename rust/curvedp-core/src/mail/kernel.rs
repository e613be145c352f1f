//! The Gaussian kernel W_ij = exp(-|x_i - x_j|^2 / 2 sigma^2), W_ii = 0, of the rows of a matrix.

use std::sync::atomic::{AtomicBool, Ordering};

use super::pairs::{all, for_pairs, place};
use super::product::{Scalar, outer};
use super::strip::{Padded, STRIP, add_products, doubles};
use crate::error::{Error, filled};
use crate::parallel::{Interrupt, map};
use crate::simd::elementary::exp;
use crate::simd::vectorize_widest;

/// Rows in a tile of the kernel.
pub const TILE: usize = 384;

/// Rows x_i with what their kernel needs.
struct Points<T> {
    rows: Vec<T>,
    size: usize,
    /// |x_i|^2 / 2
    half_squares: Vec<f64>,
    /// 1 / sigma^2
    rate: f64,
    floor: f64,
}

impl<T: Scalar> Points<T> {
    fn block(&self, i: usize) -> (&[T], &[f64]) {
        let end = ((i + 1) * TILE).min(self.half_squares.len());
        let range = i * TILE..end;
        (&self.rows[i * TILE * self.size..end * self.size], &self.half_squares[range])
    }

    /// Products x.y of the rows of block i (down) and those of block j (across).
    fn products(&self, i: usize, j: usize) -> Result<Vec<T>, Error> {
        let ((a, half_a), (b, half_b)) = (self.block(i), self.block(j));
        let mut products = filled(T::round(0.0), half_a.len() * half_b.len())?;
        outer(a, b, self.size, &mut products);
        Ok(products)
    }

    /// Weights of the rows of block i from row `from` on, given their products with those of block j.
    fn weigh(&self, i: usize, j: usize, from: usize, products: &[T], out: &mut [f64]) {
        let (half_a, half_b) = (&self.block(i).1[from..], self.block(j).1);
        let size = half_b.len();
        vectorize_widest(
            #[inline(always)]
            || {
                let rows = products.chunks_exact(size).zip(half_a);
                for (out, (products, &half)) in out.chunks_exact_mut(size).zip(rows) {
                    for (l, weight) in out.iter_mut().enumerate() {
                        // - |a - b|^2 / 2 = a.b - |a|^2 / 2 - |b|^2 / 2
                        let minus_half_square = (products[l].widen() - half) - half_b[l];
                        *weight = bounded_exp(self.rate * minus_half_square, self.floor);
                    }
                }
            },
        );
        if i == j {
            out.chunks_exact_mut(size).enumerate().for_each(|(row, out)| out[from + row] = 0.0);
        }
    }

    /// Weights of the rows of block i (down) and those of block j (across), rounded to be stored.
    fn tile(&self, i: usize, j: usize) -> Result<Vec<T>, Error> {
        let mut tile = self.products(i, j)?;
        let size = self.block(j).1.len();
        let mut scratch = filled(0.0, STRIP * size)?;
        for (number, strip) in tile.chunks_mut(STRIP * size).enumerate() {
            let weights = &mut scratch[..strip.len()];
            self.weigh(i, j, number * STRIP, strip, weights);
            strip.iter_mut().zip(weights).for_each(|(own, weight)| *own = T::round(*weight));
        }
        Ok(tile)
    }
}

/// exp(x) within [floor, 1]; 1 if x is not a number.
#[inline(always)]
fn bounded_exp(x: f64, floor: f64) -> f64 {
    let x = if x < 0.0 { x } else { 0.0 };
    let weight = exp(x);
    if weight > floor { weight } else { floor }
}

/// The kernel of n rows in the tiles of one triangle, of which some are kept in memory and the others computed for
/// every product.
pub struct GaussianKernel<T> {
    count: usize,
    /// The first tiles in the order of [`all`] pairs of blocks.
    kept: Vec<Vec<T>>,
    /// Of what the others are computed; none if all are kept.
    points: Option<Points<T>>,
}

impl<T: Scalar> GaussianKernel<T> {
    /// The kernel of rows of `size` entries with bandwidth sigma, whose weights lie in [floor, 1]. As many tiles are
    /// kept as `memory_limit` bytes hold.
    pub fn new(
        rows: &[f64],
        size: usize,
        bandwidth: f64,
        floor: f64,
        memory_limit: u64,
        interrupt: Interrupt,
    ) -> Result<Self, Error> {
        let count = rows.len() / size;
        // the power of two below the bandwidth, in units of which no square that counts leaves the range of T
        let unit = f64::from_bits(bandwidth.to_bits() & f64::INFINITY.to_bits());
        let (per_unit, bandwidth) = (1.0 / unit, bandwidth / unit);
        let rows = converted(rows, |x| T::round(x * per_unit))?;
        let half = |row: &[T]| 0.5 * row.iter().map(|x| x.widen() * x.widen()).sum::<f64>();
        let half_squares = rows.chunks_exact(size).map(half).collect();
        let rate = 1.0 / (bandwidth * bandwidth);
        // a stored weight must not be rounded below the floor
        let points = Points { rows, size, half_squares, rate, floor: T::round_up(floor) };
        let pairs = all(count.div_ceil(TILE));
        let all_fit = Self::size_of_tiles(count) <= memory_limit;
        let fit =
            if all_fit { pairs.len() } else { (memory_limit / Self::size_of_tiles(TILE)) as usize };
        let kept = map(fit, interrupt, |k| points.tile(pairs[k].0, pairs[k].1))?;
        let kept = kept.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { count, kept, points: (!all_fit).then_some(points) })
    }

    /// Bytes that the tiles of n rows take.
    pub fn size_of_tiles(count: usize) -> u64 {
        let (full, rest) = ((count / TILE) as u64, (count % TILE) as u64);
        let tile = TILE as u64;
        let entries = tile * tile * full * (full + 1) / 2 + rest * (tile * full + rest);
        entries * size_of::<T>() as u64
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True if all tiles are kept in memory.
    pub fn is_kept(&self) -> bool {
        self.points.is_none()
    }

    /// out = W Z for Z with rows of `width` entries.
    pub fn product(
        &self,
        z: &[f64],
        width: usize,
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let z = Padded::from_rows(z, width)?;
        let mut sums = Padded::zeros(self.count, width)?;
        let (stride, lacks_memory) = (z.stride, AtomicBool::new(false));
        for_pairs(sums.all_mut(), TILE * stride, interrupt, |i, j, first, second| {
            let done = self.add_tile(i, j, &z, first, second);
            lacks_memory.fetch_or(done.is_err(), Ordering::Relaxed);
        })?;
        sums.copy_to(out);
        if lacks_memory.into_inner() { Err(Error::Memory) } else { Ok(()) }
    }

    /// Adds the products of the weights of the rows of blocks i and j, strip by strip.
    fn add_tile(
        &self,
        i: usize,
        j: usize,
        z: &Padded,
        first: &mut [f64],
        mut second: Option<&mut [f64]>,
    ) -> Result<(), Error> {
        let fresh;
        let kept = self.kept.get(place(i, j, self.count.div_ceil(TILE)));
        let points = self.points.as_ref().filter(|_| kept.is_none());
        let tile = match points {
            Some(points) => {
                fresh = points.products(i, j)?;
                &fresh
            }
            None => kept.expect("tiles that are not computed are kept"),
        };
        let across = z.rows(j * TILE, (j + 1) * TILE);
        let size = across.len() / z.stride;
        let mut scratch = filled(0.0, STRIP * size)?;
        let strips = tile.chunks(STRIP * size).zip(first.chunks_mut(STRIP * z.stride));
        for (number, (strip, first)) in strips.enumerate() {
            let weights = match points {
                None => doubles(strip, &mut scratch),
                Some(points) => {
                    let weights = &mut scratch[..strip.len()];
                    points.weigh(i, j, number * STRIP, strip, weights);
                    weights
                }
            };
            let from = i * TILE + number * STRIP;
            let down = z.rows(from, from + strip.len() / size);
            let beside = second.as_deref_mut().map(|second| (down, second));
            add_products(weights, z.stride, across, first, beside);
        }
        Ok(())
    }
}

/// Numbers in another precision.
fn converted<A: Copy, B>(numbers: &[A], convert: impl Fn(A) -> B) -> Result<Vec<B>, Error> {
    let mut found = Vec::new();
    found.try_reserve_exact(numbers.len()).map_err(|_| Error::Memory)?;
    found.extend(numbers.iter().map(|&x| convert(x)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, size: usize) -> Vec<f64> {
        (0..count * size).map(|k| ((k * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5).collect()
    }

    fn direct(x: &[f64], size: usize, bandwidth: f64, z: &[f64], width: usize) -> Vec<f64> {
        let count = x.len() / size;
        let mut out = vec![0.0; count * width];
        for i in 0..count {
            for j in (0..count).filter(|&j| j != i) {
                let square: f64 =
                    (0..size).map(|l| (x[i * size + l] - x[j * size + l]).powi(2)).sum();
                let weight = (-square / (2.0 * bandwidth * bandwidth)).exp();
                (0..width).for_each(|c| out[i * width + c] += weight * z[j * width + c]);
            }
        }
        out
    }

    fn worst<T: Scalar>(count: usize, memory: u64) -> f64 {
        let (x, z) = (rows(count, 5), rows(count, 3));
        let kernel = GaussianKernel::<T>::new(&x, 5, 0.7, 0.0, memory, &|| false).unwrap();
        assert_eq!(kernel.is_kept(), GaussianKernel::<T>::size_of_tiles(count) <= memory);
        let mut out = vec![f64::NAN; z.len()];
        kernel.product(&z, 3, &mut out, &|| false).unwrap();
        let exact = direct(&x, 5, 0.7, &z, 3);
        out.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / count as f64
    }

    #[test]
    fn products_equal_sums_over_all_pairs() {
        for count in [1, 2, 100, TILE, TILE + 1, 3 * TILE - 5] {
            for memory in [0, (9 * TILE * TILE) as u64, u64::MAX] {
                assert!(worst::<f64>(count, memory) < 1e-15);
                assert!(worst::<f32>(count, memory) < 1e-6);
            }
        }
    }

    #[test]
    fn tiles_take_the_memory_that_is_announced() {
        for count in [1, TILE - 1, TILE, TILE + 1, 2 * TILE, 5 * TILE + 17] {
            let x = rows(count, 2);
            let kernel = GaussianKernel::<f32>::new(&x, 2, 1.0, 0.0, u64::MAX, &|| false).unwrap();
            let bytes: usize = kernel.kept.iter().map(|tile| 4 * tile.len()).sum();
            assert_eq!(bytes as u64, GaussianKernel::<f32>::size_of_tiles(count));
        }
    }

    #[test]
    fn as_many_tiles_are_kept_as_the_limit_holds_and_products_have_the_same_bits() {
        let (count, tile) = (4 * TILE + 9, GaussianKernel::<f64>::size_of_tiles(TILE));
        let (x, z) = (rows(count, 5), rows(count, 3));
        let mut products = Vec::new();
        for (limit, tiles) in
            [(0, 0), (tile - 1, 0), (5 * tile, 5), (9 * tile + 8, 9), (15 * tile, 15)]
        {
            let kernel = GaussianKernel::<f64>::new(&x, 5, 0.7, 0.0, limit, &|| false).unwrap();
            assert_eq!(kernel.kept.len(), tiles);
            let mut out = vec![f64::NAN; z.len()];
            kernel.product(&z, 3, &mut out, &|| false).unwrap();
            products.push(out.into_iter().map(f64::to_bits).collect::<Vec<_>>());
        }
        assert!(products.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn weights_do_not_depend_on_the_unit_of_length() {
        let weights = |scale: f64| {
            let x: Vec<f64> = rows(12, 3).iter().map(|x| scale * x).collect();
            let kernel =
                GaussianKernel::<f32>::new(&x, 3, 0.7 * scale, 0.0, u64::MAX, &|| false).unwrap();
            kernel.kept.concat()
        };
        // squares of such rows are beyond single precision
        for exponent in [-400, -80, 80, 400] {
            assert_eq!(weights(1.0), weights(2f64.powi(exponent)));
        }
    }

    #[test]
    fn weights_stay_in_range_whatever_the_rows() {
        let x = [1e200, -1e200, 1e-200, 3.0, 0.0, f64::MAX];
        for floor in [0.0, 0.25] {
            let kernel = GaussianKernel::<f64>::new(&x, 1, 1.0, floor, 0, &|| false).unwrap();
            let points = kernel.points.unwrap();
            for (k, weight) in points.tile(0, 0).unwrap().into_iter().enumerate() {
                let diagonal = k % (x.len() + 1) == 0;
                assert!(if diagonal { weight == 0.0 } else { (floor..=1.0).contains(&weight) });
            }
        }
    }

    #[test]
    fn stored_weights_are_not_rounded_below_the_floor() {
        for floor in [1e-300, 1e-44, 0.1, (-2f64).exp(), 1.0] {
            let x = [1.0, -1.0];
            let kernel =
                GaussianKernel::<f32>::new(&x, 1, 0.01, floor, u64::MAX, &|| false).unwrap();
            let weight = f64::from(kernel.kept[0][1]);
            assert!(weight >= floor && weight > 0.0 && weight <= floor * 1.0001 + 1e-44);
        }
    }

    #[test]
    fn long_products_can_be_interrupted() {
        let x = rows(5 * TILE, 2);
        let kernel = GaussianKernel::<f64>::new(&x, 2, 1.0, 0.0, 0, &|| false).unwrap();
        let mut out = vec![0.0; x.len()];
        assert_eq!(kernel.product(&x, 2, &mut out, &|| true), Err(Error::Interrupted));
    }
}
