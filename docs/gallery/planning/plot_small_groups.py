"""
Many small groups
=================

Two hundred places with 15 to 60 people each: released one by one, the means of small groups are
mostly noise. Means that are shrunk together borrow strength from all groups, at no cost.
"""

# %%
# Directions of a magnetic sensor in everybody's phone, made up with a stated seed: 200 places whose
# mean directions differ by 0.05 rad (3 degrees) around a common one, and records that scatter by
# 0.1 rad about that of their place.

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import wrapped_normal

space = cdp.Sphere(2)
rng = np.random.default_rng(0)
common = space.project(np.array([0.2, 0.1, 1.0]))
means = wrapped_normal(200, space, common, 0.05, rng=rng)
n = rng.integers(15, 61, 200)
group = np.repeat(np.arange(200), n)
records = space.project(means[group] + 0.1 * rng.standard_normal((len(group), 3)))

# %%
# The ball is public, and so is who is in which group. Nobody is in two groups, so all means
# together cost what one of them costs.

ball = cdp.Ball(space, center=[0.0, 0.0, 1.0], radius=0.6)
guarantee = cdp.GDP(mu=0.5)
for size in (15, 60):
    expected = cdp.expected_error(ball, n=size, guarantee=guarantee)
    print(f"{size} records: expected error {np.degrees(expected):.1f} degrees")

# %%
# One call releases all means. Each comes with `shrunk`, the same mean drawn to the ball's centre as
# far as its noise suggests. `shrink_together` draws all of them to their grand mean instead: how
# far, it finds from the released means alone.

releases = cdp.frechet_mean(records, ball, guarantee, groups=group)
together = cdp.shrink_together(releases)
print("guarantee of all:", releases.total)

exact = np.array(
    [
        cdp.nonprivate.frechet_mean(ball.project(records[group == k]), space).value
        for k in range(200)
    ]
)
estimates = {
    "as released": releases.value,
    "shrunk to the centre": np.array([release.shrunk for release in releases]),
    "shrunk together": together,
}
errors = {
    name: np.degrees(space.dist(value, exact)) for name, value in estimates.items()
}
for name, error in errors.items():
    print(f"{name}: mean error {error.mean():.2f} degrees")

# %%
# The gain is largest for the smallest groups. It is for groups that are alike: one that is unlike
# all others is drawn to them too, and should be looked at as released.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained")
for ax, name in zip(axes[:2], ("as released", "shrunk together"), strict=True):
    x, y = np.degrees(estimates[name][:, :2].T)
    ax.plot(
        *np.degrees(exact[:, :2].T),
        ".",
        color="0.75",
        markersize=4,
        label="exact means",
    )
    ax.plot(x, y, ".", color="tab:blue", markersize=4, label="private")
    ax.set(
        aspect="equal", xlim=(-8, 30), ylim=(-13, 25), title=name, xlabel="x in degrees"
    )
axes[0].set_ylabel("y in degrees")
axes[0].legend(fontsize=8)
edges = np.array([15, 24, 33, 42, 51])
for name, error in errors.items():
    by_size = [error[(n >= low) & (n < low + 9)].mean() for low in edges]
    axes[2].plot(edges + 4.5, by_size, "o-", label=name)
axes[2].set(
    xlabel="records of the group", ylabel="mean error in degrees", ylim=(0, None)
)
axes[2].legend(fontsize=8)
