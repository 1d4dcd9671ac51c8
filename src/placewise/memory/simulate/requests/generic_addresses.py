"""Generic addresses: an instruction that has them is told apart by the memory they lead to, as a
profiler counts what it asks of shared and of local memory as accesses to these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE
from placewise.executor.trace import Site

OWN_COLUMNS = ("shared", "local")
"""Memories that the executor's code addresses without an array: they stand after the arrays."""


def with_own_columns(windows: NDArray[np.int32], arrays: int) -> NDArray[np.int32]:
    """Number of the array of each window, where shared and local memory are numbered after the
    ``arrays``."""
    numbered = windows.copy()
    for n, memory in enumerate(OWN_COLUMNS):
        numbered[WINDOW_OF_SPACE[memory]] = arrays + n
    return numbered


def seen_in(site: Site, array: int, arrays: int) -> Site:
    """The instruction as one of the memory that its pair with an ``array`` belongs to."""
    if site.space != "generic" or array < arrays:
        return site
    return replace(site, space=OWN_COLUMNS[array - arrays])


def first_array(site: Site, number: NDArray[np.int32], arrays: Sequence[str]) -> str | None:
    """The array that an instruction accessed first; ``number`` of its pairs, by array number + 1.
    None for shared and local memory."""
    if site.space in OWN_COLUMNS:
        return None
    seen = np.flatnonzero(number[: 1 + len(arrays)] >= 0)
    first = int(seen[number[seen].argmin()]) if len(seen) else 0
    return arrays[first - 1] if first else None


def told_apart(
    sites: Sequence[Site], number: NDArray[np.int32], rows: NDArray[Any]
) -> tuple[tuple[Site, ...], NDArray[np.intp]]:
    """Instructions of one memory each, and which one of ``sites`` each is.

    An instruction that came to several memories has its own place for the first of arrays, shared
    and local memory, and others at the end; ``rows`` of the pairs, whose numbers by instruction and
    array are ``number``, are rewritten.
    """
    found, origin = list(sites), list(range(max(1, len(sites))))
    arrays = number.shape[1] - 1 - len(OWN_COLUMNS)
    for n, site in enumerate(sites):
        if site.space != "generic":
            continue
        taken = bool((number[n, : arrays + 1] >= 0).any())
        for array in range(arrays, arrays + len(OWN_COLUMNS)):
            stream = number[n, array + 1]
            if stream < 0:
                continue
            of_memory = seen_in(site, array, arrays)
            if taken:
                rows["site"][stream] = len(found)
                found.append(of_memory)
                origin.append(n)
            else:
                found[n], taken = of_memory, True
    return tuple(found), np.array(origin)
