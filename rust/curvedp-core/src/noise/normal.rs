//! Standard normals with as many bits as are asked for, and directions.

use std::sync::LazyLock;

use smallvec::SmallVec;

use super::steps::{Density, Place, Steps};
use super::stream::Stream;
use crate::exact::matrices::Vector;
use crate::exact::{Effort, Enclosure, Undecided};

/// The density e^(-t^2/2).
pub(super) struct HalfNormal;

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

    /// The number as [`Place::about`] gives it.
    pub(super) fn about(&self, stream: &Stream) -> Option<f64> {
        self.size.about(stream).map(|size| if self.is_negative { -size } else { size })
    }

    /// Independent ones.
    pub(super) fn draw_all(count: usize, stream: &mut Stream, effort: Effort) -> Normals {
        (0..count).map(|_| Self::draw(stream, effort)).collect()
    }

    /// One far out.
    #[cfg(test)]
    pub(super) fn beyond(within: super::stream::Variable) -> Self {
        Self { size: HALF_NORMAL.beyond(within), is_negative: true }
    }
}

/// Independent normals.
pub(super) type Normals = SmallVec<[Normal; 4]>;

/// The numbers.
pub(super) fn all_at<const N: usize>(
    normals: &[Normal],
    stream: &Stream,
) -> Result<Vector<N>, Undecided> {
    normals.iter().map(|normal| normal.at(stream)).collect()
}
