"""A release: the value, the guarantee that holds for it, and everything that produced it.

It holds public quantities only, and never a seed: who knows the seed of a draw can subtract the
noise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from types import NoneType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import as_count, as_positive
from curvedp.ball_templates import stored_unit
from curvedp.privacy.base import Guarantee
from curvedp.privacy.coverage import Coverage
from curvedp.privacy.guarantees import GDP, ApproxDP, PureDP, Unproved
from curvedp.privacy.implication import implies
from curvedp.privacy.l2_noise import L2Noise
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.release_text import ReleaseText
from curvedp.privacy.stored import restored
from curvedp.unit import Unit

__all__ = ["SCHEMA_VERSION", "Release"]

SCHEMA_VERSION = 1

_Kind = TypeVar("_Kind", bound="Release")

#: Modules with releases that have further fields: imported where such a release is read.
_KINDS = ("curvedp.statistics", "curvedp.regression", "curvedp.conformal", "curvedp.sites")

_VOIDING = frozenset({"seeded", "records-validated", "approximate-sampling"})


def frozen_array(value: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy; NaN have one bit pattern."""
    array = np.array(value, dtype=np.float64)
    array[np.isnan(array)] = np.nan
    return np.frombuffer(array.tobytes(), dtype=np.float64).reshape(array.shape)


def _encode(array: NDArray[np.float64]) -> dict[str, Any]:
    return {"shape": list(array.shape), "data": [_encode_float(x) for x in array.ravel().tolist()]}


def _decode(data: dict[str, Any]) -> NDArray[np.float64]:
    flat = np.array([float(x) for x in data["data"]], dtype=np.float64)
    return flat.reshape(tuple(data["shape"]))


def check_parts(guarantee: Guarantee | None, parts: Sequence[Release]) -> None:
    """Refuses a guarantee for a value that was computed from releases without one."""
    if guarantee is None or isinstance(guarantee, Unproved):
        return
    if any(isinstance(part.guarantee, Unproved) for part in parts):
        raise ValueError("a release computed from an unproved one carries no guarantee")


def check_text(name: str, text: object) -> None:
    """Refuses what is no text of printable characters."""
    if not isinstance(text, str) or not text.isprintable():
        raise TypeError(f"{name} must be a plain text")


def _encode_float(x: float) -> float | str:
    return x if math.isfinite(x) else repr(x)


def _is_stored(item: Any, kind: str) -> bool:
    """True for what `Release.to_dict` may write of a field; objects are looked at later."""
    if item is None:
        return kind.endswith("| None")
    match kind.removesuffix(" | None"):
        case "float":
            return type(item) is float or item in ("inf", "-inf", "nan")
        case "str":
            return isinstance(item, str)
        case "int":
            return type(item) is int
        case "bool":
            return isinstance(item, bool)
    if _is_array(kind):
        return isinstance(item, dict) and set(item) == {"shape", "data"}
    return True


