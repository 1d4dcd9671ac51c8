"""Turns rows of the checker's table into findings with messages, places and hints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.executor.check import shadow_layout as at
from placewise.executor.check.checked import Scene
from placewise.executor.check.finding import Finding, Kind, Place, Severity, Thread, together
from placewise.executor.check.hints import hint_for
from placewise.executor.device_memory import address_space
from placewise.executor.device_memory.address_space import Fault
from placewise.executor.device_memory.module_memory import plain_name
from placewise.executor.ir.nodes import Access, Barrier
from placewise.executor.ir.nodes import Place as CodePlace
from placewise.executor.lowering.module_variables import shared_variables
from placewise.executor.runtime.faults import execution_error, shown_file
from placewise.executor.runtime.worker import FaultReport
from placewise.executor.translate import parsed

_KIND = {
    at.BOUNDS: Kind.out_of_bounds,
    at.MISALIGNED: Kind.misaligned,
    at.READ_ONLY: Kind.read_only,
    at.NULL: Kind.null,
    at.UNDEFINED: Kind.uninitialised,
    at.PARTLY_UNDEFINED: Kind.uninitialised,
    at.ASYNC_PENDING: Kind.copy_pending,
    at.BARRIER_SKIPPED: Kind.barrier,
    at.BARRIER_MISMATCH: Kind.barrier_mismatch,
    at.MASK_WITHOUT_SELF: Kind.mask,
    at.MASK_OF_ABSENT: Kind.mask,
    at.SHUFFLE_OF_ABSENT: Kind.shuffle,
}
_VERB = {"load": "reads", "store": "writes", "atomic": "updates"}
_RACE = {
    at.WRITE_WRITE: ("write", "write"),
    at.WRITE_READ: ("read", "write"),
    at.READ_WRITE: ("write", "read"),
}
"""(what this access does, what the earlier one did) by kind of race."""
_WARNINGS = frozenset({Kind.barrier, Kind.barrier_mismatch, Kind.shuffle})
_FAULT_KIND = {
    Fault.LIMIT: Kind.endless,
    Fault.NO_PROGRESS: Kind.endless,
    Fault.TRAP: Kind.trap,
    Fault.DIVERGENT_BARRIER: Kind.barrier,
    Fault.BARRIER: Kind.barrier,
    Fault.BOUNDS: Kind.out_of_bounds,
    Fault.MISALIGNED: Kind.misaligned,
    Fault.SURFACE_BOUNDS: Kind.out_of_bounds,
    Fault.SURFACE_MISALIGNED: Kind.misaligned,
}


def findings_of(scene: Scene, rows: NDArray[np.int64]) -> tuple[Finding, ...]:
    """The findings in a launch's table, the most severe first.

    Findings of one kind, array and set of lines are merged into the most severe of them, or the
    first of several such.
    """
    severities = list(Severity)
    order = np.lexsort((rows[:, at.F_THREAD], rows[:, at.F_BLOCK]))
    found = [_finding(scene, [int(x) for x in row]) for row in rows[order]]
    return tuple(
        sorted(
            together(found),
            key=lambda f: (severities.index(f.severity), f.place.file, f.place.line or 0),
        )
    )


def fault_finding(scene: Scene, report: FaultReport, waiting: int | None) -> Finding:
    """The fault that ended a run, as a finding.

    ``waiting`` is the program block at whose barrier a warp still waits, if there is one.
    """
    module = parsed(scene.kernel)
    error = execution_error(
        report, scene.kernel, scene.launch, module, scene.translation, scene.device
    )
    program = scene.translation.program
    place = Place(scene.kernel.filename, None, "", 0)
    if 0 <= report.site < len(program.accesses):
        access = program.accesses[report.site]
        place = _place(scene, access.place, access.opcode)
    elif report.site <= -2:
        block = program.blocks[-2 - report.site]
        end = getattr(block.terminator, "place", None)
        at_end = end if end is not None and report.fault != Fault.LIMIT else block.place
        if at_end is not None:
            place = _place(scene, at_end, "")
    elif report.fault == Fault.BARRIER and waiting is not None:
        place = _barrier_place(scene, waiting)
    kind = _FAULT_KIND.get(report.fault, Kind.stopped)
    return Finding(
        kind=kind,
        severity=Severity.error,
        message=error.message + "; the run ended here",
        place=place,
        thread=_thread(scene, report.block, report.warp * at.LANES + report.lane),
        other_place=None,
        other_thread=None,
        array=None,
        index=None,
        byte_offset=None,
        count=1,
        hint=error.hint or hint_for(kind),
    )


def _place(scene: Scene, place: CodePlace, instruction: str) -> Place:
    """Source place of an instruction."""
    if place.source is None:
        return Place(scene.kernel.filename, None, instruction, place.line)
    name = shown_file(parsed(scene.kernel), place.source[0], scene.kernel)
    return Place(name, place.source[1], instruction, place.line)


def _thread(scene: Scene, block: int, thread: int) -> Thread:
    """A thread's (x, y, z) indices from the linear numbers of its block and of itself."""
    gx, gy, _ = scene.launch.grid
    bx, by, _ = scene.launch.block
    return Thread(
        (block % gx, block // gx % gy, block // (gx * gy)),
        (thread % bx, thread // bx % by, thread // (bx * by)),
    )


def _finding(scene: Scene, row: list[int]) -> Finding:
    code = row[at.F_KIND]
    if code in (at.BARRIER_SKIPPED, at.BARRIER_MISMATCH):
        return _barrier(scene, row)
    if code in (at.MASK_WITHOUT_SELF, at.MASK_OF_ABSENT, at.SHUFFLE_OF_ABSENT):
        return _lanes(scene, row)
    access = scene.translation.program.accesses[row[at.F_SITE]]
    memory = _memory(scene, access, row)
    where = f"'{memory.name}'" if memory.named else f"{memory.name} memory"
    if memory.shared and memory.named:
        where += " (shared)"
    size = access.bits // 8 * access.count
    verb = f"{_VERB[access.kind]} {size} bytes"
    kind = _KIND.get(code, Kind.shared_race if memory.shared else Kind.global_race)
    severity = Severity.error
    other_place = other_thread = None
    if code == at.NULL:
        address = row[at.F_OFFSET]
        what = "a null pointer" if 0 <= address < 1 << 16 else "in no array"
        message = f"{verb} at address {address & (1 << 64) - 1:#x}: {what}"
    elif code == at.BOUNDS:
        message = f"{verb} out of bounds of {where}: {memory.position}"
    elif code == at.MISALIGNED:
        message = f"{verb} of {where} at byte {memory.offset}, which is no multiple of {size}"
    elif code == at.READ_ONLY:
        message = f"{verb} of {where}, which is read-only, at {memory.position}"
    elif code == at.UNDEFINED:
        message = f"reads {size} bytes of {where} that were never written: {memory.position}"
    elif code == at.PARTLY_UNDEFINED:
        # Compilers merge neighbouring loads, and hoist loads above conditions that may skip them.
        severity = Severity.note
        message = (
            f"reads {size} bytes of {where} at once, some of which were never written: "
            f"{memory.position}"
        )
    else:
        other_thread = _thread(scene, row[at.F_OTHER_BLOCK], row[at.F_OTHER_THREAD])
        if code == at.ASYNC_PENDING:
            message = _pending(access, where, memory, row)
        else:
            other = scene.translation.program.accesses[row[at.F_OTHER_SITE]]
            other_place = _place(scene, other.place, other.opcode)
            message, severity = _race(scene, row, where, memory, other)
    return Finding(
        kind=kind,
        severity=severity,
        message=message,
        place=_place(scene, access.place, access.opcode),
        thread=_thread(scene, row[at.F_BLOCK], row[at.F_THREAD]),
        other_place=other_place,
        other_thread=other_thread,
        array=memory.name,
        index=memory.index,
        byte_offset=memory.offset,
        count=row[at.F_COUNT],
        hint=hint_for(kind, row[at.F_FLAGS], shared=memory.shared),
    )


def _pending(access: Access, where: str, memory: _Memory, row: list[int]) -> str:
    verb = _VERB[access.kind]
    if row[at.F_FLAGS] & at.ASYNC_UNORDERED:
        return (
            f"{verb} {where} at {memory.position}, which another thread copies asynchronously: "
            "no barrier lies between its wait and this access"
        )
    return f"{verb} {where} at {memory.position} before its asynchronous copy has been waited for"


def _race(
    scene: Scene, row: list[int], where: str, memory: _Memory, other: Access
) -> tuple[str, Severity]:
    now, before = _RACE[row[at.F_KIND]]
    access = scene.translation.program.accesses[row[at.F_SITE]]
    now = "atomic" if access.kind == "atomic" else now
    before = "an atomic" if other.kind == "atomic" else f"a {before}"
    apart = row[at.F_FLAGS] & 7
    place = f"{where} at {memory.position}"
    if row[at.F_FLAGS] & at.SAME_VALUE:
        return f"threads write the same value to {place}", Severity.note
    if apart == at.APART_LANES:
        if row[at.F_SITE] == row[at.F_OTHER_SITE] and now == "write" and before == "a write":
            return (
                f"lanes of a warp write different values to {place}: which one stays is undefined",
                Severity.warning,
            )
        return (
            f"{now} of {place} after {before} by another lane of the warp, without "
            "__syncwarp between",
            Severity.warning,
        )
    if apart == at.APART_WARPS:
        return (
            f"{now} of {place} races {before} by another warp of the block: no barrier between",
            Severity.error,
        )
    return f"{now} of {place} races {before} by another block", Severity.error


def _barrier_place(scene: Scene, number: int) -> Place:
    """The barrier at the end of a program block."""
    end = scene.translation.program.blocks[number].terminator
    assert isinstance(end, Barrier)
    return _place(scene, end.place, "bar.sync")


def _barrier(scene: Scene, row: list[int]) -> Finding:
    kind = _KIND[row[at.F_KIND]]
    mismatch = kind is Kind.barrier_mismatch
    other = _barrier_place(scene, row[at.F_OTHER_SITE]) if mismatch else None
    if mismatch:
        message = f"warps of a block wait at different barriers: here, and at {other}"
    else:
        message = "some threads of the block ended without reaching this barrier"
    return Finding(
        kind=kind,
        severity=Severity.warning,
        message=message,
        place=_barrier_place(scene, row[at.F_SITE]),
        thread=_thread(scene, row[at.F_BLOCK], row[at.F_THREAD]),
        other_place=other,
        other_thread=None
        if mismatch
        else _thread(scene, row[at.F_OTHER_BLOCK], row[at.F_OTHER_THREAD]),
        array=None,
        index=None,
        byte_offset=None,
        count=row[at.F_COUNT],
        hint=hint_for(kind),
    )


def _lanes(scene: Scene, row: list[int]) -> Finding:
    sync = scene.translation.program.syncs[row[at.F_SITE]]
    named = f"{row[at.F_EXTRA]:#010x}"
    other = row[at.F_OTHER_THREAD] % at.LANES
    lane = row[at.F_THREAD] % at.LANES
    kind = _KIND[row[at.F_KIND]]
    if row[at.F_KIND] == at.MASK_WITHOUT_SELF:
        message = f"lane {lane} executes '{sync.opcode}' with mask {named}, which leaves it out"
    elif row[at.F_KIND] == at.MASK_OF_ABSENT:
        message = (
            f"mask {named} of '{sync.opcode}' names lane {other}, which is elsewhere in the code"
        )
    else:
        message = f"lane {lane} reads the value of lane {other}, which takes no part in the shuffle"
    warns = kind in _WARNINGS or sync.kind == "warp"
    return Finding(
        kind=kind,
        severity=Severity.warning if warns else Severity.error,
        message=message,
        place=_place(scene, sync.place, sync.opcode),
        thread=_thread(scene, row[at.F_BLOCK], row[at.F_THREAD]),
        other_place=None,
        other_thread=_thread(scene, row[at.F_OTHER_BLOCK], row[at.F_OTHER_THREAD]),
        array=None,
        index=None,
        byte_offset=None,
        count=row[at.F_COUNT],
        hint=hint_for(kind),
    )


@dataclass(frozen=True)
class _Memory:
    """The array or memory space that an address points into."""

    name: str
    shared: bool
    offset: int
    """Bytes from the start of the array."""
    position: str
    """The element or byte in words, for messages."""
    index: tuple[int, ...] | None
    named: bool = True
    """Whether ``name`` is an array or variable, not a whole memory space."""


def _memory(scene: Scene, access: Access, row: list[int]) -> _Memory:
    window, offset = row[at.F_WINDOW], row[at.F_OFFSET]
    size = access.bits // 8
    if window in (at.SHARED_WINDOW, at.LOCAL_WINDOW):
        offset &= (1 << address_space.WINDOW_SHIFT) - 1
        # Addresses in these spaces have 32 bits; those below the start are negative offsets.
        offset -= 1 << 32 if offset >= 1 << 31 else 0
        return _block_memory(scene, window, offset, size)
    if row[at.F_KIND] == at.NULL:
        return _Memory("", False, offset, "", None)
    address = offset
    if row[at.F_KIND] != at.BOUNDS:
        address += window << address_space.WINDOW_SHIFT
    if window in scene.device.freed:
        name = scene.device.freed[window]
        return _Memory(name, False, offset, "the array was freed", None)
    near = scene.device.region_near(address)
    if near is None:
        return _Memory("no array", False, offset, f"address {address:#x}", None)
    region, offset = near
    view = scene.views.get(region.name)
    if view is None:
        elements = region.data.size // size
        text = f"index {offset // size} of {elements} ({size}-byte elements)"
        return _Memory(region.name, False, offset, text, (offset // size,))
    flat = offset // view.itemsize
    index: tuple[int, ...] = (flat,)
    of = f"{view.size} ({view.dtype})"
    if view.ndim > 1 and 0 <= flat < view.size:
        index = tuple(int(i) for i in np.unravel_index(flat, view.shape))
        of = f"shape {view.shape} ({view.dtype})"
    shown = str(index[0]) if len(index) == 1 else str(index)
    text = f"index {shown} of {of}"
    if offset % view.itemsize:
        text += f", byte {offset % view.itemsize} of the element"
    return _Memory(region.name, False, offset, text, index)


def _block_memory(scene: Scene, window: int, offset: int, size: int) -> _Memory:
    """An offset in shared memory, within its variable if it has a name, or in local memory."""
    program = scene.translation.program
    if window == at.LOCAL_WINDOW:
        there = program.local_bytes
        text = f"byte {offset} of the thread's {there}"
        return _Memory("local", False, offset, text, (offset // size,), named=False)
    there = program.shared_bytes + scene.launch.shared_bytes
    offsets, _ = shared_variables(parsed(scene.kernel))
    below = [(start, name) for name, start in offsets.items() if start <= offset < there]
    if not below:
        text = f"byte {offset} of the block's {there}"
        return _Memory("shared", True, offset, text, (offset // size,), named=False)
    start, name = max(below)
    inside = offset - start
    text = f"index {inside // size} ({size}-byte elements)"
    return _Memory(plain_name(name), True, inside, text, (inside // size,))
