//! Markov chains: random-walk Metropolis on any state space, many chains at once.
//!
//! A law is a [`Target`]: a log density up to a constant, and a proposal with the log ratio of its densities
//! there and back (Hastings 1970). Chains differ by their start and by their sub-stream of one key, so
//! results depend neither on the number of threads nor on how often the interrupt flag is looked at. The
//! scale of proposals adapts to an acceptance rate while a chain burns in and is fixed after that: what is
//! kept is drawn by a Markov chain that leaves the law invariant.
//!
//! A chain is not an exact sampler. Starts are the caller's: only starts farther apart than the law is wide
//! let [`Diagnosis`] see that chains have not met.

mod diagnosis;
mod isotropic;
#[cfg(test)]
mod tests;

pub use diagnosis::{Diagnosis, diagnose, effective_sample_size, split_r_hat};
pub use isotropic::IsotropicLaw;

use crate::error::Error;
use crate::noise::Stream;
use crate::parallel::{Interrupt, Pace, pass};

/// A law to draw from, with the proposals of its chains.
pub trait Target: Sync {
    /// Where a chain is. It may carry work space.
    type State: Clone + Send;

    /// Log density at a state up to a constant; minus infinity (or NaN) outside the support.
    fn log_density(&self, state: &mut Self::State) -> f64;

    /// Writes a proposal of the given scale around `from` into `to` and returns
    /// log q(from | to) - log q(to | from): 0 for symmetric proposals.
    fn propose(
        &self,
        from: &Self::State,
        scale: f64,
        stream: &mut Stream,
        to: &mut Self::State,
    ) -> f64;

    /// Numbers that are kept of a state.
    fn width(&self) -> usize;

    /// Writes them into `row` (`width()` entries).
    fn describe(&self, state: &Self::State, row: &mut [f64]);
}

/// How long chains run and what is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Steps before the first state that counts.
    pub burn_in: usize,
    /// States kept.
    pub draws: usize,
    /// Steps from one kept state to the next, at least 1.
    pub thinning: usize,
    /// Scale of the first proposal, positive.
    pub scale: f64,
    /// Acceptance rate to which the scale adapts while burning in; none keeps the scale.
    pub acceptance: Option<f64>,
}

impl Plan {
    fn steps(&self) -> usize {
        self.burn_in.saturating_add(self.draws.saturating_mul(self.thinning.max(1)))
    }
}

/// A chain that has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The kept states, a row of [`Target::width`] numbers each.
    pub draws: Vec<f64>,
    /// Share of the proposals after burning in that were accepted.
    pub acceptance: f64,
    /// Scale of these proposals.
    pub scale: f64,
}

/// Runs one chain from each start, which must lie in the support; chain i draws from sub-stream i of `key`.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn run<T: Target>(
    target: &T,
    starts: Vec<T::State>,
    plan: &Plan,
    key: [u8; 32],
    interrupt: Interrupt,
) -> Result<Vec<Chain>, Error> {
    let streams = (0..).map(|i| Stream::from_key(key, i));
    let mut walkers: Vec<Walker<T>> = starts
        .into_iter()
        .zip(streams)
        .map(|(start, stream)| Walker::new(target, start, plan, stream))
        .collect();
    let (mut done, total) = (0, plan.steps());
    let mut pace = Pace::new();
    while done < total {
        let steps = pace.pieces().min(total - done);
        walkers = pass(walkers, |mut walker| {
            (done..done + steps).for_each(|step| walker.step(target, plan, step));
            walker
        });
        done += steps;
        if done < total && interrupt() {
            return Err(Error::Interrupted);
        }
        pace.adapt();
    }
    Ok(walkers.into_iter().map(|walker| walker.finish(plan)).collect())
}

/// A chain on its way.
struct Walker<T: Target> {
    state: T::State,
    proposal: T::State,
    log_density: f64,
    stream: Stream,
    scale: f64,
    accepted: usize,
    draws: Vec<f64>,
}

impl<T: Target> Walker<T> {
    fn new(target: &T, start: T::State, plan: &Plan, stream: Stream) -> Self {
        let mut state = start;
        let log_density = in_support(target.log_density(&mut state));
        let draws = Vec::with_capacity(plan.draws.saturating_mul(target.width()).min(1 << 24));
        let proposal = state.clone();
        Self { state, proposal, log_density, stream, scale: plan.scale, accepted: 0, draws }
    }

    fn step(&mut self, target: &T, plan: &Plan, step: usize) {
        let Self { state, proposal, stream, scale, .. } = self;
        let ratio = target.propose(state, *scale, stream, proposal);
        let proposed = in_support(target.log_density(proposal));
        let gain = proposed - self.log_density + ratio;
        let accepted = -self.stream.exponential() < gain;
        if accepted {
            std::mem::swap(&mut self.state, &mut self.proposal);
            self.log_density = proposed;
        }
        let Some(kept) = step.checked_sub(plan.burn_in) else {
            if let Some(wished) = plan.acceptance {
                self.adapt(gain, wished, step);
            }
            return;
        };
        self.accepted += usize::from(accepted);
        if (kept + 1).is_multiple_of(plan.thinning.max(1)) {
            let end = self.draws.len();
            self.draws.resize(end + target.width(), 0.0);
            target.describe(&self.state, &mut self.draws[end..]);
        }
    }

    /// Robbins and Monro on the logarithm of the scale.
    fn adapt(&mut self, gain: f64, wished: f64, step: usize) {
        let probability = if gain.is_nan() { 0.0 } else { gain.min(0.0).exp() };
        let scale = self.scale * (((step + 1) as f64).powf(-0.6) * (probability - wished)).exp();
        if scale.is_normal() {
            self.scale = scale;
        }
    }

    fn finish(self, plan: &Plan) -> Chain {
        let steps = (plan.steps() - plan.burn_in).max(1);
        let acceptance = self.accepted as f64 / steps as f64;
        Chain { draws: self.draws, acceptance, scale: self.scale }
    }
}

fn in_support(log_density: f64) -> f64 {
    if log_density.is_nan() { f64::NEG_INFINITY } else { log_density }
}
