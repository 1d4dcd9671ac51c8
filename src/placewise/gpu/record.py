"""What a measurement leaves behind: one record per placement, as data and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from placewise.errors import PlacewiseError
from placewise.executor.compare import OutputCheck
from placewise.gpu.clocks import Clocks
from placewise.output_file import write_whole

SCHEMA = "placewise-measurements"
MEASUREMENTS_SCHEMA_VERSION = 2

L2State = Literal["warm", "flushed"]
"""L2 before each timed launch: as the previous launch left it, or overwritten with other data."""


@dataclass(frozen=True)
class Timing:
    """Times of repeated launches, each between two events on an otherwise idle GPU."""

    l2: L2State
    times_ms: tuple[float, ...]
    median_ms: float
    quartiles_ms: tuple[float, float]
    """First and third: the spread."""


@dataclass(frozen=True)
class PlacementRecord:
    """One placement on the device; ``error`` says why there are no times."""

    placement: tuple[tuple[str, str], ...]
    """(array, space) in parameter order."""
    timings: tuple[Timing, ...] = ()
    outputs: tuple[OutputCheck, ...] = ()
    """Outputs beside those of the original on the same GPU."""
    registers: int | None = None
    """Registers per thread."""
    local_bytes: int | None = None
    """Local memory per thread: spills and arrays that are not in registers."""
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    error: str | None = None

    @property
    def identical(self) -> bool:
        """Whether there are outputs, and all are the original's bit for bit."""
        return bool(self.outputs) and all(check.identical for check in self.outputs)


@dataclass(frozen=True)
class DeviceInfo:
    """The GPU and the software that drove it."""

    name: str
    arch: str
    sms: int
    l2_bytes: int
    cuda_version: str
    """Newest CUDA that the driver knows."""
    nvrtc_version: str
    clocks_before: Clocks
    clocks_after: Clocks


@dataclass(frozen=True)
class Measurement:
    """All placements of one case on one device."""

    case: str
    kernel: str
    source_sha256: str
    """SHA-256 of the original source text."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    device: DeviceInfo
    date: str
    """ISO 8601 with the offset from UTC."""
    warmup: int
    repeats: int
    records: tuple[PlacementRecord, ...]
    left_out: int
    """Placements that the time limit, or a fault before them, left unmeasured."""
    executor: tuple[OutputCheck, ...] = ()
    """Outputs of the original on the GPU beside those of the executor; empty where it could not be
    launched."""


_MEASUREMENTS: TypeAdapter[tuple[Measurement, ...]] = TypeAdapter(tuple[Measurement, ...])


def write_measurements(path: Path, measurements: tuple[Measurement, ...]) -> None:
    """Write a data file; ``path``'s folder is made where it is missing.

    Raises PlacewiseError where it cannot be written.
    """
    write_whole(path, json.dumps(measurements_document(measurements), indent=1) + "\n")


def measurements_document(measurements: tuple[Measurement, ...]) -> dict[str, Any]:
    """The contents of a data file as JSON types."""
    return {
        "schema": SCHEMA,
        "schema_version": MEASUREMENTS_SCHEMA_VERSION,
        "measurements": [asdict(m) for m in measurements],
    }


def read_measurements(path: Path) -> tuple[Measurement, ...]:
    """Read a data file; raises PlacewiseError located at the file."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise PlacewiseError("is no file that `placewise measure` wrote", where=str(path))
        if document.get("schema_version") != MEASUREMENTS_SCHEMA_VERSION:
            raise PlacewiseError(
                f"is not of version {MEASUREMENTS_SCHEMA_VERSION} of {SCHEMA}", where=str(path)
            )
        return _MEASUREMENTS.validate_python(document.get("measurements"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise PlacewiseError(f"cannot be read: {error}", where=str(path)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise PlacewiseError(first["msg"], where=f"{path}: measurements.{key}") from None
