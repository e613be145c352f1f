//! Tangent hull and chord squeeze of a concave function, and the choice of the tangent points.

use super::log_concave::Support;

/// Points are inserted until this fraction of the hull's area lies below the squeeze.
const SQUEEZE_TARGET: f64 = 0.99;
const MAX_POINTS: usize = 64;

/// The tangent of h at x.
#[derive(Clone, Copy)]
pub(super) struct Tangent {
    pub x: f64,
    pub h: f64,
    pub slope: f64,
}

/// The part of the hull that belongs to one tangent on one side of its point, up to `end`.
#[derive(Clone, Copy)]
struct Side {
    tangent: Tangent,
    end: f64,
    /// Change of the hull from the tangent point to `end`.
    hull_change: f64,
    hull_area: f64,
    squeeze_area: f64,
}

impl Side {
    fn new(tangent: Tangent, end: f64, squeeze_change: f64) -> Self {
        let hull_change =
            if tangent.slope == 0.0 { 0.0 } else { tangent.slope * (end - tangent.x) };
        let squeeze_change = squeeze_change.min(hull_change);
        let width = (end - tangent.x).abs();
        let hull_area = if width.is_infinite() {
            libm::exp(tangent.h) / tangent.slope.abs()
        } else {
            line_area(tangent.h, hull_change, width)
        };
        let squeeze_area = if squeeze_change == f64::NEG_INFINITY {
            0.0
        } else {
            line_area(tangent.h, squeeze_change, width)
        };
        Self { tangent, end, hull_change, hull_area, squeeze_area }
    }

    /// The median of the hull.
    fn median(&self) -> f64 {
        let Tangent { x, slope, .. } = self.tangent;
        if self.end.is_infinite() {
            return x + 1.0 / slope * libm::log1p(-0.5);
        }
        // A drop of 0 is replaced by one that changes no value.
        let drop = self.hull_change.abs().max(1e-200);
        let (start, far) = if self.hull_change <= 0.0 { (x, self.end) } else { (self.end, x) };
        start + (start - far) / drop * libm::log1p(0.5 * libm::expm1(-drop))
    }
}

/// The integral of e^(line) over an interval of length `width` on which the line starts at `h` and
/// changes by `change`.
fn line_area(h: f64, change: f64, width: f64) -> f64 {
    let drop = change.abs().max(1e-200);
    libm::exp(h + change.max(0.0)) * width * (-libm::expm1(-drop) / drop)
}

/// Well-chosen tangent points: hull and squeeze through them are close to each other.
pub(super) struct Hull {
    pub points: Vec<Tangent>,
}

impl Hull {
    pub(super) fn new(
        h: &impl Fn(f64) -> f64,
        slope: &impl Fn(f64) -> f64,
        support: Support,
    ) -> Self {
        let tangent = |x: f64| Tangent { x, h: h(x), slope: slope(x) };
        let end_values =
            [h(support.lower), if support.upper.is_finite() { h(support.upper) } else { f64::NAN }];
        let mut points: Vec<Tangent> =
            start_points(h, support).into_iter().map(tangent).filter(is_finite).collect();
        loop {
            let gaps = gaps(&points, support, end_values);
            let area: f64 = gaps.iter().flatten().map(|side| side.hull_area).sum();
            let squeeze_area: f64 = gaps.iter().flatten().map(|side| side.squeeze_area).sum();
            let next = if squeeze_area >= SQUEEZE_TARGET * area || points.len() == MAX_POINTS {
                None
            } else {
                widest_gap(&gaps).map(tangent).filter(is_finite)
            };
            let Some(next) = next else {
                return Self { points };
            };
            let at = points.partition_point(|point| point.x < next.x);
            points.insert(at, next);
        }
    }
}

fn is_finite(tangent: &Tangent) -> bool {
    tangent.h.is_finite() && tangent.slope.is_finite()
}

/// The mode and, on either side of it, a point where h has fallen by about 1.
fn start_points(h: &impl Fn(f64) -> f64, support: Support) -> Vec<f64> {
    let top = h(support.mode);
    let fallen = |direction: f64, end: f64| {
        let limit = 0.5 * (end - support.mode).abs();
        let drop = |step: f64| top - h(support.mode + direction * step);
        let mut step = support.width.min(limit);
        // A drop that is infinite or NaN is too deep.
        let is_near = |step: f64| drop(step) <= 2.0;
        while !is_near(step) {
            step *= 0.5;
        }
        while drop(step) < 0.5 && step < limit {
            step = (1.5 * step).min(limit);
        }
        support.mode + direction * step
    };
    let mut points = Vec::with_capacity(3);
    if support.mode > support.lower {
        points.push(fallen(-1.0, support.lower));
    }
    points.push(support.mode);
    points.push(fallen(1.0, support.upper));
    points
}

/// The sides between consecutive points, with the ends of the support as first and last gap.
fn gaps(points: &[Tangent], support: Support, end_values: [f64; 2]) -> Vec<Vec<Side>> {
    let (first, last) = (points[0], points[points.len() - 1]);
    let mut gaps = Vec::with_capacity(points.len() + 1);
    if first.x > support.lower {
        gaps.push(vec![Side::new(first, support.lower, end_values[0] - first.h)]);
    }
    for pair in points.windows(2) {
        let (left, right) = (pair[0], pair[1]);
        let width = right.x - left.x;
        let chord = (right.h - left.h) / width;
        let offset = (right.h - left.h - right.slope * width) / (left.slope - right.slope);
        let inside = offset > 0.0 && offset < width;
        let meeting = left.x + if inside { offset } else { 0.5 * width };
        gaps.push(vec![
            Side::new(left, meeting, chord * (meeting - left.x)),
            Side::new(right, meeting, chord * (meeting - right.x)),
        ]);
    }
    if support.upper.is_infinite() {
        gaps.push(vec![Side::new(last, support.upper, f64::NEG_INFINITY)]);
    } else if last.x < support.upper {
        gaps.push(vec![Side::new(last, support.upper, end_values[1] - last.h)]);
    }
    gaps
}

/// The point to insert next: in the gap with the largest area between hull and squeeze, at the
/// meeting of its tangents or, at an end, at the median of the hull there. None if rounding leaves
/// no room.
fn widest_gap(gaps: &[Vec<Side>]) -> Option<f64> {
    let excess =
        |gap: &Vec<Side>| -> f64 { gap.iter().map(|s| s.hull_area - s.squeeze_area).sum() };
    let gap = gaps.iter().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
    let side = gap[0];
    let x = if gap.len() == 2 { side.end } else { side.median() };
    let room = gap.iter().all(|s| s.tangent.x != x) && (gap.len() == 2 || side.end != x);
    room.then_some(x)
}
