"""Which thread-instruction counter of Nsight Compute counts an opcode.

The counters are ``smsp__sass_thread_inst_executed_op_CLASS_pred_on.sum``: threads that are active
and whose guard predicate holds. NVIDIA says what the classes are for (Nsight Compute documentation,
"Metrics Reference") but not which opcode falls into which. Where counters recorded on an RTX 2080
Ti can tell it, the table follows them: multiply-adds that only move a value (IMAD.MOV) count as
integer, MUFU and FCHK as single precision, BMOV as miscellaneous beside MOV, S2R and CS2R; PLOP3,
P2R and the uniform datapath count in none of the classes. The other opcodes are placed by likeness.
"""

from __future__ import annotations

from placewise.kernel.binary.sass.classes import group

CLASSES = ("fp16", "fp32", "fp64", "integer", "conversion", "control", "memory", "misc")

_OF_GROUP = {
    "fp16": "fp16",
    "fp32": "fp32",
    "special function": "fp32",
    "fp64": "fp64",
    "integer": "integer",
    "conversion": "conversion",
    "movement": "misc",
    "control": "control",
    "synchronisation": "misc",
    "special register": "misc",
    "global": "memory",
    "global atomic": "memory",
    "shared": "memory",
    "shared atomic": "memory",
    "local": "memory",
    "constant": "memory",
    "texture": "memory",
    "surface": "memory",
}
_OF_OPCODE = {"BMOV": "misc", "NOP": "misc"}
_UNCOUNTED = frozenset({"ULDC", "LDCU"})


def thread_class(opcode: str) -> str | None:
    """One of :data:`CLASSES` for an opcode with or without modifiers; None where it is in none."""
    base = opcode.split(".", 1)[0]
    if base in _UNCOUNTED:
        return None
    return _OF_OPCODE.get(base) or _OF_GROUP.get(group(base))
