"""A machine small enough to work by hand, and profiles of traces written as lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import ArrayUse, Parameter, SourceView, Tile
from placewise.machine.load import parse_machine
from placewise.machine.machine import Machine
from placewise.memory import Profile, Profiler, occupancy

TINY = """
machine Tiny "two SMs, caches of a few blocks";
die = 1 tpc; tpc = 2 sm; sm = 32 core;
limits {
  compute_capability = 3.5; clock = 1000 MHz;
  max_threads_per_block = 1024; max_block = <1024 1024 64>; max_grid = <65535 65535 65535>;
  max_threads_per_sm = 2048; max_blocks_per_sm = 16;
  registers_per_sm = 65536; max_registers_per_thread = 255;
  shared_memory_per_block = 48 KB; shared_memory_per_sm = 48 KB;
  copy_bandwidth = 8 GB/s;
}
globalMem 8 Y RW na 1024MB 128B ? <600clk 500clk> <L2 L1> <> die <0.1 0.5>
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
L1 9 N R na 256B 128B ? 80clk <> <L2 globalMem> sm ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
L2 7 N RW na 512B 32B ? <300clk 200clk> <L1> <globalMem> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
constantMem 1 Y R na 64KB ? ? 360clk <cL1> <> die ? warp{address1 != address2};
cL1 3 N R na 128B 64B ? 48clk <> <constantMem> sm ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
sharedMem 4 Y RW na 48KB ? 32 40clk <> <> sm ?
  block{word1 != word2 && word1 % banks == word2 % banks};
space global   G direct        <L1 L2 globalMem>  global   RW;
space readonly R intrinsic     <L1 L2 globalMem>  texture  R  intrinsic "__ldg";
space constant C host_buffer   <cL1 constantMem>  constant R  declaration "__constant__";
space shared   S kernel_buffer <sharedMem>        global   RW declaration "__shared__";
"""

LOAD, STORE = 0, 1


def array_use(name: str, *, written: bool = False, tile: Tile | None = None) -> ArrayUse:
    parameter = Parameter(name, "float *", True, "float", 4, "float32")
    return ArrayUse(parameter, True, written, (), (), tile, None if tile else "no tile")


@pytest.fixture
def tiny() -> Machine:
    return parse_machine(TINY, "tiny.msl")


@pytest.fixture
def make_profile(tiny: Machine) -> Callable[..., Profile]:
    """``make_profile(elements, trace)``: ``trace`` lists (array, kind, block, warp, base, stride),
    or a list of 32 offsets in place of base and stride; all in bytes."""

    def make(
        elements: dict[str, int],
        trace: Sequence[tuple],
        *,
        blocks: int = 1,
        threads: int = 32,
        tiles: dict[str, Tile] | None = None,
        mask: int = 0xFFFFFFFF,
        machine: Machine = tiny,
        registers: int = 32,
    ) -> Profile:
        names = tuple(elements)
        launch = Launch((blocks, 1, 1), (threads, 1, 1))
        inputs = Inputs(
            tuple(ArrayArgument(n, np.zeros(e, np.float32)) for n, e in elements.items())
        )
        tiles = tiles or {}
        view = SourceView("k", (), tuple(array_use(n, tile=tiles.get(n)) for n in names), 0, 0, 0)
        resident = occupancy(launch, machine, registers=registers, shared_bytes=0)
        profiler = Profiler(launch, machine, resident, view, inputs)
        sites = tuple(
            Site(f"{kind}.global.f32", "global", kind, 4, 1, 1) for kind in ("load", "store")
        )
        profiler.begin(sites, names)
        n = len(trace)
        rows = [t[4] for t in trace if not isinstance(t[4], int)]
        active = [lane for lane in range(32) if mask >> lane & 1]
        irregular = (np.cumsum([not isinstance(t[4], int) for t in trace]) - 1) * len(active)
        base = np.array([t[4] if isinstance(t[4], int) else 0 for t in trace], np.int64)
        stride = np.array([t[5] if isinstance(t[4], int) else 0 for t in trace], np.int32)
        profiler.chunk(
            TraceChunk(
                np.array([t[1] for t in trace], np.int32),
                np.array([t[2] for t in trace], np.int32),
                np.array([t[3] for t in trace], np.int32),
                np.zeros(n, np.int32),
                np.full(n, mask, np.uint32),
                np.array([names.index(t[0]) for t in trace], np.int32),
                base,
                base + 16 * stride,
                stride,
                np.array(
                    [
                        -1 if isinstance(t[4], int) else r
                        for t, r in zip(trace, irregular, strict=True)
                    ],
                    np.int32,
                ),
                np.array(rows, np.int64).reshape(-1, 32)[:, active].ravel(),
            )
        )
        return profiler.profile()

    return make
