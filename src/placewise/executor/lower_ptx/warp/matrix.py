"""Matrix instructions: mma.sync, ldmatrix, stmatrix, movmatrix.

A warp's lanes take part as a whole, as PTX requires. The 8 by 8 matrices that ldmatrix and stmatrix
move are accessed as the machine does it: lane l accesses the 16 bytes of row l, and the elements
then change lanes.
"""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.matrix_lanes import ELEMENT_BITS, Mma, register_bits
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.memory.memory import space_and_address
from placewise.executor.lowering.matrices import (
    load_matrices,
    product,
    store_matrices,
    transpose_matrix,
)
from placewise.kernel.ptx import Instruction, Operand, Vector

_SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    "8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
    "fp8": ("m16n8k16", "m16n8k32"),
}
"""Shapes of mma.sync by element type (PTX ISA, "Matrix multiply-accumulate operation")."""
_FAMILY = {"s8": "8", "u8": "8", "s4": "4", "u4": "4", "e4m3": "fp8", "e5m2": "fp8"}


def shape_of(text: str) -> tuple[int, int, int]:
    """(m, n, k) of a shape such as ``m16n8k16``."""
    m, rest = text[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def registers(c: Context, operand: Operand, type_: str) -> list[Node]:
    """Values of a fragment's registers as integers."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    return [c.src(e, int_type(register_bits(type_))) for e in elements]


def write_registers(c: Context, operand: Operand, values: list[Node]) -> None:
    """Write a fragment."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    for target, value in zip(elements, values, strict=True):
        c.dst(target, value)


def operation_of(i: Instruction) -> str:
    """xor or and of one-bit matrices, else nothing."""
    if "popc" not in i.parts:
        return ""
    return "xor" if "xor" in i.parts else "and"


def mma(c: Context, i: Instruction) -> None:
    """mma.sync.aligned.SHAPE.row.col[.satfinite].D.A.B.C[.xor.popc]"""
    parts = i.parts
    special = ("sp", "ordered_metadata", "block_scale")
    if any(p.split("::")[0] in special for p in parts) or "sync" not in parts:
        c.unsupported(i, "sparse and scaled products are not covered")
    types = [p for p in parts if p in ELEMENT_BITS]
    shape = next(p for p in parts if p[0] == "m" and p[1:2].isdigit())
    if len(types) != 4:
        c.unsupported(i, "these element types are not covered")
    d, a, b, acc = types
    if shape not in _SHAPES[_FAMILY.get(a, a)] or {"rz", "rm", "rp"} & set(parts):
        c.unsupported(i, "this shape is not covered")
    kind = Mma(*shape_of(shape), a, b, acc, d, operation_of(i), "satfinite" in parts)
    left, right = registers(c, i.operands[1], a), registers(c, i.operands[2], b)
    results = product(c, kind, left, right, registers(c, i.operands[3], acc))
    write_registers(c, i.operands[0], results)


# --- 8 by 8 matrices of 16-bit elements


def _check_matrices(c: Context, i: Instruction) -> None:
    if "m8n8" not in i.parts or i.parts[-1] != "b16":
        c.unsupported(i, "only matrices of 8 by 8 elements of 16 bits are covered")


def _count(i: Instruction) -> int:
    return next(int(p[1:]) for p in i.parts if p in ("x1", "x2", "x4"))


def ldmatrix(c: Context, i: Instruction) -> None:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans].shared.b16"""
    _check_matrices(c, i)
    space, address, offset = space_and_address(c, i, i.operands[1])
    count = _count(i)
    transposed = "trans" in i.parts
    values = load_matrices(c, space, address, offset, count, transposed=transposed)
    write_registers(c, i.operands[0], values)


def stmatrix(c: Context, i: Instruction) -> None:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans].shared.b16"""
    _check_matrices(c, i)
    space, address, offset = space_and_address(c, i, i.operands[0])
    fragments = registers(c, i.operands[1], "f16")
    store_matrices(c, space, address, offset, fragments, transposed="trans" in i.parts)


def movmatrix(c: Context, i: Instruction) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16: the transpose of one matrix."""
    _check_matrices(c, i)
    c.dst(i.operands[0], transpose_matrix(c, c.src(i.operands[1], "i32")))
