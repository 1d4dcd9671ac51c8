"""A calibration as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.advisor.predictions.calibrate import Calibration


def render_calibration(found: Calibration) -> RenderableType:
    """The measured and the predicted time, and the clock and factor that follow."""
    name, clock = found.machine.name, found.clock_mhz
    lines = [
        f"{found.case.kernel} on {name}: measured {duration(found.measured_ms)}, predicted "
        f"{duration(found.predicted_ms)} without a calibration"
    ]
    if found.tells_clock:
        lines.append(f"clock: {clock:.0f} MHz, at which the predicted time comes nearest")
    else:
        lines.append(
            f"clock: {clock:.0f} MHz, given or assumed; it cannot be found from this kernel's time"
        )
    lines.append(f"factor: {found.factor:.3f} for all times on this GPU at that clock")
    return Group(*(Text(line) for line in lines))
