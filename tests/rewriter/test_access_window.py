"""Arrays in an access policy window of L2: the kernel stays, the host and the launch change."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.rewriter.ways.window import access_window
from placewise.space import Placement

SOURCE = """
extern "C" __global__ void k(const float *table, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[i] * 2.0f;
}
"""
MACHINE = load_machine("A100")


def case():
    arguments = [np.ones(1024, np.float32), np.zeros(1024, np.float32)]
    return make_case("k", SOURCE, arguments, block=256, grid=4)


def windowed(**arrays):
    made = case()
    return rewrite(made, Placement.of(arrays), MACHINE, analyse_source(made))


def test_the_kernel_stays_and_the_launch_has_a_window():
    found = windowed(table="persisting")
    assert found.case.source.split("extern")[1] == SOURCE.split("extern")[1]
    window = found.case.launch.window
    assert (window.array, window.size_bytes, window.hit_ratio) == ("table", 4096, 1.0)
    assert window.set_aside_bytes == 30 << 20


def test_the_host_sets_it_before_the_launch():
    host = windowed(table="persisting").host
    order = [
        "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 31457280);",
        "table_policy.accessPolicyWindow.base_ptr = table;",
        "table_policy.accessPolicyWindow.num_bytes = 4096;",
        "table_policy.accessPolicyWindow.hitRatio = 1.000000f;",
        "table_policy.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;",
        "table_policy.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;",
        "cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &table_policy);",
        "k<<<dim3(4, 1, 1), dim3(256, 1, 1), 0, stream>>>(table, out);",
    ]
    places = [host.index(line) for line in order]
    assert places == sorted(places)


def test_what_the_kernel_writes_can_have_one_too():
    assert windowed(out="persisting").case.launch.window.array == "out"


def test_a_launch_has_one_window():
    with pytest.raises(UnsupportedError, match="one access policy window, over 'table'"):
        windowed(table="persisting", out="persisting")


def test_with_other_moves():
    found = windowed(table="no_allocate", out="persisting")
    assert "load_no_allocate(&table[i])" in found.case.source
    assert found.case.launch.window.array == "out"


@pytest.mark.parametrize(
    ("megabytes", "covered", "ratio"), [(10, 10, 1.0), (60, 60, 0.5), (300, 128, 30 / 128)]
)
def test_the_hit_ratio_is_what_fits(megabytes, covered, ratio):
    space = MACHINE.space("persisting")
    window = access_window("a", megabytes << 20, space, MACHINE)
    assert (window.size_bytes, window.hit_ratio) == (covered << 20, ratio)


def test_an_l2_of_unknown_size_has_none():
    memories = tuple(replace(m, size_bytes=None) if m.name == "L2" else m for m in MACHINE.memories)
    unknown = replace(MACHINE, memories=memories)
    with pytest.raises(UnsupportedError, match="size of L2 is not known"):
        access_window("a", 1024, MACHINE.space("persisting"), unknown)
