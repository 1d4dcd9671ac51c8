"""Figs. 4 and 5 of Hu and Liu 2015: time of a strided kernel over its warps and over its stride.

Both figures are plots. Of their points the paper prints the slopes of Fig. 4 (Table I) and two
latencies of Fig. 5 (Table II); these stand beside the model's.
"""

from __future__ import annotations

from placewise.memory.occupancy import WARP_SIZE
from placewise.model.hu_liu import memory_time, pipeline_throughput, synthesized_cycle
from placewise.reproduce.hu_liu.counted_requests import strided_transactions
from placewise.reproduce.result import Cell, Table

SM_CLOCK_MHZ = 1150.0
"""Processor clock of the M2050, in whose cycles Table II is taken to be."""
REQUESTS = 100
"""Requests of a warp. The paper does not print them: with 100 and Table I's read cycle, rounded to
1.53 cycles, Table II's modelled variation of 391,680 cycles comes out exactly."""
MEASURED_CYCLES = {5: 1.32, 10: 1.34, 15: 1.34, 20: 1.33}
"""Measured read cycles of Table I in ns, by transactions per request."""
CONFIGURATIONS = {"64 × 256": 64 * 256 // WARP_SIZE, "64 × 512": 64 * 512 // WARP_SIZE}
"""Warps of the two launches of Fig. 5."""
PRINTED = {("64 × 256", 15): 1_203_170, ("64 × 512", 10): 1_584_332}
"""Measured latencies of Table II in cycles, by launch and stride."""
STRIDES = (1, 2, 4, 5, 8, 10, 15, 16, 20, 32)
WARPS = (128, 256, 512, 1024)


def latency_table(modelled: float, measured: float) -> Table:
    """Fig. 4: time over the number of warps at four numbers of transactions per request; the read
    cycles ``modelled`` and ``measured`` are in ns."""
    rows: list[tuple[Cell, ...]] = []
    for transactions, printed in MEASURED_CYCLES.items():
        times = [memory_time(measured, transactions, w, REQUESTS) for w in WARPS]
        slope = (times[-1] - times[0]) / (WARPS[-1] - WARPS[0]) / transactions / REQUESTS
        rows.append(
            (transactions, *(round(t / 1e6, 4) for t in times), printed, round(slope, 4),
             round(modelled, 4))
        )  # fmt: skip
    return Table(
        "Fig. 4: time of the strided kernel over its warps, ms, and the slope of each line",
        ("transactions per request", *(f"{w} warps" for w in WARPS),
         "paper, slope as a read cycle, ns", "program, mean slope, ns", "program, modelled, ns"),
        tuple(rows),
        (
            f"{REQUESTS} requests of each warp (not printed, see Table II); the paper's lines are "
            "a plot, of which it prints the slopes",
        ),
    )  # fmt: skip


def throughput_table(measured: float) -> Table:
    """Fig. 5: transactions counted in a run, throughput, and times of both launches, for each
    stride; the read cycle ``measured`` is in ns."""
    counted = strided_transactions(STRIDES, 64 * 256)
    rows: list[tuple[Cell, ...]] = []
    for stride in STRIDES:
        cells: list[Cell] = []
        for name, warps in CONFIGURATIONS.items():
            own = latency_cycles(measured, counted[stride], warps)
            cells += [PRINTED.get((name, stride)), round(own)]
        throughput = pipeline_throughput(synthesized_cycle(measured, counted[stride]))
        rows.append((stride, stride, round(counted[stride], 2), round(throughput, 4), *cells))
    return Table(
        "Fig. 5: throughput of the pipeline and cycles of the strided kernel, over the stride",
        ("stride", "paper, transactions", "program, transactions", "requests per ns",
         *(f"{who}, {name}" for name in CONFIGURATIONS for who in ("paper", "program"))),
        tuple(rows),
        (
            "the paper takes the stride as the number of transactions; the program counts the "
            "lines that a warp's load of 4-byte elements touches",
            f"program: {REQUESTS} requests of each warp and the read cycle of Table I; cycles of "
            f"{SM_CLOCK_MHZ:.0f} MHz. The other points of the figure are a plot",
        ),
    )  # fmt: skip


def latency_cycles(cycle_ns: float, transactions: float, warps: float) -> float:
    """Time of the strided kernel in cycles of the processor."""
    return memory_time(cycle_ns, transactions, warps, REQUESTS) * SM_CLOCK_MHZ / 1e3