def _is_array(kind: str) -> bool:
    return "NDArray" in kind or "FloatArray" in kind


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(ReleaseText):
    """One released value with its guarantee.

    Parameters
    ----------
    value : array of float64, read-only
        The released value, in the manifold's point shape for a point.
    guarantee : Guarantee
        The proved guarantee, or `Unproved`.
    mechanism, statistic : str
        Names of the mechanism and of the statistic.
    manifold : str
        Specification of the manifold, such as ``"spd:3"``.
    ball_center : array, read-only
    ball_radius : float
        The public domain on which records were projected; distances in the manifold's metric.
    n : int
        Number of records; public.
    records_per_unit : int
        Most records that one protected unit (a person, say) contributes.
    sensitivity : float
        Largest move of the exact statistic when one unit's records are replaced.
    solver_tolerance : float
        Public bound e0 on the solver's error; noise is calibrated to sensitivity + 2 e0, with
        calibration "published" to the sensitivity alone.
    scale : float
        Length of the noise profile: 1/lambda for Laplace, sigma for Gaussian noise.
    expected_error : float or None
        Mean distance of the value from the exact statistic caused by the noise, where known. Of
        an adaptive mean an estimate, with the bias of its last ball; of a regression root mean
        square, from the fit of the records.
    assumptions : frozenset of str
        Assumptions of the guarantee besides its proof; keys of `ASSUMPTIONS`.
    calibration : str
        "proved", or "published" for a paper's own calibration, which is `Unproved`.
    base_point : array, read-only, or None
        The released point at which the statistic was taken, for statistics in a tangent space.
    calibrated_to : PureDP, GDP, ApproxDP or None
        The guarantee of the whole release that its noise is calibrated to and from which
        `guarantee` follows, where there is one of these kinds.
    parts : tuple of Release
        The releases from which this one was computed; its guarantee covers them.
    provenance : Provenance or None
        Version and day, and the ledger that paid; no part of what makes two releases equal.
    coverage : Coverage or None
        How many records were points inside the ball, if they were counted; the guarantee covers it.
    uncounted : str or None
        Why they were not counted, where that is known.
    count : RecordCount or None
        The released number of records, where it is protected; `n` is then the number that was
        used, which follows from it.
    ball_unit : Unit or None
        The unit in which the ball was stated, and texts and pictures tell lengths; numbers here are
        in the units of the metric.
    """

    value: NDArray[np.float64]
    guarantee: Guarantee
    mechanism: str
    statistic: str
    manifold: str
    ball_center: NDArray[np.float64]
    ball_radius: float
    n: int
    records_per_unit: int
    sensitivity: float
    solver_tolerance: float
    scale: float
    expected_error: float | None
    assumptions: frozenset[str] = frozenset()
    calibration: str = "proved"
    base_point: NDArray[np.float64] | None = None
    calibrated_to: PureDP | GDP | ApproxDP | None = None
    parts: tuple[Release, ...] = ()
    provenance: Provenance | None = None
    coverage: Coverage | None = None
    uncounted: str | None = None
    count: RecordCount | None = None
    ball_unit: Unit | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise TypeError("guarantee must be PureDP, ApproxDP, ZCDP, GDP or Unproved")
        if self.calibration not in ("proved", "published"):
            raise ValueError('calibration must be "proved" or "published"')
        if isinstance(self.assumptions, str):
            raise TypeError("assumptions must be a set of keys, not one string")
        assumptions = frozenset(self.assumptions)
        for name in ("mechanism", "statistic", "manifold"):
            check_text(name, getattr(self, name))
        check_text("uncounted", self.uncounted or "")
        for key in assumptions:
            check_text("an assumption", key)
        if not all(isinstance(part, Release) for part in self.parts):
            raise TypeError("parts must be releases")
        if not isinstance(self.coverage, (Coverage, NoneType)):
            raise TypeError("coverage must be a Coverage or None")
        if not isinstance(self.count, (RecordCount, NoneType)):
            raise TypeError("count must be a RecordCount or None")
        if not isinstance(self.ball_unit, (Unit, NoneType)):
            raise TypeError("ball_unit must be a Unit or None")
        if not isinstance(self.guarantee, Unproved):
            self._check_what_a_guarantee_rests_on()
            voids = sorted(_VOIDING & assumptions)
            if self.calibration == "published" or voids:
                cause = voids[0] if voids else "published calibration"
                raise ValueError(f"a release with {cause} must carry Unproved, not a guarantee")
            check_parts(self.guarantee, self.parts)
        elif self.calibrated_to is not None:
            raise ValueError("noise of an unproved release is calibrated to no guarantee")
        if not isinstance(self.calibrated_to, (PureDP, GDP, ApproxDP, NoneType)):
            raise TypeError("calibrated_to must be PureDP, GDP, ApproxDP or None")
        if not isinstance(self.provenance, (Provenance, NoneType)):
            raise TypeError("provenance must be a Provenance or None")
        expected = None if self.expected_error is None else float(self.expected_error)
        base_point = None if self.base_point is None else frozen_array(self.base_point)
        coerced = {
            "value": frozen_array(self.value),
            "ball_center": frozen_array(self.ball_center),
            "ball_radius": float(self.ball_radius),
            "n": as_count(self.n, "n"),
            "records_per_unit": as_count(self.records_per_unit, "records_per_unit"),
            "sensitivity": float(self.sensitivity),
            "solver_tolerance": float(self.solver_tolerance),
            "scale": float(self.scale),
            "expected_error": expected,
            "assumptions": assumptions,
            "base_point": base_point,
            "parts": tuple(self.parts),
        }
        for name, coerced_value in coerced.items():
            object.__setattr__(self, name, coerced_value)
        self._check_noise_and_count()

    def _check_what_a_guarantee_rests_on(self) -> None:
        """Refuses radii, sensitivities, scales and tolerances with which no guarantee can hold."""
        for name in ("ball_radius", "sensitivity", "scale"):
            as_positive(float(getattr(self, name)), name)
        if not 0 <= float(self.solver_tolerance) < math.inf:
            raise ValueError(
                f"solver_tolerance must be nonnegative and finite, got {self.solver_tolerance}"
            )

    def _check_noise_and_count(self) -> None:
        """Refuses noise and a count of records that do not make the guarantee together."""
        noise, promise, beside = self.calibrated_to, self.guarantee, ""
        if isinstance(promise, Unproved):
            return
        relation = promise.neighbours
        if self.count is not None:
            promise, relation = self.count.rest_of(promise, self.records_per_unit), "replace"
            beside = f", beside a count at {self.count.guarantee}"
        if noise is not None and not (noise.neighbours == relation and implies(noise, promise)):
            raise ValueError(
                f"noise for {noise} does not imply the guarantee {self.guarantee}{beside}"
            )

    @property
    def losses(self) -> tuple[Guarantee | L2Noise, ...]:
        """Its privacy losses, as `compose_mixed` adds them up: of its noise where that is known."""
        if self.calibrated_to is None or self.count is not None:
            return (self.guarantee,)
        return (self.calibrated_to,)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Release) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return tuple(
            (item.shape, item.tobytes())
            if isinstance(item, np.ndarray)
            else repr(item)
            if isinstance(item, float)
            else item
            for item in (
                getattr(self, field.name) for field in fields(self) if field.name != "provenance"
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def to_json(self) -> str:
        """JSON text with ``schema_version``; floats, shapes and kinds survive it exactly."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        data: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
        for field in fields(self):
            item = getattr(self, field.name)
            if isinstance(item, np.ndarray):
                item = _encode(item)
            elif isinstance(item, (Guarantee, Provenance, Coverage, RecordCount, Unit)):
                item = item.to_dict()
            elif isinstance(item, frozenset):
                item = sorted(item)
            elif isinstance(item, float):
                item = _encode_float(item)
            elif field.name == "parts":
                item = [part.to_dict() for part in item]
            data[field.name] = item
        return data

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Inverse of `to_json`, also for releases with further fields, such as a variance.

        Raises
        ------
        ValueError
            If the text is no release, of another schema, or carries more or less than its fields.
        """
        return restored(text, "release", cls.from_dict)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Inverse of `to_dict`; raises as `from_json`."""
        data = dict(data) if isinstance(data, dict) else data
        version = data.pop("schema_version", None) if isinstance(data, dict) else None
        if version is None:
            raise ValueError("the text has no schema_version")
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"release schema {version!r} is unknown to this version of curvedp, which reads "
                f"schema {SCHEMA_VERSION}: read it with the version that wrote it"
            )
        names = {field.name for field in fields(cls)}
        if set(data) != names:
            for module in _KINDS:
                import_module(module)
            for kind in _subclasses(cls):
                if set(data) == {field.name for field in fields(kind)}:
                    return kind.from_dict(data | {"schema_version": version})
            for other in _subclasses(Release):
                if set(data) == {field.name for field in fields(other)}:
                    raise ValueError(
                        f"it is a {other.__name__}, not a {cls.__name__}: Release.from_json reads "
                        "releases of every kind"
                    )
            wrong = ", ".join(sorted(set(data) ^ names))
            raise ValueError(f"unexpected or missing in schema {version}: {wrong}")
        for field in fields(cls):
            item, typed = data[field.name], str(field.type)
            if not _is_stored(item, typed):
                raise ValueError(f"{field.name} is not of its type")
            if item is not None and _is_array(typed):
                data[field.name] = _decode(item)
            elif typed.startswith("float") and isinstance(item, str):
                data[field.name] = float(item)
        data["guarantee"] = Guarantee.from_dict(data["guarantee"])
        if data["calibrated_to"] is not None:
            data["calibrated_to"] = Guarantee.from_dict(data["calibrated_to"])
        if data["coverage"] is not None:
            data["coverage"] = Coverage.from_dict(data["coverage"])
        if data["count"] is not None:
            data["count"] = RecordCount.from_dict(data["count"])
        data["ball_unit"] = stored_unit(data["ball_unit"])
        if not isinstance(data["assumptions"], list):
            raise ValueError("assumptions must be a list of keys")
        data["assumptions"] = frozenset(data["assumptions"])
        if not isinstance(data["parts"], list):
            raise ValueError("parts must be a list of releases")
        data["parts"] = tuple(map(Release.from_dict, data["parts"]))
        if data["provenance"] is not None:
            data["provenance"] = Provenance.from_dict(data["provenance"])
        return cls(**data)


def _subclasses(cls: type[_Kind]) -> Iterator[type[_Kind]]:
    """All classes below, those of classes below too."""
    for kind in cls.__subclasses__():
        yield kind
        yield from _subclasses(kind)
