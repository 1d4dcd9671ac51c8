"""Matrix products; loads, stores and transposes of matrices in shared memory.

Fragments are those of PTX's ``mma``, ``ldmatrix``, ``stmatrix`` and ``movmatrix``, register by
register.
"""

from __future__ import annotations

from placewise.executor.ir.matrix_lanes import Mma, register_bits
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.executor.lower_sass.memory.memory import address_of
from placewise.executor.lowering.matrices import (
    load_matrices,
    product,
    store_matrices,
    transpose_matrix,
)
from placewise.kernel.binary.sass import Instruction, Operand, Register

_SHAPES = {
    "16816": (16, 8, 16),
    "1688": (16, 8, 8),
    "1684": (16, 8, 4),
    "16832": (16, 8, 32),
    "16864": (16, 8, 64),
    "8816": (8, 8, 16),
    "8832": (8, 8, 32),
    "884": (8, 8, 4),
}
_SHAPES |= {"x".join(map(str, shape)): shape for shape in _SHAPES.values()}
_ELEMENTS = {"BF16": "bf16", "TF32": "tf32"}
_INTEGERS = ("S8", "U8", "S4", "U4")


def multiply(c: Context, i: Instruction) -> None:
    """HMMA, IMMA, DMMA: D = A B + C."""
    shape = _SHAPES.get(c.one_of(*_SHAPES) or "")
    if shape is None:
        c.unsupported(i, "this shape is not covered")
    name = i.parts[0]
    saturate = False
    if name == "DMMA":
        a = b = total = "f64"
    elif name == "HMMA":
        total = "f16" if c.flag("F16") else "f32"
        c.without_effect("F32")
        a = b = _ELEMENTS.get(c.one_of(*_ELEMENTS) or "", "f16")
    else:
        types = [m for m in c.modifiers if m in _INTEGERS]
        if len(types) != 2:
            c.unsupported(i)
        for type_ in types:
            c.modifiers.remove(type_)
        a, b = (type_.lower() for type_ in types)
        total = "s32"
        saturate = c.flag("SAT")
    kind = Mma(*shape, a, b, total, total, "", saturate)
    target, left, right, addend = i.operands
    with c.every_lane():
        fragments = (
            _fragment(c, left, a, kind.a_registers),
            _fragment(c, right, b, kind.b_registers),
            _fragment(c, addend, total, kind.accumulators(total)),
        )
    _write(c, target, product(c, kind, *fragments))


def _fragment(c: Context, operand: Operand, type_: str, count: int) -> list[Node]:
    """Consecutive registers, or pairs of them for doubles."""
    if not isinstance(operand, Register) or operand.file != "R":
        c.refuse(f"operand {operand}")
    if set(operand.suffixes) - {"ROW", "COL"} or operand != operand._replace(
        negated=False, inverted=False, absolute=False
    ):
        c.refuse(f"operand {operand}")
    wide = register_bits(type_) == 64
    if operand.number is None:
        return [c.zero("i64" if wide else "i32")] * count
    step = 2 if wide else 1
    plain = operand._replace(suffixes=())
    found = []
    for n in range(count):
        register = plain._replace(number=operand.number + step * n)
        found.append(c.i64(register) if wide else c.i32(register))
    return found


def _write(c: Context, target: Operand, values: list[Node]) -> None:
    if values[0].type == "i64":
        c.write(target, *(half for value in values for half in c.pairs.halves(value)))
    else:
        c.write(target, *values)


def _matrices(c: Context) -> tuple[bool, int]:
    """Whether LDSM or STSM transposes, and how many matrices it moves."""
    c.without_effect("16")
    return c.one_of("M88", "MT88") == "MT88", int(c.one_of("2", "4") or "1")


def load(c: Context, i: Instruction) -> None:
    """LDSM: one, two or four matrices of 8 by 8 elements of 16 bits, transposed or not (.MT88)."""
    transposed, count = _matrices(c)
    target, where = i.operands
    with c.every_lane():
        address, offset = address_of(c, where, "shared")
    c.write(target, *load_matrices(c, "shared", address, offset, count, transposed=transposed))


def store(c: Context, i: Instruction) -> None:
    """STSM: one, two or four matrices of 8 by 8 elements of 16 bits, transposed or not (.MT88)."""
    transposed, count = _matrices(c)
    where, source = i.operands
    with c.every_lane():
        address, offset = address_of(c, where, "shared")
        fragments = _fragment(c, source, "f16", count)
    store_matrices(c, "shared", address, offset, fragments, transposed=transposed)


def move(c: Context, i: Instruction) -> None:
    """MOVM: the transpose of a matrix of 8 by 8 elements of 16 bits."""
    c.without_effect("16")
    if c.one_of("MT88") is None:
        c.unsupported(i)
    target, source = i.operands
    with c.every_lane():
        (fragment,) = _fragment(c, source, "f16", 1)
    c.write(target, transpose_matrix(c, fragment))


OPCODES: dict[str, Lowering] = {
    "HMMA": multiply,
    "IMMA": multiply,
    "DMMA": multiply,
    "LDSM": load,
    "STSM": store,
    "MOVM": move,
}
"""Functions by opcode."""
