"""Decorators of compiled functions, and processor instructions that Numba does not offer."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from placewise.compiled_code import compiled
from placewise.memory.simulate.simd.vector_code import BYTE, SHORT, WORD, Code, opaque, splat

_WORDS = ir.VectorType(SHORT, 16)
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without Numba's runtime (``_nrt``) a function cannot allocate memory, and passing arrays does not
count references, which would take longer than everything else."""
noinline = njit(**_OPTIONS, forceinline=False)
"""Compiles a function that compiled code calls, and that LLVM must not inline."""
inlined = njit(**_OPTIONS, forceinline=True)
"""Compiles a function that is inlined into each function that calls it."""
entry = compiled(**_OPTIONS, forceinline=False)
"""Compiles a function that Python calls, and keeps its machine code on disk."""


@intrinsic
def equal16(_context: Any, array: Any, at: Any, value: Any) -> Any:  # noqa: ARG001
    """A word whose bit n (0 to 15) says whether element ``at + n`` of an array of 32-bit integers
    equals ``value``."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        found = code.load(code.place(0, arguments[1], _WORDS))
        same = builder.icmp_signed("==", found, splat(builder, arguments[2], _WORDS))
        return builder.zext(builder.bitcast(same, ir.IntType(16)), WORD)

    return types.int64(array, types.int64, types.int32), generate


@intrinsic
def push16(_context: Any, array: Any, at: Any, value: Any, upto: Any) -> Any:  # noqa: ARG001
    """Insert a value at element ``at`` of an array of integers: elements ``at`` to ``at + upto -
    1`` move to the next place, and element ``at + upto`` is overwritten. ``upto`` is at most 15."""
    word = ir.IntType(array.dtype.bitwidth)
    words = ir.VectorType(word, 16)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        place = code.place(0, arguments[1], words)
        before = code.load(place)
        # The value, followed by all lanes but the last.
        picks = ir.Constant(_WORDS, [16, *range(15)])
        moved = builder.shuffle_vector(before, code.alike(arguments[2], words), picks)
        number = ir.Constant(words, list(range(16)))
        kept = builder.icmp_signed("<=", number, code.alike(arguments[3], words))
        code.store(builder.select(kept, moved, before), opaque(builder, place))
        return target.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.int64), generate


@intrinsic
def bits(_context: Any, value: Any) -> Any:  # noqa: ARG001  (Numba reads the name)
    """Number of bits that are set in an int64."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@inlined
def product(a: Any, b: Any) -> Any:
    """Product of two numbers below 2^32, as uint64; SIMD units multiply several such numbers at
    once."""
    low = np.uint64(0xFFFFFFFF)
    return (np.uint64(a) & low) * (np.uint64(b) & low)


@intrinsic
def lowest(_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Number of the lowest bit that is set in an int64; 64 if none is."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic
def highest(_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Number of the highest bit that is set in an int64; -1 if none is."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(WORD, 63), zeros)

    return types.int64(types.int64), generate


@intrinsic
def prefetch(_context: Any, array: Any, at: Any) -> Any:  # noqa: ARG001
    """Prefetch element ``at`` of an array; ``at`` may be beyond the array's end."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        place = code.place(0, arguments[1], BYTE)
        kind = ir.FunctionType(ir.VoidType(), [place.type, SHORT, SHORT, SHORT])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        flags = [ir.Constant(SHORT, n) for n in (0, 3, 1)]
        builder.call(function, [place, *flags])
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def pointer(_context: Any, word: Any) -> Any:  # noqa: ARG001
    """An int64 as a pointer."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], BYTE.as_pointer())

    return types.voidptr(types.int64), generate


@intrinsic
def copy4(_context: Any, source: Any, at: Any, order: Any, to: Any) -> Any:  # noqa: ARG001
    """Copy four int64 words from ``source[at:]`` to ``order[to:]``. Returns a word whose bit n is
    the lowest bit of word n."""
    shape = ir.VectorType(WORD, 4)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        words = code.load(code.place(0, arguments[1], shape))
        code.store(words, code.place(2, arguments[3], shape))
        last = builder.trunc(words, ir.VectorType(ir.IntType(1), 4))
        return builder.zext(builder.bitcast(last, ir.IntType(4)), WORD)

    return types.int64(source, types.int64, order, types.int64), generate
