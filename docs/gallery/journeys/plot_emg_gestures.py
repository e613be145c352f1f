"""
Classifying signals in scikit-learn
===================================

Eight electrodes on a forearm, five gestures of a hand: from covariance matrices of signals to
private classifiers in a scikit-learn pipeline, cross-validated under a budget, with confusion
matrices, and to components and clusters. The same holds for the electrodes of an EEG.
"""

# %%
# 1. The file
# -----------
# 1,160 windows of signal in four sessions of two people (geomstats, MIT licence; every third window
# ships with curvedp). Each is one record, its 8 × 8 covariance matrix. The privacy of a window
# illustrates the methods: in a study a record would be a person, or `records_per_unit` would say
# how many windows each has at most.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import curvedp as cdp
from curvedp.datasets import example_file
from curvedp.learning import (
    PrivateKMeans,
    PrivateMDM,
    TangentLogisticRegression,
    TangentPCA,
)

stored = np.load(example_file("emg_windows.npz"))
manifold = cdp.SPD(8)
records = manifold.as_points(stored["upper_triangle"].astype(float))
labels, first = stored["gesture"], stored["session"] == "mg_s1"
gestures = sorted(set(labels))

# %%
# 2. A ball from public records
# -----------------------------
# One session is taken as public. It gives the ball: its Fréchet mean, and the distance that 90 % of
# it keep. The other three sessions are private, a third of them held out.

center = cdp.nonprivate.frechet_mean(records[first], manifold).value
radius = float(np.quantile(manifold.dist(records[first], center), 0.9))
ball = cdp.Ball(manifold, center, radius)

X, y = records[~first], labels[~first]
order = np.random.default_rng(1).permutation(len(X))
train, test = np.split(order, [2 * len(X) // 3])
print(f"{len(train)} windows to fit, {len(test)} held out, radius {radius:.2f}")

# %%
# What a class mean costs in accuracy, beside the distances between the public session's classes.

guarantee = cdp.GDP(mu=1.0)
n = len(train) // len(gestures)
expected = cdp.expected_error(ball, n=n, guarantee=guarantee)
print(f"expected error of a class mean {expected:.2f}")
public = [
    cdp.nonprivate.frechet_mean(records[first & (labels == g)], manifold).value
    for g in gestures
]
apart = np.array([manifold.dist(public, mean) for mean in public])[
    np.triu_indices(5, 1)
]
print(f"classes are {apart.min():.2f} to {apart.max():.2f} apart")

# %%
# 3. Two classifiers
# ------------------
# `PrivateMDM` takes the class with the nearest private mean, and the labels as public; logistic
# regression on logarithms protects the labels too, so it is given the list of them. The ledger
# knows what both spend: μ = 1 each, √2 together.

ledger = cdp.Ledger(cdp.GDP(mu=3.0))
means = PrivateMDM(ball, guarantee, ledger=ledger).fit(X[train], y[train])
lines = TangentLogisticRegression(ball, guarantee, classes=gestures, ledger=ledger)
lines.fit(X[train], y[train])

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for ax, model in zip(axes, (means, lines), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        y[test], model.predict(X[test]), ax=ax, colorbar=False, cmap="Blues"
    )
    ax.set_title(f"{type(model).__name__}: {model.score(X[test], y[test]):.2f}")

# %%
# Windows of one gesture in a row are alike, and fall on both sides of the split: expect less for
# new people. Scores are computed from records without noise: publish them for public records only.
#
# 4. Cross-validation in a pipeline
# ---------------------------------
# Steps that treat each record alone cost nothing: here a covariance is shrunk to its own diagonal.
# Each fold is a fit, and each fit is paid for. `KFold` does not look at labels, which stratified
# folds would.


def shrink(covariances, share=0.1):
    """Covariances with smaller correlations."""
    return covariances * (1.0 - share + share * np.eye(8))


with cdp.Ledger(cdp.GDP(mu=2.0)) as folds:
    pipeline = make_pipeline(
        FunctionTransformer(shrink),
        TangentLogisticRegression(ball, guarantee, classes=gestures, ledger=folds),
    )
    scores = cross_val_score(pipeline, X, y, cv=KFold(3, shuffle=True, random_state=0))
    print("folds:", scores.round(2), "- spent:", folds.spent)

# %%
# 5. What a budget buys
# ---------------------
# One fit each, with fresh noise: another build draws other curves. Fits warn where their noise is
# larger than what they tell the classes apart by.

budgets = [0.25, 0.5, 1.0, 2.0, 4.0]
figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for kind, options in (
    (PrivateMDM, {}),
    (TangentLogisticRegression, {"classes": gestures}),
):
    found = []
    for mu in budgets:
        model = kind(ball, cdp.GDP(mu), **options).fit(X[train], y[train])
        found.append(model.score(X[test], y[test]))
    ax.semilogx(budgets, found, "o-", label=kind.__name__)
ax.axhline(0.2, color="0.6", linestyle=":", label="by chance")
ax.set(xlabel="μ of one fit", ylabel="accuracy on held-out windows", ylim=(0, 1))
ax.set_xticks(budgets, budgets)
ax.minorticks_off()
ax.legend()

# %%
# 6. Components and clusters
# --------------------------
# Two more releases: principal components of the logarithms, and five clusters, found without
# labels. Released class means (stars) and cluster centres (crosses) may be shown as they are. The
# dots are records: a picture of them is for public data such as these.

components = TangentPCA(ball, guarantee, n_components=2, ledger=ledger).fit(X[train])
clusters = PrivateKMeans(5, ball=ball, guarantee=guarantee, ledger=ledger).fit(X[train])

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
flat = components.transform(X[train])
for number, gesture in enumerate(gestures):
    own = y[train] == gesture
    ax.plot(*flat[own].T, ".", color=f"C{number}", markersize=3, alpha=0.4)
    star = components.transform(means.releases_[gesture].value[None])
    ax.plot(
        *star.T,
        "*",
        color=f"C{number}",
        markersize=15,
        markeredgecolor="k",
        label=gesture,
    )
ax.plot(
    *components.transform(clusters.cluster_centers_).T,
    "kx",
    markersize=9,
    label="cluster centre",
)
ax.set(xlabel="first component", ylabel="second component")
figure.legend(loc="outside right upper")

# %%
# 7. The account
# --------------

ledger
