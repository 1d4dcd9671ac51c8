"""What is known of configurations before anything is compiled."""

import numpy as np
import pytest

from placewise.kernel.cases.case_file import CaseFamily
from placewise.kernel.cases.case_text import validated
from placewise.validate.features import launch_features, normalized, parameter_features


def family_of(tmp_path, launch):
    document = {
        "schema": 1,
        "kernel": "k",
        "code": "__global__ void k(float *a) { a[0] = block_x; }",
        "parameters": {"block_x": 32, "tile": 1},
        "launch": launch,
        "arguments": [{"name": "a", "dtype": "float32", "shape": [4], "fill": 0}],
    }
    path = tmp_path / "case.toml"
    return CaseFamily(path, validated(document, path))


def test_names_become_a_column_each_and_constant_parameters_none():
    space = [
        (("way", way), ("size", size), ("always", 3))
        for way in ("a", "b", "c") for size in (1, 2, 8)
    ]  # fmt: skip
    found = parameter_features(space)
    assert found.shape == (9, 4)
    logarithm = found[:3, 3]
    assert logarithm[2] - logarithm[1] == pytest.approx(2 * (logarithm[1] - logarithm[0]))


def test_normalized_columns_have_mean_0_and_deviation_1():
    found = normalized(np.array([[1.0, 5.0, 2.0], [2.0, 5.0, 9.0], [6.0, 5.0, -4.0]]))
    assert found.shape == (3, 2)
    assert found.mean(axis=0) == pytest.approx([0, 0])
    assert found.std(axis=0) == pytest.approx([1, 1])


def test_the_shape_of_a_launch_is_that_of_its_case(tmp_path):
    family = family_of(
        tmp_path,
        {"problem": [1000, 10], "per_block": ["block_x * tile", 4], "block": ["block_x", 4]},
    )
    chosen = {"block_x": 48, "tile": 3}
    shape, launch = family.shape(chosen), family.case(chosen).launch
    assert (shape.grid, shape.block) == (launch.grid, launch.block) == ((7, 3, 1), (48, 4, 1))
    assert shape.covered == pytest.approx(7 * 144 * 3 * 4 / 10_000)


def test_a_grid_of_blocks_covers_what_it_is(tmp_path):
    family = family_of(tmp_path, {"grid": ["tile", 5], "block": ["block_x"]})
    assert family.shape({"tile": 2}) == ((2, 5, 1), (32, 1, 1), 1.0)


def test_grids_that_cover_the_problem_and_no_more_stand_out(tmp_path):
    family = family_of(tmp_path, {"problem": [960], "block": ["block_x"]})
    space = [(("block_x", x), ("tile", 1)) for x in (32, 48, 64, 100)]
    found = launch_features(family, space)
    assert len(found) == 4
    exact = found[:, -1]
    assert exact[0] == exact[1] == exact[2] < exact[3]
