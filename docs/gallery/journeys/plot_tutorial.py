"""
Tutorial: from records to a release
===================================

Five hundred and eighty-four 3 × 3 matrices, one for each person let us say, and a board that
allows a total budget. This page goes from the records to a mean with its error, a region, and
means by site, and shows everything that it prints. The diffusion tensors are shipped and public,
so that exact answers may stand beside private ones here; for your own records nobody would see
them. If differential privacy is new to you, read `What a guarantee promises
<plot_what_a_guarantee_promises.html>`_ first.
"""

# %%
# 1. Records
# ----------
# A record is what one person (or device, or day) contributes. A guarantee bounds how much the
# release changes when one record is replaced. If people contributed several, say whose each record
# is, ``units=labels``, or how many there are at most, ``records_per_unit=k``.

import itertools

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import load_diffusion_tensors

tensors = load_diffusion_tensors().records
print(tensors.shape)
print(tensors[0].round(3))

# %%
# 2. A budget, then a mean
# ------------------------
# A guarantee is an object. ``GDP(mu)``, for Gaussian noise, adds up by squares;
# ``PureDP(epsilon)`` adds up plainly. A ledger holds *this* data set's budget and refuses what
# exceeds it, before any noise is drawn; with a ``path``, processes share it.

ledger = cdp.Ledger(cdp.GDP(mu=2.0), data="tensors", unit="person")
first = cdp.frechet_mean(tensors, cdp.SPD(3), cdp.GDP(mu=1.0), ledger=ledger)
print(first.report())

# %%
# The report is written for who must decide: who is protected against whom, assuming what, at what
# cost, and how good the number is. The value is ``release.value``; in a notebook the release shows
# itself:

first

# %%
# ``release.to_json()`` stores it, ``cdp.Release.from_json`` reads it. What is stored is public.

# %%
# 3. A ball
# ---------
# This mean found out where the records lie, and paid for that. Other statistics want a ball: a
# public centre and radius on which records are projected. Take the ball that a mean has released,
# or what is known without the data (`choosing the ball <../../choosing-the-ball.html>`_). In the
# unit of these tensors, 10⁻³ mm²/s, free water at body temperature has a diffusivity of 3; suppose
# that no axis of tissue has less than .1:

print(first.ball)
extremes = [np.diag(axes) for axes in itertools.product([0.1, 3.0], repeat=3)]
ball = cdp.Ball.covering("spd:3", extremes)
print(ball)

# %%
# Then errors are known before a record is read.

for guarantee in (cdp.PureDP(0.5), cdp.PureDP(2.0), cdp.GDP(1.0)):
    error = cdp.expected_error(ball, n=len(tensors), guarantee=guarantee)
    print(f"{guarantee!r}: an error of {error:.3f} to expect")
print(cdp.required_n(ball, guarantee=cdp.GDP(1.0), error=0.01), "records for .01")

# %%
# They are distances of the affine-invariant metric: .05 is about 5 per cent in a diffusivity. Ask
# for a plan where the error depends on the records:

print(cdp.plan("confidence_region", ball, cdp.GDP(1.0), n=len(tensors)).report())

# %%
# 4. A mean on the ball, and a better one
# ---------------------------------------
# ``coverage``, also noisy, says how many records lay inside the ball, outside, or were no points
# at all: a wrong unit or order of columns shows there.

mean = cdp.frechet_mean(tensors, ball, cdp.GDP(0.7), ledger=ledger)
print(mean.coverage)

# %%
# ``adaptive_mean`` spends part of the guarantee on a smaller ball. Its printed error is `an
# estimate <../../adaptive-mean.html>`_.

adaptive = cdp.adaptive_mean(tensors, ball, cdp.GDP(0.7), ledger=ledger)
exact = cdp.nonprivate.frechet_mean(tensors, cdp.SPD(3)).value
for name, release in {"no ball": first, "ball": mean, "adaptive": adaptive}.items():
    distance = float(cdp.SPD(3).dist(release.value, exact))
    print(f"{name:9} printed {release.expected_error:.4f}, true {distance:.4f}")
print("spent", ledger.spent, "remaining", ledger.remaining)

# %%
# A mean on a ball is that of the records *as moved to the ball*, which lies some way from the mean
# of the records as they are. The picture shows a mean with the ball's centre and the error to
# expect. A notebook shows ``adaptive.plot()`` itself; a script gives it axes of pyplot, or saves
# its ``figure_``.

axes = plt.figure(figsize=(6.2, 4.6), layout="constrained").add_subplot(projection="3d")
adaptive.plot(ax=axes)
plt.show()

# %%
# 5. A confidence region
# ----------------------
# It accounts for the noise and for the sampling error: in 95 per cent of studies it holds the mean
# of the *population*. It has a budget of its own here, as another study would.

study = cdp.Ledger(cdp.GDP(mu=1.5))
region = cdp.confidence_region(tensors, ball, cdp.GDP(1.0), ledger=study)
print(region.contains(exact))
print(region.report())

# %%
# 6. Groups
# ---------
# With ``groups``, one public label for each record, each group gets a release; all together cost
# what one costs, as no record is in two groups.

site = np.repeat(["north", "south"], [300, 284])
means = cdp.frechet_mean(tensors, ball, cdp.GDP(0.5), groups=site, ledger=study)
print(means.report())

# %%
# Tables, files and clusters are released in the same way: `groups, tables and files
# <../../batch.html>`_.

# %%
# 7. Errors
# ---------
# They come before noise is drawn, and say what to do. No *record* causes one: a record that is no
# point counts as the ball's centre, and ``coverage`` counts how many were none.

try:
    cdp.frechet_mean(tensors, ball, cdp.GDP(1.9), ledger=ledger)
except cdp.BudgetError as error:
    print(error)
try:
    cdp.frechet_mean(tensors[:20], ball, cdp.PureDP(0.1))
except cdp.ExistenceError as error:
    print(error)

# %%
# Where to go on: `classifiers and components <../../learning.html>`_, `regression
# <../../geodesic-regression.html>`_, `tests <../../tests.html>`_, `records from images, landmarks
# and signals <../../descriptors.html>`_, and `what a guarantee leaves out
# <../../privacy-assumptions.html>`_.
