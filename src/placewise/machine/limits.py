"""The ``limits`` entry of an MSL file: which limits there are, their units and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from placewise.machine.located import located, nearest
from placewise.machine.machine import Limits
from placewise.machine.tree import Extent, LimitEntry, LimitsEntry, Quantity, Special

_CLOCKS = {"kHz": Decimal("0.001"), "MHz": Decimal(1), "GHz": Decimal(1000)}
"""Units of a clock, in MHz."""
_BYTES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
"""Units of a size; binary, as MSL's sizes are."""
_BANDWIDTHS = {"MB/s": Decimal("0.001"), "GB/s": Decimal(1), "TB/s": Decimal(1000)}
"""Units of a bandwidth, in GB/s; decimal, as vendors state them."""


def read_limits(
    entry: LimitsEntry | None,
    shared_bytes: int | None,
    cite: Callable[[LimitEntry], str | None],
    filename: str,
    warn: Callable[[str], None],
) -> Limits:
    """Limits of a machine file.

    A required limit that is missing or ``?`` gets the figure of compute capability 2.0, the
    machines MSL was published with (CUDA C Programming Guide 5.5, Technical
    Specifications per Compute Capability), and a warning;
    shared memory that of the machine's own shared memory, ``shared_bytes``. Raises MachineError
    for an unknown or repeated limit, a value of the wrong kind or an unknown unit.
    """
    values: dict[str, Any] = {}
    sources: list[tuple[str, str]] = []
    for limit in entry.limits if entry else ():
        kind = _LIMITS.get(limit.name)
        if kind is None:
            raise located(
                filename, limit.at, f"unknown limit '{limit.name}'", nearest(limit.name, _LIMITS)
            )
        if limit.name in values:
            raise located(filename, limit.at, f"limit '{limit.name}' is given twice")
        values[limit.name] = (
            None if isinstance(limit.value, Special) else kind.read(limit, kind, filename)
        )
        source = cite(limit)
        if source is not None:
            sources.append((limit.name, source))
    own = {"shared_memory_per_block": shared_bytes, "shared_memory_per_sm": shared_bytes}
    assumed = []
    for name, kind in _LIMITS.items():
        if kind.default is not None and values.get(name) is None:
            values[name] = own.get(name) or kind.default
            assumed.append(name)
    if assumed:
        names = ", ".join(assumed)
        warn(f"{filename}: limits not given, assumed as of compute capability 2.0: {names}")
    fields: dict[str, Any] = {kind.field: values.get(name) for name, kind in _LIMITS.items()}
    return Limits(sources=tuple(sources), **fields)


@dataclass(frozen=True)
class _Kind:
    """How one limit is written and where it goes."""

    field: str
    read: Callable[[LimitEntry, _Kind, str], Any]
    example: str
    default: Any = None
    """None for a limit that may stay unknown."""


def _version(limit: LimitEntry, kind: _Kind, filename: str) -> tuple[int, int]:
    match limit.value:
        case Quantity(value, None) if "." in str(value):
            major, minor = str(value).split(".")
            return int(major), int(minor)
    raise _wrong(limit, kind, filename)


def _count(limit: LimitEntry, kind: _Kind, filename: str) -> int:
    match limit.value:
        case Quantity(value, None) if value == int(value) and value > 0:
            return int(value)
    raise _wrong(limit, kind, filename)


def _extent(limit: LimitEntry, kind: _Kind, filename: str) -> tuple[int, ...]:
    match limit.value:
        case Extent(values) if len(values) == 3 and all(v == int(v) and v > 0 for v in values):
            return tuple(int(v) for v in values)
    raise _wrong(limit, kind, filename)


def _in_unit(
    limit: LimitEntry, kind: _Kind, filename: str, units: Mapping[str, Decimal | int]
) -> Decimal:
    match limit.value:
        case Quantity(value, str(unit)) if unit not in units:
            raise located(
                filename, limit.at, f"unknown unit '{unit}' of {limit.name}", nearest(unit, units)
            )
        case Quantity(value, str(unit)) if value > 0:
            return value * units[unit]
    raise _wrong(limit, kind, filename)


def _megahertz(limit: LimitEntry, kind: _Kind, filename: str) -> float:
    return float(_in_unit(limit, kind, filename, _CLOCKS))


def _bytes(limit: LimitEntry, kind: _Kind, filename: str) -> int:
    value = _in_unit(limit, kind, filename, _BYTES)
    if value != int(value):
        raise _wrong(limit, kind, filename)
    return int(value)


def _bandwidth(limit: LimitEntry, kind: _Kind, filename: str) -> float:
    return float(_in_unit(limit, kind, filename, _BANDWIDTHS))


def _wrong(limit: LimitEntry, kind: _Kind, filename: str) -> Exception:
    return located(filename, limit.at, f"{limit.name} should look like: {kind.example}")


_LIMITS: Mapping[str, _Kind] = {
    "compute_capability": _Kind(
        "compute_capability", _version, "compute_capability = 8.0;", (2, 0)
    ),
    "clock": _Kind("clock_mhz", _megahertz, "clock = 1410 MHz;"),
    "max_threads_per_block": _Kind(
        "max_threads_per_block", _count, "max_threads_per_block = 1024;", 1024
    ),
    "max_block": _Kind("max_block", _extent, "max_block = <1024 1024 64>;", (1024, 1024, 64)),
    "max_grid": _Kind(
        "max_grid", _extent, "max_grid = <65535 65535 65535>;", (65535, 65535, 65535)
    ),
    "max_threads_per_sm": _Kind("max_threads_per_sm", _count, "max_threads_per_sm = 2048;", 1536),
    "max_blocks_per_sm": _Kind("max_blocks_per_sm", _count, "max_blocks_per_sm = 32;", 8),
    "registers_per_sm": _Kind("registers_per_sm", _count, "registers_per_sm = 65536;", 32768),
    "max_registers_per_thread": _Kind(
        "max_registers_per_thread", _count, "max_registers_per_thread = 255;", 63
    ),
    "shared_memory_per_block": _Kind(
        "shared_bytes_per_block", _bytes, "shared_memory_per_block = 48 KB;", 48 * 1024
    ),
    "shared_memory_per_sm": _Kind(
        "shared_bytes_per_sm", _bytes, "shared_memory_per_sm = 48 KB;", 48 * 1024
    ),
    "copy_bandwidth": _Kind("copy_bandwidth_gb_per_s", _bandwidth, "copy_bandwidth = 8 GB/s;"),
    "dram_bandwidth": _Kind("dram_bandwidth_gb_per_s", _bandwidth, "dram_bandwidth = 1555 GB/s;"),
}
