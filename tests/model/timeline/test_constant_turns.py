"""A load from constant memory takes a turn for each different address of a warp's lanes."""

import numpy as np
import pytest

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.machine import load_machine
from placewise.model import timeline_model
from placewise.model.evidence.evidence import evidence_of

A100 = load_machine("A100")
SOURCE = """__constant__ float table[1024];
extern "C" __global__ void look(const int *index, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = table[index[i]]; }"""
BLOCKS = 2160
"""Twenty on each SM."""


def predicted(index):
    kernel = compile_kernel(SOURCE, "look.cu", "look", CompileOptions(arch="sm_80"))
    inputs = Inputs(
        (ArrayArgument("index", index), ArrayArgument("out", np.zeros(index.size, np.float32))),
        (("table", np.arange(1024, dtype=np.float32)),),
    )
    launch = Launch((BLOCKS, 1, 1), (256, 1, 1))
    return timeline_model().predict(evidence_of(kernel, launch, inputs, A100), A100)


@pytest.mark.parametrize("different", [1, 4, 32])
def test_turns_of_a_look_up(different):
    index = np.arange(256 * BLOCKS, dtype=np.int32) % different
    pipe = next(p.cycles for p in predicted(index).parts if p.path == "xu pipe")
    # Eight warps of each of twenty blocks, two to a partition; 32 lanes a cycle for one address.
    # The block's number and the thread's go the same way at 16 lanes a cycle: eight cycles each.
    loads = 20 * 2 * 4 * different
    reads = pipe - loads
    assert 0 <= reads <= 20 * 2 * 2 * 8


def test_scattered_look_ups_take_longer():
    rng = np.random.default_rng(1)
    scattered = predicted(rng.integers(0, 1024, 256 * BLOCKS).astype(np.int32))
    alike = predicted(np.repeat(rng.integers(0, 1024, 8 * BLOCKS).astype(np.int32), 32))
    assert scattered.binding == "xu pipe"
    assert scattered.total > 1.5 * alike.total
