"""Which function lowers which PTX instruction, and which modifiers the instruction may have.

A new instruction needs a function in the file of its family, and its lines in the tables here.
"""

from __future__ import annotations

import re
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
"""Instructions without effect on results. A warp's accesses are done in program order anyway."""


COVERED = frozenset([*_INTEGER, *_FLOAT, *_OTHER, *VIDEO, *NOTHING, "cp"])
"""First parts of the opcodes that these tables lower; :mod:`.control` lowers the others."""


def handler(i: Instruction) -> Handler | None:
    """The function that lowers ``i``, or None if it is not covered."""
    name = i.parts[0]
    if name == "cp":
        return _copy(i)
    if name in _FLOAT and (name not in _INTEGER or _is_float(i)):
        return _FLOAT[name]
    return _INTEGER.get(name) or _OTHER.get(name) or VIDEO.get(name)


def _copy(i: Instruction) -> Handler | None:
    """The lowering of cp.async, its commits and waits, and cp.async.bulk without tensors."""
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


# --- modifiers

_TYPE = re.compile(r"(?:[busf]|bf|tf|e\dm\d)\d*(?:x\d)?$|pred$|v[248]$|e\dm\d(?:x2)?$")
_HINT = ("L1::", "L2::")
_ROUND = "rn rz rm rp "
_SCOPES = "weak volatile relaxed acquire release acq_rel mmio cta cluster gpu sys "
_SPACES = "global local const param param::entry param::func shared shared::cta shared::cluster "
_COMPARE = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor ftz"
_PLAIN = "and or xor not cnot shl shr bfe bfi clz popc brev fns selp mov sad rem"
_ADD = _ROUND + "ftz sat cc"
_CACHE = "ca cg cs lu cv nc wb wt "
_ATOMIC = "add min max and or xor exch cas inc dec noftz "

_KNOWN = {
    "add": _ADD,
    "sub": _ADD,
    "addc": "cc",
    "subc": "cc",
    "mul": _ROUND + "lo hi wide ftz sat",
    "mad": _ROUND + "lo hi wide ftz sat cc",
    "madc": "lo hi cc",
    "mul24": "lo hi",
    "mad24": "lo hi sat",
    "div": _ROUND + "approx full ftz",
    "abs": "ftz",
    "neg": "ftz",
    "min": "ftz NaN xorsign abs relu",
    "max": "ftz NaN xorsign abs relu",
    **dict.fromkeys(_PLAIN.split(), ""),
    "shf": "l r clamp wrap",
    "bmsk": "clamp wrap",
    "szext": "clamp wrap",
    "bfind": "shiftamt",
    "prmt": "f4e b4e rc8 ecl ecr rc16",
    "lop3": "or and",
    "dp4a": "",
    "dp2a": "lo hi",
    "fma": _ROUND + "ftz sat relu",
    **dict.fromkeys(("sqrt", "rcp", "rsqrt"), _ROUND + "approx ftz"),
    **dict.fromkeys(("sin", "cos", "lg2", "ex2", "tanh"), "approx ftz"),
    "copysign": "",
    "testp": "finite infinite number notanumber normal subnormal",
    "setp": _COMPARE,
    "set": _COMPARE,
    "slct": "ftz",
    "cvta": "to " + _SPACES,
    "isspacep": _SPACES,
    "cvt": _ROUND + "rni rzi rmi rpi rna ftz sat satfinite relu pack",
    **dict.fromkeys(("ld", "ldu", "st"), _SCOPES + _SPACES + _CACHE),
    **dict.fromkeys(("atom", "red"), _SCOPES + _SPACES + _ATOMIC),
    "shfl": "sync up down bfly idx",
    "vote": "sync all any uni ballot",
    "match": "sync any all",
    "redux": "sync add min max and or xor abs NaN",
    "activemask": "",
    "elect": "sync",
    "mapa": _SPACES,
    "getctarank": _SPACES,
    "mbarrier": _SCOPES
    + _SPACES
    + "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count parity "
    "noComplete",
    "alloca": "",
    "stacksave": "",
    "stackrestore": "",
}
"""Modifiers by instruction. Types, vector sizes and cache hints are not listed: lowerings refuse
types and sizes that they do not know, and hints change no result. Instructions that are not listed
check their modifiers themselves."""
_ALLOWED = {name: frozenset(text.split()) for name, text in _KNOWN.items()}


def check_modifiers(c: Context, i: Instruction) -> None:
    """Raise UnsupportedError for a modifier that the instruction's lowering does not know."""
    allowed = _ALLOWED.get(i.parts[0])
    if allowed is None:
        return
    for part in i.parts[1:]:
        if part not in allowed and not _TYPE.match(part) and not part.startswith(_HINT):
            c.unsupported(i, f"its modifier '.{part}' is not known")
