"""One recorded launch, and whether it is one of a given kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.machine import Machine

Dimensions = tuple[int, int, int]

DURATION = "gpu__time_duration.sum"
"""Metric of a launch's duration in nanoseconds."""
_PREFIX = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NANOSECONDS = {
    f"{prefix}{unit}": factor
    for prefix, factor in (("n", 1.0), ("u", 1e3), ("m", 1e6), ("", 1e9))
    for unit in ("s", "second")
}
_AXES = ("x", "y", "z")
REGISTERS = "launch__registers_per_thread"


def in_base_units(number: float, unit: str) -> float:
    """A number in bytes or nanoseconds; numbers in other units are returned as they are."""
    if unit.endswith("byte"):
        return number * _PREFIX.get(unit[0], 1.0)
    return number * _NANOSECONDS.get(unit, 1.0)


@dataclass(frozen=True)
class MeasuredLaunch:
    """Counters of one recorded launch."""

    kernel: str | None
    """Name in the file, where it has one."""
    values: Mapping[str, float]
    """Values by metric name, sizes in bytes, times in nanoseconds; also the other numbers of a
    table of configurations."""
    grid: Dimensions | None = None
    """Grid size in blocks."""
    block: Dimensions | None = None
    """Block size in threads."""
    capability: tuple[int, int] | None = None
    """Compute capability of the GPU."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """A tuner's parameters, and other columns of a table."""

    @property
    def microseconds(self) -> float | None:
        """How long the launch took, where the file says so."""
        recorded = self.values.get(DURATION)
        return self.values.get("duration_us") if recorded is None else recorded * 1e-3

    def dimensions(self, what: str) -> Dimensions | None:
        """Dimensions of the ``grid`` or the ``block``, wherever the file has them."""
        known: Dimensions | None = getattr(self, what)
        x, y, z = (self.values.get(f"launch__{what}_dim_{axis}") for axis in _AXES)
        if known is None and x is not None and y is not None and z is not None:
            return int(x), int(y), int(z)
        return known


@dataclass(frozen=True)
class Executed:
    """The launch that recorded counters are compared with."""

    kernel: str
    grid: Dimensions
    block: Dimensions
    defines: Mapping[str, str]
    """Macros that the kernel was compiled with, a tuner's parameters among them."""
    registers: int | None
    """Registers of a thread in the machine code compiled here."""
    capability: tuple[int, int]


def executed(
    kernel: Kernel, launch: Launch, defines: Iterable[tuple[str, str]], machine: Machine
) -> Executed:
    """``kernel`` launched on ``machine``, compiled with ``defines``."""
    capability = machine.limits.compute_capability
    return Executed(
        kernel.name, launch.grid, launch.block, dict(defines), kernel.registers, capability
    )


def named_alike(recorded: str | None, kernel: str) -> bool:
    """Whether a launch of name ``recorded`` may be of ``kernel``; a launch without a name may."""
    return recorded is None or base_name(recorded) == base_name(kernel)


def base_name(name: str) -> str:
    """A kernel's name without return type, namespaces, parameters and template arguments."""
    for nameless in ("(anonymous namespace)", "<unnamed>", "_NV_ANON_NAMESPACE"):
        name = name.replace(f"{nameless}::", "")
    words = name.split("(")[0].split("<")[0].split()
    return words[-1].split("::")[-1] if words else ""


def _template_arguments(name: str) -> str:
    """Template arguments in a kernel's name, without blanks and the casts that a profiler writes;
    empty where it has none."""
    bare = re.sub(r"\((unsigned |signed )?(int|long|char|short|bool)\)", "", name)
    return re.sub(r"\s", "", bare.partition("<")[2].rpartition(">")[0])


def differences(recorded: MeasuredLaunch, executed: Executed) -> tuple[str, ...]:
    """What speaks against ``recorded`` being a launch of what is executed, in words."""
    return tuple(_of_launch(recorded, executed))


def notable(recorded: MeasuredLaunch, executed: Executed) -> tuple[str, ...]:
    """What differs though both may be the same launch: the GPU, and what a compiler made of it."""
    found = []
    theirs, ours = (_template_arguments(n) for n in (recorded.kernel or "", executed.kernel))
    if not named_alike(recorded.kernel, executed.kernel) or (theirs and ours and theirs != ours):
        found.append(f"kernel '{recorded.kernel}', here '{executed.kernel}'")
    major, minor = (
        recorded.values.get(f"device__attribute_compute_capability_{part}")
        for part in ("major", "minor")
    )
    capability = recorded.capability
    if capability is None and major is not None and minor is not None:
        capability = (int(major), int(minor))
    if capability is not None and capability != executed.capability:
        theirs, ours = (".".join(map(str, c)) for c in (capability, executed.capability))
        found.append(f"compute capability {theirs}, here {ours}")
    registers = recorded.values.get(REGISTERS)
    if None not in (registers, executed.registers) and registers != executed.registers:
        found.append(
            f"{registers:g} registers a thread, here {executed.registers} (another compiler, see "
            "--nvrtc, or other options, if it is this kernel)"
        )
    return tuple(found)


def _of_launch(recorded: MeasuredLaunch, executed: Executed) -> Iterator[str]:
    for what, ours in (("block", executed.block), ("grid", executed.grid)):
        theirs = recorded.dimensions(what)
        count = recorded.values.get(f"launch__{what}_size")
        if theirs is not None:
            if theirs != ours:
                yield f"{what} {_times(theirs)}, here {_times(ours)}"
        elif count is not None and count != math.prod(ours):
            unit = "threads" if what == "block" else "blocks"
            yield f"{what} of {count:,.0f} {unit}, here {math.prod(ours):,}"
    for name, value in recorded.settings.items():
        define = executed.defines.get(name)
        if define is not None and _plain(value) != _plain(define):
            yield f"{name} = {value}, here {define}"


def _times(dimensions: Dimensions) -> str:
    return " × ".join(map(str, dimensions))


def _plain(text: str) -> str:
    """A number's canonical text, so that different spellings compare equal."""
    try:
        return repr(float(text))
    except ValueError:
        return text.strip().lower()
