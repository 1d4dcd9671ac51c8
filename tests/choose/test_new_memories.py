"""Memories that a machine file adds obey their own size, dimension and sharing."""

from pathlib import Path

import numpy as np
import pytest

import placewise.machine
from placewise.choose import legal_spaces
from placewise.executor.result import Execution
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import ArrayUse, Parameter, SourceView, Tile
from placewise.machine import load_machine
from placewise.space import Placement

LAUNCH = Launch((100, 1, 1), (256, 1, 1))
HOST = """
bigRam 40 Y R na 1GB ? ? 400clk <> <> die <1 1> warp{address1 != address2};
space big H host_buffer <bigRam> bigPath R declaration "__managed__";
"""
BLOCK = """
nearRam 41 Y RW na 1MB ? 16 10clk <> <> sm <0.1 0.1>
  warp{word1 != word2 && word1 % banks == word2 % banks};
space near N kernel_buffer <nearRam> nearPath RW declaration "__shared__";
"""
PLANE = """
planeRam 42 Y R 2 1GB 32B ? 300clk <> <> die <0.2 0.2>
  warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
space plane P intrinsic <planeRam> planePath R intrinsic "__ldg";
"""


def _machine(folder, entries):
    known = Path(placewise.machine.__file__).parent / "files" / "K20c.msl"
    path = folder / "invented.msl"
    path.write_text(known.read_text() + entries)
    return load_machine(str(path))


def _legality(machine, sizes, *, tiles=None, pitch=0, shape=None):
    uses, arguments = [], []
    for n, (name, size) in enumerate(sizes.items()):
        parameter = Parameter(name, "float *", True, "float", 4, "float32")
        tile = None
        if tiles:
            tile = Tile(False, 1, tiles[n], pitch, tiles[n], "0", "0", "0", True)
        uses.append(ArrayUse(parameter, True, False, (), (), tile, None if tile else "no tile"))
        # Arrays of a gigabyte that take no memory: one element, seen everywhere.
        data = np.broadcast_to(np.zeros(1, np.float32), shape or (size // 4,))
        arguments.append(ArrayArgument(name, data))
    view = SourceView("k", (), tuple(uses), 0, 0, 0)
    run = Execution((), frozenset(), frozenset(), 0, 0, (), np.zeros(0, np.int64), 0.0)
    return legal_spaces(view, machine, run, Inputs(tuple(arguments)), LAUNCH)


def test_a_memory_that_the_host_fills_has_its_own_size(tmp_path):
    machine = _machine(tmp_path, HOST)
    legality = _legality(machine, {"A": 300 << 20, "B": 900 << 20, "C": 32 << 10})
    assert legality.reason("A", "big") is None
    assert "64 KB" in legality.reason("A", "constant")
    both = legality.fits(Placement.of({"A": "big", "B": "big", "C": "constant"}))
    assert both == "1.17 GB of big memory; it holds 1 GB"
    assert legality.fits(Placement.of({"A": "big", "B": "global", "C": "constant"})) is None
    assert legality.room("bigRam") == 1 << 30
    assert legality.room("constantMem") == 64 << 10


def test_a_memory_of_blocks_has_its_own_size(tmp_path):
    machine = _machine(tmp_path, BLOCK)
    # Eight blocks of 256 threads an SM.
    legality = _legality(machine, {"A": 1 << 20, "B": 1 << 20}, tiles=[25_000, 30_000])
    assert "48 KB" in legality.reason("A", "shared")
    assert legality.reason("A", "near") is None
    assert legality.reason("B", "near") is None
    both = legality.fits(Placement.of({"A": "near", "B": "near"}))
    assert both == "a tile of 215 KB lowers occupancy from 8 to 4 blocks per SM"
    larger = _legality(machine, {"A": 1 << 22}, tiles=[300_000]).reason("A", "near")
    assert larger == "a tile of 1.14 MB; a block may have 1 MB"
    kept = _legality(machine, {"A": 1 << 20}, tiles=[32_768])
    assert kept.occupancy_of(Placement.of({"A": "near"})).blocks == 8


@pytest.mark.parametrize(
    ("shape", "pitch", "legal"), [(None, 0, False), ((64, 64), 0, True), (None, 64, True)]
)
def test_a_memory_for_two_dimensions_takes_arrays_that_have_them(tmp_path, shape, pitch, legal):
    machine = _machine(tmp_path, PLANE)
    found = _legality(machine, {"A": 16_384}, tiles=[64], pitch=pitch, shape=shape)
    reason = found.reason("A", "plane")
    assert reason is None if legal else "this one has one" in reason
    # Every array is read through pointers, so memories for one dimension take them all.
    assert found.reason("A", "texture") is None
