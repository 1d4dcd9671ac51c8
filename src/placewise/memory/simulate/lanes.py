"""How hot functions are compiled, and instructions of the processor that Numba has no words for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

_I32 = ir.IntType(32)
_WORDS = ir.VectorType(_I32, 16)

apart = njit(nogil=True, error_model="numpy", _nrt=False)
"""Compiles a function that others call. It can allocate nothing, so that handing arrays on does not
count references: that would take longer than all the rest."""
inlined = njit(nogil=True, error_model="numpy", _nrt=False, forceinline=True)
"""The same, put into its callers."""


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Pointer to 16 words of an array of 32-bit words, from a place on."""
    array, at = arguments[:2]
    data = context.make_array(signature.args[0])(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _WORDS.as_pointer())


def _splat(builder: Any, value: Any) -> Any:
    undefined = ir.Constant(_WORDS, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(_WORDS, [0] * 16))


@intrinsic
def equal16(_context: Any, array: Any, at: Any, value: Any) -> Any:  # noqa: ARG001
    """Bit n is set where word ``at + n`` of a 32-bit array has a value, int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(_place(context, builder, signature, arguments))
        found.align = 4
        same = builder.icmp_signed("==", found, _splat(builder, arguments[2]))
        return builder.zext(builder.bitcast(same, ir.IntType(16)), ir.IntType(64))

    return types.int64(array, types.int64, types.int32), generate


def _of_words(name: str, extra: int, test: Any) -> Any:
    """A function of (array, at, …): a bit for each of 16 words of an int32 array that passes a
    test, given the words, those before each of them, and ``extra`` numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def words(back: int) -> Any:
            at = builder.sub(arguments[1], ir.Constant(ir.IntType(64), back))
            loaded = builder.load(_place(context, builder, signature, (arguments[0], at)))
            loaded.align = 4
            return loaded

        given = [_splat(builder, builder.trunc(a, _I32)) for a in arguments[2:]]
        passed = test(builder, words, *given)
        return builder.zext(builder.bitcast(passed, ir.IntType(16)), ir.IntType(64))

    def one(_context: Any, array: Any, at: Any, a: Any) -> Any:  # noqa: ARG001
        return types.int64(array, types.int64, types.int64), generate

    def three(_context: Any, array: Any, at: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001
        return types.int64(array, *(types.int64,) * 4), generate

    chosen = one if extra == 1 else three
    chosen.__name__ = name
    return intrinsic(chosen)


changes16 = _of_words(
    "changes16",
    1,
    lambda b, words, shift: b.icmp_signed("!=", b.ashr(words(0), shift), b.ashr(words(1), shift)),
)
"""``(array, at, shift)``: bit n is set where word ``at + n``, shifted right, is not that before."""
falls16 = _of_words(
    "falls16",
    1,
    lambda b, words, shift: b.icmp_signed("<", b.ashr(words(0), shift), b.ashr(words(1), shift)),
)
"""The same where it is less than that before."""
field16 = _of_words(
    "field16",
    3,
    lambda b, words, shift, mask, value: b.icmp_signed(
        "==", b.and_(b.ashr(words(0), shift), mask), value
    ),
)
"""``(array, at, shift, mask, value)``: the same where bits of it have a value."""


@intrinsic
def push16(_context: Any, array: Any, at: Any, value: Any, upto: Any) -> Any:  # noqa: ARG001
    """Put a value before the 16 words of a 32-bit array from ``at`` on; those up to word
    ``at + upto`` move on by one, and the last of them drops out."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        before = builder.load(place)
        before.align = 4
        # The value, then all lanes but the last.
        picks = ir.Constant(_WORDS, [16, *range(15)])
        value = _splat(builder, builder.trunc(arguments[2], _I32))
        moved = builder.shuffle_vector(before, value, picks)
        number = ir.Constant(_WORDS, list(range(16)))
        last = _splat(builder, builder.trunc(arguments[3], _I32))
        after = builder.select(builder.icmp_signed("<=", number, last), moved, before)
        builder.store(after, place).align = 4
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.int64), generate


@intrinsic
def veiled(_context: Any, value: Any) -> Any:  # noqa: ARG001
    """An int64 whose value the compiler cannot reason about: it would make masks branches again."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        return builder.asm(ir.FunctionType(word, [word]), "", "=r,0", arguments, False)

    return types.int64(types.int64), generate


@intrinsic
def bits(_context: Any, value: Any) -> Any:  # noqa: ARG001  (Numba reads the name)
    """Number of ones of an int64."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


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
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.int64), generate


@intrinsic
def prefetch(_context: Any, array: Any, at: Any) -> Any:  # noqa: ARG001
    """Ask for the word ``at`` of an array, which may lie beyond its end."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = target.make_array(signature.args[0])(target, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [place.type, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        flags = [ir.Constant(_I32, n) for n in (0, 3, 1)]
        builder.call(function, [place, *flags])
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def pointer(_context: Any, word: Any) -> Any:  # noqa: ARG001
    """An int64 as a pointer."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


@intrinsic
def hand_on4(_context: Any, source: Any, at: Any, order: Any, to: Any) -> Any:  # noqa: ARG001
    """Copy four words ``source[at:]`` to ``order[to:]``, all int64; bit n is set where the lowest
    bit of the n-th word is."""
    shape = ir.VectorType(ir.IntType(64), 4)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def place(k: int) -> Any:
            data = target.make_array(signature.args[k])(target, builder, arguments[k]).data
            return builder.bitcast(builder.gep(data, [arguments[k + 1]]), shape.as_pointer())

        words = builder.load(place(0))
        words.align = 8
        builder.store(words, place(2)).align = 8
        last = builder.trunc(words, ir.VectorType(ir.IntType(1), 4))
        return builder.zext(builder.bitcast(last, ir.IntType(4)), ir.IntType(64))

    return types.int64(source, types.int64, order, types.int64), generate
