"""Accuracy and cost of the conformal mean's tools on S^2.

    python benches/conformal.py [eigenvalues] [harmonics] [large] [release] [errors]
        [dimensions] [--threads 2]

``eigenvalues``: of the Laplacian at 1e5 nodes against l(l + 1). ``harmonics``: error of solutions
against spherical harmonics. ``large``: seconds and memory at 1e6 nodes. ``release``: one release
beside the paper's pipeline in NumPy and SciPy. ``errors``: of the conformal mean, beside what it
prints and beside Laplace noise. ``dimensions``: over the error of `frechet_mean`, with the noise
that it takes, under pure epsilon and GDP. docs/measured/conformal-means.md is its output; errors
in the paper's experiments: `papers/conformal.py`.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable

PARTS = ("eigenvalues", "harmonics", "large", "release", "errors", "dimensions")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nodes", type=int, help="instead of 1e5 or 1e6")
    return parser.parse_args()


ARGUMENTS = _arguments()
for _library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{_library}_NUM_THREADS"] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import scipy.sparse.linalg as spl  # noqa: E402
from scipy.special import sph_harm_y  # noqa: E402

import curvedp as cdp  # noqa: E402
from curvedp.conformal import (  # noqa: E402
    ConformalLaplace,
    density,
    factor,
    fibonacci_mesh,
    helmholtz_poisson,
    icosphere_mesh,
    knn_graph,
    laplacian,
)
from curvedp.datasets import von_mises_fisher  # noqa: E402
from harness import medians  # noqa: E402
from peers import conformal  # noqa: E402

POLE = np.array([0.0, 0.0, 1.0])


def eigenvalues() -> None:
    """The 24 least positive eigenvalues, l = 1..4, by shift and invert."""
    count = ARGUMENTS.nodes or 100_000
    for k in (10, 24):
        operator = laplacian(knn_graph(fibonacci_mesh(count), k))
        root = sp.diags_array(operator.mass**-0.5)
        symmetric = root @ operator.stiffness @ root

        def inverse(x: np.ndarray, operator=operator) -> np.ndarray:
            scaled = helmholtz_poisson(
                operator, x * operator.mass**-0.5, upsilon=1.0, tol=1e-12, method="multigrid"
            )
            return scaled.value * operator.mass**0.5

        solve = spl.LinearOperator(symmetric.shape, matvec=inverse, dtype=np.float64)
        found = spl.eigsh(
            symmetric, 25, sigma=-1.0, OPinv=solve, return_eigenvectors=False, v0=np.ones(count)
        )
        exact = np.repeat([0, 2, 6, 12, 20], [1, 3, 5, 7, 9])
        ratio = np.sort(found)[1:] / exact[1:] - 1
        cells = [f"{100 * np.abs(ratio[exact[1:] == e]).max():.3f} %" for e in (2, 6, 12, 20)]
        print(f"| {count} nodes, k = {k} | " + " | ".join(cells) + " |", flush=True)


def harmonics() -> None:
    """Errors of sigma for right-hand sides Y_l1, l = 1..4, upsilon = 1: in norm, at worst."""
    for name, build in (
        ("Fibonacci", lambda level: fibonacci_mesh(10 * 4**level)),
        ("icosphere", icosphere_mesh),
    ):
        for level in (3, 4, 5, 6):
            mesh = build(level)
            operator = laplacian(knn_graph(mesh, 24))
            x, y, z = mesh.points.T
            angles = np.arccos(np.clip(z, -1, 1)), np.arctan2(y, x)
            h = np.array([sph_harm_y(degree, 1, *angles).real for degree in (1, 2, 3, 4)])
            exact = h / np.array([3.0, 7.0, 13.0, 21.0])[:, None]
            solution = helmholtz_poisson(operator, h, upsilon=1.0)
            gap, mass = solution.value - exact, operator.mass
            norm = np.sqrt((mass * gap**2).sum(1) / (mass * exact**2).sum(1)).max()
            worst = (np.abs(gap).max(1) / np.abs(exact).max(1)).max()
            certified = solution.max_error.max()
            print(
                f"| {name} | {len(mesh)} | {norm:.2%} | {worst:.2%} | {certified:.0e} |", flush=True
            )


def large() -> None:
    """Everything at 1e6 nodes, once."""
    count = ARGUMENTS.nodes or 1_000_000
    records = von_mises_fisher(100_000, POLE, 100.0, rng=1)
    ball = cdp.Ball("sphere:2", POLE, 0.7)
    begin = last = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal last
        now = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"| {name} | {now - last:.2f} | {peak:.2f} |", flush=True)
        last = now

    graph = knn_graph(fibonacci_mesh(count), 10)
    lap("mesh and graph, k = 10")
    operator = laplacian(graph)
    lap("Laplacian, scaled to -Delta_g")
    released = density(records, ball, cdp.PureDP(0.5), mesh=operator, heat_time=0, coverage=False)
    lap("density of 1e5 records")
    found = factor(released, 1.0)
    lap(f"solve, upsilon = 1 ({found.solution.method}, error {found.max_error:.0e})")
    mechanism = ConformalLaplace(
        graph.mesh, found.sigma, ball=ball, sensitivity=1e-4, guarantee=cdp.PureDP(0.5)
    )
    mechanism.sample(POLE)
    lap("draw")
    print(f"| in all | {last - begin:.2f} | |", flush=True)


def release() -> None:
    """Medians of one release: N = 500, epsilon = 0.3, 5000 nodes; the paper's with 1e4 steps."""
    records = von_mises_fisher(500, POLE, 100.0, rng=1)
    rng = np.random.default_rng(0)
    ball = cdp.Ball("sphere:2", POLE, 0.7)
    mesh_of_its_own: list[cdp.Ball] = []

    def fresh() -> None:
        mesh_of_its_own.append(cdp.Ball("sphere:2", POLE, 0.7))
        cdp.conformal_mean(records, mesh_of_its_own[-1], cdp.PureDP(0.3))

    ways: dict[str, Callable[[], object]] = {
        "Riemannian Laplace": lambda: cdp.frechet_mean(records, ball, cdp.PureDP(0.3)),
        "conformal, 5000 nodes": lambda: cdp.conformal_mean(records, ball, cdp.PureDP(0.3)),
        "conformal, mesh and graph made anew": fresh,
        "conformal, published, 1e4 steps": lambda: cdp.published.conformal_mean(
            records, ball, cdp.PureDP(0.3), bandwidth=0.5, distance="graph"
        ),
        "published, NumPy and SciPy": lambda: conformal.release(records, rng),
    }
    found = medians(ways, rounds=9, budget=20.0)[0]
    for name, seconds in found.items():
        print(f"| {name} | {1e3 * seconds:.2f} |", flush=True)


