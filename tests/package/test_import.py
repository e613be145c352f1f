"""Importing curvedp is quick and quiet, and brings nothing in that was not asked for."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import curvedp
import fresh_starts

#: Never imported before they are needed, whatever is imported from curvedp.
OPTIONAL = {
    "click",
    "dask",
    "distributed",
    "dp_accounting",
    "geomstats",
    "matplotlib",
    "opendp",
    "pandas",
    "pyarrow",
    "pyriemann",
    "rich",
    "sklearn",
}
#: Parts of SciPy that take longer to import than the whole of curvedp.
HEAVY = {
    "scipy.cluster",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.spatial",
    "scipy.special",
    "scipy.stats",
}


def modules_after(code: str) -> set[str]:
    """Modules that a fresh interpreter has imported after `code`, with warnings as errors."""
    code += "\nimport sys; print(*sys.modules, sep='\\n')"
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return set(result.stdout.split())


def test_importing_curvedp_imports_none_of_its_parts():
    imported = modules_after("import curvedp")
    own = {name for name in imported if name.startswith("curvedp")}
    assert own == {"curvedp"}
    assert not imported & (OPTIONAL | HEAVY | {"numpy", "scipy"})


def test_a_mean_brings_no_other_room_of_the_house():
    imported = modules_after("import curvedp; curvedp.frechet_mean")
    rooms = {name.split(".")[1] for name in imported if name.startswith("curvedp.")}
    others = {"batch", "cli", "conformal", "learning", "mail", "published", "regression", "sites"}
    assert "statistics" in rooms
    assert not rooms & others


def test_no_public_name_needs_an_optional_package_or_a_heavy_one():
    imported = modules_after(
        "import curvedp\nfor name in curvedp.__all__: getattr(curvedp, name)\n"
        "import curvedp.opendp, curvedp.privacy.accounting"
    )
    assert "curvedp.statistics.confidence_region" in imported
    assert not imported & (OPTIONAL | HEAVY)


def test_every_module_can_be_the_first():
    """Packages on the way to a module import their own parts, which may need it in turn."""
    parts = pkgutil.iter_modules(curvedp.__path__)
    names = [f"curvedp.{part.name}" for part in parts if part.name[0] != "_"]
    code = "import sys\nassert 'curvedp' not in sys.modules\nimport {}\nprint(*sys.modules)"
    found = fresh_starts.outputs([code.format(name) for name in names])
    assert all(name in own.split() for name, own in zip(names, found, strict=True))


def test_every_public_name_is_there_and_listed():
    listed = dir(curvedp)
    for name in [*curvedp.__all__, "__version__"]:
        assert getattr(curvedp, name) is not None, name
        assert name in listed


def test_the_version_is_known_where_the_package_has_no_metadata():
    """As in a bundle: a release that is paid for must not fail for want of its own version."""
    assert curvedp.__version__ == importlib.metadata.version("curvedp")
    code = "import sys, numpy, curvedp\nsys.modules['importlib.metadata'] = None\n"
    (found,) = fresh_starts.outputs([code + "print(curvedp.__version__)"])
    assert found.strip() == curvedp.__version__


def test_type_checkers_see_the_same_names():
    stub = Path(curvedp.__file__).with_suffix(".pyi")
    seen = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            seen |= dict.fromkeys(importlib.import_module(str(node.module)).__all__, node.module)
        elif isinstance(node, ast.ImportFrom):
            seen |= {alias.asname: node.module for alias in node.names}
    of_extras = [*curvedp._OF_EXTRAS, *sum(curvedp._PUBLIC_OF_EXTRAS.values(), ())]
    assert sorted(seen) == sorted([*curvedp.__all__, *of_extras])
    for name, module in seen.items():
        if module != "curvedp":
            assert getattr(importlib.import_module(module), name) is getattr(curvedp, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'frechet_median'"):
        getattr(curvedp, "frechet_" + "median")
    with pytest.raises(ImportError):
        exec("from curvedp import frechet_median")
