"""The ``limits`` entry of an MSL file: which limits there are, and their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from placewise.machine.machine import Limits
from placewise.machine.msl.settings import (
    Kind,
    bandwidth,
    bytes_per_cycle,
    count,
    extent,
    megahertz,
    nanoseconds,
    pair,
    positive,
    read_settings,
    size,
    version,
)
from placewise.machine.msl.tree import LimitEntry, LimitsEntry


def read_limits(
    entry: LimitsEntry | None,
    shared_bytes: int | None,
    cite: Callable[[LimitEntry], str | None],
    filename: str,
    warn: Callable[[str], None],
) -> Limits:
    """Limits of a machine file.

    A required limit that is missing or ``?`` gets the figure of compute capability 2.0, the
    machines MSL was published with (CUDA C Programming Guide 5.5, Technical Specifications per
    Compute Capability), and a warning; shared memory gets that of the machine's own shared memory,
    ``shared_bytes``. Raises MachineError for an unknown or repeated limit, a value of the wrong
    kind or an unknown unit.
    """
    values, sources = read_settings(entry.limits if entry else (), _LIMITS, "limit", cite, filename)
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
    return Limits(sources=sources, **fields)


_LIMITS: Mapping[str, Kind] = {
    "compute_capability": Kind("compute_capability", version, "compute_capability = 8.0;", (2, 0)),
    "clock": Kind("clock_mhz", megahertz, "clock = 1410 MHz;"),
    "clock_base": Kind("clock_base_mhz", megahertz, "clock_base = 765 MHz;"),
    "clock_sustained": Kind("clock_sustained_mhz", megahertz, "clock_sustained = 1275 MHz;"),
    "clock_highest": Kind("clock_highest_mhz", megahertz, "clock_highest = 1900 MHz;"),
    "time_factor": Kind("time_factor", positive, "time_factor = 1.08;"),
    "max_threads_per_block": Kind(
        "max_threads_per_block", count, "max_threads_per_block = 1024;", 1024
    ),
    "max_block": Kind("max_block", extent, "max_block = <1024 1024 64>;", (1024, 1024, 64)),
    "max_grid": Kind("max_grid", extent, "max_grid = <65535 65535 65535>;", (65535, 65535, 65535)),
    "max_texture_2d": Kind("max_texture_2d", pair, "max_texture_2d = <131072 65000>;"),
    "texture_pitch": Kind("texture_pitch_bytes", size, "texture_pitch = 32 B;"),
    "max_threads_per_sm": Kind("max_threads_per_sm", count, "max_threads_per_sm = 2048;", 1536),
    "max_blocks_per_sm": Kind("max_blocks_per_sm", count, "max_blocks_per_sm = 32;", 8),
    "registers_per_sm": Kind("registers_per_sm", count, "registers_per_sm = 65536;", 32768),
    "max_registers_per_thread": Kind(
        "max_registers_per_thread", count, "max_registers_per_thread = 255;", 63
    ),
    "shared_memory_per_block": Kind(
        "shared_bytes_per_block", size, "shared_memory_per_block = 48 KB;", 48 * 1024
    ),
    "shared_memory_per_sm": Kind(
        "shared_bytes_per_sm", size, "shared_memory_per_sm = 48 KB;", 48 * 1024
    ),
    "copy_bandwidth": Kind("copy_bandwidth_gb_per_s", bandwidth, "copy_bandwidth = 8 GB/s;"),
    "dram_bandwidth": Kind("dram_bandwidth_gb_per_s", bandwidth, "dram_bandwidth = 1555 GB/s;"),
    "dram_bandwidth_achieved": Kind(
        "dram_bandwidth_achieved_gb_per_s", bandwidth, "dram_bandwidth_achieved = 1390 GB/s;"
    ),
    "schedulers_per_sm": Kind("schedulers_per_sm", count, "schedulers_per_sm = 4;"),
    "issues_per_scheduler": Kind("issues_per_scheduler", count, "issues_per_scheduler = 1;"),
    "launch_overhead": Kind("launch_overhead_ns", nanoseconds, "launch_overhead = 2.2 us;"),
    "instruction_buffer": Kind("instruction_buffer_bytes", size, "instruction_buffer = 16 KB;"),
    "instruction_bandwidth": Kind(
        "instruction_bytes_per_cycle", bytes_per_cycle, "instruction_bandwidth = 32 B/clk;"
    ),
}
