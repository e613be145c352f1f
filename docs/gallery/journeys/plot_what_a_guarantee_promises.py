"""
What a guarantee promises
=========================

For who does not know differential privacy. Somebody knows all records of a study but yours, and of
yours knows two possible values. They see what the study published. How well can they tell which of
the two is yours?

From an exact mean they can: n times the mean, less the others, is your record. A private mean is
the mean plus noise, chosen such that even they cannot, whatever the two values are and whatever
else they know. How much better than guessing they do is what ε or μ bounds. Nothing is promised
about what the study finds out of everybody, you included: that smoking harms, say, holds for you
whether you take part or not.
"""

# %%
# 1. Two studies that differ in you
# ---------------------------------
# Two hundred and eighty-four directions, and yours, one of two. The mean is on the sphere; all
# that is public is the ball: within 60 degrees of the north pole.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import curvedp as cdp

rng = np.random.default_rng(0)
sphere = cdp.Sphere(2)
ball = cdp.Ball(sphere, center=[0.0, 0.0, 1.0], radius=np.radians(60))
others = rng.standard_normal((284, 3)) * 0.3 + [0.0, 0.0, 1.0]
others /= np.linalg.norm(others, axis=1, keepdims=True)
yours = ball.project(
    [[3.0, 0.0, 1.0], [-3.0, 0.0, 1.0]]
)  # at opposite ends of the ball
studies = [np.vstack([others, record]) for record in yours]
exact = [cdp.nonprivate.frechet_mean(study, sphere).value for study in studies]
print("exact means differ by", float(sphere.dist(*exact)))

# %%
# 2. What the attacker sees
# -------------------------
# Each study published many times over, which no study would do: the attacker knows the law of what
# is published, not more. Along the line between the two exact means, where they differ most:

guarantees = [cdp.GDP(3.0), cdp.GDP(1.0), cdp.GDP(0.3)]
times = 2000


def seen(study, guarantee):
    """Releases of one study, in degrees along the line between the two exact means."""
    groups = np.repeat(np.arange(times), len(study))  # the same people, ``times`` times
    copies = np.tile(study, (times, 1))
    means = cdp.frechet_mean(copies, ball, guarantee, groups=groups, coverage=False)
    return np.degrees(np.arcsin(means.value[:, 0]))


figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for ax, guarantee in zip(axes, guarantees, strict=True):
    one, other = (seen(study, guarantee) for study in studies)
    grid = np.linspace(*np.quantile(np.r_[one, other], [0.001, 0.999]), 60)
    ax.hist(one, grid, histtype="step", density=True, label="yours is this")
    ax.hist(other, grid, histtype="step", density=True, label="yours is that")
    ax.set(title=f"μ = {guarantee.mu}", xlabel="mean [degrees]", yticks=[])
    cut = np.median(np.r_[one, other])
    hits = (np.mean(one > cut) + np.mean(other <= cut)) / 2
    print(
        f"mu = {guarantee.mu}: right in {hits:.3f} of cases, "
        f"at most {norm.cdf(guarantee.mu / 2):.3f} by the guarantee"
    )
axes[0].legend(frameon=False, fontsize="small")
plt.show()

# %%
# 3. The words
# ------------
# **μ**, of Gaussian differential privacy: telling the two studies apart is at least as hard as
# telling a draw of N(0, 1) from one of N(μ, 1). A coin toss is right in .5 of cases; at μ = .3 the
# attacker is right in .56 at most, at 1 in .69, at 3 in .93, at 6 nearly always.
#
# **ε**, of pure differential privacy: no outcome is more than e^ε times likelier in one study than
# in the other. Small ones (.1 to 1) protect well; ε = 10 allows a factor of 22,000.
#
# **(ε, δ)** allows that but for outcomes of total probability δ, which must be far below 1/n.
#
# Several releases of the same people add up: ε plainly, μ by squares (√(1² + 1²) = 1.41). A
# `ledger <plot_tutorial.html>`_ keeps account. The error that a guarantee costs falls with the
# number of people: four times as many, a quarter of the noise.
#
# What is assumed of the ball, the number of people and their machines stands in `privacy
# assumptions <../../privacy-assumptions.html>`_; that the noise has the law it should have is
# `proved <../../proofs/index.html>`_ and `attacked <../../audit.html>`_, by the test of this page
# and by worse.
