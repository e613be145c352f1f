"""Rows for PrivateMail: kernels, single iterations, and whole embeddings of four iterations."""

from __future__ import annotations

import numpy as np

from curvedp.mail import Laplacians
from harness import Peer, Row
from peers import mail
from rows import ROWS

_SETTINGS = {"bandwidth": 1.0, "alpha": 0.5, "post_bandwidth": 4.0}


def data(n: int, m: int, k: int):
    """Unit features of 200 classes, labels and a start."""
    rng = np.random.default_rng(6)
    labels = np.arange(n) % 200
    rows = rng.standard_normal((n, m)) + 2 * rng.standard_normal((200, m))[labels]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, labels, rng.standard_normal((n, k))


def embedding(rows, labels, start, *, memory_limit: int, dtype: str = "float64"):
    """The computation of `benches/peers/mail.py`, by the library's operators."""
    kept = {"memory_limit": memory_limit, "dtype": dtype}
    operators = Laplacians(rows, _SETTINGS["bandwidth"], labels=labels, radius=1.0, **kept)
    z = start
    for _ in range(2):
        z = operators.step(z, _SETTINGS["alpha"])
    operators = Laplacians(z, _SETTINGS["post_bandwidth"], **kept)
    for _ in range(2):
        z = operators.step(z)
    return z


def _row(memory_limit: int, dtype: str, target: float):
    def build(quick: bool) -> Row:
        n, m = (2_000, 512) if quick else (10_000, 2048)
        rows, labels, start = data(n, m, 16)
        narrow = rows.astype(dtype), labels, start.astype(dtype)
        return Row(
            f"n={n} m={m} k=16",
            lambda: embedding(rows, labels, start, memory_limit=memory_limit, dtype=dtype),
            {f"NumPy {dtype}": Peer(lambda: mail.embedding(*narrow, **_SETTINGS), target)},
        )

    return build


def _iteration(k: int):
    """One step with the records' weights kept; the label part by class sums in both."""

    def build(quick: bool) -> Row:
        n, m = (2_000, 256) if quick else (10_000, 512)
        rows, labels, start = data(n, m, k)
        operators = Laplacians(rows, 1.0, labels=labels, radius=1.0, memory_limit=2**31)
        step = mail.stored_step(rows, labels, bandwidth=1.0, alpha=0.5)
        peer = Peer(lambda: step(start), comparable=True)
        return Row(f"n={n} k={k}", lambda: operators.step(start, 0.5), {"NumPy": peer})

    return build


def _kernel(dtype: str):
    """Weights of all pairs, once."""

    def build(quick: bool) -> Row:
        n, m = (2_000, 512) if quick else (10_000, 2048)
        rows, _, _ = data(n, m, 1)
        narrow = rows.astype(dtype)
        return Row(
            f"n={n} m={m}",
            lambda: Laplacians(rows, 1.0, radius=1.0, memory_limit=2**31, dtype=dtype),
            {f"NumPy {dtype}": Peer(lambda: mail.kernel(narrow, 1.0), comparable=False)},
        )

    return build


for _dtype in ("float64", "float32"):
    ROWS.add(f"PrivateMail kernel {_dtype}")(_kernel(_dtype))
for _k in (2, 16, 64):
    ROWS.add(f"PrivateMail iteration k={_k}")(_iteration(_k))
ROWS.add("PrivateMail kept")(_row(2**31, "float64", 1.4))
ROWS.add("PrivateMail kept float32")(_row(2**31, "float32", 1.4))
ROWS.add("PrivateMail streamed")(_row(0, "float64", 0.4))
ROWS.add("PrivateMail streamed float32")(_row(0, "float32", 0.4))
