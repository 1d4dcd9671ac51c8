"""Times a case's placements on a real GPU and checks their outputs against the original's."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, PlacewiseError, UnsupportedError
from placewise.executor import execute
from placewise.executor.compare import OutputCheck, compare
from placewise.executor.result import Execution
from placewise.gpu.clocks import UNKNOWN, Clocks, read_clocks
from placewise.gpu.device import Device, DeviceError, Scope
from placewise.gpu.exclusive import exclusive_use
from placewise.gpu.record import DeviceInfo, Measurement, PlacementRecord
from placewise.gpu.timing import Options, time_launches
from placewise.kernel.cases.case import Case
from placewise.kernel.frontends.nvrtc import compile_cubin, compile_kernel, compiler_version
from placewise.kernel.launch import ArrayArgument, Inputs, SurfaceArgument, TextureArgument
from placewise.kernel.texture import Sampler
from placewise.kernel.toolchain import DEFAULT_NVRTC, Target
from placewise.rewriter.rewritten import Rewritten


def measure(
    case: Case,
    versions: Iterable[Rewritten],
    *,
    ordinal: int = 0,
    options: Options | None = None,
    expected: Execution | None = None,
    driver: Any = None,
    progress: Callable[[PlacementRecord], None] | None = None,
) -> Measurement:
    """Every version compiled for GPU ``ordinal``, its outputs checked, its launches timed.

    ``case`` is the original. It is launched first: all versions must leave the same outputs, bit
    for bit, and its own are compared with those of its execution on the CPU (``expected``, run here
    where it is not given). A version that the compiler or the driver refuses is recorded with its
    error; after a fault that costs the context, what follows is left out. ``driver`` stands in for
    the driver bindings in tests.

    Raises DeviceError where there is no GPU, and what compiling and executing ``case`` raises.
    """
    options = options or Options()
    start = time.monotonic()
    with Device(ordinal, driver) as device:
        target = device.target
        original = for_target(case, target)
        truth = expected if expected is not None else _execution(original)
        # All that is asked of the device itself is asked first: after a fault it may not answer.
        clocks = read_clocks if driver is None else _no_clocks
        bus_id = device.bus_id
        info = _info(device, clocks(bus_id), original.options.nvrtc)
        reference, checks = _reference(device, bus_id, original, truth)
        records: list[PlacementRecord] = []
        waiting = list(versions)
        while waiting and not _over(start, options.time_limit_s):
            version = waiting.pop(0)
            record = PlacementRecord(version.placement.spaces)
            here = for_target(version.case, target)
            record, lost = _measured(device, bus_id, here, reference, options, record)
            records.append(record)
            if progress is not None:
                progress(record)
            if lost:
                break
        return Measurement(
            case=case.name,
            kernel=case.kernel,
            source_sha256=hashlib.sha256(case.source.encode()).hexdigest(),
            grid=case.launch.grid,
            block=case.launch.block,
            device=replace(info, clocks_after=clocks(bus_id)),
            date=datetime.now().astimezone().isoformat(timespec="seconds"),
            warmup=options.warmup,
            repeats=options.repeats,
            records=tuple(records),
            left_out=len(waiting),
            executor=checks,
        )


def _over(start: float, limit: float | None) -> bool:
    return limit is not None and time.monotonic() - start > limit


def _no_clocks(_bus_id: str) -> Clocks:
    return UNKNOWN


def for_target(case: Case, target: Target) -> Case:
    """``case`` compiled for the device at hand, by its own compiler where it names one."""
    asked = case.options.nvrtc
    nvrtc = target.nvrtc if asked == DEFAULT_NVRTC else asked
    return replace(case, options=replace(case.options, arch=target.arch, nvrtc=nvrtc))


def _execution(case: Case) -> Execution:
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    return execute(kernel, case.launch, case.inputs)


def _info(device: Device, clocks: Clocks, nvrtc: str) -> DeviceInfo:
    version = int(device.call("cuDriverGetVersion"))
    return DeviceInfo(
        name=device.name,
        arch=device.arch,
        sms=device.attribute("MULTIPROCESSOR_COUNT"),
        l2_bytes=device.attribute("L2_CACHE_SIZE"),
        cuda_version=f"{version // 1000}.{version % 1000 // 10}",
        nvrtc_version=compiler_version(nvrtc),
        clocks_before=clocks,
        clocks_after=UNKNOWN,
    )


@dataclass(frozen=True, eq=False)
class _Expected:
    """What a version must compute."""

    outputs: dict[str, NDArray[np.generic]]
    """Arrays that the kernel writes, as they are afterwards."""
    updated: frozenset[str]
    """Written arrays that the kernel reads as well: unless restored, they differ from launch to
    launch."""


def _reference(
    device: Device, bus_id: str, original: Case, truth: Execution
) -> tuple[_Expected, tuple[OutputCheck, ...]]:
    """What the original computes on this GPU, and how far that is from what the executor computed.

    Special functions (square roots, exponentials, sines …) are approximations of the hardware, and
    the executor's may differ in the last places. Where the original cannot be launched, the
    executor's outputs are expected.
    """
    by_executor = {name: data for name, data in truth.outputs if name in truth.written}
    expected = _Expected(by_executor, truth.read & truth.written)
    try:
        cubin, entry = compile_cubin(
            original.source, original.filename, original.kernel, original.options
        )
        with exclusive_use(bus_id), Scope(device) as scope:
            outputs = _outputs(device, load_case(scope, original, cubin, entry), expected)
    except PlacewiseError:
        # The record of the version in question says what is wrong.
        return expected, ()
    checks = tuple(compare(name, data, outputs[name]) for name, data in by_executor.items())
    return replace(expected, outputs=outputs), checks


def _measured(
    device: Device,
    bus_id: str,
    case: Case,
    expected: _Expected,
    options: Options,
    record: PlacementRecord,
) -> tuple[PlacementRecord, bool]:
    """``record`` with what was measured of ``case``, and whether the device's context is lost."""
    try:
        cubin, entry = compile_cubin(case.source, case.filename, case.kernel, case.options)
        with exclusive_use(bus_id), Scope(device) as scope:
            loaded = load_case(scope, case, cubin, entry)
            return _timed(scope, loaded, expected, options, record), False
    except DeviceError as error:
        return replace(record, error=str(error)), _is_lost(device)
    except PlacewiseError as error:
        return replace(record, error=str(error)), False


