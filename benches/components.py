"""Share of variance that private principal components hold, and private means of unit vectors.

    CURVEDP_DATA=... python benches/components.py [--repeats 20] [gestures] [tensors] [images]
        [means] [at-once] [weights] [shapes]

Gestures (emg_covariances, SPD(8)): the first session is public and gives the ball, as in
benches/learning.py. Tensors (dti_tensors, SPD(3)): the scan small_101D is public and gives the
ball, small_64D is private. Such balls have the public mean as centre and the distance that 90 %
keep as radius. Images (retrieval_features): unit vectors in the unit ball of R^64. Told is the
share of the second moment of the private records' logarithms at the released mean, means and
standard errors. At once: the exponential mechanism on the Grassmannian of the gestures, whose score
is the share of the second moment on a subspace, by a Gibbs chain that turns one of its directions
after the other: its law is that of the mechanism in the limit alone, so it releases nothing here.
Weights: the shares of one and three components by default and with the weights .2, .7, .1. Shapes:
1,000 made-up ones of 12 landmarks, normal about the centre of a ball of .4, half of whose variance
of .0095 is along one direction, at epsilon = 1: the released total variance, and the cosine of the
component to that direction.
The parameters of `principal_components` were chosen on made-up data alone, but for the rule of its
default weights. The tables of docs/measured/learning.md are this script's output.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.learning import TangentPCA
from learning import gestures

COUNTS = (1, 3, 5)
GUARANTEES = (
    *(cdp.PureDP(0.5), cdp.PureDP(1.0), cdp.PureDP(4.0)),
    *(cdp.GDP(0.25), cdp.GDP(0.5), cdp.GDP(1.0)),
)
PARTS = ("gestures", "tensors", "images", "means", "at-once", "weights", "shapes")


def ball_of(public: np.ndarray, manifold: cdp.Manifold) -> cdp.Ball:
    """The mean of public records and the distance that 90 % of them keep."""
    center = cdp.nonprivate.frechet_mean(public, manifold).value
    radius = np.quantile(manifold.dist(public, center), 0.9)
    return cdp.Ball(manifold, center, float(radius))


def tensors(folder: Path, name: str) -> np.ndarray:
    """Diffusion tensors inside the brain, in um^2/ms."""
    stored = np.load(folder / "dti_tensors" / f"{name}.npz")
    found = stored["tensor"][stored["mask"].astype(bool)]
    return found[np.linalg.eigvalsh(found)[:, 0] > 1e-3]


def data(folder: Path, name: str) -> tuple[cdp.Ball, np.ndarray]:
    """The public ball and private records."""
    if name == "gestures":
        return gestures(folder)[:2]
    if name == "tensors":
        return ball_of(tensors(folder, "small_101D"), cdp.SPD(3)), tensors(folder, "small_64D")
    stored = np.load(folder / "retrieval_features" / "fashion_pca64_unit_5000.npz")
    rows = stored["features"].astype(np.float64)
    return cdp.Ball("euclidean:64", np.zeros(64), 1.0), rows


def shares(ball: cdp.Ball, records: np.ndarray, model: TangentPCA) -> Iterator[float]:
    """Of the second moment at the released mean, along the first 1, 2, ... components."""
    manifold, rows = ball.manifold, model.components_
    logs = manifold.log(records, model.mean_)
    coords = manifold.tangent_to_coords(logs, model.mean_)
    squares = ((coords @ rows.T) ** 2).sum(axis=0)
    yield from np.cumsum(squares) / np.sum(coords**2)


def tell_components(folder: Path, name: str, repeats: int) -> None:
    ball, records = data(folder, name)
    space = ball.manifold
    point = cdp.nonprivate.frechet_mean(records, space).value
    coords = space.tangent_to_coords(space.log(records, point), point)
    values = np.linalg.eigvalsh(coords.T @ coords)[::-1]
    possible = [float(values[:k].sum() / values.sum()) for k in COUNTS]
    print(f"{name}: n = {len(records)}, dim = {space.dim}, r = {ball.radius:.3g}", flush=True)
    print(f"  without noise {told(possible)}", flush=True)
    for guarantee in GUARANTEES:
        for mechanism in ("exponential", "moment"):
            found, start = np.empty((repeats, len(COUNTS))), time.perf_counter()
            for repeat in range(repeats):
                for place, k in enumerate(COUNTS):
                    model = TangentPCA(ball, guarantee, k, mechanism=mechanism, coverage=False)
                    *_, found[repeat, place] = shares(ball, records, model.fit(records))
            took = (time.perf_counter() - start) / found.size
            errors = found.std(axis=0, ddof=1).max() / np.sqrt(repeats)
            print(
                f"  {guarantee}, {mechanism}: {told(found.mean(axis=0))} (standard errors at most "
                f"{errors:.3f}; {took:.2f} s a fit)",
                flush=True,
            )


def tell_weights(folder: Path, repeats: int) -> None:
    """Shares of one and of three components, by default and with a fifth for the mean."""
    for name in ("gestures", "tensors", "images"):
        ball, records = data(folder, name)
        for k, weights in itertools.product((1, 3), (None, (0.2, 0.7, 0.1))):
            found = np.empty((repeats, 5))
            for place, budget in enumerate((1.0, 2.0, 5.0, 0.5, 1.0)):
                guarantee = cdp.PureDP(budget) if place < 3 else cdp.GDP(budget)
                how = {"mechanism": "exponential", "weights": weights, "coverage": False}
                for repeat in range(repeats):
                    model = TangentPCA(ball, guarantee, k, **how).fit(records)
                    *_, found[repeat, place] = shares(ball, records, model)
            error = found.std(axis=0, ddof=1).max() / np.sqrt(repeats)
            print(
                f"{name}, k = {k}, {weights}: {told(found.mean(axis=0))} ({error:.3f})", flush=True
            )


def told(numbers: np.ndarray | list[float]) -> str:
    return ", ".join(f"{x:.3f}"[1:] if x < 1 else "1" for x in numbers)


def tell_means(folder: Path, repeats: int) -> None:
    """Angle between the private mean of unit vectors and the direction of their exact mean."""
    stored = np.load(folder / "retrieval_features" / "fashion_pca64_unit_5000.npz")
    rows, labels = stored["features"].astype(np.float64), stored["label"]
    flat, sphere = cdp.Ball("euclidean:64", np.zeros(64), 1.0), cdp.Sphere(63)
    for k in (0, 5, 9):
        own = rows[labels == k]
        exact = own[50:].mean(axis=0)
        narrow = ball_of(own[:50], sphere)
        wide = cdp.Ball(sphere, narrow.center, 1.5)
        balls = {"unit ball": flat, f"cap of {narrow.radius:.2f}": narrow, "cap of 1.5": wide}
        size = np.linalg.norm(exact)
        print(f"class {k}: n = {len(own) - 50}, |mean| = {size:.2f}", flush=True)
        for guarantee in (cdp.GDP(0.5), cdp.GDP(1.0), cdp.GDP(3.0), cdp.PureDP(3.0)):
            told_of = []
            for name, ball in balls.items():
                try:
                    found = [
                        cdp.frechet_mean(own[50:], ball, guarantee, coverage=False).value
                        for _ in range(repeats)
                    ]
                except cdp.errors.ExistenceError:
                    told_of.append(f"{name} none")
                    continue
                angle = np.mean([_angle(value, exact / size) for value in found])
                told_of.append(f"{name} {angle:.3f}")
            print(f"  {guarantee}: {'; '.join(told_of)}", flush=True)


def tell_at_once(folder: Path) -> None:
    """Shares at epsilon = 1, .7 of it the subspace's, and how often rejection would accept."""
    ball, records = gestures(folder)[:2]
    space, rng = ball.manifold, np.random.default_rng(1)
    point = cdp.nonprivate.frechet_mean(records, space).value
    coords = space.tangent_to_coords(space.log(records, point), point)
    lengths, moment = np.linalg.norm(coords, axis=1), coords.T @ coords
    for bound in (ball.radius, float(np.median(lengths))):
        short = coords / np.maximum(lengths, bound)[:, None]
        found, rates = [], []
        for k in COUNTS:
            form = 0.5 * 0.7 * (short.T @ short)
            found.append(_chain(form, moment, k, rng) / float(np.trace(moment)))
            rates.append(_acceptance(form, k, rng))
        accepted = ", ".join(f"{rate:.1g}" for rate in rates)
        print(f"at once, shortened to {bound:.2f}: {told(found)}; accepted {accepted}", flush=True)


