"""Which kernels of the suites compile and translate at all, driven or not.

``python -m benchmarks.real_kernels.survey --suites FOLDER`` takes about ten minutes; it goes
through every kernel that is not a template, and those that a driver instantiates.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.real_kernels.command import load_drivers
from benchmarks.real_kernels.registry import SUITES
from benchmarks.results import RESULTS, Figure, report
from placewise.errors import PlacewiseError
from placewise.executor.device_memory.address_space import FIRST_WINDOW
from placewise.executor.translate import lowered
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.host_code.host_code import HostCode
from placewise.kernel.kernel import Kernel

ARCH = "sm_80"
FOLDERS = {
    "cuda-samples": tuple(
        f"Samples/{name}"
        for name in (
            "0_Introduction", "1_Utilities", "2_Concepts_and_Techniques", "3_CUDA_Features",
            "4_CUDA_Libraries", "5_Domain_Specific", "6_Performance",
        )
    ),
    "rodinia": ("cuda",),
    "shoc": ("src/cuda",),
}  # fmt: skip
"""Where the suites' own programs are; Tegra's and cuda-samples' libraries of C are left out."""
COLUMNS = ("suite", "file", "kernel", "ptx", "sm_80")
YES = "translates"


@dataclass(frozen=True)
class Found:
    """One kernel."""

    suite: str
    file: str
    kernel: str
    ptx: str
    """``translates``, or why it does not."""
    sm_80: str


def main(
    suites: Annotated[Path, typer.Option(help=f"Folder with checkouts: {', '.join(SUITES)}.")],
) -> None:
    """Compile and translate, write results/real_kernels_survey.csv and .json."""
    found = []
    for suite, file in _files(suites):
        for one in survey_file(suites, suite, file):
            found.append(one)
            print(f"{one.suite} {one.file} {one.kernel}: {one.ptx}; sm_80: {one.sm_80}", flush=True)
    with (RESULTS / "real_kernels_survey.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([getattr(one, column) for column in COLUMNS] for one in found)
    compiled = [one for one in found if one.sm_80]
    figures = [
        Figure("kernels of the suites that are no templates", len(found), "kernels", "", True),
        Figure("those that NVRTC compiles", len(compiled), "kernels", "", True),
    ]
    for what, column in (("PTX", "ptx"), ("sm_80 machine code", "sm_80")):
        count = sum(getattr(one, column) == YES for one in compiled)
        figures.append(
            Figure(f"of these, {what} translates", count, "kernels", f"{len(compiled)}", True)
        )
    if not report("real_kernels_survey", figures):
        sys.exit(1)


def _files(suites: Path) -> Iterator[tuple[str, str]]:
    for suite, folders in FOLDERS.items():
        root = suites / suite
        for folder in folders:
            for path in sorted((root / folder).rglob("*.cu")):
                yield suite, str(path.relative_to(root))


def survey_file(suites: Path, suite: str, file: str) -> list[Found]:
    """All kernels that ``file`` itself defines, not as templates."""
    path = suites / suite / file
    text = path.read_text(encoding="utf-8", errors="replace")
    # Included .cu files are files of their own; drivers say what a file needs to compile.
    known = [p for p in load_drivers() if (p.suite, p.file) == (suite, file)]
    options = CompileOptions(
        ARCH,
        known[0].defines if known else (),
        tuple(
            suites / folder
            for folder in (
                known[0].includes
                if known
                else ("cuda-samples/Common", "shoc/src/common", "shoc/src/cuda/common")
            )
        ),
        known[0].std if known else ("c++14" if suite != "cuda-samples" else "c++17"),
    )
    try:
        names = HostCode(text, str(path), (), options).kernels()
    except PlacewiseError as error:
        return [Found(suite, file, "", _said(error, suites), "")]
    found = []
    for name in names:
        if f"{name}(" not in text.replace(" (", "("):
            continue
        outcome = _outcome(text, str(path), name, options, suites)
        if outcome is not None:
            found.append(Found(suite, file, name, *outcome))
    return found


def _outcome(
    text: str, path: str, name: str, options: CompileOptions, suites: Path
) -> tuple[str, str] | None:
    """What becomes of a kernel by PTX and by machine code; None for a template."""
    try:
        (kernel,) = compile_module(text, path, (name,), options)
    except PlacewiseError as error:
        if "no kernel named" in str(error):
            return None
        return _said(error, suites), ""
    return _translated(kernel, suites), _translated(replace(kernel, machine_code=True), suites)


def _translated(kernel: Kernel, suites: Path) -> str:
    try:
        lowered(kernel, FIRST_WINDOW)
    except PlacewiseError as error:
        return _said(error, suites)
    return YES


def _said(error: PlacewiseError, suites: Path) -> str:
    lines: Sequence[str] = str(error).replace(f"{suites}/", "").splitlines()
    return " ".join(line.strip() for line in lines)


if __name__ == "__main__":
    typer.run(main)
