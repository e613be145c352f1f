"""
The mean of axes
================

Fibres, faults, rods and crystals have a direction but no sense: x and -x are the same. Such axes
are points of the projective plane, and the private mean does not depend on the signs in the file.
"""

# %%
# 400 axes of fibres, made up with a stated seed: normally distributed about an axis that dips by
# 40 degrees. Whoever wrote them down chose one of two opposite vectors at random.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import wrapped_normal
from curvedp.errors import CoverageWarning

space = cdp.Projective(2)
true_axis = np.array([np.cos(np.radians(40.0)), 0.0, -np.sin(np.radians(40.0))])
axes = wrapped_normal(400, space, true_axis, 0.2, rng=0)
axes *= np.random.default_rng(1).choice([-1.0, 1.0], size=(400, 1))

# %%
# As directions they have no mean worth having: the vectors cancel.

print(f"length of the mean vector: {np.linalg.norm(axes.mean(axis=0)):.2f}")

# %%
# As axes they do. The ball is public: fibres of this material dip by 20 to 60 degrees to the east,
# give or take. On the projective plane a radius must be less than π/4, or the mean might not be
# unique. The centre may be written as either of its two vectors.

center = np.array([np.cos(np.radians(45.0)), 0.1, -np.sin(np.radians(45.0))])
ball = cdp.Ball(space, center=center, radius=0.7)
guarantee = cdp.PureDP(epsilon=1.0)
expected = cdp.expected_error(ball, n=400, guarantee=guarantee)
print(f"expected error at ε = 1: {np.degrees(expected):.2f} degrees")

release = cdp.frechet_mean(axes, ball, guarantee)
exact = cdp.nonprivate.frechet_mean(ball.project(axes), space).value
print(
    f"error of this release: {np.degrees(space.dist(release.value, exact)):.2f} degrees"
)

# %%
# The signs change no bit of a release. A fixed seed shows it: a release with a seed has no
# guarantee, as its noise is known.

flipped = axes * np.random.default_rng(2).choice([-1.0, 1.0], size=(400, 1))
same = [
    cdp.frechet_mean(records, ball, guarantee, seed=3).value
    for records in (axes, flipped)
]
print("same release for other signs:", np.array_equal(*same))

# %%
# 300 releases for each budget, for the picture only, measure the errors that were expected.

warnings.simplefilter("ignore", CoverageWarning)  # a few of many, by chance
budgets = [0.3, 1.0, 3.0]
measured, stated = [], []
for epsilon in budgets:
    values = [
        cdp.frechet_mean(axes, ball, cdp.PureDP(epsilon)).value for _ in range(300)
    ]
    measured.append(np.degrees(space.dist(np.array(values), exact).mean()))
    stated.append(
        np.degrees(cdp.expected_error(ball, n=400, guarantee=cdp.PureDP(epsilon)))
    )
    print(
        f"ε = {epsilon}: expected {stated[-1]:.2f}, measured {measured[-1]:.2f} degrees"
    )

# %%
# Geologists draw axes in the lower half of an equal-area (Schmidt) net.


def net(points):
    """East and north in Lambert's equal-area projection, seen from above."""
    down = np.atleast_2d(points)
    down = np.where(down[:, 2:] > 0, -down, down)
    return down[:, :2].T / np.sqrt(1.0 - down[:, 2])


angle = np.linspace(0.0, 2 * np.pi, 400)
across = np.cross(ball.center, [0.0, 1.0, 0.0])
across /= np.linalg.norm(across)
sides = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * np.cross(
    ball.center, across
)
edge = np.cos(ball.radius) * ball.center + np.sin(ball.radius) * sides

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(np.cos(angle), np.sin(angle), "k", linewidth=0.8)
left.plot(*net(axes), ".", color="0.75", markersize=3, label="axes")
left.plot(*net(edge), ",", color="tab:orange", label="edge of the ball")
left.plot(*net(release.value), "o", color="tab:blue", label="private mean")
left.plot(*net(exact), "k+", markersize=10, label="exact mean")
left.set(aspect="equal", title="Lower hemisphere, equal area")
left.axis("off")
left.legend(loc="center left", bbox_to_anchor=(-0.45, 0.5), frameon=False, fontsize=8)
right.loglog(budgets, stated, "-", label="expected")
right.loglog(budgets, measured, "ko", label="mean of 300 releases")
right.set(xlabel="ε", ylabel="error in degrees")
right.set(
    xticks=budgets,
    xticklabels=budgets,
    yticks=[0.2, 0.5, 1.0],
    yticklabels=[0.2, 0.5, 1.0],
)
right.minorticks_off()
right.legend()
