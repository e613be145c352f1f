"""
How much do records vary?
=========================

The Fréchet variance, the mean squared distance of records from their mean, released privately for
each of three scans, with an interval that counts both the noise and the sampling of the records.
"""

# %%
# Diffusion tensors of three people, voxel by voxel (dipy, BSD licence): what varies is the tissue.
# The ball is public; see :ref:`sphx_glr_auto_gallery_journeys_plot_sites.py`, which releases the
# means of the same table.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import curvedp as cdp
from curvedp.datasets import example_file

table = pd.read_csv(example_file("tensors_by_scan.csv"))
tensors, scan = table[["xx", "xy", "xz", "yy", "yz", "zz"]], table["scan"]
ball = cdp.Ball("spd:3", center="identity", radius=2.0)

# %%
# What the smallest scan, of 160 voxels, would cost: the error depends on where the mean lies, so a
# plan gives a range.

guarantee = cdp.GDP(mu=0.5)
print(cdp.plan("frechet_variance", ball, guarantee, n=160).report())

# %%
# The variances of all scans in one call, which costs what one of them costs.

variances = cdp.frechet_variance(tensors, ball, guarantee, groups=scan)
print(variances.to_pandas()[["n", "value", "expected_error"]])

# %%
# Intervals for the variances of the populations, at three budgets. They are longer than the noise
# alone would make them: another 160 voxels would have another variance, with privacy or without.

space = ball.manifold
budgets = [0.2, 0.5, 2.0]
figure, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
for k, mu in enumerate(budgets):
    intervals = cdp.variance_interval(tensors, ball, cdp.GDP(mu), groups=scan)
    for place, interval in enumerate(intervals):
        ax.plot(
            [place + 0.15 * (k - 1.5)] * 2,
            [interval.lower, interval.upper],
            color=f"C{k}",
            linewidth=4,
            label=None if place else f"private, μ = {mu}",
        )
        ax.plot(place + 0.15 * (k - 1.5), interval.estimate, "w.", markersize=4)
for place, label in enumerate(intervals.labels):
    records = ball.project(tensors[scan == label])
    exact = cdp.nonprivate.variance_interval(records, space)
    x = place + 0.15 * 1.5
    ax.plot(
        [x, x],
        [exact.lower, exact.upper],
        "k",
        label=None if place else "without privacy",
    )
    ax.plot(x, exact.estimate, "k+", markersize=9)
ax.set_xticks(
    range(3),
    [f"{name}\nn = {n}" for name, n in zip(intervals.labels, intervals.n, strict=True)],
)
ax.set(
    ylabel="variance, squared distance",
    ylim=(0, None),
    title="95 % intervals of the variance",
)
ax.legend()

# %%
# A variance is in squared units of the metric. Its root is easier to read: a distance of 0.7 is a
# factor of two in one of the three diffusivities.

for label, variance in zip(variances.labels, variances.value, strict=True):
    print(f"{label}: voxels lie {np.sqrt(variance):.2f} from their mean")
