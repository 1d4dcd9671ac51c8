"""Latency of arithmetic: from the machine file, or from the stall counts of compiled machine code.

Since Volta the compiler knows the fixed latencies: where one multiply-add needs the result of
another, the stall count between them is the latency (:mod:`placewise.kernel.binary.sass.control`).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from placewise.errors import UnsupportedError
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.control import control
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.target import target_for
from placewise.machine.machine import Machine
from placewise.machine.opcode_pipes import pipes_of, timing_of

ARITHMETIC = "FFMA"
"""Sim et al. 2012 and Huang and Li 2017 (appendix) use the latency of floating-point operations for
all instructions."""
_CHAIN = """
__global__ void chain(float *x, float a, float b) {
    float y = *x;
    for (int i = 0; i < 16; ++i) y = y * a + b;
    *x = y;
}
"""


def arithmetic_latency(machine: Machine) -> float:
    """Cycles from an :data:`ARITHMETIC` instruction until one that needs its result can issue.

    Raises UnsupportedError where neither the machine file nor the compiler says.
    """
    timing = timing_of(machine, ARITHMETIC)
    if timing is not None and timing.latency_cycles is not None:
        return timing.latency_cycles
    for pipe in pipes_of(machine, ARITHMETIC):
        if pipe.latency_cycles is not None:
            return pipe.latency_cycles
    arch, stand_in = target_for(machine.limits.compute_capability)
    found = None if stand_in else compiled_latency(arch)
    if found is None:
        raise UnsupportedError(
            f"the latency of {ARITHMETIC} is not known",
            where=f"machine {machine.name}",
            hint=f"add to its file: pipe NAME {{ executes = <{ARITHMETIC}>; latency = … clk; }}",
        )
    return found


@lru_cache(maxsize=32)
def compiled_latency(arch: str) -> float | None:
    """Stall between dependent multiply-adds in code compiled for ``arch``; None where its machine
    code cannot be listed."""
    kernel = compile_kernel(_CHAIN, "chain.cu", "chain", CompileOptions(arch=arch))
    code = machine_code(kernel).instructions
    stalls = [
        control(one.encoding).stall
        for one, next_ in pairwise(code)
        if one.parts[0] == ARITHMETIC
        and next_.parts[0] == ARITHMETIC
        and one.operands[0] in next_.operands[1:]
    ]
    return float(max(stalls)) if stalls else None
