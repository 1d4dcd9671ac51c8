"""Fill a machine file's gaps with the figures of a similar machine, each marked as assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from placewise.machine.load import bundled_specification
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.printer import print_specification
from placewise.machine.msl.tree import (
    DetailEntry,
    LimitEntry,
    LimitsEntry,
    PartEntry,
    Reference,
    SourceEntry,
    Specification,
)

LIMITS = (
    "schedulers_per_sm",
    "issues_per_scheduler",
    "instruction_buffer",
    "instruction_bandwidth",
)
PARTS = ("pipe", "instruction")
DETAILS = (
    "policy",
    "index",
    "writes",
    "write_miss",
    "unified",
    "carve_outs",
    "tags",
    "partial_store",
)
"""Settings that follow from an SM's generation; those of sizes and bandwidths do not."""
_ASSUMED = Reference("like", None)


def with_borrowed(text: str, name: str) -> str:
    """``text`` with limits, pipes, instructions and details of L1 and L2 of the bundled machine
    ``name`` where it has none itself, each marked as assumed. Raises MachineError where ``text`` is
    wrong.
    """
    own = parse_specification(text)
    other = bundled_specification(name)
    limits = own.limits.limits if own.limits else ()
    found = replace(
        own,
        sources=(*own.sources, SourceEntry("like", f"assumed: as of the {name}")),
        limits=LimitsEntry((*limits, *_missing(other.limits, limits))),
        details=tuple(_details(own, other)),
        parts=(*own.parts, *(_assumed(part) for part in other.parts if part.kind in PARTS)),
    )
    return print_specification(found)


def _missing(other: LimitsEntry | None, own: tuple[LimitEntry, ...]) -> Iterable[LimitEntry]:
    said = {limit.name for limit in own}
    for limit in other.limits if other else ():
        if limit.name in LIMITS and limit.name not in said:
            yield replace(limit, reference=_ASSUMED)


def _details(own: Specification, other: Specification) -> Iterable[DetailEntry]:
    theirs = {detail.name: detail.settings for detail in other.details}
    memories = {memory.name for memory in own.memories}
    entries = {detail.name: detail for detail in own.details}
    for memory in ("L1", "L2"):
        if memory in memories:
            entries.setdefault(memory, DetailEntry(memory, ()))
    for name, detail in entries.items():
        said = {entry.name for entry in detail.settings}
        more = tuple(
            replace(entry, reference=_ASSUMED)
            for entry in theirs.get(name, ())
            if entry.name in DETAILS and entry.name not in said
        )
        if detail.settings or more:
            yield replace(detail, settings=(*detail.settings, *more))


def _assumed(part: PartEntry) -> PartEntry:
    settings = tuple(replace(entry, reference=_ASSUMED) for entry in part.settings)
    return replace(part, settings=settings)
