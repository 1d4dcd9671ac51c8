"""The rule-based choice of memories after Jang et al. 2011: a baseline without a model.

A reconstruction: Chen et al. 2017 (sections 5.1 to 5.3), where the rules are compared with, tell
what they rest on ("read/write patterns, loop-based temporal locality, and status of memory
coalescing that are determined through some static analysis") and that arrays whose patterns cannot
be inferred stay in global memory, but do not give them. The rules below are ours in that spirit;
they look at the kernel alone, never at the machine, as the originals do.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.space import Way


@dataclass(frozen=True)
class AccessFacts:
    """What the rules look at, of one array."""

    written: bool
    coalesced: bool
    """Every access of a warp takes as few transactions of global memory as its bytes allow."""
    repeated: bool
    """Loaded again and again by the same warps: in a loop."""
    own_tile: bool
    """Each block touches a piece of its own that is known beforehand."""
    index_from_data: bool
    """The index was looked up: a warp's addresses follow no rule."""


@dataclass(frozen=True)
class Choice:
    """Where an array goes, and by which rule."""

    way: Way
    rule: str


def rule_based(facts: AccessFacts) -> Choice:
    """Way of access that the rules choose for one array; the first that holds decides."""
    if facts.written:
        return Choice(Way.DIRECT, "written: only global memory takes it without more ado")
    if facts.repeated and facts.own_tile and facts.coalesced:
        return Choice(Way.KERNEL_BUFFER, "a block's own piece, read again and again")
    if facts.index_from_data and not facts.repeated:
        return Choice(Way.DIRECT, "index depends on data: no pattern to go by")
    if not facts.coalesced:
        return Choice(Way.BINDING, "read-only and not coalesced: the texture cache may help")
    return Choice(Way.DIRECT, "coalesced, little reuse")
