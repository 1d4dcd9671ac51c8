"""Conditions under which a tile's fill copies an element, in terms of the tile's own indices."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.view.indices.always import Always
from placewise.kernel.view.indices.conditions import exact_facts, facts_at
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.staging.fill import Affine, affine_of
from placewise.kernel.view.tree.node import Node


def guards_of(
    values: Values, conditions: Sequence[tuple[Node, bool]], at: Sequence[Poly]
) -> tuple[Affine, ...] | None:
    """What must not be below zero at an element of the tile, so that all ``conditions`` held (or
    did not, where False) when it was filled; None where they say anything else.

    ``at`` are the tile's indices at its fill.
    """
    found: list[Affine] = []
    for condition, holds in conditions:
        facts = exact_facts(condition, holds, values)
        if facts is None:
            return None
        for fact in facts:
            guard = affine_of(fact, at)
            if guard is None:
                return None
            found.append(guard)
    return tuple(found)


def holds_at(values: Values, guard: Affine, indices: Sequence[Node]) -> bool:
    """Whether a guard of the fill always holds of the element that a read names, whatever the
    launch: by the conditions around that read."""
    needed = guard.at([values.value(i) for i in indices])
    return Always().natural(needed, facts_at(indices[0], values))
