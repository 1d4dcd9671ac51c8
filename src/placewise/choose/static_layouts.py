"""The layout of least static cost, for a cost that does not add up over groups of fields.

Reuse reaches from one group's accesses over those of all others, so that the static cost of a
layout is known only as a whole. Up to :data:`EXACT_FIELDS` accessed fields every set partition is
looked at; beyond, single fields are moved as long as that lowers the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from placewise.choose.layouts import awkwardness
from placewise.choose.partitions import all_partitions
from placewise.model.static_layout import CostVector
from placewise.space.layout import Layout, Record, grouped, structure_of_arrays

EXACT_FIELDS = 6
"""Most accessed fields with which all partitions are looked at: 203."""

LayoutCost = Callable[[Layout], CostVector]


@dataclass(frozen=True)
class StaticSearch:
    """What a search looked at."""

    ranked: tuple[tuple[Layout, CostVector], ...]
    """All layouts whose cost was calculated, the cheapest first; of equal ones the simplest
    first."""
    exact: bool
    """Every partition of the accessed fields was among them."""


def search_static(record: Record, accessed: Collection[str], cost: LayoutCost) -> StaticSearch:
    """Layouts of ``record`` by ``cost``: the declared one, the structure of arrays, and partitions
    of the fields of ``accessed``, each part in its declared order. In these all other fields share
    a struct of their own."""
    used = [name for name in record.names if name in accessed]
    unused = [name for name in record.names if name not in accessed]
    known: dict[Layout, CostVector] = {}

    def laid_out(parts: Sequence[Sequence[str]]) -> Layout:
        every = [*parts, unused] if unused else parts
        layout = grouped(record, every) if len(every) > 1 else record.declared
        if layout not in known:
            known[layout] = cost(layout)
        return layout

    for given in (record.declared, structure_of_arrays(record)):
        known[given] = cost(given)
    exact = len(used) <= EXACT_FIELDS
    if exact:
        for groups in all_partitions(len(used)):
            laid_out([[n for k, n in enumerate(used) if g >> k & 1] for g in groups])
    else:
        for start in ([[name] for name in used], [used]):
            _descend(start, laid_out, known)
    ranked = sorted(known.items(), key=lambda pair: (pair[1], *awkwardness(pair[0])))
    return StaticSearch(tuple(ranked), exact)


def _descend(
    parts: list[list[str]],
    laid_out: Callable[[Sequence[Sequence[str]]], Layout],
    known: dict[Layout, CostVector],
) -> None:
    """Make the best change of a partition again and again, as long as one lowers the cost."""
    least = known[laid_out(parts)]
    order = [name for part in parts for name in part]
    while True:
        tried = [(known[laid_out(changed)], changed) for changed in _changes(parts, order)]
        if not tried:
            return
        cost, changed = min(tried, key=lambda pair: pair[0])
        if not cost < least:
            return
        least, parts = cost, changed


def _changes(parts: list[list[str]], order: list[str]) -> Iterator[list[list[str]]]:
    """Every partition that one field's move, or the merger of two parts, leads to."""
    for here, part in enumerate(parts):
        for name in part:
            for there in range(len(parts) + 1):
                if there != here and not (there == len(parts) and len(part) == 1):
                    moved = [[n for n in one if n != name] for one in (*parts, [])]
                    moved[there] = sorted([*moved[there], name], key=order.index)
                    yield [one for one in moved if one]
        for there in range(here):
            merged = sorted(parts[there] + part, key=order.index)
            yield [one for n, one in enumerate(parts) if n not in (here, there)] + [merged]
