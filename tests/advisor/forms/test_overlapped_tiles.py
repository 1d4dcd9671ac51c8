"""Tiles with two buffers are offered where they pay over one buffer, and only there."""

import numpy as np

from placewise.advisor.finalists import AS_GOOD
from placewise.advisor.forms.chunked_tiles import fastest_chunked, first_chunked
from placewise.advisor.forms.timed_form import timed_form
from placewise.advisor.forms.timing import time_form
from placewise.advisor.forms.write_form import write_forms
from placewise.advisor.prepare import prepare
from placewise.kernel.cases.make_case import make_case
from placewise.machine import load_machine
from placewise.progress import silent

ROWS = """
__global__ void k(const float *in, float *out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) sum = sum * 0.5f + in[row * cols + c];
    out[row] = sum;
}
"""


def fastest(machine, rows=16384, cols=128):
    data = np.random.default_rng(1).uniform(size=(rows, cols)).astype(np.float32)
    arguments = [data, np.zeros(rows, np.float32), np.int32(rows), np.int32(cols)]
    case = make_case("k", ROWS, arguments, block=128, problem=rows)
    prepared = prepare(case, load_machine(machine), silent)
    present = time_form(prepared.kernel, prepared.case, prepared.machine)
    first = times_of(first_chunked(prepared), prepared, present)
    return fastest_chunked(first, prepared, present, silent)


def times_of(placements, prepared, present):
    forms = write_forms(prepared, placements, present, silent)
    return [found for p in placements if (found := timed_form(p, forms[p], prepared, present))]


def test_a_second_buffer_hides_the_latency_of_few_warps():
    """A thread to a row: four warps an SM, too few to hide the latency of DRAM."""
    first, second = fastest("A100")
    assert first.placement.buffers == 2
    assert second.placement.buffers == 1
    assert first.ratio * (1 + AS_GOOD) < second.ratio
    assert "__pipeline_memcpy_async" in first.form.rewritten.case.source
    assert "fetched meanwhile" in first.placement.tiles


def test_gpus_without_asynchronous_copies_are_offered_one_buffer():
    assert {one.placement.buffers for one in fastest("T4")} == {1}
