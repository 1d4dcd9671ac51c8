"""Legality: every reason, and the limits that arrays share."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.choose import legal_spaces
from placewise.choose.legality import in_words
from placewise.executor.result import Execution
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import ArrayUse, Parameter, RowSplit, SourceView, Tile
from placewise.machine.load import load_machine
from placewise.space import Placement, Way

K20C = load_machine("K20c")
LAUNCH = Launch((100, 1, 1), (256, 1, 1))


def _use(name, *, written=False, tile=None, obstacles=(), present=Way.DIRECT):
    parameter = Parameter(name, "float *", True, "float", 4, "float32")
    missing = None if tile else "its index depends on data (line 7)"
    return ArrayUse(parameter, True, written, (), obstacles, tile, missing, present)


def _tile(elements):
    return Tile(False, 1, elements, 0, elements, "0", "0", "0", True)


def _legal(
    uses, sizes, *, written=(), machine=K20C, kernel=None, launch=LAUNCH, constants=0, **options
):
    view = replace(SourceView("k", (), tuple(uses), 0, 0, 0), constant_bytes=constants)
    inputs = Inputs(
        tuple(
            ArrayArgument(u.name, np.zeros(n, np.float32)) for u, n in zip(uses, sizes, strict=True)
        )
    )
    run = Execution((), frozenset(), frozenset(written), 0, 0, (), np.zeros(0, np.int64), 0.0)
    return legal_spaces(view, machine, run, inputs, launch, kernel, **options)


def test_small_read_only_array_may_go_anywhere():
    legality = _legal([_use("A", tile=_tile(64))], [64])
    assert set(legality.spaces("A")) == {"global", "readonly", "texture", "constant", "shared"}
    assert legality.spaces("A")[0] == "global"
    assert [c.reason for c in legality.illegal] == ["no index of rows and columns"]


@pytest.mark.parametrize(
    ("pitch", "elements", "reason"),
    [
        (64, 640, None),
        (65008, 130016, "65000 rows of 65000 at most"),
        (8, 8 * 65001, "65001 rows of 8 elements"),
        (12, 120, "rows of 48 bytes; those of a texture are multiples of 32"),
    ],
)
def test_rows_of_a_texture_are_aligned_and_not_too_many(pitch, elements, reason):
    rows = RowSplit(pitch, "n", ())
    found = _legal([replace(_use("A"), rows=rows, elements=elements)], [elements])
    assert found.reason("A", "texture2d") is reason or reason in found.reason("A", "texture2d")
    # The model of memory traffic cannot tell it from the texture of one dimension.
    assert "texture2d" not in found.searched("A")
    assert ("texture2d" in found.searched("A", by_row=True)) == (reason is None)


@pytest.mark.parametrize("seen_by", ["source", "run"])
def test_written_arrays_stay_out_of_read_only_spaces(seen_by):
    use = _use("A", written=seen_by == "source", tile=_tile(64))
    legality = _legal([use], [64], written=["A"] if seen_by == "run" else [])
    assert set(legality.spaces("A")) == {"global", "shared"}
    assert "writes" in legality.reason("A", "texture")


def test_constant_memory_is_64_kb():
    legality = _legal([_use("A")], [300_000])
    assert "1.14 MB" in legality.reason("A", "constant")
    assert "64 KB" in legality.reason("A", "constant")
    assert _legal([_use("A")], [16_384]).reason("A", "constant") is None
    assert "in use" in _legal([_use("A")], [16_384], constants=4).reason("A", "constant")


def test_reasons_of_the_source_are_passed_on():
    legality = _legal([_use("A", obstacles=((Way.INTRINSIC, "no such load (line 3)"),))], [64])
    assert legality.reason("A", "readonly") == "no such load (line 3)"
    assert legality.reason("A", "shared") == "its index depends on data (line 7)"


def test_tile_larger_than_a_block_may_have():
    reason = _legal([_use("A", tile=_tile(70 * 256))], [1 << 20]).reason("A", "shared")
    assert "70 KB" in reason
    assert "48 KB" in reason


def test_tile_that_lowers_occupancy():
    # 8 blocks of 256 threads an SM; 48 KB hold four tiles of 12 KB.
    uses, sizes = [_use("A", tile=_tile(3072))], [1 << 20]
    assert "from 8 to 4 blocks" in _legal(uses, sizes).reason("A", "shared")
    legality = _legal(uses, sizes, allow_lower_occupancy=True)
    assert legality.reason("A", "shared") is None
    assert legality.occupancy_of(Placement.of({"A": "shared"})).blocks == 4
    assert legality.occupancy_of(Placement.of({"A": "global"})).blocks == 8


def test_shared_memory_in_use_counts():
    kernel = Kernel("k", "k", "", "sm_35", "k.cu", 32, static_shared_bytes=40 * 1024)
    launch = Launch((100, 1, 1), (1024, 1, 1), shared_bytes=4096)
    uses, sizes = [_use("A", tile=_tile(1024))], [1 << 20]
    assert _legal(uses, sizes, launch=launch, kernel=kernel).reason("A", "shared") is None
    uses = [_use("A", tile=_tile(1028))]
    assert "44 KB in use" in _legal(uses, sizes, launch=launch, kernel=kernel).reason("A", "shared")


def test_arrays_that_fit_alone_but_not_together():
    uses = [_use("A", tile=_tile(1024)), _use("B", tile=_tile(1024))]
    legality = _legal(uses, [10_000, 10_000])
    assert legality.fits(Placement.of({"A": "constant", "B": "global"})) is None
    assert "78.1 KB" in legality.fits(Placement.of({"A": "constant", "B": "constant"}))
    # Each tile of 4 KB leaves 8 blocks (32 of 48 KB), both do not.
    assert legality.fits(Placement.of({"A": "shared", "B": "global"})) is None
    assert "from 8 to 6" in legality.fits(Placement.of({"A": "shared", "B": "shared"}))


def test_texture_counts_elements():
    k20 = replace(
        K20C,
        memories=tuple(
            replace(m, size_elements=100) if m.name == "textureMem" else m for m in K20C.memories
        ),
    )
    assert "101 elements" in _legal([_use("A")], [101], machine=k20).reason("A", "texture")
    assert _legal([_use("A")], [100], machine=k20).reason("A", "texture") is None


def test_memory_for_two_dimensions():
    k20 = replace(
        K20C,
        memories=tuple(replace(m, dim=2) if m.name == "textureMem" else m for m in K20C.memories),
    )
    assert "2 dimensions" in _legal([_use("A")], [8], machine=k20).reason("A", "texture")


def test_present_placement_is_the_sources():
    legality = _legal([_use("A", present=Way.INTRINSIC), _use("B")], [8, 8])
    assert legality.present == Placement.of({"A": "readonly", "B": "global"})
    assert legality.spaces("A")[0] == "readonly"


@pytest.mark.parametrize(
    ("amount", "words"),
    [(12, "12 B"), (1023, "1023 B"), (65536, "64 KB"), (1 << 20, "1 MB"), (3 << 30, "3 GB")],
)
def test_amounts_in_words(amount, words):
    assert in_words(amount) == words
