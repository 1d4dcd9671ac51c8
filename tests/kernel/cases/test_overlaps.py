"""Arguments that share memory on the host are one array on the device."""

import numpy as np
import pytest

from placewise import advise, make_case
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, named_case, read_case

TWICE = """__global__ void k(float *x, CONST float *y, float *o, int n)
{
    int i = threadIdx.x;
    x[i] += 1;
    __syncthreads();
    o[i] = y[i] * 2;
}
"""


def case(x, y, *, fixed=True):
    source = TWICE.replace("CONST ", "const " if fixed else "")
    arguments = [x, y, np.zeros(64, np.float32), np.int32(64)]
    return make_case("k", source, arguments, block=64, grid=1)


def outputs(one):
    return dict(execute(compile_case(one), one.launch, one.inputs).outputs)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("swapped", [False, True])
def test_what_one_pointer_writes_the_other_reads(fixed, swapped):
    memory = np.arange(64, dtype=np.float32)
    whole, part = memory, memory[:]
    one = case(part, whole, fixed=fixed) if swapped else case(whole, part, fixed=fixed)
    expected = (np.arange(64, dtype=np.float32) + 1) * 2
    for made in (named_case(one), read_case(one).case):
        assert np.array_equal(outputs(made)["o"], expected)


def test_a_part_of_another_argument_is_a_pointer_into_it():
    memory = np.arange(128, dtype=np.float32)
    one = read_case(case(memory, memory[32:96], fixed=False))
    assert [(h, p.array, p.element) for h, p in one.case.inputs.pointers] == [("y", "x", 32)]
    assert any("'y' is the memory of 'x' from element 32 on" in note for note in one.notes)
    found = outputs(one.case)
    before = np.arange(32, 96, dtype=np.float32)
    assert np.array_equal(found["o"][:32], (before[:32] + 1) * 2)
    assert np.array_equal(found["o"][32:], before[32:] * 2)


def test_arrays_that_are_only_read_stay_arrays_of_their_own():
    memory = np.arange(64, dtype=np.float32)
    source = TWICE.replace("x[i] += 1;", "o[i] = x[i];").replace("o[i] = y", "o[i] += y")
    source = source.replace("float *x", "const float *x").replace("CONST", "const")
    arguments = [memory, memory, np.zeros(64, np.float32), np.int32(64)]
    one = make_case("k", source, arguments, block=64, grid=1)
    assert {a.name for a in read_case(one).case.inputs.arrays} == {"x", "y", "o"}
    assert not read_case(one).notes


def test_a_part_that_overlaps_an_end_is_told_of():
    memory = np.arange(128, dtype=np.float32)
    one = read_case(case(memory[:96], memory[32:]))
    assert any("share a part of their memory" in note for note in one.notes)


def test_placing_keeps_them_one_array():
    memory = np.arange(64, dtype=np.float32)
    found = advise(case(memory, memory), "A100", finalists=2)
    assert "y" not in found.present.placement.arrays
    stays = {i.array for i in found.illegal if "pointer" in (i.reason or "")}
    assert "x" in stays
