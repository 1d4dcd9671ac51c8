"""Filtered reads of textures. The executor writes a record for each texel that a read needs, one
after another; a GPU requests all of these texels together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site
from placewise.kernel.launch import Inputs
from placewise.kernel.texture import TextureArgument
from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import LAST, LINE_BIT, SECTOR_BIT, SECTORS
from placewise.memory.simulate.simd.jit_helpers import bits, noinline

_AXES = {"1d": 1, "layered-1d": 1, "3d": 3}
"""Number of axes along which a texture is filtered, for kinds of textures with another number than
two."""
_GATHERED_AXES = 2
"""Number of filtered axes of TLD4, which returns the four texels themselves."""


def filtered_axes(inputs: Inputs) -> dict[str, int]:
    """Number of axes along which reads of each texture are filtered, by the texture's name; 0 if
    they are not filtered."""
    return {
        a.name: _AXES.get(a.geometry, 2)
        if a.sampler.filter == "linear" and a.geometry != "linear"
        else 0
        for a in inputs.arguments
        if isinstance(a, TextureArgument)
    }


def doublings(site: Site, array: str, axes: Mapping[str, int]) -> int:
    """Base-two logarithm of the number of records of one read of ``array``; ``axes`` is the result
    of :func:`filtered_axes`."""
    opcode = site.opcode.upper()
    if site.space != "texture" or site.kind != "load" or array not in axes:
        return 0
    if opcode.startswith("TLD4"):
        return _GATHERED_AXES
    # Reads with integer coordinates (TLD, tex.….s32) are not filtered.
    return 0 if opcode.startswith("TLD") or opcode.endswith(".S32") else axes[array]


@noinline
def join_requests(request: NDArray[np.int64], first: Int, begun: Int, n: Int) -> tuple[Int, Int]:
    """Merge the line requests ``begun`` to ``n`` into the earlier ones of the same texture read,
    which start at ``first``. Returns how many line requests there are then, and how many sectors
    were added."""
    end, asked = begun, np.int64(0)
    request[np.uintp(begun - 1)] &= ~LAST
    for k in range(begun, n):
        word = request[np.uintp(k)] & ~LAST
        at = first
        while at < end and request[np.uintp(at)] >> LINE_BIT != word >> LINE_BIT:
            at += 1
        known = request[np.uintp(at)] if at < end else np.int64(0)
        asked += bits(((word & ~known) >> SECTOR_BIT) & SECTORS)
        request[np.uintp(at)] = word | known
        end += np.int64(at == end)
    request[np.uintp(end - 1)] |= LAST
    return end, asked
