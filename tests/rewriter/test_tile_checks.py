"""What a kernel with a tile checks at its start."""

import numpy as np

import placewise
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

SOURCE = """
struct Box { int count; };
struct Sizes { int rows; int unused; };
extern "C" __global__ void k(Sizes sizes, const Box *box, const float *a, float *o) {
    int first = box[blockIdx.x].count + box[box[blockIdx.x].count].count;
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        o[blockIdx.x * 64 + i] = a[i] + first;
}
"""


def test_members_that_the_source_does_not_name_are_not_checked():
    # The case has names of its own for the members of a struct that the kernel does not use.
    sizes = np.zeros((), [("p", np.int32), ("q", np.int32)])
    box = np.arange(4, dtype=np.int32).view([("count", np.int32)])
    arguments = [sizes[()], box, np.ones(64, np.float32), np.zeros(256, np.float32)]
    case = named_case(make_case("k", SOURCE, arguments, block=32, grid=4, arch="sm_80"))
    moved = Placement.of({"box": "shared"})
    written = rewrite(case, moved, load_machine("A100"), analyse_source(case))
    assert "sizes.p" not in written.case.source
    assert placewise.verify(written, case).detail == "bit-identical"
