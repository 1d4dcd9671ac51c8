"""Pointer chases on a GPU: the kernels of ``probe/kernels/chase.cu``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.gpu.device import Device, DeviceError, Scope
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_cubin
from placewise.kernel.launch import Launch
from placewise.probe.chase import Chase, Timings

WORD = 4
"""Bytes of a word of the array that chases go through."""
_WARP = Launch((1, 1, 1), (32, 1, 1))
_WEAVERS = 256
"""Threads of a block of the kernel that writes the places of a route into memory."""
_SECTOR = 32
"""Bytes that are fetched together on all GPUs: repeated visits may go to its other words."""
_KEPT = 4096
"""Places that are brought back from a chase, to see that it went where it should."""
_BATCH = 256
"""``BATCH`` of ``chase.cu``: loads after which times leave for memory."""
_OVERHEAD_LOADS = 32 * _BATCH
_MOST_LOADS = 3_000_000
"""Most loads of one kernel, so that it runs for a second or two."""
_NO_CACHE = 0
"""Share of shared memory, in percent, that a chase's kernel asks for: L1 gets the rest."""


@dataclass(frozen=True)
class Route:
    """Where the places of a chase come from."""

    first: int
    """Word that is loaded first."""
    places: NDArray[np.uint32]
    """Words that are written before the chase (chained), or the list of all places (listed)."""
    values: NDArray[np.uint32] | None
    """What is written to the places; None where they are listed."""
    lap: NDArray[np.uint32]
    """Words of the timed loads of one lap."""

    @property
    def kept(self) -> NDArray[np.uint32]:
        """What each load of a lap must leave behind: the place that it was sent to next (chained),
        or its own place (listed)."""
        return self.lap if self.values is None else np.roll(self.lap, -1)


