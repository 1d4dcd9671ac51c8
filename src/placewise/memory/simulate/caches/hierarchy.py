"""The caches of a machine in the form that a simulation needs, made from the machine's
description."""

from __future__ import annotations

import math
from dataclasses import dataclass

from placewise.errors import MachineError
from placewise.machine.machine import Machine, Memory
from placewise.machine.msl.details import MOST_SECTORS
from placewise.memory.occupancy import Occupancy, allocation_rules
from placewise.memory.simulate.caches.cache import BYPASS, WRITE_BACK, WRITE_THROUGH
from placewise.memory.simulate.caches.geometry import Geometry

DEFAULT_WAYS = 16
"""Ways of a cache where the machine's file does not state them: enough that conflicts are rare."""
MOST_CONSTANT_SECTORS = 32
"""Most sectors in a line of a constant cache, since each sector is a bit of a word."""


@dataclass(frozen=True)
class CacheGeometry:
    """Size and organisation of one cache."""

    memory: Memory
    size_bytes: int
    line_bytes: int
    sector_bytes: int
    ways: int

    @property
    def sets(self) -> int:
        """Sets of one instance."""
        return max(1, self.size_bytes // (self.line_bytes * self.ways))

    @property
    def write(self) -> int:
        """Kind of access of a store to L2: WRITE_BACK or WRITE_THROUGH, with or without BYPASS."""
        detail = self.memory.detail
        through = WRITE_THROUGH if detail.writes == "through" else WRITE_BACK
        return through | (BYPASS if detail.write_miss == "bypass" else 0)

    @property
    def allocates(self) -> bool:
        """Whether a store, which goes on to L2, also brings its line into this cache of an SM."""
        return self.memory.detail.write_miss == "allocate"

    def geometry(
        self, instances: int, line_bytes: int, sector_bytes: int, *, shards: int = 1
    ) -> Geometry:
        """Geometry of one of ``shards`` equal parts of the sets, for line requests of
        ``line_bytes`` in sectors of ``sector_bytes``."""
        detail = self.memory.detail
        return Geometry(
            instances,
            self.sets // shards,
            self.ways,
            policy=detail.policy or "lru",
            probabilities=detail.way_probabilities,
            hashed=detail.index == "hashed",
            split=line_bytes // self.line_bytes,
            grain=self.sector_bytes // sector_bytes,
        )


@dataclass(frozen=True)
class Hierarchy:
    """The caches that a machine's accesses to arrays go through."""

    first: tuple[CacheGeometry, ...]
    """Caches of an SM, by their number."""
    last: CacheGeometry | None
    """L2; None where the machine has none."""
    first_of: tuple[tuple[str, int], ...]
    """(space, number of its first cache); the number is ``len(first)`` where it has none in the
    SM."""
    past_last: frozenset[str]
    """Spaces that bypass L2: their requests go directly from the SM to DRAM."""
    line_bytes: int
    """Line of a line request: the largest line of all caches."""
    sector_bytes: int
    """Sector of a line request: the smallest sector of all caches."""
    constant: tuple[CacheGeometry, ...] = ()
    """Caches of an SM that loads of constant memory go through, nearest first. Empty where one of
    them does not belong to the SM alone, or its size or line is not known."""

    def first_cache(self, space: str) -> int:
        """Number of the first cache of ``space``; raises KeyError for a space without arrays."""
        return dict(self.first_of)[space]


def l1_bytes(memory: Memory, machine: Machine, occupancy: Occupancy, shared_bytes: int) -> int:
    """Bytes of a cache that are left beside the shared memory of the resident blocks.

    If the cache is in one memory with shared memory, the smallest carve-out that holds all resident
    blocks is subtracted (CUDA C++ Programming Guide, "Shared Memory" of 7.x and later). Otherwise
    it is the cache's size.
    """
    if not memory.detail.unified_bytes:
        return memory.size_bytes or 0
    return memory.detail.unified_bytes - carve_out(memory, machine, occupancy, shared_bytes)


def unknown_caches(machine: Machine) -> tuple[str, ...]:
    """Names of the caches that accesses to arrays go through and whose size the machine file does
    not give."""
    ways = (machine.levels(s.name)[:-1] for s in machine.spaces if not s.way.facts.host_filled)
    caches = {memory.name: memory for levels in ways for memory in levels}
    return tuple(n for n, m in caches.items() if not m.size_bytes and not m.detail.unified_bytes)


def shared_memory(machine: Machine) -> Memory | None:
    """The memory in which kernels declare shared buffers; None where the machine file has no such
    space."""
    space = next((s for s in machine.spaces if s.way.facts.per_block), None)
    return machine.levels(space.name)[0] if space else None


def carve_out(memory: Memory, machine: Machine, occupancy: Occupancy, shared_bytes: int) -> int:
    """Bytes that shared memory takes of the memory that it shares with a cache."""
    sizes = memory.detail.carve_outs_bytes
    rules = allocation_rules(machine.limits.compute_capability)
    unit = rules.shared_unit
    block = shared_bytes + rules.reserved_shared if shared_bytes else 0
    wanted = max(1, occupancy.blocks) * -(-block // unit) * unit
    fitting = [size for size in sizes if size >= wanted]
    return fitting[0] if fitting else max(sizes, default=wanted)


def hierarchy(machine: Machine, occupancy: Occupancy, shared_bytes: int) -> Hierarchy:
    """Caches of ``machine`` with ``occupancy.blocks`` blocks resident on an SM, each with
    ``shared_bytes`` of shared memory.

    Raises MachineError where a space has more caches than one of the SM and one of the die, and
    where lines or sectors of different caches do not fit one another.
    """
    first: list[CacheGeometry] = []
    last: CacheGeometry | None = None
    numbers: dict[str, int | None] = {}
    constant: tuple[Memory, ...] = ()
    for space in machine.spaces:
        if space.way.has_own_memory:
            if space.way.facts.host_filled:
                constant = constant or machine.levels(space.name)[:-1]
            continue
        numbers[space.name] = None
        for memory in machine.levels(space.name)[:-1]:
            if memory.scope == "die":
                if last is not None and last.memory.name != memory.name:
                    raise MachineError(
                        f"{last.memory.name} and {memory.name} are both caches of the die",
                        where=machine.name,
                    )
                last = _geometry(memory, memory.size_bytes or 0)
                continue
            if numbers[space.name] is not None:
                raise MachineError(
                    f"space {space.name} goes through two caches of the SM", where=machine.name
                )
            known = [g.memory.name for g in first]
            if memory.name not in known:
                size = l1_bytes(memory, machine, occupancy, shared_bytes)
                first.append(_geometry(memory, size))
                known.append(memory.name)
            numbers[space.name] = known.index(memory.name)
    past_last = frozenset(
        name for name in numbers if all(m.scope != "die" for m in machine.levels(name)[:-1])
    )
    line, sector = _line_and_sector([*first, *([last] if last else [])], machine)
    numbered = tuple((name, len(first) if n is None else n) for name, n in numbers.items())
    return Hierarchy(
        tuple(first), last, numbered, past_last, line, sector, _constant(constant, sector)
    )


def _line_and_sector(caches: list[CacheGeometry], machine: Machine) -> tuple[int, int]:
    """Bytes of a line and of a sector of line requests: the largest line and the smallest sector of
    the caches. Raises MachineError where these do not fit one another."""
    line = max((g.line_bytes for g in caches), default=32)
    sector = min((g.sector_bytes for g in caches), default=32)
    for geometry in caches:
        if line % geometry.line_bytes or geometry.sector_bytes % sector:
            raise MachineError(
                f"lines and sectors of {geometry.memory.name} do not fit those of other caches",
                where=machine.name,
            )
    if line & (line - 1) or sector & (sector - 1):
        raise MachineError(
            f"lines of {line} bytes and sectors of {sector}: both must be powers of two",
            where=machine.name,
        )
    if line // sector > MOST_SECTORS:
        raise MachineError(
            f"lines of {line} bytes and sectors of {sector}: more than {MOST_SECTORS} to a line",
            where=machine.name,
        )
    return line, sector


def _constant(memories: tuple[Memory, ...], sector_bytes: int) -> tuple[CacheGeometry, ...]:
    """Caches of constant memory; none where one of them cannot be simulated."""
    found = []
    for memory in memories:
        line = memory.detail.line_bytes or memory.block_bytes or 0
        sectors = line // sector_bytes
        if memory.scope != "sm" or not memory.size_bytes or line % sector_bytes:
            return ()
        if sectors & (sectors - 1) or not 1 <= sectors <= MOST_CONSTANT_SECTORS:
            return ()
        found.append(_geometry(memory, memory.size_bytes))
    return tuple(found)


def _geometry(memory: Memory, size_bytes: int) -> CacheGeometry:
    line = memory.detail.line_bytes or memory.block_bytes or 128
    sector = memory.detail.sector_bytes or line
    ways = memory.detail.ways or min(DEFAULT_WAYS, max(1, size_bytes // line))
    return CacheGeometry(memory, size_bytes, line, math.gcd(sector, line), ways)
