"""Which function lowers which machine instruction.

The file of each family of instructions lists its opcodes: in ``WITH_UNIFORM`` those that the
uniform datapath has too, in ``OPCODES`` the others. A new opcode needs a function and its entry
there, and its name in the list of its pipe in ``machine/files/architectures/SinceTuring.msl``, for
the timeline model.
"""

from __future__ import annotations

from collections import ChainMap

from placewise.executor.lower_sass import special
from placewise.executor.lower_sass.arithmetic import (
    compare,
    convert,
    double,
    floating,
    half,
    integer,
    logic,
)
from placewise.executor.lower_sass.context import Lowering
from placewise.executor.lower_sass.memory import atomics, copies, mbarrier, memory, texture
from placewise.executor.lower_sass.warp import matrix, warp
from placewise.kernel.binary.sass import Instruction

_WITH_UNIFORM = ChainMap(
    *(f.WITH_UNIFORM for f in (compare, convert, floating, half, integer, logic))
)
_OTHER = ChainMap(
    *(f.OPCODES for f in (double, floating, half, logic, special)),
    *(f.OPCODES for f in (atomics, copies, mbarrier, memory, texture, matrix, warp)),
)

NOTHING = frozenset(
    (
        *("NOP", "BSSY", "YIELD", "NANOSLEEP", "BREAK", "DEPBAR", "CGAERRBAR"),
        *("MEMBAR", "ERRBAR", "CCTL", "CCTLL", "LDGDEPBAR", "PMTRIG", "UCGABAR_WAIT"),
    )
)
"""Instructions without effect on results. The order of blocks makes lanes reconverge, and a warp's
accesses are done in program order."""

OPCODES = NOTHING | {*_OTHER, *_WITH_UNIFORM, *(f"U{name}" for name in _WITH_UNIFORM)}
"""All opcodes that are lowered by these tables; :mod:`.control` lowers control flow."""


def handler(i: Instruction) -> Lowering | None:
    """The function that lowers ``i``, or None if it is not covered."""
    name = i.parts[0]
    if name in NOTHING:
        return special.nothing
    found = _OTHER.get(name) or _WITH_UNIFORM.get(name)
    if found is None and name.startswith("U"):
        found = _WITH_UNIFORM.get(name[1:])
    return found
