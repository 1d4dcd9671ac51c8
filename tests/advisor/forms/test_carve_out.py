"""Carve-outs of shared memory that a form's occupancy needs, worked by hand."""

import numpy as np
import pytest

from placewise import load_machine, make_case
from placewise.advisor.forms.agnostic import write_placement
from placewise.advisor.forms.carve_out import with_carve_out
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.rewriter import Rewritten
from placewise.space import Placement

SOURCE = """__global__ void k(float *x) {
    __shared__ float tile[BYTES / 4];
    for (int i = threadIdx.x; i < BYTES / 4; i += 256) tile[i] = x[i];
    __syncthreads();
    x[threadIdx.x] = tile[BYTES / 4 - 1 - threadIdx.x];
}"""


def written(size, machine="A100"):
    case = named_case(
        make_case(
            "k", SOURCE, [np.zeros(16384, np.float32)], grid=1, block=256,
            defines={"BYTES": size}, arch="sm_80",
        )
    )  # fmt: skip
    form = Rewritten(Placement(()), case, "k<<<dim3(1, 1, 1), dim3(256, 1, 1)>>>(x);\n", ())
    return with_carve_out(form, compile_case(case), load_machine(machine))


# (bytes of a block, its blocks on an SM of an A100, of 164 KB, percentage): 8 blocks of 256
# threads fit the 2,048 threads of an SM; the system takes 1 KB a block.
SIZES = [
    (2048, 8, 32, 19),  # 24 KB
    (12288, 8, 132, 80),  # 104 KB
    (16384, 8, 164, 100),  # 136 KB
    (40960, 4, 164, 100),
]


@pytest.mark.parametrize(("size", "blocks", "kilobytes", "percent"), SIZES)
def test_the_host_asks_for_what_the_resident_blocks_need(size, blocks, kilobytes, percent):
    form = written(size)
    lines = form.host.splitlines()
    assert lines[-2] == (
        f"cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, {percent});"
    )
    assert lines[-1].startswith("k<<<")
    assert form.carve_out.startswith(f"{blocks} blocks on an SM")
    assert f"a carve-out of {kilobytes} KB" in form.carve_out
    assert form.edits == (form.carve_out,)
    # The percentage means that division: the next one that is as large.
    divisions = (0, 8, 16, 32, 64, 100, 132, 164)
    assert min(d for d in divisions if d >= percent / 100 * 164) == kilobytes


def test_the_divisions_are_those_of_the_machine():
    # Two blocks of 49 KB are all that an RTX 3060 has room for: its largest division is 100 KB.
    assert "a carve-out of 100 KB (100% of 100 KB)" in written(49152, "RTX3060").carve_out


def test_nothing_is_asked_for_without_shared_memory():
    small = make_case(
        "k", "__global__ void k(float *x) { x[threadIdx.x] = 1; }", [np.zeros(256, np.float32)],
        grid=1, block=256,
    )  # fmt: skip
    form = Rewritten(Placement(()), named_case(small), "k<<<1, 256>>>(x);\n", ())
    assert with_carve_out(form, compile_case(form.case), load_machine("A100")) is form


def test_gpus_whose_shared_memory_is_its_own_are_asked_for_nothing():
    assert written(16384, "C1060").carve_out == ""


def test_a_written_tile_asks_for_its_carve_out():
    source = """__global__ void k(const float *x, float *y) {
        float s = 0;
        for (int i = 0; i < 1024; i++) s += x[blockIdx.x * 1024 + i] * (threadIdx.x + i);
        y[blockIdx.x * 128 + threadIdx.x] = s;
    }"""
    arrays = [np.zeros(65536, np.float32), np.zeros(8192, np.float32)]
    case = make_case("k", source, arrays, grid=64, block=128)
    found = write_placement(case, "A100", {"x": "shared"}).rewritten
    assert "PreferredSharedMemoryCarveout" in found.host
    assert found.carve_out in found.edits
