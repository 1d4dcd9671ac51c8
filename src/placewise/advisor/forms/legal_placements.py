"""Every legal placement of a kernel's arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from placewise.choose import Legality
from placewise.space import Placement


def legal_placements(legality: Legality) -> Iterator[Placement]:
    """All combinations of legal spaces that fit together, the present one first; then each cache
    hint for each array alone and for all arrays together; then shared tiles by chunks of a loop.
    Hints are not combined with other moves, since they only change what caches keep and would
    multiply the combinations."""
    spaces = [legality.searched(array) for array in legality.arrays]
    for combination in product(*spaces):
        placement = Placement(tuple(zip(legality.arrays, combination, strict=True)))
        if legality.fits(placement) is None:
            yield placement
    for hint in (s.name for s in legality.machine.spaces if s.is_cache_hint):
        can = [a for a, now in legality.present if hint in legality.spaces(a) and hint != now]
        for array in can:
            yield legality.present.with_moves({array: hint})
        together = legality.present.with_moves(dict.fromkeys(can, hint))
        if len(can) > 1 and legality.fits(together) is None:
            yield together
    yield from legality.chunked
