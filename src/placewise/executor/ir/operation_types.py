"""Operand and result types of the IR's operations, and the values that their attributes take."""

from __future__ import annotations

import operator
from collections.abc import Callable

from placewise.executor.ir.nodes import BITS

FLOATS = frozenset({"f16", "f32", "f64"})
INTEGERS = frozenset(BITS) - FLOATS
ROUNDED = frozenset({"fadd", "fmul", "fma", "fdiv", "sqrt", "fptrunc", "sitofp", "uitofp"})
MODES = (None, "rz", "rm", "rp")
CONDITIONS = {
    "icmp": frozenset(["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]),
    "fcmp": frozenset(
        [
            "oeq",
            "one",
            "olt",
            "ole",
            "ogt",
            "oge",
            "ueq",
            "une",
            "ult",
            "ule",
            "ugt",
            "uge",
            "ord",
            "uno",
        ]
    ),
}
UNARY = frozenset(
    [
        "ctlz",
        "cttz",
        "ctpop",
        "bitreverse",
        "fneg",
        "fabs",
        "sqrt",
        "floor",
        "ceil",
        "ftrunc",
        "rint",
        "sin",
        "cos",
        "exp2",
        "log2",
        "tanh",
    ]
)
ARGUMENTS = {**dict.fromkeys(UNARY, 1), "fma": 3, "fshl": 3, "fshr": 3}
"""Operands of operations whose operands and result have one type; two where not listed."""
ON_FLOATS = frozenset(
    [
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "fma",
        "fneg",
        "fabs",
        "copysign",
        "fmin",
        "fmax",
        "fmin_nan",
        "fmax_nan",
        "sqrt",
        "floor",
        "ceil",
        "ftrunc",
        "rint",
        "sin",
        "cos",
        "exp2",
        "log2",
        "tanh",
    ]
)
CASTS: dict[str, tuple[frozenset[str], frozenset[str], Callable[[int, int], bool] | None]] = {
    "trunc": (INTEGERS, INTEGERS, operator.gt),
    "zext": (INTEGERS, INTEGERS, operator.lt),
    "sext": (INTEGERS, INTEGERS, operator.lt),
    "bitcast": (frozenset(BITS), frozenset(BITS), operator.eq),
    "fptrunc": (FLOATS, FLOATS, operator.gt),
    "fpext": (FLOATS, FLOATS, operator.lt),
    "fptosi": (FLOATS, INTEGERS, None),
    "fptoui": (FLOATS, INTEGERS, None),
    "sitofp": (INTEGERS, FLOATS, None),
    "uitofp": (INTEGERS, FLOATS, None),
}
"""Types that each conversion takes and gives, and how the operand's width compares with the
result's."""
STRINGS = {
    "shuffle": frozenset({"up", "down", "bfly", "idx"}),
    "vote": frozenset({"all", "any", "uni", "ballot"}),
    "match": frozenset({"any", "all"}),
    "reduce": frozenset({"add", "smin", "smax", "umin", "umax", "and", "or", "xor"}),
    "heap": frozenset({"malloc", "free"}),
    "host": frozenset({"printf", "assert"}),
}
SYNC_OPERANDS = {"warp": 1, "collective": 1, "shuffle": 3}
SHORT_SPACES = frozenset({"shared", "local", "stack"})
"""Spaces whose addresses have 32 bits."""
CHANNELS = 4
