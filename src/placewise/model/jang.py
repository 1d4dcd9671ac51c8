"""The rule-based choice of memories after Jang et al. 2011: a baseline without a model.

This is a reconstruction. Chen et al. 2017 (sections 5.1 to 5.3), who compare with such rules, tell
what these use ("read/write patterns, loop-based temporal locality, and status of memory coalescing
that are determined through some static analysis") and that arrays whose patterns cannot be inferred
stay in global memory, but do not print the rules. The rules below were written for Placewise in
that spirit; as the originals, they use facts of the kernel alone, not of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.space import Way


@dataclass(frozen=True)
class AccessFacts:
    """Facts about one array that the rules use."""

    written: bool
    """The kernel stores to the array."""
    coalesced: bool
    """Every access of a warp takes as few transactions of global memory as its bytes allow."""
    repeated: bool
    """Each warp loads it again and again, in a loop."""
    own_tile: bool
    """Each block accesses its own piece, which is known before the launch."""
    index_from_data: bool
    """The index was itself loaded, so a warp's addresses have no pattern."""


@dataclass(frozen=True)
class Choice:
    """Where an array goes, and by which rule."""

    way: Way
    rule: str


def rule_based(facts: AccessFacts) -> Choice:
    """Way of access that the rules choose for one array; the first rule that applies decides."""
    if facts.written:
        return Choice(Way.DIRECT, "written: only global memory can be written without a copy")
    if facts.repeated and facts.own_tile and facts.coalesced:
        return Choice(Way.KERNEL_BUFFER, "each block reads its own piece again and again")
    if facts.index_from_data and not facts.repeated:
        return Choice(Way.DIRECT, "index depends on data: no known pattern")
    if not facts.coalesced:
        return Choice(Way.BINDING, "read-only and not coalesced: the texture cache may help")
    return Choice(Way.DIRECT, "coalesced, little reuse")
