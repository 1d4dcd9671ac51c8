"""A syntax tree to a :class:`Machine`: units converted, omissions inferred, names checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from placewise.errors import MachineError
from placewise.machine.condition import MOST_BANKS, SerialCondition
from placewise.machine.machine import Limits, Machine, Memory, Processor
from placewise.machine.msl.details import with_details
from placewise.machine.msl.levels import Neighbours, resolve_levels
from placewise.machine.msl.limits import read_limits
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.parts import read_parts
from placewise.machine.msl.spaces import infer_spaces, read_spaces
from placewise.machine.msl.tree import (
    Binary,
    Expression,
    Floor,
    Keyword,
    Latency,
    LimitEntry,
    MemoryEntry,
    Position,
    Provenance,
    Reference,
    Size,
    Special,
    Specification,
)

ELEMENT_BYTES = 4
"""Assumed of an element where a size is given in elements: the word of Chen et al. 2017."""

LARGEST_BLOCK = 1 << 40
"""Beyond any memory of a GPU; products of two such figures still fit 64 bits with an address."""

_SECONDS = {"ns": Decimal("1e-9"), "us": Decimal("1e-6"), "ms": Decimal("1e-3"), "sec": Decimal(1)}


def resolve(specification: Specification, filename: str) -> Machine:
    """The machine that ``specification`` describes. Raises MachineError located in ``filename``."""
    return _Resolver(specification, filename).machine()


class _Resolver:
    def __init__(self, specification: Specification, filename: str) -> None:
        self.specification = specification
        self.filename = filename
        self.warnings = list(specification.warnings)
        self.cited = {entry.name: entry.text for entry in specification.sources}

    def machine(self) -> Machine:
        spec = self.specification
        self._unique(((m.name, m.at) for m in spec.memories), "memory named")
        self._unique(((str(m.id), m.at) for m in spec.memories), "memory with id")
        self._unique(((s.name, s.at) for s in spec.sources), "source named")
        neighbours = resolve_levels(spec.memories, self.filename, self.warnings.append)
        entry = spec.processor
        if entry is None:
            raise located(self.filename, Position(), "no processor entry", "nor has the base one")
        processor = Processor(
            entry.tpcs, entry.sms_per_tpc, entry.cores_per_sm, self._sources(entry.provenance)
        )
        limits = read_limits(
            spec.limits,
            self._shared_bytes(),
            self._setting_source,
            self.filename,
            self.warnings.append,
        )
        memories = with_details(
            tuple(self._memory(m, neighbours[m.name], limits) for m in spec.memories),
            spec.details,
            self._setting_source,
            self.filename,
        )
        parts = read_parts(spec.parts, memories, self._setting_source, self.filename)
        if spec.spaces:
            spaces = read_spaces(spec.spaces, memories, self.filename)
            for space in spec.spaces:
                self._source(space.reference)
        else:
            spaces = infer_spaces(memories, self.filename, self.warnings.append)
        if not spaces:
            raise MachineError("the machine has no space to place an array in", where=self.filename)
        name = spec.header.name if spec.header else Path(self.filename).stem.strip("<>")
        title = spec.header.title if spec.header else spec.title
        return Machine(
            name,
            title or name,
            processor,
            memories,
            spaces,
            limits,
            tuple(self.warnings),
            parts.pipes,
            parts.instructions,
            parts.tlbs,
            parts.dram,
        )

    def _unique(self, named: Iterable[tuple[str, Position]], what: str) -> None:
        seen: dict[str, Position] = {}
        for name, at in named:
            if name in seen:
                first = seen[name]
                raise located(
                    self.filename,
                    at,
                    f"a second {what} '{name}'",
                    f"the first is at {first.line}:{first.column}",
                )
            seen[name] = at

    def _memory(self, entry: MemoryEntry, levels: Neighbours, limits: Limits) -> Memory:
        home = self._home(entry, levels)
        rw = entry.rw
        if isinstance(rw, Special):
            rw = home.rw if not isinstance(home.rw, Special) else self._unresolved(entry, "rw")
        managed = entry.managed
        if isinstance(managed, Special):
            managed = "N" if levels.lower else "Y"
        elements = _elements(entry.size) if managed == "Y" else None
        scope = entry.scope
        if isinstance(scope, Special):
            scope = self._unresolved(entry, "shareScope")
        if not isinstance(entry.banks, Special) and entry.banks > MOST_BANKS:
            message = f"{entry.name} has {entry.banks} banks, more than {MOST_BANKS}"
            raise located(self.filename, entry.at, message)
        if (_bytes(entry.block_size) or 0) > LARGEST_BLOCK:
            raise located(self.filename, entry.at, f"{entry.name} has blocks of more than 1 TB")
        read, write = self._latencies(entry, limits)
        return Memory(
            name=entry.name,
            id=entry.id,
            software_managed=managed == "Y",
            readable="R" in rw,
            writable="W" in rw,
            dim=_or_none(entry.dim),
            size_bytes=_bytes(entry.size) if elements is None else None,
            block_bytes=_bytes(entry.block_size),
            banks=_or_none(entry.banks),
            latency_cycles=read,
            write_latency_cycles=write,
            upper=levels.upper,
            lower=levels.lower,
            scope=scope,
            concurrency=(
                None
                if isinstance(entry.concurrency, Special)
                else (float(entry.concurrency[0]), float(entry.concurrency[1]))
            ),
            condition=self._condition(entry),
            sources=self._sources(entry.provenance),
            size_elements=elements,
        )

    def _home(self, entry: MemoryEntry, levels: Neighbours) -> MemoryEntry:
        """The memory farthest below, whose access rights a cache has."""
        last = levels.lower[-1] if levels.lower else entry.name
        return next(m for m in self.specification.memories if m.name == last)

    def _latencies(self, entry: MemoryEntry, limits: Limits) -> tuple[float, float]:
        if isinstance(entry.latency, Special):
            raise located(
                self.filename,
                entry.at,
                f"the latency of {entry.name} is not given",
                "models need the latency of every memory",
            )
        cycles = [self._cycles(latency, limits) for latency in entry.latency]
        return cycles[0], cycles[-1]

    def _cycles(self, latency: Latency, limits: Limits) -> float:
        if latency.unit == "clk":
            return float(latency.value)
        if limits.clock_mhz is None:
            raise located(
                self.filename,
                latency.at,
                f"a latency in {latency.unit} needs the clock",
                "add limits { clock = … MHz; } or give the latency in clk",
            )
        return float(latency.value * _SECONDS[latency.unit]) * limits.clock_mhz * 1e6

    def _condition(self, entry: MemoryEntry) -> SerialCondition:
        where = f"{entry.at.file or self.filename}:{entry.at.line}:{entry.at.column}"
        if not isinstance(entry.condition, Special):
            at = entry.condition.at
            condition = SerialCondition(
                entry.condition.scope,
                entry.condition.expression,
                f"{at.file or self.filename}:{at.line}:{at.column}",
            )
            condition.check(block_bytes=_bytes(entry.block_size), banks=_or_none(entry.banks))
            return condition
        blocks = not isinstance(entry.block_size, Special)
        self.warnings.append(
            f"{where}: {entry.name} has no serialization condition: distinct "
            f"{'blocks' if blocks else 'addresses'} assumed to be serialized"
        )
        return SerialCondition("warp", _distinct(blocks), where)

    def _unresolved(self, entry: MemoryEntry, field: str) -> str:
        raise located(
            self.filename,
            entry.at,
            f"{field} of {entry.name} does not follow from other entries",
        )

    def _shared_bytes(self) -> int | None:
        for memory in self.specification.memories:
            if "shared" in memory.name.lower():
                return _bytes(memory.size)
        return None

    def _setting_source(self, setting: LimitEntry) -> str | None:
        return self._source(setting.reference)

    def _sources(self, provenance: tuple[Provenance, ...]) -> tuple[tuple[str, str], ...]:
        pairs = []
        for entry in provenance:
            text = self._source(entry.reference) or ""
            pairs += [(field, text) for field in entry.fields]
        return tuple(pairs)

    def _source(self, reference: Reference | None) -> str | None:
        if reference is None:
            return None
        if reference.name is None:
            return reference.text
        if reference.name not in self.cited:
            raise located(
                self.filename,
                reference.at,
                f"no source is declared as '{reference.name}'",
                nearest(reference.name, self.cited),
            )
        text = self.cited[reference.name]
        return f"{text}, {reference.text}" if reference.text else text


def _or_none(value: int | Special) -> int | None:
    return None if isinstance(value, Special) else value


def _bytes(sizes: tuple[Size, ...] | Special) -> int | None:
    """Bytes of a size; of a tuple the product, whose components count elements unless one has B."""
    if isinstance(sizes, Special):
        return None
    elements = any(s.unit == "E" for s in sizes) and not any(s.unit == "B" for s in sizes)
    return math.prod(s.amount for s in sizes) * (ELEMENT_BYTES if elements else 1)


def _elements(sizes: tuple[Size, ...] | Special) -> int | None:
    if isinstance(sizes, Special) or any(s.unit != "E" for s in sizes):
        return None
    return math.prod(s.amount for s in sizes)


def _distinct(blocks: bool) -> Expression:
    """``floor(address1/blockSize) != floor(address2/blockSize)``, or of the addresses."""
    one, two = (
        Floor(Binary("/", Keyword(f"address{n}"), Keyword("blockSize")))
        if blocks
        else Keyword(f"address{n}")
        for n in (1, 2)
    )
    return Binary("!=", one, two)
