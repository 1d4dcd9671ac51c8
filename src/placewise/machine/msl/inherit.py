"""Inheritance: a file that starts from another one's description and states only what differs.

``machine A100_80 like A100;`` takes all entries of the base. An entry of the file's own then

- replaces the inherited one of that name, for memories and spaces, and the processor entry;
- merges with it, setting by setting, for ``limits``, ``detail``, ``pipe``, ``instruction``,
  ``tlb`` and ``dram``: a setting given again replaces the inherited one (all lines of one that
  repeats), ``?`` makes it unknown;
- sets single fields of an inherited memory, for ``change``;
- removes the inherited one, for ``without``, which is done first.

Entries keep the base's order; new ones follow. Own figures may cite the base's sources. Inherited
figures keep the text of their source, with "inherited from" and the base's name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.settings import Kind, count, wrong
from placewise.machine.msl.tree import (
    ChangeEntry,
    DetailEntry,
    Extent,
    Latency,
    LimitEntry,
    MemoryEntry,
    PartEntry,
    Position,
    Provenance,
    Quantity,
    Reference,
    Size,
    Special,
    Specification,
    WithoutEntry,
)

T = TypeVar("T")
Settings = TypeVar("Settings", DetailEntry, PartEntry)


def as_inherited(base: Specification, name: str, filename: str) -> Specification:
    """``base`` with positions that name its file, and sources that say that they are inherited.

    ``name`` is what the base is called in these sources. The names of sources are replaced by
    their texts, since the heir may declare the same names with other texts.
    """
    texts = {entry.name: entry.text for entry in base.sources}
    says = f"inherited from {name}"

    def marked(value: Any) -> Any:
        match value:
            case Position():
                return value if value.file else replace(value, file=filename)
            case Reference():
                if value.name is not None and value.name not in texts:
                    hint = nearest(value.name, texts)
                    message = f"no source is declared as '{value.name}'"
                    raise located(filename, value.at, message, hint)
                if value.name is None and "inherited from" in (value.text or ""):
                    return value
                parts = (texts.get(value.name or ""), value.text, says)
                text = ", ".join(part for part in parts if part)
                return Reference(None, text, at=marked(value.at))
            case LimitEntry(reference=None):
                value = replace(value, reference=Reference(None, says, at=value.at))
            case tuple():
                return tuple(marked(item) for item in value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: marked(getattr(value, f.name)) for f in fields(value)})
        return value

    return replace(
        base,
        processor=marked(base.processor),
        limits=marked(base.limits),
        memories=marked(base.memories),
        details=marked(base.details),
        parts=marked(base.parts),
        spaces=marked(base.spaces),
    )


_OF_THE_CLOCK = ("clock_base", "clock_sustained", "clock_highest", "time_factor")
"""Limits that a machine with a clock of its own does not inherit."""


def with_base(own: Specification, base: Specification, filename: str) -> Specification:
    """The whole description: ``own`` on top of ``base``, which :func:`as_inherited` gave.

    Raises MachineError, located in ``filename``, for a ``change`` or ``without`` of what the base
    does not have, and a field that ``change`` cannot set.
    """
    for gone in own.without:
        base = _removed(base, gone, filename)
    memories = _changed(base.memories, own.changes, filename)
    limits = own.limits or base.limits
    if own.limits and base.limits:
        inherited = base.limits.limits
        if any(entry.name == "clock" for entry in own.limits.limits):
            # Another board's clocks say nothing of this one's.
            inherited = tuple(entry for entry in inherited if entry.name not in _OF_THE_CLOCK)
        settings = _merged_settings(inherited, own.limits.limits)
        limits = replace(own.limits, limits=settings)
    return replace(
        own,
        sources=_overlaid(base.sources, own.sources, lambda source: source.name),
        processor=own.processor or base.processor,
        limits=limits,
        memories=_overlaid(memories, own.memories, lambda memory: memory.name),
        details=_overlaid(base.details, own.details, lambda detail: detail.name, _merged),
        parts=_overlaid(base.parts, own.parts, lambda part: (part.kind, part.name), _merged),
        spaces=_overlaid(base.spaces, own.spaces, lambda space: space.name),
        changes=(),
        without=(),
        warnings=(*base.warnings, *own.warnings),
    )


def _overlaid(
    base: tuple[T, ...],
    own: tuple[T, ...],
    key: Callable[[T], Hashable],
    merge: Callable[[T, T], T] = lambda _, entry: entry,
) -> tuple[T, ...]:
    """The base's entries in their order, each merged with the first own one of its key; then the
    own ones that are left, second entries of a key among them, which are an error later."""
    left = list(own)
    entries = []
    for entry in base:
        mine = next((e for e in left if key(e) == key(entry)), None)
        if mine is not None:
            left.remove(mine)
        entries.append(entry if mine is None else merge(entry, mine))
    return (*entries, *left)


def _merged(base: Settings, own: Settings) -> Settings:
    return replace(own, settings=_merged_settings(base.settings, own.settings))


def _merged_settings(
    base: tuple[LimitEntry, ...], own: tuple[LimitEntry, ...]
) -> tuple[LimitEntry, ...]:
    """Inherited settings in their order, replaced where given again; then the new ones."""
    mine: dict[str, list[LimitEntry]] = {}
    for setting in own:
        mine.setdefault(setting.name, []).append(setting)
    settings: list[LimitEntry] = []
    replaced: set[str] = set()
    for setting in base:
        if setting.name not in mine:
            settings.append(setting)
        elif setting.name not in replaced:
            settings += mine[setting.name]
            replaced.add(setting.name)
    return (*settings, *(entry for entry in own if entry.name not in replaced))


def _removed(base: Specification, gone: WithoutEntry, filename: str) -> Specification:
    """``base`` without one entry; a memory goes with its details."""

    def rest(entries: tuple[T, ...], names: Iterable[str | None]) -> tuple[T, ...]:
        known = list(names)
        if gone.name not in known:
            what = f"{gone.kind} {gone.name}" if gone.name else gone.kind
            hint = nearest(gone.name, [n for n in known if n]) if gone.name else None
            raise located(filename, gone.at, f"the base has no {what} to leave out", hint)
        return tuple(e for e, name in zip(entries, known, strict=True) if name != gone.name)

    match gone.kind:
        case "memory":
            details = tuple(d for d in base.details if d.name != gone.name)
            memories = rest(base.memories, (m.name for m in base.memories))
            return replace(base, memories=memories, details=details)
        case "detail":
            return replace(base, details=rest(base.details, (d.name for d in base.details)))
        case "space":
            return replace(base, spaces=rest(base.spaces, (s.name for s in base.spaces)))
        case kind:
            alike = tuple(p for p in base.parts if p.kind == kind)
            kept = rest(alike, (p.name for p in alike))
            return replace(base, parts=tuple(p for p in base.parts if p.kind != kind or p in kept))


def _changed(
    memories: tuple[MemoryEntry, ...], changes: tuple[ChangeEntry, ...], filename: str
) -> tuple[MemoryEntry, ...]:
    by_name = {memory.name: memory for memory in memories}
    for change in changes:
        if change.name not in by_name:
            hint = nearest(change.name, by_name)
            raise located(
                filename, change.at, f"no inherited memory is called '{change.name}'", hint
            )
        seen: set[str] = set()
        for setting in change.settings:
            if setting.name not in _FIELDS:
                raise located(
                    filename,
                    setting.at,
                    f"change sets {', '.join(_FIELDS)}, not '{setting.name}'",
                    "to give a memory other fields, write its whole entry",
                )
            if setting.name in seen:
                raise located(filename, setting.at, f"field '{setting.name}' is given twice")
            seen.add(setting.name)
            by_name[change.name] = _with_field(by_name[change.name], setting, filename)
    return tuple(by_name[memory.name] for memory in memories)


def _with_field(memory: MemoryEntry, setting: LimitEntry, filename: str) -> MemoryEntry:
    """The memory with one field set, and its source in place of the inherited one."""
    kind = _FIELDS[setting.name]
    unknown = isinstance(setting.value, Special)
    value = Special.UNKNOWN if unknown else kind.read(setting, kind, filename)
    provenance = [
        replace(entry, fields=tuple(f for f in entry.fields if f != setting.name))
        for entry in memory.provenance
    ]
    kept = tuple(entry for entry in provenance if entry.fields)
    if setting.reference is not None:
        own = Provenance((setting.name,), setting.reference, at=setting.at)
        kept = (*kept, own)
    fields: dict[str, Any] = {kind.field: value}
    return replace(memory, **fields, provenance=kept)


def _size(entry: LimitEntry, kind: Kind, filename: str) -> tuple[Size, ...]:
    """``80 GB``, ``40960 KB``, ``128 ME``."""
    match entry.value:
        case Quantity(value, str(unit)) if value == int(value) and value > 0:
            prefix, counted = unit[:-1], unit[-1:]
            if prefix in ("", "K", "M", "G", "T") and counted in ("B", "E"):
                return (Size(int(value), prefix, counted, at=entry.value.at),)
    raise wrong(entry, kind, filename)


def _latency(entry: LimitEntry, kind: Kind, filename: str) -> tuple[Latency, ...]:
    """``568 clk``, ``350 ns``, or ``<23 19> clk`` for read and write."""
    values: tuple[Decimal, ...] = ()
    unit: str | None = None
    match entry.value:
        case Quantity(value, unit):
            values = (value,)
        case Extent(values, unit):
            pass
    if unit not in ("clk", "ns", "us", "ms", "sec") or len(values) not in (1, 2) or 0 in values:
        raise wrong(entry, kind, filename)
    return tuple(Latency(value, unit, at=entry.at) for value in values)


_FIELDS: Mapping[str, Kind] = {
    "size": Kind("size", _size, "size = 80 GB;"),
    "blockSize": Kind("block_size", _size, "blockSize = 32 B;"),
    "banks": Kind("banks", count, "banks = 32;"),
    "latency": Kind("latency", _latency, "latency = 568 clk;  or <23 19> clk, read and write;"),
}
"""Fields of a memory that ``change`` can set."""
