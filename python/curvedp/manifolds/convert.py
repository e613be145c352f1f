"""Recognising a manifold: ours, a text that names one, or a space of another library."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from curvedp.manifolds.base import Manifold
from curvedp.manifolds.product import TIMES, Product, RigidMotions
from curvedp.manifolds.shapes import LANDMARKS_IN_SPACE
from curvedp.manifolds.spaces import (
    HPD,
    SPACE_NAMES,
    SPACES,
    SPD,
    Correlation,
    Euclidean,
    Grassmann,
    Hyperboloid,
    KendallPlanar,
    SpecialOrthogonal,
    Sphere,
)

_GEOMSTATS_SPD_METRICS = {
    "SPDAffineMetric": "affine-invariant",
    "SPDLogEuclideanMetric": "log-euclidean",
    "SPDLogCholeskyMetric": "log-cholesky",
}
#: What other texts call our spaces.
_ELSEWHERE = {
    "s": "sphere",
    "h": "hyperboloid",
    "poincare": "hyperboloid",
    "lorentz": "hyperboloid",
    "poincareball": "hyperboloid",
    "r": "euclidean",
    "rp": "projective",
    "t": "torus",
    "circle": "torus",
    "clock": "torus",
    "gr": "grassmann",
    "preshape": "kendall",
    "se": "rigid-motions",
}
#: Weights of the invariant quadratic forms that give the Frobenius norm of hollow matrices, where
#: geomstats does not allow (1, 0, 0).
_GEOMSTATS_FROBENIUS = {2: (0.0, 0.0, 0.5), 3: (0.0, 2.0, -0.5)}


def as_manifold(space: Any, point_shape: tuple[int, ...] | None = None) -> Manifold:
    """The manifold that `space` means.

    Parameters
    ----------
    space : Manifold, str, geomstats or pymanopt space
        Text is ``name:size[:parameter]``: ``"sphere:2"``, ``"spd:3"``, ``"spd:3:log-euclidean"``,
        ``"hpd:3"``, ``"hyperboloid:2"``, ``"kendall:10"``, ``"rotations:3"``, ``"projective:2"``,
        ``"torus:3"``, ``"correlation:5"``, ``"grassmann:5:2"``, ``"so:4"``, ``"unitary:2"``,
        ``"euclidean:4"``, ``"rigid-motions:1.5"``, or a product such as
        ``"sphere:2 x euclidean:1"``. pyRiemann's metric names ("riemann", "logeuclid", "logchol")
        mean SPD matrices. The sizes may be left out if `point_shape` is given. Geomstats spaces
        (Hypersphere, SPDMatrices, HPDMatrices, FullRankCorrelationMatrices, Hyperboloid,
        Euclidean, PreShapeSpace in the plane, Grassmannian, whose distances are sqrt 2 times those
        here, SpecialOrthogonal in matrices) and pymanopt's Grassmann and SpecialOrthogonalGroup
        (sqrt 2 times, too) are recognised by their attributes; neither need be installed.
    point_shape : tuple of int, optional
        Shape of one point.

    Returns
    -------
    Manifold

    Raises
    ------
    ValueError
        If the text or the space is not recognised.

    Examples
    --------
    >>> as_manifold("spd:3:log-euclidean"), as_manifold("riemann", (3, 3))
    (SPD(3, metric='log-euclidean'), SPD(3))
    """
    if isinstance(space, Manifold):
        return space
    if isinstance(space, str):
        return _from_text(space, point_shape)
    return _from_attributes(space)


def _meant(text: str) -> str:
    """The text that was meant by "S2", "SPD(3)" or "shpere:2", as a question, if there is one."""
    parts = re.fullmatch(r"([a-z_-]*[a-z])[\s:(^]*((?:\d+[,:\s]*)*)\)?", text.strip().lower())
    if parts is None:
        return ""
    known = [name for space in SPACES for name in space._names] + [*RigidMotions._names]
    given = _ELSEWHERE.get(parts[1].replace("_", ""), parts[1])
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.75)
    sizes = re.findall(r"\d+", parts[2]) or ["1"] * (close == ["torus"])
    return f" (did you mean {':'.join([close[0], *sizes])!r}?)" if close else ""


def _from_text(text: str, point_shape: tuple[int, ...] | None) -> Manifold:
    if TIMES in text:
        return Product(*(_from_text(factor, None) for factor in text.split(TIMES)))
    name, *rest = text.strip().lower().split(":")
    if name in RigidMotions._names:
        if len(rest) != 1:
            raise ValueError(f"{text!r} needs a length, as in {name}:1.5")
        return RigidMotions(_number(text, rest[0]))
    build = next((space for space in SPACES if name in space._names), None)
    if build is None:
        known = ", ".join(SPACE_NAMES)
        raise ValueError(
            f"unknown manifold {text!r}{_meant(text)}: use one of {known}, as in 'spd:3', "
            "rigid-motions, or a product, as in 'rotations:3 x euclidean:3'"
        )
    keywords = dict(build._names[name])
    if rest:
        try:
            size = int(rest[0])
        except ValueError:
            raise ValueError(f"{text!r}: the size must be an integer, as in {name}:3") from None
    elif point_shape:
        size = point_shape[0] - build._extra_rows
    else:
        raise ValueError(f"{text!r} needs a size, as in {name}:3")
    if len(rest) > 1:
        keyword = build._keyword
        if keyword is None or len(rest) > 2:
            way = f": {LANDMARKS_IN_SPACE}" * (build is KendallPlanar)
            raise ValueError(f"{text!r} has too many parts{way}")
        keywords[keyword] = rest[1] if keyword == "metric" else _number(text, rest[1])
    if build is Grassmann:
        return Grassmann(size, _subspace_dim(text, keywords.get("k"), point_shape))
    concrete: Callable[..., Manifold] = build
    return concrete(size, **keywords)


def _subspace_dim(text: str, given: float | None, point_shape: tuple[int, ...] | None) -> int:
    if given is None and point_shape:
        return point_shape[-1]
    if given is None or given % 1 != 0:
        raise ValueError(f"{text!r} needs the dimension of the subspaces, as in grassmann:5:2")
    return int(given)


def _number(text: str, part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise ValueError(f"{text!r}: {part!r} is not a number") from None


def _from_attributes(space: Any) -> Manifold:
    names = {cls.__name__ for cls in type(space).__mro__}
    if getattr(space, "default_coords_type", "extrinsic") != "extrinsic":
        raise ValueError(
            "of geomstats' spaces use those in extrinsic coordinates: points of intrinsic ones "
            "would be read as something else"
        )
    if "Hypersphere" in names:
        return Sphere(space.dim)
    if "SPDMatrices" in names:
        metric = type(getattr(space, "metric", None)).__name__
        if metric in _GEOMSTATS_SPD_METRICS:
            return SPD(space.n, metric=_GEOMSTATS_SPD_METRICS[metric])
        raise ValueError(
            f"SPD metric {metric} is not supported: use affine-invariant, "
            "log-Euclidean or log-Cholesky"
        )
    if "HPDMatrices" in names:
        metric = type(getattr(space, "metric", None)).__name__
        if metric == "HPDAffineMetric":
            return HPD(space.n)
        raise ValueError(f"HPD metric {metric} is not supported: use the affine-invariant one")
    if "FullRankCorrelationMatrices" in names:
        image = getattr(getattr(space, "metric", None), "image_space", None)
        flat = getattr(image, "metric", None)
        weights = tuple(getattr(flat, name, None) for name in ("alpha", "beta", "gamma"))
        frobenius = _GEOMSTATS_FROBENIUS.get(space.n, (1.0, 0.0, 0.0))
        if type(space.metric).__name__ == "OffLogMetric" and weights == frobenius:
            return Correlation(space.n)
        alpha, beta, gamma = frobenius
        raise ValueError(
            "of the metrics of correlation matrices use geomstats' OffLogMetric with "
            f"alpha={alpha}, beta={beta}, gamma={gamma}"
        )
    if "Hyperboloid" in names:
        return Hyperboloid(space.dim)
    if "PreShapeSpace" in names:
        if space.ambient_dim == 2:
            return KendallPlanar(space.k_landmarks)
        raise ValueError(
            "of shapes curvedp knows planar ones; landmarks in space can be aligned to a public "
            "template: curvedp.descriptors.AlignedLandmarks"
        )
    if "Grassmannian" in names and type(space.metric).__name__ == "GrassmannianCanonicalMetric":
        return Grassmann(space.n, space.p)
    if "Grassmann" in names and getattr(space, "_k", None) == 1:  # pymanopt's
        return Grassmann(space._n, space._p)
    metric = type(getattr(space, "metric", None)).__name__
    if "_SpecialOrthogonalMatrices" in names and metric == "BiInvariantMetric":
        return SpecialOrthogonal(space.n)
    if "SpecialOrthogonalGroup" in names and getattr(space, "_k", None) == 1:  # pymanopt's
        return SpecialOrthogonal(space._n)
    if "Euclidean" in names and len(getattr(space, "shape", ())) == 1:
        return Euclidean(space.dim)
    raise ValueError(
        f"{type(space).__name__} is not a manifold that curvedp knows: pass a curvedp manifold, a "
        "text such as 'spd:3', or a geomstats Hypersphere, SPDMatrices, HPDMatrices, Hyperboloid, "
        "Euclidean, Grassmannian, SpecialOrthogonal (of matrices) or planar PreShapeSpace"
    )
