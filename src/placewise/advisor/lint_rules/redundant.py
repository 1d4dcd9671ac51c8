"""Repeated loads of the same data, which shared or constant memory would serve better."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.advisor.lint import WORTH_A_NOTE, Remark, Rule
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.errors import PlacewiseError
from placewise.executor.slice_interpreter import WORK, slice_launch
from placewise.executor.slice_interpreter.trace_chunk import chunk_of
from placewise.executor.trace import Site, TraceChunk, lane_offsets
from placewise.machine.condition import active_lanes
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import SourceLine

BLOCKS = 4
"""Blocks whose addresses are looked at."""
WORTH = 4.0
"""How many times a block must ask for each of an array's sectors, at least, to be named."""
CONSTANT_BYTES = 65536
"""Most bytes of a module's __constant__ variables (CUDA C++ Programming Guide, "Technical
Specifications")."""


@dataclass(frozen=True)
class Reuse:
    """How often the loads of one array return to the same data within a block; averages over
    blocks."""

    array: str
    asked: float
    """Sectors that a block's warps ask for."""
    distinct: float
    """Different sectors among them."""
    neighbouring: float
    """Sectors that they would ask for if the lanes of each warp asked for neighbouring elements."""
    one_address: bool
    """All lanes of each warp ask for the same address."""
    line: SourceLine | None
    """The line that asks for most."""

    @property
    def times(self) -> float:
        """How often a block asks for each sector."""
        return self.asked / self.distinct

    @property
    def is_scattered(self) -> bool:
        """Whether the lanes of a warp lie so far apart that they ask for many sectors at once. Then
        the same sectors are asked for again because each access uses only a small part of them."""
        return self.asked >= WORTH_A_NOTE * self.neighbouring


def redundant_loads(report: CounterReport) -> list[Remark]:
    """A note for each array that is only read and whose sectors each block asks for at least four
    times, by warps whose lanes lie side by side or ask for the same.

    The addresses are those of a few blocks, from their machine code. A kernel whose blocks cannot
    run alone gets no such note. The caller leaves out notes that save too little time.
    """
    run = report.run
    if run.kernel.cubin is None or not run.from_machine_code:
        return []
    sizes = dict(report.case.inputs.array_bytes)
    found = []
    for reuse in reuse_of(run, report):
        if reuse.times < WORTH or reuse.is_scattered:
            continue
        tile = int(reuse.distinct) * run.traffic.sector_bytes
        if reuse.one_address and sizes.get(reuse.array, CONSTANT_BYTES + 1) <= CONSTANT_BYTES:
            way = "constant memory would serve all lanes at once"
        elif tile <= run.machine.limits.shared_bytes_per_block:
            way = f"a tile of {tile} bytes in shared memory would ask for each once"
        else:
            way = "tiles in shared memory, one after another, would ask for each once"
        text = f"{reuse.array}: each block loads the same sectors {reuse.times:.3g} times: {way}"
        share = 1.0 - 1.0 / reuse.times
        found.append(
            Remark(Rule.redundant, False, text, reuse.line, reuse.array, reuse.times, share, "load")
        )
    return found


def reuse_of(run: SimulatedLaunch, report: CounterReport) -> list[Reuse]:
    """The reuse of each array that the launch only reads; empty where blocks cannot run alone."""
    numbers = np.unique(np.linspace(0, run.launch.blocks - 1, BLOCKS).astype(np.int64))
    kernel = replace(run.kernel, machine_code=True)
    try:
        seen = slice_launch(
            kernel, run.launch, report.case.inputs, numbers, guards=False, work=WORK
        )
    except PlacewiseError:
        return []
    chunk = chunk_of(seen)
    if not len(chunk):
        return []
    written = {t.array for t in run.traffic.sites if t.site.kind != "load"}
    is_load = np.array(
        [site.kind == "load" and site.space in ("global", "generic") for site in seen.sites]
    )
    lanes = _Lanes(lane_offsets(chunk), active_lanes(chunk.mask))
    found = []
    for index, name in enumerate(seen.device.arrays):
        rows = np.flatnonzero((chunk.array == index) & is_load[chunk.site])
        if len(rows) and name not in written:
            found.append(_reuse(name, chunk, lanes, rows, seen.sites, run.traffic.sector_bytes))
    return found


@dataclass(frozen=True, eq=False)
class _Lanes:
    offsets: NDArray[np.int64]
    """(accesses, 32) bytes from the array's start."""
    active: NDArray[np.bool_]
    """(accesses, 32)."""


def _reuse(
    name: str,
    chunk: TraceChunk,
    lanes: _Lanes,
    rows: NDArray[np.int64],
    sites: tuple[Site, ...],
    sector: int,
) -> Reuse:
    """The reuse of array ``name`` in its loads, the ``rows`` of ``chunk``."""
    active, offsets = lanes.active[rows], lanes.offsets[rows]
    access, lane = np.nonzero(active)
    sectors = offsets[access, lane] // sector
    asked = _distinct(access, sectors)
    of_block = _distinct(chunk.block[rows][asked[0]], asked[1])
    width = np.array([s.lane_bytes for s in sites])[chunk.site[rows]]
    blocks = len(np.unique(chunk.block[rows]))
    first = np.take_along_axis(offsets, active.argmax(axis=1)[:, None], axis=1)
    at_site = np.bincount(chunk.site[rows][asked[0]], minlength=len(sites))
    most = sites[int(at_site.argmax())]
    line = None
    if most.source_file is not None and most.source_line is not None:
        line = SourceLine(most.source_file, most.source_line)
    return Reuse(
        name,
        asked.shape[1] / blocks,
        of_block.shape[1] / blocks,
        float(np.maximum(1, -(-active.sum(axis=1) * width // sector)).sum()) / blocks,
        bool(((offsets == first) | ~active).all()),
        line,
    )


def _distinct(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """(2, n) the different pairs of two columns (m,), in ascending order."""
    # One number for each pair: NumPy sorts numbers ten times as fast as columns.
    least = int(second.min(initial=0))
    span = int(second.max(initial=0)) - least + 1
    numbers = np.unique(first.astype(np.int64) * span + (second - least))
    return np.stack([numbers // span, numbers % span + least])
