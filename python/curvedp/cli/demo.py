"""``curvedp demo``: the private mean of real diffusion tensors, beside the exact one."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from curvedp import frechet_mean, nonprivate
from curvedp._text import rounded_up
from curvedp.cli.output import check_writable
from curvedp.cli.tables import FileError
from curvedp.datasets import load_diffusion_tensors
from curvedp.domain import Ball
from curvedp.errors import MissingExtraError
from curvedp.manifolds import SPD
from curvedp.privacy import Ledger, PureDP, Release

__all__ = ["BUDGETS", "public_ball", "run"]

BUDGETS = (0.1, 0.3, 1.0)
TOTAL = PureDP(epsilon=1.5)

_QUESTION = """\
What is the mean diffusion tensor of this piece of brain, without giving away any one record?

Records   {n} diffusion tensors (voxels of one human brain), units {units}.
          Source: dipy, BSD-3-Clause. A real study would protect people, not voxels.
Ball      affine-invariant distance on SPD(3), centre 1.0 x identity, radius 2.0.
          Public knowledge, not data: water diffuses at about 0.7 in brain tissue and 3.0 when free
          at body temperature. The ball reaches from isotropic 0.32 to 3.17 and holds white matter
          with diffusivities (1.6, 0.3, 0.3). A record outside is moved to the ball's edge.
"""


def public_ball() -> Ball:
    """Domain of the demo, chosen from what is known about water in tissue, not from the records.

    Mean diffusivity of brain tissue is about 0.7e-3 mm^2/s (Pierpaoli et al. 1996: trace of about
    2.1e-3), that of free water at 37 degrees Celsius about 3.0e-3. With the centre at 1.0e-3 the
    radius 2.0 covers free water (distance sqrt(3) ln 3 = 1.90) and coherent white matter with
    eigenvalues (1.6, 0.3, 0.3) (distance 1.77).
    """
    return Ball(SPD(3), np.eye(3), 2.0)


def run(out: Path, console: Console) -> None:
    """Release the mean at three budgets, print the report of the last, write the picture.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    FileError
        The picture cannot be written.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("demo", needed_for="the demo")
    from curvedp.plotting import DiffusionTensorDisplay

    check_writable(out)
    tensors = load_diffusion_tensors()
    ball = public_ball()
    console.print(_QUESTION.format(n=len(tensors.records), units=tensors.units), markup=False)
    with Ledger(TOTAL) as ledger:
        releases = [
            frechet_mean(tensors.records, ball, PureDP(epsilon), ledger=ledger)
            for epsilon in BUDGETS
        ]
        account = f"Ledger: spent {ledger.spent} of {TOTAL} on all three."
    exact = nonprivate.frechet_mean(ball.project(tensors.records), ball.manifold).value
    console.print(releases[-1].report().rstrip(), markup=False)
    console.print()
    console.print(_comparison(releases, exact, ball))
    console.print(account, markup=False)
    display = DiffusionTensorDisplay.from_releases(releases, nonprivate_mean=exact)
    display.figure_.savefig(out, dpi=120)
    console.print(f"Picture written to {out}", markup=False)


def write_data(folder: Path, console: Console) -> None:
    """Write the files that the examples of the commands read.

    Diffusion tensors of one brain, and directions that turn with age, made up from a fixed seed.

    Raises
    ------
    FileError
        A file is there already, or cannot be written.
    """
    tensors = load_diffusion_tensors().records
    upper = np.triu_indices(3)
    rng = np.random.default_rng(20)
    age = rng.uniform(20.0, 80.0, 400).round(1)
    turn = (age - 50.0) / 100.0
    points = np.stack([np.sin(turn), 0.1 * rng.standard_normal(400), np.cos(turn)], axis=1)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    tables = {
        "tensors.csv": ("xx,xy,xz,yy,yz,zz", tensors[:, upper[0], upper[1]]),
        "directions.csv": ("age,x,y,z", np.column_stack([age, points])),
    }
    for name, (header, rows) in tables.items():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                np.savetxt(file, rows, delimiter=",", header=header, comments="", fmt="%.6g")
        except FileExistsError as error:
            raise FileError(f"{path}: exists; choose another folder") from error
        except OSError as error:
            raise FileError(f"{path}: cannot be written ({error.strerror})") from error
        console.print(f"{path}: {len(rows)} records", markup=False)


def _comparison(releases: Sequence[Release], exact: NDArray[np.float64], ball: Ball) -> Table:
    table = Table(title="Distance to the non-private mean: shown for the demo only, not private")
    for column in ("epsilon", "expected error", "distance in this run"):
        table.add_column(column, justify="right")
    for epsilon, release in zip(BUDGETS, releases, strict=True):
        distance = float(ball.manifold.dist(release.value, exact))
        expected = "" if release.expected_error is None else f"{release.expected_error:.3f}"
        table.add_row(rounded_up(epsilon), expected, f"{distance:.3f}")
    return table
