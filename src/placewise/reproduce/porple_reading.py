"""Readings of Chen et al. 2017 to recompute their Table 4: the literal one and a calibrated one.

All readings take reuse distances over the accesses of single threads, in elements, as the paper's
profiling function records them ("the number of distinct data items"), and its concurrency factors:
1 for constant memory, 0.2 elsewhere. The calibrated reading differs from the text in points that
were chosen by looking at the result, so its agreement is a fit, not a confirmation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from placewise.machine.machine import Machine, Memory
from placewise.space import Way

ALPHA = 0.2
"""Section 3.1.2: "we use 1 for constant memory and 0.2 for other types"."""
CONSTANT_ALPHA = 1.0
TEXTURES = (Way.BINDING, Way.PITCHED)
"""Textures of one and of two dimensions, which share their caches."""
WIDE_BLOCK = 128
"""Bytes of a transaction of texture and read-only memory in the calibrated reading of K20c."""


@dataclass(frozen=True)
class TableReading:
    """A reading of the paper."""

    name: str
    text: str
    own_readonly_path: bool = False
    """The read-only cache is a data path of its own; transactions of it and of texture have 128
    bytes."""
    serial_without_cache: bool = False
    """Where global memory has no cache, each different address of a warp is a transaction."""
    serial_constant_caches: bool = False
    """The factor α = 1 of constant memory also applies to its caches."""
    ties: Literal["paths", "moves"] = "paths"
    """How to choose among placements with equal longest paths: by the other paths, or by the fewest
    arrays that leave global memory."""
    transactions_of_nearest: bool = False
    """True: N_ij are the transactions of the memory nearest to the cores, divided among the levels
    that serve them. False: each level counts transactions by its own serialization condition."""

    def machine(self, machine: Machine) -> Machine:
        """The machine under this reading."""
        memories, spaces = _with_lines_in_constant_caches(machine), machine.spaces
        if self.own_readonly_path:
            read_only = [s for s in spaces if s.way is Way.INTRINSIC]
            if read_only:
                homes = {s.levels[0] for s in read_only}
                of_texture = {
                    name
                    for s in spaces
                    if s.way in TEXTURES
                    for name in s.levels
                    if all(
                        name not in other.levels for other in spaces if other.way not in TEXTURES
                    )
                }
                memories = tuple(
                    replace(m, block_bytes=WIDE_BLOCK) if m.name in homes | of_texture else m
                    for m in memories
                )
                spaces = tuple(
                    replace(s, path=s.name) if s.way is Way.INTRINSIC else s for s in spaces
                )
        if self.serial_without_cache:
            direct = next(s for s in spaces if s.way is Way.DIRECT)
            per_address = _home(machine, Way.HOST_BUFFER)
            if len(direct.levels) == 1 and per_address is not None:
                memories = tuple(
                    replace(m, condition=per_address.condition) if m.name in direct.levels else m
                    for m in memories
                )
        return replace(machine, memories=memories, spaces=spaces)


LITERAL = TableReading(
    "literal",
    "read-only loads on the texture path (section 3.1.2), global accesses coalesced, each memory's "
    "transactions under its own condition, α = 1 for constant memory but not for its caches; of "
    "equal placements the one whose other paths are shorter",
)
FEWEST_MOVES = replace(
    LITERAL,
    name="fewest moves",
    text="the literal reading, but of equal placements the one that moves the fewest arrays",
    ties="moves",
)
CALIBRATED = TableReading(
    "calibrated",
    "read-only cache a path of its own with transactions of 128 bytes as texture's (K20c); a "
    "transaction for every address where global memory has no cache (C1060); transactions counted "
    "once, in the nearest memory; α = 1 for constant memory's caches, too",
    own_readonly_path=True,
    serial_constant_caches=True,
    serial_without_cache=True,
    transactions_of_nearest=True,
)
READINGS = (LITERAL, FEWEST_MOVES, CALIBRATED)


def _with_lines_in_constant_caches(machine: Machine) -> tuple[Memory, ...]:
    """The memories, where those of constant memory have the serialization condition that Fig. 4 has
    for caches: transactions are lines, although hardware serves constant addresses one after
    another."""
    textures = [s for s in machine.spaces if s.way is Way.BINDING]
    constants = [s for s in machine.spaces if s.way is Way.HOST_BUFFER]
    if not textures or not constants:
        return machine.memories
    by_line = machine.memory(textures[0].levels[0]).condition
    caches = set(constants[0].levels[:-1])
    return tuple(replace(m, condition=by_line) if m.name in caches else m for m in machine.memories)


def _home(machine: Machine, way: Way) -> Memory | None:
    for space in machine.spaces:
        if space.way is way:
            return machine.memory(space.levels[-1])
    return None
