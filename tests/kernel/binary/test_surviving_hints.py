"""What ptxas makes of cache hints, on code that it really compiles."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.kernel.binary.surviving_hints import Fate, hint_fates
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.space import LOAD_FUNCTIONS, Hint, Priority

ARCHS = ["sm_80", "sm_86", "sm_90", "sm_100"]


def kernel(body, arch):
    source = f"""extern "C" __global__ void k(const float *a, const float *b, float *o) {{
    int i = threadIdx.x;
{body}
}}
"""
    arguments = [np.zeros(64, np.float32)] * 2 + [np.zeros(64, np.float32)]
    return compile_case(make_case("k", source, arguments, block=32, grid=1, arch=arch))


def load(qualifiers):
    return f'float v; asm("ld.global.{qualifiers}.f32 %0, [%1];" : "=f"(v) : "l"(a + i));'


@pytest.mark.parametrize("arch", ARCHS)
def test_hints_of_all_load_functions_survive(arch):
    hinted = [f for f in LOAD_FUNCTIONS.values() if f.hint]
    lines = [
        f"{{ {load('.'.join(f.qualifiers)).replace('a + i', f'a + i + {n}')} o[i + {n}] = v; }}"
        for n, f in enumerate(hinted)
    ]
    fates = hint_fates(kernel("\n".join(lines), arch))
    found = [(fate.line, fate.asked, fate.fate) for fate in fates]
    assert found == [(3 + n, f.hint, Fate.SURVIVED) for n, f in enumerate(hinted)]


@pytest.mark.parametrize("arch", ARCHS)
def test_the_long_prefetch_of_read_only_loads_is_shortened_for_sm_80_alone(arch):
    (fate,) = hint_fates(kernel(f"{load('nc.L1::no_allocate.L2::256B')}\no[i] = v;", arch))
    assert fate.asked == Hint(Priority.NO_ALLOCATE, 256)
    assert fate.fate is (Fate.CHANGED if arch == "sm_80" else Fate.SURVIVED)
    if arch == "sm_80":
        assert "L2::256B changed to L1::no_allocate L2::128B (LDG.E.NA.LTC128B" in fate.text


def test_loads_of_one_line_are_told_apart():
    fates = hint_fates(kernel("o[i] = __ldcs(a + i) + __ldcg(b + i) + b[i + 32];", "sm_90"))
    assert [f.asked.priority for f in fates] == [Priority.EVICT_FIRST, Priority.PAST_L1]
    assert [f.fate for f in fates] == [Fate.SURVIVED] * 2
    assert "(LDG.E.EF)" in fates[0].text


def test_a_load_that_nobody_needs():
    kept = kernel(f"{load('L1::evict_last')}\no[i] = v;", "sm_90")
    unused = kernel("o[i] = 1.0f;", "sm_90")
    (fate,) = hint_fates(replace(unused, ptx=kept.ptx))
    assert fate.fate is Fate.NO_LOAD
    assert "no load is left" in fate.text


def test_machine_code_that_asks_for_nothing():
    hinted = kernel(f"{load('L1::evict_last')}\no[i] = v;", "sm_90")
    plain = kernel("float v = a[i];\no[i] = v;", "sm_90")
    (fate,) = hint_fates(replace(plain, ptx=hinted.ptx))
    assert fate.fate is Fate.DROPPED
    assert fate.found in (("LDG.E",), ("LDG.E.CONSTANT",))


def test_without_hints_and_without_machine_code_there_is_nothing_to_say():
    plain = kernel("o[i] = a[i];", "sm_90")
    assert hint_fates(plain) == ()
    hinted = kernel("o[i] = __ldcs(a + i);", "sm_90")
    assert hint_fates(replace(hinted, cubin=None)) == ()