def route_of(chase: Chase) -> Route:
    """Chained, if all loads can go to words of their own, else listed.

    A word holds one successor, so an address that comes again is loaded from the next word of its
    sector, which every cache holds or lacks together.
    """
    every = np.concatenate([chase.before, chase.lap])
    words = (every // WORD).astype(np.uint32)
    visits = _visits(every)
    apart = every % _SECTOR == 0
    if visits.max(initial=0) < _SECTOR // WORD and (apart.all() or not visits.any()):
        words += visits.astype(np.uint32)
        start = len(chase.before)
        following = np.append(words[1:], words[start])
        return Route(int(words[0]), words, following, words[start:])
    return Route(int(words[0]), words, None, words[len(chase.before) :])


def _visits(addresses: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each address came before, in its place of the sequence."""
    if (np.diff(addresses) > 0).all():
        return np.zeros(len(addresses), np.int64)
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    counts = np.diff(np.append(starts, len(ordered)))
    visits = np.empty(len(addresses), np.int64)
    visits[order] = np.arange(len(ordered)) - np.repeat(starts, counts)
    return visits


def load_kernels(scope: Scope, filename: str, entry: str) -> Any:
    """Module of a kernel file of the probe; ``entry`` is one of its kernels."""
    file = resources.files("placewise.probe").joinpath("kernels", filename)
    target = scope.device.target
    options = CompileOptions(arch=target.arch, nvrtc=target.nvrtc)
    cubin, _ = compile_cubin(file.read_text("utf-8"), filename, entry, options)
    return scope.module(cubin)


class ChaseKernels:
    """The chase's module, its array of zeros, and what its own instructions take."""

    def __init__(self, scope: Scope, array_bytes: int) -> None:
        self.device: Device = scope.device
        self.scope = scope
        self.module = load_kernels(scope, "chase.cu", "weave")
        self.array_bytes = array_bytes
        self.array = scope.allocate(array_bytes)
        self.device.call("cuMemsetD32Async", self.array, 0, array_bytes // WORD, self.device.stream)
        self.flush_bytes = 2 * self.device.attribute("L2_CACHE_SIZE")
        self.is_limited = bool(self.device.attribute("KERNEL_EXEC_TIMEOUT"))
        self.flushed = scope.allocate(max(self.flush_bytes, WORD))
        self._functions: dict[str, Any] = {}
        self._overheads: dict[tuple[str, bool], NDArray[np.float32]] = {}

    def launch(
        self, scope: Scope, name: str, launch: Launch, *values: Any, most_l1: bool = True
    ) -> None:
        """Queue a kernel; ``values`` are NumPy scalars or device pointers."""
        if launch.shared_bytes or name not in self._functions:
            function = self.scope.function(self.module, name, launch.shared_bytes)
            if most_l1:
                which = self.device.cuda.CUfunction_attribute
                carve_out = which.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
                self.device.call("cuFuncSetAttribute", function, carve_out, _NO_CACHE)
            self._functions[name] = function
        scope.launcher(self._functions[name], launch, [parameter(v) for v in values])()

    def flush(self) -> None:
        """Overwrite L2; L1 and the constant caches are empty when a kernel starts."""
        if self.flush_bytes:
            self.device.call(
                "cuMemsetD32Async", self.flushed, 0, self.flush_bytes // WORD, self.device.stream
            )

    def overhead(self, path: str, source: int, *, listed: bool) -> NDArray[np.float32]:
        """(BATCH,) cycles that a chase's own instructions take, by the load's place in its batch.

        All loads need the cycles between two clocks with nothing in between. Some need more, since
        instructions are fetched: on an H100 23 cycles where the unrolled loop jumps, and 142 where
        it begins. Always at the same places, so that they would look like misses of the same lines.
        """
        if (path, listed) not in self._overheads:
            places = np.zeros(_OVERHEAD_LOADS if listed else 1, np.int64)
            laps = 1 if listed else _OVERHEAD_LOADS
            route = route_of(Chase(places))
            nothing, _ = self.timed("nothing", route, 0, laps, 0, 0)
            same, _ = self.timed(path, route, _BATCH, laps, source, 1 if path == "shared" else 0)
            at = np.median(same.reshape(-1, _BATCH), axis=0)
            found = np.median(nothing) + at - np.median(at)
            self._overheads[path, listed] = found.astype(np.float32)
        return self._overheads[path, listed]

    def timed(
        self, path: str, route: Route, untimed: int, laps: int, source: int, words: int
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
        """((laps, n) cycles, first places kept) of a chase along ``route``."""
        device, lap = self.device, len(route.lap)
        loads = laps * lap
        kept = min(loads, _KEPT)
        launch = Launch(_WARP.grid, _WARP.block, WORD * words)
        with Scope(device) as scope:
            cycles, visited = scope.allocate(2 * loads), scope.allocate(WORD * max(kept, 1))
            if route.values is not None:
                self._weave(scope, route, route.values)
                start: tuple[Any, ...] = (np.uint32(route.first),)
            else:
                before = len(route.places) - lap
                start = (scope.upload(route.places), np.uint32(before), np.uint32(lap))
            if path == "constant":
                self._fill_table()
            self.flush()
            name = f"{'listed' if route.values is None else 'chained'}_{path}"
            counts = (np.uint32(untimed), np.uint32(loads))
            self.launch(
                scope, name, launch, np.uint64(source), np.uint32(words), *start, *counts,
                cycles, visited, np.uint32(kept), most_l1=path != "shared",
            )  # fmt: skip
            if route.values is not None:
                self._weave(scope, route, None)
            device.wait()
            took, places = np.empty(loads, np.uint16), np.empty(kept, np.uint32)
            device.call("cuMemcpyDtoH", took.ctypes.data, cycles, took.nbytes)
            if kept:
                device.call("cuMemcpyDtoH", places.ctypes.data, visited, places.nbytes)
        return took.reshape(laps, lap), places

    def _weave(self, scope: Scope, route: Route, values: NDArray[np.uint32] | None) -> None:
        """Queue the kernel that writes ``values`` (None: zeros) to the places of a route."""
        count = len(route.places)
        written = np.uint64(0) if values is None else scope.upload(values)
        grid = Launch((min(-(-count // _WEAVERS), 1024), 1, 1), (_WEAVERS, 1, 1))
        places = scope.upload(route.places)
        self.launch(scope, "weave", grid, self.array, places, written, np.uint32(count))

    def _fill_table(self) -> None:
        """Copy the start of the array to the ``__constant__`` table that constant chases read."""
        symbol, size = self.device.call("cuModuleGetGlobal", self.module, b"table")
        self.device.call("cuMemcpyDtoDAsync", symbol, self.array, size, self.device.stream)


class GpuChaser:
    """Runs chases on the GPU along one path, as :class:`placewise.probe.chase.ProbeDevice` asks."""

    def __init__(
        self, kernels: ChaseKernels, path: str, source: int, reach_bytes: int, bypasses: int
    ) -> None:
        self.kernels = kernels
        self.path = path
        self.source = source
        """Address of the array, or its texture object."""
        self.reach_bytes = reach_bytes
        self.bypasses = bypasses

    def run(self, chase: Chase) -> Timings:
        """Raises DeviceError where the kernel fails or did not visit what it should."""
        route = route_of(chase)
        path = "l2" if self.path == "global" and chase.bypass else self.path
        words = int(route.places.max()) + 1 if path == "shared" else 0
        untimed = len(chase.before) + chase.warm * len(chase.lap)
        if self.kernels.is_limited and untimed + chase.laps * len(chase.lap) > _MOST_LOADS:
            raise DeviceError(
                "the device ends kernels that run for seconds, since it drives a display",
                hint="probe --quick, or a device without a display",
            )
        cycles, places = self.kernels.timed(path, route, untimed, chase.laps, self.source, words)
        expected = np.resize(route.kept, len(places))
        if not np.array_equal(places, expected):
            wrong = int(np.flatnonzero(places != expected)[0])
            raise DeviceError(
                f"load {wrong} of a chase left word {places[wrong]}, not {expected[wrong]}",
                where=path,
            )
        overhead = self.kernels.overhead(path, self.source, listed=route.values is None)
        by_load = np.resize(overhead, cycles.size).reshape(cycles.shape)
        return Timings(chase.lap, np.maximum(cycles.astype(np.float32) - by_load, 1))


def parameter(value: Any) -> NDArray[np.generic]:
    """An array that holds a parameter: a NumPy scalar's own, or a device pointer's 64 bits."""
    if isinstance(value, np.generic):
        return np.array([value], value.dtype)
    return np.array([int(value)], np.uint64)
