"""Comparisons, selections, moves and address conversions."""

from __future__ import annotations

from placewise.executor.device_memory.address_space import (
    CODE_WINDOW,
    WINDOW_OF_SPACE,
    WINDOW_SHIFT,
)
from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.arithmetic.floating import element
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lowering.floats import flush
from placewise.executor.lowering.integers import join, split
from placewise.kernel.ptx import Instruction, Operand, Pair, Symbol, Vector

_ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
_FLOAT = {**_ORDERED, **_UNORDERED, "num": "ord", "nan": "uno"}
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_LOGIC = frozenset({"and", "or", "xor"})


def _compare(c: Context, i: Instruction, type_: str, a: Operand, b: Operand) -> list[Node]:
    """The comparison named in the opcode, one i1 per element."""
    condition = i.parts[1]
    if type_[0] == "f" or type_.startswith("bf"):
        pairs = list(zip(element(c, a, type_), element(c, b, type_), strict=True))
        if "ftz" in i.parts:
            pairs = [(flush(c, x), flush(c, y)) for x, y in pairs]
        return [c.b.fcmp(_FLOAT[condition], x, y) for x, y in pairs]
    ir_type = int_type(width(type_))
    if condition in ("eq", "ne"):
        llvm = condition
    elif condition in _UNSIGNED:
        llvm = _UNSIGNED[condition]
    else:
        llvm = ("s" if type_[0] == "s" else "u") + condition
    return [c.b.icmp(llvm, c.src(a, ir_type), c.src(b, ir_type))]


def setp(c: Context, i: Instruction) -> None:
    results = _compare(c, i, i.parts[-1], i.operands[1], i.operands[2])
    target = i.operands[0]
    other = [c.negate(r) for r in results]
    if len(i.operands) > 3:
        op = next(p for p in i.parts if p in _LOGIC)
        extra = c.src(i.operands[3], "i1")
        results = [c.binary(op, r, extra) for r in results]
        other = [c.binary(op, r, extra) for r in other]
    if isinstance(target, Pair):
        # For packed halves the second predicate belongs to the second element, else it is the
        # negated comparison.
        c.dst(target.second, results[1] if len(results) > 1 else other[0])
    c.dst(target, results[0])


def set_(c: Context, i: Instruction) -> None:
    """set: all ones or 1.0 where the comparison holds."""
    to, of = i.parts[-2], i.parts[-1]
    results = _compare(c, i, of, i.operands[1], i.operands[2])
    if len(i.operands) > 3:
        op = next(p for p in i.parts if p in _LOGIC)
        results = [c.binary(op, r, c.src(i.operands[3], "i1")) for r in results]
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    part_bits = width(to) // len(results)
    true = ones.get(to, -1)
    values = [
        c.b.select(r, c.b.const(int_type(part_bits), true), c.b.const(int_type(part_bits), 0))
        for r in results
    ]
    c.dst(i.operands[0], join(c, values, int_type(width(to))))


def selp(c: Context, i: Instruction) -> None:
    type_ = int_type(width(i.parts[-1]))
    a, b = c.src(i.operands[1], type_), c.src(i.operands[2], type_)
    c.dst(i.operands[0], c.b.select(c.src(i.operands[3], "i1"), a, b))


def slct(c: Context, i: Instruction) -> None:
    """a where c >= 0, else b."""
    type_ = int_type(width(i.parts[-2]))
    a, b = c.src(i.operands[1], type_), c.src(i.operands[2], type_)
    if i.parts[-1] == "f32":
        d = c.src(i.operands[3], "f32")
        if "ftz" in i.parts:
            d = flush(c, d)
        condition = c.b.fcmp("oge", d, c.b.const("f32", 0))
    else:
        condition = c.b.icmp("sge", c.src(i.operands[3], "i32"), c.b.const("i32", 0))
    c.dst(i.operands[0], c.b.select(condition, a, b))


def mov(c: Context, i: Instruction) -> None:
    """mov, with packing and unpacking of vectors."""
    target, value = i.operands
    bits = width(i.parts[-1])
    if isinstance(value, Vector):
        part = int_type(bits // len(value.elements))
        parts = [c.src(e, part) for e in value.elements]
        c.dst(target, join(c, parts, int_type(bits)))
    elif isinstance(target, Vector):
        for element_, piece in zip(
            target.elements,
            split(c, c.src(value, int_type(bits)), len(target.elements)),
            strict=True,
        ):
            c.dst(element_, piece)
    elif isinstance(value, Symbol) and value.name in c.function_parameters:
        c.dst(target, parameter_address(c, i, value))
    else:
        c.dst(target, c.src(value, int_type(bits)))


def parameter_address(c: Context, i: Instruction, symbol: Symbol) -> Node:
    """Address of a kernel parameter, for parameters indexed at run time."""
    offset = c.function_parameters[symbol.name]
    if offset is None:
        c.unsupported(i, "the address of a device function's parameter is not covered")
    return c.b.const("i64", (WINDOW_OF_SPACE["param"] << WINDOW_SHIFT) + offset + symbol.offset)


def cvta(c: Context, i: Instruction) -> None:
    """cvta: convert between addresses of a space and generic addresses.

    Global, constant and parameter addresses are generic addresses already.
    """
    space = i.parts[2] if "to" in i.parts else i.parts[1]
    operand = i.operands[1]
    if isinstance(operand, Symbol) and operand.name in c.function_parameters:
        c.dst(i.operands[0], parameter_address(c, i, operand))
        return
    value = c.src(operand, "i64")
    base = space.split("::")[0]
    if base in ("shared", "local"):
        start = c.b.const("i64", WINDOW_OF_SPACE[base] << WINDOW_SHIFT)
        value = c.binary("sub" if "to" in i.parts else "add", value, start)
    c.dst(i.operands[0], value)


def mapa(c: Context, i: Instruction) -> None:
    """mapa d, a, rank: clusters have one block here, so the address stays as it is."""
    type_ = int_type(width(i.parts[-1]))
    c.dst(i.operands[0], c.src(i.operands[1], type_))


def getctarank(c: Context, i: Instruction) -> None:
    c.dst(i.operands[0], c.b.const("i32", 0))


def isspacep(c: Context, i: Instruction) -> None:
    space = i.parts[1].split("::")[0]
    window = c.binary("lshr", c.src(i.operands[1], "i64"), c.b.const("i64", WINDOW_SHIFT))
    if space in ("shared", "local", "param"):
        answer = c.b.icmp("eq", window, c.b.const("i64", WINDOW_OF_SPACE[space]))
    else:
        constant = c.b.const("i1", 0)
        for variable in c.module.variables.values():
            if variable.space == "const" and variable.name in c.scope.symbols:
                own = c.b.const("i64", c.scope.symbols[variable.name] >> WINDOW_SHIFT)
                constant = c.binary("or", constant, c.b.icmp("eq", window, own))
        # The window of kernel parameters counts as a part of global memory (PTX ISA, isspacep).
        data = c.b.icmp("uge", window, c.b.const("i64", WINDOW_OF_SPACE["param"]))
        code = c.b.icmp("uge", window, c.b.const("i64", CODE_WINDOW))
        other = c.negate(c.binary("or", constant, code))
        answer = constant if space == "const" else c.binary("and", data, other)
    c.dst(i.operands[0], answer)
