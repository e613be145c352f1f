//! The public domain: a closed geodesic ball, and the projection that makes every record a point of it.

use crate::error::Error;
use std::ops::Range;
use std::sync::Arc;

use crate::batch::piece_rows;
use crate::manifold::{Manifold, Precise, RECORD_TOLERANCE, exp_growth};
use crate::parallel::{Interrupt, for_rows};
use crate::release::Placement;
use crate::rows::{Rows, row_count};
use crate::tally::Counted;
use crate::vector::norm;

/// Relative slack at the boundary: records and iterates may be that far outside, because of rounding.
/// Sensitivities and plans count it.
pub const SLACK: f64 = 1e-9;

/// A closed geodesic ball about the origin of a centred manifold.
#[derive(Clone, Copy)]
pub struct Ball<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// Its origin, the centre of the ball.
    pub center: &'a [f64],
    /// The public radius.
    pub radius: f64,
}

impl Ball<'_> {
    /// Largest computed distance from the centre at which a point lies in the ball, up to [`SLACK`]. A little
    /// less than the radius if double precision leaves no such number, which [`crate::mean::plan`] refuses.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.radius * (1.0 + 0.5 * SLACK) - self.rounding()
    }

    /// Error of computed distances from the centre.
    fn rounding(&self) -> f64 {
        self.manifold.dist_origin_error(self.radius).min(0.01 * self.radius)
    }

    /// Largest computed distance from the centre at which a record counts as a point inside the ball. Unit
    /// vectors in single precision lie about 1e-7 beyond the unit ball's edge.
    fn counted_limit(&self) -> f64 {
        self.limit().max(self.radius * (1.0 + RECORD_TOLERANCE))
    }

    /// Moves points outside the ball to its boundary. One so close to the edge of the manifold that
    /// rounding would leave it outside becomes the centre. Writes true for points that were moved, and for those
    /// of them that count as points outside.
    fn clip(&self, points: &mut [f64], moved: &mut [bool], far: &mut [bool]) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        assert_eq!(points.len(), moved.len() * size, "one flag for each point");
        let dists = |points: &[f64]| {
            let mut dist = vec![f64::NAN; points.len() / size];
            self.manifold.dist_origin(Rows::new(points, size), &mut dist);
            dist
        };
        let limit = self.limit();
        self.manifold.within_origin(Rows::new(points, size), limit, moved);
        far.fill(false);
        let mut outside = Vec::new();
        let mut rows = Vec::new();
        for (i, moved) in moved.iter_mut().enumerate() {
            *moved = !*moved;
            if *moved {
                outside.push(i);
                rows.extend_from_slice(&points[i * size..(i + 1) * size]);
            }
        }
        if outside.is_empty() {
            return;
        }
        let mut coords = vec![0.0; outside.len() * dim];
        self.manifold.log_origin(Rows::new(&rows, size), &mut coords);
        // of a record: where logarithms carry bounds, these may be missing so far out, and are not needed
        let before: Vec<f64> = match self.manifold.injectivity_radius() {
            f64::INFINITY => coords.chunks_exact(dim).map(norm).collect(),
            _ => dists(&rows),
        };
        coords.chunks_exact_mut(dim).for_each(|u| self.shorten(u));
        self.manifold.exp_origin(Rows::new(&coords, dim), &mut rows);
        let ends = rows.chunks_exact(size).zip(dists(&rows));
        let (cut_locus, inside) =
            (self.manifold.injectivity_radius() * (1.0 - 1e-9), self.counted_limit());
        for ((i, before), (row, after)) in outside.into_iter().zip(before).zip(ends) {
            far[i] = before > inside || before.is_nan();
            let usable = before < cut_locus
                && before.is_finite()
                && after <= limit
                && self.manifold.belongs(row, RECORD_TOLERANCE);
            points[i * size..(i + 1) * size].copy_from_slice(if usable {
                row
            } else {
                self.center
            });
        }
    }

    /// The radius, or a little less where rounding asks for it: where points from outside go.
    fn edge(&self) -> f64 {
        f64::min(self.radius, self.limit() - 2.0 * self.rounding())
    }

    /// Scales coordinates to the length of the edge.
    fn shorten(&self, coords: &mut [f64]) {
        let target = self.edge();
        let norm = norm(coords);
        coords.iter_mut().for_each(|x| *x = *x / norm * target);
    }

    /// Moves a point to the boundary of the ball along its geodesic from the centre.
    pub fn pull_in(&self, point: &mut [f64]) {
        self.manifold.pull(point, self.edge());
    }

    /// True if a point lies in the ball.
    pub fn contains(&self, point: &[f64]) -> bool {
        self.dist_to_center(point) <= self.limit()
    }

    /// What a release tells of the place of the exact mean, with noise of that mean square in the chart at the centre:
    /// its estimated distance from the centre, at most r, and by how much the chart stretches noise there.
    #[must_use]
    pub fn place(&self, released: &[f64], mean_square: f64, placement: Placement) -> [f64; 2] {
        let mut coords = vec![0.0; self.manifold.dim()];
        self.manifold.log_origin(Rows::shared(released), &mut coords);
        let length = norm(&coords);
        let dist = (length * length - mean_square).max(0.0).sqrt().min(self.radius);
        if placement == Placement::Intrinsic {
            return [dist, 1.0];
        }
        coords.iter_mut().for_each(|x| *x *= dist / length.max(f64::MIN_POSITIVE));
        let growth = exp_growth(self.manifold, &coords);
        [dist, (growth / self.manifold.dim() as f64).sqrt()]
    }

    /// Distance of a point from the centre.
    pub fn dist_to_center(&self, point: &[f64]) -> f64 {
        let mut dist = [f64::NAN];
        self.manifold.dist_origin(Rows::shared(point), &mut dist);
        dist[0]
    }
}

