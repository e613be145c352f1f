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
# region. Measured figures for millions of rows stand in :doc:`/batch` under *Cost*; the memory is
# that of one chunk, whatever the size of the files.

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
rows = ball.manifold.project(aims[antenna] + 0.1 * rng.standard_normal((len(antenna), 3)))
for region in range(4):
    here = antenna // 100 == region
    (folder / "records" / f"region={region}").mkdir(parents=True)
    table = pa.table({"antenna": antenna[here], "direction": list(rows[here])})
    pq.write_table(table, folder / "records" / f"region={region}" / "part-0.parquet")
print(
    len(rows), "rows:", *sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))
)

# %%
# 2. A dry run
# ------------
# On the command line; it spends nothing and releases nothing. Which antenna each record is of must
# be public: that is declared, not found out.

command = (
    "batch records --by region,antenna --points direction --manifold sphere:2 --center 0,0,1 "
    "--radius 0.5 --mu 1 --public-keys --out means.parquet --dry-run"
)
run = [sys.executable, "-m", "curvedp", *command.split()]
print(subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout)

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
job = {"by": ["region", "antenna"], "points": "direction", "ball": ball, "guarantee": cdp.GDP(1.0)}
job |= {"public_keys": True, "ledger": ledger, "chunk_rows": 4000, "out": folder / "means.parquet"}
try:
    cdp.batch.release(cdp.Mean(), folder / "records", **job, progress=press_ctrl_c)
except KeyboardInterrupt:
    print("interrupted; spent:", ledger.spent, "- result:", (folder / "means.parquet").exists())

# %%
# 4. The job, resumed
# -------------------
# What was finished is kept, the rest gets the noise that it would have got, and the ledger, which
# has nothing left, is not charged again.

done = cdp.batch.release(cdp.Mean(), folder / "records", **job, resume=True)
print("finished; spent:", ledger.spent)
print(sorted(path.name for path in folder.iterdir()))

# %%
# 5. The result
# -------------
# A row for each group. Its expected error is public, and falls as one over the group's size; the
# exact means of these made-up directions show that it is right.

means = pq.read_table(folder / "means.parquet")
value = np.stack(means["value"].to_numpy())
exact = np.stack(
    [
        cdp.nonprivate.frechet_mean(ball.project(rows[antenna == k]), ball.manifold).value
        for k in means["antenna"].to_numpy()
    ]
)
error = np.degrees(ball.manifold.dist(value, exact))
size, expected = means["n"].to_numpy(), np.degrees(means["expected_error"].to_numpy())
order = np.argsort(size)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.loglog(size, error, ".", color="0.6", markersize=4, label="error of one mean")
ax.loglog(size[order], expected[order], color="tab:blue", label="expected (mean) error, μ = 1")
ax.set(
    xlabel="records of the group", ylabel="degrees", xticks=[20, 50, 100], xticklabels=[20, 50, 100]
)
ax.minorticks_off()
ax.legend()
ax.set_ylim(0.03, 15)
workspace.cleanup()
print(f"mean error {error.mean():.2f}, expected {expected.mean():.2f} degrees")
