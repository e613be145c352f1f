"""A release: the value, the guarantee that holds for it, and everything that produced it.

It holds public quantities only, and never a seed: who knows the seed of a draw can subtract the
noise.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from types import NoneType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._displays import Shown, displayed
from curvedp._html import card
from curvedp._text import is_long, numbers, rounded_down, rounded_up
from curvedp._validation import as_count, as_positive
from curvedp.ball_templates import stored_unit
from curvedp.manifolds import as_manifold
from curvedp.privacy.assumptions import explained
from curvedp.privacy.base import Guarantee, adds_or_removes
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.guarantees import (
    GDP,
    NO_GUARANTEE,
    ApproxDP,
    PureDP,
    Unproved,
    compose,
)
from curvedp.privacy.implication import implies
from curvedp.privacy.l2_noise import L2Noise
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.statement import NOT_COUNTED, Statement, statement
from curvedp.privacy.stored import restored
from curvedp.unit import Unit, told_in

__all__ = ["SCHEMA_VERSION", "Release"]

SCHEMA_VERSION = 1

_Kind = TypeVar("_Kind", bound="Release")

#: Modules with releases that have further fields: imported where such a release is read.
_KINDS = ("curvedp.statistics", "curvedp.regression", "curvedp.conformal", "curvedp.sites")

#: Limits of the expected error, by the first words of a statistic.
_LIMITS_OF_ERROR = {
    "adaptive Fréchet mean": (
        "about the Fréchet mean of the records projected on the public ball; an estimate and no "
        "bound: a few records far from the others move that mean and cannot be told from none"
    ),
    "geometric median": (
        "the noise is not all of it: how near the steps come to the median, and how far shortened "
        "logarithms move where they end, depends on the records and cannot be told from a release"
    ),
    "Fréchet mean without a ball": (
        "from noise, clipping and what the last step leaves; an estimate and no bound: records "
        "that lie apart and are too few to be counted may add more"
    ),
    "quantile": ("the noise scale counts ranks; the release is usually off by a few times as many"),
}

#: Statistics whose values and errors are lengths, or powers of them, by their first words.
_POWERS = {
    "Fréchet mean": 1,
    "adaptive Fréchet mean": 1,
    "conformal Fréchet mean": 1,
    "geometric median": 1,
    "K-norm gradient": 1,
    "Fréchet variance": 2,
    "fourth moment": 4,
}

#: First words of statistics of one record, whose owner trusts nobody.
LOCAL = "query among"

#: Stands for the guarantee of what was computed without privacy.
NOT_PRIVATE = "NONE: computed without privacy"

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
class Release(Disclosed):
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

    #: Where the function stands that draws it.
    _display = "curvedp.plotting.releases:display_of"

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
        for name, text in (
            *((name, getattr(self, name)) for name in ("mechanism", "statistic", "manifold")),
            ("uncounted", self.uncounted or ""),
            *(("an assumption", key) for key in assumptions),
        ):
            if not isinstance(text, str) or not text.isprintable():
                raise TypeError(f"{name} must be a plain text")
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
            for module in _KINDS if cls is Release else ():
                import_module(module)
            for kind in _subclasses(cls):
                if set(data) == {field.name for field in fields(kind)}:
                    return kind.from_dict(data | {"schema_version": version})
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

    @property
    def statement(self) -> Statement:
        """Five sentences: who is protected, against whom, assuming what, the cost, the accuracy."""
        return statement(
            self.guarantee,
            n=f"n = {self.n} {'units' if self.units_by_name else 'records'}",
            accuracy=self._accuracy(),
            by_name=self.units_by_name,
            records_per_unit=self.records_per_unit,
            grouped=bool({"public-groups", "public-keys", "groups-by-record"} & self.assumptions),
            private_keys="groups-by-record" in self.assumptions,
            steady=self.provenance is not None and self.provenance.steady,
            local=self.is_local,
            provenance=self.provenance,
        )

    def report(self) -> str:
        """Plain text that a reader without the code can follow: the `statement`, then the facts.

        Lines are at most 88 characters wide, except for rows of the value. A value of more than a
        dozen numbers is named by its shape. What is particular to a kind of release stands after
        the facts that all have, then assumptions, and the releases that it was computed from.
        """
        lines = [self._title, ""]
        if isinstance(self.guarantee, Unproved):
            lines += [NO_GUARANTEE, *_paragraph(self.guarantee._claim), ""]
        for text in self._warnings():
            lines += [*textwrap.wrap(f"WARNING: {text}", 88), ""]
        lines += [*self.statement.lines(), ""]
        return "\n".join([*lines, *self._details()]) + "\n"

    def _details(self) -> list[str]:
        """Lines of a report after the statement."""
        lines = []
        for name, text in self._facts():
            lines += _row(name, text)
        for note in self._notes():
            lines += ["", *textwrap.wrap(note, 88)]
        lines += ["", "assumptions:" if self.assumptions else "assumptions: none"]
        for text in self.explained_assumptions():
            lines += textwrap.wrap(f"- {text}", 88, subsequent_indent="  ")
        return [*lines, *lines_of_parts(self.parts, self.coverage)]

    def _disclosure(self) -> Disclosure:
        return Disclosure(
            statistic=self.statistic,
            manifold=self.manifold,
            domain=self._domain(),
            guarantee=self.guarantee,
            statement=self.statement,
            provenance=self.provenance,
            n=self.n,
            records_per_unit=self.records_per_unit,
            assumptions=self.assumptions,
            noise=(
                f"{self.mechanism}: sensitivity {rounded_up(self.sensitivity)}, noise scale "
                f"{rounded_down(self.scale)}, error of the solver at most "
                f"{rounded_up(self.solver_tolerance, 3)}",
            ),
            parts=tuple((part.statistic, part.guarantee) for part in self.parts),
            count=None if self.coverage is None else self.coverage.guarantee,
            is_local=self.is_local,
        )

    def explained_assumptions(self) -> list[str]:
        """Assumptions besides the proof, each with its meaning."""
        return explained(self.assumptions)

    def plot(self, ax: Any = None) -> Shown:
        """Draw the release with the matplotlib of the extra ``plot``.

        Shows what the release holds and nothing else: the value in the manner of its space, the
        ball, and the expected error of the noise. See `curvedp.plotting.ReleaseDisplay`, its
        `GeodesicDisplay` for geodesics, and `curvedp.conformal.display.MeshFieldDisplay` for
        densities on the sphere.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Returns
        -------
        ReleaseDisplay, GeodesicDisplay or MeshFieldDisplay
            With `figure_` and `ax_`; a notebook shows it.

        Raises
        ------
        ValueError
            If `ax` is a plane one where three dimensions are drawn, or the reverse, or the value
            holds numbers that no picture shows.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> import numpy as np, curvedp as cdp
        >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
        >>> mean = cdp.frechet_mean(np.tile(ball.center, (500, 1)), ball, cdp.GDP(mu=1.0))
        >>> mean.plot().view
        'globe'
        """
        return displayed(self, self._display, ax=ax)

    def __repr__(self) -> str:
        value = f"value={numbers(self.value)}"
        return (
            f"<{type(self).__name__}: {self.statistic} on {self.manifold}, {value}, "
            f"{self.guarantee._brief}, n={self.n}>"
        )

    def _repr_html_(self) -> str:
        return card(
            self._title,
            self._facts(),
            alarm=unproved_text(self.guarantee),
            notes=[
                *(f"{name}: {text}" for name, text in self.statement.items()),
                *self._warnings(),
                *self._notes(),
                *(f"assumes {text}" for text in self.explained_assumptions()),
            ],
            parts=self.parts,
        )

    @property
    def _title(self) -> str:
        return f"Release of the {self.statistic} on {self.manifold} by {self.mechanism}"

    def _facts(self) -> list[tuple[str, str]]:
        """Names and texts of what a report and a notebook show."""
        has_length = self.ball_unit is not None and self.ball_unit.length is not None
        is_length = has_length and power_of(self.statistic) == 1
        of_metric = ", in units of the metric" if is_length else ""
        value = f"array of shape {self.value.shape}: see .value"
        if not is_long(self.value):
            value = np.array2string(self.value, precision=6, suppress_small=True, max_line_width=84)
        return [
            ("value", value),
            *self._told_value(),
            ("guarantee", str(self.guarantee)),
            ("meaning", self.guarantee._promise),
            *self._way(),
            ("neighbouring", self._neighbouring()),
            *([] if self.count is None else [("count", str(self.count))]),
            ("units" if self.units_by_name else "records", self._used()),
            ("domain", self._domain()),
            (
                "sensitivity",
                f"{rounded_up(self.sensitivity)}, solver tolerance "
                f"{rounded_up(self.solver_tolerance, 3)} "
                f"({'enters twice' if self.calibration == 'proved' else 'not counted'}){of_metric}",
            ),
            ("noise scale", rounded_down(self.scale) + of_metric),
            ("expected error", self._error()),
            *self._noise(),
            *([] if self.coverage is None else [("coverage", str(self.coverage))]),
            ("calibration", self._calibration()),
            *([] if self.provenance is None else [("provenance", str(self.provenance))]),
        ]

    def _told_value(self) -> list[tuple[str, str]]:
        """The value in the unit of the ball."""
        unit, power = self.ball_unit, power_of(self.statistic)
        if unit is None or power == 0:
            return []
        if unit.length is None:
            return [("unit", f"of the value's entries {unit.name}")] if power == 1 else []
        if power > 1:
            return [("in its unit", unit.told(float(self.value), power=power))]
        space = as_manifold(self.manifold)
        found = (
            unit.numbers_of(space, self.value) if self.value.shape == space.point_shape else None
        )
        if found is None:
            return []
        numbers_told, what = found
        told = np.array2string(numbers_told, precision=6, suppress_small=True, separator=", ")
        return [("in its unit", f"{told} ({what})")]

    def _calibration(self) -> str:
        """The kind of calibration; "proved" only of what is."""
        if self.calibration == "proved" and isinstance(self.guarantee, Unproved):
            return "as for a proved guarantee, which this release has not"
        return self.calibration

    def _accuracy(self) -> str:
        """The last sentence of the statement."""
        return f"expected error {self._error()}.{self._counted()}"

    def _counted(self) -> str:
        """A sentence on the count of records inside the ball, after a space."""
        return "" if self.is_local else f" {coverage_text(self.coverage, self.uncounted)}"

    def _domain(self) -> str:
        """Where records lie, and what became of others."""
        return (
            f"ball of radius {told_in(self.ball_unit)(self.ball_radius)} around a public centre; "
            "records outside were projected on it"
        )

    def _error(self) -> str:
        """The expected error, and what it leaves out."""
        known = told_error(self.statistic, self.ball_unit, self.expected_error)
        default = "" if self.expected_error is None else "mean distance"
        limits = limits_of_error(self.statistic) or default
        used = "" if self.count is None else "about the records that were used"
        told = "; ".join(filter(None, (limits, used)))
        return f"{known} ({told})" if told else known

    def _notes(self) -> list[str]:
        """Sentences on what is particular to this kind of release."""
        return []

    def _noise(self) -> list[tuple[str, str]]:
        """Size of the noise beside what the ball alone says, where that can be compared."""
        return []

    def _warnings(self) -> tuple[str, ...]:
        """Sentences of the coverage against the ball or the format of the records."""
        return () if self.coverage is None else self.coverage.warnings

    def _way(self) -> list[tuple[str, str]]:
        if self.calibrated_to in (None, self.guarantee):
            return []
        if self.count is not None:
            return [("met by", f"a count, and noise for {self.calibrated_to}")]
        return [("met by", f"noise for {self.calibrated_to}, which implies it")]

    @property
    def units_by_name(self) -> bool:
        """True if a person's records bear a label, and all of them count as one."""
        return "units-by-name" in self.assumptions

    @property
    def is_local(self) -> bool:
        """True if the release is about one record, whose owner trusts nobody."""
        return self.statistic.startswith(LOCAL)

    def _neighbouring(self) -> str:
        if self.is_local:
            return "any other record in its place"
        what, counted = "one record", "records"
        if self.units_by_name:
            what, counted = "all records of one unit", "units"
        if self.guarantee.neighbours == "replace":
            return f"replace {what}; the number of {counted} n is public"
        told = f"add or remove {what}; the number of {counted} is protected"
        if self.count is None:
            return told
        return f"{told}. Replacing {what} is protected by {self.count.replacing}"

    def _used(self) -> str:
        """The number of records, or what became of an unknown number."""
        if self.count is None:
            return f"n = {self.n}"
        return self.count.used(self.n)


