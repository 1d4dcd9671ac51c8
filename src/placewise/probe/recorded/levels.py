"""Levels of a memory path, from a file of any benchmark that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from placewise.errors import MachineError, reading
from placewise.probe.infer.curve import plateaus, read_latency_curve
from placewise.probe.recorded.mt4g_raw import LEAST_ARRAY, read_mt4g_raw
from placewise.probe.recorded.raw import (
    bandwidth_levels,
    read_bandwidth_curve,
    read_mt4g_sizes,
    read_size,
    read_streams,
)


@dataclass(frozen=True)
class Level:
    """One level, with its latency or its bandwidth, whichever the file measures."""

    capacity_bytes: float | None
    """Capacity of the level; None for the last one."""
    cycles: float | None = None
    gb_per_s: float | None = None
    line_bytes: int | None = None
    fetched_bytes: int | None = None
    """Bytes that a miss fetches."""
    doubts: tuple[str, ...] = ()


def read_levels(path: Path) -> tuple[Level, ...]:
    """Levels that a latency curve, bandwidths or raw chases show, nearest first.

    Raises MachineError where the file is none of them.
    """
    for read in (_latency, _bandwidth, _streams, _sizes, _chases):
        if path.is_file() and (levels := _tried(read, path)) is not None:
            return levels
    if not path.is_file():
        raise MachineError("cannot read the measurements: no such file", where=str(path))
    raise MachineError(
        "neither latencies nor bandwidths",
        where=str(path),
        hint="give what gpu-latency, gpu-cache, gpu-l2-cache or gpu-stream printed, or a raw file "
        "of mt4g (…_Size, …_Line_Size, …_Fetch_Granularity, …_Latency)",
    )


def _tried(read: Callable[[Path], tuple[Level, ...]], path: Path) -> tuple[Level, ...] | None:
    try:
        with reading("measurement", path, MachineError):
            return read(path)
    except MachineError:
        return None


def _latency(path: Path) -> tuple[Level, ...]:
    return tuple(Level(p.capacity_bytes, p.cycles) for p in plateaus(read_latency_curve(path)))


def _bandwidth(path: Path) -> tuple[Level, ...]:
    levels = bandwidth_levels(read_bandwidth_curve(path))
    return tuple(Level(capacity, gb_per_s=rate) for rate, capacity in levels)


def _streams(path: Path) -> tuple[Level, ...]:
    return (Level(None, gb_per_s=read_streams(path)),)


def _sizes(path: Path) -> tuple[Level, ...]:
    raw = read_mt4g_sizes(path)
    if raw.sizes[0] < LEAST_ARRAY:
        raise MachineError("the rows begin with strides, not with sizes", where=str(path))
    found = read_size(raw)
    return (Level(found.capacity_bytes, found.hit_cycles, doubts=found.doubts),)


def _chases(path: Path) -> tuple[Level, ...]:
    found = read_mt4g_raw(path)
    line, fetched = found.line_bytes, found.fetched_bytes
    return (
        Level(
            None,
            found.cycles,
            line_bytes=line,
            fetched_bytes=fetched,
            doubts=found.doubts,
        ),
    )
