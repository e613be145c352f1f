"""Vepakomma, Balla and Raskar: retrieval without noise by the kernels of the text and of the code.

    CURVEDP_DATA=/path/to/data python benches/papers/privatemail_code.py

The authors' code (github.com/vepakom/PrivateMail) takes exp(-d^2/sigma^2) for the kernel of rows,
where the appendix has exp(-d^2/(2 sigma^2)), and -1/2 J d J for that of labels, d the distances of
class numbers and J the centring, where the text has a Gaussian kernel. Queries are images of the
server, with their labels, as there. Digits; with CURVEDP_DATA also Fashion-MNIST. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from privatemail import digits, images

from curvedp.mail import align, nearest, retrieval_score

PUBLIC, SERVER = 200, 200
#: sigma and alpha of the authors' notebook, both with two components.
SETTINGS = {"cars": (6.0, 0.6), "birds": (5.0, 0.5)}
ITERATIONS = (3, 6, 20)


def _laplacian(weights):
    np.fill_diagonal(weights, 0.0)
    return np.diag(weights.sum(axis=1)) - weights


def _gaussian(rows, square):
    return np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=-1) / square)


def _iteration(rows, labels, sigma: float, alpha: float, kernels: str):
    """The matrix of equation 7."""
    numbers = labels.astype(float)
    if kernels == "text":
        l_x = _laplacian(_gaussian(rows, 2 * sigma**2))
        l_y = _laplacian(_gaussian(np.eye(int(numbers.max()) + 1)[labels], 2 * sigma**2))
    else:
        centring = np.eye(len(rows)) - 1 / len(rows)
        distances = np.abs(numbers[:, None] - numbers[None])
        weights = -0.5 * centring @ distances @ centring
        l_x = _laplacian(_gaussian(rows, sigma**2))
        l_y = np.diag(weights.sum(axis=1)) - weights
    return np.eye(len(rows)) + (alpha * l_y - l_x) / (2 * np.diag(l_x)[:, None])


def recall(data, sigma: float, alpha: float, kernels: str, count: int) -> list[tuple[float, float]]:
    """Recall@8 and @1 after each number of iterations."""
    rows, labels, queries, wanted = data
    labels = np.concatenate([labels, wanted])
    labels = np.unique(labels, return_inverse=True)[1]
    chosen = np.random.default_rng(0).permutation(len(rows))[:PUBLIC]
    public, public_labels = rows[chosen], labels[chosen]
    server, wanted = queries[:SERVER], labels[len(rows) :][:SERVER]
    rng = np.random.default_rng(1)

    def embedded(own, names):
        step = _iteration(
            *(np.concatenate([own, public]), np.concatenate([names, public_labels])),
            *(sigma, alpha, kernels),
        )
        z, stages = rng.standard_normal((len(step), 2)), {}
        for iteration in range(1, max(ITERATIONS) + 1):
            z = step @ z
            z /= np.linalg.norm(z)
            stages[iteration] = z * len(z) ** 0.5
        return [stages[iteration] for iteration in ITERATIONS]

    whole = embedded(server, wanted)
    places = [[] for _ in ITERATIONS]
    for query in range(count):
        one = slice(query, query + 1)
        for own, place, z in zip(places, embedded(server[one], wanted[one]), whole, strict=True):
            own.append(align(place[1:], z[SERVER:])(place[:1])[0])
    scores = []
    for own, z in zip(places, whole, strict=True):
        found = nearest(np.stack(own), z[:SERVER], 9)
        # not the query itself
        others = np.stack([line[line != query][:8] for query, line in enumerate(found)])
        score = retrieval_score(wanted[others], wanted[:count])
        scores.append((score.recall[8], score.recall[1]))
    return scores


def main() -> None:
    """Print one table for each data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=SERVER)
    parser.add_argument("--data", type=Path, default=os.environ.get("CURVEDP_DATA"))
    arguments = parser.parse_args()
    sets = {"digits": digits()}
    if arguments.data:
        sets["Fashion-MNIST"] = images(Path(arguments.data))
    print("Recall@8, recall@1, no noise, k = 2. Eight images at random of ten classes: 0.57.\n")
    stages = " | ".join(f"after {iteration}" for iteration in ITERATIONS)
    print(f"| data | σ, α | kernels | {stages} |\n|---|---|---|{'---|' * len(ITERATIONS)}")
    for name, data in sets.items():
        for setting, (sigma, alpha) in SETTINGS.items():
            for kernels in ("text", "code"):
                found = recall(data, sigma, alpha, kernels, arguments.queries)
                cells = " | ".join(f"{eight:.2f}, {one:.2f}" for eight, one in found)
                print(f"| {name} | {setting}: {sigma:g}, {alpha:g} | {kernels} | {cells} |")


if __name__ == "__main__":
    main()
