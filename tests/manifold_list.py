"""Every manifold that the batteries run over: add one here and it gets them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reference import precise
from reference.correlation import Correlation
from reference.euclidean import Euclidean
from reference.grassmann import Grassmann
from reference.hpd import HPD
from reference.hyperboloid import Hyperboloid
from reference.kendall import KendallPlanar
from reference.projective import Projective
from reference.rotations import Rotations
from reference.spd_affine import SPDAffine
from reference.spd_log_cholesky import SPDLogCholesky
from reference.spd_log_euclidean import SPDLogEuclidean
from reference.special_orthogonal import SpecialOrthogonal
from reference.sphere import Sphere
from reference.torus import Torus
from reference.twin import Twin
from reference.unitary import Unitary

if TYPE_CHECKING:
    import curvedp


@dataclass(frozen=True)
class Case:
    """A manifold of the library beside its NumPy twin and its 60-digit twin."""

    name: str
    make: Callable[[], curvedp.Manifold]
    twin: Twin
    precise: Any
    curvature_bounds: tuple[float, float]
    #: Of compact spaces of any rank: sensitivities at which Laplace and Gaussian noise is audited.
    audited: tuple[float, float] | None = None
    #: Radii of balls about their origin in which rounding is measured.
    rounded: tuple[float, ...] = ()

    @cached_property
    def manifold(self) -> Any:
        """The library's manifold, built when first asked for."""
        return self.make()

    @property
    def is_thorough(self) -> bool:
        """Whether the default run leaves it to CI: all but one of each kind."""
        return self not in KINDS

    def __repr__(self) -> str:
        return self.name


def _library() -> Any:
    import curvedp

    return curvedp


def _euclidean(dim: int) -> Case:
    return Case(
        f"euclidean:{dim}",
        lambda: _library().Euclidean(dim),
        Euclidean(dim),
        precise.PreciseEuclidean(),
        (0.0, 0.0),
    )


def _sphere(dim: int, radius: float = 1.0) -> Case:
    bound = 0.0 if dim == 1 else radius**-2
    return Case(
        f"sphere:{dim}" + ("" if radius == 1.0 else f":radius={radius:g}"),
        lambda: _library().Sphere(dim, radius=radius),
        Sphere(dim, radius),
        precise.PreciseSphere(radius),
        (bound, bound),
    )


def _hyperboloid(dim: int, curvature: float = -1.0) -> Case:
    bound = 0.0 if dim == 1 else curvature
    return Case(
        f"hyperboloid:{dim}" + ("" if curvature == -1.0 else f":curvature={curvature:g}"),
        lambda: _library().Hyperboloid(dim, curvature=curvature),
        Hyperboloid(dim, curvature),
        precise.PreciseHyperboloid(curvature),
        (bound, bound),
    )


def _kendall(k: int) -> Case:
    return Case(
        f"kendall:{k}",
        lambda: _library().KendallPlanar(k),
        KendallPlanar(k),
        precise.PreciseKendall(),
        (4.0 if k == 3 else 1.0, 4.0),
    )


def _rotations() -> Case:
    return Case(
        "rotations:3",
        lambda: _library().Rotations(),
        Rotations(),
        precise.PreciseRotations(),
        (0.25, 0.25),
    )


def _correlation(m: int) -> Case:
    return Case(
        f"correlation:{m}",
        lambda: _library().Correlation(m),
        Correlation(m),
        precise.PreciseCorrelation(),
        (0.0, 0.0),
    )


def _projective(dim: int) -> Case:
    bound = 0.0 if dim == 1 else 1.0
    return Case(
        f"projective:{dim}",
        lambda: _library().Projective(dim),
        Projective(dim),
        precise.PreciseAxes(),
        (bound, bound),
    )


def _torus(dim: int) -> Case:
    return Case(
        f"torus:{dim}",
        lambda: _library().Torus(dim),
        Torus(dim),
        precise.PreciseTorus(),
        (0.0, 0.0),
    )


def _grassmann(n: int, k: int, *rounded: float) -> Case:
    bound = 0.0 if n == 2 else 1.0
    return Case(
        f"grassmann:{n}:{k}",
        lambda: _library().Grassmann(n, k),
        Grassmann(n, k),
        precise.PreciseGrassmann(),
        (bound, bound) if min(k, n - k) == 1 else (0.0, 2.0),
        (0.3, 0.4),
        rounded,
    )


