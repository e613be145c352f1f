"""Hints for keywords and names of other libraries, and for names that stand elsewhere here."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_READING = "it is said to manifold.as_points(records, {}=...), whose points are the records"
_HINTS = {
    "epsilon": "say it in the guarantee: PureDP(epsilon=1.0), or ApproxDP(epsilon=1.0, delta=1e-6)",
    "delta": "say it in the guarantee: ApproxDP(epsilon=1.0, delta=1e-6)",
    "mu": "say it in the guarantee: GDP(mu=1.0)",
    "rho": "say it in the guarantee: ZCDP(rho=0.5)",
    "neighbours": "say it in the guarantee: GDP(mu=1.0, neighbours='add-remove')",
    "random_state": "noise is fresh; for tests and examples alone there is seed=",
    "accountant": "a budget is spent from ledger=Ledger(GDP(mu=2.0))",
    "high": "a turn follows from angle_units: 2 pi radians, 360 degrees or 24 hours",
    "axial": "axes are records of 'projective:1', or of directions.mean_axis in space",
    "bounds": "records are bounded by a ball: Ball(manifold, center, radius)",
    "metric": "it belongs to the space: SPD(3, metric='log-euclidean')",
    "sample_weight": "records count alike; those of one person are named by units=",
    **{
        name: "records of one person are named by units=, a label for each record"
        for name in ("subject", "subjects", "participants", "persons", "unit")
    },
    "names": "columns of a table have names: give covariates as pandas.DataFrame({'age': age})",
    "template": "landmarks that are missing are filled by descriptors.fill_landmarks before",
    **{name: _READING.format(name) for name in ("order", "scalar_first", "angle_units", "mask")},
}

#: What other libraries and texts call what is here.
NAMES_ELSEWHERE = {
    "BudgetAccountant": "Ledger",
    "Circle": "Torus",
    "ConnectivityMeasure": "descriptors.time_series_covariance",
    "CorrelationMatrices": "Correlation",
    "DP": "PureDP",
    "EpsilonDP": "PureDP",
    "FullRankCorrelationMatrices": "Correlation",
    "GaussianDP": "GDP",
    "Grassmannian": "Grassmann",
    "HPDMatrices": "HPD",
    "Hyperbolic": "Hyperboloid",
    "HyperbolicSpace": "Hyperboloid",
    "Hypersphere": "Sphere",
    "Kendall": "KendallPlanar",
    "KendallShapes": "KendallPlanar",
    "MDM": "learning.PrivateMDM",
    "Odometer": "Ledger",
    "PCA": "learning.TangentPCA",
    "PlanarShapes": "KendallPlanar",
    "PoincareBall": "Hyperboloid",
    "PreShapeSpace": "KendallPlanar",
    "RealProjectiveSpace": "Projective",
    "SO": "SpecialOrthogonal",
    "SO3": "Rotations",
    "SPDMatrices": "SPD",
    "Shapes": "KendallPlanar",
    "SymmetricPositiveDefinite": "SPD",
    "TangentSpace": "FrechetMean",
    "circmean": "directions.mean_direction",
    "f_oneway": "k_sample_test",
    "load": "Release.from_json",
    "mean": "frechet_mean",
    "mean_covariance": "frechet_mean",
    "median": "geometric_median",
    "rayleightest": "directions.mean_direction",
    "ttest_ind": "k_sample_test",
    "variance": "frechet_variance",
    "zCDP": "ZCDP",
}


def hinting(function: F) -> F:
    """The function, which tells its arguments, or what to write instead of others."""
    caller = _name_of(function)

    @functools.cache
    def own() -> tuple[dict[str, None], list[str] | None, list[str]]:
        """Keywords, those of `**call` as its annotation has them; what may go without a name; what
        must be given."""
        names, plain, needed = [], [], []
        takes_any = False
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                kind = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
                names += inspect.unwrap(function).__globals__[kind].__annotations__
            elif parameter.kind is parameter.VAR_POSITIONAL:
                takes_any = True
            else:
                if parameter.kind is not parameter.KEYWORD_ONLY:
                    plain.append(parameter.name)
                if parameter.name != "self":
                    names.append(parameter.name)
                if parameter.default is parameter.empty:
                    needed.append(parameter.name)
        return dict.fromkeys(names), None if takes_any else plain, needed

    @functools.wraps(function)
    def told(*args: Any, **keywords: Any) -> Any:
        names, plain, needed = own()
        refuse_keywords(caller, keywords, names)
        if plain is not None:
            text = function.__doc__ if function.__name__ != "__init__" else type(args[0]).__doc__
            refuse_places(caller, len(args), plain, names, text)
            given = {*plain[: len(args)], *keywords}
            if missing := [name for name in needed if name not in given]:
                places = ", ".join(name for name in plain if name != "self")
                raise TypeError(
                    f"{caller}() needs {_described(missing, text)}: without names it takes {places}"
                )
        return function(*args, **keywords)

    return cast(F, told)


def _name_of(function: Callable[..., Any]) -> str:
    """Name of a function, or of the class whose constructor it is."""
    *_, owner, name = ("", *function.__qualname__.split("."))
    return owner if name == "__init__" else name


def _described(names: Iterable[str], text: str | None) -> str:
    """Names of parameters with what a docstring says that they are."""
    told = []
    for name in names:
        found = re.search(rf"^ *(?:\w+, )*{name}(?:, \w+)* : (.*)$", text or "", re.MULTILINE)
        told.append(name if found is None else f"{name} ({found[1]})")
    return " and ".join(told)


def refuse_keywords(caller: str, keywords: Iterable[str], own: Collection[str]) -> None:
    """Raises TypeError for a keyword that is none of the caller's, with what to write instead."""
    for name in keywords:
        if name not in own:
            hint = _HINTS.get(name, f"it has {', '.join(own)}")
            raise TypeError(f"{caller}() has no keyword {name!r}: {hint}")


def refuse_places(
    caller: str, number: int, plain: list[str], own: Iterable[str], text: str | None
) -> None:
    """Raises TypeError for more arguments without names than there are places.

    It says which those are, what the others are called, and the caller's summary.

    Parameters
    ----------
    caller : str
    number : int
        Of arguments given without names, with `self` if it is among `plain`.
    plain, own : names
        Of what may go without one, and of all.
    text : str, optional
        Docstring of the caller.
    """
    if number > len(plain):
        places = [name for name in plain if name != "self"]
        named = [f"{name}=" for name in own if name not in plain]
        about = (text or "").partition("\n")[0]
        further = f"; with names {', '.join(named)}" * bool(named)
        raise TypeError(
            f"{caller}() takes {len(places)} argument{'s' * (len(places) != 1)} without names "
            f"({', '.join(places)}), got {number - len(plain) + len(places)}{further}. {about}"
        )


def no_such_name(name: str, modules: tuple[str, ...] = (), own: str = "curvedp") -> AttributeError:
    """The refusal of a name that a module lacks: where it stands, or what it is called here."""
    text = f"module {own!r} has no attribute {name!r}"
    if name.startswith("_") or not name.isidentifier() or find_spec(f"{own}.{name}"):
        # asked for by tools and by imports
        return AttributeError(text)
    if name in NAMES_ELSEWHERE:
        return AttributeError(f"{text}: here it is curvedp.{NAMES_ELSEWHERE[name]}")
    for module in modules:
        try:
            is_there = name in getattr(import_module(f"curvedp.{module}"), "__all__", ())
        except ImportError:  # of an extra
            continue
        if is_there:
            return AttributeError(f"{text}: it stands in curvedp.{module}")
    return AttributeError(text)
