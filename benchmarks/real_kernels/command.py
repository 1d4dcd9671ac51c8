"""The command: runs the programs, fills the table, judges the figures."""

from __future__ import annotations

import fnmatch
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.real_kernels.registry import PROGRAMS, SUITES, RealProgram
from benchmarks.real_kernels.run import Run, agreement, compile_program, run
from benchmarks.real_kernels.table import (
    Row,
    machine_code_agrees,
    read_rows,
    update_document,
    write_rows,
)
from benchmarks.results import RESULTS, Figure, report
from placewise.errors import PlacewiseError
from placewise.kernel.kernel import Kernel

DRIVERS = (
    "rodinia_grids",
    "rodinia_flow",
    "rodinia_algebra",
    "rodinia_graphs",
    "shoc_level1",
    "shoc_graphs",
    "shoc_more",
    "samples_intro",
    "samples_parallel",
    "samples_domain",
    "samples_features",
    "samples_language",
    "samples_textures",
)
"""Modules that enter programs into the registry."""
ARCHS = ("sm_80", "sm_86")
TABLE = RESULTS / "real_kernels_table.csv"
DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "explanation" / "real-kernels.md"


def load_drivers() -> list[RealProgram]:
    """All programs, those of one suite together."""
    for module in DRIVERS:
        importlib.import_module(f"benchmarks.real_kernels.{module}")
    return sorted(PROGRAMS, key=lambda p: p.suite)


def main(
    suites: Annotated[
        Path | None, typer.Option(help=f"Folder with checkouts: {', '.join(SUITES)}.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Names of programs, with * and ?.")] = None,
    skip_machine_code: Annotated[bool, typer.Option(help="Run the PTX alone.")] = False,
) -> None:
    """Run, print a line per program, write results/real_kernels.json and the table.

    Rows of programs that were not chosen stay as an earlier run has left them.
    """
    if suites is None or not any((suites / name).is_dir() for name in SUITES):
        if not TABLE.is_file():
            print(f"skipped: no suite in {suites or '--suites'} and no earlier table")
            return
        print(f"no suite in {suites or '--suites'}: judging the table in {TABLE}")
        _judge(read_rows(TABLE))
        return
    programs = load_drivers()
    chosen = [
        program
        for program in programs
        if not only or any(fnmatch.fnmatch(program.name, pattern) for pattern in only)
    ]
    rows = {row.program: row for row in read_rows(TABLE)} if TABLE.is_file() else {}
    for number, program in enumerate(chosen, start=1):
        start = time.perf_counter()
        row = run_program(program, suites, () if skip_machine_code else ARCHS)
        rows[program.name] = row
        print(
            f"[{number}/{len(chosen)}] {program.name} ({program.suite}): {row.reference}; "
            f"sm_80 {row.sm_80 or '-'}; sm_86 {row.sm_86 or '-'}; "
            f"{time.perf_counter() - start:.1f} s",
            flush=True,
        )
        if not skip_machine_code:
            # After every program, so that a run that is stopped is not in vain.
            write_rows(TABLE, [rows[p.name] for p in programs if p.name in rows])
    if skip_machine_code:
        print("without machine code: results are not written")
        return
    update_document(DOCUMENT, read_rows(TABLE))
    _judge(read_rows(TABLE))


def run_program(program: RealProgram, suites: Path, archs: Sequence[str]) -> Row:
    """PTX against the reference; for each architecture, machine code against PTX."""
    compared: dict[str, str] = {}
    try:
        kernels = compile_program(program, suites, ARCHS[0])
        plain = run(program, kernels)
    except (PlacewiseError, OSError) as error:
        return _row(program, None, str(error).splitlines()[0], compared, suites)
    known: dict[str, Run] = {}
    for arch in archs if not plain.refused else ():
        compiled = kernels if arch == ARCHS[0] else compile_program(program, suites, arch)
        text = _instructions(compiled[0])
        if text not in known:
            known[text] = run(program, compiled, traced=True)
        sass = run(program, compiled, machine_code=True, traced=True)
        compared[arch] = agreement(program, known[text], sass).said
    return _row(program, plain, plain.refused, compared, suites)


def _instructions(kernel: Kernel) -> str:
    """The module's PTX but for the target's name: equal text has equal results."""
    return kernel.ptx.replace(f".target {kernel.arch}", "")


def _row(
    program: RealProgram, plain: Run | None, refused: str, compared: dict[str, str], suites: Path
) -> Row:
    nearest = max(plain.checks, key=lambda c: c.worst, default=None) if plain else None
    wrong = [c.name for c in plain.checks if c.worst > 1] if plain else []
    said = _plain(refused, suites) or (f"other results: {', '.join(wrong)}" if wrong else "agrees")
    return Row(
        program.name,
        program.suite,
        program.file,
        "; ".join(program.kernels),
        program.computes,
        plain.launches if plain else 0,
        plain.thread_instructions if plain else 0,
        round(plain.seconds, 2) if plain else 0.0,
        said,
        float(f"{nearest.worst:.2g}") if nearest else 0.0,
        nearest.reason if nearest else "",
        *(_plain(compared.get(arch, ""), suites) for arch in ARCHS),
    )


def _plain(said: str, suites: Path) -> str:
    """Without the folders of this computer."""
    return said.replace(f"{suites}/", "").replace(f"{Path.cwd()}/", "")


def _judge(rows: Sequence[Row]) -> None:
    right = [row for row in rows if row.agrees]
    functions = frozenset().union(*(row.functions for row in rows))
    agreeing = frozenset().union(*(row.functions for row in right))
    figures = [
        Figure("programs driven", len(rows), "host loops", "", True),
        Figure("kernels driven", len(functions), "kernels", ">= 60", len(functions) >= 60),
        Figure(
            "programs whose results agree with an independent reference",
            len(right),
            "host loops",
            ">= 60",
            len(right) >= 60,
        ),
        Figure("kernels in them", len(agreeing), "kernels", ">= 60", len(agreeing) >= 60),
    ]
    for arch in ARCHS:
        said = [row for row in right if machine_code_agrees(getattr(row, arch))]
        kernels = frozenset().union(*(row.functions for row in said))
        asked = -(-len(right) * 50 // 60)
        figures += [
            Figure(
                f"{arch}: programs whose machine code agrees with their PTX in outputs and in the "
                "bytes touched",
                len(said),
                "host loops",
                f">= {asked} (50 of 60)",
                len(said) >= asked,
            ),
            Figure(
                f"{arch}: kernels in them", len(kernels), "kernels", ">= 50", len(kernels) >= 50
            ),
        ]
    if not report("real_kernels", figures):
        sys.exit(1)
