"""Memory by its address, for compiled functions."""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core import types
from numba.extending import intrinsic

compiled = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of functions that only compiled functions call."""


def _caster(dtype: Any) -> Any:
    pointer = types.CPointer(dtype)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], target.get_value_type(signature.return_type))

    return types.Tuple((pointer,))[0], generate


@intrinsic
def words_at(_context: Any, address: Any) -> Any:  # noqa: ARG001  (Numba reads the name)
    """The 64-bit integers from ``address`` on, to be indexed."""
    pointer, generate = _caster(types.int64)
    return pointer(types.int64), generate


@intrinsic
def bytes_at(_context: Any, address: Any) -> Any:  # noqa: ARG001
    """The bytes from ``address`` on, to be indexed."""
    pointer, generate = _caster(types.uint8)
    return pointer(types.int64), generate
