"""Which modifiers each instruction may have: one that is not known is never passed over.

Types and vector sizes are read by the lowerings, which refuse those they do not know; hints for
caches change no result. Instructions that are not listed check their modifiers themselves.
"""

from __future__ import annotations

import re

from placewise.executor.lower_ptx.context import Context
from placewise.kernel.ptx import Instruction

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
_ALLOWED = {name: frozenset(text.split()) for name, text in _KNOWN.items()}


def check(c: Context, i: Instruction) -> None:
    """Refuse an instruction with a modifier that its lowering does not know."""
    allowed = _ALLOWED.get(i.parts[0])
    if allowed is None:
        return
    for part in i.parts[1:]:
        if part not in allowed and not _TYPE.match(part) and not part.startswith(_HINT):
            c.unsupported(i, f"its modifier '.{part}' is not known")
