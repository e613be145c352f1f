"""Time of the first install: CPU and wall seconds by crate, and the size of the extension.

    python benches/build_time.py
    python benches/build_time.py --touch rust/curvedp-core/src/ball.rs
    python benches/build_time.py --ref v0.1.0 --demo

Clones the commit to a temporary folder, downloads the crates, then times ``pip wheel`` with an
empty target folder. ``--touch`` appends a line to one file of the clone and times the build again.
``--demo`` times README's first command instead of the wheel alone: in a new environment, with the
packages that pip downloads for it.

Nothing else should run meanwhile. Works on Unix, where cargo calls this file in place of the
compiler (RUSTC_WRAPPER), so that what each crate took is known.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

#: Variable with the file to which a wrapped compiler adds its line; set during the build only.
LOG = "CURVEDP_BUILD_LOG"


def compile_and_note(command: list[str]) -> int:
    """Runs one call of the compiler and notes crate, start, wall and CPU seconds."""
    start = time.monotonic()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    name = next((b for a, b in itertools.pairwise(command) if a == "--crate-name"), "")
    if name not in ("", "___"):
        if name == "build_script_build":
            name = (
                Path(next(a for a in command if a.endswith(".rs"))).parent.name + " (build script)"
            )
        line = {
            "crate": name,
            "start": start,
            "wall": time.monotonic() - start,
            "cpu": usage.ru_utime + usage.ru_stime,
        }
        with open(os.environ[LOG], "a") as log:
            log.write(json.dumps(line) + "\n")
    return os.waitstatus_to_exitcode(status)


def timed(command: list[str], cwd: Path, env: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of a command with all its children."""
    before, start = os.times(), time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=env)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {done.returncode}")
    after = os.times()
    cpu = after.children_user - before.children_user
    return time.monotonic() - start, cpu + after.children_system - before.children_system


def by_crate(log: Path, smallest: float) -> None:
    """Prints the table of crates that took at least ``smallest`` CPU seconds."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("")
    start = min((line["start"] for line in lines), default=0.0)
    lines.sort(key=lambda line: -line["cpu"])
    print("| crate | begins at, s | wall, s | CPU, s |\n|---|---|---|---|")
    for line in (line for line in lines if line["cpu"] >= smallest):
        begins = line["start"] - start
        print(f"| {line['crate']} | {begins:.0f} | {line['wall']:.1f} | {line['cpu']:.1f} |")
    rest = [line["cpu"] for line in lines if line["cpu"] < smallest]
    print(f"| {len(rest)} others | | | {sum(rest):.1f} |")


def main() -> None:
    """Reads the arguments, clones, and times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ref", default="HEAD", help="commit, branch or tag")
    parser.add_argument("--touch", action="append", default=[], help="a file changed afterwards")
    parser.add_argument("--demo", action="store_true", help="README's first command")
    parser.add_argument("--smallest", type=float, default=3.0, help="CPU seconds that make a row")
    parser.add_argument("--keep", type=Path, help="copy the built wheels here")
    arguments = parser.parse_args()

    root = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory(prefix="curvedp-build-") as scratch:
        folder = Path(scratch)
        clone, log = folder / "curvedp", folder / "crates.jsonl"
        log.touch()
        subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach", arguments.ref], cwd=clone, check=True)
        subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=clone, check=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(folder / "target"),
            "PATH": f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "RUSTC_WRAPPER": str(folder / "rustc"),
            LOG: str(log),
        }
        wrapper = folder / "rustc"
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" --wrap "$@"\n')
        wrapper.chmod(0o755)

        wheel = ["pip", "wheel", "-q", "--no-deps", "-w", str(folder / "wheels"), "."]
        demo = ["sh", "-c", "pip install -q '.[demo]' && curvedp demo"]
        changes: list[str | None] = [None, *arguments.touch]
        for change in changes:
            if change:
                with open(clone / change, "a") as file:
                    file.write("\n// one line more\n")
            wall, cpu = timed(demo if arguments.demo else wheel, clone, environment)
            print(
                f"\n{f'after a change of {change}' if change else 'empty target folder'}: ", end=""
            )
            print(f"wall {wall:.0f} s, CPU {cpu:.0f} s\n")
            by_crate(log, arguments.smallest)
        for built in (folder / "wheels").glob("*.whl"):
            with zipfile.ZipFile(built) as wheel_file:
                parts = wheel_file.infolist()
            size = sum(part.file_size for part in parts if part.filename.endswith((".so", ".pyd")))
            packed = built.stat().st_size
            print(f"\nextension {size / 1e6:.2f} MB, wheel {packed / 1e6:.2f} MB")
            if arguments.keep:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / built.name).write_bytes(built.read_bytes())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--wrap"]:
        sys.exit(compile_and_note(sys.argv[2:]))
    main()
