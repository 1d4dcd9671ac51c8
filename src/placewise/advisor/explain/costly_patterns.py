"""Access patterns that cost more than any move of the array can gain."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from placewise.advisor.advice import ArrayFacts
from placewise.advisor.forms.timing import Timed
from placewise.kernel.cases.case import Language
from placewise.machine import Memory
from placewise.memory import Profile
from placewise.memory.occupancy import WARP_SIZE
from placewise.memory.reuse.profile import LineTraffic

NOTICED = 4.0
"""A pattern is named if it takes at least this many times the transactions that the same lanes
would need side by side."""
_LEAST_SHARE = 0.05
"""Least share of the path model's cost that an array must have for its pattern to be named."""


def scattered(
    profile: Profile,
    arrays: tuple[ArrayFacts, ...],
    language: Language,
    by_data: Collection[str] = (),
) -> tuple[str, ...]:
    """One sentence for each of the ``arrays`` whose most expensive instruction scatters its lanes
    over many sectors of memory, or over many addresses of constant memory.

    Layouts are tried for CUDA C++ alone, so only there does a sentence name the command for them;
    and not for arrays that are accessed where loaded data say, which are ``by_data``.
    """
    tried = ": `placewise layout` tries them" if language is Language.CUDA else ""
    found = []
    for facts in arrays:
        space = profile.machine.space(facts.service.space)
        memory = profile.machine.levels(space.name)[0]
        lines = profile.lines(facts.array, memory)
        if not lines or facts.share < _LEAST_SHARE:
            continue
        line = lines[0]
        taken = line.transactions_per_request
        where = f"{facts.array}, line {line.site.source_line}"
        if space.way.facts.host_filled:
            if taken >= NOTICED:
                found.append(
                    f"{where}: the lanes of a warp ask for {taken:.3g} different addresses of "
                    "constant memory, which serves one at a time; a table that lanes index "
                    "independently is better in global or shared memory"
                )
            continue
        if taken >= NOTICED * _side_by_side(memory, line):
            # Told in sectors, as lint tells them.
            sectored = replace(memory, block_bytes=memory.detail.sector_bytes or memory.block_bytes)
            line = next(m for m in profile.lines(facts.array, sectored) if m.site is line.site)
            mended = (
                "loaded data say where: another order of threads, or of the data (sorted, numbered "
                "anew), may gain more than any move"
                if facts.array in by_data
                else "another order of threads, or another layout "
                f"(transposed, a structure of arrays{tried}), may gain more than any move"
            )
            found.append(
                f"{where}: {line.transactions_per_request:.3g} sectors of {sectored.block_bytes} "
                f"bytes for each access of a warp, {_side_by_side(sectored, line):.3g} if its "
                f"lanes' elements lay side by side; {mended}"
            )
    return tuple(found)


def conflicting(present: Timed | None) -> tuple[str, ...]:
    """One sentence for each line of the present form, which is ``present`` timed, whose lanes meet
    in the same banks of shared memory."""
    if present is None:
        return ()
    where = ((r.line.line if r.line else None, r.message) for r in present.conflicts)
    return tuple(message if line is None else f"line {line}: {message}" for line, message in where)


def _side_by_side(memory: Memory, line: LineTraffic) -> float:
    """Transactions of one request of ``line`` if its lanes accessed consecutive elements."""
    active = min(WARP_SIZE, max(1, math.ceil(line.lanes_per_request)))
    lane_bytes = line.site.lane_bytes
    taken = memory.condition.transactions(
        np.arange(WARP_SIZE, dtype=np.int64)[None, :] * lane_bytes,
        np.array([(1 << active) - 1], np.uint32),
        element_bytes=lane_bytes,
        block_bytes=memory.block_bytes,
        banks=memory.banks,
    )
    return float(taken[0])