/// Points in a frame, which alone makes them: their number and the width of a row stand with them, so that those of
/// one frame are never read as rows of another's width.
#[derive(Clone, Debug)]
pub struct Points {
    entries: Vec<f64>,
    size: usize,
}

impl Points {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len() / self.size
    }

    /// All of them.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        Rows::new(&self.entries, self.size)
    }

    /// Point `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.size..(i + 1) * self.size]
    }

    /// A copy of those with indices in `range`.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        let entries = self.entries[range.start * self.size..range.end * self.size].to_vec();
        Self { entries, size: self.size }
    }

    /// Their entries, row by row.
    pub fn entries_mut(&mut self) -> &mut [f64] {
        &mut self.entries
    }
}

/// The public ball B(center, radius), moved by an isometry so that its centre is the origin of a centred
/// manifold: where statistics are computed and noise is drawn.
///
/// A record enters by a fixed function of this record alone, and what comes out lies in the ball for every
/// input (docs/proofs/frechet-mean-solver.md, section 6).
#[derive(Clone)]
pub struct Frame {
    manifold: Arc<dyn Manifold>,
    center: Vec<f64>,
    radius: f64,
    /// The centred manifold in other numbers, where its own are not good enough.
    precise: Option<Arc<dyn Precise>>,
    centred: Arc<dyn Manifold>,
    origin: Vec<f64>,
}

impl Frame {
    /// The frame of B(center, radius).
    pub fn new(manifold: Arc<dyn Manifold>, center: &[f64], radius: f64) -> Self {
        let own: Arc<dyn Manifold> = manifold.centred().into();
        let precise = own.precise(radius);
        let centred = precise.clone().map_or(own, |precise| precise);
        let origin = centred.origin();
        Self { manifold, center: center.to_vec(), radius, precise, centred, origin }
    }

    /// The frame of another ball on the same manifold.
    pub fn with(&self, center: &[f64], radius: f64) -> Self {
        Self::new(Arc::clone(&self.manifold), center, radius)
    }