def errors() -> None:
    """Mean distances from the exact mean, epsilon = 1: normal records of spread r/2 at r/3 from the
    centre; what is printed before and at the release; outside the ball; over the Laplace's."""
    claim, rng = cdp.PureDP(1.0), np.random.default_rng(0)
    for spec, radius, draws in (
        ("sphere:2", 0.5, 100),
        ("rotations:3", 0.5, 100),
        ("hyperboloid:3", 0.5, 100),
        ("spd:2", 0.5, 100),
        ("spd:4", 0.5, 60),
        ("spd:9", 2.0, 20),
    ):
        space = cdp.as_manifold(spec)
        ball = cdp.Ball(space, space.origin, radius)
        for n in (500, 7_000, 20_000):
            coords = rng.normal(size=(n, space.dim)) * radius / 2 / space.dim**0.5
            coords[:, 0] += radius / 3
            tangent = space.coords_to_tangent(coords, ball.center)
            records = ball.project(space.exp(tangent, ball.center))
            exact = cdp.nonprivate.frechet_mean(records, space).value

            def drawn(records=records, ball=ball, draws=draws, **phi: object) -> list[cdp.Release]:
                how = phi | {"coverage": False}
                return [cdp.conformal_mean(records, ball, claim, **how) for _ in range(draws)]

            found = drawn()
            phi = factor(cdp.conformal.density(records, ball, claim, coverage=False))
            given = drawn(phi=phi)
            value, own = (np.array([x.value for x in part]) for part in (found, given))
            error = space.dist(exact, value)
            mean, spread = error.mean(), error.std() / draws**0.5
            printed = np.mean([x.expected_error for x in found])
            plan = cdp.plan("conformal_mean", ball, claim, n=n, coverage=False)
            laplace = cdp.expected_error(ball, n, claim, coverage=False)
            outside = int((~ball.contains(value)).sum() + (~ball.contains(own)).sum())
            print(
                f"| {space} | {n} | {mean:.3g} ± {spread:.1g} | {mean / printed:.2f} | "
                f"{plan.low:.3g} to {plan.high:.3g} | {outside} | {mean / laplace:.2f} | "
                f"{space.dist(exact, own).mean() / laplace:.2f} |",
                flush=True,
            )


def dimensions() -> None:
    """Mean distances from the exact mean over those of `frechet_mean`, records as in `errors`."""
    for spec, radius, draws in (
        ("sphere:2", 0.5, 60),
        ("sphere:10", 0.5, 30),
        ("euclidean:64", 1.0, 20),
        ("euclidean:384", 1.0, 5),
    ):
        space, rng, n = cdp.as_manifold(spec), np.random.default_rng(0), 7_000
        ball = cdp.Ball(space, space.origin, radius)
        coords = rng.normal(size=(n, space.dim)) * radius / 2 / space.dim**0.5
        coords[:, 0] += radius / 3
        records = ball.project(space.exp(space.coords_to_tangent(coords, ball.center), ball.center))
        exact = cdp.nonprivate.frechet_mean(records, space).value
        cells = []
        for claim in (cdp.PureDP(1.0), cdp.GDP(1.0)):
            errors = []
            for release in (cdp.conformal_mean, cdp.frechet_mean):
                found = [release(records, ball, claim, coverage=False) for _ in range(draws)]
                errors.append(np.mean([space.dist(own.value, exact) for own in found]))
            cells.append(f"{errors[0]:.3g} / {errors[1]:.3g} = {errors[0] / errors[1]:.2f}")
        print(f"| {space} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Measure and print."""
    cdp.set_num_threads(ARGUMENTS.threads)
    for part in ARGUMENTS.parts or PARTS:
        print(f"{part}, {ARGUMENTS.threads} thread(s)")
        {f.__name__: f for f in (eigenvalues, harmonics, large, release, errors, dimensions)}[
            part
        ]()


if __name__ == "__main__":
    main()
