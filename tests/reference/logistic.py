"""Twin of the kernel of logistic regression: each record's gradient straight from the formula."""

from __future__ import annotations

import itertools

import numpy as np


def gradient(z, code, weights):
    """(p - e_y) z^T, p the softmax of W z, of one record; 0 where its class is none of W's."""
    scores = np.array([sum(w * x for w, x in zip(row, z, strict=True)) for row in weights])
    odds = np.exp(scores - scores.max())
    residual = odds / odds.sum()
    if not 0 <= code < len(weights):
        return np.zeros_like(weights)
    residual[code] -= 1.0
    return np.outer(residual, z)


def mean_gradient(coords, codes, ends, weights, features, max_length):
    """The mean over units of the mean of their records' gradients, each shortened to a length."""
    scale, constant = features
    units = []
    for start, end in itertools.pairwise(ends):
        own = [
            gradient(np.append(scale * coords[i], constant), codes[i], weights)
            for i in range(start, end)
        ]
        mean = np.mean(own, axis=0)
        length = np.linalg.norm(mean)
        units.append(mean if length <= max_length else mean * (max_length / length))
    return np.mean(units, axis=0)
