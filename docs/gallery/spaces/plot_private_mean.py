"""
A private mean of directions
============================

500 directions, their exact mean, and private means at three budgets. The expected error is known
before any record is read.
"""

# %%
# The ball is public: directions of the northern hemisphere that are less than 0.7 rad from the
# pole. Directions outside are projected on its edge.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import von_mises_fisher
from curvedp.errors import CoverageWarning

pole = np.array([0.0, 0.0, 1.0])
ball = cdp.Ball(cdp.Sphere(2), center=pole, radius=0.7)
records = von_mises_fisher(500, [0.2, 0.1, 0.97], 30.0, rng=0)

# %%
# Nothing is drawn yet: the expected error depends on the ball, n and the guarantee alone.

epsilons = [0.3, 1.0, 3.0]
for epsilon in epsilons:
    error = cdp.expected_error(ball, n=500, guarantee=cdp.PureDP(epsilon))
    print(f"epsilon = {epsilon}: about {error:.4f} rad")

# %%
# Twenty releases for each budget, for the picture only: their epsilons add up to 86.

warnings.simplefilter("ignore", CoverageWarning)  # a few of many, by chance
exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
figure, axes = plt.subplots(
    1, 3, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained"
)
for ax, epsilon in zip(axes, epsilons, strict=True):
    released = np.array(
        [cdp.frechet_mean(records, ball, cdp.PureDP(epsilon)).value for _ in range(20)]
    )
    ax.plot(*records[:, :2].T, ".", color="0.85", markersize=3)
    ax.plot(*released[:, :2].T, ".", color="tab:blue")
    ax.plot(*exact[:2], "k+", markersize=12)
    ax.set(title=f"ε = {epsilon}", xlabel="x", aspect="equal")
axes[0].set_ylabel("y")
axes[0].set(xlim=(0.0, 0.5), ylim=(-0.15, 0.35))
figure.suptitle(
    "Seen from above the pole; the cross is the mean of the projected records"
)

# %%
# A ledger refuses what the budget does not cover, before any noise is drawn.

with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
    release = cdp.frechet_mean(records, ball, cdp.PureDP(0.8), ledger=ledger)
    try:
        cdp.frechet_mean(records, ball, cdp.PureDP(0.8), ledger=ledger)
    except cdp.BudgetError as refusal:
        print(refusal)
print(release.report())
