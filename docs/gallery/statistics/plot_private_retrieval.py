"""
Private retrieval of similar rows
=================================

A client looks for rows like its own among a server's public anchors. It releases in which public
cell its row lies, by randomised response, and the server answers from that.
"""

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.mail import nearest

rng = np.random.default_rng(0)
labels = rng.integers(0, 5, 500)
rows = np.eye(16)[labels] + 0.15 * rng.standard_normal((500, 16))
queries, anchors = rows[:50], rows[50:]

epsilons = [0.5, 1.0, 2.0, 3.0, 5.0]
found = []
for epsilon in epsilons:
    mail = cdp.PrivateMail(n_components=4, guarantee=cdp.PureDP(epsilon))
    public = mail.anchors(anchors, labels[50:])
    answers = mail.embed_queries(queries, public)
    matches = nearest(answers.value, public.embedding, 1)[:, 0]
    found.append(np.mean(labels[50:][matches] == labels[:50]))

figure, ax = plt.subplots(figsize=(5, 3.2))
ax.plot(epsilons, found, "o-")
ax.axhline(0.2, color="k", linestyle="--", label="by chance")
ax.set(xlabel="ε of each query", ylabel="first match of the right class", ylim=(0, 1))
ax.legend()
figure.tight_layout()
