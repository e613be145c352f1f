//! The mean of points in a public ball, to a certified accuracy, by a globally convergent iteration.
//!
//! Each phase halves the gradient norm: by one trial step of a quasi-Newton iteration, which nearly always
//! succeeds, or else by safe steps from where the phase began, which provably do.
//!
//! [`Descent`] is the iteration itself: it says at which point it wants the gradient, and is told it. So
//! the points may stand in memory ([`in_ball`]) or be read anew, in pieces and by several processes; and
//! many means are sought together ([`in_ball_each`]), their maps of single points made in one go.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::certificate::Plan;
use super::quasi_newton::{Memory, transport};
use super::{Evaluation, PieceSums, Sample, add_pairwise};
use crate::ball::Ball;
use crate::cascade::PIECE;
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
    let mut space = Workspace::default();
    while let Some(point) = descents[0].wanted() {
        let evaluation = sample.evaluate(point, interrupt)?;
        advance(ball, &mut descents, &[evaluation.of(0)], &mut space);
    }
    Ok(descents[0].point().to_vec())
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
    assert_eq!([plans.len(), out.len()], [groups.len(), groups.len() * size], "one mean a group");
    let mut descents: Vec<_> = plans.iter().map(|plan| Descent::new(ball, plan)).collect();
    let mut space = Workspace::default();
    let mut active: Vec<usize> = (0..groups.len()).collect();
    let (mut bases, mut ranges) = (Vec::new(), Vec::new());
    let mut sums = vec![0.0; groups.len() * dim];
    let mut others = vec![LogSums::default(); groups.len()];
    while !active.is_empty() {
        let (small, large): (Vec<usize>, Vec<usize>) =
            active.iter().partition(|&&g| groups[g].len() <= PIECE);
        bases.clear();
        small.iter().for_each(|&g| bases.extend_from_slice(descents[g].wanted().unwrap_or(&[])));
        ranges.clear();
        ranges.extend(small.iter().map(|&g| groups[g].clone()));
        let (sums, others) = (&mut sums[..small.len() * dim], &mut others[..small.len()]);
        sums.fill(0.0);
        ball.manifold.sum_log_each(points, &ranges, Rows::new(&bases, size), sums, others);
        let mut wide = Vec::with_capacity(large.len());
        for &g in &large {
            let (points, count) = (points.range(groups[g].clone()), groups[g].len());
            let sample =
                Sample { manifold: ball.manifold, points, count, weights: None, anchor: None };
            let Some(point) = descents[g].wanted() else { continue };
            wide.push((g, sample.evaluate(point, interrupt)?));
        }
        let mut gradients = Vec::with_capacity(active.len());
        for ((&g, sum), other) in small.iter().zip(sums.chunks_exact_mut(dim)).zip(&*others) {
            gradients.push(Gradient::of(g, sum, other, groups[g].len() as f64));
        }
        gradients.extend(wide.iter().map(|(g, evaluation)| evaluation.of(*g)));
        advance(ball, &mut descents, &gradients, &mut space);
        active.retain(|&g| descents[g].wanted().is_some());
    }
    for (row, descent) in out.chunks_exact_mut(size).zip(&descents) {
        row.copy_from_slice(descent.point());
    }
    Ok(())
}

/// The iteration of [`in_ball`], one gradient at a time.
pub struct Descent {
    plan: Plan,
    memory: Memory,
    evaluations: usize,
    stage: Stage,
    /// |grad F| and the curvature at the point where the last step began.
    here: (f64, f64),
    /// One after the other: the best point so far, or the one of a safe step; a trial point; the step towards
    /// it; -grad F where that step began.
    vectors: SmallVec<[f64; 16]>,
    size: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// The gradient at the point is wanted; the phase ends at a gradient norm of `reference`.
    Safe {
        reference: f64,
    },
    /// The gradient at the trial point is wanted; it is taken at a gradient norm of `reference`.
    Trial {
        reference: f64,
    },
    Done,
}

/// The gradient at the point that iteration `number` asked for.
struct Gradient<'a> {
    number: usize,
    descent: &'a [f64],
    norm: f64,
    curvature: f64,
}

