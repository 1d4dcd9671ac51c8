"""How many of the blocks that an SM holds load at the same time.

A kernel that loads what it needs, waits at a barrier and then only computes has most of its blocks
computing while some load. They start together, in the launch's first wave, and drift apart from
then on, but slowly: recorded L2 reads of convolutions with small blocks lie between those of all
blocks of an SM loading at a time, which drive one another's lines out of L1, and those of one after
the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.binary.sass.classes import group
from placewise.kernel.binary.sass.instruction import Immediate, Instruction

LOADING = 0.75
"""Share of an SM's blocks that load at a time, where they load once and compute after. Fitted on L2
reads of an RTX 2080 Ti under three convolutions of even number, of blocks of 4 x 16 threads, with
two of odd number in view."""

_JUMPS = frozenset({"BRA", "BRX", "JMP"})


def loads_once(code: Sequence[Instruction]) -> bool:
    """Whether all loads of global memory lie before a barrier that no jump leads back over."""
    loads = [i.offset for i in code if group(i.opcode) == "global" and i.parts[0].startswith("LD")]
    if not loads or any(group(i.opcode) in {"local", "texture"} for i in code):
        return False
    barriers = (i.offset for i in code if i.parts[0] == "BAR" and i.offset > loads[-1])
    barrier = next(barriers, None)
    if barrier is None:
        return False
    back = (
        o.value < barrier
        for i in code
        if i.parts[0] in _JUMPS and i.offset > barrier
        for o in i.operands
        if isinstance(o, Immediate)
    )
    return not any(back)


def loading_blocks(code: Sequence[Instruction], resident: int, passes: float) -> int:
    """How many of an SM's ``resident`` blocks load at the same time, in a launch of ``passes``
    waves."""
    if passes <= 1.0 or not loads_once(code):
        return resident
    return max(1, round(resident * LOADING))
