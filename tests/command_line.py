"""Running the command line in tests, and writing records in every format it reads."""

import numpy as np
import pytest
from click.testing import CliRunner

from curvedp.cli.app import app

TENSOR = np.array([[1.2, 0.1, 0.0], [0.1, 0.9, -0.2], [0.0, -0.2, 0.7]])
SPD_OPTIONS = ["--manifold", "spd:3", "--center", "identity", "--radius", "1.5"]


def make_tensors():
    noise = np.random.default_rng(1).normal(scale=0.05, size=(300, 3, 3))
    return TENSOR + noise + noise.swapaxes(1, 2)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def mean(data, out, *arguments, options=SPD_OPTIONS, budget=("--epsilon", "1")):
    return run("mean", data, *options, *budget, "--out", out, *arguments)


def assert_fails(result, code, *words):
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    for word in words:
        assert word in last


def save(folder, name, array):
    """Write an array of tensors in the format that the name's ending asks for."""
    path = folder / name
    upper = array[:, *np.triu_indices(3)]
    if name.endswith(".npy"):
        np.save(path, array)
    elif name.endswith(".npz"):
        np.savez(path, tensors=array, other=np.zeros(2))
    elif name.endswith("upper.csv"):
        np.savetxt(path, upper, delimiter=",", header="xx,xy,xz,yy,yz,zz", comments="")
    elif name.endswith(".csv"):
        np.savetxt(path, array.reshape(-1, 9), delimiter=",")
    else:
        write_parquet(path, array, lists="lists" in name)
    return path


def write_parquet(path, array, *, lists):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    flat = array.reshape(len(array), -1)
    if lists:
        values = pa.array(flat.ravel())
        columns = {"tensor": pa.FixedSizeListArray.from_arrays(values, flat.shape[1])}
    else:
        columns = {f"x{k}": flat[:, k] for k in range(flat.shape[1])}
    pq.write_table(pa.table(columns), path)
