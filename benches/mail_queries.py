"""Recall of one private query among public anchors, for every method and budget.

    python benches/mail_queries.py                   # digits; with CURVEDP_DATA images, leaves
    python benches/mail_queries.py --draws 2         # a tenth of the draws
    python benches/mail_queries.py --anchors 100000  # processor time and memory of so many anchors

Prints Markdown. Recall@k is the share of queries whose class is among those of k matches.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp import _core
from curvedp.mail import PrivateMail, PrivateQuery, expected_recall, nearest, retrieval_score
from curvedp.mail.cells import predict_class, randomised_response
from curvedp.mail.subset import subset_response
from papers.privatemail import digits, images, leaves

SETTINGS = {"bandwidth": 0.3, "alpha": 0.0, "private_iterations": 2, "post_iterations": 2}
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0)
DELTA = 1e-6


class Queries:
    """Queries among the anchors of a data set, many draws at once.

    The draws are those of `PrivateMail.embed_query`, whose cells, places and scales are used.
    """

    def __init__(self, data, draws: int) -> None:
        self.rows, self.labels, self.queries, self.wanted = data
        self.draws = draws
        components = min(64, self.rows.shape[1])
        self.mail = PrivateMail(components, guarantee=cdp.PureDP(1.0), **SETTINGS)
        self.public = {
            True: self.mail.anchors(self.rows, self.labels),
            False: self.mail.anchors(self.rows),
        }
        self.predicted = predict_class(self.queries, self.rows, self.labels) == self.wanted

    def named(self, epsilon: float, size: int, *, labelled: bool) -> tuple[float, float]:
        """Recall@1 and @8 of a response that names so many cells."""
        public = self.public[labelled]
        method = {"method": "cell"} if size == 1 else {"method": "subset", "subset_size": size}
        response = PrivateQuery(anchors=public, **method).response(cdp.PureDP(epsilon))
        cells, stream = response.cells, _core.Stream.from_os()
        matches = self.labels[nearest(cells.values, public.embedding, 8)]
        found = np.tile(cells.find(self.queries), self.draws).tolist()
        if size == 1:
            told = [randomised_response(cell, cells.count, epsilon, stream) for cell in found]
            classes = matches[told]
        else:
            law = (cells.count, response.size, epsilon, stream)
            told = [subset_response(cell, *law) for cell in found]
            classes = matches[np.array(told), 0]
        return self._recall(classes)

    def noise(self, epsilon: float) -> tuple[float, float]:
        """Recall@1 and @8 of a noisy place."""
        public = self.public[False]
        self.mail.set_params(guarantee=cdp.ApproxDP(epsilon, DELTA))
        release = self.mail.embed_query(self.queries[0], public, method="noise").release
        rng = np.random.default_rng(1)
        places = np.tile(public.transform(self.queries), (max(1, self.draws // 5), 1))
        noisy = places + release.scale * rng.standard_normal(places.shape)
        return self._recall(self.labels[nearest(noisy, public.embedding, 8)])

    def not_private(self) -> tuple[float, float]:
        """Recall@1 and @8 of the features' nearest."""
        return self._recall(self.labels[nearest(self.queries, self.rows, 8)])

    def kernel_mean(self) -> tuple[float, float]:
        """Recall@1 and @8 of places without noise."""
        places = self.public[False].transform(self.queries)
        return self._recall(self.labels[nearest(places, self.public[False].embedding, 8)])

    def _recall(self, classes) -> tuple[float, float]:
        wanted = np.tile(self.wanted, len(classes) // len(self.wanted))
        size = classes.shape[1]
        score = retrieval_score(classes, wanted, ks=(1, size))
        return score.recall[1], score.recall[size]


def table(name: str, data, draws: int) -> None:
    """One data set: recall@1 and recall@8 of each method."""
    queries = Queries(data, draws)
    classes = len(np.unique(data[1]))
    print(
        f"\n### {name}: {classes} classes, {len(data[0])} anchors, {len(data[2])} queries, "
        f"{draws} draws of each\n"
    )
    print(f"Class predicted right without privacy: {queries.predicted.mean():.3f}.\n")
    methods = {
        "`subset`, 8 cells": lambda epsilon: queries.named(epsilon, 8, labelled=True),
        "`cell`": lambda epsilon: queries.named(epsilon, 1, labelled=True),
        "`subset`, 8 cells, no labels": lambda epsilon: queries.named(epsilon, 8, labelled=False),
        "`cell`, no labels": lambda epsilon: queries.named(epsilon, 1, labelled=False),
        f"`noise`, δ = {DELTA:g}": queries.noise,
    }
    found = {word: [run(epsilon) for epsilon in EPSILONS] for word, run in methods.items()}
    features, right = queries.not_private(), float(queries.predicted.mean())
    exact = {
        "`subset`, 8 cells": queries.named(100.0, 8, labelled=True),
        "`cell`": (right, right),
        f"`noise`, δ = {DELTA:g}": queries.kernel_mean(),
    }
    head = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
    for place, k in enumerate((1, 8)):
        print(f"| recall@{k} | {head} | noise-free |\n|---|{'---|' * (len(EPSILONS) + 1)}")
        for word, scores in found.items():
            free = f"{exact[word][place]:.3f}" if word in exact else "-"
            print(f"| {word} | {' | '.join(f'{own[place]:.3f}' for own in scores)} | {free} |")
        bounds = [expected_recall(cdp.PureDP(epsilon), classes, k) for epsilon in EPSILONS]
        print(f"| no ε-DP release is above | {' | '.join(f'{b:.3f}' for b in bounds)} | 1 |")
        blind = [f"{k / classes:.3f}"] * len(EPSILONS)
        print(f"| {k} of {classes} classes, blind | {' | '.join(blind)} | - |")
        print(f"| features, not private | {' | '.join('-' for _ in EPSILONS)} | ", end="")
        print(f"{features[place]:.3f} |\n", flush=True)


def scale(count: int) -> None:
    """Processor seconds and memory of many anchors: 40 classes, 16 features and components."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((40, 16))

    def unit_rows(labels):
        rows = centres[labels] + rng.standard_normal((len(labels), 16))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    labels = rng.integers(0, 40, count)
    rows, queries = unit_rows(labels), unit_rows(np.arange(100) % 40)
    mail = PrivateMail(16, guarantee=cdp.PureDP(5.0), **SETTINGS)
    before, found = _megabytes(), []

    def timed(run):
        start = time.process_time()
        result = run()
        found.append(time.process_time() - start)
        return result

    public = timed(lambda: mail.anchors(rows, labels))
    timed(lambda: public.cells(40))
    timed(lambda: mail.embed_query(queries[0], public))
    timed(lambda: mail.embed_queries(queries, public, method="subset"))
    at_queries = _megabytes() - before
    timed(lambda: public.embedding)
    numbers = " | ".join(f"{seconds:.3g}" for seconds in found)
    print("| anchors | build | cells | one query | 100 queries | all embedded | MB | MB, all |")
    print("|---|---|---|---|---|---|---|---|")
    print(f"| {count} | {numbers} | {at_queries:.0f} | {_megabytes() - before:.0f} |")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--anchors", type=int, help="time so many anchors instead")
    parser.add_argument("--data", type=Path, default=os.environ.get("CURVEDP_DATA"))
    arguments = parser.parse_args()
    if arguments.anchors:
        scale(arguments.anchors)
        return
    table("digits", digits(), arguments.draws)
    if arguments.data:
        table("Fashion-MNIST", images(Path(arguments.data)), arguments.draws)
        table("leaves", leaves(Path(arguments.data)), arguments.draws)


if __name__ == "__main__":
    main()
