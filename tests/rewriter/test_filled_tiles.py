"""Tiles in shared memory that the array does not fill: every element is written nonetheless."""

import numpy as np
import pytest

from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

CELL = np.dtype([("x", "f4"), ("y", "i4")], align=True)
# The compiler loads table elements ahead of the condition that guards their use.
SOURCE = """
struct Cell {{ float x; int y; }};
extern "C" __global__ void k(
    int o[], const unsigned char *near, const {type} *table, const short *t, int n, int m, int p) {{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
        float s = 0;
        for (int k = 0; k < 16; k++) {{
            if (k < m) {{
                s = s + (float)(near[max(i - 1, 0) * p + k]);
                s += (*(table + k)){member} > 0 ? __ldg(&t[(int)((unsigned)i * 5u % n)]) : 1;
                s = s + table[k]{member};
            }}
        }}
        o[i] = s;
    }}
}}
"""


TABLES = {
    "float": ("", np.linspace(-4, 4, 30, dtype=np.float32)),
    "float2": (".y", np.linspace(-4, 4, 60, dtype=np.float32).reshape(30, 2)),
    "Cell": (".x", np.array([(x, 1) for x in np.linspace(-4, 4, 30)], CELL)),
}


def made(source: str, table, n: int):
    m = len(table)
    near, t = np.arange(n * m, dtype=np.uint8), np.arange(n, dtype=np.int16)
    sizes = [np.int32(n), np.int32(m), np.int32(m)]
    arguments = [np.zeros(n, np.int32), near, table, t, *sizes]
    return named_case(make_case("k", source, arguments, block=32, grid=4, arch="sm_75"))


@pytest.mark.parametrize("type_", TABLES)
def test_a_tile_longer_than_its_array_holds_zeros_behind_it(type_):
    member, table = TABLES[type_]
    source = SOURCE.format(type=type_, member=member)
    case = made(source, table, 190)
    placement = Placement.of({"table": "shared"})
    written = rewrite(case, placement, load_machine("T4"), analyse_source(case)).case
    # The tile has the 16 elements that the loop may reach; this array has 8.
    short, tiled = made(source, table[:8], 219), made(written.source, table[:8], 219)
    expected = execute(compile_case(short), short.launch, short.inputs).output("o")
    checker = Checker()
    run = execute(compile_case(tiled), tiled.launch, tiled.inputs, check=checker)
    assert run.output("o").tobytes() == expected.tobytes()
    assert not checker.findings


def test_conditions_around_a_call_that_is_written_out_keep_the_fill_inside():
    """A device function becomes a lambda that is called at once, under its caller's conditions."""
    source = """
static __device__ float fetch(const float *from, size_t at) { return from[at]; }
extern "C" __global__ void k(float *o, const float *a, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) o[i * m + j] = fetch(a, n + 2 - i) > 0 ? a[n + 2 - i] : 1;
}
"""

    def sized(text: str, n: int):
        a = np.arange(n + 3, dtype="f4") - 9
        arguments = [np.zeros(n * 8, "f4"), a, np.int32(n), np.int32(8)]
        return named_case(make_case("k", text, arguments, block=(16, 8), grid=(1, -(-n // 8))))

    case = sized(source, 40)
    placement = Placement.of({"a": "shared"})
    written = rewrite(case, placement, load_machine("A100"), analyse_source(case)).case
    other, checker = sized(written.source, 33), Checker()
    found = execute(compile_case(other), other.launch, other.inputs, check=checker)
    assert checker.clean
    values = (np.arange(36) - 9.0)[:2:-1]
    assert np.array_equal(found.output("o").reshape(33, 8)[:, 3], np.where(values > 0, values, 1))


def test_elements_that_a_block_s_own_bound_leaves_out_keep_their_values():
    """The last blocks are bounded by ``n``, the first by a bound of their own."""
    source = """
extern "C" __global__ void k(float *o, const float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < 40 * blockIdx.x + 10) o[i] = 2 * a[i];
}
"""

    arguments = [np.full(400, 7, "f4"), np.arange(400, dtype="f4"), np.int32(400)]
    case = named_case(make_case("k", source, arguments, block=64, grid=7))
    placement = Placement.of({"o": "shared"})
    written = rewrite(case, placement, load_machine("A100"), analyse_source(case)).case
    expected, found = (
        execute(compile_case(c), c.launch, c.inputs).output("o") for c in (case, written)
    )
    assert found.tobytes() == expected.tobytes()
    assert (expected == 7).any()
