"""The warps of an SM over time, and what each line waits for, as the timeline has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.kernel import Kernel
from placewise.model.timeline.issues import Issue
from placewise.model.timeline.watch import REASONS, Watched

COLUMNS = 240
"""Stretches of time that the picture is divided into, at most."""
MOST_WARPS = 64
"""Warps that are shown, at most."""
ISSUED = "issued"
_NOTHING = -1
_SLOT, _ISSUED = (Issue._fields.index(name) for name in ("slot", "issued"))


def warp_timeline(watched: Watched, kernel: Kernel) -> dict[str, Any] | None:
    """The document :class:`placewise.schemas.page.WarpTimeline`; None where nothing was issued."""
    if not len(watched.issues):
        return None
    end = watched.cycles if watched.is_complete else float(watched.issues[:, _ISSUED].max()) + 1.0
    width = max(1.0, end / COLUMNS)
    columns = round(end / width)
    issued = np.bincount(
        np.minimum(watched.issues[:, _ISSUED] // width, columns - 1).astype(np.int64),
        minlength=columns,
    )
    return {
        "cycles": end,
        "cycles_per_column": width,
        "blocks": watched.blocks,
        "warps_per_block": watched.block_warps,
        "is_complete": watched.is_complete,
        "states": [ISSUED, *REASONS],
        "issue_share": (issued / (width * watched.schedulers)).round(4).tolist(),
        "warps": _pictures(watched, columns, width),
        "stalls": _stalls(watched, kernel),
    }


def _stalls(watched: Watched, kernel: Kernel) -> list[dict[str, Any]]:
    """Waits of each instruction, in the order of the code."""
    waits = watched.waits
    of_code = {i.offset: i.place for i in machine_code(kernel).instructions}
    found = []
    for place in np.unique(watched.places).tolist():
        own = watched.places == place
        source = of_code.get(place)
        found.append(
            {
                "place": place,
                "file": None if source is None else source[0],
                "line": None if source is None else source[1],
                "issued": int(own.sum()),
                "waits": waits[own].sum(axis=0).round(1).tolist(),
                "waits_for": _producer(watched.producers[own], waits[own], of_code),
            }
        )
    return found


def _producer(
    producers: NDArray[np.int64],
    waits: NDArray[np.float64],
    of_code: Mapping[int, tuple[str, int] | None],
) -> dict[str, Any] | None:
    """The instruction whose results were waited for longest; None where there is none."""
    results = [REASONS.index(r) for r in ("data of arrays", "shared memory", "other results")]
    cycles = waits[:, results].sum(axis=1)
    known = producers >= 0
    if not (cycles[known] > 0).any():
        return None
    names, number = np.unique(producers[known], return_inverse=True)
    place = int(names[np.argmax(np.bincount(number, weights=cycles[known]))])
    source = of_code.get(place)
    return {
        "place": place,
        "file": None if source is None else source[0],
        "line": None if source is None else source[1],
    }


def _pictures(watched: Watched, columns: int, width: float) -> list[str]:
    """What each warp mostly did in each stretch of time, for each of the SM's places for warps."""
    slots = watched.issues[:, _SLOT].astype(np.int64)
    times, reasons = watched.times, watched.reasons
    shown = []
    for slot in range(min(watched.slots, MOST_WARPS)):
        own = np.flatnonzero(slots == slot)
        spent = np.zeros((columns, 1 + len(REASONS)))
        at = watched.issues[own, _ISSUED]
        _spend(spent, at, at + 1.0, np.zeros(len(own), np.int64), width)
        for step in range(reasons.shape[1]):
            starts, ends = times[own, step], times[own, step + 1]
            _spend(spent, starts, ends, 1 + reasons[own, step], width)
        lived = spent.sum(axis=1) > 0.0
        shown.append(_run_lengths(np.where(lived, spent.argmax(axis=1), _NOTHING)))
    return shown


def _spend(
    spent: NDArray[np.float64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    states: NDArray[np.int64],
    width: float,
) -> None:
    """Add the cycles of stretches (n,) of ``states`` (n,) to the columns that they reach over."""
    some = ends > starts
    starts, ends, states = starts[some] / width, ends[some] / width, states[some]
    first = np.minimum(starts.astype(np.int64), len(spent) - 1)
    last = np.minimum(np.ceil(ends).astype(np.int64) - 1, len(spent) - 1)
    for further in range(int((last - first).max(initial=-1)) + 1):
        column = first + further
        inside = column <= last
        column = column[inside]
        part = np.minimum(ends[inside], column + 1.0) - np.maximum(starts[inside], column)
        np.add.at(spent, (column, states[inside]), np.maximum(part, 0.0))


def _run_lengths(states: NDArray[np.int64]) -> str:
    """Columns as text: a letter for each stretch of one state, ``a`` for the first state and ``-``
    for no warp, and its length where it is not 1, such as ``-12ac3``."""
    edges = np.flatnonzero(np.diff(states)) + 1
    parts = []
    for run in np.split(states, edges):
        letter = "-" if run[0] == _NOTHING else chr(ord("a") + int(run[0]))
        parts.append(letter if len(run) == 1 else f"{letter}{len(run)}")
    return "".join(parts)
