"""A ball stays what it was: noise for one does not protect records projected on another."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import curvedp as cdp


def ball() -> cdp.Ball:
    return cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 1.0)


@pytest.mark.parametrize("name", ["radius", "center", "manifold", "anything"])
def test_nothing_about_a_ball_can_be_set_or_deleted(name: str) -> None:
    domain = ball()
    with pytest.raises(AttributeError, match="make a new one"):
        setattr(domain, name, getattr(domain, name, 1.0))
    with pytest.raises(AttributeError, match="make a new one"):
        delattr(domain, name)
    assert domain.radius == 1.0


@pytest.mark.parametrize(
    "again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy]
)
def test_copies_of_a_ball_are_as_unchangeable(again: Callable[[Any], Any]) -> None:
    original = ball()
    original.project(np.eye(3))
    domain = again(original)
    assert domain.manifold == original.manifold
    assert domain.radius == original.radius
    assert np.array_equal(domain.center, original.center)
    with pytest.raises(AttributeError, match="make a new one"):
        domain.radius = 0.01
    with pytest.raises(ValueError, match="read-only"):
        domain.center[0] = 1.0
    assert np.array_equal(domain.project(np.eye(3)), original.project(np.eye(3)))


def test_a_ball_keeps_its_own_copy_of_the_centre() -> None:
    center = np.array([0.0, 0.0, 1.0])
    domain = cdp.Ball(cdp.Sphere(2), center, 1.0)
    center[:] = [1.0, 0.0, 0.0]
    assert np.array_equal(domain.center, [0.0, 0.0, 1.0])