def used_by(parts: Sequence[Release], n: int) -> str:
    """The number of records of something that was computed from releases, or what became of an
    unknown one.

    Parameters
    ----------
    parts : sequence of Release
    n : int
    """
    count = parts[0].count if parts else None
    return f"n = {n}" if count is None else count.used(n)


def lines_of_parts(parts: Sequence[Release], coverage: Coverage | None = None) -> list[str]:
    """Lines of a report on the releases that it rests on, with what they and a count add up to."""
    if not parts:
        return []
    whole = _added_up([part.guarantee for part in parts], coverage)
    lines = [
        "",
        *textwrap.wrap(
            f"computed from these releases, which the guarantee above covers{whole}:", 88
        ),
    ]
    for part in parts:
        inner = [part._title, "", *part._details()]
        lines += ["", *textwrap.indent("\n".join(inner), "  ").split("\n")]
    return lines


def _added_up(guarantees: list[Guarantee], coverage: Coverage | None) -> str:
    """The composition of guarantees of releases from one data set, if they are of one kind."""
    counted = [] if coverage is None else [coverage.guarantee]
    guarantees = guarantees + counted
    kinds = {type(guarantee) for guarantee in guarantees}
    if len(guarantees) < 2 or len(kinds) > 1 or Unproved in kinds or adds_or_removes(guarantees[0]):
        return ""
    return f" (together{' with the count' if counted else ''} {compose(*guarantees)})"


