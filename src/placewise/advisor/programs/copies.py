"""Copies that a program's placements need. Memory that the host fills, such as constant memory,
must be filled again after a launch has written the array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placewise.advisor.forms.device_copy import device_copy_ns
from placewise.advisor.programs.chain import Step
from placewise.machine import Machine


@dataclass(frozen=True)
class Fill:
    """Copies of one array of the program into memory that the host fills."""

    array: str
    bytes: int
    before: tuple[int, ...]
    """Numbers of the launches before which it is filled again in each round; empty where one copy
    before the first round is enough."""
    times: int
    """Number of copies that the whole program makes in addition to those that it makes at
    present."""
    nanoseconds: float
    """Predicted time of all of them."""


def fills(
    steps: Sequence[Step], moved: Mapping[int, frozenset[str]], rounds: int, machine: Machine
) -> tuple[Fill, ...]:
    """The copies for arrays that launches read from memory that the host fills.

    ``moved`` gives such arrays of the program by the launch's number. An array that no launch
    writes is filled once. If all launches that use it read it there, this copy replaces the one to
    global memory and costs nothing extra. An array that launches write is copied on the device,
    before each launch that reads it after it was written.
    """
    found = []
    sizes = {array: size for step in steps for array, size in step.sizes().items()}
    for array in sorted(set().union(*moved.values()) if moved else ()):
        readers = {s.number for s in steps if array in moved.get(s.number, frozenset())}
        writers = {s.number for s in steps if array in s.written}
        if not writers:
            users = {s.number for s in steps if array in s.arrays.values()}
            times = 0 if users == readers else 1
            before: tuple[int, ...] = ()
        else:
            first, stale = _round(steps, readers, writers, stale=True)
            before, _ = _round(steps, readers, writers, stale=stale)
            times = len(first) + (rounds - 1) * len(before)
            before = before or first
        found.append(
            Fill(array, sizes[array], before, times, times * device_copy_ns(sizes[array], machine))
        )
    return tuple(found)


def _round(
    steps: Sequence[Step], readers: set[int], writers: set[int], *, stale: bool
) -> tuple[tuple[int, ...], bool]:
    """Numbers of the launches of a round before which the copy must be made, and whether the copy
    is stale after the round. ``stale`` says whether it is stale before the round."""
    before = []
    for step in steps:
        if step.number in readers and stale:
            before.append(step.number)
            stale = False
        stale = stale or step.number in writers
    return tuple(before), stale
