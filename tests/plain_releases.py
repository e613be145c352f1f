"""Plain twins of the statistics that compiled code releases: one data set, step by step.

Each draws with the library's mechanisms around what NumPy and the manifold's kernels compute, from
streams that are given, and returns the drawn values in the order of the parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

import curvedp as cdp
from curvedp import sensitivity
from curvedp.curvature import has_curved_hessian
from curvedp.domain import BOUNDARY_SLACK
from curvedp.mechanisms import RankExponential, choose_mechanism, ways_to_meet
from curvedp.statistics.base_point import BasePoint, MeanNoise
from curvedp.statistics.design import design_mean_under, find_plan
from curvedp.statistics.log_moments import finish_covariance, finish_hessian
from curvedp.statistics.schedule import adaptive_schedule
from curvedp.statistics.symmetric import vecd

Streams = Callable[[int], Any]
Array = np.ndarray


def plain_mean(
    records: Array, ball: cdp.Ball, share: Any, streams: Streams, *, stage=0, unit=1, mechanism=None
) -> tuple[Array, Any]:
    """A private mean and its design."""
    design = design_mean_under(ball, len(records), share, unit, mechanism)
    mean = ball.frame.mean(ball.enter(records), design.plan)
    raw = design.mechanism._release(mean, streams(stage), 1)
    kept = np.empty_like(raw)
    ball.frame.keep(raw.reshape(1, -1), kept.reshape(1, -1))
    return kept[0], design


class PlainMoments:
    """Moments at the private mean of a data set."""

    def __init__(self, records, ball, share, streams, *, unit=1, max_dist=None, mechanism=None):
        self.ball, self.streams, self.unit, self.n = ball, streams, unit, len(records)
        self.rows = ball.enter(records)
        self.mean, design = plain_mean(
            records, ball, share, streams, unit=unit, mechanism=mechanism
        )
        self.noise = MeanNoise.of(design.mechanism, ball)
        inner = ball.enter(self.mean[None])
        reach = ball.frame.reach(inner[0])
        self.reach = reach if max_dist is None else min(reach, max_dist)
        self.base = BasePoint(ball, ball.leave(inner)[0], inner, self.reach, None, self.noise)
        self.dist = ball.frame.manifold.dist_moments(self.rows, inner[0], self.reach)
        hessian = has_curved_hessian(ball.manifold)
        self.log = ball.frame.manifold.log_moments(self.rows, inner[0], self.reach, hessian)

    def draw(self, exact, magnitude, moves, share, stage, rounding=None) -> Array:
        """A vector with noise on flat space."""
        vector = np.atleast_1d(exact)
        error = cdp._core.summation_error(self.n) if rounding is None else rounding
        if len(vector) > 2:  # coordinates of a matrix
            error += 1.01 * 2.0**-53 * (self.ball.manifold.dim + 7)
        total = moves * min(1.0, self.unit / self.n) + 2 * (error * magnitude)
        domain = cdp.Ball(cdp.Euclidean(len(vector)), np.zeros(len(vector)), magnitude)
        mechanism = choose_mechanism(domain, share)(domain, total, share)
        return mechanism._release(vector, self.streams(stage), 1)[0]

    def fourth(self, share, stage=1) -> float:
        largest = self.reach**2 * self.reach**2
        noisy = self.draw(self.dist[1], largest, largest, share, stage)[0]
        return float(np.clip(noisy, 0.0, self.reach**4))

    def distances(self, share, stage=1) -> Array:
        weight, square = sensitivity.FOURTH_MOMENT_WEIGHT, self.reach**2
        a, fourth = self.dist[0] / square, self.dist[1] / (square * square)
        exact = np.array([a, weight * (fourth - a)])
        a, b = self.draw(exact, 1 + 2 * weight, 1.0, share, stage)
        return np.array([a * square, (b / weight + a) * square**2])

    def covariance(self, share, stage=1) -> Array:
        square, stretch = self.reach * self.reach, math.sqrt(self.ball.manifold.dim + 1)
        exact = vecd(self.log[1], stretch)
        noisy = self.draw(exact, stretch * square, math.sqrt(2) * square, share, stage)
        return finish_covariance(self.base, noisy)

    def hessian(self, share, stage=1) -> Array:
        bound = sensitivity.mean_hessian(self.ball, 1, max_dist=self.reach)
        error = self.ball.frame.manifold.hessian_error(self.n)
        noisy = self.draw(vecd(2 * self.log[2]), bound, bound, share, stage, error)
        return finish_hessian(self.base, noisy)


def of_moment(name: str, weights=(0.25, 0.75)) -> Callable[..., list[Any]]:
    """A moment and the mean that it is about: the mean, then the moment."""

    def plain(records, ball, guarantee, streams, *, records_per_unit=1, max_dist=None):
        first, second = ways_to_meet(guarantee)[0].split(weights)
        own = PlainMoments(records, ball, first, streams, unit=records_per_unit, max_dist=max_dist)
        return [own.mean, getattr(own, name)(second)]

    return plain


def plain_variance(records, ball, guarantee, streams, *, records_per_unit=1, within=None):
    """Distance of the mean from the centre, where it is released, and the variance.

    The latter only where the mean lies within s of the centre: there it is the variance itself.
    """
    n, way = len(records), ways_to_meet(guarantee)[0]
    shares = way.split((0.1, 0.9)) if within is None else (way,)
    rows, (delta, plan) = ball.enter(records), find_plan(ball, n, records_per_unit)
    mean, frame = ball.frame.mean(rows, plan), ball.frame
    to_mean = np.empty(1)
    frame.manifold.dist(mean[None], frame.origin[None], to_mean)
    found = []
    if within is None:
        total = delta + 2 * (plan.tolerance + frame.dist_error)
        domain = cdp.Ball(cdp.Euclidean(1), [0.0], ball.radius)
        noise = choose_mechanism(domain, shares[0])(domain, total, shares[0])
        found.append(noise._release(to_mean, streams(0), 1)[0, 0])
        margin = math.log(10) if isinstance(way, cdp.PureDP) else scipy.stats.norm.ppf(0.95)
        within = min(max(found[0] + margin * noise.scale, 0.0), ball.radius)
    within, replaced = min(within, ball.radius), min(1.0, records_per_unit / n)
    moved, tolerance = frame.restricted_bounds(plan, n, replaced, within)
    reach = ball.radius * (1 + BOUNDARY_SLACK) + within
    exact = np.array([frame.manifold.dist_moments(rows, mean, reach)[0]])
    domain = cdp.Ball(cdp.Euclidean(1), [0.0], reach * reach)
    noise = choose_mechanism(domain, shares[-1])(domain, moved + 2 * tolerance, shares[-1])
    noisy = noise._release(exact, streams(len(found)), 1)[0, 0]
    own = float(np.clip(noisy, 0.0, ball.radius**2)) if to_mean[0] <= within else None
    return [*found, own]


def plain_interval(records, ball, guarantee, streams):
    """The variance alone where the noise of a mean is large, else the mean and its moments."""
    first = ways_to_meet(guarantee)[0].split((0.25, 0.75))[0]
    mean = design_mean_under(ball, len(records), first, 1, None)
    if mean.mean_square >= 0.1 * ball.radius**2:
        return plain_variance(records, ball, guarantee, streams)
    return of_moment("distances")(records, ball, guarantee, streams)


def plain_region(
    records, ball, guarantee, streams, *, records_per_unit=1, max_dist=None, mechanism=None
):
    """Mean, covariance and, where it is not known, Hessian."""
    curved = has_curved_hessian(ball.manifold)
    shares = ways_to_meet(guarantee)[0].split((0.75, 0.2, 0.05)[: 2 + curved])
    own = PlainMoments(
        records,
        ball,
        shares[0],
        streams,
        unit=records_per_unit,
        max_dist=max_dist,
        mechanism=mechanism,
    )
    found = [own.mean, own.covariance(shares[1], 1)]
    return [*found, own.hessian(shares[2], 2)] if curved else found


def plain_adaptive(
    records, ball, guarantee, streams, *, records_per_unit=1, mechanism=None, **options
):
    """The values of all stages."""
    n, unit = len(records), records_per_unit
    schedule = adaptive_schedule(
        ball, n, guarantee, records_per_unit=unit, mechanism=mechanism, **options
    )
    shares = schedule.shares
    inside, last, reached = ball.project(records), ball, 0.6 * ball.radius
    found: list[Any] = []
    for stage, share in enumerate(shares):
        if stage % 2 == 0:
            how = {"stage": stage, "unit": unit, "mechanism": mechanism}
            rows = records if last is ball else inside
            found.append(plain_mean(rows, last, share, streams, **how)[0])
            continue
        center = ball.project(found[-1])
        dist = np.empty(n)
        ball.frame.manifold.dist(ball.enter(records), ball.enter(center[None]), dist)
        is_last = stage == len(shares) - 2
        top = schedule.top if is_last else ball.radius
        factor = 1.06 if is_last else 1 + 0.4 / math.sqrt(ball.manifold.dim)
        law = RankExponential(
            _level(ball, schedule, stage // 2, share, reached, n, unit, mechanism),
            low=1e-3 * ball.radius,
            high=1.25 * top / 1.06 if is_last else 2 * ball.radius,
            guarantee=share,
            records_per_unit=unit,
            base="log-uniform",
        )
        found.append(law.sample(dist, streams(stage))[0])
        radius = float(found[-1]) * factor
        reached = min(radius, 0.95 * ball.radius)
        last = ball
        if radius < top:
            last = _smaller(ball, center, radius, n, shares[stage + 1], unit, mechanism)
    return found


def _level(ball, schedule, number, share, reached, n, unit, mechanism):
    """That of the last radius is lower where noise rises steeply with the ball's radius."""
    level = schedule.levels[number]
    if number < len(schedule.levels) - 1:
        return level
    design = design_mean_under(ball, n, schedule.shares[-1], unit, mechanism)
    angle = reached * math.sqrt(max(ball.manifold.curvature_bounds[1], 0.0))
    steepness = 1 / math.cos(angle) ** 2
    if design.mechanism.name == "tangent Gaussian":
        steepness *= math.cos(angle) + angle * math.sin(angle)
    return min(level, 1 - min(schedule.slope * steepness, 0.1))


def _smaller(ball, center, radius, n, share, unit, mechanism):
    """The ball about a centre; the public one where doubles cannot serve the mean on it."""
    if not ball.manifold.kernels.carries(center.reshape(-1)):
        return ball
    smaller = cdp.Ball(ball.manifold, center, radius)
    try:
        design_mean_under(smaller, n, share, unit, mechanism)
    except cdp.ExistenceError:
        return ball
    return smaller
