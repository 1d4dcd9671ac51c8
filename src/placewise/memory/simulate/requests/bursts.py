"""Bursts: accesses that a warp issues one after the other without waiting for data in between.

The compiler places independent loads next to each other, and the warp waits once, before the
instruction that needs the first result. So lines that these loads have in common are requested
again before other warps can evict them. The machine code says where a warp waits: a load names a
scoreboard, and the instruction that needs its result waits for this scoreboard
(:mod:`placewise.kernel.binary.sass.control`).
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
    """Offsets of the memory instructions that start a burst: before them a warp may have waited for
    data of earlier ones, or the code may have jumped (a burst ends at each jump and at each target
    of a jump).

    With ``shared``, instructions that access shared memory belong to bursts, too.
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