def power_of(statistic: str) -> int:
    """The power of a length that a statistic's error is; 0 if it is none.

    Parameters
    ----------
    statistic : str
    """
    found = (power for name, power in _POWERS.items() if statistic.startswith(name))
    return next(found, 0)


def told_error(statistic: str, unit: Unit | None, error: float | None, digits: int = 6) -> str:
    """The expected error of a statistic in the unit of its ball.

    Parameters
    ----------
    statistic : str
    unit : Unit or None
    error : float or None
    digits : int
    """
    if error is None:
        return "not known"
    power = power_of(statistic)
    return told_in(unit if power else None)(error, digits, max(power, 1))


def limits_of_error(statistic: str) -> str:
    """Limits of the expected error of a statistic; empty if there are none."""
    found = (text for name, text in _LIMITS_OF_ERROR.items() if statistic.startswith(name))
    return next(found, "")


def coverage_text(coverage: Coverage | GroupCoverage | None, uncounted: str | None) -> str:
    """A sentence on how many records were points inside the ball, or why that is not known."""
    if coverage is not None:
        return f"Counted: {coverage}."
    return f"{NOT_COUNTED} ({uncounted})." if uncounted else f"{NOT_COUNTED}."


def percent(share: float) -> str:
    """A share in percent, with two digits where it is small."""
    digits = max(0, 1 - math.floor(math.log10(100.0 * share))) if 0.0 < share < 1.0 else 0
    return f"{100.0 * share:.{digits}f} %"


def unproved_text(guarantee: Guarantee | None) -> str:
    """Warning that comes first without a proved guarantee; empty with one."""
    if guarantee is None:
        return NOT_PRIVATE
    if isinstance(guarantee, Unproved):
        return f"{NO_GUARANTEE} {guarantee._claim}"
    return ""


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(text, 88, initial_indent="    ", subsequent_indent="    ")


def _row(name: str, text: str) -> list[str]:
    label = f"{name + ':':<16}"
    if "\n" in text:
        return [label.rstrip(), *("    " + line for line in text.splitlines())]
    return textwrap.wrap(label + text, 88, subsequent_indent=" " * 16)


def _subclasses(cls: type[_Kind]) -> Iterator[type[_Kind]]:
    """All classes below, those of classes below too."""
    for kind in cls.__subclasses__():
        yield kind
        yield from _subclasses(kind)
