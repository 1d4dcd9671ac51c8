"""What a launch finds on a machine: the SMs' clock and what is not known of it, the overhead of a
launch, and caches that are empty or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

from placewise.errors import MachineError
from placewise.machine.at_clock import at_clock
from placewise.machine.machine import Machine


@dataclass(frozen=True)
class ClockRange:
    """Clocks of the SMs, in MHz."""

    low: float
    """Guaranteed under any load (base clock)."""
    assumed: float
    """The one that times are given for: what was measured under load, else the highest."""
    high: float
    """Highest that boards reach under load, or else that the maker promises for typical loads
    (boost clock)."""

    @property
    def is_known(self) -> bool:
        """Whether only one clock has to be considered."""
        return self.low == self.high


def clock_range(machine: Machine) -> ClockRange | None:
    """Clocks that ``machine`` may run at; None where its file has none.

    There is but one where the file states no base clock and none beyond the boost, for a machine
    of :func:`known_clock`, and for a calibrated one (``time_factor``): its sustained clock.
    """
    limits = machine.limits
    if limits.clock_mhz is None:
        return None
    assumed = limits.clock_sustained_mhz or limits.clock_mhz
    if limits.time_factor is not None:
        return ClockRange(assumed, assumed, assumed)
    low = min(limits.clock_base_mhz or limits.clock_mhz, assumed)
    high = max(limits.clock_mhz, limits.clock_highest_mhz or 0.0, assumed)
    return ClockRange(low, assumed, high)


def known_clock(machine: Machine, clock_mhz: float) -> Machine:
    """``machine`` with its SMs at ``clock_mhz`` and at no other clock.

    Raises MachineError for a clock that is not positive, or a machine whose own is not known.
    """
    found = at_clock(machine, clock_mhz)
    limits = replace(
        found.limits, clock_base_mhz=None, clock_sustained_mhz=None, clock_highest_mhz=None
    )
    return replace(found, limits=limits)


def machine_at(machine: Machine, clock: str | float | None) -> Machine:
    """``machine`` with its SMs at ``clock``: a number of MHz (as text, too), ``"base"`` or
    ``"boost"``; as it is where None.

    Raises MachineError for any other word, a clock that is not positive, and one that the machine's
    file does not have.
    """
    if clock is None:
        return machine
    named = {"base": machine.limits.clock_base_mhz, "boost": machine.limits.clock_mhz}
    if clock in named:
        found = named[str(clock)]
        if found is None:
            raise MachineError(
                f"its {clock} clock is not known",
                where=machine.name,
                hint="give the clock in MHz",
            )
        return known_clock(machine, found)
    try:
        mhz = float(clock)
    except ValueError:
        raise MachineError(
            f"'{clock}' is not a clock", where="clock", hint="give MHz, base or boost"
        ) from None
    if not isfinite(mhz):
        raise MachineError(f"a clock of {clock} MHz", where=machine.name)
    return known_clock(machine, mhz)


CACHES = ("cold", "warm")
"""What L2 holds when a launch begins: none of its data, or what the same launch left there."""


def with_caches(machine: Machine, caches: str) -> Machine:
    """``machine`` on which a launch finds its ``caches`` ``"cold"`` (L2 is empty, as a profiler
    leaves it) or ``"warm"`` (the same launch on the same data came before).

    Raises MachineError for another word.
    """
    if caches not in CACHES:
        raise MachineError(f"'{caches}' caches", where="caches", hint="give cold or warm")
    return replace(machine, warm_caches=caches == "warm")


def with_launch_overhead(machine: Machine, nanoseconds: float) -> Machine:
    """``machine`` with ``nanoseconds`` for a kernel that does nothing."""
    return replace(machine, limits=replace(machine.limits, launch_overhead_ns=nanoseconds))
