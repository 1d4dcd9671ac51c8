"""Generated inputs have the structure that their names tell."""

import numpy as np

from placewise.reproduce.speedups.inputs import PARTICLES, varied_inputs


def test_matrices_have_the_structure_of_their_names():
    cases = dict(varied_inputs())
    assert sum(name.startswith("particlefilter") for name in cases) == len(PARTICLES) == 6
    lengths = {}
    for name, make in cases.items():
        kernel, _, kind = name.partition(", ")
        if kernel == "spmv":
            arguments = {a.name: a for a in make().inputs.arguments}
            start = arguments["row_start"].data
            lengths[kind] = np.diff(start)
            # Row starts must fit the 64 KB of constant memory, as in the paper.
            assert start.nbytes <= 65536
            columns = arguments["columns"].data
            first = columns[start[0] : start[1]]
            assert (np.diff(first) > 0).all()
    assert len(lengths) == 6
    assert set(lengths["grid of 100 × 100 points"]) == {3, 4, 5}
    assert set(lengths["grid of 22 × 22 × 22 points"]) == {4, 5, 6, 7}
    assert lengths["band of 33 diagonals"].max() == 33
    assert lengths["band of 33 diagonals"].min() == 17
    assert set(lengths["blocks of 32 × 32"]) == {32}
    skewed = lengths["skewed rows"]
    assert np.median(skewed) < 10
    assert skewed.max() > 1000
    assert lengths["random, 1 %"].sum() == 1_000_000
