//! Standard normals with as many bits as are asked for, and directions.

use std::sync::LazyLock;

use super::steps::{Density, Place, Steps};
use super::stream::Stream;
use crate::exact::{Effort, Enclosure, Undecided};

/// The density e^(-t^2/2).
struct HalfNormal;

impl Density for HalfNormal {
    fn at<const N: usize>(&self, t: &Enclosure<N>) -> Result<Enclosure<N>, Undecided> {
        Ok(t.times(t).shifted(-1).negated().exp())
    }
}

/// Half of a standard normal, to 8.
static HALF_NORMAL: LazyLock<Steps<HalfNormal>> =
    LazyLock::new(|| Steps::new(HalfNormal, -6, 512).expect("the density is a constant one"));

/// A standard normal.
#[derive(Clone, Copy)]
pub(super) struct Normal {
    pub(super) size: Place,
    is_negative: bool,
}

impl Normal {
    pub(super) fn draw(stream: &mut Stream, effort: Effort) -> Self {
        let (size, is_negative) = HALF_NORMAL.draw(stream, effort);
        Self { size, is_negative }
    }

    pub(super) fn at<const N: usize>(&self, stream: &Stream) -> Result<Enclosure<N>, Undecided> {
        Ok(self.size.at::<N>(stream)?.negated_if(self.is_negative))
    }

    /// Independent ones.
    pub(super) fn draw_all(count: usize, stream: &mut Stream, effort: Effort) -> Vec<Self> {
        (0..count).map(|_| Self::draw(stream, effort)).collect()
    }

    /// One far out.
    #[cfg(test)]
    pub(super) fn beyond(within: super::stream::Variable) -> Self {
        Self { size: HALF_NORMAL.beyond(within), is_negative: true }
    }
}

/// The numbers.
pub(super) fn all_at<const N: usize>(
    normals: &[Normal],
    stream: &Stream,
) -> Result<Vec<Enclosure<N>>, Undecided> {
    normals.iter().map(|normal| normal.at(stream)).collect()
}

/// The vector divided by its length, and the length.
pub(super) fn unit<const N: usize>(
    mut vector: Vec<Enclosure<N>>,
) -> Result<(Vec<Enclosure<N>>, Enclosure<N>), Undecided> {
    // in units of a power of two near its longest entry
    let exponent = vector.iter().filter_map(Enclosure::exponent).max().ok_or(Undecided)?;
    vector.iter_mut().for_each(|x| *x = x.shifted(-exponent));
    let square = vector.iter().fold(Enclosure::ZERO, |sum, x| sum.plus(&x.times(x)));
    let inverse = square.inverse_sqrt()?;
    vector.iter_mut().for_each(|x| *x = x.times(&inverse));
    Ok((vector, square.times(&inverse).shifted(exponent)))
}
