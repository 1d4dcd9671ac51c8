"""What is found of one cache or TLB, with what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOT_LOOKED_AT = "not looked at"
"""The doubt noted for a level of which only the latency was asked for."""
NO_TIME = "no time was left"
"""The doubt noted for a level that was to be taken apart and was not."""


@dataclass(frozen=True)
class Structure:
    """A cache, or a TLB whose lines are pages."""

    latency_cycles: float
    """Median time of a load that hits here; of a TLB: what such a hit adds to a load."""
    capacity_bytes: int | None = None
    sector_bytes: int | None = None
    """Bytes that are fetched at a time."""
    line_bytes: int | None = None
    """What one tag stands for; of a TLB, the page."""
    ways: tuple[int, ...] = ()
    """Ways of each set; for caches with very many sets, those of the sets examined, all alike."""
    policy: str | None = None
    """One of :data:`placewise.machine.msl.details.POLICIES`."""
    way_probabilities: tuple[float, ...] = ()
    """Measured share of each way among the replaced, for ``weighted``; ways in order of filling."""
    index: str | None = None
    """``modulo``: blocks of ``run`` lines go round the sets; ``hashed``: each aligned group of them
    has one of every set in some other order; ``table``: neither."""
    run: int | None = None
    """Lines in a row that lie in the same set."""
    labels: tuple[int, ...] = ()
    """Set of each line from the first on, where all sets were looked at."""
    doubts: tuple[str, ...] = ()
    """What does not fit together; empty where the confidence is high."""

    @property
    def confidence(self) -> str:
        return "low" if self.doubts else "high"

    @property
    def sets(self) -> int | None:
        return len(self.ways) or None


def mapping(
    members: list[NDArray[np.int64]], others: list[int], lines: int, sets: int
) -> tuple[str, int]:
    """How lines are mapped to sets, and how many lines in a row share one.

    ``members`` are the line numbers (below ``lines``) of some of the ``sets``, ascending, and
    ``others`` another line of each.
    """
    lengths = [
        len(part) for m in members for part in np.split(m, np.flatnonzero(np.diff(m) != 1) + 1)
    ]
    run = int(min(lengths)) if sets > 1 else 1
    whole = [np.append(m, other) for m, other in zip(members, others, strict=True)]
    if all(len(set((m // run % sets).tolist())) == 1 for m in whole):
        return "modulo", run
    even = all(
        len(m) % run == 0
        and (np.bincount(m // (run * sets), minlength=lines // (run * sets)) == run).all()
        for m in members
    )
    return ("hashed" if even and sets & (sets - 1) == 0 else "table"), run


def labels_of(members: list[NDArray[np.int64]], lines: int) -> tuple[int, ...]:
    """Set of each line below ``lines``, numbered in the order of their first lines."""
    labels = np.full(lines, -1)
    for number, some in enumerate(sorted(members, key=lambda m: int(m[0]))):
        labels[some[some < lines]] = number
    return tuple(labels.tolist())
