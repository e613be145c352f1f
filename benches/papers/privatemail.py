"""Vepakomma, Balla and Raskar, "Differentially private supervised manifold learning": queries.

    python benches/papers/privatemail.py                 # digits; with CURVEDP_DATA also images
    python benches/papers/privatemail.py --quick --out figures

Prints Markdown: retrieval scores against the budget for one private query among public anchors.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp import _core
from curvedp.mail import PrivateMail, nearest, retrieval_score
from curvedp.mail.cells import choose_n_cells, predict_class, randomised_response

EPSILONS = (1.0, 3.0, 5.0, 8.0)
DELTA = 1e-6


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    parser.add_argument("--out", type=Path, help="folder for the figures")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("CURVEDP_DATA"), help="folder of the real data"
    )
    return parser.parse_args()


def images(folder: Path):
    """5,000 Fashion-MNIST images as unit vectors of 64 components: 4,000 anchors, 1,000 queries."""
    stored = np.load(folder / "retrieval_features" / "fashion_pca64_unit_5000.npz")
    return _split(stored["features"].astype(np.float64), stored["label"].astype(np.int64), 4000)


def digits():
    """1,797 handwritten digits of 8 x 8 pixels, centred and scaled to the unit sphere."""
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    rows = rows - 8.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return _split(rows, labels.astype(np.int64), 1400)


def leaves(folder: Path):
    """3,319 leaves of 40 species of passion flowers, 15 landmarks: 2,400 anchors, 520 queries.

    Aligned to the anchors' mean, centred there, scaled to the unit sphere. 13 queries of each
    species, from the leaves that are no anchors, with replacement where they are fewer.
    """
    stored = np.load(folder / "landmarks" / "passiflora.npz")
    landmarks = stored["landmarks"].astype(np.float64)
    labels = np.unique(stored["species"], return_inverse=True)[1].astype(np.int64)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    anchors, others = order[:2400], order[2400:]
    template = cdp.descriptors.AlignedLandmarks(landmarks[anchors].mean(axis=0))
    rows = template.to_points(landmarks)[:, :-1]
    rows = rows - rows[anchors].mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pools = (others[labels[others] == label] for label in np.unique(labels))
    queries = np.concatenate([rng.choice(pool, 13, replace=len(pool) < 13) for pool in pools])
    return rows[anchors], labels[anchors], rows[queries], labels[queries]


def _split(rows, labels, count):
    order = np.random.default_rng(0).permutation(len(rows))
    first, second = order[:count], order[count:]
    return rows[first], labels[first], rows[second], labels[second]


class Queries:
    """Scores of private queries among the anchors of a data set, many draws at once.

    The draws are those of `PrivateMail.embed_query`, whose cells, places and scales are used.
    """

    def __init__(self, data, n_components: int, bandwidth: float, alpha: float) -> None:
        self.anchors, self.labels, self.queries, self.wanted = data
        self.settings = {"bandwidth": bandwidth, "alpha": alpha, "private_iterations": 2}
        self.n_components = n_components
        self.labelled = self._mail(1.0).anchors(self.anchors, self.labels)
        self.plain = self._mail(1.0).anchors(self.anchors)

    def _mail(self, epsilon: float, delta: float | None = None) -> PrivateMail:
        pure = cdp.PureDP(epsilon)
        guarantee = pure if delta is None else cdp.ApproxDP(epsilon, delta)
        return PrivateMail(self.n_components, guarantee=guarantee, **self.settings)

    def not_private(self):
        return retrieval_score(self.labels[nearest(self.queries, self.anchors, 8)], self.wanted)

    def cell(self, epsilon: float, draws: int, *, labels: bool = True, n_cells: int | None = None):
        public = self.labelled if labels else self.plain
        codes = public.codes
        count = n_cells or choose_n_cells(epsilon, len(self.anchors), codes)
        cells = public.cells(count)
        found = cells.find(self.queries)
        matches = self.labels[nearest(cells.values, public.embedding, 8)]
        stream = _core.Stream.from_os()
        told = np.array(
            [
                [randomised_response(int(c), cells.count, epsilon, stream) for c in found]
                for _ in range(draws)
            ]
        )
        score = retrieval_score(matches[told.reshape(-1)], np.tile(self.wanted, draws))
        return score, cells.count

    def noise(self, epsilon: float, draws: int):
        public = self.plain
        mail = self._mail(epsilon, DELTA)
        scale = mail.embed_query(self.queries[0], public, method="noise").release.scale
        places = public.place(self.queries)
        rng = np.random.default_rng(1)
        scores = [
            self._score(places + scale * rng.standard_normal(places.shape)) for _ in range(draws)
        ]
        return _mean(scores)

    def without_noise(self):
        return self._score(self.plain.place(self.queries))

    def _score(self, places):
        found = nearest(places, self.plain.embedding, 8)
        return retrieval_score(self.labels[found], self.wanted)


def _mean(scores):
    first = scores[0]
    return type(first)(
        {k: float(np.mean([s.recall[k] for s in scores])) for k in first.recall},
        {k: float(np.mean([s.precision[k] for s in scores])) for k in first.precision},
    )


def _cells(score) -> str:
    return f"{score.recall[1]:.3f}, {score.recall[8]:.3f}, {score.precision[8]:.3f}"


def best(epsilon: float, classes: int) -> float:
    """The largest probability with which an epsilon-DP release names one of equally likely classes.

    P(says k | k) <= e^epsilon P(says k | j) for each of the K - 1 others j; summed over j and k,
    (K - 1) sum_k P(says k | k) <= e^epsilon (K - sum_k P(says k | k)).
    """
    return 1 / (1 + (classes - 1) * np.exp(-epsilon))


def query_table(
    name: str, data, draws: int, bandwidth: float
) -> tuple[list[float], dict[str, list[float]]]:
    """One private query: rows of a Markdown table; budgets, recall@1 by method for the figure."""
    queries = Queries(data, min(64, data[0].shape[1]), bandwidth=bandwidth, alpha=0.0)
    classes = len(np.unique(data[1]))
    epsilons = sorted({*EPSILONS, round(float(np.log(classes)) + 2, 2)})
    print(f"\n### One private query, {name}: {len(data[0])} anchors, {len(data[2])} queries\n")
    print(f"{classes} classes; ln K + 2 = {np.log(classes) + 2:.2f}.\n")
    predicted = predict_class(data[2], data[0], data[1])
    print(
        f"Recall@1, recall@8, precision@8 of the features, not private: "
        f"{_cells(queries.not_private())}; of the kernel mean without noise: "
        f"{_cells(queries.without_noise())}. The predicted class is right for "
        f"{np.mean(predicted == data[3]):.3f}. In brackets numbers of cells; δ of noise "
        f"{DELTA:g}.\n"
    )
    bound = "no method does better"
    curves: dict[str, list[float]] = {
        name: [] for name in ("cell", "cell without labels", "noise", bound)
    }
    told: dict[str, list[str]] = {name: [] for name in ("cell", "cell, no labels", "noise", bound)}
    for epsilon in epsilons:
        score, count = queries.cell(epsilon, draws)
        curves["cell"].append(score.recall[1])
        told["cell"].append(f"{_cells(score)} ({count})")
        score, count = queries.cell(epsilon, draws, labels=False)
        curves["cell without labels"].append(score.recall[1])
        told["cell, no labels"].append(f"{_cells(score)} ({count})")
        score = queries.noise(epsilon, max(1, draws // 10))
        curves["noise"].append(score.recall[1])
        told["noise"].append(_cells(score))
        curves[bound].append(best(epsilon, classes))
        told[bound].append(f"{curves[bound][-1]:.3f}")
    print("| method | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |")
    print("|---|" + "---|" * len(epsilons))
    for method, cells in told.items():
        print(f"| {method} | {' | '.join(cells)} |")
    blind = np.tile(np.arange(8) % classes, (len(data[3]), 1))
    print(
        f"\nOne image of each of 8 classes, without looking: "
        f"{_cells(retrieval_score(blind, data[3]))}."
    )
    return epsilons, curves


def recall_figure(folder: Path, data, found: tuple[list[float], dict[str, list[float]]]) -> None:
    """Recall@1 against the budget."""
    from curvedp.mail.display import RetrievalDisplay

    folder.mkdir(parents=True, exist_ok=True)
    baseline = retrieval_score(data[1][nearest(data[2], data[0], 8)], data[3]).recall[1]
    display = RetrievalDisplay(*found, baseline=baseline).plot()
    display.figure_.savefig(folder / "privatemail-recall.png", dpi=120)


def main() -> None:
    """Print all tables."""
    arguments = _arguments()
    draws = 5 if arguments.quick else 50
    sets = {"digits": digits()}
    if arguments.data:
        folder = Path(arguments.data)
        sets |= {"Fashion-MNIST": images(folder), "leaves": leaves(folder)}
    for name, data in sets.items():
        found = query_table(name, data, draws, bandwidth=0.3)
        if arguments.out:
            recall_figure(arguments.out / name.lower(), data, found)


if __name__ == "__main__":
    main()
