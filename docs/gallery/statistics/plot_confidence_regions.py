"""
Confidence regions
==================

Confidence regions for the mean of a population, at three budgets and without privacy. The region
accounts for the sampling of the records and for the noise, and it is part of the release.
"""

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.plotting import RegionDisplay

ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
rng = np.random.default_rng(0)
tangent = 0.15 * rng.standard_normal((600, 3)) * [1.0, 0.5, 0.0]
records = ball.manifold.exp(tangent, ball.center)

regions = [cdp.confidence_region(records, ball, cdp.GDP(mu)) for mu in (0.2, 0.5, 1.0)]
regions.append(cdp.nonprivate.confidence_region(ball.project(records), ball.manifold))

figure, ax = plt.subplots(figsize=(5, 4.5))
RegionDisplay.from_regions(regions, base_point=ball.center, ax=ax)
figure.tight_layout()

# %%
# Two groups are compared from their regions alone, at no further budget.

others = ball.manifold.exp(tangent[::-1] + np.array([0.05, 0.0, 0.0]), ball.center)
other = cdp.confidence_region(others, ball, cdp.GDP(mu=1.0))
comparison = cdp.compare_means(regions[2], other)
print(f"p = {comparison.p_value:.3g}, distance of the means {comparison.dist:.3f}")
