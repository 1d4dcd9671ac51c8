"""Runs a kernel's PTX and its machine code on the same inputs, and says where they differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from placewise.executor import Execution, execute, lane_offsets
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch


@dataclass
class Bytes:
    """How often each byte of each array is read, written and updated."""

    counts: Counter = field(default_factory=Counter)

    def begin(self, sites, arrays):
        self.sites = sites
        self.arrays = arrays

    def chunk(self, chunk):
        lanes = np.arange(32)
        every = lane_offsets(chunk)
        for n, site in enumerate(chunk.site):
            if chunk.array[n] < 0:
                continue
            what = self.sites[site]
            active = (int(chunk.mask[n]) >> lanes & 1).astype(bool)
            for start in every[n][active]:
                for at in range(int(start), int(start) + what.lane_bytes):
                    self.counts[self.arrays[chunk.array[n]], what.kind, at] += 1


@dataclass(frozen=True)
class Comparison:
    ptx: Execution
    machine_code: Execution
    different: dict[str, int]
    """Elements that differ in bits, by array; arrays without any are left out."""
    worst: float
    """Largest relative difference of a floating-point element."""
    bytes_differ: dict[tuple[str, str], int]
    """Bytes touched more often by one than the other, by (array, kind)."""
    only_ptx: set[tuple[str, str, int]]
    """Bytes that the machine code does not touch at all: (array, kind, offset)."""
    only_machine_code: set[tuple[str, str, int]]


def compare(kernel: Kernel, launch: Launch, inputs: Inputs, *, trace: bool = True) -> Comparison:
    """Run both ways. Raises what execute raises."""
    runs, touched = [], []
    for machine_code in (False, True):
        consumer = Bytes() if trace else None
        chosen = replace(kernel, machine_code=machine_code)
        runs.append(execute(chosen, launch, inputs, consumer=consumer))
        touched.append(consumer.counts if consumer else Counter())
    different, worst = {}, 0.0
    for (name, a), (_, b) in zip(runs[0].outputs, runs[1].outputs, strict=True):
        width = a.dtype.itemsize
        unlike = (
            a.reshape(-1).view(np.uint8).reshape(-1, width)
            != b.reshape(-1).view(np.uint8).reshape(-1, width)
        ).any(axis=1)
        if a.dtype.kind == "f":
            x, y = (v.reshape(-1)[unlike].astype(np.float64) for v in (a, b))
            # A NaN has no certain bits.
            both = np.isnan(x) & np.isnan(y)
            with np.errstate(all="ignore"):
                error = np.abs(x - y)[~both] / np.maximum(np.abs(x), np.abs(y))[~both]
            unlike[np.flatnonzero(unlike)[both]] = False
            worst = max([worst, *np.where(np.isnan(error), np.inf, error)])
        elif unlike.any():
            worst = float("inf")
        if unlike.any():
            different[name] = int(unlike.sum())
    only: Counter = Counter()
    for one, other in (touched, touched[::-1]):
        for (array, kind, _), count in (one - other).items():
            only[array, kind] += count
    first, second = (set(t) for t in touched)
    return Comparison(
        runs[0], runs[1], different, worst, dict(only), first - second, second - first
    )
