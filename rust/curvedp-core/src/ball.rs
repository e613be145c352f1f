//! The public domain: a closed geodesic ball, and the projection that makes every record a point of it.

use crate::error::Error;
use std::sync::Arc;

use crate::batch::piece_rows;
use crate::manifold::{Manifold, exp_growth};
use crate::parallel::{Interrupt, for_rows};
use crate::rows::Rows;

/// Records may be off the manifold by this much, relative to their size, and are then rounded onto
/// it; float32 data are.
pub const RECORD_TOLERANCE: f64 = 1e-5;

/// Relative slack at the boundary: records and iterates may be that far outside, because of rounding.
/// Sensitivities and plans count it.
pub const SLACK: f64 = 1e-9;

/// A closed geodesic ball B(center, radius).
#[derive(Clone, Copy)]
pub struct Ball<'a> {
    /// The manifold.
    pub manifold: &'a dyn Manifold,
    /// The public centre.
    pub center: &'a [f64],
    /// The public radius.
    pub radius: f64,
}

impl Ball<'_> {
    /// x -> exp_c(min(1, r/rho(c, x)) log_c x) for every record. A record that is not finite, not on
    /// the manifold or in the cut locus of c becomes c. Total and deterministic, record by record.
    pub fn project(
        &self,
        records: Rows,
        out: &mut [f64],
        interrupt: Interrupt,
    ) -> Result<(), Error> {
        let size = self.manifold.point_size();
        for_rows(out, size, piece_rows(size), interrupt, |first, piece| {
            let count = piece.len() / size;
            self.repair(records.range(first..first + count), piece);
            self.clip(piece);
        })
    }

    /// Copies records, rounding those within [`RECORD_TOLERANCE`] onto the manifold and replacing what
    /// is no point of it by the centre.
    fn repair(&self, records: Rows, out: &mut [f64]) {
        let size = self.manifold.point_size();
        records.copy_to(out);
        let mut valid = vec![false; out.len() / size];
        self.manifold.snap(out, RECORD_TOLERANCE, &mut valid);
        for (row, valid) in out.chunks_exact_mut(size).zip(valid) {
            if !valid {
                row.copy_from_slice(self.center);
            }
        }
    }

    /// Moves points outside the ball to its boundary. One so close to the edge of the manifold that
    /// rounding would leave it outside becomes the centre.
    fn clip(&self, points: &mut [f64]) {
        let (size, dim) = (self.manifold.point_size(), self.manifold.dim());
        let center = Rows::shared(self.center);
        let dists = |points: &[f64]| {
            let mut dist = vec![f64::NAN; points.len() / size];
            self.manifold.dist(center, Rows::new(points, size), &mut dist);
            dist
        };
        let mut outside = Vec::new();
        let mut rows = Vec::new();
        for (i, dist) in dists(points).into_iter().enumerate() {
            if dist.is_nan() || dist > self.radius * (1.0 + SLACK) {
                outside.push((i, dist));
                rows.extend_from_slice(&points[i * size..(i + 1) * size]);
            }
        }
        if outside.is_empty() {
            return;
        }
        let mut coords = vec![0.0; outside.len() * dim];
        self.manifold.log_coords(Rows::new(&rows, size), center, &mut coords);
        coords.chunks_exact_mut(dim).for_each(|u| self.shorten(u));
        self.manifold.exp_coords(Rows::new(&coords, dim), center, &mut rows);
        let moved = rows.chunks_exact(size).zip(dists(&rows));
        let cut_locus = self.manifold.injectivity_radius() * (1.0 - 1e-9);
        for ((i, before), (row, after)) in outside.into_iter().zip(moved) {
            let usable = before < cut_locus
                && before.is_finite()
                && after <= self.radius * (1.0 + SLACK)
                && self.manifold.belongs(row, RECORD_TOLERANCE);
            points[i * size..(i + 1) * size].copy_from_slice(if usable {
                row
            } else {
                self.center
            });
        }
    }

    /// Scales coordinates to the length of the radius.
    fn shorten(&self, coords: &mut [f64]) {
        let norm = coords.iter().map(|x| x * x).sum::<f64>().sqrt();
        coords.iter_mut().for_each(|x| *x *= self.radius / norm);
    }

    /// Moves a point to the boundary of the ball along its geodesic from the centre.
    pub fn pull_in(&self, point: &mut [f64]) {
        let mut coords = vec![0.0; self.manifold.dim()];
        let center = Rows::shared(self.center);
        self.manifold.log_coords(Rows::shared(point), center, &mut coords);
        self.shorten(&mut coords);
        self.manifold.exp_coords(Rows::shared(&coords), center, point);
    }

    /// Whether a point lies in the ball, up to [`SLACK`].
    pub fn contains(&self, point: &[f64]) -> bool {
        self.dist_to_center(point) <= self.radius * (1.0 + SLACK)
    }

    /// |D exp_c|^2 at log_c(point), in Frobenius norm: by how much the chart at the centre stretches isotropic
    /// noise in the mean square, dim times.
    pub fn chart_growth(&self, point: &[f64]) -> f64 {
        let mut coords = vec![0.0; self.manifold.dim()];
        let center = Rows::shared(self.center);
        self.manifold.log_coords(Rows::shared(point), center, &mut coords);
        exp_growth(self.manifold, &coords)
    }

    fn dist_to_center(&self, point: &[f64]) -> f64 {
        let mut dist = [f64::NAN];
        self.manifold.dist(Rows::shared(self.center), Rows::shared(point), &mut dist);
        dist[0]
    }
}

