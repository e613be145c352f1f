//! Sample covariances of multichannel time series, with shrinkage towards a multiple of the identity.

use super::covariance::{Scatter, block_samples, stride};
use crate::error::Error;
use crate::parallel::{Interrupt, for_rows};

/// Size of the signals, and how they become covariances.
pub struct TimeSeriesCovariance {
    /// Channels of a signal.
    pub channels: usize,
    /// Samples of a channel.
    pub samples: usize,
    /// Share of tr(S)/m I in the result, in [0, 1].
    pub shrinkage: f64,
    /// Added to the diagonal.
    pub ridge: f64,
}

/// Multiplications handled by a thread between two visits to the queue.
const WORK: usize = 1 << 20;

impl TimeSeriesCovariance {
    /// Fills `out` with one m x m matrix for each signal; a signal is `channels` rows of `samples`
    /// entries.
    pub fn covariances(
        &self,
        signals: &[f64],
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let (m, size) = (self.channels, self.channels * self.samples);
        let rows = (WORK / (size * m)).clamp(1, 256);
        for_rows(out, m * m, rows, interrupt, |first, piece| {
            let count = piece.len() / (m * m);
            let signals = &signals[first * size..(first + count) * size];
            let mut scatter = Scatter::new(m);
            let mut block = vec![0.0; m * stride(block_samples(m).min(self.samples))];
            for (signal, out) in signals.chunks_exact(size).zip(piece.chunks_exact_mut(m * m)) {
                self.add_signal(signal, &mut scatter, &mut block);
                scatter.covariance(self.shrinkage, self.ridge, out);
            }
        })
    }

    fn add_signal(&self, signal: &[f64], scatter: &mut Scatter, block: &mut [f64]) {
        scatter.clear();
        let block_size = block_samples(self.channels);
        for first in (0..self.samples).step_by(block_size) {
            let samples = block_size.min(self.samples - first);
            for (row, channel) in
                block.chunks_exact_mut(stride(samples)).zip(signal.chunks_exact(self.samples))
            {
                row[..samples].copy_from_slice(&channel[first..first + samples]);
            }
            scatter.add(block, samples);
        }
    }
}
