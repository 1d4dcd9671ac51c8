"""The compiled functions of the checker as generated code and Python call them.

Their machine code is kept from one process to the next, by the text of this package: each function
holds all that it calls, of which the files of Numba's cache know nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import Any

from numba import cfunc, types

from placewise.execute.check.compiled import access, blocks, event

_TEXT = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
_I32, _U32, _I64 = types.int32, types.uint32, types.int64
_WHO = (_I64, _I64, _I64, _I64)
"""State, number of the held block, block, warp."""


def _entries(version: int) -> tuple[Any, ...]:
    """The functions; ``version`` is part of what they are kept by."""

    @cfunc(_U32(*_WHO, _I32, _U32), cache=True)
    def check_access(state: int, resident: int, block: int, warp: int, site: int, mask: int) -> int:
        if version == 0:
            return 0
        return access.access(state, resident, block, warp, _I64(site), _I64(mask))

    @cfunc(types.void(*_WHO, _I32, _I32, _I64), cache=True)
    def check_fault(
        state: int, resident: int, block: int, warp: int, site: int, lane: int, address: int
    ) -> None:
        if version != 0:
            access.fault(state, resident, block, warp, _I64(site), _I64(lane), address)

    @cfunc(types.void(*_WHO, _I32, _U32, _U32), cache=True)
    def check_sync(
        state: int, resident: int, block: int, warp: int, number: int, mask: int, alive: int
    ) -> None:
        if version != 0:
            event.synchronise(state, resident, block, warp, _I64(number), _I64(mask), _I64(alive))

    @cfunc(types.void(*_WHO, _I32, _U32, _I64, _I64), cache=True)
    def check_arrival(
        state: int, resident: int, block: int, warp: int, barrier: int, mask: int, number: int,
        waits: int,
    ) -> None:  # fmt: skip
        if version != 0:
            event.arrival(
                state, resident, block, warp, _I64(barrier), _I64(mask), number, waits != 0
            )

    @cfunc(types.void(*_WHO), cache=True)
    def check_resume(state: int, resident: int, block: int, warp: int) -> None:
        if version != 0:
            event.resume(state, resident, block, warp)

    @cfunc(types.void(_I64, _I64), cache=True)
    def leave_all(state: int, residents: int) -> None:
        if version != 0:
            blocks.leave_all(state, residents)

    return check_access, check_fault, check_sync, check_arrival, check_resume, leave_all


(
    check_access,
    check_fault,
    check_sync,
    check_arrival,
    check_resume,
    _leave_all,
) = _entries(1 + int.from_bytes(hashlib.sha256(_TEXT).digest()[:7]))


def leave_all(state: int, residents: int) -> None:
    """The launch has ended: look at what its blocks left open."""
    _leave_all.ctypes(state, residents)


def address_of(function: Any) -> int:
    """Address of one of the functions."""
    return ctypes.cast(function.ctypes, ctypes.c_void_p).value or 0
