"""Messages for what went wrong in a kernel, which name the place in its source."""

from __future__ import annotations

from pathlib import Path

from placewise.errors import ExecutionError, TooSmall
from placewise.executor.device_memory.address_space import (
    WINDOW_OF_SPACE,
    WINDOW_SHIFT,
    Fault,
    handle,
)
from placewise.executor.device_memory.device import Device
from placewise.executor.ir.nodes import Barrier, Place, Trap
from placewise.executor.lowering.traps import NO_FUNCTION, OVERFLOW, STACK_BYTES
from placewise.executor.runtime.worker import FaultReport
from placewise.executor.texture import texture_words
from placewise.executor.translate import Translation
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.kernel.ptx import Module


def execution_error(
    report: FaultReport,
    kernel: Kernel,
    launch: Launch,
    module: Module,
    translation: Translation,
    device: Device,
) -> ExecutionError:
    """The error to raise for a fault."""
    place = _place(report, translation)
    where = _where(place, kernel, module)
    who = _who(report, launch)
    if report.fault in (Fault.BOUNDS, Fault.MISALIGNED):
        bounds = report.fault == Fault.BOUNDS
        small = _too_small(report, translation, device, module) if bounds else None
        said = f"{_access(report, translation, device)} in {who}"
        hint = None if small is None else _enlarge(small, launch)
        return ExecutionError(said, where=where, hint=hint, too_small=small)
    if report.fault in _TEXTURE_FAULTS:
        return ExecutionError(f"{_texture(report, translation, device)} in {who}", where=where)
    if report.fault == Fault.LIMIT:
        return ExecutionError(
            f"the kernel does not end: a warp exceeded the instruction limit in {who}",
            where=where,
            hint="raise the limit if the kernel is right (--limit, or instruction_limit=)",
        )
    if report.fault == Fault.TRAP and report.assertion is not None:
        a = report.assertion
        return ExecutionError(
            f"assertion '{a.expression}' failed in {a.function} ({a.file}:{a.line}), {who}",
            where=where,
        )
    if report.fault == Fault.NO_PROGRESS:
        return ExecutionError(
            f"the kernel does not end: its warps wait for each other, and none gets on, in {who}",
            where=where,
        )
    if report.fault == Fault.DIVERGENT_BARRIER:
        return ExecutionError(
            f"a barrier that only some threads of a warp reach, in {who}", where=where
        )
    if report.fault == Fault.BARRIER:
        return ExecutionError(f"warps wait at barriers that never complete, in {who}", where=where)
    if report.fault == Fault.FREE:
        return ExecutionError(
            f"free() of {report.address:#x}, which malloc() did not return or is freed already, "
            f"in {who}",
            where=where,
        )
    what, hint = _TRAPS[_trap_reason(report, translation)]
    return ExecutionError(f"{what} in {who}", where=where, hint=hint)


_TRAPS: dict[str, tuple[str, str | None]] = {
    "": ("the kernel trapped (assertion or __trap)", None),
    OVERFLOW: (
        f"the stack of a thread is full ({STACK_BYTES} bytes): functions call themselves too deep",
        None,
    ),
    NO_FUNCTION: (
        "a call through a pointer that is the address of no function of this type",
        None,
    ),
}
"""Message and hint by a trap's reason."""


def _trap_reason(report: FaultReport, translation: Translation) -> str:
    if report.site > -2:
        return ""
    end = translation.program.blocks[-2 - report.site].terminator
    return end.reason if isinstance(end, Trap) else ""


def _place(report: FaultReport, translation: Translation) -> Place | None:
    """Where a fault occurred. Sites are numbered from 0; -2 and below stand for the ends of
    blocks."""
    program = translation.program
    if 0 <= report.site < len(program.accesses):
        return program.accesses[report.site].place
    if report.site <= -2:
        block = program.blocks[-2 - report.site]
        end = block.terminator
        if report.fault != Fault.LIMIT and isinstance(end, Trap | Barrier):
            return end.place
        return block.place
    return None


def _where(place: Place | None, kernel: Kernel, module: Module) -> str:
    if place is None:
        return kernel.filename
    if place.source is None:
        return f"{kernel.filename} (PTX line {place.line})"
    return f"{shown_file(module, place.source[0], kernel)}:{place.source[1]}"


def shown_file(module: Module, number: int, kernel: Kernel) -> str:
    """A source file as messages name it. A source that was given as text has no file, and headers
    are handed to the compiler as texts, though PTX names files in the working directory."""
    name = module.files.get(number, kernel.filename)
    if Path(name).exists():
        return name
    if name.endswith(f"/{kernel.filename}"):
        return kernel.filename
    try:
        header = Path(name).relative_to(Path.cwd())
    except (ValueError, FileNotFoundError):
        return name
    beside = Path(kernel.filename).parent / header
    return str(beside if beside.exists() else header)


