"""A memory that no code knows of, reached in a known way: an entry in a machine file suffices."""

from pathlib import Path

import pytest

import placewise.machine
from placewise.advisor import advise, prepare, verify
from placewise.errors import UnsupportedError
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

ENTRIES = """
nearRam 40 Y RW na 64KB ? 16 10clk <> <> sm <0.1 0.1>
  block{word1 != word2 && word1 % banks == word2 % banks};
space anywhere A intrinsic <L1 L2 globalMem> global R intrinsic "__ldca";
space near X kernel_buffer <nearRam> nearPath RW declaration "__shared__";
"""


def test_entries_of_a_machine_file_are_placements(gather_case, tmp_path):
    known = Path(placewise.machine.__file__).parent / "files" / "A100.msl"
    path = tmp_path / "invented.msl"
    path.write_text(known.read_text() + ENTRIES)
    machine = load_machine(str(path))
    advice = advise(gather_case, machine, finalists=1)
    # Forms whose machine code is that of the present one stand before it.
    best = next(o for o in advice.options if dict(o.placement.spaces)["table"] == "near")
    assert best.rerun is not None
    reasons = {r.array: r for r in best.reasons}
    assert reasons["table"].after.served == (("nearRam", 1.0),)
    assert reasons["table"].after.path == "nearPath"

    prepared = prepare(gather_case, machine)
    placement = Placement.of({"table": "anywhere"})
    written = rewrite(prepared.case, placement, machine, prepared.view)
    assert "__ldca(&table[" in written.case.source
    assert verify(written, prepared.case, prepared.execution).identical


BY_HAND = """
stacked 40 Y RW na 1MB 32B ? 20clk <> <> die <0.2 0.2>
  warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
space stack K other <stacked> stackPath RW declaration "stack_alloc()";
"""


def by_hand(folder, entries=BY_HAND):
    known = Path(placewise.machine.__file__).parent / "files" / "K20c.msl"
    path = folder / "stacked.msl"
    path.write_text(known.read_text() + entries)
    return load_machine(str(path))


def test_a_memory_unlike_the_five_ways_is_recommended_and_never_written(gather_case, tmp_path):
    machine = by_hand(tmp_path)
    advice = advise(gather_case, machine, finalists=2)
    (note,) = (n for n in advice.notes if "by hand" in n)
    assert "out → stack" in note
    assert "stack (stack_alloc())" in note
    for option in (*advice.options, advice.present):
        assert "stack" not in dict(option.placement.spaces).values()
    prepared = prepare(gather_case, machine)
    moved = Placement.of({"table": "stack"})
    with pytest.raises(UnsupportedError, match="cannot write code"):
        rewrite(prepared.case, moved, machine, prepared.view)


def test_arrays_in_a_memory_unlike_the_five_ways_must_fit_together(gather_case, tmp_path):
    """``index`` and ``out`` have 80,000 bytes each, ``table`` 2,048."""
    machine = by_hand(tmp_path, BY_HAND.replace("1MB", "100KB"))
    legality = prepare(gather_case, machine).legality
    present = dict(legality.present)
    assert legality.reason("index", "stack") is None
    assert legality.fits(Placement.of({**present, "index": "stack", "table": "stack"})) is None
    together = legality.fits(Placement.of({**present, "index": "stack", "out": "stack"}))
    assert "it holds 100 KB" in together
    tiny = prepare(gather_case, by_hand(tmp_path, BY_HAND.replace("1MB", "8KB"))).legality
    assert "it holds 8 KB" in tiny.reason("index", "stack")


def test_a_slow_memory_unlike_the_five_ways_is_not_worth_a_word(gather_case, tmp_path):
    machine = by_hand(tmp_path, BY_HAND.replace("20clk", "2000clk"))
    assert not any("programmer" in n for n in advise(gather_case, machine, finalists=1).notes)
