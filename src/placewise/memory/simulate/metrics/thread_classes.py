"""The thread-instruction counter of Nsight Compute that counts an opcode.

The counters are ``smsp__sass_thread_inst_executed_op_CLASS_pred_on.sum``: they count active threads
whose guard predicate is true. NVIDIA describes the classes (Nsight Compute documentation, "Metrics
Reference") but does not say which opcode belongs to which. The table follows counters recorded on
an RTX 2080 Ti as far as they show it: multiply-adds that only move a value (IMAD.MOV) count as
integer, MUFU and FCHK as single precision, BMOV, MOV, S2R and CS2R as miscellaneous; PLOP3, P2R and
the uniform datapath are in none of the classes. Each other opcode has the class of similar opcodes.
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
    """The class (one of :data:`CLASSES`) of an opcode, with or without modifiers; None if it has
    none."""
    base = opcode.split(".", 1)[0]
    if base in _UNCOUNTED:
        return None
    return _OF_OPCODE.get(base) or _OF_GROUP.get(group(base))
