"""Conditions under which a tile's fill copies an element, in terms of the tile's own indices."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.view.indices.always import Always
from placewise.kernel.view.indices.conditions import facts_at, facts_of, is_exact
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.staging.fill import Affine, affine_of
from placewise.kernel.view.tree.around import COMPARISONS
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
        parts = _comparisons(condition, holds)
        if parts is None:
            return None
        for part in parts:
            facts = facts_of(part, holds, values.value, bounder=values.bounder)
            guards = [affine_of(fact, at) for fact in facts]
            if not guards or not is_exact(values, part):
                return None
            for guard in guards:
                if guard is None:
                    return None
                found.append(guard)
    return tuple(found)


def _comparisons(condition: Node, holds: bool) -> list[Node] | None:
    """The comparisons that must all hold (or all fail); None for a condition of another form."""
    node = condition.bare()
    if node.kind != "BINARY_OPERATOR":
        return None
    if node.operator == ("&&" if holds else "||"):
        parts = [_comparisons(c, holds) for c in node.children]
        return None if None in parts else [n for p in parts if p is not None for n in p]
    return [node] if node.operator in COMPARISONS else None


def holds_at(values: Values, guard: Affine, indices: Sequence[Node]) -> bool:
    """Whether a guard of the fill always holds of the element that a read names, whatever the
    launch: by the conditions around that read."""
    needed = guard.at([values.value(i) for i in indices])
    return Always().natural(needed, facts_at(indices[0], values))