def _chain(form: np.ndarray, moment: np.ndarray, k: int, rng: np.random.Generator) -> float:
    """Mean of tr V' moment V over subspaces V of dimension k with density exp(tr V' form V)."""
    frame, kept = np.linalg.qr(rng.standard_normal(form.shape))[0], []
    for sweep in range(60):
        for i in range(k):
            for j in range(k, len(form)):
                u, v = frame[:, i].copy(), frame[:, j].copy()
                across, along = u @ form @ v, (u @ form @ u - v @ form @ v) / 2
                angle = rng.vonmises(np.arctan2(across, along), np.hypot(across, along)) / 2
                frame[:, i] = np.cos(angle) * u + np.sin(angle) * v
                frame[:, j] = np.cos(angle) * v - np.sin(angle) * u
        if sweep >= 20:
            kept.append(np.trace(frame[:, :k].T @ moment @ frame[:, :k]))
    return float(np.mean(kept))


def _acceptance(form: np.ndarray, k: int, rng: np.random.Generator) -> float:
    """Largest acceptance of angular central Gaussian subspaces, bounded by each eigenvalue."""
    values, dim = np.linalg.eigvalsh(form)[::-1], len(form)
    costs = values[0] - values  # density exp(-tr V' diag(costs) V)
    best = 0.0
    for b in np.geomspace(0.05, 20.0, 25):

        def over(x: np.ndarray, b: float = float(b)) -> np.ndarray:
            return dim / 2 * np.log1p(2 * x / b) - x

        # interlacing: the i-th eigenvalue is at least the i-th cost; `over` falls from (dim - b)/2
        most = over(np.maximum(costs[:k], (dim - b) / 2)).sum()
        draws = rng.standard_normal((4000, dim, k)) / np.sqrt(1 + 2 * costs / b)[:, None]
        frames = np.linalg.qr(draws)[0]
        own = np.linalg.eigvalsh(np.einsum("nik,i,nil->nkl", frames, costs, frames))
        best = max(best, float(np.exp(over(own).sum(axis=1) - most).mean()))
    return best


