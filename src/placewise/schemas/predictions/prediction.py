"""Documents of `placewise time` and of `placewise.predict_time`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class Term(TypedDict):
    """What one array contributes to a part."""

    array: str
    """Name of the array."""
    memory: str
    """Memory or unit that serves it."""
    staging: bool
    """The transactions fill or empty tiles in shared memory."""
    transactions: float
    """Transactions of the whole launch."""
    cycles: float
    """What they cost."""


class LineCycles(TypedDict):
    """What one source line contributes to a part."""

    line: str
    """`file:line`."""
    cycles: float
    """Cycles of the line."""


class Part(TypedDict):
    """What one part of the machine alone would need."""

    path: str
    """The part: a data path, a pipe, the load/store unit, a bandwidth, the latency."""
    cycles: float
    """Cycles that it would take alone."""
    lines: list[LineCycles]
    """The source lines behind it, the most expensive first."""
    terms: list[Term]
    """The arrays behind it."""


class Prediction(TypedDict):
    """A model's answer for one form of a kernel."""

    model: str
    """Name of the model, such as `timeline` or `path`."""
    cycles: float
    """Cycles of the whole launch if `absolute`; else the model's own measure of memory time."""
    absolute: bool
    """The model predicts times. False: only ratios of its cycles mean something."""
    clock_mhz: float | None
    """Clock that turns cycles into time; null where the model predicts no time."""
    binding: str
    """The part that takes longest."""
    parts: list[Part]
    """All parts, the most expensive first."""


class ClockTime(TypedDict):
    """The time at one clock of the SMs."""

    clock_mhz: float
    """The clock."""
    milliseconds: float
    """Predicted time there, without the model's error."""


@document
class TimeDocument(TypedDict):
    """Predicted time of one launch on one machine: `placewise.predict_time(…).to_dict()`."""

    schema: Literal["placewise-time"]
    schema_version: Literal[2]
    case: str
    """Name of the case."""
    machine: str
    """Name of the machine."""
    milliseconds: float
    """Predicted time."""
    range_ms: tuple[float, float]
    """Interval of 80 %: what the clock leaves open and the model's own error."""
    clocks: list[ClockTime]
    """The time at the highest and at the lowest clock of the machine; empty where the clock is
    known."""
    caches: Literal["cold", "warm"]
    """What L2 holds at the start: none of the launch's data, or what the same launch left."""
    model_error: tuple[float, float] | None
    """Measured over predicted time at a known clock, lowest and highest."""
    unlike_measured: list[str] | None
    """What the launch has that no launch had whose time was measured, which widens its range; empty
    where it is like them, null where that was not looked at."""
    measured_ms: float | None
    """The measured time that was given, or null."""
    baseline_ms: float | None
    """The earlier predicted time that it is compared with, or null."""
    limited_by: str
    """The part of the machine that takes longest."""
    nearly_limited_by: list[str]
    """Other parts that take at least 80 % as long."""
    registers: int | None
    """Registers of a thread."""
    warps_per_sm: int
    """Resident warps of an SM."""
    prediction: Prediction
    """The model's answer in full."""


class RefusedMachine(TypedDict):
    """A machine without a predicted time."""

    machine: str
    """Name of the machine."""
    why: str
    """Why there is no time."""


@document
class TimesDocument(TypedDict):
    """Predicted times on one or several machines: `placewise time --json`."""

    schema: Literal["placewise-times"]
    schema_version: Literal[1]
    times: list[TimeDocument]
    """One for each machine, in the order asked for."""
    refused: list[RefusedMachine]
    """Machines without a time."""


class TargetParts(TypedDict):
    """What a predicted time is made of, in cycles of the SM's clock: T_comp + T_mem − T_overlap and
    the staging."""

    t_comp: float
    """Computation."""
    t_mem: float
    """Memory."""
    t_overlap: float
    """What the two do at the same time."""
    staging: float
    """Filling shared memory."""
    dram_latency: float
    """Mean latency of DRAM beyond L2, with the wait at its banks."""


class TargetTime(TypedDict):
    """A target placement's predicted time."""

    placement: dict[str, str]
    """Space of each array."""
    milliseconds: float
    """Predicted time."""
    ratio: float
    """Predicted time over the sample's measured time."""
    parts: TargetParts
    """What it is made of."""


@document
class TargetsDocument(TypedDict):
    """Placements' times from one measured sample: `placewise advise --model huang-li --json`."""

    schema: Literal["placewise-targets"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    machine: str
    """Name of the machine."""
    model: str
    """Name of the model."""
    sample: dict[str, str]
    """Space of each array in the measured sample."""
    measured_ms: float
    """The sample's measured time."""
    sample_parts: TargetParts
    """What the model makes of the sample."""
    targets: list[TargetTime]
    """The target placements, the fastest first."""
    placements: int
    """Legal placements in all, the sample among them."""
    notes: list[str]
    """What a reader must know to judge the times."""


@document
class CalibrationDocument(TypedDict):
    """A GPU's clock from one measured time: `placewise calibrate --json`."""

    schema: Literal["placewise-calibration"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    kernel: str
    """Kernel of the case."""
    machine: str
    """Name of the machine."""
    measured_ms: float
    """The measured time that was given."""
    predicted_ms: float
    """The time predicted without a calibration."""
    clock_mhz: float
    """The clock that the GPU is taken to have run at."""
    factor: float
    """Measured over predicted time at that clock."""
    tells_clock: bool
    """Whether the clock was concluded from the time."""
