"""Records that are no usable points of a manifold."""

from __future__ import annotations

import numpy as np

from manifold_list import FRAMES, Case
from reference.twin import Array


def bad_records(case: Case, center: Array) -> dict[str, Array]:
    """Records of the right shape and dtype that are no usable points."""
    shape = case.twin.point_shape
    holed = center.copy()
    holed.flat[-1] = np.nan
    bad = {
        "NaN": np.full(shape, np.nan),
        "one NaN": holed,
        "infinite": np.full(shape, np.inf),
        "minus infinite": np.full(shape, -np.inf),
    }
    if case.name.startswith(("euclidean", "torus")):
        return bad
    bad["zero"] = np.zeros(shape)
    if case.name.startswith("sphere"):
        bad["antipodal"] = -center
        bad["antipodal and long"] = -1e300 * center
        return bad
    if case.name.startswith("projective"):
        return bad
    if case.name.startswith("grassmann") and shape[1] == 1:
        return bad
    if case.name.startswith("grassmann"):
        bad["dependent"] = center[:, [0] * shape[1]] * np.arange(1.0, shape[1] + 1.0)
    bad |= {"huge": np.full(shape, 1e308), "tiny": np.full(shape, 5e-324)}
    if case.name.startswith("hyperboloid"):
        bad["lower sheet"] = -center
        bad["light-like"] = np.eye(1, shape[0])[0] + np.eye(1, shape[0], 1)[0]
    if case.name.startswith("kendall"):
        bad["one place"] = np.ones(shape)
        bad["one place up to rounding"] = np.ones(shape) + 1e-16 * center
    if case.name.startswith(FRAMES):
        above = np.triu(np.full(shape[:2], 0.1), 1)
        bad["scaled"] = 1.001 * center
        bad["sheared"] = center + above.reshape(*shape[:2], *[1] * (len(shape) - 2))
        if shape[0] == 1:
            bad["sheared"] = center * [2.0, 0.5]
    if case.name.startswith("so"):
        bad["turned over"] = center * np.where(np.arange(shape[0]) == 0, -1.0, 1.0)
    if case.name.startswith("correlation"):
        bad["more than 1"] = np.where(np.eye(shape[0]) > 0, 1.0, 1.01)
        bad["singular"] = np.ones(shape)
        bad["negative variances"] = -center
        bad["asymmetric"] = center + np.triu(np.full(shape, 0.1), 1)
    if case.name.startswith("hpd"):
        bad["negative definite"] = -center
        bad["indefinite"] = np.diag([1.0, -1.0, 1.0, -1.0, 1.0][: shape[0]])[..., None] * [1.0, 0.0]
        bad["singular"] = np.ones(shape) * [1.0, 0.0]
        bad["symmetric, not Hermitian"] = center + np.array([0.0, 0.1])
        if shape[0] == 1:
            bad["indefinite"] = -bad["indefinite"]
            del bad["singular"]
    if case.name.startswith("spd"):
        bad["negative definite"] = -center
        bad["indefinite"] = np.diag([1.0, -1.0, 1.0][: shape[0]])
        bad["singular"] = np.ones(shape)
        bad["asymmetric"] = center + np.triu(np.ones(shape), 1)
    return bad
