"""How hot functions are compiled, and instructions of the processor that Numba has no words for."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from placewise.memory.simulate.vector_code import BYTE, SHORT, WORD, Code, splat, veil

_WORDS = ir.VectorType(SHORT, 16)
apart = njit(nogil=True, error_model="numpy", _nrt=False, forceinline=False)
"""Compiles a function that others call. It can allocate nothing, so that handing arrays on does not
count references: that would take longer than all the rest. Unless it says that it is not to be
inlined, it would be where the function that first calls it is."""
inlined = njit(nogil=True, error_model="numpy", _nrt=False, forceinline=True)
"""The same, put into its callers."""


@intrinsic
def equal16(_context: Any, array: Any, at: Any, value: Any) -> Any:  # noqa: ARG001
    """Bit n is set where word ``at + n`` of a 32-bit array has a value, int32."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        found = code.load(code.place(0, arguments[1], _WORDS))
        same = builder.icmp_signed("==", found, splat(builder, arguments[2], _WORDS))
        return builder.zext(builder.bitcast(same, ir.IntType(16)), WORD)

    return types.int64(array, types.int64, types.int32), generate


@intrinsic
def push16(_context: Any, array: Any, at: Any, value: Any, upto: Any) -> Any:  # noqa: ARG001
    """Put a value before the 16 words of an array of integers from ``at`` on; those up to word
    ``at + upto`` move on by one, and the last of them drops out."""
    word = ir.IntType(array.dtype.bitwidth)
    words = ir.VectorType(word, 16)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        place = code.place(0, arguments[1], words)
        before = code.load(place)
        # The value, then all lanes but the last.
        picks = ir.Constant(_WORDS, [16, *range(15)])
        moved = builder.shuffle_vector(before, code.alike(arguments[2], words), picks)
        number = ir.Constant(words, list(range(16)))
        kept = builder.icmp_signed("<=", number, code.alike(arguments[3], words))
        code.store(builder.select(kept, moved, before), veil(builder, place))
        return target.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.int64), generate


@intrinsic
def bits(_context: Any, value: Any) -> Any:  # noqa: ARG001  (Numba reads the name)
    """Number of ones of an int64."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@inlined
def product(a: Any, b: Any) -> Any:
    """Of two numbers below 2^32, uint64: processors multiply several such at a time."""
    low = np.uint64(0xFFFFFFFF)
    return (np.uint64(a) & low) * (np.uint64(b) & low)


@intrinsic
def lowest(_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Number of the lowest one of an int64; 64 where there is none."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic
def highest(_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Number of the highest one of an int64; -1 where there is none."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(WORD, 63), zeros)

    return types.int64(types.int64), generate


@intrinsic
def prefetch(_context: Any, array: Any, at: Any) -> Any:  # noqa: ARG001
    """Ask for the word ``at`` of an array, which may lie beyond its end."""

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
def hand_on4(_context: Any, source: Any, at: Any, order: Any, to: Any) -> Any:  # noqa: ARG001
    """Copy four words ``source[at:]`` to ``order[to:]``, all int64; bit n is set where the lowest
    bit of the n-th word is."""
    shape = ir.VectorType(WORD, 4)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        words = code.load(code.place(0, arguments[1], shape))
        code.store(words, code.place(2, arguments[3], shape))
        last = builder.trunc(words, ir.VectorType(ir.IntType(1), 4))
        return builder.zext(builder.bitcast(last, ir.IntType(4)), WORD)

    return types.int64(source, types.int64, order, types.int64), generate


@intrinsic
def lay_apart8(
    _context: Any,
    offsets: Any,
    row: Any,  # noqa: ARG001
    lanes: Any,  # noqa: ARG001
    width: Any,  # noqa: ARG001
    part: Any,
    to: Any,  # noqa: ARG001
    head: Any,  # noqa: ARG001
    shifts: Any,
) -> Any:
    """Write a part for each of up to eight lanes, whose offsets are ``offsets[row:]`` (int32), to
    ``part[to:]``, where there is room for eight; the lowest bit of the last is set. Not 0 where
    that is not what they take: lanes share a line, or one does not start at a multiple of its
    width, so that its bytes may lie in two sectors.

    ``shifts`` are those of an offset to its line and to its sector, and of a part's line and of its
    sectors; ``head`` is added to each part.
    """
    short, long = ir.VectorType(SHORT, 8), ir.VectorType(WORD, 8)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(target, builder, signature, arguments)
        alike = code.alike
        line_shift, sector_shift, line_bit, sector_bit = (
            builder.extract_value(arguments[7], k) for k in range(4)
        )
        one = ir.Constant(WORD, 1)
        number = ir.Constant(short, list(range(8)))
        words = code.load(code.place(0, arguments[1], short))
        lines = builder.ashr(words, alike(line_shift, short))
        active = builder.icmp_signed("<", number, alike(arguments[2], short))
        # Lanes that are none have lines of their own.
        compared = builder.select(active, lines, ir.Constant(short, [~n for n in range(8)]))
        least = ir.Constant(short, [-1] * 8)
        for turn in range(1, 5):
            picks = ir.Constant(short, [(n + turn) % 8 for n in range(8)])
            unlike = builder.xor(compared, builder.shuffle_vector(compared, compared, picks))
            least = builder.select(builder.icmp_unsigned("<", unlike, least), unlike, least)
        zero = ir.Constant(short, [0] * 8)
        below = builder.and_(words, alike(builder.sub(arguments[3], one), short))
        uneven = builder.and_(active, builder.icmp_signed("!=", below, zero))
        refused = builder.or_(uneven, builder.icmp_signed("==", least, zero))
        within = builder.sub(builder.shl(one, builder.sub(line_shift, sector_shift)), one)
        sectors = builder.ashr(words, alike(sector_shift, short))
        sectors = builder.and_(sectors, alike(within, short))
        found = builder.shl(alike(builder.shl(one, sector_bit), long), builder.zext(sectors, long))
        found = builder.add(found, builder.shl(builder.sext(lines, long), alike(line_bit, long)))
        found = builder.add(found, alike(arguments[6], long))
        last = builder.icmp_signed("==", number, alike(builder.sub(arguments[2], one), short))
        found = builder.or_(found, builder.zext(last, long))
        code.store(found, code.place(4, arguments[5], long))
        return builder.zext(builder.bitcast(refused, BYTE), WORD)

    given = (types.int64,) * 3
    return types.int64(offsets, *given, part, types.int64, types.int64, shifts), generate
