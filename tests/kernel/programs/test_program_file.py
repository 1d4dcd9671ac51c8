"""Files with several launches."""

import numpy as np
import pytest

from placewise import load_case
from placewise.errors import CaseError
from placewise.kernel.programs.program_file import holds_program, load_program

TEXT = """schema = 1
code = '''
__global__ void one(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x]; }
__global__ void two(const float *b, float *c) { c[threadIdx.x] = b[threadIdx.x]; }
'''
rounds = 4

[sizes]
n = 64

[[arguments]]
name = "x"
dtype = "float32"
shape = ["n"]
uniform = { seed = 1 }

[[arguments]]
name = "y"
dtype = "float32"
shape = ["n"]
uninitialised = true

[[launches]]
kernel = "one"
problem = ["n"]
block = [32]
arguments = ["x", "y"]

[[launches]]
kernel = "two"
grid = [2]
block = [32]
times = 3
arguments = { b = { value = "y", dtype = "float32", shape = ["n"] }, c = "x" }
"""


@pytest.fixture
def file(tmp_path):
    def write(old="", new=""):
        assert old in TEXT
        path = tmp_path / "pair.toml"
        path.write_text(TEXT.replace(old, new, 1) if old else TEXT)
        return path

    return write


def test_a_file_of_launches_is_a_program(file):
    path = file()
    assert holds_program(path)
    program = load_program(path)
    assert (program.name, program.rounds) == ("pair", 4)
    one, two = program.launches
    assert (one.case.launch.grid, two.case.launch.grid) == ((2, 1, 1), (2, 1, 1))
    assert [one.times, two.times] == [1, 3]
    assert dict(two.shared) == {"b": "y", "c": "x"}
    assert np.shares_memory(one.case.inputs.arrays[0].data, two.case.inputs.arrays[1].data)


def test_a_case_is_no_program(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text("schema = 1\n[launch]\n")
    assert not holds_program(path)
    assert not holds_program("spmv")


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ('arguments = ["x", "y"]', 'arguments = ["x", "z"]', "launches.1.arguments.2", "no value"),
        ('c = "x"', 'c = "u"', "launches.2.arguments.c", "no value 'u'"),
        ('shape = ["n"] }, c', "shape = [65] }, c", "launches.2.arguments.b.shape", r"\(65,\)"),
        ('"float32", shape = ["n"] }, c', '"int32" }, c', "launches.2.arguments.b.dtype", "int32"),
        ("times = 3", "times = 0", "launches.2.times", "greater than or equal to 1"),
        ("grid = [2]\n", "", "launches.2", "either grid"),
        ("grid = [2]", "grid = [0]", "launch 2 (two): launch.grid", "below 1"),
        ("grid = [2]", "girds = [2]", "launches.2.girds", "unknown key"),
        ('kernel = "two"\n', "", "launches.2.kernel", "is missing"),
        ("rounds = 4", "rounds = 0", "rounds", "greater than or equal to 1"),
    ],
)
def test_a_mistake_is_located_at_file_and_key(file, old, new, key, message):
    path = file(old, new)
    with pytest.raises(CaseError, match=message) as caught:
        load_program(path)
    assert caught.value.where == f"{path}: {key}"


def test_what_takes_one_launch_says_so(file):
    with pytest.raises(CaseError, match="several launches"):
        load_case(file())
