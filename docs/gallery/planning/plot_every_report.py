"""
The report of every kind of release
===================================

What a data-protection officer gets to read of each statistic: five sentences, then the facts. The
records are made up: 600 directions that lie within .6 of a public one.
"""

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.conformal import conformal_mean, density
from curvedp.mail import PrivateQuery

# %%
# One ledger for all: it names the data set and the protected unit; reports tell their entries.

rng = np.random.default_rng(1)
space = cdp.Sphere(2)
x = rng.normal(size=(600, 3)) * 0.15 + [0.0, 0.0, 1.0]
x /= np.linalg.norm(x, axis=1)[:, None]
time, site = np.linspace(-1.0, 1.0, 600), np.repeat(["a", "b", "c"], 200)
ball = cdp.Ball(space, center=[0.0, 0.0, 1.0], radius=0.6)
gdp, pure = cdp.GDP(mu=1.0), cdp.PureDP(1.0)
either = cdp.GDP(mu=2.0, neighbours="add-remove")
ledger = cdp.Ledger(cdp.GDP(mu=9.0), data="directions", unit="animal")
paid = {"ledger": ledger}

found = {
    "mean": cdp.frechet_mean(x, ball, gdp, **paid),
    "means of groups": cdp.frechet_mean(x, ball, gdp, groups=site, **paid),
    "adaptive mean": cdp.adaptive_mean(x, ball, gdp, **paid),
    "median": cdp.geometric_median(x, ball, gdp, **paid),
    "K-norm gradient": cdp.kng_mean(x, ball, cdp.PureDP(5.0)),
    "confidence region": cdp.confidence_region(x, ball, gdp, **paid),
    "variance": cdp.frechet_variance(x, ball, gdp, **paid),
    "interval of the variance": cdp.variance_interval(x, ball, gdp, **paid),
    "principal component": cdp.principal_components(x, 1, ball, gdp, **paid),
    "quantile": cdp.quantile(x[:, 0], 0.5, low=-1.0, high=1.0, guarantee=gdp, **paid),
    "mean direction": cdp.directions.mean_direction(x, space, gdp, **paid),
    "directions of groups": cdp.directions.mean_direction(
        x, space, gdp, groups=site, **paid
    ),
    "mean axis": cdp.directions.mean_axis(x, cdp.Projective(2), gdp, **paid),
}
halves = [cdp.frechet_mean(own, ball, gdp) for own in (x[:300], x[300:])]
found["combined mean"] = cdp.combine(halves)

# %%
# Without a ball, where the number of records may be protected, too; of one data set and of sites.

found["mean without a ball"] = cdp.frechet_mean(x, space, either)
study = cdp.sites.Agreement(space.spec, either, ["Aarhus", "Bologna", "Cork"], 1)
found["mean of sites"] = cdp.sites.simulate(np.array_split(x, 3), study)

# %%
# Tests, regressions and models.

line = cdp.geodesic_regression(time, x, ball, gdp, x_range=(-1.0, 1.0), **paid)
found |= {
    "two samples": cdp.two_sample_test(x[:300], x[300:], ball, gdp, **paid),
    "several samples": cdp.k_sample_test(x, site, ball, gdp, **paid),
    "trend": cdp.trend_test(time, x, ball, gdp, x_range=(-1.0, 1.0), **paid),
    "geodesic": line,
    "explained spread": cdp.r_squared(time, x, line, gdp, **paid),
    "clusters": cdp.k_means(x, 2, ball, gdp, **paid),
    "logistic regression": cdp.tangent_logistic(
        x, site, ball, gdp, classes=list("abc"), **paid
    ),
    "minimum distance": cdp.learning.PrivateMDM(ball, gdp, **paid).fit(x, site),
}

# %%
# The systems of the papers.

found["density"] = density(x, ball, pure)
found["conformal mean"] = conformal_mean(x, ball, pure)
anchors = cdp.PrivateMail(n_components=2, guarantee=cdp.PureDP(5.0)).anchors(
    x[1:], site[1:]
)
found["query"] = cdp.release(
    PrivateQuery(anchors=anchors), x[:1], anchors.ball, cdp.PureDP(5.0)
)

for release in found.values():
    print("=" * 88)
    print(release.report())

# %%
# What several guarantees mean together is the ledger's to say.

print(ledger)
figure, ax = plt.subplots(figsize=(5.5, 4.4), layout="constrained")
found["confidence region"].plot(ax=ax)
plt.show()