impl<'a> Gradient<'a> {
    /// From the sums over all points, of weight `total` together; `sum` becomes the descent vector.
    fn of(number: usize, sum: &'a mut [f64], sums: &LogSums, total: f64) -> Self {
        sum.iter_mut().for_each(|x| *x /= total);
        let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        Self { number, descent: sum, norm, curvature: f64::max(0.1, sums.curvature / total) }
    }
}

impl Evaluation {
    /// For iteration `number`.
    fn of(&self, number: usize) -> Gradient<'_> {
        let (norm, curvature) = (self.gradient_norm, self.curvature);
        Gradient { number, descent: &self.descent, norm, curvature }
    }
}

/// Rows for the maps of single points, used again and again.
#[derive(Default)]
struct Workspace {
    bases: Vec<f64>,
    ends: Vec<f64>,
    rows: Vec<f64>,
    dist: Vec<f64>,
    /// Positions of gradients whose trial point is taken.
    moves: Vec<usize>,
    /// Iterations that take a step.
    steps: Vec<usize>,
}

impl Descent {
    /// The iteration from the ball's centre.
    pub fn new(ball: &Ball, plan: &Plan) -> Self {
        let (size, dim) = (ball.manifold.point_size(), ball.manifold.dim());
        let mut vectors = smallvec![0.0; 2 * (size + dim)];
        vectors[..size].copy_from_slice(ball.center);
        Self {
            plan: *plan,
            memory: Memory::default(),
            evaluations: 0,
            stage: Stage::Safe { reference: f64::INFINITY },
            here: (f64::NAN, f64::NAN),
            vectors,
            size,
        }
    }

    /// The point at which the gradient is wanted; none once the mean is found.
    pub fn wanted(&self) -> Option<&[f64]> {
        match self.stage {
            Stage::Safe { .. } => Some(self.point()),
            Stage::Trial { .. } => Some(self.trial()),
            Stage::Done => None,
        }
    }

    /// The last point.
    pub fn point(&self) -> &[f64] {
        &self.vectors[..self.size]
    }

    fn trial(&self) -> &[f64] {
        &self.vectors[self.size..2 * self.size]
    }

    /// The step and the descent vector where it began.
    fn step(&self) -> (&[f64], &[f64]) {
        let both = &self.vectors[2 * self.size..];
        both.split_at(both.len() / 2)
    }

    /// Takes the sums over all pieces of `count` points, in order, at the wanted point.
    pub fn advance(&mut self, ball: &Ball, pieces: Vec<PieceSums>, count: usize) {
        let (mut sum, sums) = add_pairwise(pieces);
        let gradient = Gradient::of(0, &mut sum, &sums, count as f64);
        advance(ball, std::slice::from_mut(self), &[gradient], &mut Workspace::default());
    }

    /// True if a further step is needed after an accepted trial with this gradient norm.
    fn goes_on(&self, norm: f64) -> bool {
        norm > self.plan.gradient_target && self.evaluations < self.plan.max_evaluations
    }

    /// Notes where the next step begins: the gradient at the point.
    fn arrive(&mut self, gradient: &Gradient) {
        self.here = (gradient.norm, gradient.curvature);
        let dim = gradient.descent.len();
        let last = self.vectors.len() - dim;
        self.vectors[last..].copy_from_slice(gradient.descent);
    }

    /// Finds the step from the point, where the gradient norm shall fall to `reference`; none once it is
    /// small enough.
    fn decide(&mut self, reference: f64) {
        let (norm, curvature) = self.here;
        let dim = self.vectors.len() / 2 - self.size;
        let (step, descent) = self.vectors[2 * self.size..].split_at_mut(dim);
        let left = self.evaluations < self.plan.max_evaluations;
        self.stage = if norm > reference && left {
            step.iter_mut().zip(&*descent).for_each(|(s, x)| *s = self.plan.safe_step * x);
            Stage::Safe { reference }
        } else if norm > self.plan.gradient_target && left {
            self.memory.step(descent, curvature, step);
            Stage::Trial { reference: 0.5 * norm }
        } else {
            Stage::Done
        };
    }
}

