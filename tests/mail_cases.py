"""Neighbouring tables of rows on which PrivateMail's bound is attained, and an audit on them."""

from __future__ import annotations

import numpy as np

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_release_function
from curvedp.mail import Embedding, PrivateMail
from reference import mail as twin

N = 41


def blobs(n=200, m=6, classes=4, seed=0):
    """Unit rows about axes, one for each class, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    rows = np.eye(m)[labels] + 0.15 * rng.standard_normal((n, m))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def neighbours():
    """Two data sets at which the normalised bound of the replaced row is attained, and a start.

    The first column of a data set holds the label.
    """
    side = np.concatenate([[1.0], np.tile([1.0, -1.0], (N - 1) // 2)])
    rows = side[:, None] * np.array([[1.0, 0.0]])
    labels = (side < 0).astype(float)
    labels[0] = 1.0
    first = np.column_stack([labels, rows])
    second = first.copy()
    second[0] = [0.0, -1.0, 0.0]
    return first, second, 0.5 * side[:, None]


class FixedEmbedding(Embedding):
    """With a public start that is the worst for the attained bound."""

    def start(self, n, stream):
        return neighbours()[2]


class FixedStart(PrivateMail):
    """The same as an estimator."""

    _kind = FixedEmbedding


def estimator(**parameters):
    settings = {"private_iterations": 1, "post_iterations": 0, "max_norm": 0.5, "bandwidth": 1.0}
    return FixedStart(1, **{"guarantee": cdp.GDP(2.0), **settings, **parameters})


def exact(data, form="normalised"):
    w_x, w_y = twin.gaussian_kernel(data[:, 1:], 1.0), twin.label_kernel(data[:, 0], 1.0)
    return twin.iterate(neighbours()[2], w_x, w_y, 0.5, form)


def along(form="normalised"):
    """Score: the coordinate along the line between both exact embeddings."""
    first, second, _ = neighbours()
    direction = exact(first, form) - exact(second, form)
    direction /= np.linalg.norm(direction)
    return lambda value: float(np.sum(direction * value))


def audit(release, claimed, count, score=None):
    first, second, _ = neighbours()
    return audit_release_function(
        release,
        first,
        second,
        score or along(),
        n_releases=count,
        claimed=claimed,
        confidence=CONFIDENCE,
    )
