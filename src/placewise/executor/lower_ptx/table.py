"""Which function lowers which instruction."""

from __future__ import annotations

from collections.abc import Callable

from placewise.executor.lower_ptx.arithmetic import bits, convert, floating, integer, select, video
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.control import sync
from placewise.executor.lower_ptx.memory import allocate, atomic, bulk, mbarrier, memory, texture
from placewise.executor.lower_ptx.warp import matrix, warp, wmma
from placewise.kernel.ptx import Instruction

Handler = Callable[[Context, Instruction], None]

_INTEGER: dict[str, Handler] = {
    "add": integer.add,
    "sub": integer.add,
    "addc": integer.addc,
    "subc": integer.addc,
    "mul": integer.mul,
    "mad": integer.mad,
    "madc": integer.mad,
    "mul24": integer.mul24,
    "mad24": integer.mul24,
    "sad": integer.sad,
    "div": integer.divide,
    "rem": integer.divide,
    "abs": integer.absolute,
    "neg": integer.negative,
    "min": integer.extreme,
    "max": integer.extreme,
    "and": integer.logic,
    "or": integer.logic,
    "xor": integer.logic,
    "not": integer.invert,
    "cnot": integer.cnot,
    "shl": integer.shift,
    "shr": integer.shift,
    "shf": integer.funnel,
    "bfe": bits.bfe,
    "bfi": bits.bfi,
    "bmsk": bits.bmsk,
    "szext": bits.szext,
    "clz": bits.count,
    "popc": bits.count,
    "brev": bits.brev,
    "bfind": bits.bfind,
    "fns": bits.fns,
    "prmt": bits.prmt,
    "lop3": bits.lop3,
    "dp4a": bits.dot,
    "dp2a": bits.dot,
}

_FLOAT: dict[str, Handler] = {
    "add": floating.add,
    "sub": floating.add,
    "mul": floating.mul,
    "fma": floating.fma,
    "mad": floating.fma,
    "div": floating.div,
    "sqrt": floating.sqrt,
    "rcp": floating.rcp,
    "rsqrt": floating.rsqrt,
    "sin": floating.transcendental,
    "cos": floating.transcendental,
    "lg2": floating.transcendental,
    "ex2": floating.transcendental,
    "tanh": floating.transcendental,
    "abs": floating.unary,
    "neg": floating.unary,
    "min": floating.extreme,
    "max": floating.extreme,
    "copysign": floating.copysign,
    "testp": floating.testp,
}

_BOTH = ("add", "sub", "absdiff", "min", "max", "set")
VIDEO: dict[str, Handler] = {
    **dict.fromkeys((f"v{name}{n}" for name in (*_BOTH, "avrg") for n in (2, 4)), video.simd),
    **dict.fromkeys((f"v{name}" for name in (*_BOTH, "shl", "shr")), video.scalar),
}

_OTHER: dict[str, Handler] = {
    "setp": select.setp,
    "set": select.set_,
    "selp": select.selp,
    "slct": select.slct,
    "mov": select.mov,
    "cvta": select.cvta,
    "isspacep": select.isspacep,
    "cvt": convert.cvt,
    "ld": memory.load,
    "ldu": memory.load,
    "st": memory.store,
    "atom": atomic.atomic,
    "red": atomic.atomic,
    "mbarrier": mbarrier.mbarrier,
    "mapa": select.mapa,
    "getctarank": select.getctarank,
    "tex": texture.tex,
    "tld4": texture.tld4,
    "suld": texture.suld,
    "sust": texture.sust,
    "membar": sync.fence,
    "fence": sync.fence,
    "shfl": warp.shfl,
    "vote": warp.vote,
    "match": warp.match,
    "redux": warp.redux,
    "activemask": warp.activemask,
    "elect": warp.elect,
    "alloca": allocate.alloca,
    "stacksave": allocate.stacksave,
    "stackrestore": allocate.stackrestore,
    "mma": matrix.mma,
    "ldmatrix": matrix.ldmatrix,
    "stmatrix": matrix.stmatrix,
    "movmatrix": matrix.movmatrix,
    "wmma": wmma.wmma,
}

NOTHING = frozenset(
    (
        *("nanosleep", "prefetch", "prefetchu", "applypriority", "discard"),
        *("pmevent", "setmaxnreg", "griddepcontrol", "createpolicy"),
    )
)
"""Instructions without effect on results: a warp's accesses are done in program order anyway."""


COVERED = frozenset([*_INTEGER, *_FLOAT, *_OTHER, *VIDEO, *NOTHING, "cp"])
"""First parts of all opcodes with a lowering here; control flow has its own."""


def handler(i: Instruction) -> Handler | None:
    """The lowering of ``i``, or None where it is not covered."""
    name = i.parts[0]
    if name == "cp":
        return _copy(i)
    if name in _FLOAT and (name not in _INTEGER or _is_float(i)):
        return _FLOAT[name]
    return _INTEGER.get(name) or _OTHER.get(name) or VIDEO.get(name)


def _copy(i: Instruction) -> Handler | None:
    """Of the copies: cp.async, its waiting, and the plain ones of cp.async.bulk."""
    if i.parts[1] != "async":
        return None
    what = i.parts[2]
    if what == "bulk":
        return bulk.copy if bulk.is_covered(i) else None
    if what == "mbarrier":
        return mbarrier.arrive_for_copies
    if what == "commit_group":
        return sync.commit
    return sync.wait if what.startswith("wait_") else memory.copy_async


def does_nothing(i: Instruction) -> bool:
    """Whether ``i`` has no effect on results."""
    return i.parts[0] in NOTHING


def _is_float(i: Instruction) -> bool:
    last = i.parts[-1]
    return last.startswith("bf") or (last[0] == "f" and last[1:2].isdigit())
