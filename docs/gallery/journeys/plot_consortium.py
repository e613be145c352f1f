"""
Twenty hospitals, one mean
==========================

No record may leave a hospital, and none has enough of them for a mean of its own. Sites that send
noisy sums find the mean that all records together would have given: here each stands for a hospital
with 29 diffusion tensors, and the bytes that would travel do travel, within one process. Flower
carries the same ones between hospitals (:doc:`/consortium`).
"""

# %%
# 1. What is agreed on
# --------------------
# The space, the guarantee, who takes part, and how many sites may drop out, lie or work together.
# Whether a person's record is there at all is protected, and so is how many there are. No ball, no
# unit and no number of records is public.

import matplotlib.pyplot as plt
import numpy as np

import curvedp as cdp
from curvedp.datasets import load_diffusion_tensors
from curvedp.plotting import DiffusionTensorDisplay
from curvedp.sites import Agreement, simulate

whole = cdp.GDP(mu=1.0, neighbours="add-remove")
study = Agreement("spd:3", whole, [f"hospital {j}" for j in range(20)], dropouts=4)
print(study.digest)

# %%
# 2. The study
# ------------
# The server asks, sites answer with a sum and their share of the noise. Three hospitals miss the
# second round; five miss the third, which is void, paid for, and asked again. Each has a ledger.

tensors = load_diffusion_tensors().records
order = np.random.default_rng(0).permutation(len(tensors))
parts = np.array_split(tensors[order], 20)
away = {1: study.roster[:3], 2: study.roster[5:10]}
ledgers = [cdp.Ledger(whole, data=name, unit="patient") for name in study.roster]
sizes = []
mean = simulate(
    parts,
    study,
    dropouts=away,
    ledgers=ledgers,
    watch=lambda plan, answers: sizes.append(
        (len(plan), max(map(len, answers.values())))
    ),
)
print(mean.report())

# %%
# Bytes of the plan and of an answer in each round, and the account of a hospital that missed one:

print(sizes)
ledgers[5]

# %%
# 3. Beside other ways
# --------------------
# At one site with all records; and combined from a release of each hospital on a public ball. The
# relation of these is "replace", for which the noise of a study would be twice as much.

central = cdp.frechet_mean(tensors, cdp.SPD(3), whole)
ball = cdp.Ball("spd:3", center=0.8 * np.eye(3), radius=2.0)
combined = cdp.combine(
    [cdp.frechet_mean(part, ball, cdp.GDP(mu=1.0)) for part in parts]
)
values = [central.value, mean.value, combined.value]
titles = ["one site", "twenty sites", "combined"]
DiffusionTensorDisplay(values, titles).plot(figure=plt.figure(figsize=(9, 3.2)))

# %%
# The data are public, which is why errors about the exact mean may stand here.

exact = cdp.nonprivate.frechet_mean(tensors, cdp.SPD(3)).value
for title, value in zip(titles, values, strict=True):
    print(f"{title}: error {float(cdp.SPD(3).dist(value, exact)):.3f}")
