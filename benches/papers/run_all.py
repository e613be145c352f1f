"""Every table and figure of the four papers, and what their claims come to, as pages with pictures.

    python benches/papers/run_all.py --quick
    CURVEDP_DATA=/path/to/data python benches/papers/run_all.py --out docs/measured

Runs the scripts of this folder part by part, each in a process of its own, and writes one page for
each paper, its figures and an index. A part that fails or whose data are missing is named on its
page and in the summary; the others go on. The exit code is 1 if a part failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURES = {".png", ".csv", ".svg"}


@dataclass(frozen=True)
class Part:
    """One run of a script.

    ``quick`` and ``full`` are its arguments at the two levels, ``{out}`` a folder for figures.
    ``needs`` are files below CURVEDP_DATA without which it cannot run, ``uses`` such without which
    it leaves something out.
    """

    title: str
    script: str
    quick: str = ""
    full: str = ""
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """The page of one paper: its title and the parts that make it."""

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass
class Outcome:
    """Outcome of a part."""

    part: Part
    state: str
    seconds: float = 0.0
    text: str = ""
    figures: list[str] = field(default_factory=list)


_RATS = "landmarks/rats.npz"
_CALLOSA = "corpus_callosum_adhd200/cc_landmarks.npz"
_XRAYS = "pneumoniamnist/pneumoniamnist_val_test.npz"
_FASHION = "retrieval_features/fashion_pca64_unit_5000.npz"


def _conformal(number: int, title: str, *needs: str) -> Part:
    only = f"--only {number} --out {{out}}"
    return Part(
        f"Figure {number}: {title}",
        "conformal.py",
        f"{only} --repetitions 2",
        f"{only} --repetitions 10",
        needs,
    )


def _regression(name: str, title: str, quick: int, *needs: str) -> Part:
    only = f"--only {name}"
    return Part(
        title,
        "regression.py",
        f"{only} --repetitions {quick}",
        f"{only} --repetitions 40",
        needs,
    )


PAGES = (
    Page(
        "claims",
        "Claims about sensitivity, solvers and noise",
        (Part("Sensitivities, solvers, errors and graphs", "claims.py"),),
    ),
    Page(
        "conformal",
        "He et al.: conformal private Fréchet means",
        (
            _conformal(2, "error against the dimension"),
            _conformal(3, "error against the number of records"),
            _conformal(4, "error against the spread"),
            _conformal(5, "error against the budget"),
            _conformal(6, "where releases land"),
            _conformal(7, "CIFAR-10", "cifar10/cifar10_2000.npz"),
            _conformal(8, "Fashion-MNIST", "fashion_mnist/fashion_mnist_5000.npz"),
        ),
    ),
    Page(
        "inference",
        "Jiang, Chang and Hu: private inference on manifolds",
        (
            Part(
                "Tables 1 to 5, figures 4 and 5",
                "inference.py",
                "--quick --out {out}",
                "--out {out}",
                uses=(_XRAYS,),
            ),
        ),
    ),
    Page(
        "regression",
        "Kulkarni and Soto: private geodesic regression",
        (
            _regression("utility", "Section 5: errors against the truth", 5),
            _regression("choice", "Both samplers and the choice between them", 3),
            _regression("splits", "Figures 1, 2 and 7: splits of the budget", 5),
            _regression("shapes", "Figures 8 and 10: shapes", 10, _RATS, _CALLOSA),
            _regression("pictures", "Figures 3, 5 and 8: pictures", 1, _RATS),
            Part(
                "Figures 1, 2 and 5 to 10: curves",
                "regression_figures.py",
                "--out {out} --pairs 5 --shape-pairs 1",
                "--out {out}",
                (_RATS, _CALLOSA),
            ),
        ),
    ),
    Page(
        "privatemail",
        "Vepakomma, Balla and Raskar: private supervised embeddings",
        (
            Part(
                "Retrieval against the budget",
                "privatemail.py",
                "--quick --out {out}",
                "--out {out}",
                uses=(_FASHION,),
            ),
        ),
    ),
)


def run(part: Part, name: str, *, quick: bool, data: Path | None, out: Path) -> Outcome:
    """Run one part and move its figures to ``out``, named after the page ``name``."""
    missing = [entry for entry in part.needs if data is None or not (data / entry).exists()]
    if missing:
        return Outcome(part, "no data", text=f"Not run: needs {', '.join(missing)}.")
    arguments = part.quick if quick else part.full
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    environment.pop("CURVEDP_DATA", None)
    absent = [entry for entry in part.uses if data is None or not (data / entry).exists()]
    if data is not None and not absent:
        environment["CURVEDP_DATA"] = str(data)
    with tempfile.TemporaryDirectory() as scratch:
        # figures end up below the working directory, wherever a script puts them
        folder = Path(scratch) / "docs" / "images"
        folder.mkdir(parents=True)
        command = [sys.executable, str(HERE / part.script)]
        command += [entry.format(out=folder) for entry in arguments.split()]
        start = time.perf_counter()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=scratch, env=environment
        )
        seconds = time.perf_counter() - start
        figures = []
        for path in sorted(Path(scratch).rglob("*")):
            if path.suffix in PICTURES:
                stem = "-".join(path.relative_to(folder).parts)
                figures.append(stem if stem.startswith(name) else f"{name}-{stem}")
                shutil.copyfile(path, out / figures[-1])
    text = done.stdout.strip()
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Outcome(part, "failed", seconds, f"{text}\n\nFailed: {last[0]}".strip(), figures)
    if absent:
        text += f"\n\nLeft out, for want of data: what needs {', '.join(absent)}."
    return Outcome(part, "done", seconds, text, figures)


def page_text(page: Page, outcomes: list[Outcome], level: str) -> str:
    """One paper's page: its parts' output and pictures, without tables that a CSV file holds."""
    lines = [f"# {page.title}", "", f"Output of `python benches/papers/run_all.py{level}`."]
    if level:
        lines[-1] += " Few repetitions: figures vary between runs."
    for outcome in outcomes:
        in_files = any(name.endswith(".csv") for name in outcome.figures)
        text = _without_tables(outcome.text) if in_files else outcome.text
        lines += ["", f"## {outcome.part.title}", "", _nested(text)]
        for name in outcome.figures:
            if name.endswith(".csv"):
                lines += ["", f"[{name}]({name})"]
            else:
                lines += ["", f"![{outcome.part.title}]({name})"]
    return "\n".join(lines) + "\n"


def _without_tables(text: str) -> str:
    return re.sub(r"\n{2,}(?:\|.*(?:\n|\Z))+", "\n", text).strip()


def _nested(text: str) -> str:
    """Headings of a script below its part's: the highest on the third level."""
    marks = re.compile(r"^#+(?= )", re.M)
    shift = 3 - min(map(len, marks.findall(text)), default=3)
    return marks.sub(lambda mark: "#" * (len(mark[0]) + shift), text)


