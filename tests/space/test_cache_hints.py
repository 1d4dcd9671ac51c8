"""Hints of loads, as the compiler really writes them."""

import numpy as np
import pytest

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.space import Hint, hint_of

SOURCE = """
__device__ float asked(const float *p) {{
    float v;
    {load}
    return v;
}}
extern "C" __global__ void k(const float *a, float *o) {{
    o[threadIdx.x] = asked(a + threadIdx.x);
}}
"""
PAST, FIRST = Hint.PAST_L1, Hint.EVICT_FIRST
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
    'asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));': PAST,
    'asm volatile("ld.global.L1::evict_first.f32 %0, [%1];" : "=f"(v) : "l"(p));': FIRST,
    'asm volatile("ld.global.L1::evict_last.f32 %0, [%1];" : "=f"(v) : "l"(p));': None,
    'asm volatile("ld.global.nc.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(p));': None,
}


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.split('"')[-3:][0].strip()[:40])
def test_hints_in_ptx_and_machine_code(load, arch):
    case = make_case(
        "k",
        SOURCE.format(load=load),
        [np.zeros(64, np.float32), np.zeros(64, np.float32)],
        block=32,
        grid=1,
        arch=arch,
    )
    code = machine_code(compile_case(case))
    (sass,) = (i.opcode for i in code.instructions if i.opcode.startswith("LDG"))
    ptx = code.kernel.ptx
    (virtual,) = (w for w in ptx.split() if w.startswith("ld.") and "param" not in w)
    assert (hint_of(virtual), hint_of(sass)) == (LOADS[load], LOADS[load]), (virtual, sass)


@pytest.mark.parametrize("name", ["T4", "A100", "L40", "H200", "B200"])
def test_current_machines_have_both_hints(name):
    machine = load_machine(name)
    hints = {s.hint: s for s in machine.spaces if s.hint}
    assert set(hints) == {PAST, FIRST}
    direct = machine.space("global").levels
    assert hints[PAST].levels == direct[1:]
    assert hints[FIRST].levels == direct
    assert all(s.writable for s in hints.values())


def test_machines_that_keep_no_global_data_in_l1_have_none():
    assert not any(s.hint for s in load_machine("K20c").spaces)
