"""
The mean of connectomes
=======================

A functional connectome is a correlation matrix: how brain regions rise and fall together. The
private mean of 400 people's connectomes is a correlation matrix again.
"""

# %%
# The people are made up, with a stated seed: ten regions in two networks, 240 scans each, and a
# coupling that differs from person to person.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.errors import CoverageWarning

rng = np.random.default_rng(0)
network = np.repeat([0, 1], 5)
within = network[:, None] == network


def connectome():
    """Correlations of one person's scans."""
    coupling = rng.uniform(0.6, 1.0)
    loading = np.stack([network == 0, network == 1]) * coupling
    scans = rng.standard_normal((240, 2)) @ loading + rng.standard_normal((240, 10))
    scans += 0.3 * rng.standard_normal((240, 1))
    return np.corrcoef(scans, rowvar=False)


people = np.array([connectome() for _ in range(400)])

# %%
# Correlation matrices with the off-log metric are flat: the mean has a sensitivity of 2 r / n. The
# ball is public. Its centre is what the literature says of these networks, correlations of about
# 0.4 within and 0 between; its radius the distance to networks twice as closely coupled.

space = cdp.Correlation(10)


def networks(correlation):
    """Two networks with the same correlation within each."""
    return np.where(within, correlation, 0.0) + (1.0 - correlation) * np.eye(10)


center = networks(0.4)
radius = float(space.dist(center, networks(0.7)))
ball = cdp.Ball(space, center=center, radius=radius)

# %%
# What the release will cost in accuracy is known beforehand. People outside the ball are projected
# on its edge, not left out. How many these are is a fact about them: the release's `coverage` tells
# it with noise, for a small share of the guarantee.

guarantee = cdp.GDP(mu=1.0)
expected = cdp.expected_error(ball, n=400, guarantee=guarantee)
release = cdp.frechet_mean(people, ball, guarantee)
print(f"radius {radius:.2f}: {release.coverage}")
exact = cdp.nonprivate.frechet_mean(ball.project(people), space).value
print(
    f"expected error {expected:.3f}, this release {float(space.dist(release.value, exact)):.3f}"
)
print(f"largest error of a correlation: {np.abs(release.value - exact).max():.3f}")
print(
    f"distances of people to the mean, median: {np.median(space.dist(people, exact)):.2f}"
)

# %%
# It is a correlation matrix: positive definite with ones on the diagonal. Noise added to the
# entries themselves would not keep that.

print(f"smallest eigenvalue {np.linalg.eigvalsh(release.value).min():.3f}")
print("diagonal:", np.unique(np.diag(release.value).round(14)))

# %%
# Many releases, for the picture only, at several sizes of the study. The error falls as 1/n: four
# times as many people, a quarter of the error.

warnings.simplefilter("ignore", CoverageWarning)  # a few of many, by chance
sizes = [100, 200, 400]
stated, measured = [], []
for n in sizes:
    some = people[:n]
    mean = cdp.nonprivate.frechet_mean(ball.project(some), space).value
    values = np.array(
        [cdp.frechet_mean(some, ball, guarantee).value for _ in range(100)]
    )
    measured.append(float(space.dist(values, mean).mean()))
    stated.append(cdp.expected_error(ball, n=n, guarantee=guarantee))
    print(f"n = {n}: expected {stated[-1]:.3f}, measured {measured[-1]:.3f}")

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10, 3.2), layout="constrained"
)
for ax, matrix, title in (
    (left, exact, "exact mean"),
    (middle, release.value, "private mean, μ = 1"),
):
    image = ax.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu_r")
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(image, ax=[left, middle], shrink=0.8, label="correlation")
right.loglog(sizes, stated, "-", label="expected")
right.loglog(sizes, measured, "ko", label="mean of 100 releases")
right.set(xlabel="people", ylabel="error", xticks=sizes, xticklabels=sizes)
right.set(yticks=[0.05, 0.1, 0.2], yticklabels=[0.05, 0.1, 0.2])
right.minorticks_off()
right.legend()
