"""
Gestures from muscle signals
============================

Eight electrodes on a forearm, five gestures of a hand. Each window of signal is one record, its
8 × 8 covariance matrix, and two private classifiers, components and clusters work on them inside
scikit-learn.
"""

# %%
# The records are those of `geomstats` (MIT licence): 3480 windows in four sessions of two people.
# Without that file, which `CURVEDP_DATA` leads to, the page makes up windows of the same form.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import curvedp as cdp
from curvedp.learning import PrivateKMeans, PrivateMDM, TangentLogisticRegression, TangentPCA

GESTURES = ("ok", "paper", "rest", "rock", "scissors")


def measured(path):
    """Covariances, gestures, and which windows belong to the first session."""
    stored = np.load(path, allow_pickle=False)
    records, labels = stored["cov"].astype(float), stored["gesture"].astype(str)
    return records, labels, stored["session"].astype(str) == "mg_s1"


def made_up(windows=150, samples=60, seed=0):
    """The same for signals with strengths and mixtures of each gesture, and shifts of sessions."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 0.2, (5, 8)) + np.array([0.5, 0.5, -1.0, 0.5, 0.5])[:, None]
    mixture = np.eye(8) + 0.07 * rng.standard_normal((5, 8, 8))
    session, gesture, _ = np.indices((4, 5, windows)).reshape(3, -1)
    shift = rng.normal(0.0, 0.2, (4, 8))[session] + rng.normal(0.0, 0.4, (len(session), 8))
    signals = rng.standard_normal((len(session), samples, 8))
    signals *= np.exp(strength[gesture] + shift)[:, None]
    signals = signals @ mixture[gesture].transpose(0, 2, 1)
    covariances = signals.transpose(0, 2, 1) @ signals / samples
    return covariances, np.array(GESTURES)[gesture], session == 0


path = Path(os.environ.get("CURVEDP_DATA", ".")) / "emg_covariances" / "emg_cov_8x8.npz"
records, labels, first = measured(path) if path.exists() else made_up()
print("measured" if path.exists() else "made up, seed 0", records.shape)

# %%
# One session is taken as public. It gives the ball: its Fréchet mean, and the distance that 90 % of
# it keep. The other three sessions are private, a third of them held out.

manifold = cdp.SPD(8)
center = cdp.nonprivate.frechet_mean(records[first], manifold).value
radius = float(np.quantile(manifold.dist(records[first], center), 0.9))
ball = cdp.Ball(manifold, center, radius)

X, y = records[~first], labels[~first]
order = np.random.default_rng(1).permutation(len(X))
train, test = np.split(order, [2 * len(X) // 3])
print(f"{len(train)} windows to fit, {len(test)} held out, radius {radius:.2f}")

# %%
# Two classifiers, each at μ = 1. `PrivateMDM` takes the labels as public; logistic regression
# protects them too, so it is told which ones there are. The ledger knows what both spend.

guarantee = cdp.GDP(mu=1.0)
ledger = cdp.Ledger(cdp.GDP(mu=3.0))
means = PrivateMDM(ball, guarantee, ledger=ledger).fit(X[train], y[train])
lines = TangentLogisticRegression(ball, guarantee, classes=GESTURES, ledger=ledger)
lines.fit(X[train], y[train])

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for ax, model in zip(axes, (means, lines), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        y[test], model.predict(X[test]), ax=ax, colorbar=False, cmap="Blues"
    )
    ax.set_title(f"{type(model).__name__}: {model.score(X[test], y[test]):.3f}")

print("spent so far:", ledger.spent)

# %%
# Windows of one gesture in a row are alike, and fall on both sides of the split: expect less for
# new people.
#
# Two more releases: principal components of the logarithms, and five clusters, found without
# labels. Released class means (stars) and cluster centres (crosses) may be shown as they are. The
# dots are records: a picture of them is for public data such as these.

components = TangentPCA(ball, guarantee, n_components=2, ledger=ledger).fit(X[train])
clusters = PrivateKMeans(5, ball=ball, guarantee=guarantee, ledger=ledger).fit(X[train])

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
flat = components.transform(X[train])
for number, gesture in enumerate(GESTURES):
    own = y[train] == gesture
    ax.plot(*flat[own].T, ".", color=f"C{number}", markersize=3, alpha=0.4)
    star = components.transform(means.releases_[gesture].value[None])
    ax.plot(*star.T, "*", color=f"C{number}", markersize=15, markeredgecolor="k", label=gesture)
ax.plot(
    *components.transform(clusters.cluster_centers_).T, "kx", markersize=9, label="cluster centre"
)
ax.set(xlabel="first component", ylabel="second component")
figure.legend(loc="outside right upper")

print("spent so far:", ledger.spent)

# %%
# In a pipeline, steps that treat each record alone cost nothing: here a covariance is shrunk to its
# own diagonal. Each fold of a cross-validation is a fit, and each fit is paid for. `KFold` does not
# look at labels, which stratified folds would.


def shrink(covariances, share=0.1):
    return covariances * (1.0 - share + share * np.eye(8))


with cdp.Ledger(cdp.GDP(mu=2.0)) as folds:
    line = make_pipeline(
        FunctionTransformer(shrink),
        TangentLogisticRegression(ball, guarantee, classes=GESTURES, ledger=folds),
    )
    scores = cross_val_score(line, X, y, cv=KFold(3, shuffle=True, random_state=0))
    print("folds:", scores.round(3), "- spent:", folds.spent)

# %%
# What a budget buys: one fit each. Scores are computed from records without noise; publish them
# for public records only.

budgets = [0.1, 0.25, 0.5, 1.0, 2.0]
figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for kind, options in ((PrivateMDM, {}), (TangentLogisticRegression, {"classes": GESTURES})):
    found = []
    for mu in budgets:
        model = kind(ball, cdp.GDP(mu), **options).fit(X[train], y[train])
        found.append(model.score(X[test], y[test]))
    ax.semilogx(budgets, found, "o-", label=kind.__name__)
ax.set(xlabel="μ of one fit", ylabel="accuracy on held-out windows", ylim=(0, 1))
ax.legend()
