"""Data sets, generated matrices and stacks in case files: values, sizes, and located errors."""

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.kernel.cases.case_file import read_case_file
from placewise.kernel.cases.generators.points import points
from placewise.kernel.cases.generators.skewed import skewed

HEAD = """schema = 1
name = "test"
kernel = "k"
code = "__global__ void k() {}"
[launch]
grid = [1]
block = [32]
[sizes]
n = 20
"""
GAS = """[datasets.gas]
generate = "points"
count = "n"
neighbours = "n // 4"
seed = 1
"""


def arguments(folder, *tables):
    path = folder / "test.toml"
    path.write_text(HEAD + "\n".join(tables))
    return {a.name: a for a in read_case_file(path).inputs.arguments}


def error(folder, *tables):
    with pytest.raises(CaseError) as caught:
        arguments(folder, *tables)
    return str(caught.value).replace(f"{folder}/", "")


def part(dataset, name, dtype="float32"):
    return f'[[arguments]]\nname = "a"\ndataset = "{dataset}"\npart = "{name}"\ndtype = "{dtype}"\n'


def test_parts_of_a_data_set_are_arguments(tmp_path):
    size = '[[arguments]]\nname = "b"\ndtype = "int32"\nvalue = "gas.points"\n'
    given = arguments(tmp_path, GAS, part("gas", "neighbours", "int32"), size)
    expected = points(20, 3, 5, False, seed=1)["neighbours"]
    np.testing.assert_array_equal(given["a"].data, expected)
    assert given["a"].data.dtype == np.int32
    assert given["b"].value == 20


def test_a_skewed_matrix_tells_its_rows_without_being_made(tmp_path):
    matrix = '[matrices.A]\ngenerate = "skewed"\nrows = "{}"\nentries = 2.0\nseed = 3\n'
    columns = '[[arguments]]\nname = "a"\nmatrix = "A"\npart = "indices"\ndtype = "int32"\n'
    size = '[[arguments]]\nname = "b"\ndtype = "int64"\nvalue = "A.{}"\n'
    given = arguments(tmp_path, matrix.format("n"), columns, size.format("rows"))
    np.testing.assert_array_equal(given["a"].data, skewed(20, 2.0, 1.0, seed=3).indices)
    assert given["b"].value == 20
    given = arguments(tmp_path, matrix.format("n"), size.format("nnz"))
    assert given["b"].value == skewed(20, 2.0, 1.0, seed=3).nnz
    # It would not fit memory.
    large = matrix.format("n * 1000000000")
    assert arguments(tmp_path, large, size.format("columns"))["b"].value == 20_000_000_000
    assert "matrices.A.rows" in error(tmp_path, large, size.format("nnz"))


def test_a_stack_has_one_more_axis(tmp_path):
    given = arguments(
        tmp_path,
        '[[arguments]]\nname = "a"\ndtype = "float32"\nshape = [2, 3]\nstack = [',
        "  { fill = 7 },",
        "  { uniform = { low = 1.0, high = 2.0, seed = 1 } },",
        "  { values = [1, 2, 3, 4, 5, 6] },",
        "]",
    )
    data = given["a"].data
    assert data.shape == (3, 2, 3)
    assert data.dtype == np.float32
    np.testing.assert_array_equal(data[0], np.full((2, 3), 7))
    assert (data[1] >= 1).all()
    assert (data[1] < 2).all()
    np.testing.assert_array_equal(data[2], [[1, 2, 3], [4, 5, 6]])


def test_entries_of_a_stack_are_alike(tmp_path):
    stack = '[[arguments]]\nname = "a"\ndtype = "float32"\nshape = [2]\nstack = [{}]'
    found = error(tmp_path, stack.format("{ fill = 0 }, { fill = 0, shape = [3] }"))
    assert "arguments.a.stack.2: is float32 (3,), not float32 (2,)" in found
    assert "arguments.a.stack" in error(tmp_path, stack.format("{ gaussian = 3 }"))
    assert "arguments.a.stack" in error(tmp_path, stack.format(""))
    assert "arguments.a.stack" in error(tmp_path, stack.format("3"))


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ([GAS, part("gas", "speeds")], "arguments.a.part: 'gas' has no part 'speeds'"),
        ([GAS, part("gas", "speeds")], "hint: its parts: positions, neighbours"),
        ([GAS, part("fluid", "x")], "arguments.a.dataset: no dataset 'fluid'"),
        ([GAS, part("fluid", "x")], "hint: declared: gas"),
        ([GAS.replace("points", "atoms"), part("gas", "x")], "datasets.gas: needs generate ="),
        ([GAS.replace('"n"', '"m"'), part("gas", "x")], "datasets.gas.count: no size is called"),
        ([GAS.replace("n // 4", "n"), part("gas", "x")], "20 points do not have 20 neighbours"),
        ([GAS.replace("seed", "sead"), part("gas", "x")], "datasets.gas.sead: unknown key"),
        ([GAS.replace("seed = 1", ""), part("gas", "x")], "datasets.gas.seed: is missing"),
        ([GAS.replace('"n"', '"n * 99999999"'), part("gas", "x")], "datasets.gas: shape"),
        ([GAS, part("gas", "positions", "int8")], "values with fractions do not fit int8"),
        (['[matrices.A]\ngenerate = "dense"\n'], "matrices.A: needs a file, or generate"),
        (
            [GAS, '[[arguments]]\nname = "b"\ndtype = "int32"\nvalue = "gas.rows"\n'],
            "arguments.b.value: no size is called 'gas.rows'",
        ),
        (
            [GAS, '[[arguments]]\nname = "b"\ndtype = "int32"\nvalue = "gas.rows"\n'],
            "hint: 'gas' has points",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path, tables, expected):
    assert expected in error(tmp_path, *tables)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ('generate = "graph"\nnodes = 0\nedges = 1.0', "datasets.d"),
        ('generate = "graph"\nnodes = 9\nedges = 0.0', "datasets.d.edges"),
        ('generate = "hexahedra"\nnodes = [2, 2]', "datasets.d.nodes"),
        ('generate = "hexahedra"\nnodes = [2, 2, 1]', "at least 2 along each axis"),
        ('generate = "hexahedra"\nnodes = [2, 2, 0]', "datasets.d"),
        ('generate = "tetrahedra"\ncells = [1, 0, 1]', "datasets.d"),
        ('generate = "tetrahedra"\ncells = [9999, 9999, 9999]', "datasets.d"),
        ('generate = "radix-pass"\nkeys = 10\nper_block = 4', "no whole number of blocks"),
        ('generate = "radix-pass"\nkeys = 10\nper_block = 0', "no whole number of blocks"),
        ('generate = "radix-pass"\nkeys = 8\nper_block = 4\nshift = 31', "beyond the 32 bits"),
        ('generate = "points"\ncount = 5\ndimensions = 4', "datasets.d.dimensions"),
    ],
)
def test_generators_refuse_what_they_cannot_make(tmp_path, settings, expected):
    found = error(tmp_path, f"[datasets.d]\n{settings}\nseed = 1\n", part("d", "x"))
    assert expected in found
    assert "test.toml" in found