    /// The manifold of the records.
    pub fn manifold(&self) -> &dyn Manifold {
        &*self.manifold
    }

    /// The public centre, on the manifold of the records.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// The manifold on which centred points live.
    pub fn centred(&self) -> &Arc<dyn Manifold> {
        &self.centred
    }

    /// The ball in the frame.
    pub fn ball(&self) -> Ball<'_> {
        Ball { manifold: &*self.centred, center: &self.origin, radius: self.radius }
    }

    /// True if points of the frame stand in other numbers than the centred manifold's own.
    pub fn is_precise(&self) -> bool {
        self.precise.is_some()
    }

    /// The largest distance that a point of the ball can have from another, `dist` away from the centre.
    pub fn reach(&self, dist: f64) -> f64 {
        f64::min(2.0 * self.radius, self.radius + dist) * (1.0 + SLACK)
    }

    /// Records projected on the ball and moved into the frame: exp_c(min(1, r/rho(c, x)) log_c x). A record
    /// that is not finite, not on the manifold or in the cut locus of c becomes c. Total and deterministic,
    /// record by record. Those that were no points of the ball are counted.
    pub fn enter(
        &self,
        records: Rows,
        count: usize,
        counted: Counted,
        interrupt: Interrupt,
    ) -> Result<Points, Error> {
        let mut points = self.points(count);
        self.enter_into(records, &mut points.entries, counted, interrupt)?;
        Ok(points)
    }

    /// [`Frame::enter`] on this thread.
    pub fn enter_here(&self, records: Rows, count: usize, counted: Counted) -> Points {
        let mut points = self.points(count);
        self.enter_piece(records, &mut points.entries, counted);
        points
    }

    /// [`Frame::enter`] into a caller's buffer.
    pub fn enter_into(
        &self,
        records: Rows,
        out: &mut [f64],
        counted: Counted,
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let (size, width) = (self.manifold.point_size(), self.centred.point_size());
        records.check(row_count(out.len(), width), size);
        for_rows(out, width, piece_rows(size), interrupt, |first, piece| {
            let count = piece.len() / width;
            self.enter_piece(records.range(first..first + count), piece, counted.after(first));
        })
    }

    fn enter_piece(&self, records: Rows, out: &mut [f64], counted: Counted) {
        let count = row_count(out.len(), self.centred.point_size());
        let mut repaired = vec![0.0; count * self.manifold.point_size()];
        let valid = self.repair(records, &mut repaired);
        let (mut moved, mut far) = (vec![false; count], vec![false; count]);
        self.move_in(&repaired, out, &mut moved, &mut far);
        counted.add(&valid, &far);
    }

    /// Room for so many points, to be filled by a kernel.
    pub fn points(&self, count: usize) -> Points {
        let size = self.centred.point_size();
        Points { entries: vec![0.0; count * size], size }
    }

    /// Points of the frame moved back to the manifold.
    pub fn leave(&self, points: Rows, out: &mut [f64]) {
        points.check(row_count(out.len(), self.manifold.point_size()), self.centred.point_size());
        let Some(precise) = &self.precise else {
            return self.manifold.uncentre(points, &self.center, out);
        };
        let size = precise.own_size();
        let mut own = vec![0.0; out.len() / self.manifold.point_size() * size];
        precise.to_points(points, &mut own);
        self.manifold.uncentre(Rows::new(&own, size), &self.center, out);
    }

    /// Points of the manifold moved into the frame.
    pub fn centre(&self, points: Rows, out: &mut [f64]) {
        points.check(row_count(out.len(), self.centred.point_size()), self.manifold.point_size());
        let Some(precise) = &self.precise else {
            return self.manifold.centre(points, &self.center, out);
        };
        let size = precise.own_size();
        let mut own = vec![0.0; out.len() / precise.point_size() * size];
        self.manifold.centre(points, &self.center, &mut own);
        precise.from_points(Rows::new(&own, size), out);
    }

    /// Moves released points to the ball, on their own manifold: those in the ball stay as they are.
    pub fn keep(&self, points: Rows, out: &mut [f64]) {
        points.check(row_count(out.len(), self.manifold.point_size()), self.manifold.point_size());
        points.copy_to(out);
        self.pull_in(out);
    }

    /// Moves points of the manifold that lie outside the ball to its boundary.
    fn pull_in(&self, points: &mut [f64]) {
        let size = self.manifold.point_size();
        let count = row_count(points.len(), size);
        let (mut inner, mut moved) = (self.points(count), vec![false; count]);
        self.move_in(points, &mut inner.entries, &mut moved, &mut vec![false; count]);
        for (i, row) in points.chunks_exact_mut(size).enumerate() {
            if moved[i] {
                self.leave(Rows::shared(inner.row(i)), row);
            }
        }
    }

    /// Records projected on the ball, on their own manifold: those in the ball are only rounded onto the
    /// manifold.
    pub fn project(
        &self,
        records: Rows,
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let size = self.manifold.point_size();
        records.check(row_count(out.len(), size), size);
        for_rows(out, size, piece_rows(size), interrupt, |first, piece| {
            self.repair(records.range(first..first + piece.len() / size), piece);
            self.pull_in(piece);
        })
    }

    /// Writes true for records that are points of the ball.
    pub fn contains(&self, records: Rows, out: &mut [bool]) {
        let size = self.manifold.point_size();
        let mut points = vec![0.0; out.len() * size];
        records.copy_to(&mut points);
        self.manifold.snap(&mut points, out);
        let mut inner = self.points(out.len());
        self.centre(Rows::new(&points, size), &mut inner.entries);
        let mut dist = vec![f64::NAN; out.len()];
        self.centred.dist_origin(inner.rows(), &mut dist);
        let limit = self.ball().limit();
        out.iter_mut().zip(dist).for_each(|(inside, dist)| *inside &= dist <= limit);
    }

    /// What becomes of records that enter: 0 for a point of the ball, 1 for a point outside, which is moved to its
    /// edge, 2 for what stands for no point, which the centre replaces.
    pub fn categories(
        &self,
        records: Rows,
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let size = self.manifold.point_size();
        records.check(out.len(), size);
        for_rows(out, 1, piece_rows(size), interrupt, |first, piece| {
            let mut points = vec![0.0; piece.len() * size];
            let valid = self.repair(records.range(first..first + piece.len()), &mut points);
            let (mut inner, mut inside) = (self.points(piece.len()), vec![false; piece.len()]);
            self.centre(Rows::new(&points, size), &mut inner.entries);
            let ball = self.ball();
            ball.manifold.within_origin(inner.rows(), ball.counted_limit(), &mut inside);
            for ((category, valid), inside) in piece.iter_mut().zip(valid).zip(inside) {
                *category = if valid { f64::from(u8::from(!inside)) } else { 2.0 };
            }
        })
    }

    /// Copies records, rounded onto the manifold by [`Manifold::snap`]; those that stand for no point of it
    /// become the centre. True for points.
    fn repair(&self, records: Rows, out: &mut [f64]) -> Vec<bool> {
        let size = self.manifold.point_size();
        records.copy_to(out);
        let mut valid = vec![false; out.len() / size];
        self.manifold.snap(out, &mut valid);
        for (row, valid) in out.chunks_exact_mut(size).zip(&valid) {
            if !valid {
                row.copy_from_slice(&self.center);
            }
        }
        valid
    }

    /// Points of the manifold moved into the frame and clipped there.
    fn move_in(&self, points: &[f64], out: &mut [f64], moved: &mut [bool], far: &mut [bool]) {
        self.centre(Rows::new(points, self.manifold.point_size()), out);
        self.ball().clip(out, moved, far);
    }
}
