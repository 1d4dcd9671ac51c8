"""Every legal placement of a prepared case, written out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from placewise.advise.prepare import Prepared
from placewise.choose import Legality
from placewise.rewrite import Rewritten, rewrite
from placewise.space import Placement


def legal_placements(legality: Legality) -> Iterator[Placement]:
    """All combinations of legal spaces that fit together, the present one first."""
    spaces = [legality.spaces(array) for array in legality.arrays]
    for combination in product(*spaces):
        placement = Placement(tuple(zip(legality.arrays, combination, strict=True)))
        if legality.fits(placement) is None:
            yield placement


def written_out(prepared: Prepared) -> Iterator[Rewritten]:
    """The case rewritten for every legal placement, the present one first."""
    for placement in legal_placements(prepared.legality):
        yield rewrite(prepared.case, placement, prepared.machine, prepared.view)
