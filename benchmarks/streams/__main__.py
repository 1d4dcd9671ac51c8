"""The timeline on kernels bound by DRAM, by L2 and by the latency of either, against gpu-benches.

``python -m benchmarks.streams --data DIR``, where DIR holds ``gpu_benches/gpu-stream_*.txt`` and
``gpu-l2-cache_*.txt`` as that project publishes them. gpu-stream gives bandwidth over the number
of threads (two blocks on an SM, of 32 threads to as many as fit): with few, latency and the loads
in flight bound it, with many DRAM does. The kernels are ours (``streams.cu``). Clocks as in each
file of latencies of the same board. Bandwidths of L2 are measured ones where the machine's file
has them of this very benchmark; those rows are marked, and tell of the mechanism only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.stats import spearmanr

from benchmarks.results import Figure, report
from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.kernel.target import target_for
from placewise.machine import load_machine
from placewise.machine.at_clock import at_clock
from placewise.machine.machine import Machine
from placewise.model import timeline_model
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.warm_caches import share_kept

SOURCE = Path(__file__).with_name("streams.cu")
STREAMS = {"init": 1, "read": 1, "scale": 2, "triad": 3}
"""Arrays that each kernel moves, in the order of the table's columns."""
ELEMENTS = 1 << 27
THREADS = (64, 128, 256, 384, 512, 640, 768, 1024)
TURNS, PIECES = 64, (10, 20)
"""Loads of a thread, and blocks that read different pieces: buffers of 5 and 10 MB."""
KERNEL_BLOCKS = 20_000
NVRTC = "12.9"
"""The compiler that knows all boards, the V100 among them."""


@dataclass(frozen=True)
class Board:
    """A board with published curves and the machine file that describes it."""

    file: str
    machine: str
    dram: float | None = None
    """Peak bandwidth of DRAM in GB/s, where the board's differs from the machine file's."""
    tpcs: int | None = None
    clock: float | None = None
    """MHz."""


BOARDS = (
    Board("v100", "V100"),
    Board("a100_40", "A100"),
    Board("a100_80", "A100_80"),
    Board("h100_pcie", "H100", dram=2039.0, tpcs=57, clock=1755.0),
    Board("h200", "H200"),
    Board("l40", "L40"),
    Board("a40", "A6000", dram=696.0),
)
"""The A40 (NVIDIA, A40 datasheet: 84 SMs, 696 GB/s) has the RTX A6000's die, all of it in use. The
H100 PCIe (NVIDIA, H100 PCIe product brief: 114 SMs, 1,755 MHz, 2,039 GB/s of HBM2e) has the H100's;
its machine's latencies are the H100 SXM's, those of DRAM in time."""


def machine_of(board: Board) -> Machine:
    """The machine file's description, with what the board has of its own."""
    machine = load_machine(board.machine)
    if board.clock is not None:
        machine = at_clock(machine, board.clock)
    if board.tpcs is not None:
        machine = replace(machine, processor=replace(machine.processor, tpcs=board.tpcs))
    if board.dram is None:
        return machine
    return replace(machine, limits=replace(machine.limits, dram_bandwidth_gb_per_s=board.dram))


def stream_table(path: Path) -> dict[int, list[float]]:
    """Threads of a block → GB/s of each kernel, from gpu-stream's output."""
    found = {}
    for line in path.read_text().splitlines()[1:]:
        before, _, after = line.partition("GB/s:")
        if after:
            found[int(before.split()[0])] = [float(v) for v in after.split()]
    return found


def l2_table(path: Path) -> dict[int, float]:
    """Kilobytes of the buffer → GB/s, from gpu-l2-cache's output."""
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    return {int(row[2]): float(row[6]) for row in rows if len(row) > 7}


def predicted(machine: Machine, entry: str, launch: Launch, inputs: Inputs, moved: float) -> float:
    """GB/s of a launch that moves so many bytes."""
    arch, _ = target_for(machine.limits.compute_capability, NVRTC)
    options = CompileOptions(arch=arch, nvrtc=NVRTC, defines=(("TURNS", str(TURNS)),))
    kernel = compile_kernel(SOURCE.read_text(), str(SOURCE), entry, options)
    found = timeline_model().predict(evidence_of(kernel, launch, inputs, machine), machine)
    return moved / found.nanoseconds


