"""Examples for other programs: pipeline files of MOABB, and the page for R, which R runs."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["private_mdm", "private_tangent_logistic"])
def test_pipelines_of_moabb_fit_and_tell_classes_apart(name):
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location(name, DOCS / "examples" / "moabb" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 400)
    loud = np.where(labels == 1, 8.0, 2.0)[:, None, None] * np.array([1.0, 1.0, 0.3])[:, None]
    epochs = loud * rng.standard_normal((800, 3, 200))
    pipeline = module.PIPELINE["pipeline"]
    # noise of scale below .02 beside classes 2.4 apart: a score below .9 has no chance
    assert pipeline.fit(epochs, labels).score(epochs, labels) > 0.9
    assert set(module.PIPELINE) == {"name", "paradigms", "pipeline"}


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_page_for_r_runs(tmp_path):
    blocks = re.findall(r"^```r\n(.*?)^```", (DOCS / "from-r.md").read_text("utf-8"), re.M | re.S)
    script = tmp_path / "page.R"
    script.write_text("\n".join(blocks), encoding="utf-8")
    oldest = "1.38" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "1.0"
    known = "'reticulate' %in% rownames(installed.packages()) && packageVersion('reticulate')"
    quits = f"quit(status = !({known} >= '{oldest}'))"
    if subprocess.run(["Rscript", "-e", quits], check=False).returncode:
        pytest.skip(f"R has no reticulate >= {oldest}, which this NumPy needs")
    done = subprocess.run(
        ["Rscript", str(script)],
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "GDP(mu=1)" in done.stdout
    assert "remaining" in done.stdout
