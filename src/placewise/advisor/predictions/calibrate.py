"""What one measured time of a kernel says of a GPU's clock, and a machine file that keeps it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.advisor.forms.timing import is_timed
from placewise.advisor.predictions.predicted_time import targeted
from placewise.cases import CaseLike, load_case
from placewise.errors import CaseError, MachineError, UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import Machine, MachineLike, load_machine
from placewise.machine.at_clock import at_clock
from placewise.machine.clocks import clock_range, machine_at
from placewise.model.evidence.evidence import evidence_of
from placewise.model.registry import DEFAULT, MODELS
from placewise.short_repr import ShortRepr

FOLLOWS = 0.5
"""A time tells the clock only if, from the highest to the lowest clock, it rises by at least the
ratio of the clocks to this power. The power is nearly 0 for a kernel that is limited by DRAM and 1
for one that only computes."""
BEYOND = 1.2
"""Highest clock that is tried, as a multiple of the machine file's highest clock: makers sell
boards that are faster than the reference."""
BELOW = 0.5
"""Lowest clock that is tried, as a multiple of the machine file's highest clock, where the file has
no base clock."""
STEPS = 30
"""Halvings of the search for the clock: it is found to a millionth of the range."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ShortRepr):
    """A GPU's clock and the factor of its times, from one measured time."""

    case: Case
    machine: Machine
    measured_ms: float
    predicted_ms: float
    """Predicted milliseconds at the clock that is used without a calibration."""
    clock_mhz: float
    """Clock at which the predicted time comes nearest to the measured one; where the kernel's time
    does not tell the clock, the clock that is used without a calibration."""
    factor: float
    """Measured over predicted time at ``clock_mhz``: the difference that the clock does not
    explain."""
    tells_clock: bool
    """Whether the clock was found from the time: none was given, and the kernel's time depends
    enough on it."""

    def _in_short(self) -> str:
        clock = f"{self.clock_mhz:.0f} MHz, {self.factor:.3g} times the predicted time"
        return f"{self.case.called} on {self.machine.name}: {clock}"

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON types, the document ``placewise-calibration``."""
        return {
            "schema": "placewise-calibration",
            "schema_version": 1,
            "case": self.case.name,
            "kernel": self.case.kernel,
            "machine": self.machine.name,
            "measured_ms": self.measured_ms,
            "predicted_ms": self.predicted_ms,
            "clock_mhz": self.clock_mhz,
            "factor": self.factor,
            "tells_clock": self.tells_clock,
        }

    def machine_file(self, name: str, base: str) -> str:
        """MSL text of the calibrated GPU, ``name``, that inherits all other figures from ``base``:
        a known GPU's name, or the path of a file in quotes."""
        text = (
            f"placewise calibrate: {self.case.kernel} of {Path(self.case.filename).name} took "
            f"{self.measured_ms:.6g} ms, predicted {self.predicted_ms:.6g} ms"
        ).replace('"', "'")
        return (
            f"// {self.machine.title}, with the clock and the factor of times that one measured\n"
            "// time of a kernel gives.\n\n"
            f'machine {name} like {base} "{self.machine.title}, calibrated";\n\n'
            f'source calibration "{text}";\n\n'
            "limits {\n"
            f"  clock_sustained = {self.clock_mhz:.6g} MHz from calibration;\n"
            f"  time_factor = {self.factor:.6g} from calibration;\n"
            "}\n"
        )


def calibrate(
    case: CaseLike,
    machine: MachineLike,
    measured_ms: float,
    *,
    clock: str | float | None = None,
    nvrtc: str | None = None,
) -> Calibration:
    """Find the clock, and a factor for what the clock does not explain, from the time that ``case``
    took.

    ``measured_ms`` is the time of the case's one launch on a GPU like ``machine``. ``clock``, in
    MHz, ``"base"`` or ``"boost"``, is the SMs' where it is known; then only a factor is found.

    Raises UnsupportedError where no time is predicted, MachineError for a machine that is
    calibrated already, and CaseError, CompileError or ExecutionError for bad input.
    """
    loaded = load_machine(machine)
    if loaded.limits.time_factor is not None:
        raise MachineError(
            "it is calibrated already",
            where=loaded.name,
            hint="calibrate the machine that it inherits from",
        )
    if not math.isfinite(measured_ms) or measured_ms <= 0.0:
        raise CaseError(f"no kernel takes {measured_ms:g} ms", where="measured")
    chosen = machine_at(loaded, clock)
    clocks = clock_range(chosen)
    if clocks is None or not is_timed(chosen):
        raise UnsupportedError("no time is predicted for it", where=chosen.name)
    loaded_case = load_case(case)
    predict = _predictor(loaded_case, chosen, nvrtc)
    predicted = predict(clocks.assumed)
    low = clocks.low if clocks.low < clocks.high else BELOW * clocks.high
    high = BEYOND * clocks.high
    slow, fast = predict(low), predict(high)
    tells = clock is None and math.log(slow / fast) >= FOLLOWS * math.log(high / low)
    found = clocks.assumed
    if tells:
        found = _clock_of(measured_ms, predict, low, high)
    factor = measured_ms / predict(found)
    return Calibration(loaded_case, chosen, measured_ms, predicted, found, factor, tells)


def _clock_of(
    measured_ms: float, predict: Callable[[float], float], low: float, high: float
) -> float:
    """Clock from ``low`` to ``high`` whose predicted time is nearest to the measured one; time
    falls as the clock rises."""
    if measured_ms >= predict(low):
        return low
    if measured_ms <= predict(high):
        return high
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        if predict(middle) > measured_ms:
            low = middle
        else:
            high = middle
    return round(math.sqrt(low * high), 1)


def _predictor(case: Case, machine: Machine, nvrtc: str | None) -> Callable[[float], float]:
    """Predicted milliseconds of ``case`` at a clock; the kernel is compiled and run once."""
    case = targeted(case, machine, nvrtc)
    kernel = compile_case(case)
    check_case(case, machine.limits, kernel.static_shared_bytes)
    named = named_case(case)
    evidence = evidence_of(kernel, named.launch, named.inputs, machine)
    model = MODELS[DEFAULT].make()

    def predict(clock_mhz: float) -> float:
        time = model.predict(evidence, at_clock(machine, clock_mhz)).nanoseconds
        assert time is not None  # the machine has a clock
        return time * 1e-6

    return predict


def base_for(machine: str, file: Path) -> str:
    """How a machine file at ``file`` must write the machine that the user gave as ``machine``: its
    name, or a path relative to ``file`` in quotes."""
    if machine.endswith(".msl"):
        return f'"{os.path.relpath(machine, file.parent)}"'
    return load_machine(machine).name
