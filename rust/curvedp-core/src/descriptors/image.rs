//! Region covariance descriptors of images (Tuzel, Porikli and Meer 2006): the covariance of pixel
//! features plus a ridge, equations 45 and 46 of the conformal mechanism's paper.

use super::covariance::{Scatter, block_samples, scaled_identity, stride};
use super::features::{Feature, Neighbourhood};
use crate::error::Error;
use crate::parallel::{Interrupt, for_rows};
use crate::simd::vectorize;

/// The pixels of images.
#[derive(Clone, Copy)]
pub enum Pixels<'a> {
    /// One byte for each level.
    Bytes(&'a [u8]),
    /// Floating-point levels.
    Floats(&'a [f64]),
}

/// Number type in which a pixel is stored.
trait Pixel: Copy + Sync {
    /// The stored number.
    fn value(self) -> f64;
}

impl Pixel for u8 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Pixel for f64 {
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
}

/// Size of the images, and how they become descriptors.
pub struct ImageCovariance<'a> {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Weight of each channel in the gray image: not negative, with sum 1.
    pub gray_weights: &'a [f64],
    /// The pixel features, in the descriptor's order.
    pub features: &'a [Feature],
    /// Pixel values of level 0 and 1; what lies outside is clipped.
    pub value_range: (f64, f64),
    /// Added to the diagonal.
    pub ridge: f64,
}

/// Numbers handled by a thread between two visits to the queue.
const WORK: usize = 1 << 18;

impl ImageCovariance<'_> {
    /// Fills `out` with one m x m matrix for each image; an image is `height * width * channels`
    /// pixels, channels last.
    pub fn descriptors(
        &self,
        images: Pixels,
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        match images {
            Pixels::Bytes(images) => self.each(images, out, interrupt),
            Pixels::Floats(images) => self.each(images, out, interrupt),
        }
    }

    fn each<P: Pixel>(
        &self,
        images: &[P],
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let m = self.features.len();
        let pixels = self.height * self.width;
        let size = pixels * self.gray_weights.len();
        let rows = (WORK / (pixels * m)).clamp(1, 64);
        for_rows(out, m * m, rows, interrupt, |first, piece| {
            let count = piece.len() / (m * m);
            let images = &images[first * size..(first + count) * size];
            let mut worker = Worker::new(self);
            for (image, out) in images.chunks_exact(size).zip(piece.chunks_exact_mut(m * m)) {
                worker.descriptor(image, out);
            }
        })
    }
}

/// One thread's working memory.
struct Worker<'a> {
    task: &'a ImageCovariance<'a>,
    /// Levels in [0, 1], channel after channel.
    levels: Vec<f64>,
    /// The gray image with its outermost pixels repeated once around it.
    gray: Vec<f64>,
    block: Vec<f64>,
    scatter: Scatter,
}

impl<'a> Worker<'a> {
    fn new(task: &'a ImageCovariance<'a>) -> Self {
        let (height, width) = (task.height, task.width);
        let pixels = height * width;
        let (m, samples) =
            (task.features.len(), width * rows_per_block(width, task.features.len()).min(height));
        Self {
            task,
            levels: vec![0.0; pixels * task.gray_weights.len()],
            gray: vec![0.0; (height + 2) * (width + 2)],
            block: vec![0.0; m * stride(samples)],
            scatter: Scatter::new(m),
        }
    }

    fn descriptor<P: Pixel>(&mut self, image: &[P], out: &mut [f64]) {
        let finite = vectorize(
            #[inline(always)]
            || self.load(image),
        );
        if finite {
            self.covariance(out);
        } else {
            scaled_identity(self.task.features.len(), self.task.ridge, out);
        }
    }

    fn covariance(&mut self, out: &mut [f64]) {
        let task = self.task;
        vectorize(
            #[inline(always)]
            || self.average_channels(),
        );
        self.scatter.clear();
        let rows = rows_per_block(task.width, task.features.len());
        for first in (0..task.height).step_by(rows) {
            let last = (first + rows).min(task.height);
            vectorize(
                #[inline(always)]
                || self.fill_block(first, last),
            );
            self.scatter.add(&mut self.block, (last - first) * task.width);
        }
        self.scatter.covariance(0.0, task.ridge, out);
    }

    /// Reads the levels; returns true if all pixels are finite.
    #[inline(always)]
    fn load<P: Pixel>(&mut self, image: &[P]) -> bool {
        let pixels = self.task.height * self.task.width;
        let channels = self.task.gray_weights.len();
        let (low, high) = self.task.value_range;
        let span = high - low;
        let mut finite = 0.0;
        for (channel, levels) in self.levels.chunks_exact_mut(pixels).enumerate() {
            for (level, pixel) in levels.iter_mut().zip(image.chunks_exact(channels)) {
                *level = pixel[channel].value();
            }
            for level in levels {
                finite += 0.0 * *level;
                let x = (*level - low) / span;
                let x = if x > 0.0 { x } else { 0.0 };
                *level = if x < 1.0 { x } else { 1.0 };
            }
        }
        finite == 0.0
    }

    /// Computes the gray image.
    #[inline(always)]
    fn average_channels(&mut self) {
        let (height, width) = (self.task.height, self.task.width);
        let pixels = height * width;
        let frame = width + 2;
        for y in 0..height {
            let row = &mut self.gray[(y + 1) * frame..(y + 2) * frame];
            row.fill(0.0);
            for (channel, &weight) in self.task.gray_weights.iter().enumerate() {
                let levels = &self.levels[channel * pixels + y * width..][..width];
                for (gray, level) in row[1..=width].iter_mut().zip(levels) {
                    *gray += weight * level;
                }
            }
            row[0] = row[1];
            row[width + 1] = row[width];
        }
        self.gray.copy_within(frame..2 * frame, 0);
        self.gray.copy_within(height * frame..(height + 1) * frame, (height + 1) * frame);
    }

    /// Computes all features of rows `first..last`.
    #[inline(always)]
    fn fill_block(&mut self, first: usize, last: usize) {
        let (height, width) = (self.task.height, self.task.width);
        let samples = (last - first) * width;
        let frame = width + 2;
        for (k, &feature) in self.task.features.iter().enumerate() {
            let plane = &mut self.block[k * stride(samples)..][..samples];
            if let Feature::Intensity(channel) = feature {
                let start = (channel * height + first) * width;
                plane.copy_from_slice(&self.levels[start..start + samples]);
                continue;
            }
            for (y, out) in (first..last).zip(plane.chunks_exact_mut(width)) {
                match feature {
                    Feature::X => {
                        for (x, out) in out.iter_mut().enumerate() {
                            *out = x as f64 / width as f64;
                        }
                    }
                    Feature::Y => out.fill(y as f64 / height as f64),
                    _ => {
                        let row = |y: usize| &self.gray[y * frame..(y + 1) * frame];
                        let near =
                            Neighbourhood { above: row(y), row: row(y + 1), below: row(y + 2) };
                        near.fill(feature, out);
                    }
                }
            }
        }
    }
}

/// Whole rows of an image, about [`block_samples`] pixels of them.
fn rows_per_block(width: usize, features: usize) -> usize {
    (block_samples(features) / width).max(1)
}
