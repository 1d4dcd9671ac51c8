"""Rows and columns of a tile: what the source's own conditions leave of them, and what their number
rests on.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from placewise.kernel.source import Extent
from placewise.kernel.view.indices.interval import MOST_BOUNDS, Bounder, Facts, Numbers, keys_of
from placewise.kernel.view.indices.symbolic import Atom, AtomKind, Poly
from placewise.kernel.view.pointer_uses import Access


@dataclass(frozen=True)
class Index:
    """One access's index and the conditions around it."""

    access: Access
    poly: Poly
    facts: Facts


@dataclass(frozen=True)
class Axis:
    """Rows or columns of a tile: where they begin, how many, and what conditions leave of them."""

    begin: Poly
    size: int
    lowers: tuple[Poly, ...]
    uppers: tuple[Poly, ...]
    """Values, the last one included, that no access passes."""
    bound_to: tuple[str, ...]
    exact: bool
    """Whether ``lowers`` and ``uppers`` say all that conditions say of an access: where there is
    one access, its rows or columns are those that are left, not some of them."""

    @property
    def extent(self) -> Extent:
        """The conditions as texts of C++, upper ends excluded."""
        return extent_of(self.lowers, self.uppers)

    def kept(self, bounder: Bounder) -> tuple[Numbers, Numbers]:
        """(lowest, highest) row or column that is left, in every block."""
        low = bounder.evaluate(self.begin)
        high = low + self.size - 1
        for lower in self.lowers:
            low = np.maximum(low, bounder.evaluate(lower))
        for upper in self.uppers:
            high = np.minimum(high, bounder.evaluate(upper))
        return low, high


def extent_of(lowers: Sequence[Poly], uppers: Sequence[Poly]) -> Extent:
    """Bounds as texts of C++: ``uppers`` are the last values, the extent's are one more."""
    ends = tuple((u + Poly.constant(1)).text for u in uppers)
    return Extent(tuple(p.text for p in lowers), ends)


def axis_of(bounder: Bounder, parts: Sequence[tuple[Poly, Facts]], begin: Poly, size: int) -> Axis:
    """The conditions that every access obeys and the tile's own shape does not imply.

    Of conditions on either side, those in terms of arguments alone are taken where there are any:
    they are the array's extent as the source has it.
    """
    last = begin + Poly.constant(size - 1)
    from_below = [bounder.bounds(poly, False, facts) for poly, facts in parts]
    from_above = [bounder.bounds(poly, True, facts) for poly, facts in parts]
    below = [[b for b in found if not _implied(bounder, begin - b)] for found in from_below]
    above = [[b for b in found if not _implied(bounder, b - last)] for found in from_above]
    all_lowers = _common(bounder, below, upper=False)
    all_uppers = _common(bounder, above, upper=True)
    lowers, uppers = _plainest(all_lowers), _plainest(all_uppers)
    is_complete = all(len(found) < MOST_BOUNDS for found in (*from_below, *from_above))
    exact = is_complete and (lowers, uppers) == (all_lowers, all_uppers)
    if bounder.within_period:
        lowers = _tightest(bounder, lowers, upper=False)
        uppers = _tightest(bounder, uppers, upper=True)
    rests_on = _size_rests_on(bounder, from_above, begin, size)
    rests_on |= _unreached(below, lowers, upper=False) | _unreached(above, uppers, upper=True)
    return Axis(begin, size, lowers, uppers, named_dependence(bounder, rests_on), exact)


def _implied(bounder: Bounder, difference: Poly) -> bool:
    """Whether a difference is at least 0 for every launch with these blocks, or for this launch
    where bounds are for it alone."""
    rests_on = keys_of(difference)
    if bounder.within_period:
        if any(map(_is_of_chunk, rests_on)):
            return False
    elif any(key not in _BLOCK_SHAPE for key in rests_on):
        return False
    return bool((bounder.evaluate(difference) >= 0).all())


def _tightest(bounder: Bounder, bounds: tuple[Poly, ...], *, upper: bool) -> tuple[Poly, ...]:
    """The one of ``bounds`` that implies the others in every block of this launch; all of them
    where none does."""
    for bound in bounds:
        differences = [other - bound if upper else bound - other for other in bounds]
        if all(_implied(bounder, difference) for difference in differences):
            return (bound,)
    return bounds


def _plainest(bounds: Sequence[Poly]) -> tuple[Poly, ...]:
    """The bounds in terms of arguments alone; all bounds where there is none. Which of several is
    the tightest differs from launch to launch."""
    return tuple(filter(of_arguments, bounds)) or tuple(bounds)


def of_arguments(poly: Poly) -> bool:
    """Whether a polynomial is made of the kernel's arguments alone."""
    return all(map(_is_argument, poly.atoms))


