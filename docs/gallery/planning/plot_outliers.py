"""
When some records are wrong
===========================

Some sensors are broken, some people send nonsense. How far do they move a private mean, an adaptive
mean, a geometric median?
"""

# %%
# 1,000 covariance matrices of two signals, made up with a stated seed, about a mean that is known
# here. A broken record is a matrix at the edge of the ball, the same for all that are broken: the
# worst that records can do.

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import wrapped_normal

space = cdp.SPD(2)
true_mean = np.array([[1.2, 0.3], [0.3, 0.8]])
good = wrapped_normal(1000, space, true_mean, 0.2, rng=0)
ball = cdp.Ball(space, center="identity", radius=2.0)
broken = ball.project(np.diag([60.0, 60.0]))


def spoilt(share):
    """The records, of which a share is broken."""
    records = good.copy()
    records[: round(share * len(good))] = broken
    return records


# %%
# The ball bounds the harm: with a share s broken no mean moves by more than about s times its
# diameter. What else helps is to weigh far records less. `adaptive_mean` spends a part of its
# budget on a smaller ball about most of the records; `geometric_median` minimises the sum of
# distances, not of their squares. All three have the same guarantee.

guarantee = cdp.GDP(mu=1.0)
statistics = {
    "mean": cdp.frechet_mean,
    "adaptive mean": cdp.adaptive_mean,
    "geometric median": cdp.geometric_median,
}
print(cdp.geometric_median(spoilt(0.1), ball, guarantee).report())

# %%
# Twenty releases for each, for the picture: the root mean square distance from the mean of the good
# records' law.

shares = [0.0, 0.02, 0.05, 0.1, 0.2, 0.3]
found = {}
for name, statistic in statistics.items():
    values = [
        np.array([statistic(spoilt(share), ball, guarantee).value for _ in range(20)])
        for share in shares
    ]
    found[name] = [np.sqrt(np.mean(space.dist(v, true_mean) ** 2)) for v in values]
    print(f"{name}:", *(f"{error:.3f}" for error in found[name]))

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="constrained")
circle = np.array([np.cos(angle := np.linspace(0, 2 * np.pi, 100)), np.sin(angle)])
for matrix in good[::40]:
    left.plot(*(np.linalg.cholesky(matrix) @ circle), color="0.8", linewidth=0.6)
left.plot(*(np.linalg.cholesky(true_mean) @ circle), "k")
for name, style in zip(
    statistics, ("tab:blue", "tab:orange", "tab:green"), strict=True
):
    matrix = statistics[name](spoilt(0.1), ball, guarantee).value
    left.plot(*(np.linalg.cholesky(matrix) @ circle), color=style)
    right.plot(
        [100 * share for share in shares], found[name], "o-", color=style, label=name
    )
left.set(aspect="equal", title="10 % broken, one release each; black: the truth")
right.set(xlabel="per cent of the records broken", ylabel="distance from the true mean")
right.legend()

# %%
# With no broken record all three err alike here: most of that is the sampling of the records, not
# the noise. The noise of the mean is known beforehand. That of the others depends on the records;
# for the adaptive mean `plan` gives a range: an estimate, as what a few records far away would move
# no plan and no release tells.

expected = cdp.expected_error(ball, n=1000, guarantee=guarantee)
print(f"mean, by its noise alone: {expected:.4f}")
print(cdp.plan("adaptive_mean", ball, guarantee, n=1000).report())
