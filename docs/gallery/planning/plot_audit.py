"""
Auditing a mechanism
====================

An audit draws fresh releases at two neighbouring data sets and computes, with stated confidence, a
lower bound of the privacy parameter. A bound above the claim refutes the claim.
"""

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.audit import likelihood_ratio_audit

ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
sensitivity = 0.05
here = ball.center
there = np.array([np.sin(sensitivity), 0.0, np.cos(sensitivity)])

# %%
# A sound mechanism, and one that makes the same claim with half the noise.

sound = cdp.RiemannianGaussian(ball, sensitivity, cdp.GDP(mu=1.0))
broken = cdp.RiemannianGaussian(ball, 0.5 * sensitivity, cdp.GDP(mu=1.0))
results = {
    name: likelihood_ratio_audit(mechanism, here, there, n_samples=200_000)
    for name, mechanism in (("sound", sound), ("half the noise", broken))
}
for result in results.values():
    print(result.report())

# %%
# For Gaussian DP the audit tests the whole trade-off curve: each point is an event, with the bound
# that it alone proves.

figure, ax = plt.subplots(figsize=(5.5, 3.5))
for name, result in results.items():
    events = [event for event in result.events if event.direction == "a over b"]
    ax.plot(
        [event.probability_lower for event in events],
        [event.lower_bound for event in events],
        ".-",
        label=name,
    )
ax.axhline(1.0, color="k", linestyle="--", label="claimed")
ax.set(xlabel="probability of the event", ylabel="proved lower bound on μ")
ax.legend()
figure.tight_layout()
