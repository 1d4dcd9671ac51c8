"""The first stage: what is fetched at a time, and how much a level holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placewise.probe.infer.latencies import Survey
from placewise.probe.infer.view import View

_SHARE = 0.8
"""Share of misses that must lie at multiples of the fetch size; at twice that size it is a half."""
_TIMED = 1 << 14


def size_beyond(survey: Survey, level: int) -> int | None:
    """Bytes of an array most of whose loads pass ``level`` by, and one doubling more."""
    beyond = survey.shares[:, level + 1 :].sum(axis=1)
    enough = np.flatnonzero(beyond > 0.5)
    if not len(enough):
        return None
    return int(survey.sizes[min(enough[0] + 1, len(survey.sizes) - 1)])


def fetched_bytes(view: View, bytes_: int, step: int) -> int | None:
    """What a miss fetches: a sequential sweep misses only where a new piece begins.

    The array is of ``bytes_`` bytes, of which half do not fit; ``step`` is below what is looked
    for. None where nothing missed. Mei et al. 2014: stride of one element.
    """
    fine = replace(view, stride=step)
    lines = np.arange(bytes_ // step)
    timed = lines[: min(_TIMED, len(lines) // 2)]
    coarse = lines[:: max(1, min(32 // step, 8))] if view.spread == 0 else lines
    missed = np.zeros(0, np.int64)
    for _ in range(3):
        misses = fine.chase(timed, before=np.concatenate([coarse, coarse[len(coarse) // 2 :]]))
        missed = np.concatenate([missed, np.flatnonzero(misses[0])])
    if len(missed) < 8:
        return None
    size = 1
    while 2 * size <= len(timed) and np.mean(missed % (2 * size) == 0) >= _SHARE:
        size *= 2
    return size * step


def capacity_lines(view: View) -> int | None:
    """How many lines from 0 on fit; None where all do that the device can reach."""
    most = view.device.reach_bytes // view.stride
    fit, over = 0, 1
    while view.fits(np.arange(over), quick=True):
        fit, over = over, 2 * over
        if over > most:
            return None
    fit, over = _parted(view, fit, over, quick=True)
    step = 1
    while fit > 0 and not view.fits(np.arange(fit)):
        fit, over = max(fit - step, 0), fit
        step *= 2
    return _parted(view, fit, over, quick=False)[0]


def _parted(view: View, fit: int, over: int, *, quick: bool) -> tuple[int, int]:
    """Narrow ``fit`` (lines that fit) and ``over`` (lines that do not) down to neighbouring
    numbers."""
    while over - fit > 1:
        middle = _roundest(fit, over)
        if not view.fits(np.arange(middle), quick=quick):
            over = middle
        elif view.fits(np.arange(middle + 1), quick=quick):
            fit = middle + 1
        else:
            return middle, middle + 1
    return fit, over


def _roundest(fit: int, over: int) -> int:
    """The number between that most powers of two divide, since capacities are mostly round."""
    step = 1 << (over - fit).bit_length()
    while (over - 1) // step * step <= fit:
        step //= 2
    return (over - 1) // step * step
