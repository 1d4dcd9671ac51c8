"""What a predicted time costs beside the compilation that it needs.

``python -m benchmarks.model_cost [--configurations N]``: of the convolution's configurations, drawn
with a fixed seed from the tuner's space, the processor time of NVRTC and of all that comes after,
programs that are started (nvdisasm) included, one after the other in one process, as a worker of a
sweep does; and one prediction in a new process, all caches of results empty. Processor times, since
they are the same on a machine that does other work; the wall time of the new process stands beside.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.results import Figure, report
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import read_case_family
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import target_for
from placewise.machine import load_machine
from placewise.model.evidence.evidence import evidence_of
from placewise.model.registry import DEFAULT, MODELS

CASE = Path(__file__).parent / "models" / "convolution.toml"
MACHINE = "A4000"
SPACE = {
    "block_size_x": (16, 32, 48, 64, 80, 96, 112, 128),
    "block_size_y": (1, 2, 4, 8),
    "tile_size_x": (1, 2, 3, 4),
    "tile_size_y": (1, 2, 3, 4),
    "read_only": (0, 1),
    "use_shmem": (0, 1),
}
COLD_SECONDS = 3.0


@dataclass(frozen=True)
class Cost:
    """Seconds of one prediction."""

    compiling: float
    predicting: float


def now() -> float:
    """Seconds of processor time, those of programs that were started and have ended included."""
    return sum(os.times()[:4])


def cost_of(case: Case) -> Cost:
    """Processor time of one case."""
    machine = load_machine(MACHINE)
    arch, _ = target_for(machine.limits.compute_capability, case.options.nvrtc)
    case = replace(case, options=replace(case.options, arch=arch))
    start = now()
    kernel = compile_case(case)
    compiled = now()
    named = named_case(case)
    evidence = evidence_of(kernel, named.launch, named.inputs, machine)
    MODELS[DEFAULT].make().predict(evidence, machine)
    return Cost(compiled - start, now() - compiled)


def main(
    configurations: Annotated[int, typer.Option(min=1)] = 20,
    cold: Annotated[bool, typer.Option(help="One prediction alone, for a new process.")] = False,
) -> None:
    """Measure, print a table, write results/model_cost.json."""
    family = read_case_family(CASE)
    if cold:
        found = cost_of(family.case({}))
        print(now() - found.compiling)
        return
    with tempfile.TemporaryDirectory() as empty:
        os.environ["XDG_CACHE_HOME"] = empty
        # Once before, so that compiled code is loaded, as in a worker that has done its first.
        cost_of(family.case({}))
        random = np.random.default_rng(0)
        costs = [
            cost_of(family.case({name: int(random.choice(of)) for name, of in SPACE.items()}))
            for _ in range(configurations)
        ]
    with tempfile.TemporaryDirectory() as empty:
        os.environ["XDG_CACHE_HOME"] = empty
        command = [sys.executable, "-m", "benchmarks.model_cost", "--cold"]
        start = time.perf_counter()
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        whole = time.perf_counter() - start
    after = float(run.stdout.split()[-1])
    compiling = sum(cost.compiling for cost in costs)
    predicting = sum(cost.predicting for cost in costs)
    ratio = (compiling + predicting) / compiling
    good = report(
        "model_cost",
        [
            Figure("configurations", configurations, "", "", True),
            Figure("NVRTC, each", compiling / configurations, "s", "", True),
            Figure("all after it, each", predicting / configurations, "s", "", True),
            Figure("a sweep over NVRTC alone", ratio, "times", "<= 2", ratio <= 2.0),
            Figure("one prediction from cold, imports included, less compilation", after, "s",
                   f"< {COLD_SECONDS:g}", after < COLD_SECONDS),
            Figure("wall time of that process, compilation included", whole, "s", "", True),
        ],
    )  # fmt: skip
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
