"""Levels of a memory path from whichever of others' files over size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from placewise.errors import MachineError
from placewise.probe.curve import plateaus, read_latency_curve
from placewise.probe.raw import (
    bandwidth_levels,
    read_bandwidth_curve,
    read_mt4g_sizes,
    read_size,
)


@dataclass(frozen=True)
class Level:
    """One level; of latency and bandwidth, what the file measures."""

    capacity_bytes: float | None
    """None for the last."""
    cycles: float | None = None
    gb_per_s: float | None = None
    doubts: tuple[str, ...] = ()


def read_levels(path: Path) -> tuple[Level, ...]:
    """Levels that a latency curve, a bandwidth curve or raw chases show, nearest first.

    Raises MachineError where the file is none of them.
    """
    for read in (_latency, _bandwidth, _raw):
        if path.is_file() and (levels := _tried(read, path)) is not None:
            return levels
    if not path.is_file():
        raise MachineError("cannot read the measurements: no such file", where=str(path))
    raise MachineError(
        "neither latencies nor bandwidths over sizes",
        where=str(path),
        hint="give what gpu-latency or gpu-cache printed, or a raw …_Size.txt of mt4g",
    )


def _tried(read: Callable[[Path], tuple[Level, ...]], path: Path) -> tuple[Level, ...] | None:
    try:
        return read(path)
    except MachineError:
        return None


def _latency(path: Path) -> tuple[Level, ...]:
    return tuple(Level(p.capacity_bytes, p.cycles) for p in plateaus(read_latency_curve(path)))


def _bandwidth(path: Path) -> tuple[Level, ...]:
    levels = bandwidth_levels(read_bandwidth_curve(path))
    return tuple(Level(capacity, gb_per_s=rate) for rate, capacity in levels)


def _raw(path: Path) -> tuple[Level, ...]:
    found = read_size(read_mt4g_sizes(path))
    return (Level(found.capacity_bytes, found.hit_cycles, doubts=found.doubts),)
