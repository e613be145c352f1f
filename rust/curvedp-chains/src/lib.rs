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
mod mean;
mod regression;
#[cfg(test)]
mod tests;

pub use diagnosis::{Diagnosis, diagnose, effective_sample_size, split_r_hat};
pub use isotropic::Isotropic;
pub use regression::{Footpoint, Shooting, Walk};

use curvedp_core::error::Error;
use curvedp_core::manifold::Manifold;
use curvedp_core::noise::Stream;
use curvedp_core::parallel::{Interrupt, Pace, pass};
use curvedp_core::rows::Rows;

/// A law to draw from, with the proposals of its chains.
pub trait Target: Sync {
    /// State of a chain. It may carry work space.
    type State: Clone + Send;

    /// Most chains that take their steps together.
    const TOGETHER: usize = 1;

    /// Log density at a state up to a constant; minus infinity (or NaN) outside the support.
    fn log_density(&self, state: &mut Self::State) -> f64;

    /// The same at several states, one number of `out` for each.
    fn log_densities(&self, states: &mut [Self::State], out: &mut [f64]) {
        states.iter_mut().zip(out).for_each(|(state, out)| *out = self.log_density(state));
    }

    /// Writes a proposal of the given scale around `from` into `to` and returns
    /// log q(from | to) - log q(to | from): 0 for symmetric proposals.
    fn propose(
        &self,
        from: &Self::State,
        scale: f64,
        stream: &mut Stream,
        to: &mut Self::State,
    ) -> f64;

    /// The same for several chains, one number of `ratios` for each.
    fn propose_each(
        &self,
        from: &[Self::State],
        scales: &[f64],
        streams: &mut [Stream],
        to: &mut [Self::State],
        ratios: &mut [f64],
    ) {
        for (i, (stream, to)) in streams.iter_mut().zip(to).enumerate() {
            ratios[i] = self.propose(&from[i], scales[i], stream, to);
        }
    }

    /// Numbers that are kept of a state.
    fn width(&self) -> usize;

    /// Writes them into `row` (`width()` entries).
    fn describe(&self, state: &Self::State, row: &mut [f64]);
}

/// Length of chains, the states that are kept, and the scale of proposals.
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
    let mut streams = (0..).map(|i| Stream::from_key(key, i));
    let mut starts = starts.into_iter().peekable();
    let mut groups = Vec::new();
    while starts.peek().is_some() {
        let states: Vec<T::State> = starts.by_ref().take(T::TOGETHER).collect();
        let streams = streams.by_ref().take(states.len()).collect();
        groups.push(Group::new(target, states, plan, streams));
    }
    let (mut done, total) = (0, plan.steps());
    let mut pace = Pace::start();
    while done < total {
        let steps = pace.pieces().min(total - done);
        groups = pass(groups, |mut group| {
            (done..done + steps).for_each(|step| group.step(target, plan, step));
            group
        });
        done += steps;
        if done < total && interrupt() {
            return Err(Error::Interrupted);
        }
        pace.adapt();
    }
    Ok(groups.into_iter().flat_map(|group| group.finish(plan)).collect())
}

/// Chains on their way, one entry of everything for each.
struct Group<T: Target> {
    states: Vec<T::State>,
    proposals: Vec<T::State>,
    log_densities: Vec<f64>,
    proposed: Vec<f64>,
    ratios: Vec<f64>,
    streams: Vec<Stream>,
    scales: Vec<f64>,
    accepted: Vec<usize>,
    draws: Vec<Vec<f64>>,
}

impl<T: Target> Group<T> {
    fn new(target: &T, mut states: Vec<T::State>, plan: &Plan, streams: Vec<Stream>) -> Self {
        let count = states.len();
        let mut log_densities = vec![0.0; count];
        target.log_densities(&mut states, &mut log_densities);
        let log_densities = log_densities.into_iter().map(in_support).collect();
        let kept = plan.draws.saturating_mul(target.width()).min(1 << 24);
        Self {
            proposals: states.clone(),
            states,
            log_densities,
            proposed: vec![0.0; count],
            ratios: vec![0.0; count],
            streams,
            scales: vec![plan.scale; count],
            accepted: vec![0; count],
            draws: (0..count).map(|_| Vec::with_capacity(kept)).collect(),
        }
    }

    fn step(&mut self, target: &T, plan: &Plan, step: usize) {
        let Self { states, proposals, proposed, ratios, streams, scales, .. } = self;
        target.propose_each(states, scales, streams, proposals, ratios);
        target.log_densities(proposals, proposed);
        for i in 0..self.states.len() {
            let proposed = in_support(self.proposed[i]);
            let gain = proposed - self.log_densities[i] + self.ratios[i];
            let accepted = -self.streams[i].exponential() < gain;
            if accepted {
                std::mem::swap(&mut self.states[i], &mut self.proposals[i]);
                self.log_densities[i] = proposed;
            }
            let Some(kept) = step.checked_sub(plan.burn_in) else {
                if let Some(wished) = plan.acceptance {
                    adapt(&mut self.scales[i], gain, wished, step);
                }
                continue;
            };
            self.accepted[i] += usize::from(accepted);
            if (kept + 1).is_multiple_of(plan.thinning.max(1)) {
                let end = self.draws[i].len();
                self.draws[i].resize(end + target.width(), 0.0);
                target.describe(&self.states[i], &mut self.draws[i][end..]);
            }
        }
    }

    fn finish(self, plan: &Plan) -> Vec<Chain> {
        let steps = (plan.steps() - plan.burn_in).max(1);
        let chain = |(i, draws)| {
            let acceptance = self.accepted[i] as f64 / steps as f64;
            Chain { draws, acceptance, scale: self.scales[i] }
        };
        self.draws.into_iter().enumerate().map(chain).collect()
    }
}

/// Robbins and Monro on the logarithm of the scale.
fn adapt(scale: &mut f64, gain: f64, wished: f64, step: usize) {
    let probability = if gain.is_nan() { 0.0 } else { gain.min(0.0).exp() };
    let adapted = *scale * (((step + 1) as f64).powf(-0.6) * (probability - wished)).exp();
    if adapted.is_normal() {
        *scale = adapted;
    }
}

/// Proposals of a random walk: writes exp_x(shift) for the rows x of `from` and of `shifts`, in coordinates, and
/// the log ratio of the proposal's densities there and back. With normal shifts that is 0, because isometries
/// take any point to any other; an end beyond double precision is x itself, and ruled out.
pub fn walk(
    manifold: &dyn Manifold,
    from: Rows,
    shifts: &[f64],
    ends: &mut [f64],
    ratios: &mut [f64],
) {
    manifold.exp_coords(Rows::new(shifts, manifold.dim()), from, ends);
    let ends = ends.chunks_exact_mut(manifold.point_size());
    for (i, (end, ratio)) in ends.zip(ratios).enumerate() {
        *ratio = 0.0;
        if !manifold.project(end) {
            end.copy_from_slice(from.row(i));
            *ratio = f64::NEG_INFINITY;
        }
    }
}

fn in_support(log_density: f64) -> f64 {
    if log_density.is_nan() { f64::NEG_INFINITY } else { log_density }
}
