"""Launches that no GPU can do, and grids whose blocks would not fit the memory as a list."""

import resource

import numpy as np
import pytest

from placewise.errors import CaseError, ExecutionError, PlacewiseError, UnsupportedError
from placewise.executor import execute
from placewise.executor.runtime.launch_shape import bunches, check_shape, numbers_of
from placewise.executor.stratified_blocks import sample_blocks
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.launch import MOST_LISTED, Launch

SOURCE = """
__global__ void count(unsigned *a) { if (!threadIdx.x) atomicAdd(a, 1u); }
__global__ void stop(unsigned *a) { __trap(); }
__global__ void shared(unsigned *a) { extern __shared__ unsigned s[]; s[0] = 1; a[0] = s[0]; }
"""


def done(kernel="count", **launch):
    case = make_case(kernel, SOURCE, [np.zeros(1, np.uint32)], **{"block": 1, **launch})
    return execute(compile_case(case), case.launch, named_case(case).inputs)


@pytest.mark.parametrize(
    ("launch", "where"),
    [
        ({"grid": 2**63 - 1}, "grid"),
        ({"grid": 2**31}, "grid"),
        ({"grid": (1, 65536)}, "grid"),
        ({"grid": (1, 1, 65536)}, "grid"),
        ({"grid": 1, "block": (1, 1, 65)}, "block"),
        ({"grid": 1, "block": 1025}, "block"),
        ({"grid": 1, "shared_bytes": 2**30, "kernel": "shared"}, "shared_bytes"),
    ],
)
def test_what_no_gpu_can_launch_is_refused(launch, where):
    with pytest.raises(CaseError) as caught:
        done(**launch)
    assert caught.value.where == where


def test_more_local_memory_than_any_gpu_has_is_refused():
    with pytest.raises(CaseError, match="local memory"):
        check_shape(Launch((1, 1, 1), (1, 1, 1)), None, 0, 2**19 + 1)
    check_shape(Launch((1, 1, 1), (1, 1, 1)), None, 0, 2**19)


@pytest.mark.parametrize("grid", [(1, 65535), (3, 5, 7), (70_000,)])
def test_every_block_of_a_grid_runs_once(grid):
    assert done(grid=grid).output("a")[0] == np.prod(grid)


def test_the_largest_grid_takes_no_memory_for_its_blocks():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ExecutionError):
        done("stop", grid=2**31 - 1)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 2**31 - 1


@pytest.mark.parametrize("blocks", [range(100_000), np.arange(5, 90_000, 3)])
@pytest.mark.parametrize("count", [1, 4])
def test_bunches_are_all_blocks_in_their_order(blocks, count):
    pieces = [numbers_of(bunch) for bunch in bunches(blocks, count)]
    np.testing.assert_array_equal(np.concatenate(pieces), np.asarray(blocks))
    assert all(piece.dtype == np.int64 and piece.size for piece in pieces)
    assert bunches(blocks[:0], count) == []


def test_a_grid_whose_blocks_cannot_be_listed_is_not_sampled():
    with pytest.raises(UnsupportedError) as caught:
        sample_blocks(Launch((MOST_LISTED + 1, 1, 1), (1, 1, 1)), 10)
    assert isinstance(caught.value, PlacewiseError)
