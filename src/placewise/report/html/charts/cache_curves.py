"""What caches of other sizes would miss: curves over the size, with the machine's own marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.binary.cubin import read_cubin
from placewise.memory.reuse.miss_curves import miss_curve
from placewise.memory.simulate.caches.hierarchy import hierarchy
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.report.html.charts.sm_accesses import SmAccesses

L2_LINES = 500_000
"""Lines asked of L2 that its curve rests on, at most."""
_KB = 1024
_POINTS_PER_DOUBLING = 2
_BEYOND = 2
"""A curve goes on for so many doublings of the larger of cache and data."""


def cache_curves(run: SimulatedLaunch, seen: SmAccesses | None) -> list[dict[str, Any]]:
    """Documents :class:`placewise.schemas.page.Curve`: L1 on the loads of one SM, and L2 on the
    first lines that all SMs ask for, if these were kept (``arrived``).

    Both are fully associative with LRU replacement (Chen et al. 2017, section 3.1.1).
    """
    static = run.kernel.static_shared_bytes
    if run.kernel.cubin is not None:
        static = read_cubin(run.kernel.cubin, run.kernel.entry).static_shared_bytes
    caches = hierarchy(run.machine, run.occupancy, static + run.launch.shared_bytes)
    found = []
    space = run.machine.direct_space.name
    loads = np.zeros(0, np.int64) if seen is None else seen.loaded_sectors()
    first = caches.first_cache(space)
    if seen is not None and len(loads) and first < len(caches.first):
        cache = caches.first[first]
        blocks = f"{seen.blocks} blocks" if seen.blocks > 1 else "a block"
        of = f" of the {seen.resident}" if seen.blocks < seen.resident else ""
        title = f"{cache.memory.name}: loads of {blocks}{of} on one SM"
        found.append(
            _curve(
                title, "sectors missed, %", loads, run.traffic.sector_bytes,
                (cache.memory.name, cache.size_bytes),
            )
        )  # fmt: skip
    lines = run.traffic.arrived
    if caches.last is not None and caches.last.size_bytes and lines is not None and len(lines):
        name = caches.last.memory.name
        which = "all" if len(lines) < L2_LINES else f"the first {len(lines):,}"
        title = f"{name}: {which} lines that the SMs ask for"
        size = (name, caches.last.size_bytes)
        found.append(_curve(title, "lines missed, %", lines, run.traffic.line_bytes, size))
    return found


def _curve(
    title: str,
    y_label: str,
    stream: NDArray[np.int64],
    unit_bytes: int,
    own: tuple[str, int],
) -> dict[str, Any]:
    """A curve of the misses on ``stream`` (n,), in units of ``unit_bytes``; ``own`` is the name and
    the size of the machine's cache."""
    name, size = own
    curve = miss_curve(stream)
    most = max(size, (len(curve.beyond) - 1) * unit_bytes)
    doublings = np.arange(0.0, np.log2(most / _KB) + _BEYOND, 1.0 / _POINTS_PER_DOUBLING)
    sizes = np.unique(np.append(np.rint(_KB * 2.0**doublings).astype(np.int64), size))
    return {
        "title": title,
        "x_label": "cache, KB",
        "y_label": y_label,
        "x": (sizes / _KB).round(3).tolist(),
        "y": (100.0 * curve.rates(sizes // unit_bytes)).round(3).tolist(),
        "marks": [(size / _KB, f"{name}: {_in_words(size)}")],
    }


def _in_words(size: int) -> str:
    return f"{size / _KB / _KB:g} MB" if size >= 4 * _KB * _KB else f"{size // _KB:,} KB"
