"""Fig. 4 of Huang and Li 2017: how times between arrivals at the DRAM vary, read in several ways.

The paper prints c_a of three kernels, measured with GPGPU-Sim, and leaves open what a time is and
where a bank's addresses lie. Here each reading of both is computed for kernels of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.advisor.prepare import prepare
from placewise.cases import load_case
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.executor.trace import Site, TraceChunk, lane_offsets
from placewise.machine import load_machine
from placewise.model.huang_li.banks import banks_and_rows
from placewise.progress import Progress, silent
from placewise.reproduce.closed_loop import (
    BANKS,
    CHANNELS,
    LINE,
    PIECE,
    SMS,
    DramArrivals,
    WarpAccesses,
    bank_of,
    between_arrivals,
    simulate_arrivals,
    variations,
)
from placewise.reproduce.result import Cell, Table

SIMULATED = "M2050"
"""For occupancy it equals the paper's Tesla C2050."""
KERNELS = ("spmv", "md", "matmul", "fft")
"""Cases whose arrivals are simulated: the paper's text names spmv, md and matrixMul, the caption of
its figure fft in place of the last."""
WAVES = 3
"""Blocks that are traced, in times of what the GPU holds at once."""
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True)
class Reading:
    """One way to read 'the times between arrivals at a bank'."""

    name: str
    mean: float
    """Mean c_a over the queues."""
    deviation: float
    queues: int


class _Accesses:
    """Keeps the accesses to arrays, in the order of each warp."""

    def __init__(self) -> None:
        self.chunks: list[TraceChunk] = []
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Keep what columns of chunks refer to."""
        self.sites, self.arrays = sites, arrays

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep a copy, as the executor uses the chunk's memory again."""
        columns = {name: np.array(column) for name, column in vars(chunk).items()}
        self.chunks.append(replace(chunk, **columns))


def simulated_arrivals(case_name: str) -> DramArrivals:
    """Arrivals at the DRAM of the first blocks of a bundled case, which fill the GPU
    :data:`WAVES` times."""
    return simulate_arrivals(warp_accesses(case_name))


