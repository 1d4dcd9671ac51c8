"""Parameters of a case file: defines and sizes at once, chosen anew for every case."""

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.kernel.cases.case_file import read_case_family, read_case_file

BODY = """schema = 1
kernel = "k"
code = "extern \\"C\\" __global__ void k(float *a) { a[threadIdx.x] = wide; }"
placement_parameters = ["wide"]

[parameters]
block_size_x = 32
tile = 2
wide = true
word = "double"

[sizes]
n = 1000

[launch]
problem = ["n"]
per_block = ["block_size_x * tile"]
block = ["block_size_x"]

[[arguments]]
name = "a"
dtype = "float32"
uniform = { seed = 1 }
shape = ["2 * n"]
"""


def written(folder, text=BODY):
    path = folder / "k.toml"
    path.write_text(text)
    return path


def fails(folder, old, new, chosen=None):
    with pytest.raises(CaseError) as caught:
        read_case_family(written(folder, BODY.replace(old, new))).case(chosen or {})
    return str(caught.value).replace(f"{folder}/", "")


def test_parameters_are_defines_and_sizes(tmp_path):
    case = read_case_file(written(tmp_path))
    assert dict(case.options.defines) == {
        "block_size_x": "32",
        "tile": "2",
        "wide": "true",
        "word": "double",
    }
    assert case.launch.block == (32, 1, 1)
    assert case.launch.grid == (-(-1000 // 64), 1, 1)
    assert case.inputs.arguments[0].data.shape == (2000,)


def test_chosen_values_replace_the_files_own_for_one_case(tmp_path):
    family = read_case_family(written(tmp_path))
    other = family.case({"block_size_x": 128, "tile": 3, "wide": False})
    assert other.launch.grid == (-(-1000 // 384), 1, 1)
    assert dict(other.options.defines)["wide"] == "false"
    first = family.case({})
    assert first.launch.block == (32, 1, 1)
    assert np.shares_memory(first.inputs.arguments[0].data, other.inputs.arguments[0].data)
    assert family.placement_parameters == ("wide",)
    assert family.parameters["tile"] == 2


@pytest.mark.parametrize(
    ("old", "new", "chosen", "message"),
    [
        ("", "", {"tiles": 4}, "k.toml: parameters: no parameter 'tiles'"),
        ('"2 * n"', '"2 * m"', {}, "arguments.a.shape: no size is called 'm'"),
        ('"2 * n"', '"2 * word"', {}, "the parameter 'word' is 'double', which is no size"),
        ('"2 * n"', '"n *"', {}, "arguments.a.shape: 'n *' is no formula of sizes"),
        ('"2 * n"', '"n - 2 * n"', {}, "'n - 2 * n' is -1000, which is no size"),
        ('"2 * n"', '"n // (tile - 2)"', {}, "'n // (tile - 2)' divides by 0"),
        ('"2 * n"', '"(n"', {}, "'(n' lacks a ')'"),
        ('"2 * n"', '"n ** 9"', {}, "is no formula of sizes"),
        ("n = 1000", "n = 1000\ntile = 3", {}, "'tile' is both in parameters and in sizes"),
        ('["wide"]', '["depth"]', {}, "placement_parameters names 'depth', which is no parameter"),
        ("", "", {"tile": -1}, "the parameter 'tile' is -1, which is no size"),
    ],
)
def test_bad_parameters_are_located(tmp_path, old, new, chosen, message):
    assert message in fails(tmp_path, old, new, chosen)
