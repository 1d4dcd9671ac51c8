"""PTX text to a typed module: functions, variables and instructions with their places."""

from placewise.kernel.ptx.module import (
    Address,
    Arguments,
    Function,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Outline,
    Pair,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from placewise.kernel.ptx.parse import outline, parse_ptx

__all__ = [
    "Address",
    "Arguments",
    "Function",
    "Immediate",
    "Instruction",
    "Module",
    "Negated",
    "Operand",
    "Outline",
    "Pair",
    "Register",
    "Selected",
    "Sink",
    "Special",
    "Symbol",
    "Variable",
    "Vector",
    "outline",
    "parse_ptx",
]
