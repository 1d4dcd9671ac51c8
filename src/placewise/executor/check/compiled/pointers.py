"""Memory by its address, for compiled functions."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any, Protocol, TypeVar

from numba import njit
from numba.core import types
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])
_types: Any = types


class _Decorator(Protocol):
    def __call__(self, function: _Function, /) -> _Function: ...


compiled: _Decorator = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of functions that only compiled functions call; their machine code is kept on disk as
part of the entry points' (:mod:`.entry`)."""


def _caster(dtype: Any) -> Any:
    pointer = _types.CPointer(dtype)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], target.get_value_type(signature.return_type))

    return pointer, generate


@intrinsic
def _words(_context: Any, address: Any) -> Any:  # noqa: ARG001  (Numba reads the name)
    pointer, generate = _caster(_types.int64)
    return pointer(_types.int64), generate


@intrinsic
def _bytes(_context: Any, address: Any) -> Any:  # noqa: ARG001
    pointer, generate = _caster(_types.uint8)
    return pointer(_types.int64), generate


words_at: Callable[[int], MutableSequence[int]] = _words
"""The 64-bit integers from an address on, to be indexed."""

bytes_at: Callable[[int], MutableSequence[int]] = _bytes
"""The bytes from an address on, to be indexed."""
