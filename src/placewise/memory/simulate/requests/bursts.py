"""Bursts: accesses that a warp issues one after the other without waiting for data in between.

The compiler puts independent loads together, and the warp waits once, where the first result is
needed: so lines that they share are asked for before other warps can evict them. Where a warp
waits is in the machine code: a load names a scoreboard, and the instruction that needs its result
waits for it (:mod:`placewise.kernel.binary.sass.control`).
"""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.binary.sass.classes import group
from placewise.kernel.binary.sass.control import control
from placewise.kernel.binary.sass.instruction import Immediate, Instruction

_MEMORY = frozenset({"global", "global atomic", "local", "texture", "surface"})
_SHARED = frozenset({"shared", "shared atomic"})
_JUMPS = frozenset({"BRA", "BRX", "JMP", "CALL", "RET", "BSYNC", "BAR", "WARPSYNC"})


def first_of_bursts(code: Sequence[Instruction], *, shared: bool = False) -> frozenset[int]:
    """Offsets of the memory instructions before which a warp may have waited for data of earlier
    ones, or may come from elsewhere: wherever code jumps or is jumped to, a burst ends.

    ``shared``: instructions that access shared memory belong to bursts, too.
    """
    memory = _MEMORY | _SHARED if shared else _MEMORY
    targets = {
        int(o.value)
        for i in code
        if i.parts[0] in _JUMPS
        for o in i.operands
        if isinstance(o, Immediate)
    }
    firsts: set[int] = set()
    outstanding: set[int] = set()
    ended = True
    for i in code:
        scoreboards = control(i.encoding)
        ended = ended or i.offset in targets or not outstanding.isdisjoint(scoreboards.waits)
        outstanding.difference_update(scoreboards.waits)
        if group(i.opcode) in memory:
            if ended:
                firsts.add(i.offset)
            ended = False
            if scoreboards.write_barrier is not None:
                outstanding.add(scoreboards.write_barrier)
        ended = ended or i.parts[0] in _JUMPS
    return frozenset(firsts)
