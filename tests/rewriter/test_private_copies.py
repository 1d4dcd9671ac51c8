"""Arrays that blocks update by atomics get a copy per block, merged at the end."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import Placement

RNG = np.random.default_rng(5)
COUNT = """
__global__ void k(const unsigned char *data, {type} *bins, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (; i < n; i += blockDim.x * gridDim.x)
        {update}
}}
"""


def case(update="atomicAdd(&bins[data[i]], 1u);", type_="unsigned int", dtype=np.uint32, n=3000):
    data = RNG.integers(0, 256, n).astype(np.uint8)
    bins = RNG.integers(1, 99, 256).astype(dtype)
    source = COUNT.format(type=type_, update=update)
    return make_case("k", source, [data, bins, np.int32(n)], block=64, grid=7)


def bins_of(one):
    named = named_case(one)
    run = execute(compile_case(one), named.launch, named.inputs)
    return run.output("bins")


UPDATES = {
    "add": ("atomicAdd(&bins[data[i]], 1u);", "unsigned int", np.uint32),
    "add 64": ("atomicAdd(&bins[data[i]], 3ull);", "unsigned long long", np.uint64),
    "subtract": ("atomicSub(&bins[data[i]], 2);", "int", np.int32),
    "smallest": ("atomicMin(bins + data[i], i - 50);", "int", np.int32),
    "largest": ("atomicMax(&bins[data[i] / 2], i);", "int", np.int32),
    "smallest unsigned": ("atomicMin(&bins[data[i]], (unsigned)i);", "unsigned int", np.uint32),
    "largest 64": ("atomicMax(&bins[data[i]], i - 900ll);", "long long", np.int64),
    "smallest 64": ("atomicMin(&bins[data[i]], i - 900ll);", "long long", np.int64),
    "and": ("atomicAnd(&bins[data[i]], ~(1 << (i % 7)));", "int", np.int32),
    "and unsigned": ("atomicAnd(&bins[data[i]], ~(1u << i % 7));", "unsigned int", np.uint32),
    "or": ("if (i % 3) atomicOr(&bins[data[i]], 1u << (i % 32));", "unsigned int", np.uint32),
    "xor": ("{ atomicXor(&bins[data[i]], i); }", "int", np.int32),
}


@pytest.mark.parametrize("what", UPDATES)
def test_copies_merge_to_the_same_bits(what, machine):
    one = case(*UPDATES[what])
    written = rewrite(one, Placement.of({"bins": "shared"}), machine, analyse_source(one)).case
    assert "bins_tile[" in written.source
    assert np.array_equal(bins_of(written), bins_of(one))
    other = case(*UPDATES[what], n=777)
    assert np.array_equal(bins_of(replace(other, source=written.source)), bins_of(other))


@pytest.mark.parametrize("what", UPDATES)
def test_no_block_reads_what_another_may_be_merging_into(what, machine):
    one = case(*UPDATES[what])
    written = rewrite(one, Placement.of({"bins": "shared"}), machine, analyse_source(one)).case
    named, checker = named_case(written), Checker()
    execute(compile_case(written), named.launch, named.inputs, check=checker)
    assert not checker.findings


def test_sums_begin_at_zero_and_add_to_what_was_there(machine):
    one = case()
    written = rewrite(one, Placement.of({"bins": "shared"}), machine, analyse_source(one)).case
    data, before = (a.data for a in named_case(one).inputs.arrays)
    assert np.array_equal(bins_of(written), before + np.bincount(data, minlength=256))
    assert "bins_tile[t] = 0;" in written.source


SEEN = {
    "its result is used": "i += atomicAdd(&bins[data[i]], 1u);",
    "it is a condition": "if (atomicAdd(&bins[data[i]], 1u)) i++;",
    "two functions": "{ atomicAdd(&bins[data[i]], 1u); atomicMax(&bins[0], 3u); }",
    "it is read, too": "atomicAdd(&bins[data[i]], bins[0]);",
    "an exchange": "atomicExch(&bins[data[i]], 1u);",
}


@pytest.mark.parametrize("what", SEEN)
def test_other_updates_have_no_copies(what, machine):
    one = case(SEEN[what])
    tile = analyse_source(one).array("bins").tile
    assert tile is None
    with pytest.raises(UnsupportedError, match=r"tiles of blocks overlap|no bound"):
        rewrite(one, Placement.of({"bins": "shared"}), machine, analyse_source(one))


def test_sums_of_floating_point_have_no_copies():
    """Their result depends on the order."""
    one = case("atomicAdd(&bins[data[i]], 1.0f);", "float", np.float32)
    assert analyse_source(one).array("bins").tile is None
