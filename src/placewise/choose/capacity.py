"""Memories whose limited size several arrays share, and how much of them a block may take."""

from __future__ import annotations

from placewise.kernel.source import ArrayUse
from placewise.machine.machine import Machine, standard_memory
from placewise.space import MemorySpace, Way


def limited_memories(machine: Machine) -> tuple[str, ...]:
    """Memories whose size all arrays there share, in the machine file's order: those that the host
    fills, and those in which each block has a buffer."""
    homes = (s.levels[-1] for s in machine.spaces if s.way.has_own_memory)
    return tuple(dict.fromkeys(homes))


def way_of(machine: Machine, memory: str) -> Way:
    """The way in which a limited memory is reached. Raises KeyError for any other memory."""
    for space in machine.spaces:
        if space.way.has_own_memory and space.levels[-1] == memory:
            return space.way
    raise KeyError(memory)


def space_in(machine: Machine, memory: str) -> MemorySpace:
    """The first space whose arrays live in ``memory``. Raises KeyError where there is none."""
    for space in machine.spaces:
        if space.levels[-1] == memory:
            return space
    raise KeyError(memory)


def bytes_per_block(machine: Machine, memory: str) -> int | None:
    """Bytes that one block's buffer may have: of shared memory the limit of a launch, of any other
    memory its size; None where the machine file does not give it."""
    if memory == standard_memory(machine, Way.KERNEL_BUFFER):
        return machine.limits.shared_bytes_per_block
    return machine.memory(memory).size_bytes


def resident_by(machine: Machine, memory: str, taken_bytes: int) -> int | None:
    """Number of blocks of an SM whose buffers of ``taken_bytes`` each fit a memory other than
    shared memory; None where the machine file does not give its size. Each SM gets an equal part of
    a memory that SMs share."""
    found = machine.memory(memory)
    if found.size_bytes is None or not taken_bytes:
        return None
    processor = machine.processor
    sharing = {"die": processor.sms, "tpc": processor.sms_per_tpc}.get(found.scope, 1)
    return int(found.size_bytes // sharing // taken_bytes)


def rows_obstacle(use: ArrayUse, machine: Machine) -> str | None:
    """Why the array's rows cannot be those of a texture of two dimensions on the machine, or
    None."""
    if use.rows is None:
        return None
    width, height = use.rows.pitch, use.elements // use.rows.pitch
    most, aligned = machine.limits.max_texture_2d, machine.limits.texture_pitch_bytes
    if most is not None and (width > most[0] or height > most[1]):
        return (
            f"{height} rows of {width} elements; a texture of two dimensions has {most[1]} rows of "
            f"{most[0]} at most"
        )
    row_bytes = width * use.parameter.element_bytes
    if aligned is not None and row_bytes % aligned:
        return f"rows of {row_bytes} bytes; those of a texture are multiples of {aligned}"
    return None
