"""A whole probe of a machine: all parts in turn, within a time, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from placewise.errors import PlacewiseError
from placewise.probe.chase import Chase, OutOfTimeError, ProbeDevice, Timings
from placewise.probe.infer.curve import Curve
from placewise.probe.infer.dram import AddressMapping, PairDevice, infer_mapping
from placewise.probe.infer.hierarchy import Hierarchy, Plan, infer_hierarchy
from placewise.probe.infer.latencies import places
from placewise.probe.infer.latency_patterns import PatternLatency, latency_patterns
from placewise.probe.infer.structure import NO_TIME
from placewise.probe.target import (
    PATHS,
    STREAMS,
    WIDTHS,
    BankTimes,
    DeviceFacts,
    InstructionTimes,
    ProbeTarget,
    StreamTimes,
    instructions_of,
)

PARTS = (
    *("launch", "banks", "instructions", "bandwidth", "global", "patterns", "constant"),
    *("readonly", "texture", "dram", "curve"),
)
"""What can be probed, in this order: first what surely takes little time."""
TIME_LIMIT_S = 280.0
"""Seconds that a whole probe may take; chases end soon after."""
_MOST_OF_REST = 0.5
"""Share of the time that is left which a part may take, but for the last one."""
_STRIDES = tuple(range(1, 33))
_WARPS = (1, 2, 4, 8, 16, 32, 64)
_CURVE_REACH = 4
"""Size of a curve's largest array, as a multiple of the last cache's."""
_POINTS_PER_OCTAVE = 4
_SMALLEST = 1 << 12
_TIMED = 1 << 12
_LINE = 128
"""Bytes; a line of the last cache on all current GPUs, and each load of a curve is of another."""
_OWN = 2
"""Most caches of a path that are taken apart: a third one is the far partition of L2."""
_NEAR_BYTES = 1 << 20
"""Caches that only some loads use are no larger."""


@dataclass(frozen=True)
class Request:
    """What to probe, and for how long."""

    parts: tuple[str, ...] = PARTS
    quick: bool = False
    """Take only the nearest caches apart; TLBs not at all."""
    time_limit_s: float = TIME_LIMIT_S
    seed: int = 0


@dataclass(frozen=True)
class Findings:
    """All that a probe found; empty where it did not look."""

    facts: DeviceFacts
    paths: dict[str, Hierarchy] = field(default_factory=dict)
    shared_cycles: float | None = None
    patterns: tuple[PatternLatency, ...] = ()
    banks: tuple[BankTimes, ...] = ()
    instructions: tuple[InstructionTimes, ...] = ()
    streams: tuple[StreamTimes, ...] = ()
    dram: AddressMapping | None = None
    launch_ns: float | None = None
    curve: Curve | None = None
    """Average latency over the size of an array that is read in random order."""
    failures: tuple[tuple[str, str], ...] = ()
    """Parts that were not found, each with the reason."""
    seconds: float = 0.0


def probe(
    target: ProbeTarget,
    request: Request = Request(),
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None,
) -> Findings:
    """Measure and infer. A part that fails or finds no time is named in ``failures``."""
    start = target.elapsed_s()
    found = Findings(target.facts)
    parts = [part for part in PARTS if part in request.parts]
    for number, part in enumerate(parts):

        def show(what: str = "", part: str = part, number: int = number) -> None:
            spent = f"{target.elapsed_s() - start:.0f} of at most {request.time_limit_s:.0f} s"
            progress(f"{part}{what and f', {what}'} ({spent})", number, len(parts))

        show()
        now, end = target.elapsed_s(), start + request.time_limit_s
        last = number == len(parts) - 1
        limit = _Limit(target, end if last else now + _MOST_OF_REST * (end - now), show)
        try:
            limit.check()
            found = _STEPS[part](found, limit, request)
        except PlacewiseError as error:
            found = _without(found, part, error.message)
    progress("done", len(parts), len(parts))
    return replace(found, seconds=target.elapsed_s() - start)


def _without(found: Findings, part: str, reason: str) -> Findings:
    return replace(found, failures=(*found.failures, (part, reason)))


@dataclass(frozen=True)
class _Limit:
    """A target whose chases are refused once the time is over."""

    target: ProbeTarget
    until_s: float
    show: Callable[[str], None]

    def check(self) -> None:
        if self.target.elapsed_s() > self.until_s:
            raise OutOfTimeError(NO_TIME)

    def chaser(self, path: str) -> _LimitedChaser:
        return _LimitedChaser(self.target.chaser(path), self)


class _LimitedChaser:
    def __init__(self, device: ProbeDevice, limit: _Limit, reach_bytes: int | None = None) -> None:
        self._device = device
        self._limit = limit
        self.reach_bytes = min(device.reach_bytes, reach_bytes or device.reach_bytes)
        self.bypasses = device.bypasses

    def run(self, chase: Chase) -> Timings:
        self._limit.check()
        return self._device.run(chase)

    def up_to(self, reach_bytes: int) -> _LimitedChaser:
        return _LimitedChaser(self._device, self._limit, reach_bytes)


def _path(path: str) -> Callable[[Findings, _Limit, Request], Findings]:
    def step(found: Findings, limit: _Limit, request: Request) -> Findings:
        device = limit.chaser(path)
        plan = Plan(tlbs=False, seed=request.seed)
        if path == "global":
            plan = replace(plan, tlbs=not request.quick, levels=1 if request.quick else _OWN)
        else:
            device = device.up_to(_NEAR_BYTES)
            known = found.paths.get("global")
            slowest = known.memory_cycles + known.walk_cycles if known else 0.0
            levels = None if path == "constant" else 1
            plan = replace(plan, levels=levels, slowest_cycles=slowest)
        hierarchy = infer_hierarchy(device, plan, limit.show)
        found = replace(found, paths={**found.paths, path: hierarchy})
        if NO_TIME in hierarchy.doubts:
            return _without(found, path, f"{NO_TIME} for more than is shown")
        return found

    return step


def _patterns(found: Findings, limit: _Limit, _request: Request) -> Findings:
    if "global" not in found.paths:
        raise PlacewiseError("needs the caches and TLBs of the part 'global'")
    device = limit.chaser("global")
    return replace(found, patterns=latency_patterns(device, found.paths["global"]))


def _banks(found: Findings, limit: _Limit, _request: Request) -> Findings:
    shared = limit.chaser("shared").run(Chase(np.arange(0, 1024, 4), laps=8, warm=1))
    times = tuple(limit.target.banks(s, width) for width in WIDTHS for s in _STRIDES)
    return replace(found, banks=times, shared_cycles=float(np.median(shared.cycles)))


def _instructions(found: Findings, limit: _Limit, _request: Request) -> Findings:
    for name in instructions_of(found.facts.compute_capability):
        try:
            times = limit.target.instruction(name)
        except PlacewiseError as error:
            # The others may work, even if a compiler or driver refuses this one.
            found = _without(found, f"instruction {name}", error.message)
        else:
            found = replace(found, instructions=(*found.instructions, times))
    return found


def _bandwidth(found: Findings, limit: _Limit, _request: Request) -> Findings:
    most = found.facts.max_threads_per_sm // 32
    warps = [w for w in _WARPS if w <= most]
    times = tuple(limit.target.stream(level, w) for level in STREAMS for w in warps)
    return replace(found, streams=times)


def _dram(found: Findings, limit: _Limit, request: Request) -> Findings:
    device = _LimitedPairs(limit.target.pairs(), limit)
    # Within a line of the last cache the second load finds what the first has brought.
    return replace(
        found, dram=infer_mapping(device, lowest=_LINE.bit_length() - 1, seed=request.seed)
    )


class _LimitedPairs:
    def __init__(self, device: PairDevice, limit: _Limit) -> None:
        self._device = device
        self._limit = limit
        self.address_bits = device.address_bits

    def second(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        self._limit.check()
        return self._device.second(first, second)


def _launch(found: Findings, limit: _Limit, _request: Request) -> Findings:
    return replace(found, launch_ns=limit.target.launch_ns())


def _curve(found: Findings, limit: _Limit, request: Request) -> Findings:
    """Time loads of the lines of growing arrays in random order, as published latency curves do."""
    device = limit.chaser("global")
    largest = min(_CURVE_REACH * found.facts.l2_bytes, device.reach_bytes)
    random = np.random.default_rng(request.seed)
    octaves = np.log2(largest / _SMALLEST)
    counts = np.unique(
        np.geomspace(_SMALLEST, largest, int(octaves * _POINTS_PER_OCTAVE)).astype(np.int64)
        // _LINE
    )
    cycles = []
    for count in counts.tolist():
        lap = places(random.permutation(count), _LINE, 0)
        end = lap[-_TIMED:]
        chase = (
            Chase(lap, laps=-(-_TIMED // count), warm=1)
            if count <= _TIMED
            # One whole lap, and the next up to the timed end of it.
            else Chase(end, before=np.concatenate([lap, lap[:-_TIMED]]))
        )
        cycles.append(float(np.median(device.run(chase).cycles.mean(axis=1))))
    return replace(found, curve=Curve(counts.astype(np.float64) * _LINE, np.array(cycles)))


_STEPS: dict[str, Callable[[Findings, _Limit, Request], Findings]] = {
    **{path: _path(path) for path in PATHS[:4]},
    "patterns": _patterns,
    "banks": _banks,
    "instructions": _instructions,
    "bandwidth": _bandwidth,
    "dram": _dram,
    "launch": _launch,
    "curve": _curve,
}
