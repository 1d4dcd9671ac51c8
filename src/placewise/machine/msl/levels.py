"""Level lists of an MSL file: names resolved, omitted ones inferred, contradictions found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.tree import Level, MemoryEntry, Special


@dataclass(frozen=True)
class Neighbours:
    """Memories above (closer to the cores) and below one, each nearest first."""

    upper: tuple[str, ...]
    lower: tuple[str, ...]


def resolve_levels(
    memories: tuple[MemoryEntry, ...], filename: str, warn: Callable[[str], None]
) -> dict[str, Neighbours]:
    """Neighbours of every memory, by name.

    A list that is ``om`` (or ``?`` or ``na``) follows from the other entries' lists. Raises
    MachineError for a name or id that no memory has and for memories that lie above one another;
    warns of a memory listed beside itself (left out) and of one-sided relations.
    """
    by_id = {str(memory.id): memory.name for memory in memories}
    names = {memory.name for memory in memories}
    below: dict[str, set[str]] = {name: set() for name in names}

    def resolved(memory: MemoryEntry, levels: tuple[Level, ...] | Special) -> list[str]:
        found = []
        for level in () if isinstance(levels, Special) else levels:
            name = level_name(level, by_id, names, filename)
            if name == memory.name:
                warn(f"{_place(filename, level)}: {name} is listed beside itself: left out")
            else:
                found.append(name)
        return found

    stated = {m.name: (resolved(m, m.upper), resolved(m, m.lower)) for m in memories}
    for memory in memories:
        upper, lower = stated[memory.name]
        below[memory.name].update(lower)
        for name in upper:
            below[name].add(memory.name)
    closed = _closure(below)
    for memory in memories:
        if memory.name in closed[memory.name]:
            raise located(
                filename, memory.at, f"{memory.name} lies above itself by its level lists"
            )
    _warn_of_one_sided(memories, stated, filename, warn)
    depth = {name: len(closed[name]) for name in names}
    order = [memory.name for memory in memories]
    return {
        name: Neighbours(
            upper=tuple(sorted((n for n in order if name in closed[n]), key=lambda n: depth[n])),
            lower=tuple(sorted((n for n in order if n in closed[name]), key=lambda n: -depth[n])),
        )
        for name in order
    }


def level_name(level: Level, by_id: Mapping[str, str], names: set[str], filename: str) -> str:
    """Name of the memory that ``level`` names by name or id; MachineError if there is none."""
    name = by_id.get(level.name, level.name)
    if name not in names:
        what = "id" if level.name.isdigit() else "name"
        hint = nearest(name, sorted(by_id if what == "id" else names))
        raise located(filename, level.at, f"no memory has the {what} '{level.name}'", hint)
    return name


def _closure(below: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Everything below each memory, however far."""
    closed = {name: set(lower) for name, lower in below.items()}
    changed = True
    while changed:
        changed = False
        for lower in closed.values():
            further = set().union(*(closed[name] for name in lower)) - lower
            if further:
                lower |= further
                changed = True
    return closed


def _warn_of_one_sided(
    memories: tuple[MemoryEntry, ...],
    stated: Mapping[str, tuple[list[str], list[str]]],
    filename: str,
    warn: Callable[[str], None],
) -> None:
    entries = {memory.name: memory for memory in memories}
    for memory in memories:
        where = f"{filename}:{memory.at.line}:{memory.at.column}"
        upper, lower = stated[memory.name]
        for name in lower:
            if not isinstance(entries[name].upper, Special) and memory.name not in stated[name][0]:
                warn(f"{where}: {memory.name} lists {name} below, which does not list it above")
        for name in upper:
            if not isinstance(entries[name].lower, Special) and memory.name not in stated[name][1]:
                warn(f"{where}: {memory.name} lists {name} above, which does not list it below")


def _place(filename: str, level: Level) -> str:
    return f"{filename}:{level.at.line}:{level.at.column}"
