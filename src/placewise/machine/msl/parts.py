"""``pipe``, ``instruction``, ``tlb`` and ``dram`` entries of an MSL file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from placewise.machine.machine import Dram, InstructionTiming, Memory, Pipe, Tlb
from placewise.machine.msl.details import POLICIES
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.settings import (
    Kind,
    bits,
    count,
    counts,
    cycles,
    lanes_per_cycle,
    name,
    names,
    nanoseconds,
    parity,
    read_settings,
    size,
    word,
)
from placewise.machine.msl.tree import LimitEntry, PartEntry


@dataclass(frozen=True)
class Parts:
    """What an MSL file says of a machine beside its memories."""

    pipes: tuple[Pipe, ...] = ()
    instructions: tuple[InstructionTiming, ...] = ()
    tlbs: tuple[Tlb, ...] = ()
    dram: Dram | None = None


def read_parts(
    entries: tuple[PartEntry, ...],
    memories: tuple[Memory, ...],
    cite: Callable[[LimitEntry], str | None],
    filename: str,
) -> Parts:
    """The parts, each kind in the order of the file.

    Raises MachineError for a second entry of a name, an unknown setting, a TLB before no memory of
    the machine, and settings that contradict one another.
    """
    found: dict[str, dict[str | None, Any]] = {kind: {} for kind in _KINDS}
    for entry in entries:
        of_kind = found[entry.kind]
        if entry.name in of_kind:
            named = f"{entry.kind} entry" + (f" of {entry.name}" if entry.name else "")
            raise located(filename, entry.at, f"a second {named}")
        part = _part(entry, cite, filename)
        message = _contradiction(part)
        if message:
            named = entry.name or entry.kind
            raise located(filename, entry.at, f"{named}: {message}")
        if isinstance(part, Tlb) and part.before is not None:
            known = [memory.name for memory in memories]
            if part.before not in known:
                hint = nearest(part.before, known)
                raise located(filename, entry.at, f"no memory is called '{part.before}'", hint)
        of_kind[entry.name] = part
    return Parts(
        tuple(found["pipe"].values()),
        tuple(found["instruction"].values()),
        tuple(found["tlb"].values()),
        found["dram"].get(None),
    )


def _part(
    entry: PartEntry, cite: Callable[[LimitEntry], str | None], filename: str
) -> Pipe | InstructionTiming | Tlb | Dram:
    kinds = _KINDS[entry.kind]
    values, sources = read_settings(entry.settings, kinds, "setting", cite, filename)
    fields: dict[str, Any] = {}
    for setting, kind in kinds.items():
        value = values.get(setting)
        fields[kind.field] = kind.default if value is None else value
    match entry.kind:
        case "pipe":
            return Pipe(entry.name or "", sources=sources, **fields)
        case "instruction":
            return InstructionTiming(entry.name or "", sources=sources, **fields)
        case "tlb":
            return Tlb(entry.name or "", sources=sources, **_with_all_sets(fields))
        case _:
            return Dram(sources=sources, **fields)


def _with_all_sets(fields: dict[str, Any]) -> dict[str, Any]:
    """``entries = 16; ways = 4`` says four sets of 4 ways."""
    ways, entries = fields["ways"], fields["entries"]
    if len(ways) == 1 and entries and entries % ways[0] == 0:
        return {**fields, "ways": ways * (entries // ways[0])}
    return fields


def _contradiction(part: Pipe | InstructionTiming | Tlb | Dram) -> str | None:
    if isinstance(part, Tlb):
        if part.entries and part.ways and sum(part.ways) != part.entries:
            return "the sets' ways do not add up to the entries"
        if part.page_bytes and part.page_bytes & (part.page_bytes - 1):
            return "a page must be a power of two"
    if isinstance(part, Dram):
        own = set(part.column_bits) & set(part.row_bits)
        if own:
            return f"bit {min(own)} is both of the column and of the row"
        for what, number, hashes in (
            ("channels", part.channels, part.channel_hashes),
            ("banks", part.banks, part.bank_hashes),
        ):
            if number and hashes and number > 1 << len(hashes):
                return f"{len(hashes)} {what[:-1]} lines tell {1 << len(hashes)} {what} apart"
    return None


_KINDS: Mapping[str, Mapping[str, Kind]] = {
    "pipe": {
        "width": Kind("lanes_per_cycle", lanes_per_cycle, "width = 64 lanes/clk;"),
        "latency": Kind("latency_cycles", cycles, "latency = 4 clk;"),
        "executes": Kind("executes", names, "executes = <FFMA FADD>;", ()),
    },
    "instruction": {
        "rate": Kind("lanes_per_cycle", lanes_per_cycle, "rate = 32 lanes/clk;"),
        "latency": Kind("latency_cycles", cycles, "latency = 5 clk;"),
        "issue": Kind("issue_cycles", cycles, "issue = 2 clk;"),
    },
    "tlb": {
        "entries": Kind("entries", count, "entries = 16;"),
        "ways": Kind("ways", counts, "ways = 8;  or, a figure for each set, ways = <17 8 8>;", ()),
        "page": Kind("page_bytes", size, "page = 2 MB;"),
        "scope": Kind("scope", word, "scope = sm;", words=("sm", "tpc", "die")),
        "before": Kind("before", name, "before = L2;"),
        "policy": Kind("policy", word, "policy = lru;", words=POLICIES[:-1]),
        "latency": Kind("latency_cycles", cycles, "latency = 90 clk;"),
        "walk": Kind("walk_cycles", cycles, "walk = 250 clk;"),
    },
    "dram": {
        "channels": Kind("channels", count, "channels = 40;"),
        "banks": Kind("banks", count, "banks = 16;"),
        "row": Kind("row_bytes", size, "row = 2 KB;"),
        "columns": Kind("column_bits", bits, "columns = <3 4 5>;", ()),
        "rows": Kind("row_bits", bits, "rows = <15 16 17>;", ()),
        "bank": Kind("bank_hashes", parity, "bank = <6 15>;", (), repeats=True),
        "channel": Kind("channel_hashes", parity, "channel = <8 17>;", (), repeats=True),
        "hit": Kind("hit_ns", nanoseconds, "hit = 352 ns;"),
        "miss": Kind("miss_ns", nanoseconds, "miss = 742 ns;"),
        "conflict": Kind("conflict_ns", nanoseconds, "conflict = 1008 ns;"),
    },
}
"""``weighted`` is no policy of a TLB: there is no setting for its ways' shares."""
