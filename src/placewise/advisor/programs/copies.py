"""Copies that a program's placements need: arrays in memory that the host fills are filled again
after a launch has written them."""

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
    """Launches of each round, by number, that it is filled again in front of; empty where once in
    front of the first round is enough."""
    times: int
    """Copies of the whole program that are made beside what it does at present."""
    nanoseconds: float
    """Predicted time of all of them."""


def fills(
    steps: Sequence[Step], moved: Mapping[int, frozenset[str]], rounds: int, machine: Machine
) -> tuple[Fill, ...]:
    """The copies for arrays that launches read from memory that the host fills.

    ``moved`` gives such arrays of the program by the launch's number. An array that no launch
    writes is filled once; where every launch that gets it reads it there, that stands in place of
    the copy to global memory, and costs nothing more. One that launches write is copied on the
    device, again in front of a launch that reads it if it was written since the last copy.
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
    """Launches of a round that the copy must be made in front of, and whether it is stale
    behind the round; ``stale``: whether it is so in front of it."""
    before = []
    for step in steps:
        if step.number in readers and stale:
            before.append(step.number)
            stale = False
        stale = stale or step.number in writers
    return tuple(before), stale
