"""
Means of several sites from one table
=====================================

A study has one table: diffusion tensors by columns, and the site that each comes from. What leaves
it is a private mean for each site, and one mean of all. This is the way from the file to the
figure, with the errors to expect and an account of what was spent.
"""

# %%
# 1. The table
# ------------
# Six columns are the upper triangle of a tensor, which is how curvedp reads a symmetric matrix.
# The file ships with curvedp: voxels of three people in three scanners (dipy, BSD licence), which
# stand for three sites here. In a study a record would be a person.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import curvedp as cdp
from curvedp.datasets import example_file
from curvedp.plotting import DiffusionTensorDisplay

table = pd.read_csv(example_file("tensors_by_scan.csv"))
tensors = table[["xx", "xy", "xz", "yy", "yz", "zz"]]
print(table.head(3))

# %%
# 2. A ball from the literature
# -----------------------------
# In 1e-3 mm²/s: free water at body temperature, and coherent fibres along each axis. These are
# public, the records are not looked at.

extremes = [3.0 * np.eye(3)] + [np.diag(np.roll([1.6, 0.3, 0.3], k)) for k in range(3)]
ball = cdp.Ball.covering("spd:3", extremes)
print(ball)

# %%
# 3. What it will cost
# --------------------
# The sizes of the sites are public, and so is all that the expected error depends on. The distance
# is that of the affine-invariant metric: 0.1 is about ten per cent of a diffusivity.

guarantee = cdp.GDP(mu=0.5)
for site, n in table.groupby("scan", sort=False).size().items():
    expected = cdp.expected_error(ball, n=n, guarantee=guarantee)
    print(f"{site}: {n} records, expected error {expected:.3f}")

# %%
# 4. The releases
# ---------------
# One call for all sites. Nobody is at two sites, so all three releases together cost what one of
# them costs. The ledger, which would be a file in a study, has a budget of μ = 1.

ledger = cdp.Ledger(cdp.GDP(mu=1.0))
releases = cdp.frechet_mean(
    tensors, ball, guarantee, groups=table["scan"], ledger=ledger
)
print(releases["small_25"].report())

# %%
# One mean of all sites is computed from what is released already, and costs nothing. `spread` is a
# public guess of how far records are from their mean: it keeps large sites from counting for all.

combined = cdp.combine(releases, spread=0.7)
print(combined.report())

# %%
# 5. The figure
# -------------
# An ellipsoid reaches as far along each of its axes as water diffuses there; its colour tells the
# direction in which that is farthest.

titles = [f"{site}: n = {releases[site].n}" for site in releases.labels]
DiffusionTensorDisplay([*releases.value, combined.value], [*titles, "combined"]).plot(
    figure=plt.figure(figsize=(11, 3.4))
)

# %%
# The data are public, which is why exact means may stand beside the released ones: the errors are
# of the size that was expected.

for site, release in zip(releases.labels, releases, strict=True):
    records = ball.project(tensors[table["scan"] == site])
    exact = cdp.nonprivate.frechet_mean(records, ball.manifold).value
    error = float(ball.manifold.dist(release.value, exact))
    print(f"{site}: error {error:.3f}, expected {release.expected_error:.3f}")

# %%
# 6. The account
# --------------

ledger
