"""The GPU at hand as a target of the probe."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from placewise.gpu.device import Device, DeviceError, Scope
from placewise.gpu.probe_chase import ChaseKernels, GpuChaser, load_kernels, parameter
from placewise.kernel.launch import Launch
from placewise.probe.target import BankTimes, DeviceFacts, InstructionTimes, StreamTimes

_LARGEST_ARRAY = 1 << 33
_OF_FREE = 0.5
"""Share of the free memory that the chase's array may take."""
_TEXELS = 1 << 27
"""Most texels of a 1-D texture over linear memory (CUDA C++ Programming Guide)."""
_CONSTANT = 1 << 16
_SHARED = 1 << 15
"""Bytes that a chase through shared memory may use: no opt-in is needed."""
_LINKS = 128
_ROUNDS = 32
"""``LINKS`` and ``ROUNDS`` of ``instructions.cu``: instructions of a chain and its repetitions."""
_LOADS = 128
"""``LOADS`` of ``banks.cu``: loads between its two clocks."""
_FULL = 1024
"""Threads of a block that keeps an SM busy."""
_STREAMERS = 128
"""Threads of a block that streams."""
_VECTOR = 16
_AT_ONCE = 4
"""Vectors that a streaming thread loads at once, ``AT_ONCE`` of ``bandwidth.cu``."""
_NEAR_BYTES = 16 << 10
_FAR_TIMES = 8
_NEAR_SHARE = 0.5
"""Share of L2 that an array fills which is to be streamed from L2."""
_STREAM_BYTES = 1 << 30
"""Bytes that each bandwidth measurement moves, about."""
_TIMED = 5
"""Launches of a timed kernel, of which the fastest counts."""
_AHEAD = 8
"""Times that L2 is overwritten ahead of a timed kernel, which takes some tenths of a
millisecond."""
_IDLE_CYCLES = 10_000
"""Longer than the interval in which DRAM banks are refreshed, and so closed (1.9 to 7.8 µs)."""
_PAGE = 1 << 21
_PAIRS_AT_ONCE = 4096
"""Pairs that one kernel loads."""
_DOUBLES = ("DADD", "DFMA", "DMMA")
_FLOATS = ("FADD", "FMUL", "FFMA", "MUFU_EX2", "MUFU_RSQ")


