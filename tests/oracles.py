"""Other people's libraries, imported without the warnings that importing them raises."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import numpy as np
import pytest


def geomstats(module: str) -> Any:
    """`geomstats.<module>` on its NumPy backend."""
    os.environ.setdefault("GEOMSTATS_BACKEND", "numpy")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="BackendImporter", category=ImportWarning)
        return importlib.import_module(f"geomstats.{module}")


def pyriemann(module: str) -> Any:
    """`pyriemann.geometry.<module>`; pyriemann 0.12 does not run under NumPy 1."""
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("pyriemann needs NumPy 2")
    return importlib.import_module(f"pyriemann.geometry.{module}")
