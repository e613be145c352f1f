//! Pixel features of the region covariance descriptor (Tuzel, Porikli and Meer 2006).
//!
//! Derivatives are those of the gray image G, with the filters of that paper, [-1 0 1] and [-1 2 -1],
//! and with the outermost pixels repeated beyond the border. All pixels have levels in [0, 1], so every
//! feature is bounded.

use crate::error::Error;
use crate::simd::elementary::atan2_nonneg;

/// A number computed at every pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feature {
    /// Column divided by the width.
    X,
    /// Row divided by the height.
    Y,
    /// Level of a channel.
    Intensity(usize),
    /// Level of the gray image.
    Gray,
    /// G_x.
    Dx,
    /// G_y.
    Dy,
    /// G_xx.
    Dxx,
    /// G_yy.
    Dyy,
    /// G_xy: the first filter along the rows, then along the columns.
    Dxy,
    /// |G_x|.
    AbsDx,
    /// |G_y|.
    AbsDy,
    /// |G_xx|.
    AbsDxx,
    /// |G_yy|.
    AbsDyy,
    /// |G_xy|.
    AbsDxy,
    /// sqrt(G_x^2 + G_y^2).
    GradientNorm,
    /// arctan(|G_x| / |G_y|) in [0, pi/2]; 0 where both vanish.
    Orientation,
}

impl Feature {
    /// The features that `names` stand for: "intensity" is one for each channel.
    pub fn parse<S: AsRef<str>>(names: &[S], channels: usize) -> Result<Vec<Self>, Error> {
        let mut features = Vec::new();
        for name in names {
            match name.as_ref() {
                "x" => features.push(Self::X),
                "y" => features.push(Self::Y),
                "intensity" => features.extend((0..channels).map(Self::Intensity)),
                "gray" => features.push(Self::Gray),
                "dx" => features.push(Self::Dx),
                "dy" => features.push(Self::Dy),
                "dxx" => features.push(Self::Dxx),
                "dyy" => features.push(Self::Dyy),
                "dxy" => features.push(Self::Dxy),
                "abs_dx" => features.push(Self::AbsDx),
                "abs_dy" => features.push(Self::AbsDy),
                "abs_dxx" => features.push(Self::AbsDxx),
                "abs_dyy" => features.push(Self::AbsDyy),
                "abs_dxy" => features.push(Self::AbsDxy),
                "gradient_norm" => features.push(Self::GradientNorm),
                "orientation" => features.push(Self::Orientation),
                unknown => return Err(Error::UnknownFeature(unknown.to_owned())),
            }
        }
        Ok(features)
    }
}

/// Three consecutive rows of the gray image, each with one more pixel at either end.
pub struct Neighbourhood<'a> {
    /// The row above.
    pub above: &'a [f64],
    /// The row itself.
    pub row: &'a [f64],
    /// The row below.
    pub below: &'a [f64],
}

impl Neighbourhood<'_> {
    /// Fills `out` with a feature made of gray levels along the row; leaves it alone if `feature` is
    /// none.
    #[inline(always)]
    pub fn fill(&self, feature: Feature, out: &mut [f64]) {
        match feature {
            Feature::Gray => each(out, |c| self.row[c + 1]),
            Feature::Dx => each(out, |c| self.dx(c)),
            Feature::Dy => each(out, |c| self.dy(c)),
            Feature::Dxx => each(out, |c| self.dxx(c)),
            Feature::Dyy => each(out, |c| self.dyy(c)),
            Feature::Dxy => each(out, |c| self.dxy(c)),
            Feature::AbsDx => each(out, |c| self.dx(c).abs()),
            Feature::AbsDy => each(out, |c| self.dy(c).abs()),
            Feature::AbsDxx => each(out, |c| self.dxx(c).abs()),
            Feature::AbsDyy => each(out, |c| self.dyy(c).abs()),
            Feature::AbsDxy => each(out, |c| self.dxy(c).abs()),
            Feature::GradientNorm => each(out, |c| {
                let (dx, dy) = (self.dx(c), self.dy(c));
                (dx * dx + dy * dy).sqrt()
            }),
            Feature::Orientation => {
                each(out, |c| atan2_nonneg(self.dx(c).abs(), self.dy(c).abs()));
            }
            Feature::X | Feature::Y | Feature::Intensity(_) => {}
        }
    }

    #[inline(always)]
    fn dx(&self, c: usize) -> f64 {
        self.row[c + 2] - self.row[c]
    }

    #[inline(always)]
    fn dy(&self, c: usize) -> f64 {
        self.below[c + 1] - self.above[c + 1]
    }

    #[inline(always)]
    fn dxx(&self, c: usize) -> f64 {
        2.0 * self.row[c + 1] - self.row[c] - self.row[c + 2]
    }

    #[inline(always)]
    fn dyy(&self, c: usize) -> f64 {
        2.0 * self.row[c + 1] - self.above[c + 1] - self.below[c + 1]
    }

    #[inline(always)]
    fn dxy(&self, c: usize) -> f64 {
        (self.below[c + 2] - self.below[c]) - (self.above[c + 2] - self.above[c])
    }
}

#[inline(always)]
fn each(out: &mut [f64], value: impl Fn(usize) -> f64) {
    for (c, x) in out.iter_mut().enumerate() {
        *x = value(c);
    }
}
