"""Generic addresses: an instruction that uses them is split by the memory that they lead to,
because a profiler counts its accesses to shared and to local memory separately."""

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
    """The instruction as seen in the memory that number ``array`` stands for: shared and local
    memory are numbered after the ``arrays``."""
    if site.space != "generic" or array < arrays:
        return site
    return replace(site, space=OWN_COLUMNS[array - arrays])


def first_array(site: Site, number: NDArray[np.int32], arrays: Sequence[str]) -> str | None:
    """The array that an instruction accessed first; None for shared and local memory. ``number``
    are its access streams' numbers, by array number + 1."""
    if site.space in OWN_COLUMNS:
        return None
    seen = np.flatnonzero(number[: 1 + len(arrays)] >= 0)
    first = int(seen[number[seen].argmin()]) if len(seen) else 0
    return arrays[first - 1] if first else None


def told_apart(
    sites: Sequence[Site], number: NDArray[np.int32], rows: NDArray[Any]
) -> tuple[tuple[Site, ...], NDArray[np.intp]]:
    """Split instructions with generic addresses by the memory that they access: the resulting
    instructions, and which of ``sites`` each comes from.

    The first memory (arrays, shared, local) of an instruction keeps its place; further ones are
    appended. The STREAM ``rows`` are renumbered; ``number`` has their numbers by instruction and
    array.
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