def _is_lost(device: Device) -> bool:
    """A fault inside a kernel makes every later call fail."""
    try:
        device.wait()
    except DeviceError:
        return True
    return False


_Arrays = dict[str, tuple[Any, NDArray[np.generic]]]
"""By name: device pointer and what was uploaded there."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A case on the device, ready to be launched."""

    case: Case
    function: Any
    """The driver's handle of the kernel."""
    launch: Callable[[], None]
    """Queues a launch."""
    arrays: _Arrays


def load_case(scope: Scope, case: Case, cubin: bytes, entry: str) -> Loaded:
    """Load the machine code of ``case`` and upload its inputs.

    Raises DeviceError where the driver refuses, and UnsupportedError for inputs that hold pointers
    and for textures that are not plain ones over linear memory.
    """
    module = scope.module(cubin)
    function = scope.function(module, entry, case.launch.shared_bytes)
    for symbol, data in case.inputs.constants:
        scope.fill_constant(module, symbol, data)
    parameters, arrays = _parameters(scope, case.inputs)
    return Loaded(case, function, scope.launcher(function, case.launch, parameters), arrays)


def _timed(
    scope: Scope, loaded: Loaded, expected: _Expected, options: Options, record: PlacementRecord
) -> PlacementRecord:
    device, arrays = scope.device, loaded.arrays
    originals = {name: data for name, (_, data) in arrays.items() if name in expected.updated}
    copies = {name: scope.upload(data) for name, data in originals.items()}

    def restore() -> None:
        for name, copy in copies.items():
            pointer, data = arrays[name]
            device.call("cuMemcpyDtoDAsync", pointer, copy, data.nbytes, device.stream)

    found = _outputs(device, loaded, expected)
    checks = tuple(compare(name, data, found[name]) for name, data in expected.outputs.items())
    timings = [time_launches(scope, loaded.launch, restore, state, options) for state in options.l2]

    def attribute(name: str) -> int:
        kind = getattr(device.cuda.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(device.call("cuFuncGetAttribute", kind, loaded.function))

    return replace(
        record,
        timings=tuple(timings),
        outputs=checks,
        registers=attribute("NUM_REGS"),
        local_bytes=attribute("LOCAL_SIZE_BYTES"),
        static_shared_bytes=attribute("SHARED_SIZE_BYTES"),
        dynamic_shared_bytes=loaded.case.launch.shared_bytes,
    )


def _parameters(scope: Scope, inputs: Inputs) -> tuple[list[NDArray[np.generic]], _Arrays]:
    """Each parameter's value in an array of its own; device pointer and data of each array."""
    for holder, _ in inputs.pointers:
        raise UnsupportedError(
            "inputs that hold pointers are not measured on a device", where=f"'{holder}'"
        )
    parameters: list[NDArray[np.generic]] = []
    arrays: _Arrays = {}
    for argument in inputs.arguments:
        if isinstance(argument, ArrayArgument):
            pointer = scope.upload(argument.data)
            arrays[argument.name] = (pointer, argument.data)
            parameters.append(np.array([int(pointer)], np.uint64))
        elif isinstance(argument, SurfaceArgument) or (
            isinstance(argument, TextureArgument)
            and (argument.geometry != "linear" or argument.sampler != Sampler())
        ):
            raise UnsupportedError(
                "only plain textures over linear memory are measured on a device",
                where=f"parameter '{argument.name}'",
            )
        elif isinstance(argument, TextureArgument):
            parameters.append(np.array([int(scope.texture(argument.data))], np.uint64))
        else:
            parameters.append(np.array([argument.value], argument.value.dtype))
    return parameters, arrays


def _outputs(device: Device, loaded: Loaded, expected: _Expected) -> dict[str, NDArray[np.generic]]:
    """Launch once; what the arrays that the kernel writes hold afterwards."""
    loaded.launch()
    device.wait()
    found: dict[str, NDArray[np.generic]] = {}
    for name in expected.outputs:
        if name not in loaded.arrays:
            raise CaseError(f"output '{name}' is not an array of this version", where=name)
        pointer, data = loaded.arrays[name]
        found[name] = np.empty_like(data)
        device.call("cuMemcpyDtoH", found[name].ctypes.data, pointer, data.nbytes)
    return found
