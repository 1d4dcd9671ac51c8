"""The measured kernel's forms compute a convolution; groups and pairs are what they should be."""

import gzip

import numpy as np
import pytest
from scipy.ndimage import correlate

from benchmarks.path_ratio.measured import PLAIN, Shape, Variant, choose, read_times
from benchmarks.path_ratio.pairs import pair_up, read_pairs, write_pairs
from benchmarks.path_ratio.predict import (
    Predictions,
    Totals,
    convolution_case,
    instructions,
    pitch,
)
from placewise.executor import execute
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.machine import load_machine

STAGED = Variant(staged=True)
PADDED = Variant(staged=True, padded=True)


# Tiles of 48 columns do not divide the image: accesses are tested.
@pytest.mark.parametrize(
    ("shape", "variant"),
    [
        (Shape(64, 2, 1, 2), PLAIN),
        (Shape(48, 4, 1, 1), Variant(read_only=True)),
        (Shape(48, 4, 1, 1), STAGED),
        (Shape(16, 4, 2, 1), PADDED),
    ],
)
def test_every_form_computes_the_convolution(shape, variant):
    case = convolution_case(shape, variant, load_machine("T1000"))
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    arrays = {a.name: a.data.astype(np.float64) for a in case.inputs.arrays}
    taps = dict(case.inputs.constants)["taps"].astype(np.float64).reshape(15, 15)
    found = execute(kernel, case.launch, case.inputs).output("output")
    # Outputs start at the input's first row and column: the filter's centre is 7 further.
    rows, columns = found.shape
    exact = correlate(arrays["input"], taps, mode="constant")[7 : 7 + rows, 7 : 7 + columns]
    # 225 products of values below 1, each sum rounded: the classic bound.
    assert np.abs(found - exact).max() <= 225 * np.finfo(np.float32).eps * exact.max()


def test_read_only_loads_are_the_same_instructions_otherwise():
    machine = load_machine("A4000")
    shape = Shape(64, 2, 1, 1)
    found = []
    for variant in (PLAIN, Variant(read_only=True), STAGED):
        case = convolution_case(shape, variant, machine)
        kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
        found.append(instructions(kernel))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_padding_follows_the_measured_kernel():
    # Row of 16 · 2 + 14 = 46 elements, 30 beyond the block's width: 2 more make it 32.
    assert pitch(Shape(16, 4, 2, 1), padded=True) == 48
    assert pitch(Shape(16, 4, 2, 1), padded=False) == 46
    assert pitch(Shape(64, 4, 2, 1), padded=True) == 142, "a multiple of 32 threads needs none"


def test_table_of_times(tmp_path):
    path = tmp_path / "times.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(
            "block_size_x,block_size_y,tile_size_x,tile_size_y,read_only,use_padding,use_shmem,"
            "median_ms\n16,2,3,4,0,0,0,2.0\n16,2,3,4,0,1,1,1.5\n"
        )
    assert read_times(path) == {Shape(16, 2, 3, 4): {PLAIN: 2.0, PADDED: 1.5}}


def test_choice_is_even_over_widths_and_repeatable():
    groups = [Shape(x, y, 1, 1) for x in (16, 32, 48, 64) for y in (1, 2, 4, 8)]
    groups += [Shape(128, y, t, 1) for y in (1, 2, 4, 8) for t in (1, 2, 3, 4)]
    chosen = choose(groups, 10, seed=3)
    assert chosen == choose(groups[::-1], 10, seed=3)
    assert [sum(s.block_x == x for s in chosen) for x in (16, 32, 48, 64, 128)] == [2] * 5


def test_pairs_are_ratios_to_the_plain_form(tmp_path):
    predictions = Predictions(
        Shape(16, 1, 1, 1),
        ((PLAIN, Totals(10.0, 40.0)), (STAGED, Totals(6.0, 40.0))),
        ((STAGED, Totals(7.0, 40.0)), (Variant(read_only=True), Totals(10.0, 40.0))),
    )
    pairs = pair_up("A100", predictions, {PLAIN: 4.0, STAGED: 5.0})
    assert [(p.how, p.predicted, p.literal, p.measured) for p in pairs] == [
        ("rerun", 0.6, 1.0, 1.25),
        ("retarget", 0.7, 1.0, 1.25),
    ]
    write_pairs(tmp_path / "pairs.csv", pairs)
    assert read_pairs(tmp_path / "pairs.csv") == pairs
