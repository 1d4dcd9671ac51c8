"""Bursts of accesses: where the machine code waits, and what they are good for."""

from dataclasses import replace

import numpy as np

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.memory import occupancy
from placewise.memory.simulate.requests.bursts import first_of_bursts
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

SOURCE = """
extern "C" __global__ void k(const float *a, const int *index, float *out) {
    int i = threadIdx.x;
    float sum = a[i] + a[i + 100] + a[i + 200] + a[i + 300];
    out[i] = sum + a[index[i]];
}
"""


def test_independent_loads_are_one_burst_and_dependent_ones_are_not():
    code = machine_code(
        compile_kernel(SOURCE, "b.cu", "k", CompileOptions(arch="sm_75"))
    ).instructions
    firsts = first_of_bursts(code)
    loads = [i.offset for i in code if i.parts[0] == "LDG"]
    assert len(loads) == 6
    # The first four loads and that of the index need nothing of each other; the last needs the
    # index, and the store all of them.
    assert [x in firsts for x in loads].count(True) == 2
    assert loads[0] in firsts
    assert loads[-1] in firsts
    assert next(i.offset for i in code if i.parts[0] == "STG") in firsts


def hits(bursts):
    """L1 hits of 32 warps of an SM that each read 64 lines' first sector four times over, in four
    loads: 2048 lines, more than L1 holds."""
    machine = load_machine("RTX2080Ti")
    machine = replace(machine, processor=replace(machine.processor, tpcs=1, sms_per_tpc=1))
    launch = Launch((1, 1, 1), (1024, 1, 1))
    facts = LaunchFacts(launch, occupancy(launch, machine, registers=32, shared_bytes=0), 0, 0,
                        (("a", 1 << 24),), bursts)  # fmt: skip
    system = MemorySystem(facts, machine)
    sites = tuple(Site("LDG.E", "global", "load", 4, 16 * n, None) for n in range(4))
    system.begin(sites, ("a",))
    warp, line, site = (
        x.ravel() for x in np.meshgrid(range(32), range(64), range(4), indexing="ij")
    )
    n = len(site)
    base = (warp * 64 + line) * 128 * 32
    system.chunk(
        TraceChunk(
            site=site.astype(np.int32), block=np.zeros(n, np.int32), warp=warp.astype(np.int32),
            phase=np.zeros(n, np.int32), mask=np.full(n, 0xFFFFFFFF, np.uint32),
            array=np.zeros(n, np.int32), base=base, upper=base + 16 * 128,
            stride=np.full(n, 128, np.int32), row=np.full(n, -1, np.int32),
            offsets=np.zeros(0, np.int32),
        )
    )  # fmt: skip
    return sum(t.l1_hits.value for t in system.traffic().sites) / (n * 32)


def test_lines_that_a_burst_shares_stay():
    assert hits(frozenset({0})) > 0.74
    assert hits(None) < 0.4
