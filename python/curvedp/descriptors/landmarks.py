"""Landmarks in the plane or in space, aligned to a public template: points of a sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet
from curvedp._validation import FloatArray
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


class AlignedLandmarks(Aligned):
    """Landmarks aligned to a public template by translation, size and rotation.

    A record x of k landmarks in d dimensions is moved to its centroid, scaled to size
    sqrt(Σ |x_j|²) = 1 and turned by the proper rotation that brings it closest to the template t
    (ordinary Procrustes analysis; reflections are not used):

        x ↦ xR,   R = argmax over SO(d) of <xR, t>.

    What comes out has centroid 0 and size 1, and xᵀt is symmetric: a unit sphere whose dimension
    is that of the space of shapes, (k - 1) d - 1 - d (d - 1)/2. Points are orthonormal coordinates
    on it, the last one along the template.

    Parameters
    ----------
    template : array-like, shape (k, d)
        Public landmarks: an atlas, a published mean, an earlier release; never computed from the
        records. Location and size do not matter. At least 3 landmarks in 2 or more dimensions, not
        on a line in space.

    Attributes
    ----------
    template : ndarray, shape (k, d)
        With centroid 0 and size 1, read-only.
    manifold : Sphere
        Of the points.

    Raises
    ------
    ValueError, TypeError
        If the template has another shape or dtype, is not finite, or is moved by too few rotations.

    Notes
    -----
    The distance from a point to the template's is the Riemannian distance of their shapes, at most
    π/2; between other points it is at least that of the shapes. So the Fréchet mean of points,
    their *aligned mean*, is close to the mean shape: docs/proofs/coverings.md. Aligning again, to
    a released mean, removes most of the difference.

    In the plane `KendallPlanar` needs no template.

    References
    ----------
    Kendall (1984), Shape manifolds, Procrustean metrics, and complex projective spaces.
    Kabsch (1976), A solution for the best rotation to relate two sets of vectors.
    Dryden and Mardia (2016), Statistical shape analysis, chapters 4 and 7.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> tetrahedron = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> aligned = cdp.descriptors.AlignedLandmarks(tetrahedron)
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal((500, 4, 3))
    >>> points = aligned.to_points(tetrahedron + noise)
    >>> points.shape, aligned.manifold
    ((500, 6), Sphere(5))
    >>> release = cdp.frechet_mean(points, aligned.ball(0.5), cdp.PureDP(1.0))
    >>> aligned.to_landmarks(release.value).shape
    (4, 3)
    """

    def __init__(self, template: ArrayLike) -> None:
        landmarks = as_configurations(template, "template", "(k, d)", 2, 3)
        shape, usable = _preshapes(landmarks[None])
        if not usable[0]:
            raise ValueError("template must be finite landmarks, not all in one place")
        self.template = shape[0]
        self.template.flags.writeable = False
        k, d = self.template.shape
        translations = np.tile(np.eye(d), k)
        self._slice = Slice(
            np.concatenate([translations, rotations_of(self.template)]), self.template.reshape(-1)
        )

    @quiet
    def to_points(self, landmarks: ArrayLike) -> FloatArray:
        """Records as points of `manifold`, each on its own.

        Parameters
        ----------
        landmarks : array-like, shape (n, k, d)
            In the template's order, at any place, of any size, in any unit.

        Returns
        -------
        ndarray, shape (n, dim + 1)
            NaN for records that are not finite or have all landmarks in one place: a ball counts
            them as its centre.

        Raises
        ------
        ValueError, TypeError
            If the shape or dtype is wrong.
        """
        k, d = self.template.shape
        records = as_configurations(landmarks, "landmarks", f"(n, {k}, {d})", 3, 3)
        if records.shape[1:] != (k, d):
            raise ValueError(f"landmarks must have shape (n, {k}, {d}), got {records.shape}")
        points = np.empty((len(records), self.manifold.point_size))
        for block in blocks(len(records), k * d):
            shapes, usable = _preshapes(records[block])
            rotations = best_rotations(shapes.swapaxes(1, 2) @ self.template)
            turned = (shapes @ rotations).reshape(len(shapes), -1)
            points[block] = np.where(usable[:, None], self._slice.points(turned), np.nan)
        return points

    @quiet
    def to_landmarks(self, points: ArrayLike) -> FloatArray:
        """Landmarks with centroid 0 and size 1 of points of `manifold`, such as a released mean.

        Parameters
        ----------
        points : array-like, shape (..., dim + 1)

        Returns
        -------
        ndarray, shape (..., k, d)

        Raises
        ------
        ValueError, TypeError
            If the shape or dtype is wrong.
        """
        rows, batch = self._coordinates(points)
        return self._slice.vectors(rows).reshape(*batch, *self.template.shape)


def _preshapes(records: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Records with centroid 0 and size 1, and which of them have one; others are ones."""
    seen, usable = relative(records)
    centred = seen - seen.mean(axis=1, keepdims=True)
    centred[~usable] = 1.0
    return unit(centred.reshape(len(records), -1)).reshape(records.shape), usable
