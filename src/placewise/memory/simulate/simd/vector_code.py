"""Helpers to write the bodies of intrinsics in LLVM IR: array elements and vectors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

WORD, SHORT, BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)


def splat(builder: Any, value: Any, shape: Any) -> Any:
    """A vector whose elements all have one value."""
    undefined = ir.Constant(shape, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(SHORT, 0))
    picks = ir.VectorType(SHORT, shape.count)
    return builder.shuffle_vector(one, undefined, ir.Constant(picks, [0] * shape.count))


def opaque(builder: Any, value: Any) -> Any:
    """The value, hidden from LLVM's optimizer. It would otherwise turn masks into branches, and
    selects into masked stores, which prevent store forwarding."""
    return builder.asm(ir.FunctionType(value.type, [value.type]), "", "=r,0", [value], False)


class Code:
    """The builder, signature and arguments that Numba passes to the body of an intrinsic."""

    def __init__(self, target: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.target, self.b, self.signature, self.arguments = target, builder, signature, arguments

    def place(self, k: int, at: Any, shape: Any) -> Any:
        """Pointer to element ``at`` of the array that is argument ``k``; it points to values of
        type ``shape``."""
        array = self.target.make_array(self.signature.args[k])
        data = array(self.target, self.b, self.arguments[k]).data
        return self.b.bitcast(self.b.gep(data, [at]), shape.as_pointer())

    def load(self, place: Any) -> Any:
        """Load from a pointer that has the alignment of a single element."""
        found = self.b.load(place)
        found.align = _width(found.type)
        return found

    def store(self, value: Any, place: Any) -> None:
        """Store to a pointer that has the alignment of a single element."""
        self.b.store(value, place).align = _width(value.type)

    def alike(self, value: Any, shape: Any) -> Any:
        """A vector whose elements all hold the lowest bits of a word."""
        return splat(self.b, self.b.trunc(value, shape.element), shape)


def _width(shape: Any) -> int:
    """Bytes of an element."""
    element = shape.element if isinstance(shape, ir.VectorType) else shape
    return int(element.width) // 8
