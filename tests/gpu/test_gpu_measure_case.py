"""A case measured in every legal placement, on a simulated A100."""

from types import SimpleNamespace

import numpy as np
import pytest
from fake_driver import FakeDriver

from placewise.gpu.measure_case import MOST, measure_case, placements_to_measure
from placewise.gpu.timing import Options
from placewise.kernel.cases.make_case import make_case
from placewise.machine import load_machine
from placewise.space import Placement

N = 1000
SOURCE = """
__global__ void update(const float *x, const float *table, float *y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i] * table[i % 4];
}
"""
POINTERS = {
    "updatePKfS0_Pffi": 3,
    "updateyPKfPffi": 3,
    "updatePKfyPffi": 3,
    "updateyyPffi": 3,
    "updatePKfPffi": 2,
    "updateyPffi": 2,
    "updatePffi": 1,
}
"""Device pointers and texture objects (y: unsigned long long) by mangled signature."""


def run(cuda, module, grid, *values):
    """The kernel in NumPy, whichever way its arrays come."""
    *places, y, factor, n = values
    places = [cuda.textures[p][0] if p in cuda.textures else p for p in places]
    symbols = {name: where for (m, name), (where, _) in cuda.constants.items() if m == module}
    arrays = []
    # Two arrays in constant memory share a buffer: table stands behind x, whose 4,000 bytes are
    # whole groups of 16.
    both = symbols.get("constant_arrays")
    for name, count, offset in (("x", n, 0), ("table", 4, 4 * N)):
        symbol = [where for s, where in symbols.items() if s.startswith(name)]
        symbol += [int(both) + offset] if both is not None else []
        arrays.append(cuda.array(symbol[0] if symbol else places.pop(0), np.float32, count))
    x, table = arrays
    product = (factor * x).astype(np.float64) * np.tile(table, n // 4)
    out = cuda.array(y, np.float32, n)
    out[:] = (out + product).astype(np.float32)


@pytest.mark.slow
def test_every_legal_placement_is_measured_and_correct():
    rng = np.random.default_rng(0)
    # Few bits each, so that every product and sum is exact and no rounding matters.
    x, table, y = (rng.integers(-9, 9, size).astype(np.float32) for size in (N, 4, N))
    case = make_case(
        "update", SOURCE, [x, table, y, np.float32(0.5), np.int32(N)], problem=N, block=256
    )
    driver = FakeDriver(
        {k: ((np.uint64,) * count + (np.float32, np.int32), run) for k, count in POINTERS.items()}
    )
    shown = []
    result = measure_case(
        case,
        machine=load_machine("A100"),
        options=Options(warmup=0, repeats=2, l2=("warm",)),
        driver=driver,
        progress=shown.append,
    )
    assert tuple(shown) == result.records
    assert [r.error for r in result.records if r.error] == []
    assert all(r.identical for r in result.records)
    placements = [r.placement for r in result.records]
    assert placements[0] == (("x", "global"), ("table", "global"), ("y", "global"))
    assert len(set(placements)) == len(placements)
    for space in ("global", "readonly", "texture", "constant"):
        for other in ("global", "readonly", "texture", "constant"):
            assert (("x", space), ("table", other), ("y", "global")) in placements
    assert not driver.live
    assert not driver.memory


def arrays_of(count):
    """A kernel of so many arrays, each of which may live in three spaces."""
    names = tuple(f"a{n}" for n in range(count))
    spaces = ("global", "readonly", "constant")
    return SimpleNamespace(
        arrays=names,
        present=Placement(tuple((name, "global") for name in names)),
        searched=lambda array: spaces,
        spaces=lambda array: spaces,
        # Together, two arrays do not fit into constant memory.
        fits=lambda p: "full" if sum(s == "constant" for _, s in p.spaces) > 1 else None,
        machine=SimpleNamespace(spaces=()),
        chunked=(),
    )


def test_all_placements_of_few_arrays_are_measured():
    found = list(placements_to_measure(arrays_of(3)))
    assert len(set(found)) == len(found) == 2**3 + 3 * 2**2


def test_some_placements_of_many_arrays_are_measured_every_single_move_among_them():
    legality = arrays_of(16)
    found = list(placements_to_measure(legality))
    assert found[0] == legality.present
    assert len(set(found)) == len(found) <= MOST
    assert all(legality.fits(placement) is None for placement in found)
    single = [p for p in found if len(p.moved(legality.present)) == 1]
    assert len(single) == 16 * 2
    assert list(placements_to_measure(legality)) == found
