"""Which function lowers which machine instruction.

A new opcode needs a function in the file of its family, a line here, and its name in the list of
its pipe in ``machine/files/architectures/SinceTuring.msl``, for the timeline model.
"""

from __future__ import annotations

from collections.abc import Callable

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
from placewise.executor.lower_sass.context import Context
from placewise.executor.lower_sass.memory import atomics, copies, mbarrier, memory, texture
from placewise.executor.lower_sass.warp import matrix, warp
from placewise.kernel.binary.sass import Instruction

Handler = Callable[[Context, Instruction], None]

_LANES_AND_UNIFORM: dict[str, Handler] = {
    "IADD": integer.iadd,
    "IADD3": integer.iadd3,
    "IMAD": integer.imad,
    "LEA": integer.lea,
    "IMNMX": integer.imnmx,
    "VIMNMX": integer.imnmx,
    "VIMNMX3": integer.imnmx3,
    "VIADD": integer.viadd,
    "VIADDMNMX": integer.viaddmnmx,
    "VABSDIFF": integer.vabsdiff,
    "VABSDIFF4": integer.vabsdiff4,
    "IABS": integer.iabs,
    "IDP": integer.dot,
    "ISETP": compare.isetp,
    "MOV": logic.mov,
    "LOP3": logic.lop3,
    "PLOP3": logic.plop3,
    "SHF": logic.shf,
    "PRMT": logic.prmt,
    "SEL": logic.sel,
    "POPC": logic.popc,
    "BREV": logic.brev,
    "FLO": logic.flo,
    "BMSK": logic.bmsk,
    "SGXT": logic.sgxt,
    "FADD": floating.arithmetic,
    "FMUL": floating.arithmetic,
    "FFMA": floating.arithmetic,
    "FSETP": floating.fsetp,
    "FSET": floating.fset,
    "FSEL": floating.fsel,
    "FMNMX": floating.fmnmx,
    "FRND": floating.frnd,
    "I2F": convert.i2f,
    "I2FP": convert.i2f,
    "F2I": convert.f2i,
    "F2F": convert.f2f,
    "F2FP": half.pack,
}
"""Instructions that the uniform datapath has too, under the name with a U before it."""

_OTHER: dict[str, Handler] = {
    "P2R": logic.p2r,
    "R2P": logic.r2p,
    "UP2UR": logic.p2r,
    "UR2UP": logic.r2p,
    "FCHK": floating.fchk,
    "MUFU": floating.mufu,
    "DADD": double.arithmetic,
    "DMUL": double.arithmetic,
    "DFMA": double.arithmetic,
    "DSETP": double.dsetp,
    "HADD2": half.arithmetic,
    "HADD2_32I": half.arithmetic,
    "HMUL2": half.arithmetic,
    "HMUL2_32I": half.arithmetic,
    "HFMA2": half.arithmetic,
    "HFMA2_32I": half.arithmetic,
    "HMNMX2": half.hmnmx2,
    "HSET2": half.hset2,
    "HSETP2": half.hsetp2,
    "LDG": memory.load,
    "LD": memory.load,
    "LDS": memory.load,
    "LDL": memory.load,
    "STG": memory.store,
    "ST": memory.store,
    "STS": memory.store,
    "STL": memory.store,
    "LDC": memory.load_constant,
    "ULDC": memory.load_constant,
    "LDCU": memory.load_constant,
    "HMMA": matrix.multiply,
    "IMMA": matrix.multiply,
    "DMMA": matrix.multiply,
    "LDSM": matrix.load,
    "LDGSTS": copies.copy,
    "TEX": texture.read,
    "TLD": texture.read,
    "TLD4": texture.read,
    "TXD": texture.read,
    "SULD": texture.surface_load,
    "SUST": texture.surface_store,
    "RED": atomics.reduction,
    "REDG": atomics.reduction,
    "ATOM": atomics.atomic,
    "QSPC": atomics.query_space,
    "ATOMG": atomics.atomic,
    "ATOMS": atomics.atomic,
    "SYNCS": mbarrier.syncs,
    "ARRIVES": mbarrier.arrives,
    "S2R": special.s2r,
    "S2UR": special.s2r,
    "CS2R": special.cs2r,
    "CS2UR": special.cs2r,
    "B2R": special.b2r,
    "BMOV": special.bmov,
    "LEPC": special.lepc,
    "R2UR": special.r2ur,
    "WARPSYNC": warp.warpsync,
    "BSYNC": warp.bsync,
    "ENDCOLLECTIVE": warp.bsync,
    "SHFL": warp.shfl,
    "VOTE": warp.vote,
    "VOTEU": warp.vote,
    "MATCH": warp.match,
    "REDUX": warp.redux,
    "CREDUX": warp.redux,
}

NOTHING = frozenset(
    (
        *("NOP", "BSSY", "YIELD", "NANOSLEEP", "BREAK", "DEPBAR", "CGAERRBAR"),
        *("MEMBAR", "ERRBAR", "CCTL", "CCTLL", "LDGDEPBAR", "PMTRIG", "UCGABAR_WAIT"),
    )
)
"""Instructions without effect on results. The order of blocks makes lanes reconverge, and a warp's
accesses are done in program order."""

OPCODES = NOTHING | {*_OTHER, *_LANES_AND_UNIFORM, *(f"U{name}" for name in _LANES_AND_UNIFORM)}
"""All opcodes that are lowered by these tables; :mod:`.control` lowers control flow."""


def handler(i: Instruction) -> Handler | None:
    """The function that lowers ``i``, or None if it is not covered."""
    name = i.parts[0]
    if name in NOTHING:
        return special.nothing
    found = _OTHER.get(name) or _LANES_AND_UNIFORM.get(name)
    if found is None and name.startswith("U"):
        found = _LANES_AND_UNIFORM.get(name[1:])
    return found
