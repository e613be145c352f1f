"""
Shapes that change with age
===========================

Outlines of a growing organ, each drawn once of one person: how does the shape change with age? From
raw landmarks to a private geodesic, a test whether there is a trend at all, the share of the spread
that age explains, and outlines along age.
"""

# %%
# 1. The landmarks
# ----------------
# They are made up, with a stated seed, as outlines of people may seldom be passed on: 24 points
# around each of 1,200 people of 6 to 20 years, at any place, in any size and turned in any way. The
# front grows longer with age, and everybody is different.

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp

angle = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
atlas = np.exp(1j * angle) * (1.0 + 0.25 * np.cos(2 * angle) - 0.1 * np.sin(3 * angle))
front = np.maximum(np.cos(angle), 0.0) ** 2

rng = np.random.default_rng(0)
n = 1200
age = rng.uniform(6.0, 20.0, n)
waves = np.exp(1j * np.outer(np.arange(2, 6), angle))
own = 0.02 * rng.standard_normal((n, 4, 2)) @ [1.0, 1.0j] @ waves
noise = 0.01 * rng.standard_normal((n, 24, 2)) @ [1.0, 1.0j]
growth = 0.6 * np.log(age / 13.0)[:, None] * front
moved = np.exp(rng.uniform(1, 3, n) + 1j * rng.uniform(0, 2 * np.pi, n))[:, None]
outlines = moved * (atlas + growth + own + noise) + rng.uniform(-50, 50, n)[:, None]

# %%
# 2. A ball about an atlas
# ------------------------
# Landmarks are read as they are, as complex numbers or as rows of a table, x and y of one landmark
# after the other: place, size and turn are taken away from each record alone. The atlas is a
# published outline; that people differ from it by 0.3 at most, in radians of shape space, is known
# too. Records farther off would be projected.

space = cdp.KendallPlanar(24)
ball = cdp.Ball(space, center=atlas, radius=0.3)
# %%
# 3. What it will cost
# --------------------
# The range of ages is public as well. The error is that of a predicted shape, as a distance.

ages = (6.0, 20.0)
print(cdp.plan("geodesic_regression", ball, cdp.GDP(mu=1.0), n=n, spread=0.1).report())

# %%
# 4. The releases
# ---------------
# First whether there is a trend at all, then the geodesic, then the share explained. How many of
# the people lie in the ball is a fact about them: the geodesic's release counts them with noise.

ledger = cdp.Ledger(cdp.GDP(mu=1.5))
test = cdp.trend_test(age, outlines, ball, cdp.GDP(mu=0.5), x_range=ages, ledger=ledger)
release = cdp.geodesic_regression(
    age, outlines, ball, cdp.GDP(mu=1.0), x_range=ages, ledger=ledger
)
share = cdp.r_squared(age, outlines, release, cdp.GDP(mu=0.5), ledger=ledger)
print(release.coverage)
print("a trend:", test.rejects, f"- R² = {share.r_squared:.2f}")
print(
    f"error of the noise {release.expected_error:.4f}, length of the geodesic", end=" "
)
print(f"{float(space.dist(*release.predict(ages))):.3f}")

# %%
# 5. The figure
# -------------
# The band is a distance of shapes: within it the population's shape at one age lies with 95 per
# cent. What speaks against that is in ``release.doubts``, and where people of an age are few there
# is no band.


def turned(shapes):
    """Outlines, turned to the atlas and closed."""
    points = shapes @ np.array([1.0, 1.0j])
    points = points * np.exp(-1j * np.angle(points @ atlas.conj()))[:, None]
    return np.concatenate([points, points[:, :1]], axis=1)


fit = cdp.nonprivate.geodesic_regression(
    age, ball.project(outlines), space, x_range=ages
)
grid = np.linspace(*ages, 8)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for years, outline in zip(grid, turned(release.predict(grid)), strict=True):
    left.plot(
        outline.real,
        outline.imag,
        color=plt.cm.viridis((years - 6) / 14),
        label=f"{years:.0f}",
    )
exact = turned(fit.predict(ages))
left.plot(exact.T.real, exact.T.imag, "k:", linewidth=1)
left.set(aspect="equal", title="Private outlines; dotted: without privacy")
left.axis("off")
left.legend(title="age in years", loc="center", fontsize=8, ncols=2, frameon=False)
start = release.predict(ages[0])
x = np.linspace(*ages, 100)
path, band = space.dist(start, release.predict(x)), release.band(x)
right.fill_between(
    x, path - band, path + band, color="tab:blue", alpha=0.2, label="95 % band"
)
right.plot(x, path, color="tab:blue", label="private, μ = 1")
right.plot(x, space.dist(start, fit.predict(x)), "k:", label="without privacy")
right.set(
    xlabel="age in years", ylabel="distance from the shape at 6 years", ylim=(0.0, None)
)
right.legend()

# %%
# 6. The account
# --------------

ledger
