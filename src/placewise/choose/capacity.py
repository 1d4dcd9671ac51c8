"""How much of each memory of its own size arrays may take together."""

from __future__ import annotations

from placewise.machine.machine import Machine
from placewise.space import MemorySpace, Way


def limited_memories(machine: Machine) -> tuple[str, ...]:
    """Memories that arrays get a part of, and whose size all arrays there share: those that the
    host fills, and those of which each block has a buffer. In the machine file's order."""
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


def standard_memory(machine: Machine, way: Way) -> str | None:
    """The memory that CUDA itself reaches in this way: of several, the one whose name says so
    (``sharedMem``, ``constantMem``), else the first; None where the machine has none."""
    homes = [s.levels[-1] for s in machine.spaces if s.way is way]
    named = [h for h in homes if way.facts.implied.part in h.lower().replace("_", "")]
    return next(iter((*named, *homes)), None)


def bytes_per_block(machine: Machine, memory: str) -> int | None:
    """What a block may have of a memory of which each block has a buffer; None where the file does
    not tell. Of shared memory that is the launch limit, of any other the memory's own size."""
    if memory == standard_memory(machine, Way.KERNEL_BUFFER):
        return machine.limits.shared_bytes_per_block
    return machine.memory(memory).size_bytes


def resident_by(machine: Machine, memory: str, taken_bytes: int) -> int | None:
    """Blocks of an SM whose buffers fit a memory other than shared memory, ``taken_bytes`` each;
    None where the file does not tell its size. A memory that SMs share is shared evenly."""
    found = machine.memory(memory)
    if found.size_bytes is None or not taken_bytes:
        return None
    processor = machine.processor
    sharing = {"die": processor.sms, "tpc": processor.sms_per_tpc}.get(found.scope, 1)
    return int(found.size_bytes // sharing // taken_bytes)
