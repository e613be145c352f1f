//! Chains in lock step: every number of a state is a lane with an entry for each chain, so that a step of all
//! of them is one pass of vector instructions. Their noise is drawn for many steps at once.

use super::walk::Walk;
use super::{IsotropicLaw, Task};
use crate::chains::{Chain, Plan};
use crate::elementary::exp;
use crate::error::Error;
use crate::linalg::lanes::{Lane, Lanes};
use crate::noise::{Profile, Stream};
use crate::parallel::{Pace, pass};
use crate::simd::vectorize;

/// Numbers of noise that are drawn at once: they stay in the first-level cache.
const NOISE: usize = 2048;

/// Runs the chains of a task, `L` to a group.
pub(super) fn run<W: Walk, const L: usize>(walk: W, task: &Task) -> Result<Vec<Chain>, Error> {
    let Task { law, starts, plan, key, interrupt } = *task;
    let streams: Vec<Stream> =
        (0..(starts.len() / walk.dim()) as u64).map(|i| Stream::from_key(key, 2 * i)).collect();
    let mut streams = streams.into_iter();
    let mut groups: Vec<Group<W, L>> = starts
        .chunks(L * walk.dim())
        .map(|starts| {
            let streams = streams.by_ref().take(starts.len() / walk.dim()).collect();
            Group::new(walk, law, starts, streams, plan)
        })
        .collect();
    let (mut done, total) = (0, plan.steps());
    let mut pace = Pace::new();
    while done < total {
        let block = groups.first().map_or(1, Group::block);
        let steps = pace.pieces().saturating_mul(block).min(total - done);
        groups = pass(groups, |mut group| {
            group.advance(plan, done, steps);
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

/// Up to `L` chains on their way.
struct Group<W, const L: usize> {
    walk: W,
    profile: Profile,
    longest_step: f64,
    streams: Vec<Stream>,
    state: Lanes<L>,
    proposal: Lanes<L>,
    work: Lanes<L>,
    /// For every step of a block the normals, then the exponential that decides.
    noise: Lanes<L>,
    dist: Lane<L>,
    log_density: Lane<L>,
    scale: Lane<L>,
    accepted: Lane<L>,
    coords: Lanes<L>,
    draws: Vec<Vec<f64>>,
}

impl<W: Walk, const L: usize> Group<W, L> {
    fn new(walk: W, law: &IsotropicLaw, starts: &[f64], streams: Vec<Stream>, plan: &Plan) -> Self {
        let dim = walk.dim();
        let kept = plan.draws.saturating_mul(dim + 1).min(1 << 24);
        let longest_step = law.longest_step();
        let mut group = Self {
            walk,
            profile: law.in_units(),
            longest_step,
            state: Lanes::new(walk.size()),
            proposal: Lanes::new(walk.size()),
            work: Lanes::new(walk.work()),
            noise: Lanes::new(0),
            dist: [0.0; L],
            log_density: [0.0; L],
            scale: [(plan.scale * law.unit).min(longest_step); L],
            accepted: [0.0; L],
            coords: Lanes::new(dim),
            draws: streams.iter().map(|_| Vec::with_capacity(kept)).collect(),
            streams,
        };
        group.noise = Lanes::new(group.block() * (walk.normals() + 1));
        for (l, start) in starts.chunks_exact(dim).enumerate() {
            for (lane, x) in group.coords.iter_mut().zip(start) {
                lane[l] = *x;
            }
        }
        walk.enter(&group.coords, &mut group.state, &mut group.work);
        group.dist = walk.dist(&group.state, &mut group.work);
        group.log_density = log_density(group.profile, &group.dist);
        group
    }

    /// Steps whose noise is drawn at once.
    fn block(&self) -> usize {
        (NOISE / (L * (self.walk.normals() + 1))).max(1)
    }

    /// The steps `first..first + count`.
    fn advance(&mut self, plan: &Plan, first: usize, count: usize) {
        let width = self.walk.normals() + 1;
        let block = self.block();
        for start in (first..first + count).step_by(block) {
            let steps = block.min(first + count - start);
            for (l, stream) in self.streams.iter_mut().enumerate() {
                for row in self.noise.chunks_exact_mut(width).take(steps) {
                    let Some((threshold, normals)) = row.split_last_mut() else { continue };
                    for lane in normals {
                        lane[l] = stream.normal();
                    }
                    threshold[l] = stream.exponential();
                }
            }
            vectorize(
                #[inline(always)]
                || {
                    for step in 0..steps {
                        self.step(plan, start + step, step * width);
                    }
                },
            );
        }
    }

    /// One step of every chain, with the noise from lane `at` on.
    #[inline(always)]
    fn step(&mut self, plan: &Plan, step: usize, at: usize) {
        let normals = self.walk.normals();
        let (z, threshold) = self.noise[at..=at + normals].split_at_mut(normals);
        for z in z.iter_mut() {
            for l in 0..L {
                z[l] *= self.scale[l];
            }
        }
        self.walk.step(&self.state, z, &mut self.proposal, &mut self.work);
        let dist = self.walk.dist(&self.proposal, &mut self.work);
        let proposed = log_density(self.profile, &dist);
        let (mut gain, mut accepted) = ([0.0; L], [0.0; L]);
        for l in 0..L {
            gain[l] = proposed[l] - self.log_density[l];
            let accept = -threshold[0][l] < gain[l];
            accepted[l] = if accept { 1.0 } else { 0.0 };
            self.dist[l] = if accept { dist[l] } else { self.dist[l] };
            self.log_density[l] = if accept { proposed[l] } else { self.log_density[l] };
        }
        for (x, y) in self.state.iter_mut().zip(self.proposal.iter()) {
            for l in 0..L {
                x[l] = if accepted[l] > 0.0 { y[l] } else { x[l] };
            }
        }
        let Some(kept) = step.checked_sub(plan.burn_in) else {
            if let Some(wished) = plan.acceptance {
                self.adapt(&gain, wished, step);
            }
            return;
        };
        for l in 0..L {
            self.accepted[l] += accepted[l];
        }
        if (kept + 1).is_multiple_of(plan.thinning.max(1)) {
            self.keep();
        }
    }

    /// Robbins and Monro on the logarithm of the scale.
    #[inline(always)]
    fn adapt(&mut self, gain: &Lane<L>, wished: f64, step: usize) {
        let rate = ((step + 1) as f64).powf(-0.6);
        for l in 0..L {
            let gain = if gain[l] < 0.0 { gain[l] } else { 0.0 };
            let scale = self.scale[l] * exp(rate * (exp(gain) - wished));
            let scale = if scale > f64::MIN_POSITIVE { scale } else { f64::MIN_POSITIVE };
            self.scale[l] = if scale < self.longest_step { scale } else { self.longest_step };
        }
    }

    #[inline(never)]
    fn keep(&mut self) {
        self.walk.leave(&self.state, &mut self.coords, &mut self.work);
        for (l, draws) in self.draws.iter_mut().enumerate() {
            draws.extend(self.coords.iter().map(|lane| lane[l]));
            draws.push(self.dist[l]);
        }
    }

    fn finish(self, plan: &Plan) -> Vec<Chain> {
        let steps = (plan.steps() - plan.burn_in).max(1) as f64;
        let chain = |(l, draws)| {
            let (accepted, scale): (f64, f64) = (self.accepted[l], self.scale[l]);
            Chain { draws, acceptance: accepted / steps, scale }
        };
        self.draws.into_iter().enumerate().map(chain).collect()
    }
}

/// ln psi; minus infinity for NaN.
#[inline(always)]
fn log_density<const L: usize>(profile: Profile, dist: &Lane<L>) -> Lane<L> {
    let mut out = [0.0; L];
    let inverse = 1.0 / profile.scale();
    match profile {
        Profile::Laplace { .. } => {
            for l in 0..L {
                out[l] = -inverse * dist[l];
            }
        }
        Profile::Gaussian { .. } => {
            for l in 0..L {
                let x = inverse * dist[l];
                out[l] = -0.5 * x * x;
            }
        }
    }
    for l in 0..L {
        out[l] = if out[l] <= 0.0 { out[l] } else { f64::NEG_INFINITY };
    }
    out
}
