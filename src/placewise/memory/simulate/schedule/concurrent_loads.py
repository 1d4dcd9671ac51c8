"""How many of an SM's blocks load data at the same time.

Some kernels load all their data, wait at a barrier, and then only compute: at any time most of
their blocks compute, while some load. All blocks start together in the first wave of the launch,
and slowly get out of step. This agrees with recorded L2 reads of convolutions with small blocks:
there are fewer than if all blocks of an SM loaded at the same time (and evicted each other's lines
from L1), but more than if they loaded one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.binary.sass.classes import group
from placewise.kernel.binary.sass.instruction import Immediate, Instruction

LOADING = 0.75
"""Share of an SM's blocks that load at the same time, if each loads once and then computes. It was
fitted to the L2 reads of three even-numbered convolutions with blocks of 4 x 16 threads, recorded
on an RTX 2080 Ti; two odd-numbered ones were known at the time."""

_JUMPS = frozenset({"BRA", "BRX", "JMP"})


def loads_once(code: Sequence[Instruction]) -> bool:
    """Whether all loads of global memory are before a barrier, and no later jump leads back to
    before it."""
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
    """How many of an SM's ``resident`` blocks load at the same time in a launch of ``passes``
    waves."""
    if passes <= 1.0 or not loads_once(code):
        return resident
    return max(1, round(resident * LOADING))
