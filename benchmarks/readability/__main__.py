"""``make bench-readability``: how easily a newcomer finds their way, before and after.

``--base REV`` names the revision to compare with, ``--list`` prints what is over a limit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np

from benchmarks.readability.measure import Function, Tree, measure
from benchmarks.results import Figure, report

ROOT = Path(__file__).parents[2]
BASE = "cd25b1b"
"""The last revision before the tree was arranged."""
LINES, PARAMETERS, COMPLEXITY, LOOSE, MODULE = 60, 8, 20, 16, 440
FEWER = 3_000


def measure_revision(revision: str) -> Tree:
    """Figures of ``src`` as git has it at ``revision``."""
    command = ["git", "-C", str(ROOT), "archive", revision, "src"]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory(prefix="placewise-readability-") as folder:
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return measure(Path(folder) / "src")


def over(tree: Tree) -> list[Function]:
    """Functions over a limit that no comment explains."""
    return [
        f
        for f in tree.functions
        if not f.commented
        and (f.lines > LINES or f.parameters > PARAMETERS or f.complexity > COMPLEXITY)
    ]


def figures(before: Tree, now: Tree) -> list[Figure]:
    """Each figure of the tree as it lies here, with that of the base in its name."""
    limits = (
        ("files", lambda t: t.files, "files", None),
        ("lines of source", lambda t: t.lines, "lines", before.lines - FEWER),
        ("longest module", lambda t: max(t.module_lines.values()), "lines", MODULE),
        ("most loose modules in a folder", lambda t: max(t.folders.values()), "modules", LOOSE),
        ("functions", lambda t: len(t.functions), "functions", None),
        ("longest function", lambda t: max(f.lines for f in t.functions), "lines", None),
        ("95th percentile of functions", lambda t: percentile(t), "lines", None),
        (f"functions over {LINES} lines", lambda t: count(t, "lines", LINES), "functions", None),
        (f"functions over {PARAMETERS} parameters",
         lambda t: count(t, "parameters", PARAMETERS), "functions", None),
        (f"functions over complexity {COMPLEXITY}",
         lambda t: count(t, "complexity", COMPLEXITY), "functions", None),
        ("functions over a limit without a comment that says why",
         lambda t: len(over(t)), "functions", 0),
        ("docstrings", lambda t: t.docstrings, "docstrings", None),
        ("docstrings that open by pointing back", lambda t: len(t.anaphoric), "docstrings", 0),
    )  # fmt: skip
    rows = []
    for name, value, unit, most in limits:
        was, here = value(before), value(now)
        asked = "" if most is None else f"at most {most}"
        rows.append(
            Figure(f"{name} (before: {was})", here, unit, asked, asked == "" or here <= most)
        )
    return rows


def percentile(tree: Tree) -> int:
    """The length in lines that 95 % of functions do not exceed."""
    return int(np.percentile([f.lines for f in tree.functions], 95))


def count(tree: Tree, what: str, limit: int) -> int:
    """How many functions exceed ``limit`` in ``what``."""
    return sum(getattr(f, what) > limit for f in tree.functions)


def main() -> int:
    """Print the table; the exit code is 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default=BASE, help="revision to compare with")
    parser.add_argument("--list", action="store_true", help="print what is over a limit")
    options = parser.parse_args()
    now = measure(ROOT / "src")
    if options.list:
        for f in over(now):
            print(
                f"{f.place}: {f.lines} lines, {f.parameters} parameters, complexity {f.complexity}"
            )
        print("\n".join(now.anaphoric))
    return 0 if report("readability", figures(measure_revision(options.base), now)) else 1


if __name__ == "__main__":
    sys.exit(main())
