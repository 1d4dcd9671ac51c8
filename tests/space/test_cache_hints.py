"""Hints of loads, as the compiler really writes them."""

from functools import cache

import pytest

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
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


SOURCE = "".join(KERNEL.format(number=n, load=load) for n, load in enumerate(LOADS))


@cache
def kernels_for(arch):
    """All kernels, of one module: disassembling takes as long for one kernel as for twenty."""
    names = [f"k{n}" for n in range(len(LOADS))]
    return compile_module(SOURCE, "loads.cu", names, CompileOptions(arch=arch))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.split('"')[-3:][0].strip()[:40])
def test_hints_in_ptx_and_machine_code(load, arch):
    kernel = kernels_for(arch)[list(LOADS).index(load)]
    code = machine_code(kernel)
    (sass,) = (i.opcode for i in code.instructions if i.opcode.startswith("LDG"))
    (body,) = (b for b in kernel.ptx.split(".entry ")[1:] if b.startswith(f"{kernel.name}("))
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
