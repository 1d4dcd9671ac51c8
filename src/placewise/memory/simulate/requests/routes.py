"""Routes: the first cache for each memory instruction's accesses to each array. Also the addresses
of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.executor.trace import Site
from placewise.machine.machine import Machine, Memory
from placewise.memory.simulate.caches.hierarchy import Hierarchy
from placewise.memory.simulate.requests.filtered_reads import doublings
from placewise.memory.simulate.requests.generic_addresses import OWN_COLUMNS, seen_in
from placewise.memory.simulate.requests.streams import (
    ATOMIC,
    CONSTANT,
    DOUBLINGS,
    LOAD,
    LOCAL,
    LOCAL_LAST,
    MOST_PREFETCHED,
    PREFETCHED,
    ROUTE_EVICTS_FIRST,
    ROUTE_KEPT,
    ROUTE_NOT_ALLOCATED,
    ROUTE_PAST_L2,
    STORE,
    UNCACHED,
)
from placewise.memory.transactions import address_period
from placewise.space import Hint, Priority, Way, hint_of

KINDS = {"load": LOAD, "store": STORE, "atomic": ATOMIC}
ALIGNMENT = 512
"""Small allocations of device memory start at multiples of this many bytes."""
_IN_L1: Mapping[Priority | None, int] = {
    Priority.NO_ALLOCATE: ROUTE_NOT_ALLOCATED,
    Priority.EVICT_FIRST: ROUTE_EVICTS_FIRST,
    Priority.EVICT_LAST: ROUTE_KEPT,
}
_CONSTANT_LOADS = ("LD", "ULDC")
"""Starts of the opcodes LDC, LDCU and ULDC of machine code, and ``ld.const`` of PTX."""
UNKNOWN_BYTES = 1 << 28
"""Bytes reserved for an array of unknown size; nearly all arrays are smaller."""
LARGE, LARGE_ALIGNMENT = 1 << 20, 1 << 21
"""Allocations of at least 1 MiB start at multiples of 2 MiB, the size of their pages."""


class Routes:
    """Routes from memory instructions to caches on one machine."""

    def __init__(self, machine: Machine, caches: Hierarchy, placement: Mapping[str, str]) -> None:
        self._machine = machine
        self._caches = caches
        self._placement = placement
        self._by_way = {
            space.way: space.name for space in reversed(machine.spaces) if not space.is_cache_hint
        }
        self._ways = {space.name: space.way for space in machine.spaces}
        self._hints = {space.name: space.hint for space in machine.spaces}
        if Way.DIRECT not in self._by_way:
            raise MachineError("the machine has no space of plain pointers", where=machine.name)
        self.period = math.lcm(address_period(machine) or caches.line_bytes, caches.line_bytes)

    @property
    def local_cache(self) -> int:
        """Number of the first cache of local memory (the one of plain pointers), plus ROUTE_PAST_L2
        if it bypasses L2."""
        space = self._by_way[Way.DIRECT]
        return self._caches.first_cache(space) | self._past_last(space)

    def table(
        self, sites: Sequence[Site], arrays: Sequence[str], filtered: Mapping[str, int]
    ) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """Two tables (sites, columns): the routes, and whether a serialization condition gives the
        transactions. Columns are array number + 1, then shared and local memory. ``filtered`` has
        the number of filtered axes of textures, by name."""
        columns = 1 + len(arrays) + len(OWN_COLUMNS)
        routes = np.full((max(1, len(sites)), columns), UNCACHED, np.int16)
        counted = np.zeros(routes.shape, np.bool_)
        # Routes depend only on this key; thousands of sites of an unrolled loop have the same one.
        like: dict[tuple[str, str, str], int] = {}
        for n, site in enumerate(sites):
            known = like.setdefault((site.space, site.opcode, site.kind), n)
            if known != n:
                routes[n], counted[n] = routes[known], counted[known]
                continue
            if site.space == "local":
                # The load of a spilled register is the last use of its word: L2 evicts it first
                # (PTX ISA, "Cache Operators": .lu is the same as .cs for global addresses).
                routes[n, [0, -1]] = LOCAL_LAST if ".LU" in site.opcode else LOCAL
            elif site.space == "generic":
                routes[n, -1] = LOCAL
            for a, _ in enumerate(OWN_COLUMNS, 1 + len(arrays)):
                of_memory = seen_in(site, a - 1, len(arrays))
                counted[n, a] = self.banked(of_memory, None) is not None
            for a, array in enumerate((None, *arrays)):
                counted[n, a] = self.banked(site, array) is not None
                if array is not None:
                    route = self._route(site, array)
                    if route >= 0:
                        route |= doublings(site, array, filtered) << DOUBLINGS
                    routes[n, a] = route
        return routes, counted

    def banked(self, site: Site, array: str | None) -> Memory | None:
        """The memory whose serialization condition gives an access's transactions; None for
        accesses to cached arrays and to kernel parameters."""
        if site.space == "shared":
            name = self._by_way.get(Way.KERNEL_BUFFER)
        elif array is not None and self._uncached(site, array):
            name = self._space(site, array)
        else:
            return None
        return self._machine.levels(name)[0] if name else None

    def _uncached(self, site: Site, array: str) -> bool:
        return self._ways[self._space(site, array)].has_own_memory

    def _space(self, site: Site, array: str) -> str:
        """The space of an instruction's accesses to an array."""
        way = {"constant": Way.HOST_BUFFER, "texture": Way.BINDING}.get(site.space, Way.DIRECT)
        if ".nc" in site.opcode or ".CONSTANT" in site.opcode:
            way = Way.INTRINSIC
        return self._placement.get(array) or self._by_way.get(way, self._by_way[Way.DIRECT])

    def _route(self, site: Site, array: str) -> int:
        through = self._ways[self._space(site, array)]
        if self._caches.constant and through.facts.host_filled:
            moved_in = array in self._placement and site.kind == "load"
            if moved_in or is_constant_load(site):
                return CONSTANT
        if site.space == "shared" or self._uncached(site, array):
            return UNCACHED
        space = self._space(site, array)
        first, past = self._caches.first_cache(space), self._past_last(space)
        hint = self._hint(site, array) or Hint()
        sectors = hint.prefetch_bytes // self._caches.sector_bytes
        past |= min(max(0, sectors.bit_length() - 1), MOST_PREFETCHED) << PREFETCHED
        if hint.priority is Priority.PAST_L1:
            return len(self._caches.first) | past
        return first | past | _IN_L1.get(hint.priority, 0)

    def _past_last(self, space: str) -> int:
        return ROUTE_PAST_L2 if space in self._caches.past_last else 0

    def _hint(self, site: Site, array: str) -> Hint | None:
        """Cache hint of an access, from its opcode. If an array is moved to another space, its
        loads have that space's hint, and its stores have none."""
        placed = self._placement.get(array)
        if site.kind == "atomic" or (placed is not None and site.kind == "store"):
            return None
        return hint_of(site.opcode) if placed is None else self._hints[placed]


def is_constant_load(site: Site) -> bool:
    """Whether an instruction loads from constant memory (LDC, ULDC, ld.const). Constant operands of
    other instructions are not loads: they are read when the instruction is issued."""
    return site.space == "constant" and site.opcode.upper().startswith(_CONSTANT_LOADS)


def array_lines(
    sizes: Sequence[int], line_bytes: int, period: int
) -> tuple[NDArray[np.int64], int]:
    """(arrays + 1,) first line of each array, by array number + 1, and the first line after all
    arrays. Arrays are placed one after another, with an allocator's alignment, and at multiples of
    ``period``, the period of access patterns. The alignment is then at least one line."""
    lines = np.zeros(len(sizes) + 1, np.int64)
    at = LARGE_ALIGNMENT
    for n, size in enumerate(sizes):
        unit = math.lcm(LARGE_ALIGNMENT if size >= LARGE else ALIGNMENT, period)
        at = -(-at // unit) * unit
        lines[n + 1] = at // line_bytes
        at += size
    return lines, -(-at // LARGE_ALIGNMENT) * LARGE_ALIGNMENT // line_bytes
