"""Entry points of the compiled checker, for generated code and Python."""

from __future__ import annotations

import ctypes
from typing import Any

from numba import types

from placewise.compiled_code import compiled_callback
from placewise.executor.check.compiled import access, blocks, event

_I32, _U32, _I64 = types.int32, types.uint32, types.int64
_WHO = (_I64, _I64, _I64, _I64)
"""Types of the first parameters: state address, resident block, block, warp."""


@compiled_callback(_U32(*_WHO, _I32, _U32))
def check_access(state: int, resident: int, block: int, warp: int, site: int, mask: int) -> int:
    """Before an access of a warp: the lanes of ``mask`` that may make it."""
    return access.access(state, resident, block, warp, _I64(site), _I64(mask))


@compiled_callback(types.void(*_WHO, _I32, _I32, _I64))
def check_fault(
    state: int, resident: int, block: int, warp: int, site: int, lane: int, address: int
) -> None:
    """A lane's access at ``address`` was refused by the executor."""
    access.fault(state, resident, block, warp, _I64(site), _I64(lane), address)


@compiled_callback(types.void(*_WHO, _I32, _U32, _U32))
def check_sync(
    state: int, resident: int, block: int, warp: int, number: int, mask: int, alive: int
) -> None:
    """Lanes synchronise: a barrier (by number) or a warp-wide operation."""
    event.synchronise(state, resident, block, warp, _I64(number), _I64(mask), _I64(alive))


@compiled_callback(types.void(*_WHO, _I32, _U32, _I64, _I64))
def check_arrival(
    state: int, resident: int, block: int, warp: int, barrier: int, mask: int, number: int,
    waits: int,
) -> None:  # fmt: skip
    """Threads arrive at a named barrier."""
    event.arrival(state, resident, block, warp, _I64(barrier), _I64(mask), number, waits != 0)


@compiled_callback(types.void(*_WHO))
def check_resume(state: int, resident: int, block: int, warp: int) -> None:
    """A warp goes on after a barrier."""
    event.resume(state, resident, block, warp)


@compiled_callback(types.void(_I64, _I64))
def _leave_all(state: int, residents: int) -> None:
    """Compiled part of :func:`leave_all`."""
    blocks.leave_all(state, residents)


def leave_all(state: int, residents: int) -> None:
    """Check the resident blocks at the end of a launch."""
    _leave_all.ctypes(state, residents)


def address_of(function: Any) -> int:
    """Machine address of an entry point."""
    return ctypes.cast(function.ctypes, ctypes.c_void_p).value or 0
