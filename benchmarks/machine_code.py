"""The bundled kernels' machine code beside their PTX: outputs, bytes touched, speed.

``python -m benchmarks.machine_code [--only CASE] [--repeats N]``. Both run on the same inputs in
the same process, turn by turn, and what is compared is processor time, so that the ratio of speeds
carries over to other machines and to busy ones.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.real_kernels.touched import Touched, differences
from benchmarks.results import Figure, report
from placewise.cases import case_names, load_case
from placewise.errors import UnsupportedError
from placewise.executor import Execution, execute
from placewise.executor.compare import compare
from placewise.kernel.cases.case import Case
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
TRACED = 400_000
"""Warp accesses after which only some of the blocks, evenly spread, are compared by bytes."""
WAIT = 30.0
"""Seconds to wait for optimised code at most."""
ASKED = 1 / 3
"""Of the PTX engine's speed."""


@dataclass(frozen=True)
class Outcome:
    """One kernel on one target."""

    target: str
    refused: str
    """Why the machine code does not run; empty where it does."""
    outputs: tuple[str, ...]
    """What differs, in words, as in ``touched``."""
    touched: tuple[str, ...]
    traced: float
    """Share of the blocks whose bytes were compared."""
    speed: float
    """Of the machine code over that of the PTX: inverse ratio of the median processor times."""
    instructions: float
    """Warp instructions of the machine code over those of the PTX."""


def main(
    only: Annotated[list[str] | None, typer.Option(help="Cases, all by default.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="Targets, all by default.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs of each engine.")] = 5,
) -> None:
    """Compare, print a table, write results/machine_code.json."""
    figures: list[Figure] = []
    every: list[Outcome] = []
    console = Console(stderr=True)
    for name in only or case_names():
        outcomes = []
        for arch in target or TARGETS:
            outcome = _compare(load_case(name), arch, repeats)
            console.print(f"{name} {arch}: speed {outcome.speed:.2f} {outcome.refused}")
            outcomes.append(outcome)
        figures += _figures(name, outcomes)
        every += outcomes
    ran = [o.speed for o in every if not o.refused]
    figures.append(
        Figure(
            "speed of machine code over PTX, least of all cases and targets",
            min(ran, default=0.0),
            "ratio",
            "at least 1/3",
            bool(ran) and min(ran) >= ASKED,
        )
    )
    figures.append(
        Figure(
            "speed of machine code over PTX, median of all cases and targets",
            statistics.median(ran) if ran else 0.0,
            "ratio",
            "at least 1/3",
            bool(ran) and statistics.median(ran) >= ASKED,
        )
    )
    if not report("machine_code", figures):
        sys.exit(1)


def _figures(name: str, outcomes: list[Outcome]) -> list[Figure]:
    refused = [f"{o.target}: {o.refused}" for o in outcomes if o.refused]
    outputs = [f"{o.target}: {'; '.join(o.outputs)}" for o in outcomes if o.outputs]
    touched = [f"{o.target}: {'; '.join(o.touched)}" for o in outcomes if o.touched]
    ran = [o for o in outcomes if not o.refused]
    share = min((o.traced for o in ran), default=0.0)
    return [
        Figure(
            f"{name}: targets on which machine code runs",
            f"{len(ran)} of {len(outcomes)}" + "".join(f"; {r}" for r in refused),
            "targets",
            "all, or the opcode that prevents it",
            True,
        ),
        Figure(
            f"{name}: outputs equal the PTX run's bit for bit",
            f"{len(ran) - len(outputs)} of {len(ran)}" + "".join(f"; {d}" for d in outputs),
            "targets",
            "all",
            not outputs,
        ),
        Figure(
            f"{name}: bytes touched per array equal the PTX run's ({share:.0%} of the blocks)",
            f"{len(ran) - len(touched)} of {len(ran)}" + "".join(f"; {d}" for d in touched),
            "targets",
            "all",
            not touched,
        ),
        Figure(
            f"{name}: warp instructions of machine code over PTX, median",
            statistics.median(o.instructions for o in ran) if ran else 0.0,
            "ratio",
            "-",
            True,
        ),
    ]


def _compare(case: Case, target: str, repeats: int) -> Outcome:
    options = replace(case.options, arch=target)
    ptx = compile_kernel(case.source, case.filename, case.kernel, options)
    own = replace(ptx, machine_code=True)
    try:
        second = execute(own, case.launch, case.inputs)
    except UnsupportedError as error:
        return Outcome(target, error.message, (), (), 0.0, 0.0, 0.0)
    first = execute(ptx, case.launch, case.inputs)
    blocks = _blocks(case, second)
    for kernel in (ptx, own):
        _until_optimised(kernel, case)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for kernel, seconds in zip((ptx, own), times, strict=True):
            start = time.process_time()
            execute(kernel, case.launch, case.inputs)
            seconds.append(time.process_time() - start)
    return Outcome(
        target,
        "",
        _different(first, second),
        differences(_touched(ptx, case, blocks), _touched(own, case, blocks)),
        float(blocks.mean()),
        statistics.median(times[0]) / statistics.median(times[1]),
        second.warp_instructions / first.warp_instructions,
    )


def _until_optimised(kernel: Kernel, case: Case) -> None:
    """Run until the code is what the executor ends up with."""
    end = time.monotonic() + WAIT
    while not execute(kernel, case.launch, case.inputs).optimised and time.monotonic() < end:
        pass


def _different(ptx: Execution, own: Execution) -> tuple[str, ...]:
    found = []
    for name, array in own.outputs:
        check = compare(name, ptx.output(name), array)
        if not check.identical:
            found.append(f"{check.different} of {check.elements} of {name}, {check.max_ulp} ulp")
    return tuple(found)


def _blocks(case: Case, run: Execution) -> NDArray[np.bool_]:
    x, y, z = case.launch.grid
    count = x * y * z
    step = max(1, -(-int(run.site_executions.sum()) // TRACED))
    chosen = np.zeros(count, bool)
    chosen[::step] = True
    return chosen


def _touched(kernel: Kernel, case: Case, blocks: NDArray[np.bool_]) -> Touched:
    touched = Touched()
    execute(kernel, case.launch, case.inputs, consumer=touched, trace_blocks=blocks)
    return touched


if __name__ == "__main__":
    typer.run(main)
