"""Executed instructions of rewritten kernels against those that the addressing table foretells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.results import Figure
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.target import target_for
from placewise.machine import load_machine
from placewise.model.huang_li.addressing import instruction_difference
from placewise.rewriter import rewrite
from placewise.space import Placement

SIZE = 4096
MACHINES = ("RTX2080Ti", "A4000", "H100")
ARRAYS = ("a", "b")
TYPES = {"float": np.float32, "int": np.int32, "double": np.float64}
_ADD = """
__global__ void add(const {type} *a, const {type} *b, {type} *v, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = a[i] + b[i];
}}
"""
"""The kernel of Fig. 2 of Huang and Li 2017."""


def move_figures() -> list[Figure]:
    """Difference per access of both arrays moved at once, executed and foretold."""
    figures = []
    for name in MACHINES:
        for type_, dtype in TYPES.items():
            for space in ("texture", "constant"):
                if type_ == "double" and (space == "texture"):
                    continue
                figures.append(_figure(name, type_, dtype, space))
    return figures


def _figure(name: str, type_: str, dtype: type[np.generic], space: str) -> Figure:
    machine = load_machine(name)
    arch, _ = target_for(machine.limits.compute_capability)
    size = SIZE // 2 if type_ == "double" else SIZE
    values = np.arange(size).astype(dtype)
    case = make_case(
        "add",
        _ADD.format(type=type_),
        {"a": values, "b": values[::-1].copy(), "v": np.zeros(size, dtype), "n": np.int32(size)},
        block=256,
        problem=size,
        arch=arch,
    )
    what = f"{machine.name}, {type_}, a and b global → {space}: instructions per warp and access"
    foretold = instruction_difference(arch, type_, "global", space)
    try:
        view = read_case(case)
        moved = rewrite(
            view.case, Placement(tuple((a, space) for a in ARRAYS)), machine, view.view
        ).case
        before, after = _executed(view.case), _executed(moved)
    except PlacewiseError as error:
        return Figure(what, str(error.message), "", f"reported; {foretold:+d} foretold", True)
    accesses = len(ARRAYS) * case.launch.blocks * case.launch.warps_per_block
    return Figure(what, (after - before) / accesses, "", f"reported; {foretold:+d} foretold", True)


def _executed(case: Case) -> int:
    kernel = replace(read_case(case).kernel, machine_code=True)
    return execute(kernel, case.launch, case.inputs).warp_instructions
