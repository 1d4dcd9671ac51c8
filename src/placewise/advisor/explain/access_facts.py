"""Facts about arrays, from a kernel's source and a traced run, that the rule-based choice of
memories (after Jang et al. 2011) needs."""

from __future__ import annotations

import numpy as np

from placewise.advisor.prepare import Prepared
from placewise.kernel.view.tree.clang import parse_kernel
from placewise.memory.reuse.profile import ArrayProfile
from placewise.model.jang import AccessFacts

_LOOPS = frozenset({"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"})
_BY_DATA = ("depends on data loaded", "depends on the member")
"""Words of the reasons why there is no tile of an array."""
_ALIGNED = 32
"""Alignment in bytes from which a warp's consecutive words take the fewest sectors."""


def access_facts(prepared: Prepared) -> dict[str, AccessFacts]:
    """Facts of every array that may be placed, by the array's name."""
    body = parse_kernel(prepared.case).body
    loops = [(n.start, n.end) for n in body.walk() if n.kind in _LOOPS]
    facts = {}
    for name in prepared.legality.arrays:
        use = prepared.view.array(name)
        in_loop = any(a <= p.start < b for p in use.accesses for a, b in loops)
        facts[name] = AccessFacts(
            written=use.written or name in prepared.execution.written,
            coalesced=_coalesced(prepared.profile.array(name)),
            repeated=in_loop,
            own_tile=use.tile is not None and not use.tile.whole,
            index_from_data=_scattered(prepared.profile.array(name)),
        )
    return facts


def placed_by_data(prepared: Prepared) -> frozenset[str]:
    """Arrays that are accessed where loaded data say: that is why no block has a tile of them, or
    none but the whole array, which lanes access without a common stride."""
    found = {
        choice.array
        for choice in prepared.legality.illegal
        if any(words in (choice.reason or "") for words in _BY_DATA)
    }
    for use in prepared.view.arrays:
        whole = use.name in prepared.legality.arrays and use.tile is not None and use.tile.whole
        if whole and _scattered(prepared.profile.array(use.name)):
            found.add(use.name)
    return frozenset(found)


def _coalesced(array: ArrayProfile) -> bool:
    stream = array.stream
    if stream is None:
        return True
    in_line = (stream.row < 0) & (stream.stride == stream.lane_bytes)
    return bool(np.all(in_line & (stream.base % _ALIGNED == 0)))


def _scattered(array: ArrayProfile) -> bool:
    """Whether a warp's addresses have no common stride, as with an index that was itself loaded."""
    return array.stream is not None and bool(np.any(array.stream.row >= 0))