/// Tells the iterations their gradients. Maps of single points are made for all together; what becomes of
/// one iteration does not depend on the others.
fn advance(ball: &Ball, descents: &mut [Descent], told: &[Gradient], space: &mut Workspace) {
    dist_of_trials(ball, descents, told, space);
    let mut dist = space.dist.iter();
    space.moves.clear();
    space.steps.clear();
    for (i, gradient) in told.iter().enumerate() {
        let descent = &mut descents[gradient.number];
        descent.evaluations += 1;
        match descent.stage {
            Stage::Safe { reference } => {
                descent.arrive(gradient);
                descent.decide(reference);
            }
            Stage::Trial { reference }
                if gradient.norm <= reference
                    && dist.next().is_some_and(|&dist| dist <= ball.limit()) =>
            {
                let (point, rest) = descent.vectors.split_at_mut(descent.size);
                point.swap_with_slice(&mut rest[..descent.size]);
                if descent.goes_on(gradient.norm) {
                    space.moves.push(i);
                } else {
                    descent.stage = Stage::Done;
                }
            }
            Stage::Trial { reference } => {
                descent.memory.clear();
                descent.decide(reference);
            }
            Stage::Done => {}
        }
    }
    move_memories(ball, descents, told, space);
    for gradient in told {
        if descents[gradient.number].stage != Stage::Done {
            space.steps.push(gradient.number);
        }
    }
    take(ball, descents, space);
}

/// Distances from the centre of the trial points at which the gradient norm is at most half of what it was.
fn dist_of_trials(ball: &Ball, descents: &[Descent], told: &[Gradient], space: &mut Workspace) {
    space.rows.clear();
    for gradient in told {
        let descent = &descents[gradient.number];
        if let Stage::Trial { reference } = descent.stage
            && gradient.norm <= reference
        {
            space.rows.extend_from_slice(descent.trial());
        }
    }
    let size = ball.manifold.point_size();
    space.dist.clear();
    space.dist.resize(space.rows.len() / size, f64::NAN);
    ball.manifold.dist_origin(Rows::new(&space.rows, size), &mut space.dist);
}

/// Takes the moves of trials into the memories and carries these along; then finds the next steps.
fn move_memories(ball: &Ball, descents: &mut [Descent], told: &[Gradient], space: &mut Workspace) {
    let Workspace { bases, ends, rows, moves, .. } = space;
    bases.clear();
    ends.clear();
    rows.clear();
    for &i in &*moves {
        let descent = &mut descents[told[i].number];
        let dim = told[i].descent.len();
        let (step, before) = descent.vectors[2 * descent.size..].split_at(dim);
        descent.memory.push(step, before);
        rows.extend_from_slice(descent.memory.rows());
        for _ in 0..descent.memory.rows().len() / dim {
            bases.extend_from_slice(descent.trial()); // where the point was
            ends.extend_from_slice(descent.point());
        }
    }
    transport(ball.manifold, bases, ends, rows);
    let mut rest = &rows[..];
    for &i in &*moves {
        let descent = &mut descents[told[i].number];
        let own = descent.memory.rows_mut();
        let (moved, after) = rest.split_at(own.len());
        own.copy_from_slice(moved);
        rest = after;
        descent.memory.close(told[i].descent);
        descent.arrive(&told[i]);
        descent.decide(f64::INFINITY);
    }
}

/// Takes steps: exp of each, pulled into the ball if the step must not leave it.
fn take(ball: &Ball, descents: &mut [Descent], space: &mut Workspace) {
    let Workspace { bases, ends, rows, steps, .. } = space;
    let (size, dim) = (ball.manifold.point_size(), ball.manifold.dim());
    bases.clear();
    rows.clear();
    for &number in &*steps {
        bases.extend_from_slice(descents[number].point());
        rows.extend_from_slice(descents[number].step().0);
    }
    ends.clear();
    ends.resize(bases.len(), 0.0);
    ball.manifold.exp_coords(Rows::new(rows, dim), Rows::new(bases, size), ends);
    for (&number, end) in steps.iter().zip(ends.chunks_exact_mut(size)) {
        let descent = &mut descents[number];
        if let Stage::Safe { .. } = descent.stage {
            if !ball.contains(end) {
                ball.pull_in(end);
            }
            descent.vectors[..size].copy_from_slice(end);
        } else {
            descent.vectors[size..2 * size].copy_from_slice(end);
        }
    }
}