/// A ball moved by an isometry so that its centre is the manifold's origin: where statistics are computed
/// and noise is drawn.
#[derive(Clone)]
pub struct Frame {
    manifold: Arc<dyn Manifold>,
    center: Vec<f64>,
    radius: f64,
    centred: Arc<dyn Manifold>,
    origin: Vec<f64>,
}

impl Frame {
    /// The frame of B(center, radius).
    pub fn new(manifold: Arc<dyn Manifold>, center: &[f64], radius: f64) -> Self {
        let (centred, origin) = (manifold.centred().into(), manifold.origin(center));
        Self { manifold, center: center.to_vec(), radius, centred, origin }
    }

    /// The frame of another ball on the same manifold.
    pub fn with(&self, center: &[f64], radius: f64) -> Self {
        Self::new(Arc::clone(&self.manifold), center, radius)
    }

    /// The ball on the manifold itself.
    pub fn outer(&self) -> Ball<'_> {
        Ball { manifold: &*self.manifold, center: &self.center, radius: self.radius }
    }

    /// The manifold on which centred points live.
    pub fn centred(&self) -> &Arc<dyn Manifold> {
        &self.centred
    }

    /// The ball in the frame.
    pub fn ball(&self) -> Ball<'_> {
        Ball { manifold: &*self.centred, center: &self.origin, radius: self.radius }
    }

    /// The largest distance that a point of the ball can have from another, `dist` away from the centre.
    pub fn reach(&self, dist: f64) -> f64 {
        f64::min(2.0 * self.radius, self.radius + dist) * (1.0 + SLACK)
    }

    /// Records projected on the ball (see [`Ball::project`]) and moved into the frame.
    pub fn enter(&self, records: Rows, out: &mut [f64], interrupt: Interrupt) -> Result<(), Error> {
        let (size, width) = (self.manifold.point_size(), self.centred.point_size());
        for_rows(out, width, piece_rows(size), interrupt, |first, piece| {
            let count = piece.len() / width;
            self.enter_piece(records.range(first..first + count), piece);
        })
    }

    /// [`Frame::enter`] on this thread.
    pub fn enter_piece(&self, records: Rows, out: &mut [f64]) {
        let size = self.manifold.point_size();
        let count = out.len() / self.centred.point_size();
        let mut repaired = vec![0.0; count * size];
        self.outer().repair(records, &mut repaired);
        self.manifold.centre(Rows::new(&repaired, size), &self.center, out);
        self.ball().clip(out);
    }

    /// Points of the frame moved back to the manifold.
    pub fn leave(&self, points: Rows, out: &mut [f64]) {
        self.manifold.uncentre(points, &self.center, out);
    }
}
