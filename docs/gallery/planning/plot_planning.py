"""
Planning a study
================

How large a ball, how many people, how much budget? The error of a private mean is known before any
record is, so a study can be planned like one without privacy.
"""

# %%
# The plan is for diffusion tensors of a region of the brain, one for each person, in 1e-3 mm²/s.
# First the ball: the most extreme tensors that the literature knows are water and fibres along any
# axis; the smallest ball that holds them is found.

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import load_diffusion_tensors

extremes = [3.0 * np.eye(3)] + [np.diag(np.roll([1.6, 0.3, 0.3], k)) for k in range(3)]
covering = cdp.Ball.covering("spd:3", extremes)
space, center = covering.manifold, covering.center
print(covering)

# %%
# How many people for an error of 0.05, which is about five per cent of a diffusivity? And what if
# the ball were half or twice as large?

guarantee = cdp.PureDP(epsilon=1.0)
for radius in (0.5 * covering.radius, covering.radius, 2.0 * covering.radius):
    ball = cdp.Ball(space, center=center, radius=radius)
    n = cdp.required_n(ball, error=0.05, guarantee=guarantee)
    print(f"radius {radius:.2f}: {n} people")

# %%
# A smaller ball needs less noise, but bends what it holds: people outside are projected on its
# edge, and the mean is that of the projected. Public tensors of an earlier study show by how much.

pilot = load_diffusion_tensors().records
mean = cdp.nonprivate.frechet_mean(pilot, space).value
radii = np.linspace(0.4, 3.6, 17)
noise, bias = [], []
for radius in radii:
    ball = cdp.Ball(space, center=center, radius=radius)
    noise.append(cdp.expected_error(ball, n=200, guarantee=guarantee))
    projected = cdp.nonprivate.frechet_mean(ball.project(pilot), space).value
    bias.append(float(space.dist(projected, mean)))

# %%
# Then the budget. With Laplace noise the error is in proportion to 1 / (n ε), with Gaussian noise
# to 1 / (n μ): twice as many people, or twice the budget. The higher the dimension, the more
# Gaussian noise saves; here it is 6.

sizes = np.array([50, 100, 200, 400, 800, 1600])
guarantees = {
    "ε = 0.5": cdp.PureDP(0.5),
    "ε = 1": cdp.PureDP(1.0),
    "μ = 0.5": cdp.GDP(0.5),
    "μ = 1": cdp.GDP(1.0),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(radii, noise, color="tab:blue", label="noise, n = 200, ε = 1")
left.plot(radii, bias, color="tab:orange", label="bias, from public tensors")
left.plot(radii, np.hypot(noise, bias), "k", label="both")
left.axvline(
    covering.radius, color="0.6", linestyle=":", label="ball of the literature"
)
left.set(xlabel="radius of the ball", ylabel="distance to the mean", ylim=(0, 0.5))
left.legend(fontsize=8)
for name, each in guarantees.items():
    errors = [cdp.expected_error(covering, n=n, guarantee=each) for n in sizes]
    right.loglog(sizes, errors, "o-", markersize=3, label=name)
right.axhline(0.05, color="0.6", linestyle=":")
right.set(xlabel="people", ylabel="expected error", xticks=sizes, xticklabels=sizes)
right.set(yticks=[0.01, 0.05, 0.2, 1.0], yticklabels=[0.01, 0.05, 0.2, 1.0])
right.minorticks_off()
right.legend(fontsize=8)

# %%
# The minimum on the left is flat: a ball that is a little too large costs little, one that is too
# small costs as much as it leaves out, and no budget brings that back. Never choose the radius in
# this way from the records themselves: then the guarantee does not hold.
#
# `plan` does the same for other statistics, before any record is read.

print(
    cdp.plan("confidence_region", covering, cdp.GDP(mu=1.0), n=400, spread=0.8).report()
)
