"""Square-root velocities of curves, aligned to a public template: points of a sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_choice, as_count
from curvedp.descriptors.alignment import (
    Aligned,
    Slice,
    as_configurations,
    best_rotations,
    blocks,
    relative,
    rotations_of,
    unit,
)
from curvedp.descriptors.warping import warps

PARAMETRISATIONS = ("elastic", "arc-length", "given")

#: Rounds of reparametrisation and rotation.
_ROUNDS = 2


class ElasticCurves(Aligned):
    """Curves as square-root velocities, aligned to a public template.

    A curve c in d dimensions, scaled to length 1, becomes

        q = c' / sqrt|c'|,   ∫ |q|² = 1,

    on a uniform grid of T steps of its parameter (Srivastava et al. 2011). Places do not matter,
    nor does size. Each record is aligned on its own:

    1. its vertices are joined by straight lines, and T + 1 points are taken at equal steps of arc
       length, or of the vertices' numbers ("given");
    2. a closed curve starts at the one of these points that agrees best with the template;
    3. q is turned by the proper rotation that brings it closest to the template's (`rotate`);
    4. "elastic": it is reparametrised by the increasing piecewise linear γ that brings
       sqrt(γ') q∘γ closest, by dynamic programming, with slopes b/a for a and b up to 5; two
       rounds of 3 and 4, of which the closest counts.

    Points are orthonormal coordinates on the unit sphere of all q with the template's symmetries
    taken out: dimension T d - 1, less d (d - 1)/2 with rotation, the last one along the template.

    Parameters
    ----------
    template : array-like, shape (t, d)
        Public curve by its vertices in order; never computed from the records. At least 2 vertices
        in 2 or more dimensions. With rotation not on a line in space.
    samples : int
        T, 2 or more.
    parametrisation : {"elastic", "arc-length", "given"}
    rotate : bool
    closed : bool
        Last vertices are joined to first ones. Curves are traversed in one sense.

    Attributes
    ----------
    template : ndarray, shape (T + 1, d)
        From 0, of length 1, read-only.
    manifold : Sphere
        Of the points.

    Raises
    ------
    ValueError, TypeError
        If the template or a parameter is wrong.

    Notes
    -----
    Between points the distance is the elastic one of the curves as aligned to the template; the
    elastic distance of their shapes, with a best alignment of their own, may be less. The mean is
    that of the curves as aligned. A mean of closed curves need not close.

    Time grows with T².

    References
    ----------
    Srivastava, Klassen, Joshi and Jermyn (2011), Shape analysis of elastic curves in Euclidean
    spaces. IEEE Transactions on Pattern Analysis and Machine Intelligence 33.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> time = np.linspace(0.0, 1.0, 60)
    >>> arch = np.column_stack([time, 4 * time * (1 - time)])
    >>> elastic = cdp.descriptors.ElasticCurves(arch, samples=40)
    >>> curves = arch + 0.01 * np.random.default_rng(0).standard_normal((200, 1, 2)) * time[:, None]
    >>> points = elastic.to_points(curves)
    >>> points.shape, elastic.manifold
    ((200, 79), Sphere(78))
    >>> release = cdp.frechet_mean(points, elastic.ball(0.5), cdp.GDP(1.0))
    >>> elastic.to_curves(release.value).shape
    (41, 2)
    """

    def __init__(
        self,
        template: ArrayLike,
        *,
        samples: int = 100,
        parametrisation: str = "elastic",
        rotate: bool = True,
        closed: bool = False,
    ) -> None:
        self.samples = as_count(samples, "samples", least=2, most=10_000)
        self.parametrisation = as_choice(parametrisation, PARAMETRISATIONS, "parametrisation")
        self.rotate, self.closed = _as_flag(rotate, "rotate"), _as_flag(closed, "closed")
        vertices = as_configurations(template, "template", "(t, d)", 2, 2)
        velocities, usable = _velocities(self._sampled(vertices[None]))
        if not usable[0]:
            raise ValueError("template must be a finite curve of some length")
        self._velocities = velocities[0]
        symmetries = rotations_of(self._velocities) if rotate else np.empty((0, velocities.size))
        self._slice = Slice(symmetries, self._velocities.reshape(-1))
        self.template = self.to_curves(self.manifold.origin)
        self.template.flags.writeable = False

    @quiet
    def to_points(self, curves: ArrayLike) -> FloatArray:
        """Records as points of `manifold`, each on its own.

        Parameters
        ----------
        curves : array-like, shape (n, t, d)
            Vertices in order, t of them in every record, 2 or more, not necessarily as many as the
            template's. Repeated vertices do not move points at equal steps of arc length, so
            shorter records may be filled up with copies of their last vertex.

        Returns
        -------
        ndarray, shape (n, dim + 1)
            NaN for records that are not finite or without length: a ball counts them as its centre.

        Raises
        ------
        ValueError, TypeError
            If the shape or dtype is wrong.
        """
        d = self._velocities.shape[1]
        records = as_configurations(curves, "curves", f"(n, t, {d})", 3, 2)
        if records.shape[2] != d:
            raise ValueError(f"curves must have shape (n, t, {d}), got {records.shape}")
        points = np.empty((len(records), self.manifold.point_size))
        for block in blocks(len(records), self.samples * max(self.samples, records.shape[1])):
            aligned, usable = self._aligned(records[block])
            found = self._slice.points(aligned.reshape(len(aligned), -1))
            points[block] = np.where(usable[:, None], found, np.nan)
        return points

    @quiet
    def to_curves(self, points: ArrayLike) -> FloatArray:
        """Curves from 0 and of length 1 of points of `manifold`, such as a released mean.

        c(s) = ∫ q |q| up to s.

        Parameters
        ----------
        points : array-like, shape (..., dim + 1)

        Returns
        -------
        ndarray, shape (..., T + 1, d)

        Raises
        ------
        ValueError, TypeError
            If the shape or dtype is wrong.
        """
        rows, batch = self._coordinates(points)
        q = self._slice.vectors(rows).reshape(len(rows), *self._velocities.shape)
        steps = q * np.sqrt((q * q).sum(axis=2, keepdims=True))
        curves = np.concatenate([np.zeros_like(steps[:, :1]), steps.cumsum(axis=1)], axis=1)
        return np.asarray(curves.reshape(*batch, *curves.shape[1:]))

    def _aligned(self, records: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Square-root velocities aligned to the template, and which records have them."""
        polylines = self._sampled(records)
        if self.closed:
            polylines = self._started(polylines)
        plain, usable = _velocities(polylines)
        rotation = self._rotations(plain)
        aligned = plain @ rotation
        grid = np.arange(self.samples + 1, dtype=np.float64)[None]
        for _ in range(_ROUNDS if self.parametrisation == "elastic" else 0):
            warp = warps(self._velocities, plain @ rotation)
            warped, exists = _velocities(_at(polylines, grid, warp))
            rotation = self._rotations(warped)
            candidate = warped @ rotation
            closer = exists & (self._agreement(candidate) > self._agreement(aligned))
            aligned = np.where(closer[:, None, None], candidate, aligned)
        return aligned, usable

    def _sampled(self, records: FloatArray) -> FloatArray:
        """T + 1 points of each record at equal steps."""
        vertices = relative(records)[0]
        if self.closed:
            vertices = np.concatenate([vertices, vertices[:, :1]], axis=1)
        positions = np.arange(vertices.shape[1], dtype=np.float64)[None]
        if self.parametrisation != "given":
            steps = np.diff(vertices, axis=1)
            lengths = np.sqrt((steps * steps).sum(axis=2)).cumsum(axis=1)
            positions = np.concatenate([np.zeros_like(lengths[:, :1]), lengths], axis=1)
        where = positions[:, -1:] * np.arange(self.samples + 1, dtype=np.float64) / self.samples
        return _at(vertices, positions, where)

    def _started(self, polylines: FloatArray) -> FloatArray:
        """Closed polylines from the vertex at which they agree best with the template."""
        q = _velocities(polylines)[0]
        doubled = np.concatenate([q, q[:, :-1]], axis=1)
        windows = np.lib.stride_tricks.sliding_window_view(doubled, self.samples, axis=1)
        moments = windows @ self._velocities  # (n, start, d, d)
        turns = best_rotations(moments) if self.rotate else np.eye(q.shape[2])
        start = (turns * moments).sum(axis=(2, 3)).argmax(axis=1)
        order = (start[:, None] + np.arange(self.samples + 1)) % self.samples
        return np.take_along_axis(polylines, order[:, :, None], axis=1)

    def _rotations(self, velocities: FloatArray) -> FloatArray:
        moments = velocities.swapaxes(1, 2) @ self._velocities
        return best_rotations(moments) if self.rotate else np.eye(velocities.shape[2])

    def _agreement(self, velocities: FloatArray) -> FloatArray:
        products = (velocities * self._velocities).reshape(len(velocities), -1)
        return np.asarray(products.sum(axis=1))


def _velocities(polylines: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Unit square-root velocities, shape (n, T, d), and which polylines have any; else ones."""
    steps = np.diff(polylines, axis=1)
    speed = np.sqrt((steps * steps).sum(axis=2, keepdims=True))
    q = steps / np.sqrt(np.where(speed > 0.0, speed, 1.0))
    usable = q.any(axis=(1, 2))
    q[~usable] = 1.0
    return unit(q.reshape(len(q), -1)).reshape(q.shape), usable


def _at(vertices: FloatArray, positions: FloatArray, where: FloatArray) -> FloatArray:
    """Points of polylines (n, t, d), whose vertices lie at increasing positions (n or 1, t), at
    others (n or 1, m)."""
    positions, where = (np.broadcast_to(x, (len(vertices), x.shape[1])) for x in (positions, where))
    index = (positions[:, None, 1:-1] <= where[:, :, None]).sum(axis=2)
    low, high = (np.take_along_axis(positions, index + end, axis=1) for end in (0, 1))
    gap = high - low
    share = np.where(gap > 0.0, where - low, 0.0) / np.where(gap > 0.0, gap, 1.0)
    start, end = (np.take_along_axis(vertices, (index + i)[:, :, None], axis=1) for i in (0, 1))
    points: FloatArray = start + share[:, :, None] * (end - start)
    return points


def _as_flag(value: bool, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(value)
