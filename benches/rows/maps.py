"""Rows for exp, log, dist and pairwise distances."""

from __future__ import annotations

import numpy as np
import pyriemann.geometry.distance as pyriemann_distance
import pyriemann.geometry.tangentspace as pyriemann_maps
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.hpd_matrices import HPDMatrices
from geomstats.geometry.hyperboloid import Hyperboloid as GeomstatsHyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.pre_shape import PreShapeSpace
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

import curvedp as cdp
from benchmarks import workloads
from harness import Peer, Row
from peers import grassmann, hyperboloid, kendall, rotations, spd, sphere
from rows import ROWS


def _sphere_dist(quick: bool) -> Row:
    n = 10_000 if quick else 100_000
    x, y, _ = workloads.sphere(2, n)
    ours, geomstats = cdp.Sphere(2), Hypersphere(dim=2).metric
    return Row(
        f"n={n}",
        lambda: ours.dist(x, y),
        {
            "NumPy arccos": Peer(lambda: sphere.dist_arccos(x, y), 1.5),
            "NumPy atan2": Peer(lambda: sphere.dist_atan2(x, y)),
            "geomstats": Peer(lambda: geomstats.dist(x, y), 10),
        },
    )


ROWS.add("S^2 dist")(_sphere_dist)


def _sphere_exp(dim: int):
    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        x, _, v = workloads.sphere(dim, n)
        ours, geomstats = cdp.Sphere(dim), Hypersphere(dim=dim).metric
        return Row(
            f"n={n}",
            lambda: ours.exp(v, x),
            {
                "NumPy": Peer(lambda: sphere.exp(v, x), 4 if dim < 50 else None),
                "geomstats": Peer(lambda: geomstats.exp(v, x)),
            },
        )

    return build


def _sphere_log(dim: int):
    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        x, y, _ = workloads.sphere(dim, n)
        ours, geomstats = cdp.Sphere(dim), Hypersphere(dim=dim).metric
        return Row(
            f"n={n}",
            lambda: ours.log(y, x),
            {
                "NumPy": Peer(lambda: sphere.log(y, x)),
                "geomstats": Peer(lambda: geomstats.log(y, x)),
            },
        )

    return build


for _dim in (2, 9, 99):
    ROWS.add(f"S^{_dim} exp")(_sphere_exp(_dim))
    ROWS.add(f"S^{_dim} log")(_sphere_log(_dim))


