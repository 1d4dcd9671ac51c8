"""Rewritten kernels compute the same bits as the original, and stay inside their arrays."""

import pytest
from corpus import SAMPLES

from placewise.executor import execute
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import Placement


def run(case):
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    return execute(kernel, case.launch, case.inputs)


def assert_same_bits(rewritten, original):
    outputs = dict(run(rewritten.case).outputs)
    for name, expected in original.outputs:
        if name in outputs:
            assert outputs[name].tobytes() == expected.tobytes(), name


@pytest.fixture(scope="module", params=SAMPLES)
def ran(request):
    sample = SAMPLES[request.param]
    case = sample.make()
    view = analyse_source(case)
    case = bind_names(case, view)
    return sample, case, view, run(case)


def test_the_source_view_knows_what_the_run_reads_and_writes(ran):
    _, _, view, original = ran
    for use in view.arrays:
        if use.accesses:
            assert use.written == (use.name in original.written)


def test_every_single_move_computes_the_same_bits(ran, machine):
    sample, case, view, original = ran
    for array, spaces in sample.reachable.items():
        for space in spaces.split():
            assert_same_bits(rewrite(case, Placement.of({array: space}), machine, view), original)


@pytest.mark.parametrize("space", ["texture", "constant", "shared"])
def test_all_arrays_moved_together_compute_the_same_bits(ran, space, machine):
    sample, case, view, original = ran
    moved = {a: space for a, spaces in sample.reachable.items() if space in spaces.split()}
    assert_same_bits(rewrite(case, Placement.of(moved), machine, view), original)
