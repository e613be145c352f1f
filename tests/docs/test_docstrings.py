"""Examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from typing import Any

import pytest

import curvedp

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(curvedp.__path__, "curvedp.")
    if module.name != "curvedp.__main__"
)


@pytest.mark.parametrize("name", ["curvedp", *MODULES])
def test_examples_print_what_they_say(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, verbose=False)
    assert failed == 0


# ------------------------------------------------------------------ what a docstring has

PUBLIC_MODULES = (
    "curvedp",
    *(f"curvedp.{name}" for name in curvedp.__all__ if inspect.ismodule(getattr(curvedp, name))),
    "curvedp.learning",
    "curvedp.opendp",
)

#: No example of their own: they are made by functions that have one, or are there to be derived
#: from, raised, or fed with files of the reader's.
WITHOUT_EXAMPLE = {
    "Alignment",
    "Anchors",
    "AuditResult",
    "Auditable",
    "BudgetError",
    "ChartGaussian",
    "Coefficient",
    "CombinedMean",
    "ConfidenceRegion",
    "ConformalFactor",
    "Dataset",
    "Estimator",
    "Event",
    "ExistenceError",
    "FrechetMean",
    "Geodesic",
    "GeodesicFit",
    "GeodesicRelease",
    "Graph",
    "Guarantee",
    "HelmholtzSolution",
    "ImageCollection",
    "Laplacian",
    "LedgerEntry",
    "Manifold",
    "MeanComparison",
    "Mechanism",
    "MetropolisChains",
    "MissingExtraError",
    "Plan",
    "QueryRelease",
    "Release",
    "Releases",
    "Reply",
    "Request",
    "RetrievalScore",
    "Schedule",
    "Session",
    "Statistic",
    "VarianceInterval",
    "WaldTest",
    "load_cifar10",
    "load_fashion_mnist",
    "load_medmnist",
}


#: Functions that take whatever NumPy takes, or nothing at all.
WITHOUT_ERRORS = {
    "default_heat_time",
    "direction_colour",
    "ellipsoid_surface",
    "fractional_anisotropy",
    "load_diffusion_tensors",
}


def public_objects() -> dict[str, Any]:
    """Functions and classes by their shortest public name, each once."""
    found: dict[int, tuple[str, Any]] = {}
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        names = getattr(module, "__all__", None) or [
            name
            for name, entry in vars(module).items()
            if not name.startswith("_") and getattr(entry, "__module__", "") == module_name
        ]
        for name in names:
            entry = getattr(module, name)
            if inspect.isfunction(entry) or inspect.isclass(entry):
                found.setdefault(id(entry), (f"{module_name}.{name}", entry))
    return dict(found.values())


OBJECTS = public_objects()


def _sections(entry: Any) -> set[str]:
    text = inspect.getdoc(entry) or ""
    return set(re.findall(r"^([A-Z][a-z]+)\n-{3,}$", text, re.M))


def test_public_docstrings_have_parameters_results_and_errors() -> None:
    for name, entry in OBJECTS.items():
        _has_its_sections(name, entry)


def _has_its_sections(name: str, entry: Any) -> None:
    text = inspect.getdoc(entry) or ""
    assert text.splitlines()[0].rstrip().endswith((".", ":", "by")) or "\n\n" in text, name
    if inspect.isclass(entry):
        documented = set().union(*(_sections(base) for base in entry.__mro__ if base is not object))
        derived_from = inspect.isabstract(entry) or getattr(entry, "_is_protocol", False)
        if "__init__" in vars(entry) and not issubclass(entry, Exception) and not derived_from:
            assert documented & {"Parameters", "Attributes"}, f"{name}: what are its parameters?"
        return
    signature, prose = inspect.signature(entry), " ".join(text.lower().split())
    if signature.parameters:
        assert "Parameters" in _sections(entry) or "parameters as in" in prose, name
    if signature.return_annotation not in (None, "None"):
        assert "Returns" in _sections(entry), f"{name}: what does it return?"
    raises = "Raises" in _sections(entry)
    assert raises != (name.rpartition(".")[2] in WITHOUT_ERRORS), f"{name}: what does it raise?"


def public_methods() -> dict[str, list[Any]]:
    """Methods of public classes: each with the functions of its name along the bases."""
    found = {}
    for entry in OBJECTS.values():
        if not inspect.isclass(entry):
            continue
        for name in dir(entry):
            chain = [vars(base)[name] for base in entry.__mro__ if name in vars(base)]
            chain = [getattr(method, "__func__", method) for method in chain]
            own = inspect.isfunction(chain[0]) and chain[0].__module__.startswith("curvedp")
            if own and not name.startswith("_"):
                found[f"{chain[0].__module__}.{chain[0].__qualname__}"] = chain
    return found


METHODS = public_methods()


def test_public_methods_say_what_they_take() -> None:
    """One argument may stand in the sentence; more need a section, own or inherited."""
    for name, chain in METHODS.items():
        texts = [inspect.getdoc(method) or "" for method in chain]
        assert any(texts), name
        taken = [p for p in inspect.signature(chain[0]).parameters if p not in ("self", "cls")]
        if len(taken) > 1:
            referred = any("parameters as in" in " ".join(text.split()) for text in texts)
            own = any("Parameters" in _sections(method) for method in chain)
            assert referred or own, name


def test_public_docstrings_have_an_example() -> None:
    for name, entry in OBJECTS.items():
        has_one = ">>>" in (inspect.getdoc(entry) or "")
        without = name.rpartition(".")[2] in WITHOUT_EXAMPLE and not _is_estimator(name)
        assert has_one != without, name


def _is_estimator(name: str) -> bool:
    """The estimator, which shares its name with a result of `nonprivate`."""
    return name == "curvedp.learning.FrechetMean"