@ROWS.add("S^99 exp into out=")
def _sphere_exp_out(quick: bool) -> Row:
    """Against copying the bytes that exp must read and write: both inputs in, one output out."""
    n = 10_000 if quick else 100_000
    x, _, v = workloads.sphere(99, n)
    ours, out = cdp.Sphere(99), np.empty_like(x)
    source = np.concatenate((x, v))[: 3 * n // 2]
    sink = np.empty_like(source)

    def copy():
        np.copyto(sink, source)

    return Row(
        f"n={n}",
        lambda: ours.exp(v, x, out=out),
        {"copy of the same bytes": Peer(copy, 0.5, comparable=False)},
    )


_SPD_DIST_TARGETS = {
    2: {"closed form": 1, "pyriemann": 20},
    3: {"closed form": 1, "pyriemann": 20},
    5: {"NumPy Cholesky + eigvalsh": 6},
    11: {"NumPy Cholesky + eigvalsh": 3},
}
_SPD_MAP_TARGETS = {3: 8, 11: 3}


def _spd_size(m: int, quick: bool) -> int:
    return 2_000 if quick else 10_000 if m > 5 else 100_000


def _spd_dist(m: int):
    def build(quick: bool) -> Row:
        n = _spd_size(m, quick)
        p, q, _ = workloads.spd(m, n)
        ours, geomstats = cdp.SPD(m), SPDMatrices(n=m).metric
        targets = _SPD_DIST_TARGETS[m]
        general = "NumPy Cholesky + eigvalsh"
        peers = {
            general: Peer(lambda: spd.dist(p, q), targets.get(general)),
            "pyriemann": Peer(
                lambda: pyriemann_distance.distance_riemann(p, q), targets.get("pyriemann")
            ),
            "geomstats": Peer(lambda: geomstats.dist(p, q)),
        }
        closed = {2: spd.dist_2x2, 3: spd.dist_3x3}.get(m)
        if closed is not None:
            peers["NumPy closed form"] = Peer(lambda: closed(p, q), targets["closed form"])
        return Row(f"n={n}", lambda: ours.dist(p, q), peers)

    return build


def _spd_exp(m: int):
    def build(quick: bool) -> Row:
        n = _spd_size(m, quick)
        p, _, v = workloads.spd(m, n)
        ours, geomstats = cdp.SPD(m), SPDMatrices(n=m).metric
        return Row(
            f"n={n}",
            lambda: ours.exp(v, p),
            {
                "NumPy": Peer(lambda: spd.exp(v, p), _SPD_MAP_TARGETS[m]),
                "pyriemann": Peer(lambda: pyriemann_maps.exp_map_riemann(v, p, Cm12=True)),
                "geomstats": Peer(lambda: geomstats.exp(v, p)),
            },
        )

    return build


def _spd_log(m: int):
    def build(quick: bool) -> Row:
        n = _spd_size(m, quick)
        p, q, _ = workloads.spd(m, n)
        ours, geomstats = cdp.SPD(m), SPDMatrices(n=m).metric
        return Row(
            f"n={n}",
            lambda: ours.log(q, p),
            {
                "NumPy": Peer(lambda: spd.log(q, p), _SPD_MAP_TARGETS[m]),
                "pyriemann": Peer(lambda: pyriemann_maps.log_map_riemann(q, p, C12=True)),
                "geomstats": Peer(lambda: geomstats.log(q, p)),
            },
        )

    return build


for _m in (2, 3, 5, 11):
    ROWS.add(f"SPD({_m}) dist")(_spd_dist(_m))
for _m in (3, 11):
    ROWS.add(f"SPD({_m}) exp")(_spd_exp(_m))
    ROWS.add(f"SPD({_m}) log")(_spd_log(_m))


def _kendall(operation: str):
    def build(quick: bool) -> Row:
        n, k = (1_000 if quick else 10_000), 50
        z, w = workloads.kendall(k, n)
        base, point = workloads.as_planar(z), workloads.as_planar(w)
        v = kendall.log(w, z)
        tangent = workloads.as_planar(v)
        space = PreShapeSpace(k_landmarks=k, ambient_dim=2)
        space.equip_with_group_action("rotations")
        space.equip_with_quotient()
        ours, geomstats = cdp.KendallPlanar(k), space.quotient.metric
        run = {
            "dist": (
                lambda: ours.dist(base, point),
                lambda: kendall.dist(z, w),
                lambda: geomstats.dist(base, point),
            ),
            "log": (
                lambda: ours.log(point, base),
                lambda: kendall.log(w, z),
                lambda: geomstats.log(point, base),
            ),
            "exp": (
                lambda: ours.exp(tangent, base),
                lambda: kendall.exp(v, z),
                lambda: geomstats.exp(tangent, base),
            ),
        }[operation]
        return Row(
            f"n={n} k={k}",
            run[0],
            {
                # complex rows against (k, 2) arrays: the values agree, the layout does not
                "NumPy complex": Peer(run[1], 2, comparable=operation == "dist"),
                "geomstats": Peer(run[2]),
            },
        )

    return build


def _hyperboloid(operation: str):
    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        x, y, v = workloads.hyperboloid(10, n)
        ours, geomstats = cdp.Hyperboloid(10), GeomstatsHyperboloid(dim=10).metric
        arguments = {"dist": (x, y), "log": (y, x), "exp": (v, x)}[operation]
        return Row(
            f"n={n}",
            lambda: getattr(ours, operation)(*arguments),
            {
                "NumPy": Peer(lambda: getattr(hyperboloid, operation)(*arguments), 2),
                "geomstats": Peer(lambda: getattr(geomstats, operation)(*arguments)),
            },
        )

    return build


for _name, _build in (("Kendall", _kendall), ("H^10", _hyperboloid)):
    for _operation in ("dist", "log", "exp"):
        ROWS.add(f"{_name} {_operation}")(_build(_operation))


def _rotations(operation: str):
    def build(quick: bool) -> Row:
        n = 500 if quick else 5_000  # geomstats takes milliseconds for each row
        x, y, v = workloads.rotations(n)
        ours, geomstats = cdp.Rotations(), SpecialOrthogonal(3).metric
        arguments = {"dist": (x, y), "log": (y, x), "exp": (v, x)}[operation]
        return Row(
            f"n={n}",
            lambda: getattr(ours, operation)(*arguments),
            {
                "SciPy": Peer(lambda: getattr(rotations, operation)(*arguments)),
                "geomstats": Peer(lambda: getattr(geomstats, operation)(*arguments)),
            },
        )

    return build


for _operation in ("dist", "log", "exp"):
    ROWS.add(f"SO(3) {_operation}")(_rotations(_operation))


def _hermitian(operation: str):
    def build(quick: bool) -> Row:
        n = 500 if quick else 10_000
        p, q, v = workloads.hermitian(4, n)
        ours, geomstats = cdp.HPD(4), HPDMatrices(n=4).metric
        arguments = {"dist": (p, q), "log": (q, p), "exp": (v, p)}[operation]
        whitened = {"C12": True} if operation == "log" else {"Cm12": True}
        theirs = {
            "dist": lambda: pyriemann_distance.distance_riemann(p, q),
            "log": lambda: pyriemann_maps.log_map_riemann(q, p, **whitened),
            "exp": lambda: pyriemann_maps.exp_map_riemann(v, p, **whitened),
        }[operation]

        def run():
            found = getattr(ours, operation)(*arguments)
            return found if operation == "dist" else ours.to_complex(found)

        return Row(
            f"n={n}",
            run,
            {
                "pyriemann": Peer(theirs),
                "geomstats": Peer(lambda: getattr(geomstats, operation)(*arguments)),
            },
        )

    return build


def _grassmann(operation: str):
    def build(quick: bool) -> Row:
        n = 500 if quick else 2_000  # geomstats takes a millisecond for each row
        x, y, v = workloads.grassmann(10, 3, n)
        ours, space = cdp.Grassmann(10, 3), Grassmannian(10, 3)
        arguments = {"dist": (x, y), "log": (y, x), "exp": (v, x)}[operation]
        first, second = (a @ np.swapaxes(a, 1, 2) for a in (x, y))
        tangent = v @ np.swapaxes(x, 1, 2) + x @ np.swapaxes(v, 1, 2)
        projectors = {"dist": (first, second), "log": (second, first), "exp": (tangent, first)}

        return Row(
            f"n={n}",
            lambda: getattr(ours, operation)(*arguments),
            {
                # bases of one subspace differ: only distances and logarithms at one basis compare
                "NumPy SVD": Peer(
                    lambda: getattr(grassmann, operation)(*arguments), comparable=operation != "exp"
                ),
                "geomstats": Peer(
                    lambda: getattr(space.metric, operation)(*projectors[operation]),
                    comparable=False,  # projectors, and distances sqrt 2 times as long
                ),
            },
        )

    return build


for _operation in ("dist", "log", "exp"):
    ROWS.add(f"HPD(4) {_operation}")(_hermitian(_operation))
for _operation in ("dist", "log", "exp"):
    ROWS.add(f"Gr(10, 3) {_operation}")(_grassmann(_operation))


@ROWS.add("pairwise S^2")
def _pairwise_sphere(quick: bool) -> Row:
    n = 200 if quick else 2_000
    x, _, _ = workloads.sphere(2, n)
    ours, geomstats = cdp.Sphere(2), Hypersphere(dim=2).metric
    return Row(
        f"n={n}",
        lambda: ours.pairwise_dist(x),
        {
            "NumPy arccos": Peer(lambda: sphere.pairwise_arccos(x), 2),
            "SciPy chord": Peer(lambda: sphere.pairwise_chord(x)),
            "geomstats dist_pairwise": Peer(lambda: geomstats.dist_pairwise(x)),
        },
    )


@ROWS.add("pairwise SPD(3)")
def _pairwise_spd(quick: bool) -> Row:
    n = 200 if quick else 2_000
    p, _, _ = workloads.spd(3, n)
    ours = cdp.SPD(3)
    return Row(
        f"n={n}",
        lambda: ours.pairwise_dist(p),
        {
            "NumPy closed form": Peer(lambda: spd.pairwise_3x3(p), 3),
            "pyriemann": Peer(
                lambda: pyriemann_distance.pairwise_distance(p, metric="riemann"), 10
            ),
        },
    )
