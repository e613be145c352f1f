"""Vepakomma, Balla and Raskar: tables of private rows, with noise and without; the sign of alpha.

    CURVEDP_DATA=/path/to/data python benches/papers/privatemail_rows.py

Digits; with CURVEDP_DATA also Fashion-MNIST. Prints Markdown.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from privatemail import DELTA, digits, images

import curvedp as cdp
from curvedp.mail import PrivateMail, nearest, retrieval_score

#: What is said of it, and parameters.
SETTINGS = (
    ("defaults", {}),
    ("defaults, no labels", {"alpha": 0.0}),
    (
        "equal labels together, wide kernel",
        {"alpha": -1.0, "bandwidth": 1.0, "private_iterations": 5, "post_iterations": 0},
    ),
    (
        "equation 7",
        {
            "form": "published",
            "alpha": 0.05,
            "bandwidth": 0.65,
            "private_iterations": 20,
            "post_iterations": 0,
        },
    ),
)


def own_score(z, labels):
    """How often the nearest others of a row have its class."""
    others = nearest(z, z, 9)
    own = others == np.arange(len(z))[:, None]
    own[~own.any(axis=1), -1] = True
    return retrieval_score(labels[others[~own].reshape(len(z), 8)], labels)


def table(name: str, data) -> None:
    """A table of private rows: have each row's nearest others, in the embedding, its class?"""
    rows, labels = data[0][:1000], data[1][:1000]
    print(f"\n### A table of private rows, {name}: n={len(rows)}, k=16\n")
    print(f"Recall@1, recall@8 and, in brackets, the noise scale; δ = {DELTA:g}.\n")
    print("| | recall@1 without noise | ε = 1 | 10 | 100 | 1000 | μ = 1000 | μ = 10000 |")
    print("|---|---|---|---|---|---|---|---|")
    for words, settings in SETTINGS:

        def fitted(guarantee, settings=settings):
            mail = PrivateMail(16, guarantee=guarantee, **settings).fit(rows, labels)
            return mail.release_.scale, own_score(mail.release_.value, labels)

        # a budget with which noise does not matter
        cells = [f"{fitted(cdp.GDP(1e30))[1].recall[1]:.3f}"]
        budgets = [cdp.ApproxDP(epsilon, DELTA) for epsilon in (1.0, 10.0, 100.0, 1000.0)]
        for guarantee in (*budgets, cdp.GDP(1e3), cdp.GDP(1e4)):
            scale, score = fitted(guarantee)
            cells.append(f"{score.recall[1]:.3f}, {score.recall[8]:.3f} ({scale:.3g})")
        print(f"| {words} | {' | '.join(cells)} |", flush=True)


def signs(name: str, data, bandwidth: float) -> None:
    """Effect of the sign of alpha on classes, without noise."""
    rows, labels = data[0], data[1]
    print(f"\n### The sign of alpha, {name}, no noise, 16 components, bandwidth {bandwidth:g}\n")
    print("| alpha | spread within classes / spread of all |")
    print("|---|---|")
    for alpha in (-1.0, -0.5, 0.0, 0.5, 1.0):
        how = {"bandwidth": bandwidth, "alpha": alpha, "private_iterations": 2}
        z = PrivateMail(16, guarantee=cdp.GDP(1.0), **how).anchors(rows, labels).embedding
        means = np.stack([z[labels == label].mean(axis=0) for label in np.unique(labels)])
        within = np.mean(np.sum((z - means[np.searchsorted(np.unique(labels), labels)]) ** 2, 1))
        total = np.mean(np.sum((z - z.mean(axis=0)) ** 2, axis=1))
        print(f"| {alpha:g} | {np.sqrt(within / total):.3f} |")


def main() -> None:
    """Print all tables."""
    sets = {"digits": digits()}
    if "CURVEDP_DATA" in os.environ:
        sets |= {"Fashion-MNIST": images(Path(os.environ["CURVEDP_DATA"]))}
    print("`defaults`: normalised form, σ = 0.2, α = 0.5, 10 private iterations and 2 after.")
    for name, data in sets.items():
        table(name, data)
        signs(name, data, bandwidth=0.5)


if __name__ == "__main__":
    main()
