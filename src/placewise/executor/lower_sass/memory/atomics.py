"""Atomics and reductions on global, shared and generic memory."""

from __future__ import annotations

from dataclasses import replace

from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE, WINDOW_SHIFT
from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering, is_predicate, is_sink
from placewise.executor.lower_sass.memory.memory import address_of, write_loaded
from placewise.kernel.binary.sass import Instruction, Operand

_SPACE = {
    "RED": "global",
    "REDG": "global",
    "ATOMG": "global",
    "ATOMS": "shared",
    "ATOM": "generic",
}
_OPERATIONS = ("ADD", "MIN", "MAX", "AND", "OR", "XOR", "EXCH", "CAS", "INC", "DEC")
_QUERIED = {"S": "shared", "L": "local"}
_HALVES = {"F16x2": "_f16x2", "BF16_V2": "_bf16x2"}
"""Suffixes of the IR's operation for sums of two halves."""
_HINTS = ("E", "SYS", "CTA", "GPU", "SM", "VC", "STRONG", "MMIO", "EF", "EL", "NA", "RN", "FTZ")
"""Modifiers for scope and caching, and the rounding that all floating-point sums have. .FTZ is
ignored: the host keeps subnormal sums, a difference below 2**-126."""


def _operation(c: Context) -> tuple[str, int]:
    """Take the modifiers that name the operation: (operation of the IR, bits)."""
    c.without_effect(*_HINTS)
    name = c.one_of(*_OPERATIONS)
    kind = c.one_of("F32", "F64", "F16x2", "BF16_V2", "S32", "U32", "S64", "U64", "64", "32")
    if c.flag("64"):
        kind = {"S32": "S64"}.get(kind or "", "64")
    c.without_effect("32")
    if name is None:
        c.refuse("the operation is not known")
    bits = 64 if kind in ("F64", "S64", "U64", "64") else 32
    if kind is not None and kind[0] in "FB":
        if name != "ADD":
            c.refuse("atomics of this type")
        return "fadd" + _HALVES.get(kind, ""), bits
    if name in ("MIN", "MAX"):
        return ("s" if kind is not None and kind[0] == "S" else "u") + name.lower(), bits
    return name.lower(), bits


def reduction(c: Context, i: Instruction) -> None:
    """RED: an atomic without a result."""
    operation, bits = _operation(c)
    where, value = i.operands
    _emit(c, i, where, [_value(c, value, bits)], operation, bits)


def _count_lanes(c: Context, i: Instruction) -> None:
    """ATOMS.POPC.INC: add the number of lanes that access an address."""
    c.without_effect("INC", "32")
    target, where = i.operands
    if not is_sink(target):
        c.unsupported(i, "with a result")
    _emit(c, i, where, [c.b.const("i32", 1)], "add", 32)


def _try_to_exchange(c: Context, i: Instruction) -> None:
    """ATOMS.CAST.SPIN: compare and swap; the result (word or predicate) is 1 if it swapped."""
    c.without_effect("SPIN")
    bits = 64 if c.flag("64") else 32
    target, where, *sources = i.operands
    values = [_value(c, s, bits) for s in sources]
    old = _emit(c, i, where, values, "cas", bits, used=True)
    done = c.b.icmp("eq", old, values[0])
    if is_predicate(target):
        c.write_predicate(target, done)
    else:
        write_loaded(c, target, [c.b.resize(done, old.type)], signed=False)


def atomic(c: Context, i: Instruction) -> None:
    """ATOM, ATOMG, ATOMS: the old value is the result."""
    if c.flag("POPC"):
        _count_lanes(c, i)
        return
    if c.flag("CAST"):
        _try_to_exchange(c, i)
        return
    if c.flag("ARRIVE"):
        c.without_effect("64")
        target, where = i.operands
        write_loaded(c, target, [update(c, where, "arrive_ampere", c.zero("i64"))], signed=False)
        return
    operation, bits = _operation(c)
    operands = list(i.operands)
    done = operands.pop(0) if is_predicate(operands[0]) else None
    target, where, *sources = operands
    values = [_value(c, s, bits) for s in sources]
    if done is None or is_sink(done):
        old = _emit(c, i, where, values, operation, bits, used=not is_sink(target))
        write_loaded(c, target, [old], signed=False)
        return
    if not operation.endswith(tuple(_HALVES.values())):
        c.unsupported(i, "with a predicate result")
    # Only global memory has sums of halves; the code that follows handles other spaces.
    address, _ = address_of(c, where, "generic")
    in_global = c.negate(c.binary("or", _lies_in(c, address, "S"), _lies_in(c, address, "L")))
    before = c.guard
    c.guard = in_global if before is None else c.binary("and", before, in_global)
    old = _emit(c, i, where, values, operation, bits, used=not is_sink(target))
    write_loaded(c, target, [old], signed=False)
    c.guard = before
    c.write_predicate(done, in_global)


def query_space(c: Context, i: Instruction) -> None:
    """QSPC: whether a generic address lies in shared (S) or local (L) memory."""
    c.without_effect("E")
    memory = c.one_of(*_QUERIED)
    done, _, where = i.operands
    if memory is None:
        c.unsupported(i)
    address, _ = address_of(c, where, "generic")
    c.write_predicate(done, _lies_in(c, address, memory))


def _lies_in(c: Context, address: Node, memory: str) -> Node:
    window = c.binary("lshr", address, c.b.const("i64", WINDOW_SHIFT))
    return c.b.icmp("eq", window, c.b.const("i64", WINDOW_OF_SPACE[_QUERIED[memory]]))


def update(c: Context, where: Operand, operation: str, value: Node) -> Node:
    """Operate on the mbarrier at ``where`` in shared memory with an i64; returns its old word."""
    address, offset = address_of(c, where, "shared")
    access = c.access("atomic", "shared", 64, 1, offset, f"mbarrier_{operation}")
    return c.b.access("atomic", "i64", access, address, value, *c.guards())


def _value(c: Context, operand: Operand, bits: int) -> Node:
    return c.i64(operand) if bits == 64 else c.i32(operand)


def _emit(
    c: Context,
    i: Instruction,
    where: Operand,
    values: list[Node],
    operation: str,
    bits: int,
    *,
    used: bool = False,
) -> Node:
    if len(values) != (2 if operation == "cas" else 1):
        c.unsupported(i)
    space = _SPACE[i.parts[0]]
    address, offset = address_of(c, where, space)
    access = replace(c.access("atomic", space, bits, 1, offset, operation), result_used=used)
    return c.b.access("atomic", int_type(bits), access, address, *values, *c.guards())


OPCODES: dict[str, Lowering] = {
    "RED": reduction,
    "REDG": reduction,
    "ATOM": atomic,
    "QSPC": query_space,
    "ATOMG": atomic,
    "ATOMS": atomic,
}
"""Functions by opcode."""
