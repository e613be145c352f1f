//! The mean of points in a public ball, to a certified accuracy, by a globally convergent iteration.
//!
//! Each phase halves the gradient norm: by one trial step of a quasi-Newton iteration, which nearly always
//! succeeds, or else by safe steps from where the phase began, which provably do.
//!
//! [`Descent`] is the iteration itself: it says at which point it wants the gradient, and is told it. So
//! the points may stand in memory ([`in_ball`]) or be read anew, in pieces and by several processes; and
//! many means are sought together ([`in_ball_each`]), their maps of single points made in one go.

use std::ops::Range;

use super::certificate::Plan;
use super::quasi_newton::{Memory, transport};
use super::{Evaluation, PIECE, PieceSums, Sample, add_pairwise, scaled};
use crate::ball::{Ball, SLACK};
use crate::error::Error;
use crate::manifold::LogSums;
use crate::parallel::Interrupt;
use crate::rows::Rows;

/// The minimiser of F over the ball, within `plan.tolerance` of the true one.
pub fn in_ball(
    sample: &Sample,
    ball: &Ball,
    plan: &Plan,
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    let mut descents = [Descent::new(ball, plan)];
    while let Some(point) = descents[0].wanted() {
        let evaluation = sample.evaluate(point, interrupt)?;
        advance(ball, &mut descents, vec![(0, evaluation)]);
    }
    let [descent] = descents;
    Ok(descent.point)
}

/// [`in_ball`] for many groups of points, group g being the rows `groups[g]` and having the plan
/// `plans[g]`; writes one row of `out` each.
pub fn in_ball_each(
    ball: &Ball,
    points: Rows,
    groups: &[Range<usize>],
    plans: &[&Plan],
    out: &mut [f64],
    interrupt: Interrupt,
) -> Result<(), Error> {
    let (size, dim) = (ball.manifold.point_size(), ball.manifold.dim());
    let mut descents: Vec<_> = plans.iter().map(|plan| Descent::new(ball, plan)).collect();
    let mut active: Vec<usize> = (0..groups.len()).collect();
    let mut bases = Vec::with_capacity(groups.len() * size);
    let mut sums = vec![0.0; groups.len() * dim];
    let mut others = vec![LogSums::default(); groups.len()];
    while !active.is_empty() {
        let (small, large): (Vec<usize>, Vec<usize>) =
            active.iter().partition(|&&g| groups[g].len() <= PIECE);
        bases.clear();
        small.iter().for_each(|&g| bases.extend_from_slice(descents[g].wanted().unwrap_or(&[])));
        let ranges: Vec<_> = small.iter().map(|&g| groups[g].clone()).collect();
        let sums = &mut sums[..small.len() * dim];
        sums.fill(0.0);
        ball.manifold.sum_log_each(points, &ranges, Rows::new(&bases, size), sums, &mut others);
        let mut evaluations = Vec::with_capacity(active.len());
        for ((&g, sum), other) in small.iter().zip(sums.chunks_exact(dim)).zip(&others) {
            evaluations.push((g, Evaluation::new(sum.to_vec(), *other, groups[g].len() as f64)));
        }
        for g in large {
            let (points, count) = (points.range(groups[g].clone()), groups[g].len());
            let sample = Sample { manifold: ball.manifold, points, count, weights: None };
            let Some(point) = descents[g].wanted() else { continue };
            evaluations.push((g, sample.evaluate(point, interrupt)?));
        }
        advance(ball, &mut descents, evaluations);
        active.retain(|&g| descents[g].wanted().is_some());
    }
    for (row, descent) in out.chunks_exact_mut(size).zip(&descents) {
        row.copy_from_slice(&descent.point);
    }
    Ok(())
}

/// The iteration of [`in_ball`], one gradient at a time.
pub struct Descent {
    plan: Plan,
    memory: Memory,
    evaluations: usize,
    /// The best point so far, or the one of a safe step.
    point: Vec<f64>,
    stage: Stage,
}

enum Stage {
    /// The gradient at `point` is wanted; the phase ends at a gradient norm of `reference`.
    Safe {
        reference: f64,
    },
    /// The gradient at a trial point, `step` away from `point`, is wanted; `here` is the state at `point`.
    Trial {
        trial: Vec<f64>,
        step: Vec<f64>,
        here: Evaluation,
        reference: f64,
    },
    Done,
}

/// Where an iteration goes next.
enum Step {
    Safe { step: Vec<f64>, reference: f64 },
    Trial { step: Vec<f64>, here: Evaluation, reference: f64 },
}

impl Descent {
    /// The iteration from the ball's centre.
    pub fn new(ball: &Ball, plan: &Plan) -> Self {
        Self {
            plan: *plan,
            memory: Memory::default(),
            evaluations: 0,
            point: ball.center.to_vec(),
            stage: Stage::Safe { reference: f64::INFINITY },
        }
    }

    /// The point at which the gradient is wanted; none once the mean is found.
    pub fn wanted(&self) -> Option<&[f64]> {
        match &self.stage {
            Stage::Safe { .. } => Some(&self.point),
            Stage::Trial { trial, .. } => Some(trial),
            Stage::Done => None,
        }
    }

    /// The last point.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Takes the sums over all pieces of `count` points, in order, at the wanted point.
    pub fn advance(&mut self, ball: &Ball, pieces: Vec<PieceSums>, count: usize) {
        let (sum, sums) = add_pairwise(pieces);
        let evaluation = Evaluation::new(sum, sums, count as f64);
        advance(ball, std::slice::from_mut(self), vec![(0, evaluation)]);
    }

