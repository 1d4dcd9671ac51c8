"""Peng's static cost beside what the executor and the timeline say, layout by layout.

The three kernels of ``placewise reproduce peng-layouts``, small enough to run, on an A100: cost
read off the source, L2 sectors and time predicted from the run, each over that of AoS.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np

from benchmarks.results import Figure
from placewise import advise_layout, make_case, predict_counters
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.static_accesses import static_accesses
from placewise.model.static_layout import static_cost
from placewise.reproduce.peng_tables import BLOCK, LAYOUTS, PengGpu
from placewise.space.layout import parse_layout

MACHINE = "A100"
AMPERE = PengGpu(MACHINE, 128 * 1024, 40 * 1024 * 1024, 32, 2048, 65536)
SECTORS = ("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum")
POINTS, BOXES = 8192, 64


def runnable(kernel: str) -> Case:
    """One of our three kernels on a problem that runs in a second."""
    source = (files("placewise.reproduce") / "peng_kernels" / f"{kernel}.cu").read_text()
    rng = np.random.default_rng(1)

    def structs(count: int, floats: str, integers: str = "") -> Any:
        types = [(f, "f4") for f in floats.split()] + [(i, "i4") for i in integers.split()]
        made = np.zeros(count, np.dtype(types))
        for name in floats.split():
            made[name] = rng.uniform(0.1, 1.0, count)
        return made

    if kernel == "kmeans":
        source = source.replace("524288", str(POINTS))
        p = structs(34 * POINTS, "feature clusters", "membership")
        return make_case(kernel, source, {"p": p}, grid=POINTS // BLOCK, block=BLOCK)
    if kernel == "nbody":
        p = structs(512, "x y z vx vy vz")
        return make_case(kernel, source, {"p": p, "dt": np.float32(0.01)}, grid=4, block=BLOCK)
    p = structs(BOXES * BLOCK, "rv rx ry rz fv fx fy fz")
    neighbours = rng.integers(0, BOXES, 27 * BOXES).astype(np.int32)
    arguments = {"p": p, "neighbours": neighbours, "a2": np.float32(0.5)}
    return make_case(kernel, source, arguments, grid=BOXES, block=BLOCK)


def static_ratio(case: Case, text: str) -> float:
    """Estimated cost of a layout over that of AoS, with an A100's sizes in the paper's formulas."""
    (structs,) = find_struct_arrays(case)
    program = static_accesses(named_case(case))
    record = structs.record
    costs = [
        static_cost(program, {"p": record}, {"p": layout}, case.launch, AMPERE.levels()).total
        for layout in (parse_layout(text, record), record.declared)
    ]
    return costs[0] / costs[1]


def _sectors(case: Case) -> float:
    values = {m.name: m.value for m in predict_counters(case, MACHINE).metrics}
    return sum(values.get(name) or 0.0 for name in SECTORS)


def comparison() -> list[Figure]:
    """Three ratios for each kernel and layout, and in how many the static cost is on the side of
    the predicted time."""
    figures, agreeing = [], 0
    for kernel in dict.fromkeys(one.kernel for one in LAYOUTS):
        rows = [one for one in LAYOUTS if one.kernel == kernel]
        case = runnable(kernel)
        advice = advise_layout(case, MACHINE, layouts=[one.layout for one in rows])
        present = _sectors(advice.case)
        record = advice.structs[0].arrays.record
        by_text = {o.text: o for o in advice.structs[0].options}
        for one in rows:
            option = by_text[parse_layout(one.layout, record).describe()]
            assert option.proven, option.detail
            assert option.ratio is not None
            assert option.relaid is not None
            static, time = static_ratio(case, one.layout), option.ratio.ratio
            agreeing += (static < 1.0) == (time < 1.0)
            what = f"{kernel}, {one.name}"
            figures += [
                Figure(f"{what}: static cost", static, "of AoS", "", True),
                Figure(f"{what}: L2 sectors of the run", _sectors(option.relaid.case) / present,
                       "of AoS", "", True),
                Figure(f"{what}: predicted time", time, "of AoS", "", True),
            ]  # fmt: skip
    figures.append(
        Figure("layouts that the static cost and the predicted time judge alike", agreeing,
               f"of {len(LAYOUTS)}", "", True)
    )  # fmt: skip
    return figures