class GpuTarget:
    """The GPU at hand as a :class:`placewise.probe.target.ProbeTarget`. Close it after use."""

    def __init__(
        self, ordinal: int = 0, driver: Any = None, reach_bytes: int | None = None
    ) -> None:
        """Raises DeviceError where there is no GPU. ``driver`` stands in for the bindings in tests,
        ``reach_bytes`` limits the array."""
        self.device = Device(ordinal, driver)
        self._scope = Scope(self.device)
        try:
            self.facts = _facts(self.device)
            free, _ = self.device.call("cuMemGetInfo")
            most = min(int(_OF_FREE * free), reach_bytes or _LARGEST_ARRAY, _LARGEST_ARRAY)
            self.kernels = ChaseKernels(self._scope, 1 << (most.bit_length() - 1))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._modules: dict[str, Any] = {}
        self._texture: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scope.__exit__(kind, error, traceback)
        self.device.__exit__(kind, error, traceback)

    def elapsed_s(self) -> float:
        return time.monotonic()

    def chaser(self, path: str) -> GpuChaser:
        """The device that chases by ``path``; loads of ``global`` can bypass L1."""
        array, reach = int(self.kernels.array), self.kernels.array_bytes
        if path == "texture":
            return GpuChaser(
                self.kernels, path, self._texture_of_array(), min(reach, 4 * _TEXELS), 0
            )
        if path == "constant":
            return GpuChaser(self.kernels, path, array, min(reach, _CONSTANT), 0)
        if path == "shared":
            return GpuChaser(self.kernels, path, array, min(reach, _SHARED), 0)
        return GpuChaser(self.kernels, path, array, reach, 1 if path == "global" else 0)

    def pairs(self) -> GpuPairs:
        return GpuPairs(self)

    def banks(self, stride: int, width: int) -> BankTimes:
        alone = self._clocks("banks.cu", f"bank_latency_{width}", 32, np.uint32(stride))
        many = self._clocks("banks.cu", f"bank_rate_{width}", _FULL, np.uint32(stride))
        return BankTimes(stride, width, alone / _LOADS, many / _LOADS / (_FULL // 32))

    def instruction(self, name: str) -> InstructionTimes:
        dtype = np.float64 if name in _DOUBLES else np.float32 if name in _FLOATS else np.uint32
        values = (dtype(1.5), dtype(0.75)) if dtype is not np.uint32 else (dtype(7), dtype(3))
        alone = self._clocks("instructions.cu", f"latency_{name}", 32, *values)
        many = self._clocks("instructions.cu", f"rate_{name}", _FULL, *values)
        lanes = _FULL * _LINKS * _ROUNDS / many
        return InstructionTimes(name.replace("_", "."), alone / _LINKS, lanes)

    def stream(self, level: str, warps_per_sm: int) -> StreamTimes:
        """Bandwidth of a level: the array's first bytes are read until about 1 GB has been
        moved."""
        threads = min(_STREAMERS, 32 * warps_per_sm)
        blocks = self.facts.sms * max(1, 32 * warps_per_sm // threads)
        each = threads * _AT_ONCE
        if level == "L1":
            step, count = 0, _NEAR_BYTES // _VECTOR // each * each
        else:
            l2 = self.facts.l2_bytes
            total = _NEAR_SHARE * l2 if level == "L2" else _FAR_TIMES * l2
            total = min(int(total), self.kernels.array_bytes)
            count = max(1, total // _VECTOR // blocks // each) * each
            step = count
        moved = blocks * count * _VECTOR
        passes = max(1, _STREAM_BYTES // moved)
        name = "stream_through_l1" if level == "L1" else "stream_past_l1"
        launch = Launch((blocks, 1, 1), (threads, 1, 1))
        with Scope(self.device) as scope:
            out = scope.allocate(4 * blocks * threads)
            values = (
                *(np.uint64(int(self.kernels.array)), np.uint64(step)),
                *(np.uint32(count), np.uint32(passes), out),
            )
            ms = self._fastest_ms(scope, name, launch, values)
        return StreamTimes(level, warps_per_sm, moved * passes / ms / 1e6)

    def launch_ns(self) -> float:
        with Scope(self.device) as scope:
            return 1e6 * self._fastest_ms(scope, "nothing", Launch((1, 1, 1), (32, 1, 1)), ())

    def module(self, filename: str, entry: str) -> Any:
        """Module of a kernel file, compiled when it is first asked for."""
        if filename not in self._modules:
            self._modules[filename] = load_kernels(self._scope, filename, entry)
        return self._modules[filename]

    def _clocks(self, filename: str, name: str, threads: int, *values: Any) -> float:
        """Cycles between the two clocks that a kernel of one block leaves; the least of a few."""
        function = self._scope.function(self.module(filename, name), name, 0)
        found = []
        with Scope(self.device) as scope:
            cycles, out = scope.allocate(8), scope.allocate(8 * threads)
            launch = Launch((1, 1, 1), (threads, 1, 1))
            parameters = [parameter(v) for v in (*values, cycles, out)]
            queue = scope.launcher(function, launch, parameters)
            for _ in range(_TIMED):
                queue()
                self.device.wait()
                clocks = np.empty(2, np.uint32)
                self.device.call("cuMemcpyDtoH", clocks.ctypes.data, cycles, clocks.nbytes)
                found.append(int(clocks[1] - clocks[0]))
        if min(found) <= 0:
            raise DeviceError("a kernel left no times", where=name)
        return float(min(found))

    def _fastest_ms(
        self, scope: Scope, name: str, launch: Launch, values: tuple[Any, ...]
    ) -> float:
        function = self._scope.function(self.module("bandwidth.cu", name), name, 0)
        queue = scope.launcher(function, launch, [parameter(v) for v in values])
        begin, end = scope.event(), scope.event()
        times = []
        for _ in range(_TIMED):
            # While the GPU does this, the host queues what is timed: else its time would count.
            for _ in range(_AHEAD):
                self.kernels.flush()
            queue()
            self.device.call("cuEventRecord", begin, self.device.stream)
            queue()
            self.device.call("cuEventRecord", end, self.device.stream)
            self.device.wait()
            times.append(float(self.device.call("cuEventElapsedTime", begin, end)))
        if min(times) <= 0:
            raise DeviceError("a kernel took no time", where=name)
        return min(times)

    def _texture_of_array(self) -> int:
        if self._texture is None:
            size = min(self.kernels.array_bytes, 4 * _TEXELS)
            shape = np.broadcast_to(np.uint32(0), size // 4)
            self._texture = int(self._scope.texture_over(self.kernels.array, shape))
        return self._texture


class GpuPairs:
    """Loads pairs of addresses, as :class:`placewise.probe.infer.dram.PairDevice` asks for.

    Cycles are converted to time at the GPU's highest clock. Slices of L2 and partitions of DRAM are
    not equally far from an SM, which makes a larger difference than the state of a row does. So
    each pair is loaded in both orders. The time given for a second load is the median time of first
    loads, plus what this load took more as a second one than the same address did as a first one.
    """

    def __init__(self, target: GpuTarget) -> None:
        self._target = target
        self.address_bits = target.kernels.array_bytes.bit_length() - 1

    def second(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        parts = range(0, len(first), _PAIRS_AT_ONCE)
        cycles = []
        for k in parts:
            ones, twos = first[k : k + _PAIRS_AT_ONCE], second[k : k + _PAIRS_AT_ONCE]
            there, back = self._both(ones, twos), self._both(twos, ones)
            cycles.append(np.median(back[:, 0]) + there[:, 1] - back[:, 0])
        mhz = self._target.facts.clock_mhz or 1000.0
        result: NDArray[np.float64] = np.concatenate(cycles) * (1e3 / mhz)
        return result

    def _both(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, 2) cycles of the loads of each pair."""
        target, device = self._target, self._target.device
        function = target._scope.function(target.module("pairs.cu", "pairs"), "pairs", 0)
        with Scope(device) as scope:
            clocks, out = scope.allocate(12 * len(first)), scope.allocate(4)
            ones, twos = (scope.upload((a // 4 * 4).astype(np.uint64)) for a in (first, second))
            values = (
                *(np.uint64(int(target.kernels.array)), ones, twos, np.uint32(len(first))),
                *(np.uint64(_PAGE), np.uint32(_IDLE_CYCLES), clocks, out),
            )
            target.kernels.flush()
            launch = Launch((1, 1, 1), (32, 1, 1))
            scope.launcher(function, launch, [parameter(v) for v in values])()
            device.wait()
            found = np.empty((len(first), 3), np.uint32)
            device.call("cuMemcpyDtoH", found.ctypes.data, clocks, found.nbytes)
        return np.diff(found.view(np.int32)).astype(np.float64)


def _facts(device: Device) -> DeviceFacts:
    free_and_total = device.call("cuMemGetInfo")
    khz = device.attribute("CLOCK_RATE")
    memory_khz = device.attribute("MEMORY_CLOCK_RATE")
    bits = device.attribute("GLOBAL_MEMORY_BUS_WIDTH")
    return DeviceFacts(
        name=device.name,
        compute_capability=(
            device.attribute("COMPUTE_CAPABILITY_MAJOR"),
            device.attribute("COMPUTE_CAPABILITY_MINOR"),
        ),
        sms=device.attribute("MULTIPROCESSOR_COUNT"),
        clock_mhz=khz / 1000 or None,
        memory_bytes=int(free_and_total[1]),
        l2_bytes=device.attribute("L2_CACHE_SIZE"),
        constant_bytes=device.attribute("TOTAL_CONSTANT_MEMORY"),
        max_threads_per_block=device.attribute("MAX_THREADS_PER_BLOCK"),
        max_block=_three(device, "MAX_BLOCK_DIM"),
        max_grid=_three(device, "MAX_GRID_DIM"),
        max_threads_per_sm=device.attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
        max_blocks_per_sm=device.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        registers_per_sm=device.attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        shared_bytes_per_block=device.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        shared_bytes_per_sm=device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        # Two transfers a clock: double data rate.
        dram_gb_per_s=2 * memory_khz * bits / 8 / 1e6 or None,
    )


def _three(device: Device, name: str) -> tuple[int, int, int]:
    x, y, z = (device.attribute(f"{name}_{axis}") for axis in "XYZ")
    return x, y, z