def _special_orthogonal(n: int, *rounded: float) -> Case:
    return Case(
        f"so:{n}",
        lambda: _library().SpecialOrthogonal(n),
        SpecialOrthogonal(n),
        precise.PreciseSpecialOrthogonal(),
        {2: (0.0, 0.0), 3: (0.25, 0.25)}.get(n, (0.0, 0.5)),
        (0.4, 0.6),
        rounded,
    )


def _unitary(n: int, *rounded: float) -> Case:
    return Case(
        f"unitary:{n}",
        lambda: _library().Unitary(n),
        Unitary(n),
        precise.PreciseUnitary(),
        (0.0, 0.0 if n == 1 else 0.5),
        (0.3, 0.6),
        rounded,
    )


def _spd(m: int, metric: str = "affine-invariant") -> Case:
    twin, exact = {
        "affine-invariant": (SPDAffine, precise.PreciseSPDAffine),
        "log-euclidean": (SPDLogEuclidean, precise.PreciseSPDLogEuclidean),
        "log-cholesky": (SPDLogCholesky, precise.PreciseSPDLogCholesky),
    }[metric]
    flat = metric != "affine-invariant" or m == 1
    return Case(
        f"spd:{m}" + ("" if metric == "affine-invariant" else f":{metric}"),
        lambda: _library().SPD(m, metric=metric),
        twin(m),
        exact(),
        (0.0 if flat else -0.5, 0.0),
    )


def _hpd(m: int) -> Case:
    return Case(
        f"hpd:{m}",
        lambda: _library().HPD(m),
        HPD(m),
        precise.PreciseHPD(),
        (0.0 if m == 1 else -0.5, 0.0),
    )


CASES = [
    _euclidean(1),
    _euclidean(3),
    _sphere(1),
    _sphere(2),
    _sphere(2, radius=3.0),
    _sphere(9),
    _sphere(99),
    _hyperboloid(1),
    _hyperboloid(2),
    _hyperboloid(3, curvature=-0.25),
    _hyperboloid(10),
    _kendall(3),
    _kendall(4),
    _kendall(10),
    _kendall(50),
    _rotations(),
    _correlation(2),
    _correlation(4),
    _projective(1),
    _projective(2),
    _projective(9),
    _torus(1),
    _torus(2),
    _torus(5),
    _grassmann(2, 1),
    _grassmann(3, 1, 0.7),
    _grassmann(4, 2, 1e-6, 0.5, 0.77),
    _grassmann(5, 2),
    _grassmann(7, 4, 0.6),
    _special_orthogonal(2),
    _special_orthogonal(3, 1.5),
    _special_orthogonal(4, 1e-6, 0.7, 1.55),
    _special_orthogonal(5, 1.2),
    _special_orthogonal(8, 1.0),
    _unitary(1, 1.5),
    _unitary(2, 1e-6, 1.55),
    _unitary(3, 1.2),
    _unitary(8),
    _spd(1),
    _spd(2),
    _spd(3),
    _spd(5),
    _spd(11),
    _hpd(1),
    _hpd(2),
    _hpd(3),
    _hpd(5),
    _spd(2, "log-euclidean"),
    _spd(3, "log-euclidean"),
    _spd(5, "log-euclidean"),
    _spd(2, "log-cholesky"),
    _spd(3, "log-cholesky"),
    _spd(5, "log-cholesky"),
]

BY_NAME = {case.name: case for case in CASES}

# One of each kind, for the default run.
KINDS = [
    BY_NAME[name]
    for name in (
        "euclidean:3",
        "sphere:2",
        "hyperboloid:2",
        "kendall:4",
        "rotations:3",
        "correlation:4",
        "projective:2",
        "torus:2",
        "grassmann:4:2",
        "so:4",
        "unitary:2",
        "spd:2",
        "hpd:2",
        "spd:3:log-euclidean",
        "spd:3:log-cholesky",
    )
]

# Compact spaces of any rank among them, whose noise is drawn by angles.
COMPACT = [case for case in KINDS if case.audited is not None]

# Kinds whose points are orthonormal frames.
FRAMES = tuple(kind for case in COMPACT if (kind := case.name.partition(":")[0]) != "grassmann")

# These and three of other sizes, for the expensive batteries.
SMALL = [
    *KINDS,
    *(BY_NAME[name] for name in ("sphere:2:radius=3", "hyperboloid:3:curvature=-0.25", "spd:3")),
]


def of(cases: list[Case], kind: str | tuple[str, ...]) -> list[Case]:
    """Those whose name begins with `kind`, or with one of several."""
    return [case for case in cases if case.name.startswith(kind)]
