"""
A folder of Parquet files
=========================

Records lie in a folder of Parquet files, with a column that says which group each is of; the means
of all groups shall become another file. A dry run, a ledger in a file, a log, and a job that is
interrupted and goes on without paying twice.
"""

# %%
# 1. The folder
# -------------
# Directions of 400 antennas, made up with a stated seed: 40,000 rows in four files, one for each
# region. What 20 million rows take is measured in :doc:`/measured/batch`; the memory is that
# of one chunk, whatever the size of the files.

import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import curvedp as cdp
import curvedp.batch
from curvedp.datasets import wrapped_normal

workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)
rng = np.random.default_rng(0)
ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
aims = wrapped_normal(400, ball.manifold, ball.center, 0.1, rng=rng)
sizes = rng.integers(20, 180, 400)
antenna = np.repeat(np.arange(400), sizes)
rows = aims[antenna] + 0.1 * rng.standard_normal((len(antenna), 3))
for region in range(4):
    here = antenna // 100 == region
    place = folder / "records" / f"region={region}"
    place.mkdir(parents=True)
    table = pa.table({"antenna": antenna[here], "direction": list(rows[here])})
    pq.write_table(table, place / "part-0.parquet")
    print(place.relative_to(folder), len(table), "rows")

# %%
# 2. A dry run
# ------------
# On the command line; it spends nothing and releases nothing. Which antenna each record is of must
# be public: that is declared, not found out.

command = (
    "curvedp batch records --by region,antenna --points direction --manifold sphere:2 "
    "--center 0,0,1 --radius 0.5 --mu 1 --public-keys --out means.parquet --dry-run"
)
run = [sys.executable, "-m", *command.split()]
done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True)
print(done.stdout)

# %%
# 3. The job, interrupted
# -----------------------
# The same in Python. Here somebody presses Ctrl+C half way. The ledger is a file, which other
# processes and later sessions charge too.

logging.basicConfig(
    stream=sys.stdout, format="%(name)s: %(message)s", level=logging.INFO, force=True
)


def press_ctrl_c(done, total):
    """Interrupts a job when half of its groups are done."""
    if done >= total / 2:
        raise KeyboardInterrupt


ledger = cdp.Ledger(cdp.GDP(mu=1.0), path=folder / "study.ledger")
columns = {"by": ["region", "antenna"], "public_keys": True, "points": "direction"}
privacy = {"ball": ball, "guarantee": cdp.GDP(mu=1.0), "ledger": ledger}
job = columns | privacy | {"chunk_rows": 4000, "out": folder / "means.parquet"}
try:
    cdp.batch.release(cdp.Mean(), folder / "records", **job, progress=press_ctrl_c)
except KeyboardInterrupt:
    print("interrupted; spent:", ledger.spent)

# %%
# 4. The job, resumed
# -------------------
# What was finished is kept, the rest gets the noise that it would have got, and the ledger, which
# has nothing left, is not charged again.

cdp.batch.release(cdp.Mean(), folder / "records", **job, resume=True)
print("finished; spent:", ledger.spent)
print(sorted(path.name for path in folder.iterdir()))

# %%
# 5. The result
# -------------
# A row for each group. Its expected error is public, and falls as one over the group's size; the
# exact means of these made-up directions show that it is right.

means = pq.read_table(folder / "means.parquet")
error = []
for number, value in zip(
    means["antenna"].to_pylist(), means["value"].to_pylist(), strict=True
):
    records = ball.project(rows[antenna == number])
    exact = cdp.nonprivate.frechet_mean(records, ball.manifold).value
    error.append(np.degrees(float(ball.manifold.dist(value, exact))))
size, expected = means["n"].to_numpy(), np.degrees(means["expected_error"].to_numpy())
order = np.argsort(size)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.loglog(size, error, ".", color="0.6", markersize=4, label="error of one mean")
ax.loglog(size[order], expected[order], color="tab:blue", label="expected, μ = 1")
ax.set(xlabel="records of the group", ylabel="degrees", ylim=(0.03, 15))
ax.set_xticks([20, 50, 100], ["20", "50", "100"])
ax.minorticks_off()
ax.legend()
workspace.cleanup()
print(f"mean error {np.mean(error):.2f}, expected {expected.mean():.2f} degrees")
