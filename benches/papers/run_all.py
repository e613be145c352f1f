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
_FASHION = "retrieval_features/fashion_pca64_unit_5000.npz"
_WORDS = "hyperbolic/wordnet_mammals_poincare2d.csv"
_LEAVES = "landmarks/passiflora.npz"
_CIFAR = "cifar10/cifar10_2000.npz"
_ALL_FASHION = (
    "fashion_mnist/fashion_mnist_70000_images.npy.xz",
    "fashion_mnist/fashion_mnist_70000_meta.npz",
)


def _conformal(name: str, title: str, repetitions: int) -> Part:
    only = f"--only {name} --out {{out}} --repetitions"
    return Part(title, "conformal.py", f"{only} 2", f"{only} {repetitions}")


def _images(name: str, title: str, *needs: str) -> Part:
    only = f"--only {name} --out {{out}} --repetitions"
    return Part(title, "conformal_images.py", f"{only} 2 --images 300", f"{only} 10", needs)


def _regression(name: str, title: str, quick: int, full: int, *needs: str) -> Part:
    only = f"--only {name} --repetitions"
    return Part(title, "regression.py", f"{only} {quick}", f"{only} {full}", needs)


def _curves(title: str, only: str, *needs: str) -> Part:
    full = f"--out {{out}} --only {only}"
    return Part(title, "regression_figures.py", f"{full} --pairs 5 --shape-pairs 1", full, needs)


PAGES = (
    Page(
        "claims",
        "Claims about sensitivity, solvers, utility and graphs",
        (Part("Sensitivities, solvers, utility and graphs", "claims.py"),),
    ),
    Page(
        "conformal",
        "He et al.: conformal private Fréchet means",
        (
            _conformal("2", "Figure 2: error against the dimension", 200),
            _conformal("3", "Figure 3: error against the number of records", 200),
            _conformal("4", "Figure 4: error against the spread", 200),
            _conformal("5", "Figure 5: error against the budget", 200),
            _conformal("means", "Other parameters and laws", 200),
            _conformal("6", "Figure 6: where releases land", 1),
            _images("7", "Figure 7: CIFAR-10", _CIFAR),
            _images("7-log", "Figure 7, log-Euclidean: CIFAR-10", _CIFAR),
            _images("8", "Figure 8: Fashion-MNIST", *_ALL_FASHION),
            _images("8-fewer", "Figure 8, 2,000 images: Fashion-MNIST", *_ALL_FASHION),
            _images("8-log", "Figure 8, log-Euclidean: Fashion-MNIST", *_ALL_FASHION),
            _images("classes", "Figures 7 and 8: classes, numbers", _CIFAR, *_ALL_FASHION),
            _conformal("time", "Section VII-A: time", 15),
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
                uses=_ALL_FASHION,
            ),
            Part(
                "Coverage on other records",
                "inference_coverage.py",
                "--replications 20",
                uses=(_WORDS, _FASHION),
            ),
            Part(
                "A smeary mean",
                "inference_smeary.py",
                "--repetitions 10 --out {out}",
                "--out {out}",
            ),
        ),
    ),
    Page(
        "regression",
        "Kulkarni and Soto: private geodesic regression",
        (
            _regression("utility", "Section 5: errors against the truth", 5, 200, _RATS),
            _regression("choice", "Both samplers and the choice between them", 5, 200),
            _regression("splits", "Figures 1, 2 and 7: splits of the budget", 5, 40),
            _regression("shapes", "Shapes against the budget", 10, 40, _RATS, _CALLOSA),
            _regression("pictures", "Pictures", 1, 1, _RATS),
            _curves("Figures 1 and 5 to 10: curves", "1,5,6,7,8,9,10"),
            _curves("Figure 2: corpora callosa, splits", "2 --shape-pairs 100", _CALLOSA),
            _curves("Figure 3: corpora callosa at five ages", "3", _CALLOSA),
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
                uses=(_FASHION, _LEAVES),
            ),
            Part("Tables of private rows", "privatemail_rows.py", uses=(_FASHION,)),
            Part(
                "Figures 2 and 4",
                "privatemail_figures.py",
                "--quick --out {out}",
                "--out {out}",
                uses=(_FASHION, _LEAVES),
            ),
            Part("The published bound, budgets and convergence", "privatemail_bound.py"),
            Part(
                "Kernels of the text and of the code",
                "privatemail_code.py",
                "--queries 20",
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
    return "\n".join(lines) + "\n" + "".join(map(section, outcomes))


def section(outcome: Outcome) -> str:
    """The section of one part, from the empty line above its heading on."""
    in_files = any(name.endswith(".csv") for name in outcome.figures)
    text = _without_tables(outcome.text) if in_files else outcome.text
    lines = ["", f"## {outcome.part.title}", "", _nested(text)]
    for name in outcome.figures:
        if name.endswith(".csv"):
            lines += ["", f"[{name}]({name})"]
        else:
            lines += ["", f"![{outcome.part.title}]({name})"]
    return "\n".join(lines) + "\n"


def with_sections(text: str, page: Page, outcomes: list[Outcome]) -> str:
    """A page in which some parts were run anew, the others keep their sections."""
    head, *old = re.split(r"(?=^\n## )", text, flags=re.M)
    kept = {one.split("\n")[1][3:]: one.rstrip("\n") + "\n" for one in old}
    kept |= {outcome.part.title: section(outcome) for outcome in outcomes}
    titles = [part.title for part in page.parts if part.title in kept]
    return head + "".join(kept[title] for title in titles)


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
    parser.add_argument(
        "--parts", help="run those whose title contains this text, keep the pages' other sections"
    )
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
            if settings.parts is not None and settings.parts not in part.title:
                continue
            print(f"{page.name}: {part.title} ...", flush=True)
            levels = {"quick": settings.quick, "data": settings.data, "out": settings.out}
            done.append(run(part, page.name, **levels))
            print(f"    {done[-1].state}, {done[-1].seconds:.0f} s", flush=True)
        target = settings.out / f"{page.name}.md"
        if settings.parts is None:
            text = page_text(page, done, level)
        else:
            text = with_sections(target.read_text(encoding="utf-8"), page, done)
        target.write_text(text, encoding="utf-8")
    print("\n" + summary(outcomes))
    if any(entry.state == "failed" for parts in outcomes.values() for entry in parts):
        sys.exit(1)


if __name__ == "__main__":
    main()
