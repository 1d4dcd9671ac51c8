"""The placements of a machine: its ``space`` entries, or what a file without them implies."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from placewise.machine.machine import Memory
from placewise.machine.msl.levels import level_name
from placewise.machine.msl.located import located
from placewise.machine.msl.tree import SpaceEntry
from placewise.space import MemorySpace, Way


def read_spaces(
    entries: tuple[SpaceEntry, ...], memories: tuple[Memory, ...], filename: str
) -> tuple[MemorySpace, ...]:
    """Spaces of a machine file.

    Raises MachineError for a name or letter given twice, levels that are not memories or do not
    lie above the home memory, a home that software does not manage, and writing to what is
    read-only.
    """
    by_name = {memory.name: memory for memory in memories}
    by_id = {str(memory.id): memory.name for memory in memories}
    spaces: list[MemorySpace] = []
    for entry in entries:
        for space in spaces:
            if entry.name == space.name:
                raise located(filename, entry.at, f"a second space named '{entry.name}'")
            if entry.letter == space.letter:
                message = f"letter {entry.letter} of space '{entry.name}' is that of '{space.name}'"
                raise located(filename, entry.at, message)
        names = tuple(level_name(level, by_id, set(by_name), filename) for level in entry.levels)
        home = by_name[names[-1]]
        if not home.software_managed:
            raise located(
                filename,
                entry.levels[-1].at,
                f"space '{entry.name}' ends in {home.name}, where software can place nothing",
                "the last level is the memory that holds the data",
            )
        for (nearer, farther), level in zip(pairwise(names), entry.levels[1:], strict=True):
            if farther not in by_name[nearer].lower:
                raise located(
                    filename,
                    level.at,
                    f"{farther} is not below {nearer}",
                    "levels go from the cores outwards; see the memories' level lists",
                )
        writable = entry.rw == "RW"
        if writable and not home.writable:
            raise located(
                filename, entry.at, f"space '{entry.name}' is RW, but {home.name} is read-only"
            )
        way = Way(entry.way)
        spaces.append(
            MemorySpace(
                name=entry.name,
                letter=entry.letter,
                way=way,
                levels=names,
                path=entry.path,
                writable=writable,
                declaration=entry.declaration or way.facts.declaration,
                intrinsic=entry.intrinsic or way.facts.load_function,
            )
        )
    return tuple(spaces)


def infer_spaces(
    memories: tuple[Memory, ...], filename: str, warn: Callable[[str], None]
) -> tuple[MemorySpace, ...]:
    """Spaces that the memories' names imply, where no ``space`` entry is; warns of each."""
    spaces: dict[str, MemorySpace] = {}
    for memory in memories:
        folded = memory.name.lower().replace("_", "")
        way = next((way for way in Way if way.facts.implied.part in folded), None)
        if way is None:
            if memory.software_managed:
                warn(f"{filename}: {memory.name} has no space entry, and its name implies none")
            continue
        name, cached = way.facts.implied.name, way.facts.by_load_function
        if name in spaces or not (memory.software_managed or cached):
            continue
        through = memory.lower if cached else ()
        spaces[name] = MemorySpace(
            name=name,
            letter=way.facts.implied.letter,
            way=way,
            levels=(*reversed(memory.upper), memory.name, *through),
            path=way.facts.implied.path,
            writable=memory.writable and way.can_be_written,
            declaration=way.facts.declaration,
            intrinsic=way.facts.load_function,
        )
        levels = " ".join(spaces[name].levels)
        warn(f"{filename}: no space entries: {name} <{levels}> inferred from {memory.name}")
    return tuple(spaces.values())
