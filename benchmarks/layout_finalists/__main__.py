"""What choosing the layouts that are tried by their sectors loses.

``placewise layout`` traces a few blocks, and writes, runs and times only the layouts whose accesses
move the fewest sectors. Here random layouts are written, run and timed, too, for the ten kernels of
``benchmarks.layout`` on an A100: is one of them faster than the best finalist? Some ten minutes.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.layout.structs import STRUCT_KERNELS, StructKernel
from benchmarks.results import Figure, report
from placewise import advise_layout
from placewise.advisor.forms.timing import time_form
from placewise.advisor.layouts.estimate_layouts import StaticKernel
from placewise.advisor.layouts.verify_layout import verify_layout
from placewise.executor import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.static_accesses import static_accesses
from placewise.model.static_layout import CacheLevels
from placewise.rewriter.layouts import rewrite_layout
from placewise.space.layout import Layout, grouped

MACHINE = "A100"
DRAWN = 10
"""Random partitions of each kernel's accessed fields."""
AS_GOOD = 1.02
"""A finalist counts as good as the best random layout within this: ``placewise layout`` itself
takes layouts within 2 % for equal."""


def random_layouts(case: Case, structs: StructArrays) -> list[Layout]:
    """Random partitions of the accessed fields of a struct type, the same for every run; fields
    that are not accessed share a struct of their own."""
    found, record = find_struct_arrays(case), structs.record
    levels = CacheLevels(0, 128, 0, 1)  # not used: only the accessed fields are asked for
    accessed = StaticKernel(static_accesses(case), found, case.launch, levels).accessed(structs)
    used = [name for name in record.names if name in accessed]
    unused = [name for name in record.names if name not in accessed]
    random = np.random.default_rng(11)
    drawn: dict[Layout, None] = {}
    for _ in range(20 * DRAWN):
        places = random.integers(0, random.integers(1, len(used) + 1), len(used)).tolist()
        parts = [[n for n, p in zip(used, places, strict=True) if p == k] for k in {*places}]
        drawn[grouped(record, [*parts, *([unused] if unused else [])])] = None
        if len(drawn) == DRAWN:
            break
    return list(drawn)


def judged(kernel: StructKernel) -> Figure:
    """The best finalist beside the best random layout of a kernel's first struct type."""
    advice = advise_layout(kernel.case(0), MACHINE)
    case, machine, structs = advice.case, advice.machine, advice.structs[0]
    read = read_case(case)
    truth = execute(read.kernel, case.launch, case.inputs)
    drawn = []
    for layout in random_layouts(case, structs.arrays):
        relaid = rewrite_layout(case, read.view, structs.arrays, layout)
        compiled = compile_case(relaid.case)
        proof = verify_layout(relaid, case, truth, compiled)
        assert proof.identical, f"{kernel.name}, {layout.describe()}: {proof.detail}"
        drawn.append(time_form(compiled, relaid.case, machine).ms)
    chosen = [o.timed.ms for o in structs.options if o.proven and o.timed is not None]
    times = [structs.present.ms if structs.present is not None else None, *chosen]
    best, other = (min(t for t in some if t is not None) for some in (times, drawn))
    return Figure(
        f"{kernel.name}: best of {len(times)} layouts, chosen by sectors or as it is, over the "
        f"best of {len(drawn)} random ones",
        best / other, "of its time", f"<= {AS_GOOD}", best <= AS_GOOD * other,
    )  # fmt: skip


def main() -> int:
    """All kernels; prints a table, writes results/layout_finalists.json."""
    figures: list[Figure] = []
    for kernel in STRUCT_KERNELS:
        figures.append(judged(kernel))
        print(figures[-1], flush=True)
    good = sum(f.holds for f in figures)
    figures.insert(
        0,
        Figure("kernels whose best finalist is as fast as the best random layout", good,
               f"of {len(STRUCT_KERNELS)}", "all", good == len(STRUCT_KERNELS)),
    )  # fmt: skip
    return int(not report("layout_finalists", figures))


if __name__ == "__main__":
    sys.exit(main())
