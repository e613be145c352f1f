"""Rows for PrivateMail: two iterations with the records' kernel, two with the embedding's."""

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
    """What `benches/peers/mail.py` computes, by the library's operators."""
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


ROWS.add("PrivateMail kept")(_row(2**31, "float64", 1.4))
ROWS.add("PrivateMail kept float32")(_row(2**31, "float32", 1.4))
ROWS.add("PrivateMail streamed")(_row(0, "float64", 0.4))
ROWS.add("PrivateMail streamed float32")(_row(0, "float32", 0.4))
