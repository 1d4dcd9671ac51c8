"""Whether a sample of a launch's blocks says of T what the whole launch does, and whether c_a
follows from instruction distances."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy as np

from benchmarks.results import Figure
from placewise.cases import load_case
from placewise.errors import PlacewiseError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import load_machine
from placewise.machine.machine import Dram
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.evidence.evidence import evidence_of
from placewise.model.huang_li.model import HuangLiModel
from placewise.model.huang_li.observe import observe

KERNELS = (
    "matmul", "transpose", "gaussian-fan1", "gaussian-fan2", "spmv", "spmv-skewed",
    "convolution-rows", "convolution-columns", "stencil", "stencil2d", "fft", "reduction", "scan",
    "sort", "triad", "md", "cfd", "bfs", "kmeans", "neuralnet",
)  # fmt: skip
HASHED = Dram(
    channels=8, banks=8, row_bits=tuple(range(14, 30)),
    bank_hashes=tuple(1 << low | 1 << low + 6 for low in (11, 12, 13)),
    channel_hashes=tuple(1 << low | 1 << low + 6 for low in (8, 9, 10)),
    hit_ns=100.0, miss_ns=115.0, conflict_ns=130.0,
)  # fmt: skip
"""A mapping made up for this comparison: 64 banks, each bit of their number the parity of two."""
ASKED = 0.10
CHASE = """
__global__ void k(const int *next, float *out, int n, int steps) {
    int i = threadIdx.x;
    float y = i;
    for (int s = 0; s < steps; s += %(loads)d) {
        #pragma unroll
        for (int t = 0; t < %(loads)d; ++t) i = next[i];
        #pragma unroll 1
        for (int j = 0; j < %(adds)d; ++j) y = y * 1.0001f + 0.5f;
    }
    out[threadIdx.x] = y + i;
}
"""


def sample_figures() -> list[Figure]:
    """T of a sample of blocks over T of the whole launch, of twenty kernels."""
    machine = replace(load_machine("A4000"), dram=HASHED)
    model = HuangLiModel()
    off: dict[str, float] = {}
    for name in KERNELS:
        case = load_case(name)
        case = named_case(replace(case, options=replace(case.options, arch="sm_86")))
        try:
            kernel = compile_case(case)
            few = evidence_of(kernel, case.launch, case.inputs, machine).simulated("huang-li")
            whole = simulate_launch(kernel, case.launch, case.inputs, machine)
        except PlacewiseError:
            continue
        times = [model.parts(observe(run, machine), machine).total for run in (few, whole)]
        off[name] = abs(times[0] / times[1] - 1.0)
    within = [name for name, error in off.items() if error <= ASKED]
    worst = max(off, key=lambda name: off[name])
    return [
        Figure("kernels whose T of a sample of blocks is within 10 % of the whole run's",
               len(within), f"of {len(off)}", "20 of 20", len(within) == len(KERNELS)),
        Figure("sample and whole run: median difference in T",
               100 * statistics.median(off.values()), "%", "reported", holds=True),
        Figure(f"sample and whole run: largest difference in T, {worst}", 100 * off[worst], "%",
               "reported", holds=True),
    ]  # fmt: skip


def burst_figures() -> list[Figure]:
    """c_a of 200 multiply-adds for each load, and of 1,600 for eight, of one warp at one bank."""
    machine = load_machine("A4000")
    machine = replace(machine, dram=Dram(row_bits=tuple(range(20, 30)), bank_hashes=(1 << 40,)))
    figures = []
    for name, loads, adds, expected in (
        ("200 multiply-adds for each load", 1, 200, 0.0),
        ("1,600 multiply-adds for eight loads", 8, 1600, math.sqrt(7)),
    ):
        n = 1 << 21
        following = ((np.arange(n) + 32 * 64) % n).astype(np.int32)
        case = named_case(
            make_case(
                "k",
                CHASE % {"loads": loads, "adds": adds},
                [following, np.zeros(32, np.float32), np.int32(n), np.int32(64)],
                block=32,
                problem=32,
                arch="sm_86",
            )
        )
        run = simulate_launch(compile_case(case), case.launch, case.inputs, machine)
        (load,) = observe(run, machine).banks
        found = load.gap_deviation / load.gap_mean
        figures.append(
            Figure(f"c_a, {name}", found, "", f"{expected:.2f} within 10 %, or 0.05",
                   abs(found - expected) <= max(0.05, 0.1 * expected))
        )  # fmt: skip
    return figures
