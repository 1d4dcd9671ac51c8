"""Document of `placewise measure`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import Extent, Output, document


class Clocks(TypedDict):
    """Clocks of the GPU at one moment, and its driver. Null where the driver does not tell."""

    sm_mhz: int | None
    """Clock of the SMs."""
    memory_mhz: int | None
    """Clock of the memory."""
    sm_max_mhz: int | None
    """Highest clock of the SMs."""
    memory_max_mhz: int | None
    """Highest clock of the memory."""
    driver: str | None
    """Version of the display driver."""


class MeasuredDevice(TypedDict):
    """The GPU, and the software that drove it."""

    name: str
    """The GPU."""
    arch: str
    """Target of the GPU, such as `sm_80`."""
    sms: int
    """Number of SMs."""
    l2_bytes: int
    """Size of L2."""
    cuda_version: str
    """Newest CUDA that the driver knows."""
    nvrtc_version: str
    """Version of the compiler."""
    clocks_before: Clocks
    """Clocks before the measurement."""
    clocks_after: Clocks
    """Clocks after it."""


class Timing(TypedDict):
    """Times of repeated launches."""

    l2: Literal["warm", "flushed"]
    """L2 before each launch: as the launch before left it, or overwritten with other data."""
    times_ms: list[float]
    """Time of each launch."""
    median_ms: float
    """Median of the times."""
    quartiles_ms: tuple[float, float]
    """First and third quartile of the times."""


class MeasuredPlacement(TypedDict):
    """One placement on the GPU."""

    placement: list[tuple[str, str]]
    """Pairs of an array and its space, in the order of the parameters."""
    timings: list[Timing]
    """Times, with L2 warm and flushed."""
    outputs: list[Output]
    """Outputs compared with those of the original kernel on the same GPU."""
    registers: int | None
    """Registers of a thread."""
    local_bytes: int | None
    """Local memory of a thread."""
    static_shared_bytes: int | None
    """Static shared memory of a block."""
    dynamic_shared_bytes: int | None
    """Dynamic shared memory of a block."""
    error: str | None
    """Why there are no times; null where there are."""


class Measurement(TypedDict):
    """All placements of one case on one GPU."""

    case: str
    """Name of the case."""
    kernel: str
    """Name of the kernel."""
    source_sha256: str
    """SHA-256 of the original source."""
    grid: Extent
    """Blocks along x, y and z."""
    block: Extent
    """Threads of a block along x, y and z."""
    device: MeasuredDevice
    """The GPU."""
    date: str
    """ISO 8601 with the offset from UTC."""
    warmup: int
    """Launches before those that were timed."""
    repeats: int
    """Launches that were timed."""
    records: list[MeasuredPlacement]
    """One for each placement."""
    left_out: int
    """Placements that were not measured."""
    executor: list[Output]
    """Outputs of the original kernel on the GPU compared with those of the executor; empty where it
    could not be launched."""


@document
class MeasurementsDocument(TypedDict):
    """Measured times of placements: `placewise measure --json`, and the file that it writes."""

    schema: Literal["placewise-measurements"]
    schema_version: Literal[2]
    measurements: list[Measurement]
    """One for each case."""
