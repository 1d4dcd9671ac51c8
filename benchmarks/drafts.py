"""How many kernels of other people's programs run as ``placewise draft`` writes them.

``python -m benchmarks.drafts --sources FOLDER``: each folder in ``FOLDER`` is one program. Up to
three kernels of each source are drafted and run with the guessed inputs, one after another, some
seconds each. ``--most N`` takes N programs, drawn with a fixed seed.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.results import Figure, report
from placewise.kernel.cases.drafts.drafted_case import drafted_kernels
from placewise.kernel.cases.make_case import read_source
from placewise.kernel.host_code.includes import folders_of_headers, included_texts

KERNELS = 3
SECONDS = 180.0
SEED = 1
REASONS = {
    "does not compile": "the source does not compile alone",
    "no kernel named": "the source does not compile alone",
    "declared but nowhere": "the source does not compile alone",
    "out of bounds": "an access out of bounds",
    "does not end": "a loop that does not end",
    "argument": "a type that is not known",
    "parameter": "a type that is not known",
}
"""What stops a kernel, by words of the error."""


def kernels_in(program: Path) -> Iterator[tuple[Path, str]]:
    """Sources of a program with the names of kernels in them or in what they include."""
    for source in sorted(program.rglob("*.cu")):
        text = read_source(source)[0]
        headers = folders_of_headers(text, source.parent)
        found = drafted_kernels("\n".join((text, *included_texts(text, source.parent, headers))))
        for name in list(dict.fromkeys(kernel.name for kernel in found))[:KERNELS]:
            yield source, name


def outcome(source: Path, kernel: str, folder: Path) -> str:
    """``runs``, or what stops the kernel."""
    command = [sys.executable, "-m", "placewise", "draft", str(source), "--kernel", kernel]
    command += ["--out", str(folder / f"{kernel}.toml"), "--quiet", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS:g} s"
    if done.returncode:
        return "refused" if done.returncode == 2 else "an error of the program itself"
    found = json.loads(done.stdout)
    if found["runs"]:
        return "runs"
    return next(
        (r for words, r in REASONS.items() if words in found["stopped_by"]), "another error"
    )


def main(
    sources: Annotated[Path, typer.Option(help="Folder with one folder for each program.")],
    most: Annotated[int, typer.Option(help="Number of programs to draw.")] = 1000,
) -> None:
    """Draft, count, print, write results/drafts.json."""
    programs = sorted(p for p in sources.iterdir() if p.is_dir())
    programs = sorted(random.Random(SEED).sample(programs, min(most, len(programs))))
    counted: Counter[str] = Counter()
    for program in programs:
        for source, kernel in kernels_in(program):
            with tempfile.TemporaryDirectory() as folder:
                found = outcome(source, kernel, Path(folder))
            counted[found] += 1
            print(f"{source.relative_to(sources)} {kernel}: {found}", file=sys.stderr, flush=True)
    total = counted.total()
    broken = counted["an error of the program itself"]
    figures = [
        Figure("programs", len(programs), "", "", True),
        Figure("kernels", total, "", "", True),
        *(Figure(what, number / total, "of 1", "", True) for what, number in counted.most_common()),
        Figure("errors of the program itself", broken, "", "0", broken == 0),
    ]
    if not report("drafts", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