def _who(report: FaultReport, launch: Launch) -> str:
    gx, gy, _ = launch.grid
    bx, by, _ = launch.block
    b, t = report.block, report.warp * 32 + report.lane
    block = (b % gx, b // gx % gy, b // (gx * gy))
    thread = (t % bx, t // bx % by, t // (bx * by))
    return f"block {block}, thread {thread}"


def _access(report: FaultReport, translation: Translation, device: Device) -> str:
    access = translation.program.accesses[report.site]
    size = access.bits // 8 * access.count
    verb = {"load": "reads", "store": "writes", "atomic": "updates"}[access.kind]
    how = "misaligned" if report.fault == Fault.MISALIGNED else "out of bounds"
    head = f"{how}: '{access.opcode}' {verb} {size} bytes"
    window = report.address >> WINDOW_SHIFT
    if access.space in ("shared", "local"):
        return f"{head} at offset {report.address} of the {access.space} memory"
    for space, number in WINDOW_OF_SPACE.items():
        if window == number:
            offset = report.address - (number << WINDOW_SHIFT)
            return f"{head} at offset {offset} of the {space} memory"
    if window <= 0:
        return f"{head} at address {report.address:#x}, a null pointer"
    if window in device.freed:
        return f"{head} at address {report.address:#x}, in array '{device.freed[window]}': freed"
    near = device.region_near(report.address)
    if near is None:
        return f"{head} at address {report.address:#x}, which is in no array"
    region, offset = near
    if report.fault == Fault.MISALIGNED:
        return f"{head} at byte offset {offset} of array '{region.name}'"
    if 0 <= offset <= region.data.size - size:
        return f"'{access.opcode}' {verb} {size} bytes of '{region.name}', which is read-only"
    return (
        f"{head} at byte offset {offset} of array '{region.name}' ({region.data.size} bytes), "
        f"index {offset // size} counted in {size}-byte elements"
    )


def _too_small(
    report: FaultReport, translation: Translation, device: Device, module: Module
) -> TooSmall | None:
    """The shared memory or the array that the user may have given too few bytes."""
    window = report.address >> WINDOW_SHIFT
    access = translation.program.accesses[report.site]
    size = access.bits // 8 * access.count
    if access.space == "shared" or window == WINDOW_OF_SPACE["shared"]:
        if not any(v.space == "shared" and v.external for v in module.variables.values()):
            return None
        static = translation.program.shared_bytes
        end = (report.address & (1 << WINDOW_SHIFT) - 1) + size
        return TooSmall("", end - static) if end > static else None
    array = next((r for r in device.regions if r.window == window), None)
    if access.space == "local" or array is None:
        return None
    end = report.address - array.address + size
    return TooSmall(array.name, end) if end > array.data.size else None


def _enlarge(small: TooSmall, launch: Launch) -> str:
    if small.array:
        return (
            f"if the kernel is right, '{small.array}' needs more elements, or the launch fewer "
            "threads"
        )
    return (
        "the kernel has shared memory whose size the launch gives, which is now "
        f"{launch.shared_bytes} bytes: shared_bytes of make_case, or in [launch] of a case file"
    )


_TEXTURE_FAULTS = frozenset(
    {Fault.NO_TEXTURE, Fault.TEXTURE_SHAPE, Fault.SURFACE_BOUNDS, Fault.SURFACE_MISALIGNED}
)


def _texture(report: FaultReport, translation: Translation, device: Device) -> str:
    access = translation.program.accesses[report.site]
    region = next((r for r in device.regions if handle(r.window) == report.address), None)
    if region is None or region.texture is None:
        return f"'{access.opcode}' is given {report.address:#x}, no texture or surface object"
    words = region.texture
    extent = " × ".join(
        str(words[n])
        for n in (texture_words.WIDTH, texture_words.HEIGHT, texture_words.DEPTH)
        if words[n] > 1
    )
    if report.fault == Fault.TEXTURE_SHAPE:
        shape = texture_words.SHAPES[words[texture_words.SHAPE]]
        return f"'{access.opcode}' accesses '{region.name}', which is {shape} ({extent} texels)"
    if report.fault == Fault.SURFACE_MISALIGNED:
        size = access.bits // 8 * access.count
        return (
            f"misaligned: '{access.opcode}' accesses '{region.name}' at an x that is no multiple "
            f"of {size} bytes"
        )
    return f"out of bounds: '{access.opcode}' is outside of surface '{region.name}' ({extent})"