def _is_argument(atom: Atom) -> bool:
    if atom.kind is AtomKind.COMPOUND:
        return all(map(of_arguments, atom.operands))
    key = atom.key
    return not key.startswith(("blockIdx.", "blockDim.", "gridDim.", FIRST_OF, AROUND))


def _common(
    bounder: Bounder, candidates: Sequence[Sequence[Poly]], *, upper: bool
) -> tuple[Poly, ...]:
    """The bounds that hold for every access, of those that conditions and loops of the source set
    to each."""

    def holds(bound: Poly, others: Sequence[Poly]) -> bool:
        return any(bounder.stays_natural(bound - o if upper else o - bound) for o in others)

    every = dict.fromkeys(b for found in candidates for b in found)
    kept = [b for b in every if all(holds(b, others) for others in candidates)]
    # Of two that differ by a number, the tighter one says it all.
    return tuple(
        b
        for b in kept
        if not any(o != b and (_at_least(b, o) if upper else _at_least(o, b)) for o in kept)
    )


def _unreached(
    candidates: Sequence[Sequence[Poly]], common: Sequence[Poly], *, upper: bool
) -> set[str]:
    """Keys of the bounds of all accesses where each access may stop before the ``common`` bounds:
    a tile that these alone limit would then be filled beyond what the kernel itself reads. No keys
    where some access has no other bounds."""
    keys: set[str] = set()
    for bounds in candidates:
        tighter = [
            b
            for b in _plainest(bounds)
            if not any(_at_least(b, c) if upper else _at_least(c, b) for c in common)
        ]
        if not tighter:
            return set()
        keys |= {key for b in tighter for key in keys_of(b)}
    return keys


def _at_least(a: Poly, b: Poly) -> bool:
    """Whether ``a >= b`` whatever the values: they differ by a number."""
    difference = (a - b).value
    return difference is not None and difference >= 0


FIRST_OF = "first of "
"""Start of the key of a chunk's first value."""
WITHIN_CHUNK = "chunk "
"""Start of the key of a loop's variable inside a chunk."""
AROUND = "around "
"""Start of the key of a variable of a loop around a chunked one."""
_BLOCK_SHAPE = frozenset({"blockDim.x", "blockDim.y", "blockDim.z"})


def _size_rests_on(
    bounder: Bounder, from_above: Sequence[Sequence[Poly]], begin: Poly, size: int
) -> set[str]:
    """Keys of what decides the tile's size beside the block's shape; ``from_above`` are the upper
    bounds of each access. None if every access has one in the tile whose distance from the tile's
    begin is made of numbers and block dimensions alone; a block's place if, for some access, each
    such distance depends on it.
    """
    needed: set[str] = set()
    for bounds in from_above:
        found: list[set[str]] = []
        for bound in bounds:
            difference = bound - begin
            if (bounder.evaluate(difference) < size).all():
                found.append(keys_of(difference))
        needed |= min(found, key=_dependence, default=_ANYTHING)
    return needed


_ANYTHING = {"blockIdx.x"}
GRID = ("gridDim.x", "gridDim.y", "gridDim.z")
CHUNK = "chunk's place"
"""What a tile rests on that differs from chunk to chunk."""


def _dependence(keys: Set[str]) -> tuple[bool, int]:
    """How much rests on ``keys``: whether a block's place does, and how many keys; for
    comparing."""
    return any(map(_is_place, keys)), len(keys - _BLOCK_SHAPE)


def _is_place(key: str) -> bool:
    """Whether a value differs from block to block, or from chunk to chunk."""
    return key.startswith(("blockIdx.", "gridDim.")) or _is_of_chunk(key)


def _is_of_chunk(key: str) -> bool:
    return key.startswith((FIRST_OF, AROUND))


def named_dependence(bounder: Bounder, keys: set[str]) -> tuple[str, ...]:
    """Arguments among ``keys``; where one of them is a block's or a chunk's place, the grid's shape
    and all arguments, and for a chunk's :data:`CHUNK`."""
    arguments = {k for k in bounder.values if not _is_place(k) and k not in _BLOCK_SHAPE}
    if any(map(_is_place, keys)):
        of_chunk = any(map(_is_of_chunk, keys))
        return (*GRID, *sorted(arguments), *([CHUNK] if of_chunk else []))
    return tuple(sorted(keys & arguments))


def follows_lanes(poly: Poly) -> bool:
    """Whether neighbouring threads of a warp have different values."""
    return any(
        a.key == "threadIdx.x" or (a.operator in ("%", "&") and follows_lanes(a.operands[0]))
        for a in poly.atoms
    )


def has_wide_index(indices: Sequence[Index]) -> bool:
    """Whether an index of the source is computed in 64 bits."""
    return any(t.node.size > 4 for i in indices for t in i.access.terms)
