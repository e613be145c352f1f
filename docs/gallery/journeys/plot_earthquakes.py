"""
From longitudes and latitudes to a map
======================================

Places come as longitudes and latitudes. Their private mean, a region in which the mean of the
population lies with 95 per cent, and a map of both: the way of anybody who has a table of places or
directions.
"""

# %%
# 1. The table
# ------------
# A week of earthquakes (catalogue of the USGS, public domain) stands for the places of people.
# Those in and about California are the study. Mind that here the place itself decides who belongs
# to it: in a study of people that would have to be known otherwise, as n is public.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import curvedp as cdp
from curvedp.datasets import example_file

table = pd.read_csv(example_file("earthquakes.csv"))
table = table[table["lon"].between(-125, -114) & table["lat"].between(32, 42)]
places = table[["lon", "lat"]]
print(len(places), "places")

# %%
# 2. A ball about the map
# -----------------------
# The corners of the map are public. Two columns are read as longitude and latitude in degrees, and
# become points of a sphere. What comes of a ball that is stated in km is printed in km.

corners = np.array([(-125, 32), (-125, 42), (-114, 42), (-114, 32)])
ball = cdp.Ball.from_units("earth", "km", center=[-119.5, 37.1], radius=760)
print(ball.contains(corners))

# %%
# 3. What it will cost
# --------------------

guarantee = cdp.GDP(mu=0.5)
print(cdp.plan("frechet_mean", ball, guarantee, n=len(places)).report())
print(cdp.plan("confidence_region", ball, guarantee, n=len(places)).report())

# %%
# 4. The releases
# ---------------
# The mean alone costs μ = 0.5. The region has a mean of its own in it, and costs μ = 0.5 again:
# together √(0.5² + 0.5²) = 0.71.

ledger = cdp.Ledger(cdp.GDP(mu=1.0))
mean = cdp.frechet_mean(places, ball, guarantee, ledger=ledger)
region = cdp.confidence_region(places, ball, guarantee, ledger=ledger)
print(mean.report())
print("spent", ledger.spent)

# %%
# 5. The map
# ----------


def lonlat(points):
    """Longitudes and latitudes of points of the sphere, to plot."""
    return ball.manifold.to_lonlat(points).T


def circle(center, radius):
    """Points at a distance from a centre."""
    angle = np.linspace(0.0, 2 * np.pi, 200)
    around = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return ball.manifold.exp(ball.manifold.coords_to_tangent(around, center), center)


exact = cdp.nonprivate.frechet_mean(ball.project(places), ball.manifold).value
edge, error = circle(ball.center, ball.radius), circle(mean.value, mean.expected_error)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax in (left, right):
    ax.plot(*places.to_numpy().T, ".", color="0.7", markersize=3, label="earthquakes")
    ax.plot(*lonlat(edge), "tab:orange", label="edge of the ball")
    ax.fill(*lonlat(region.boundary(200)), "tab:green", alpha=0.3, label="95 % region")
    ax.plot(*lonlat(error), "tab:blue", label="expected error")
    ax.plot(*lonlat(mean.value), ".", color="tab:blue", label="private mean")
    ax.plot(*lonlat(exact), "k+", markersize=10, label="exact mean")
    ax.set(xlabel="longitude in degrees", aspect=1 / np.cos(np.radians(37)))
for town, lon, lat in (("Los Angeles", -118.24, 34.05), ("Reno", -119.81, 39.53)):
    left.plot(lon, lat, "s", color="0.3", markersize=3)
    left.annotate(town, (lon + 0.2, lat + 0.2), fontsize=8, color="0.3")
left.set(xticks=range(-128, -108, 4), ylabel="latitude in degrees", title="The map")
lon, lat = lonlat(exact)
right.set(xlim=(lon - 0.6, lon + 0.6), ylim=(lat - 0.5, lat + 0.5), title="Enlarged")
figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
distance = float(ball.manifold.dist(mean.value, exact))
print(f"error {distance / ball.unit.length:.1f} km")

# %%
# The region is wider than the error of the release: it also counts that another week would have
# other earthquakes. The 95 % hold for records that are independent of each other; earthquakes come
# in swarms, and are not.
