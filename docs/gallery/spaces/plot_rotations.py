"""
The mean of rotations
=====================

500 orientations of a sensor as SciPy rotations, their private mean on SO(3), its error in degrees,
and a private median that ten per cent of hostile records hardly move.
"""

# %%
# The sensor is mounted 10 degrees off its holder and shakes. That it never turns by more than
# 0.5 rad (29 degrees) against the holder is public knowledge of the device: it gives the ball.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import curvedp as cdp
from curvedp.errors import CoverageWarning

rng = np.random.default_rng(0)
mounted = Rotation.from_rotvec([10.0, 0.0, 0.0], degrees=True)
shaken = Rotation.from_rotvec(4.0 * rng.standard_normal((500, 3)), degrees=True)
orientations = mounted * shaken

space = cdp.Rotations()
ball = cdp.Ball(space, center="identity", radius=0.5)

# %%
# Without privacy the mean is the Riemannian (Karcher) mean. Here is the textbook iteration in
# SciPy: average the rotation vectors seen from the current mean, move there, repeat.

karcher = Rotation.identity()
for _ in range(100):
    karcher = karcher * Rotation.from_rotvec(
        (karcher.inv() * orientations).as_rotvec().mean(axis=0)
    )
exact = cdp.nonprivate.frechet_mean(orientations, space).value
print(
    f"difference to SciPy's iteration: {np.abs(exact - karcher.as_matrix()).max():.0e}"
)

# %%
# The private mean: its expected error is known before any record is read, for pure differential
# privacy with ε = 1. A small share of it tells how many orientations lie in the ball, about.

guarantee = cdp.PureDP(epsilon=1.0)
expected = np.degrees(cdp.expected_error(ball, n=500, guarantee=guarantee))
release = cdp.frechet_mean(orientations, ball, guarantee)
print(release.coverage)
print(f"expected error {expected:.2f} degrees")
print(
    f"error of this release {np.degrees(space.dist(release.value, exact)):.2f} degrees"
)
print(
    "as a rotation vector, in degrees:",
    Rotation.from_matrix(release.value).as_rotvec(degrees=True),
)

# %%
# Many releases, for the picture only: each of them would cost ε = 1. Their mean error is the
# expected one.

warnings.simplefilter("ignore", CoverageWarning)  # a few of many, by chance
errors = np.degrees(
    [
        space.dist(cdp.frechet_mean(orientations, ball, guarantee).value, exact)
        for _ in range(500)
    ]
)
print(f"500 releases: mean error {errors.mean():.2f} degrees")

# %%
# Now somebody who wants to turn the result sends 50 of the 500 records, all at the edge of the
# ball. A mean follows them a tenth of the way. The geometric median, by noisy steps on clipped
# logarithms, stays closer to the others.

hostile = Rotation.from_rotvec(np.tile([-0.5, 0.0, 0.0], (50, 1)))
spoilt = Rotation.concatenate([orientations[:450], hostile])
budget = cdp.GDP(mu=1.0)
statistics = {
    "mean": cdp.frechet_mean,
    "adaptive mean": cdp.adaptive_mean,
    "median": cdp.geometric_median,
}
off = {
    name: [
        np.degrees(
            space.dist(statistic(spoilt, ball, budget).value, mounted.as_matrix())
        )
        for _ in range(40)
    ]
    for name, statistic in statistics.items()
}
for name, found in off.items():
    print(f"{name}: {np.mean(found):.2f} degrees from the mounting")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.hist(errors, bins=30, color="0.7")
left.axvline(expected, color="tab:blue", label="expected")
left.axvline(errors.mean(), color="k", linestyle=":", label="mean of 500 releases")
left.set(xlabel="error in degrees, ε = 1", ylabel="releases", title="The private mean")
left.legend()
right.boxplot(list(off.values()))
right.set_xticks(range(1, len(off) + 1), list(off))
right.set(
    ylabel="degrees from the mounting, μ = 1",
    title="With 10 % hostile records",
    ylim=(0, 5),
)