def tell_shapes(repeats: int) -> None:
    """Means over releases of one component, with the mean printed error."""
    space, rng = cdp.KendallPlanar(12), np.random.default_rng(7)
    ball = cdp.Ball(space, space.project(rng.standard_normal((12, 2))), 0.4)
    variances = 0.0095 / 2 * np.r_[1.0, np.full(space.dim - 1, 1 / (space.dim - 1))]
    coords = np.sqrt(variances) * rng.standard_normal((1000, space.dim))
    records = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    first = space.coords_to_tangent(np.eye(space.dim)[0], ball.center)
    found = []
    for _ in range(repeats):
        release = cdp.principal_components(records, 1, ball, cdp.PureDP(1.0), coverage=False)
        mean, along = release.parts[0].value, release.parts[1]
        moved = space.parallel_transport(first, ball.center, end_point=mean)
        true = space.tangent_to_coords(moved, mean)
        found.append((along.value.sum(), along.expected_error, abs(release.value[0] @ true)))
    total, printed, cosine = np.mean(found, axis=0)
    off = float(np.std(found, axis=0, ddof=1)[2] / np.sqrt(repeats))
    print(f"shapes: total {total:.4f}, printed error {printed:.4f}, |cos| {cosine:.2f} ({off:.2f})")


def _angle(vector: np.ndarray, exact: np.ndarray) -> float:
    return float(np.arccos(np.clip(vector @ exact / np.linalg.norm(vector), -1, 1)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=PARTS)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    folder = Path(os.environ["CURVEDP_DATA"])
    warnings.simplefilter("ignore", NoiseWarning)
    for part in given.parts:
        if part == "means":
            tell_means(folder, given.repeats)
        elif part == "at-once":
            tell_at_once(folder)
        elif part == "weights":
            tell_weights(folder, given.repeats)
        elif part == "shapes":
            tell_shapes(given.repeats)
        else:
            tell_components(folder, part, given.repeats)


if __name__ == "__main__":
    main()
