"""Every legal placement of a kernel's arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from placewise.choose import Legality
from placewise.space import Placement


def legal_placements(legality: Legality) -> Iterator[Placement]:
    """All combinations of legal spaces that fit together, the present one first."""
    spaces = [legality.spaces(array) for array in legality.arrays]
    for combination in product(*spaces):
        placement = Placement(tuple(zip(legality.arrays, combination, strict=True)))
        if legality.fits(placement) is None:
            yield placement