def warp_accesses(case_name: str) -> WarpAccesses:
    """What the warps of the first blocks of a bundled case ask global memory for."""
    prepared = prepare(load_case(case_name), load_machine(SIMULATED))
    case, launch = prepared.case, prepared.case.launch
    resident = prepared.occupancy.blocks
    traced = np.arange(launch.blocks) < WAVES * SMS * resident
    kept = _Accesses()
    run = execute(
        prepared.kernel, launch, case.inputs, consumer=kept, trace_blocks=traced,
        trace_spaces=frozenset(("global", "generic", "texture")), threads=1,
    )  # fmt: skip
    sizes = dict(case.inputs.array_bytes)
    starts = np.cumsum([0] + [-(-sizes.get(name, 0) // 4096) * 4096 for name in kept.arrays])
    loads = np.array([site.kind == "load" for site in kept.sites])
    warps = min(launch.blocks, int(traced.sum())) * launch.warps_per_block
    found: list[list[tuple[tuple[int, ...], bool]]] = [[] for _ in range(warps)]
    for chunk in kept.chunks:
        warp = chunk.block.astype(np.int64) * launch.warps_per_block + chunk.warp
        lines = (lane_offsets(chunk) + starts[chunk.array][:, None]) // LINE
        active = (chunk.mask[:, None] >> np.arange(32, dtype=np.uint32)) & 1 == 1
        for k in np.flatnonzero(chunk.array >= 0).tolist():
            of_access = tuple(dict.fromkeys(lines[k, active[k]].tolist()))
            found[warp[k]].append((of_access, bool(loads[chunk.site[k]])))
    each = sum(map(len, found)) / warps
    gap = run.warp_instructions / (launch.blocks * launch.warps_per_block) / max(1.0, each)
    return WarpAccesses(tuple(map(tuple, found)), launch.warps_per_block, resident, float(gap))


def readings(arrivals: DramArrivals) -> tuple[Reading, ...]:
    """c_a by each reading of the time and of the queue."""
    cycle, address = arrivals.cycle, arrivals.address
    rounds = address // PIECE % (CHANNELS * BANKS)
    alone = _first_of_access(arrivals, rounds)
    return (
        _reading("cycles; banks by the K80's address bits", cycle, _of_k80(address)),
        _reading("cycles; banks as GPGPU-Sim's C2050 has them", cycle, bank_of(address)),
        _reading("cycles; pieces of 256 B go round the 96 banks", cycle, rounds),
        _reading("instructions; pieces of 256 B go round the 96 banks", arrivals.instruction,
                 rounds),
        _reading("the same in cycles, an access's requests to a bank as one", cycle[alone],
                 rounds[alone]),
        _reading("cycles; one queue for each of 6 channels", cycle, address // PIECE % CHANNELS),
        _reading("cycles; one queue for all", cycle, np.zeros(len(cycle), np.int64)),
    )  # fmt: skip


def _of_k80(address: NDArray[np.int64]) -> NDArray[np.int64]:
    dram = load_machine("K80").dram
    return banks_and_rows(address, dram)[0] if dram is not None else np.zeros_like(address)


def _first_of_access(arrivals: DramArrivals, queue: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the requests that are the first of their access at their queue."""
    both = np.stack([arrivals.access, queue], axis=1)
    return np.sort(np.unique(both, axis=0, return_index=True)[1])


def _reading(name: str, time: NDArray[np.float64], queue: NDArray[np.int64]) -> Reading:
    found = variations(time, queue)
    if not len(found):
        return Reading(name, float("nan"), float("nan"), 0)
    return Reading(name, float(found.mean()), float(found.std()), len(found))


def arrival_tables(
    printed: Sequence[tuple[str, str, float, float]],
    progress: Progress = silent,
    kernels: Sequence[str] = KERNELS,
) -> tuple[tuple[Table, ...], dict[str, float]]:
    """A table of readings and one of quantiles against the exponential distribution, with their
    figures. ``printed`` are the paper's kernels: its name, our case, mean and deviation of c_a."""
    rows: list[tuple[Cell, ...]] = [
        ("paper (GPGPU-Sim, 96 banks)", *_printed_cells(printed, kernels)),
    ]
    by_name: dict[str, list[Cell]] = {}
    quantiles: list[tuple[Cell, ...]] = [
        ("exponential, c_a 1", *(round(float(-np.log1p(-q)), 2) for q in QUANTILES)),
    ]
    figures: dict[str, float] = {}
    for done, kernel in enumerate(kernels):
        progress("simulating arrivals at the DRAM", done, len(kernels))
        try:
            arrivals = simulated_arrivals(kernel)
        except PlacewiseError:
            continue
        for reading in readings(arrivals):
            text = f"{reading.mean:.2f} ± {reading.deviation:.2f} ({reading.queues})"
            by_name.setdefault(reading.name, []).append(text if reading.queues else None)
            figures[f"c_a, {kernel}, {reading.name}"] = reading.mean
        pieces = arrivals.address // PIECE % (CHANNELS * BANKS)
        quantiles.append((kernel, *_quantiles(arrivals.cycle, pieces)))
    rows += [(name, *cells) for name, cells in by_name.items()]
    return (
        Table(
            "Fig. 4: c_a where each warp waits for its loads, mean ± deviation (queues)",
            ("time; queue", *kernels),
            tuple(rows),
            (
                "an event simulation with the sizes of GPGPU-Sim's Tesla C2050: warps issue in the "
                "order in which they become ready, wait for their loads, and share caches and "
                "banks. Barriers are left out; inputs are ours, the paper's are not named",
                f"the first blocks of each launch, {WAVES} times what the GPU holds",
                "the text names matrixMul, the caption of the figure fft in its place",
            ),
        ),
        Table(
            "Fig. 4: times between arrivals at a bank over their mean, quantiles",
            ("", *(f"{100 * q:.0f} %" for q in QUANTILES)),
            tuple(quantiles),
            ("cycles, pieces of 256 B round the 96 banks; the paper's curves are a plot",),
        ),
    ), figures


def _printed_cells(
    printed: Sequence[tuple[str, str, float, float]], kernels: Sequence[str]
) -> list[Cell]:
    known = {case: f"{mean} ± {deviation}" for _, case, mean, deviation in printed}
    return [known.get(kernel) for kernel in kernels]


def _quantiles(time: NDArray[np.float64], queue: NDArray[np.int64]) -> list[Cell]:
    """Quantiles over all queues of the times between arrivals, each over its queue's mean."""
    relative = [g / g.mean() for g in between_arrivals(time, queue) if len(g) > 1 and g.mean() > 0]
    if not relative:
        return [None] * len(QUANTILES)
    return [round(float(q), 2) for q in np.quantile(np.concatenate(relative), QUANTILES)]
