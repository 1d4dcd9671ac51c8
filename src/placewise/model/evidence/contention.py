"""How many lanes of global atomics meet at one address, or in one line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.slice_interpreter import SlicedTrace
from placewise.model.evidence.request_loops import LINE_BYTES

_SPACES = ("global", "generic")


class Hottest(NamedTuple):
    """Shares of an instruction's lanes that meet."""

    address: float
    """At one address, that which most of them go to."""
    line: float
    """In one line."""


def hottest_places(sliced: SlicedTrace, blocks: int) -> dict[int, Hottest]:
    """Shares of each global atomic's lanes at the address and in the line that most of them go to,
    in a launch of ``blocks``."""
    found: dict[int, list[NDArray[np.int64]]] = {}
    for access in sliced.accesses:
        site = sliced.sites[access.site]
        if site.kind == "atomic" and site.space in _SPACES:
            shape = access.mask.shape
            window = np.broadcast_to(access.window[:, None], shape)
            block = np.broadcast_to(sliced.block_of_warp[access.warps][:, None], shape)
            each = np.stack([part[access.mask] for part in (window, access.offset, block)])
            found.setdefault(site.ptx_line, []).append(each)
    shares = {}
    for place, pieces in found.items():
        window, offset, block = np.concatenate(pieces, axis=1)
        if len(window):
            shares[place] = Hottest(
                *(
                    largest_share(np.stack([window, offset // unit]), block, blocks)
                    for unit in (1, LINE_BYTES)
                )
            )
    return shares


def largest_share(where: NDArray[np.int64], block: NDArray[np.int64], blocks: int) -> float:
    """Share of all lanes of a launch of ``blocks`` that go to the place where most of them go.

    ``where`` (2, n) are the places of the lanes of some blocks, ``block`` (n,) the numbers of their
    blocks. A place that two of these blocks go to is taken to be one for all blocks of the launch;
    its lanes count less two standard deviations of what chance brings there, as its lanes vary from
    block to block. One that a single block goes to is taken to be that block's own.
    """
    _, place, count = np.unique(where, axis=1, return_inverse=True, return_counts=True)
    _, sampled = np.unique(block, return_inverse=True)
    visits, lanes = np.unique(np.stack([place.ravel(), sampled]), axis=1, return_counts=True)
    seen = int(sampled.max()) + 1
    visitors = np.bincount(visits[0], minlength=len(count))
    squares = np.bincount(visits[0], lanes.astype(np.float64) ** 2, minlength=len(count))
    spread = np.sqrt(np.maximum(0.0, squares - count.astype(np.float64) ** 2 / seen))
    scaled = np.where(visitors > 1, np.maximum(1.0, count - 2.0 * spread), count * seen / blocks)
    share: float = scaled.max() / where.shape[1]
    return share
