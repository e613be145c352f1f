"""
Do two collections of images differ?
====================================

Two collections of images, each described by its textures: a private test tells whether they have
one mean, and its power is known before the images are.
"""

# %%
# The images are handwritten digits, 8 × 8 pixels, that come with scikit-learn (UCI, CC BY 4.0). The
# record to protect is one image; its descriptor, the covariance of grey values and their
# derivatives over the pixels, is a symmetric positive definite 5 × 5 matrix.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import curvedp as cdp
from curvedp.descriptors import image_covariance
from curvedp.errors import CoverageWarning

digits = load_digits()
images = (digits.images * (255 / 16)).astype(np.uint8)
records = image_covariance(images, features="texture", ridge=1e-3)

# %%
# The first 300 images are taken as public, as of an earlier study. They give the ball: their mean,
# and the distance that 95 % of them keep.

space = cdp.SPD(5)
center = cdp.nonprivate.frechet_mean(records[:300], space).value
radius = float(np.quantile(space.dist(records[:300], center), 0.95))
ball = cdp.Ball(space, center=center, radius=radius)
collections = {k: records[300:][digits.target[300:] == k] for k in (3, 5, 6, 9)}
print(f"radius {radius:.2f};", {k: len(c) for k, c in collections.items()})

# %%
# Before any other image is read: how likely does a test at the level 0.05 tell two collections of
# 150 apart, whose means are 0.4 apart and whose images 0.75 from their mean? These are guesses.

budgets = np.array([0.1, 0.2, 0.4, 0.8, 1.6])
planned = [
    cdp.k_sample_power(
        ball, (150, 150), cdp.GDP(mu), shift=0.4, spread=0.75, simulations=20
    )
    for mu in budgets
]
for mu, power in zip(budgets, planned, strict=True):
    print(f"μ = {mu}: planned power {power:.2f}")

# %%
# One test of equal means. At the level 0.05 it rejects equal means in about one of twenty cases at
# most, however unequal the sizes and spreads are. The p-value comes from what is released.


def tested(first, second, mu):
    """A test whether two collections have one mean."""
    labels = np.repeat([0, 1], [len(first), len(second)])
    return cdp.k_sample_test(np.concatenate([first, second]), labels, ball, cdp.GDP(mu))


test = tested(collections[3], collections[5], 0.8)
print(test.report())

# %%
# Where regions for the means are released anyway, comparing them costs nothing more.

three, five = (
    cdp.confidence_region(collections[k], ball, cdp.GDP(mu=1.0)) for k in (3, 5)
)
comparison = cdp.compare_means(three, five)
print(f"p = {comparison.p_value:.2g}, distance of the means {comparison.dist:.2f}")

# %%
# Many tests, for the picture only, as the images are public: 20 for each budget. The control
# divides one collection at random into halves, which do not differ.

rng = np.random.default_rng(0)


warnings.simplefilter("ignore", CoverageWarning)  # a few of many, by chance


def rejected(mu, a, b=None):
    """Share of 20 tests that find a difference; with one collection, of its halves."""
    found = 0
    for _ in range(20):
        first, second = (
            (a, b) if b is not None else np.array_split(rng.permutation(a), 2)
        )
        found += tested(first, second, mu).rejects
    return found / 20


figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, pair, style in (
    ("3 and 5", (collections[3], collections[5]), "o-"),
    ("6 and 9", (collections[6], collections[9]), "s-"),
    ("halves of the 3s", (collections[3],), "k^-"),
):
    ax.semilogx(budgets, [rejected(mu, *pair) for mu in budgets], style, label=name)
ax.semilogx(budgets, planned, ":", color="0.5", label="planned")
ax.axhline(0.05, color="0.5", linewidth=0.6)
ax.set(xlabel="μ of one test", ylabel="share that finds a difference", ylim=(0, 1.02))
ax.set_xticks(budgets, budgets)
ax.minorticks_off()
ax.legend()