def summary(outcomes: dict[str, list[Outcome]]) -> str:
    """One line for each part."""
    lines = ["| paper | part | result | seconds |", "|---|---|---|---|"]
    for name, parts in outcomes.items():
        for entry in parts:
            lines.append(f"| {name} | {entry.part.title} | {entry.state} | {entry.seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Run all parts, write the pages, print the summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="minutes in all, noisy figures")
    parser.add_argument("--out", type=Path, default=Path("docs/measured"))
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("CURVEDP_DATA"), help="folder of the real data"
    )
    parser.add_argument("--only", default=",".join(page.name for page in PAGES))
    settings = parser.parse_args()
    settings.out.mkdir(parents=True, exist_ok=True)
    level = " --quick" if settings.quick else ""
    wanted = settings.only.split(",")
    outcomes: dict[str, list[Outcome]] = {}
    for page in PAGES:
        if page.name not in wanted:
            continue
        done = outcomes[page.name] = []
        for part in page.parts:
            print(f"{page.name}: {part.title} ...", flush=True)
            levels = {"quick": settings.quick, "data": settings.data, "out": settings.out}
            done.append(run(part, page.name, **levels))
            print(f"    {done[-1].state}, {done[-1].seconds:.0f} s", flush=True)
        text = page_text(page, done, level)
        (settings.out / f"{page.name}.md").write_text(text, encoding="utf-8")
    print("\n" + summary(outcomes))
    if any(entry.state == "failed" for parts in outcomes.values() for entry in parts):
        sys.exit(1)


if __name__ == "__main__":
    main()
