"""
The middle of a tree
====================

What are readers interested in? Words of a taxonomy are points of the hyperbolic plane, where trees
find room, and the private mean of the words that a reader looked up lies in the branch that most of
them are from.
"""

# %%
# The 1,181 nouns that WordNet has for mammals are a tree, which is public. It is laid out in the
# hyperbolic plane: a word stands as many steps of 0.6 from the root as it has words above, and each
# branch has a sector that goes with its number of words.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import curvedp as cdp
from curvedp.datasets import example_file

tree = pd.read_csv(example_file("mammals.csv"), index_col="word")
children = tree.groupby("parent").groups


def below(word):
    """A word and all words below it."""
    return [word, *(each for child in children.get(word, ()) for each in below(child))]


def lay_out(word, distance=0.0, low=0.0, width=2 * np.pi):
    """Distance and angle of a word and of all below it."""
    places = {word: (distance, low + width / 2)}
    for child in children.get(word, ()):
        share = width * len(below(child)) / (len(below(word)) - 1)
        places |= lay_out(child, distance + 0.6, low, share)
        low += share
    return places


places = lay_out("mammal.n.01")
words, (distance, angle) = np.array(list(places)), np.array(list(places.values())).T
space = cdp.Hyperboloid(2)
arrows = np.column_stack(
    [0 * angle, distance * np.cos(angle), distance * np.sin(angle)]
)
points = space.exp(arrows, space.origin)

# %%
# The record to protect is one look-up. Those of three readers are made up, with a stated seed: 600
# each, four of five about what the reader likes, the others any mammal.

rng = np.random.default_rng(0)
readers = np.repeat(["dog.n.01", "horse.n.01", "primate.n.02"], 600)
picked = rng.integers(0, len(words), len(readers))
for liking in np.unique(readers):
    often = np.flatnonzero((readers == liking) & (rng.random(len(readers)) < 0.8))
    picked[often] = rng.choice(
        np.flatnonzero(np.isin(words, below(liking))), len(often)
    )

# %%
# The ball is the tree itself: about its root, as far as its deepest word. On hyperbolic space one
# of n records moves the mean by 2 r / n at most.

ball = cdp.Ball(space, center=space.origin, radius=distance.max())
guarantee = cdp.PureDP(epsilon=1.0)
expected = cdp.expected_error(ball, n=600, guarantee=guarantee)
print(
    f"radius {ball.radius:.1f}, expected error {expected:.3f}; a step in the tree is 0.6"
)

# %%
# Means of all readers in one call. What word is nearest is computed from what is released, and
# costs nothing more.

releases = cdp.frechet_mean(points[picked], ball, guarantee, groups=readers)
for liking, release in zip(releases.labels, releases, strict=True):
    exact = cdp.nonprivate.frechet_mean(points[picked[readers == liking]], space).value
    error = float(space.dist(release.value, exact))
    nearest = words[np.argmin(space.dist(points, release.value))]
    print(f"likes {liking}: the mean is next to {nearest}, its error {error:.3f}")

# %%
# The Poincaré disc shows all of the plane; lengths grow without end towards its rim. The tree is
# public, the look-ups are made up: those of people would not be shown.

disc = space.to_poincare(points)
where = dict(zip(words, disc, strict=True))
figure, ax = plt.subplots(figsize=(6.0, 6.4), layout="constrained")
ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
for word, parent in tree["parent"].dropna().items():
    ax.plot(*np.transpose([where[word], where[parent]]), color="0.8", linewidth=0.4)
for number, (liking, release) in enumerate(zip(releases.labels, releases, strict=True)):
    style, own = {"color": f"C{number}"}, disc[picked[readers == liking]]
    ax.plot(*own.T, ".", markersize=2, **style)
    mean, name = space.to_poincare(release.value), f"private mean, likes {liking}"
    ax.plot(*mean, "*", markersize=16, markeredgecolor="k", label=name, **style)
for word in ("mammal.n.01", "carnivore.n.01", "ungulate.n.01", "rodent.n.01"):
    ax.annotate(word, where[word], fontsize=8)
    ax.plot(*where[word], "k.")
ax.set(aspect="equal", title="ε = 1 for each reader")
ax.axis("off")
figure.legend(loc="outside lower center", fontsize=8)