def stream(machine: Machine, entry: str, threads: int, inputs: Inputs) -> float:
    """GB/s of a streaming kernel with two blocks on each SM."""
    limits = machine.limits
    shared = min(limits.shared_bytes_per_block, limits.shared_bytes_per_sm // 2 - 1024) // 1024
    launch = Launch((ELEMENTS // threads, 1, 1), (threads, 1, 1), shared_bytes=shared * 1024)
    return predicted(machine, entry, launch, inputs, 8.0 * STREAMS[entry] * ELEMENTS)


def from_l2(machine: Machine, pieces: int, buffer: np.ndarray) -> float:
    """GB/s of blocks that read a buffer smaller than L2 again and again."""
    launch = Launch((KERNEL_BLOCKS, 1, 1), (1024, 1, 1))
    arguments = (
        ArrayArgument("a", np.zeros(1024)),
        ArrayArgument("b", buffer[: pieces * TURNS * 1024]),
        ScalarArgument("turns", np.int32(pieces)),
    )
    moved = 8.0 * TURNS * 1024 * KERNEL_BLOCKS
    return predicted(machine, "again", launch, Inputs(arguments), moved)


def kept_of_loops(machine: Machine, curve: dict[int, float]) -> list[tuple[float, float]]:
    """(predicted, recorded) shares of loops over buffers of 0.5 to 2 times L2 that L2 still holds.

    The recorded one follows from the bandwidth between that of small buffers and that of the
    largest: times of sectors from L2 and from DRAM add up.
    """
    cache = machine.l2
    assert cache is not None, f"{machine.name} has no L2"
    whole = (cache.size_bytes or 0) / 1024.0
    near = float(np.median([v for size, v in curve.items() if size <= 0.5 * whole]))
    far = curve[max(curve)]
    found = []
    for size, bandwidth in curve.items():
        if 0.5 <= size / whole <= 2.0:
            kept = (1.0 / far - 1.0 / bandwidth) / (1.0 / far - 1.0 / near)
            found.append((share_kept(size / whole, cache), min(1.0, max(0.0, kept))))
    return found


def figures_of(name: str, pairs: list[tuple[float, float]]) -> list[Figure]:
    """Errors of (predicted, measured) bandwidths."""
    own, theirs = np.array(pairs).T
    errors = np.abs(own / theirs - 1.0)
    return [
        Figure(f"{name}: mean |error|", float(errors.mean()), "share", f"of {len(pairs)}", True),
        Figure(f"{name}: mean predicted/measured", float((own / theirs).mean()), "", "", True),
    ]


def main(data: Annotated[Path, typer.Option(help="Folder of the measured curves.")]) -> None:
    """Predict, print a table, write results/streams.json."""
    figures: list[Figure] = []
    arrays = [np.zeros(ELEMENTS) for _ in "abc"]
    inputs = Inputs(tuple(ArrayArgument(n, a) for n, a in zip("abc", arrays, strict=True)))
    everything: list[tuple[float, float]] = []
    for board in BOARDS:
        machine = machine_of(board)
        table = stream_table(data / "gpu_benches" / f"gpu-stream_{board.file}.txt")
        for column, entry in enumerate(STREAMS):
            pairs = []
            for threads in THREADS:
                if threads not in table:
                    continue
                try:
                    own = stream(machine, entry, threads, inputs)
                except PlacewiseError as error:
                    figures.append(Figure(f"{board.file} {entry}", str(error), "", "", False))
                    break
                pairs.append((own, table[threads][column]))
                print(f"{board.file} {entry} {threads}: {own:.0f}, {table[threads][column]:.0f}")
            if pairs:
                figures += figures_of(f"{board.file} {entry}, all numbers of threads", pairs)
                figures += figures_of(f"{board.file} {entry}, all SMs full", pairs[-1:])
            everything += pairs
        curve = data / "gpu_benches" / f"gpu-l2-cache_{board.file}.txt"
        # Of L2, a board with fewer SMs than its machine has another bandwidth.
        if curve.exists() and board.tpcs is None:
            measured = l2_table(curve)
            pairs = []
            for pieces in PIECES:
                size = pieces * TURNS * 8
                nearest = min(measured, key=lambda known: abs(known - size))
                pairs.append((from_l2(machine, pieces, arrays[1]), measured[nearest]))
                print(f"{board.file} L2 {size} KB: {pairs[-1][0]:.0f}, {measured[nearest]:.0f}")
            figures += figures_of(f"{board.file} L2, bandwidth from this curve", pairs)
            kept = np.array(kept_of_loops(machine, measured))
            figures.append(
                Figure(f"{board.file} L2, share of loops kept: mean |difference|",
                       float(np.abs(kept[:, 0] - kept[:, 1]).mean()), "", f"of {len(kept)}", True)
            )  # fmt: skip
    own, theirs = np.array(everything).T
    figures += figures_of("all streams", everything)
    figures.append(Figure("all streams: Spearman", float(spearmanr(own, theirs)[0]), "", "", True))
    if not report("streams", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
