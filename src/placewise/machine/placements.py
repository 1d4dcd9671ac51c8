"""The placements of a machine: its ``space`` entries, or what a file without them implies."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from placewise.machine.machine import Memory
from placewise.machine.msl.levels import level_name
from placewise.machine.msl.located import located
from placewise.machine.msl.tree import SpaceEntry
from placewise.space import MemorySpace, Way

_DECLARATIONS = {
    Way.BINDING: "cudaTextureObject_t",
    Way.HOST_BUFFER: "__constant__",
    Way.KERNEL_BUFFER: "__shared__",
}
_INTRINSICS = {Way.INTRINSIC: "__ldg", Way.BINDING: "tex1Dfetch"}


class _Implied(NamedTuple):
    """A space that a memory implies whose name contains ``part``."""

    part: str
    name: str
    letter: str
    way: Way
    path: str


_IMPLIED = (
    _Implied("global", "global", "G", Way.DIRECT, "global"),
    _Implied("readonly", "readonly", "R", Way.INTRINSIC, "texture"),
    _Implied("tex", "texture", "T", Way.BINDING, "texture"),
    _Implied("const", "constant", "C", Way.HOST_BUFFER, "constant"),
    _Implied("shared", "shared", "S", Way.KERNEL_BUFFER, "global"),
)
"""The paths are the three of Kepler (Chen et al. 2017, section 3.1.2)."""


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
                declaration=entry.declaration or _DECLARATIONS.get(way),
                intrinsic=entry.intrinsic or _INTRINSICS.get(way),
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
        implied = next((i for i in _IMPLIED if i.part in folded), None)
        if implied is None:
            if memory.software_managed:
                warn(f"{filename}: {memory.name} has no space entry, and its name implies none")
            continue
        _, name, letter, way, path = implied
        if name in spaces or not (memory.software_managed or way is Way.INTRINSIC):
            continue
        through = memory.lower if way is Way.INTRINSIC else ()
        spaces[name] = MemorySpace(
            name=name,
            letter=letter,
            way=way,
            levels=(*reversed(memory.upper), memory.name, *through),
            path=path,
            writable=memory.writable and way in (Way.DIRECT, Way.KERNEL_BUFFER),
            declaration=_DECLARATIONS.get(way),
            intrinsic=_INTRINSICS.get(way),
        )
        levels = " ".join(spaces[name].levels)
        warn(f"{filename}: no space entries: {name} <{levels}> inferred from {memory.name}")
    return tuple(spaces.values())
