"""
Directions that move with time
==============================

The geodesic along which directions move, released privately. Footpoint and velocity come from the
same noisy steps, so their guarantee holds together.
"""

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp

rng = np.random.default_rng(0)
time = rng.uniform(0.0, 10.0, 1000)
angle = 0.08 * (time - 5.0)
directions = np.column_stack(
    [np.sin(angle), 0.04 * rng.standard_normal(1000), np.cos(angle)]
)
directions /= np.linalg.norm(directions, axis=1, keepdims=True)

# %%
# These parameters are public: the ball of the directions, the range of the times, the
# length at which residuals are clipped, the longest path.

ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.6)
public = {"x_range": (0.0, 10.0), "tau": 0.15, "v_max": 1.2}
grid = np.linspace(0.0, 10.0, 50)

figure, ax = plt.subplots(figsize=(7, 3))
ax.plot(*directions[:, :2].T, ".", color="0.85", markersize=3)
for mu in (0.1, 0.3, 1.0):
    release = cdp.geodesic_regression(time, directions, ball, cdp.GDP(mu), **public)
    ax.plot(*release.predict(grid)[:, :2].T, label=f"μ = {mu}")
fit = cdp.nonprivate.geodesic_regression(time, directions, "sphere:2")
ax.plot(*fit.predict(grid)[:, :2].T, "k--", label="without privacy")
ax.set(xlabel="x", ylabel="y, on a larger scale")
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
figure.tight_layout()
