"""Generic addresses. An instruction that uses them is split into one for each memory that it
accesses, because a profiler counts accesses to shared and to local memory separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE
from placewise.executor.trace import Site

OWN_COLUMNS = ("shared", "local")
"""Memories that the executor's code addresses without an array: they are numbered after the
arrays."""


def with_own_columns(windows: NDArray[np.int32], arrays: int) -> NDArray[np.int32]:
    """Number of the array of each address window; shared and local memory are numbered after the
    ``arrays``."""
    numbered = windows.copy()
    for n, memory in enumerate(OWN_COLUMNS):
        numbered[WINDOW_OF_SPACE[memory]] = arrays + n
    return numbered


def seen_in(site: Site, array: int, arrays: int) -> Site:
    """The part of an instruction that accesses the memory with number ``array``; shared and local
    memory are numbered after the ``arrays``."""
    if site.space != "generic" or array < arrays:
        return site
    return replace(site, space=OWN_COLUMNS[array - arrays])


def first_array(site: Site, number: NDArray[np.int32], arrays: Sequence[str]) -> str | None:
    """The array that an instruction accessed first; None for shared and local memory. ``number``
    has the numbers of its access streams, by array number + 1."""
    if site.space in OWN_COLUMNS:
        return None
    seen = np.flatnonzero(number[: 1 + len(arrays)] >= 0)
    first = int(seen[number[seen].argmin()]) if len(seen) else 0
    return arrays[first - 1] if first else None


def told_apart(
    sites: Sequence[Site], number: NDArray[np.int32], rows: NDArray[Any]
) -> tuple[tuple[Site, ...], NDArray[np.intp]]:
    """Split instructions with generic addresses by the memory that they access. Returns the
    resulting instructions, and the index in ``sites`` that each comes from.

    The first memory (arrays, shared, local) of an instruction keeps the instruction's place;
    further ones are appended. The ``rows`` (STREAM) are renumbered; ``number`` has their numbers by
    instruction and array.
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
