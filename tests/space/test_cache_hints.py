"""Hints of loads, as the compiler really writes them."""

import numpy as np
import pytest

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.space import Hint, Priority, hint_of, hint_spaces

KERNEL = """
extern "C" __global__ void k{number}(const float *a, float *o) {{
    const float *p = a + threadIdx.x;
    float v;
    {load}
    o[threadIdx.x] = v;
}}
"""
PAST, FIRST, LAST, NEVER = (
    Hint(p)
    for p in (Priority.PAST_L1, Priority.EVICT_FIRST, Priority.EVICT_LAST, Priority.NO_ALLOCATE)
)
LOADS = {
    "v = *p;": None,
    "v = __ldg(p);": None,
    "v = __ldca(p);": None,
    "v = __ldcg(p);": PAST,
    "v = __ldcv(p);": PAST,
    "v = *(volatile const float *)p;": PAST,
    "v = __ldcs(p);": FIRST,
    "v = __ldlu(p);": FIRST,
    'asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p));': PAST,
    'asm volatile("ld.relaxed.cta.global.f32 %0, [%1];" : "=f"(v) : "l"(p));': None,
    'asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));': NEVER,
    'asm volatile("ld.global.L1::evict_first.f32 %0, [%1];" : "=f"(v) : "l"(p));': FIRST,
    'asm volatile("ld.global.L1::evict_last.f32 %0, [%1];" : "=f"(v) : "l"(p));': LAST,
    'asm volatile("ld.global.L1::evict_unchanged.f32 %0, [%1];" : "=f"(v) : "l"(p));': None,
    'asm volatile("ld.global.L2::64B.f32 %0, [%1];" : "=f"(v) : "l"(p));': Hint(None, 64),
    'asm volatile("ld.global.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(p));': Hint(
        Priority.NO_ALLOCATE, 128
    ),
    'asm volatile("ld.global.nc.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(p));': Hint(None, 128),
}


# One module for all, since disassembling takes as long for one kernel as for twenty.
SOURCE = "".join(KERNEL.format(number=n, load=load) for n, load in enumerate(LOADS))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.split('"')[-3:][0].strip()[:40])
def test_hints_in_ptx_and_machine_code(load, arch):
    case = make_case(
        f"k{list(LOADS).index(load)}",
        SOURCE,
        [np.zeros(64, np.float32), np.zeros(64, np.float32)],
        block=32,
        grid=1,
        arch=arch,
    )
    code = machine_code(compile_case(case))
    (sass,) = (i.opcode for i in code.instructions if i.opcode.startswith("LDG"))
    ptx = code.kernel.ptx
    (body,) = (b for b in ptx.split(".entry ")[1:] if b.startswith(f"{case.kernel}("))
    (virtual,) = (w for w in body.split() if w.startswith("ld.") and "param" not in w)
    assert (hint_of(virtual), hint_of(sass)) == (LOADS[load], LOADS[load]), (virtual, sass)


@pytest.mark.parametrize("name", ["V100", "T4", "A100", "L40", "H200", "B200"])
def test_machines_have_the_hints_of_their_compute_capability(name):
    machine = load_machine(name)
    listed = {(s.name, s.letter, s.intrinsic) for s in machine.spaces if s.is_cache_hint}
    known = hint_spaces(machine.limits.compute_capability)
    assert listed == {(h.name, h.letter, h.function) for h in known}
    direct = machine.space("global").levels
    for space in machine.spaces:
        if space.is_cache_hint:
            past_l1 = space.hint == PAST
            assert space.levels == (direct[1:] if past_l1 else direct)
            assert space.writable


def test_what_came_with_ampere():
    assert "prefetch_256" not in {s.name for s in load_machine("T4").spaces}
    assert {"prefetch_256", "once", "persisting"} <= {s.name for s in load_machine("A100").spaces}


def test_machines_that_keep_no_global_data_in_l1_have_none():
    assert not any(s.is_cache_hint for s in load_machine("K20c").spaces)
