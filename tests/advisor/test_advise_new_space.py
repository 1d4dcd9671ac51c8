"""A memory that no code knows of, reached in a known way: an entry in a machine file suffices."""

from pathlib import Path

import placewise.machine
from placewise.advisor import advise, prepare, verify
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
    assert best.proven
    reasons = {r.array: r for r in best.reasons}
    assert reasons["table"].after.served == (("nearRam", 1.0),)
    assert reasons["table"].after.path == "nearPath"

    prepared = prepare(gather_case, machine)
    placement = Placement.of({"table": "anywhere"})
    written = rewrite(prepared.case, placement, machine, prepared.view)
    assert "__ldca(&table[" in written.case.source
    assert verify(written, prepared.case, prepared.execution).identical