    /// The step from `point`, where the state is `here` and the gradient norm shall fall to `reference`;
    /// none once it is small enough.
    fn next(&self, here: Evaluation, reference: f64) -> Option<Step> {
        let left = self.evaluations < self.plan.max_evaluations;
        if here.gradient_norm > reference && left {
            return Some(Step::Safe {
                step: scaled(&here.descent, self.plan.safe_step),
                reference,
            });
        }
        (here.gradient_norm > self.plan.gradient_target && left).then(|| Step::Trial {
            step: self.memory.step(&here.descent, here.curvature),
            reference: 0.5 * here.gradient_norm,
            here,
        })
    }
}

/// A trial point that is accepted.
struct Move {
    number: usize,
    from: Vec<f64>,
    there: Evaluation,
}

/// Tells the numbered iterations their gradients. Maps of single points are made for all together; what
/// becomes of one iteration does not depend on the others.
fn advance(ball: &Ball, descents: &mut [Descent], evaluations: Vec<(usize, Evaluation)>) {
    let inside = trials_inside(ball, descents, &evaluations);
    let (mut moves, mut steps) = (Vec::new(), Vec::new());
    for ((number, there), inside) in evaluations.into_iter().zip(inside) {
        let descent = &mut descents[number];
        descent.evaluations += 1;
        match std::mem::replace(&mut descent.stage, Stage::Done) {
            Stage::Safe { reference } => steps.push((number, descent.next(there, reference))),
            Stage::Trial { trial, step, here, .. } if inside => {
                descent.memory.push(&step, &here.descent);
                let from = std::mem::replace(&mut descent.point, trial);
                moves.push(Move { number, from, there });
            }
            Stage::Trial { here, reference, .. } => {
                descent.memory.clear();
                steps.push((number, descent.next(here, reference)));
            }
            Stage::Done => {}
        }
    }
    transport_memories(ball, descents, &moves);
    for Move { number, there, .. } in moves {
        descents[number].memory.close(&there.descent);
        steps.push((number, descents[number].next(there, f64::INFINITY)));
    }
    take(ball, descents, steps);
}

/// Whether the trial point of each evaluated iteration is to be accepted: half the gradient norm, inside
/// the ball.
fn trials_inside(
    ball: &Ball,
    descents: &[Descent],
    evaluations: &[(usize, Evaluation)],
) -> Vec<bool> {
    let size = ball.manifold.point_size();
    let mut points = Vec::with_capacity(evaluations.len() * size);
    for (number, there) in evaluations {
        match &descents[*number].stage {
            Stage::Trial { trial, reference, .. } if there.gradient_norm <= *reference => {
                points.extend_from_slice(trial);
            }
            _ => {}
        }
    }
    let mut dist = vec![f64::NAN; points.len() / size];
    ball.manifold.dist(Rows::shared(ball.center), Rows::new(&points, size), &mut dist);
    let mut dist = dist.into_iter();
    let accepted = |(number, there): &(usize, Evaluation)| match &descents[*number].stage {
        Stage::Trial { reference, .. } if there.gradient_norm <= *reference => {
            dist.next().is_some_and(|dist| dist <= ball.radius * (1.0 + SLACK))
        }
        _ => false,
    };
    evaluations.iter().map(accepted).collect()
}

/// Carries the memories of accepted moves along them.
fn transport_memories(ball: &Ball, descents: &mut [Descent], moves: &[Move]) {
    let (mut rows, mut bases, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for Move { number, from, .. } in moves {
        let Descent { memory, point, .. } = &descents[*number];
        rows.extend_from_slice(memory.rows());
        for _ in 0..memory.rows().len() / ball.manifold.dim() {
            bases.extend_from_slice(from);
            ends.extend_from_slice(point);
        }
    }
    transport(ball.manifold, &bases, &ends, &mut rows);
    let mut rest = &rows[..];
    for Move { number, .. } in moves {
        let own = descents[*number].memory.rows_mut();
        let (moved, after) = rest.split_at(own.len());
        own.copy_from_slice(moved);
        rest = after;
    }
}

/// Takes steps: exp of each, pulled into the ball if the step must not leave it.
fn take(ball: &Ball, descents: &mut [Descent], mut steps: Vec<(usize, Option<Step>)>) {
    steps.retain(|(_, step)| step.is_some());
    let (size, dim) = (ball.manifold.point_size(), ball.manifold.dim());
    let (mut bases, mut coords) = (Vec::new(), Vec::new());
    for (number, step) in &steps {
        if let Some(Step::Safe { step, .. } | Step::Trial { step, .. }) = step {
            bases.extend_from_slice(&descents[*number].point);
            coords.extend_from_slice(step);
        }
    }
    let mut ends = vec![0.0; bases.len()];
    ball.manifold.exp_coords(Rows::new(&coords, dim), Rows::new(&bases, size), &mut ends);
    for ((number, step), end) in steps.into_iter().zip(ends.chunks_exact(size)) {
        let descent = &mut descents[number];
        let mut point = end.to_vec();
        descent.stage = match step {
            Some(Step::Trial { step, here, reference }) => {
                Stage::Trial { trial: point, step, here, reference }
            }
            Some(Step::Safe { reference, .. }) => {
                if !ball.contains(&point) {
                    ball.pull_in(&mut point);
                }
                descent.point = point;
                Stage::Safe { reference }
            }
            None => Stage::Done,
        };
    }
}
