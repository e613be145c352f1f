"""
A report that others can decide by
==================================

Every release says in five sentences who is protected, against whom, assuming what, at what cost,
and how exact it is: for a data-protection officer, an ethics board or a reader of the paper.
"""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import curvedp as cdp
from curvedp.datasets import example_file

# %%
# A ledger that names the data set and the protected unit. Releases that are paid from it carry both
# names, their entry, and what was left.

places = pd.read_csv(example_file("earthquakes.csv"))[["lon", "lat"]]
ledger = cdp.Ledger(cdp.GDP(mu=2.0), data="earthquakes of one month", unit="earthquake")
ball = cdp.Ball(cdp.Sphere(2), center=[-0.5, 0.0, 0.85], radius=1.4)
mean = cdp.frechet_mean(places, ball, cdp.GDP(mu=0.5), ledger=ledger)
print(mean.report())

# %%
# Groups: one statement about all of them together.

half = np.where(np.arange(len(places)) % 2 == 0, "even", "odd")
groups = cdp.frechet_mean(places, ball, cdp.GDP(mu=0.5), groups=half, ledger=ledger)
print(groups.report())

# %%
# What a guarantee means for a test that tells two values of one record apart.

share = np.linspace(0.001, 0.999, 400)
figure, ax = plt.subplots(figsize=(4.5, 4.0))
for guarantee in (cdp.GDP(0.5), cdp.GDP(1.0), cdp.GDP(3.0), cdp.PureDP(1.0)):
    ax.plot(share, [guarantee.power(own) for own in share], label=str(guarantee))
ax.plot(share, share, "k--", label="guessing")
ax.set(xlabel="false alarms", ylabel="finds it in at most")
ax.legend()
figure.tight_layout()

# %%
# An entry for a public registry of deployments: what the release knows is filled in, what only its
# publisher knows is asked for.

entry = mean.to_registry(
    name="Mean direction of earthquakes",
    data_curator="An observatory",
    curator_type="Nonprofit",
    description="The mean place of the earthquakes of one year",
    intended_use="Teaching",
    region="The whole Earth",
    authors=["A. Author"],
    preparation="None. The ball was chosen before the records were read.",
)
print(json.dumps(entry["deployment"]["privacy_loss"], indent=2))

# %%
# A page for whoever has to judge the release, after the pyramid of NIST SP 800-226.

print(mean.document())
