"""Landmarks that a specimen lacks, by a public rule from those that it has."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray
from curvedp.descriptors.alignment import as_configurations, best_rotations, blocks

#: The least share of its largest extent that the template has across, at the landmarks present.
_THINNEST = 1e-6


@quiet
@hinting
def fill_landmarks(landmarks: ArrayLike, template: ArrayLike) -> FloatArray:
    """Specimens whose missing landmarks stand where a public template has them.

    The template t is brought onto the landmarks J that a specimen x has, by the similarity that
    fits them best (ordinary Procrustes analysis, without reflections), and lends the others:

        x_j ← s (t_j - t̄) R + x̄,   s, R = argmin Σ over J of |s (t_j - t̄) R + x̄ - x_j|²,

    with x̄, t̄ the means over J. A landmark that lacks one coordinate is missing. Each specimen is a
    function of its own landmarks and of what is public, so a release of filled specimens keeps its
    guarantee, sensitivity and error, and which landmarks were missing is protected too
    (docs/proofs/coverings.md). A mean shape of filled specimens is drawn to the template, by the
    share of them that lack a landmark, where it differs from theirs.

    Parameters
    ----------
    landmarks : array-like, shape (n, k, d)
        NaN, infinite or masked where missing.
    template : array-like, shape (k, d)
        Public landmarks in the same order: an atlas, a published mean, an earlier release; never
        computed from the records. Place, size and rotation do not matter.

    Returns
    -------
    ndarray, shape (n, k, d)
        Specimens that lack nothing are unchanged. NaN for those with fewer than three landmarks, or
        d in higher dimensions, in all one place, or on a line where the template is in space; a
        ball counts them as its centre.

    Raises
    ------
    ValueError, TypeError
        If a shape or dtype is wrong, or the template is not finite.

    References
    ----------
    Gunz, Mitteroecker, Neubauer, Weber and Bookstein (2009), Principles for the virtual
    reconstruction of hominin crania, Journal of Human Evolution 57: reference-based estimation.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> specimen = 3.0 * square + 5.0
    >>> specimen[2] = np.nan
    >>> fill_landmarks([specimen], square)[0, 2].round(6).tolist()
    [8.0, 8.0]
    """
    atlas = as_configurations(template, "template", "(k, d)", 2, 3)
    if not np.isfinite(atlas).all():
        raise ValueError("template must be finite")
    k, d = atlas.shape
    records = as_configurations(landmarks, "landmarks", f"(n, {k}, {d})", 3, 3)
    if records.shape[1:] != (k, d):
        raise ValueError(f"landmarks must have shape (n, {k}, {d}), got {records.shape}")
    filled = records.copy()
    lacking = np.flatnonzero(~np.isfinite(records).all(axis=(1, 2)))
    for block in blocks(len(lacking), k * d):
        filled[lacking[block]] = _filled(records[lacking[block]], atlas)
    return filled


def _filled(records: FloatArray, atlas: FloatArray) -> FloatArray:
    """The rule for specimens that lack landmarks."""
    d = atlas.shape[1]
    present = np.isfinite(records).all(axis=2, keepdims=True)
    own = np.where(present, records, 0.0)
    count = present.sum(axis=1, keepdims=True)
    middle = own.sum(axis=1, keepdims=True) / count
    around = np.where(present, own - middle, 0.0)
    of_atlas = atlas - np.where(present, atlas, 0.0).sum(axis=1, keepdims=True) / count
    beside = np.where(present, of_atlas, 0.0)
    turns = best_rotations(beside.swapaxes(1, 2) @ around)
    size = ((beside @ turns) * around).sum(axis=(1, 2), keepdims=True)
    size /= (beside * beside).sum(axis=(1, 2), keepdims=True)
    filled = np.where(present, own, size * (of_atlas @ turns) + middle)
    usable = (count >= max(3, d)) & (size > 0.0)
    for extents in (_extents(beside), _extents(around)):
        usable &= (extents[:, d - 2] > _THINNEST * extents[:, 0])[:, None, None]
    return np.where(usable & np.isfinite(filled).all(axis=(1, 2), keepdims=True), filled, np.nan)


def _extents(points: FloatArray) -> FloatArray:
    """Root mean squares along the principal axes of centred points, largest first."""
    moments = points.swapaxes(1, 2) @ points
    usable = np.isfinite(moments).all(axis=(1, 2), keepdims=True)
    squares = np.linalg.eigvalsh(np.where(usable, moments, 0.0))[:, ::-1]
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
