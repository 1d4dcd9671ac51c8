"""Arguments that share memory on the host are one array on the device."""

import numpy as np
import pytest

from placewise import advise, make_case
from placewise.advisor.forms.agnostic import write_placement
from placewise.errors import CaseError
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


# x[i] += 1, then o[i] = 2 * y[i], where x and y are pieces of one memory of 128 numbers.
PIECES = {
    "x first": (slice(0, 96), slice(32, 128)),
    "y first": (slice(32, 128), slice(0, 96)),
    "x inside": (slice(32, 96), slice(0, 128)),
}


@pytest.mark.parametrize("what", PIECES)
def test_arrays_that_overlap_in_part_stay_one_memory(what):
    x, y = PIECES[what]
    memory = np.arange(128, dtype=np.float32)
    truth = memory.copy()
    truth[x][:64] += 1
    read = read_case(case(memory[x], memory[y]))
    first = "x" if x.start < y.start else "y"
    assert [a for _, a in read.case.inputs.pointer_arguments] == [first]
    for made in (read.case, named_case(case(memory[x], memory[y]))):
        found = outputs(made)
        assert np.array_equal(found["o"], truth[y][:64] * 2)
        assert np.array_equal(found[first], truth)
    beyond = any("128 elements, of which 96 were passed" in note for note in read.notes)
    assert beyond == (what != "x inside")
    assert np.array_equal(memory, np.arange(128))  # the caller's memory is not touched


def test_three_that_hang_together_are_one_memory():
    source = """__global__ void k(float *a, float *b, float *c, float *d)
{
    int i = threadIdx.x;
    a[i + 32] += 1;
    __syncthreads();
    c[i] += b[i + 32];
    d[i] = c[i];
}
"""
    memory = np.arange(192, dtype=np.float32)
    pieces = [memory[:96], memory[32:128], memory[96:160]]
    one = make_case("k", source, [*pieces, np.zeros(64, np.float32)], block=64, grid=1)
    truth = memory.copy()
    truth[32:96] += 1
    sums = truth[96:160] + np.where(np.arange(64) < 32, truth[64:128], 0)
    read = read_case(one)
    assert dict(read.case.inputs.pointer_arguments) == {"b": "a", "c": "a"}
    assert np.array_equal(outputs(read.case)["d"][:32], sums[:32])


def test_a_start_inside_an_element_is_refused():
    memory = np.arange(64, dtype=np.float64)
    floats = memory.view(np.float32)
    source = TWICE.replace("CONST float *y", "const double *y")
    first = [memory, floats[1:65]]
    source = source.replace("float *x, const double *y", "double *x, const float *y")
    one = make_case("k", source, [*first, np.zeros(64, np.float32), np.int32(64)], block=64, grid=1)
    with pytest.raises(CaseError, match=r"'y': it shares memory with 'x'.* inside an element"):
        read_case(one)


def test_others_are_placed_and_moves_of_the_shared_memory_refused():
    source = TWICE.replace("CONST float *y", "float *y, const float *t")
    source = source.replace("y[i] * 2", "y[i] * t[i % 16]")
    memory, t = np.arange(128, dtype=np.float32), np.arange(16, dtype=np.float32)
    arguments = [memory[:96], memory[32:], t, np.zeros(64, np.float32), np.int32(64)]
    one = make_case("k", source, arguments, block=64, grid=1)
    written = write_placement(one, "A100", {"t": "constant"})
    assert written.verification.identical
    assert set(written.verification.arrays) == {"x", "o"}
    with pytest.raises(CaseError, match="'y' is a pointer into it, too"):
        write_placement(one, "A100", {"x": "shared"})
    with pytest.raises(CaseError, match="y=texture: it is a pointer into 'x'"):
        write_placement(one, "A100", {"y": "texture"})


def test_a_tile_does_not_rest_on_the_value_of_a_pointer():
    """A pointer's place on the device is no size that a tile could depend on."""
    source = """__global__ void k(float *x, const float *y, const float *t, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = y[64 + i % 8] + t[i % n] + t[n - 1 - i % n];
    o[i] = x[i];
}
"""
    memory, t = np.arange(128, dtype=np.float32), np.arange(16, dtype=np.float32)
    arguments = [memory[:70], memory[32:], t, np.zeros(64, np.float32), np.int32(16)]
    one = make_case("k", source, arguments, block=32, grid=1)
    written = write_placement(one, "A100", {"t": "shared"})
    assert written.verification.identical
    assert " y != " not in written.rewritten.case.source


def test_two_pointers_into_a_buffer_of_a_case_file(tmp_path):
    (tmp_path / "k.cu").write_text(TWICE.replace("CONST ", ""))
    (tmp_path / "k.toml").write_text("""schema = 1
name = "k"
kernel = "k"
source = "k.cu"
[launch]
block = [64]
grid = [1]
[[arguments]]
name = "x"
pointer = "memory"
[[arguments]]
name = "y"
pointer = { array = "memory", element = 32 }
[[arguments]]
name = "o"
dtype = "float32"
shape = [64]
fill = 0
[[arguments]]
name = "n"
dtype = "int32"
value = 64
[[buffers]]
name = "memory"
dtype = "float32"
shape = [128]
uniform = { low = 0.0, high = 1.0, seed = 1 }
""")
    written = write_placement(tmp_path / "k.toml", "A100", {"o": "shared"})
    assert set(written.verification.arrays) == {"o", "memory"}
    with pytest.raises(CaseError, match="it is a pointer into 'memory'"):
        write_placement(tmp_path / "k.toml", "A100", {"x": "texture"})


def test_placing_keeps_them_one_array():
    memory = np.arange(64, dtype=np.float32)
    found = advise(case(memory, memory), "A100", finalists=2)
    assert "y" not in found.present.placement.arrays
    stays = {i.array for i in found.illegal if "pointer" in (i.reason or "")}
    assert "x" in stays
