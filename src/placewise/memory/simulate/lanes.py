"""How hot functions are compiled, and instructions of the processor that Numba has no words for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

_I32 = ir.IntType(32)

apart = njit(nogil=True, error_model="numpy", _nrt=False)
"""Compiles a function that others call. It can allocate nothing, so that handing arrays on does not
count references: that would take longer than all the rest."""
inlined = njit(nogil=True, error_model="numpy", _nrt=False, forceinline=True)
"""The same, put into its callers."""


def _vector(context: Any, builder: Any, array: tuple[Any, Any], at: Any, lanes: int) -> Any:
    """``lanes`` words of an array of 32-bit words, from ``at`` on."""
    kind, value = array
    data = context.make_array(kind)(context, builder, value).data
    shape = ir.VectorType(_I32, lanes)
    place = builder.bitcast(builder.gep(data, [at]), shape.as_pointer())
    loaded = builder.load(place)
    loaded.align = 4
    return loaded


def _splat(builder: Any, value: Any, lanes: int) -> Any:
    shape = ir.VectorType(_I32, lanes)
    one = builder.insert_element(ir.Constant(shape, ir.Undefined), value, ir.Constant(_I32, 0))
    picks = ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes)
    return builder.shuffle_vector(one, ir.Constant(shape, ir.Undefined), picks)


def _equal(lanes: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, value = arguments
        found = _vector(context, builder, (signature.args[0], array), at, lanes)
        same = builder.icmp_signed("==", found, _splat(builder, value, lanes))
        return builder.zext(builder.bitcast(same, ir.IntType(lanes)), ir.IntType(64))

    def typed(_context: Any, array: Any, at: Any, value: Any) -> Any:  # noqa: ARG001
        return types.int64(array, types.int64, types.int32), generate

    return typed


def _youngest(lanes: int) -> Any:
    """Largest of the unsigned differences now - word among the first ``count`` words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, now, count = arguments
        stamps = _vector(context, builder, (signature.args[0], array), at, lanes)
        shape = ir.VectorType(_I32, lanes)
        age = builder.sub(_splat(builder, now, lanes), stamps)
        number = ir.Constant(shape, list(range(lanes)))
        present = builder.icmp_signed("<", number, _splat(builder, count, lanes))
        age = builder.select(present, age, ir.Constant(shape, [0] * lanes))
        reduce = builder.module.declare_intrinsic(
            f"llvm.vector.reduce.umax.v{lanes}i32", (), ir.FunctionType(_I32, [shape])
        )
        oldest = builder.call(reduce, [age])
        same = builder.icmp_signed("==", age, _splat(builder, oldest, lanes))
        same = builder.and_(same, present)
        flags = builder.zext(builder.bitcast(same, ir.IntType(lanes)), ir.IntType(64))
        # The age and where it is found, in one word.
        high = builder.shl(builder.zext(oldest, ir.IntType(64)), ir.Constant(ir.IntType(64), 16))
        return builder.or_(high, flags)

    def typed(_context: Any, array: Any, at: Any, now: Any, count: Any) -> Any:  # noqa: ARG001
        return types.int64(array, types.int64, types.int32, types.int32), generate

    return typed


equal8 = intrinsic(_equal(8))
equal16 = intrinsic(_equal(16))
"""``(array, at, value)``: bit n is set where word ``at + n`` of a 32-bit array has that value."""
oldest8 = intrinsic(_youngest(8))
oldest16 = intrinsic(_youngest(16))
"""``(array, at, now, count)``: the largest of ``now - word`` (modulo 2**32) among the first
``count`` words from ``at`` on, shifted left by 16, and below it a bit for each word that has it."""


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
