"""What layouts gain on kernels over arrays of structs, and whether what is written is right.

``python -m benchmarks.layout``: for each of ten kernels and two GPUs the verdict, with its
predicted gain, interval and probability; every layout that is tried is compared bit for bit, the
recommended one also on two other sizes and under the checker; its conversions in NumPy there and
back. Then the search over partitions of fields. About ten minutes of two cores.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.layout.matrix_kernels import SIZES, judge_matrices, matrix_figures
from benchmarks.layout.search import search_figures
from benchmarks.layout.static_dynamic import comparison
from benchmarks.layout.structs import STRUCT_KERNELS, StructKernel
from benchmarks.results import Figure, report
from placewise import advise_layout
from placewise.advisor.layouts.layout_advice import StructAdvice
from placewise.advisor.layouts.verify_layout import verify_layout
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.view import find_struct_arrays
from placewise.rewriter.layouts import numpy_conversion, rewrite_layout
from placewise.rewriter.layouts.rewrite_layout import Relaid

MACHINES = ("A100", "H100")
GAIN, KERNELS = 1.3, 6


@dataclass(frozen=True)
class Outcome:
    """What came of one kernel on one GPU."""

    kernel: str
    machine: str
    layout: str
    """The recommended one; empty where it is to stay."""
    gain: float
    interval: tuple[float, float]
    faster: float
    tried: int
    """Layouts written and compared."""
    wrong: int
    """Of them, and of the recommended one on other sizes: not the same bits."""
    sizes: int
    """Other sizes on which the recommended one is right."""
    findings: int
    """Of the checker."""
    round_trips: int
    """Conversions in NumPy that do not give back what they were given."""


def judge(at: tuple[int, str]) -> Outcome:
    """One kernel on one GPU."""
    kernel, machine = STRUCT_KERNELS[at[0]], at[1]
    advice = advise_layout(kernel.case(0), machine)
    main = advice.structs[0]
    options = [o for s in advice.structs for o in s.options]
    wrong = sum(not o.proven for o in options)
    sizes = findings = 0
    if main.best is not None:
        for number in range(1, len(kernel.sizes)):
            is_right, found = try_size(kernel, number, main)
            sizes += is_right
            wrong += not is_right
            findings += found
    trips = sum(not returns(o.relaid) for o in options if o.relaid is not None)
    best = main.best
    ratio = None if best is None else best.ratio
    return Outcome(
        kernel.name, machine, "" if best is None else best.layout.describe(),
        1.0 if ratio is None else 1.0 / ratio.ratio,
        (1.0, 1.0) if ratio is None else (1.0 / ratio.high, 1.0 / ratio.low),
        0.0 if ratio is None or ratio.faster is None else ratio.faster,
        len(options), wrong, sizes, findings, trips,
    )  # fmt: skip


def try_size(kernel: StructKernel, number: int, advice: StructAdvice) -> tuple[bool, int]:
    """Whether the recommended layout is right on another size, and findings of the checker."""
    assert advice.best is not None
    read = read_case(kernel.case(number))
    structs = next(
        s for s in find_struct_arrays(read.case) if s.type_name == advice.arrays.type_name
    )
    relaid = rewrite_layout(read.case, read.view, structs, advice.best.layout)
    compiled = compile_case(relaid.case)
    truth = execute(read.kernel, read.case.launch, read.case.inputs)
    proof = verify_layout(relaid, read.case, truth, compiled)
    checker = Checker()
    execute(compiled, relaid.case.launch, relaid.case.inputs, check=checker)
    return proof.identical, len(checker.findings)


def returns(relaid: Relaid) -> bool:
    """Whether the generated NumPy conversions make the groups that the rewritten case has, and give
    back what they were given. Runs the text that Placewise itself has just written."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "conversion.py"
        script.write_text(numpy_conversion(relaid))
        functions = runpy.run_path(str(script))
    record, name = relaid.arrays.record, relaid.names.type_name
    arguments = {a.name: a for a in relaid.case.inputs.arrays}
    for array, count in relaid.elements:
        groups = [
            arguments[relaid.names.parameter(array, n)].data
            for n in range(len(relaid.layout.groups))
        ]
        kinds = {}
        for group, data in zip(relaid.layout, groups, strict=True):
            for field in group.fields:
                if data.dtype.names is None:
                    kinds[field] = (data.dtype, data.shape[1:])
                    continue
                kind = data.dtype[field]
                kinds[field] = (kind.base, kind.shape[1:] if group.lanes > 1 else kind.shape)
        types = [(field.name, *kinds[field.name]) for field in record.fields]
        empty = np.zeros(count, np.dtype(types, align=True))
        elements = functions[f"from_{name}"](*groups, empty)
        made = functions[f"to_{name}"](elements)
        if any(a.tobytes() != b.tobytes() for a, b in zip(made, groups, strict=True)):
            return False
    return True


def main(
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = min(2, os.cpu_count() or 1),
) -> None:
    """Advise, write, run, count; print a table, write results/layout.json."""
    tasks = [(n, machine) for machine in MACHINES for n in range(len(STRUCT_KERNELS))]
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(judge, tasks))
        matrices = list(pool.map(judge_matrices, [(k, m) for m in MACHINES for k in SIZES]))
        compared = pool.submit(comparison).result()
    figures = [*figures_of(outcomes), *matrix_figures(matrices), *search_figures(), *compared]
    if not report("layout", figures):
        sys.exit(1)


def figures_of(outcomes: list[Outcome]) -> list[Figure]:
    figures = []
    for o in outcomes:
        low, high = o.interval
        what = f"{o.machine}, {o.kernel}: {o.layout or 'stays'}"
        if o.layout:
            what += f" ({low:.2f}–{high:.2f}, faster with {o.faster:.2f})"
        figures.append(Figure(what, o.gain, "times as fast", "", True))
    for machine in MACHINES:
        count = sum(o.gain >= GAIN for o in outcomes if o.machine == machine)
        figures.append(
            Figure(f"{machine}: kernels of ten, predicted {GAIN} times or more", count, "",
                   f">= {KERNELS}", count >= KERNELS)
        )  # fmt: skip
    wrong, findings = (sum(getattr(o, w) for o in outcomes) for w in ("wrong", "findings"))
    trips = sum(o.round_trips for o in outcomes)
    return [
        *figures,
        Figure("layouts written and compared", sum(o.tried for o in outcomes), "", "", True),
        Figure("recommended layouts right on another size", sum(o.sizes for o in outcomes), "runs",
               "", True),
        Figure("other bits", wrong, "layouts or runs", "0", not wrong),
        Figure("checker's findings in written sources", findings, "", "0", not findings),
        Figure("conversions that lose something on the way there and back", trips, "", "0",
               not trips),
    ]  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
