"""Tests draw the same everywhere, and none draws past the keys that see to it."""

from __future__ import annotations

import functools
import os
import random
import re
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
import drawn_keys

ROOT = Path(__file__).parents[2]
BALL = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
LAPLACE = cdp.RiemannianLaplace(BALL, 0.1, cdp.PureDP(1.0))


def by_stream(_):
    return LAPLACE.sample(BALL.center).tobytes()


def by_groups(_):
    return cdp.frechet_mean(BALL.center[None], BALL, cdp.GDP(1.0)).value.tobytes()


def by_secret(folder):
    path = folder / f"secret{len(list(folder.iterdir()))}"
    cdp.NoiseSecret.create(path)
    return path.read_bytes()


def by_generator(_):
    return BALL.manifold.random_point().tobytes()


def by_numpy(_):
    return np.random.bytes(32)  # noqa: NPY002


def by_python(_):
    return random.randbytes(32)


KEYED = [by_stream, by_groups, by_secret, by_generator]
EVERY = [*KEYED, by_numpy, by_python]


@pytest.mark.parametrize("draw", EVERY)
def test_one_name_draws_one_sequence_and_another_name_another(draw, tmp_path):
    def drawn(name):
        with drawn_keys.owned_by(name):
            return draw(tmp_path), draw(tmp_path)

    first, second = drawn("one")
    assert first != second
    assert drawn("other") != (first, second)
    if not drawn_keys.is_fresh():
        assert drawn("one") == (first, second)


@pytest.mark.parametrize("draw", EVERY)
def test_a_name_within_another_leaves_the_outer_sequence_as_it_was(draw, tmp_path):
    with drawn_keys.owned_by("outer"):
        alone = draw(tmp_path), draw(tmp_path)
    with drawn_keys.owned_by("outer"):
        first = draw(tmp_path)
        with drawn_keys.owned_by("inner"):
            draw(tmp_path)
        assert drawn_keys.is_fresh() or (first, draw(tmp_path)) == alone


@pytest.mark.true_entropy
@pytest.mark.parametrize("draw", EVERY)
def test_true_entropy_draws_another_sequence_every_time(draw, tmp_path):
    """Two of 256 bits, or of two doubles, agree with probability below 1e-25."""
    found = set()
    for _ in range(2):
        with drawn_keys.owned_by(None):
            found.add(draw(tmp_path))
    assert len(found) == 2


@pytest.mark.parametrize("draw", KEYED)
def test_draws_outside_of_tests_are_refused(draw, tmp_path, monkeypatch):
    monkeypatch.setattr(drawn_keys, "_owners", [])
    with pytest.raises(AssertionError, match="outside a test"):
        draw(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("draw", KEYED)
def test_a_child_process_does_not_draw_what_its_parent_draws(draw, tmp_path):
    if drawn_keys.is_fresh():
        pytest.skip("the child asks the operating system")
    child = os.fork()
    if child == 0:
        try:
            draw(tmp_path)
        except AssertionError:
            os._exit(7)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@functools.cache
def kept():
    return by_stream(None)


@drawn_keys.cache
def kept_by_name():
    return by_stream(None)


def test_a_cached_draw_has_keys_of_its_own_or_is_refused():
    if not drawn_keys.is_fresh():
        with pytest.raises(AssertionError, match="cached"):
            kept()
    first = kept_by_name()
    by_stream(None)
    assert kept_by_name() == first


@pytest.fixture(scope="module")
def shared():
    return by_stream(None)


def test_what_tests_share_is_not_drawn_by_the_first_of_them(shared):
    with drawn_keys.owned_by("tests/package/test_drawn_keys.py shared ''"):
        own = by_stream(None)
    assert drawn_keys.is_fresh() or shared == own


@pytest.mark.skipif(not (ROOT / "rust").exists(), reason="needs the sources of the package")
def test_entropy_enters_the_library_in_these_places_alone():
    """Those that `drawn_keys.install` replaces, and names of files and of ledgers."""
    entropy = re.compile(
        r"\b(urandom|token_bytes|SystemRandom|import random|from random import"
        r"|np\.random\.(?!default_rng|Generator)"
        r"|getrandom|SysRng|OsRng|thread_rng|rand::rng\(|fresh_key\(|Stream::from_os)"
    )
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "rust").rglob("src/**/*.rs")]
    assert len(sources) > 200
    found = {
        path.relative_to(ROOT).as_posix()
        for path in sources
        if entropy.search(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "python/curvedp/privacy/secret.py",  # NoiseSecret.create
        "python/curvedp/sites/book.py",  # the secret of masks, of which nothing is released
        "rust/curvedp-core/src/masks.rs",  # MaskKey, of which nothing is released
        "rust/curvedp-core/src/noise/stream.rs",
        "rust/curvedp-py/src/groups.rs",  # GroupKeys.fresh
        "rust/curvedp-py/src/noise.rs",  # Stream.from_os
    }
