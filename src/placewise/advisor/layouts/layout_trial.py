"""What all layouts of a case are tried with: its run, the time of its present form, the demand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from placewise.advisor.finalists import AS_GOOD, Demand
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.layouts.layout_advice import Conversion, TriedLayout
from placewise.executor import Execution, execute
from placewise.kernel.cases.case import Case
from placewise.kernel.kernel import Kernel
from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.memory.fields import FieldRecorder
from placewise.model import Ratio
from placewise.model.timeline.model import LAUNCH_NS
from placewise.progress import Progress

Option = TypeVar("Option", bound=TriedLayout)


@dataclass(frozen=True, eq=False)
class Trial:
    """The present form of a case, to compare layouts with."""

    case: Case
    kernel: Kernel
    machine: Machine
    view: SourceView
    present: Timed
    demand: Demand
    progress: Progress
    instruction_limit: int

    def trace(self, recorder: FieldRecorder) -> Execution:
        """Run the present form, with its accesses handed to ``recorder``."""
        self.progress("running and tracing", 0, 0)
        return execute(
            self.kernel, self.case.launch, self.case.inputs, consumer=recorder,
            trace_blocks=recorder.trace_blocks, instruction_limit=self.instruction_limit,
        )  # fmt: skip

    def time(self, written: Case, kernel: Kernel) -> tuple[Timed, Ratio | None]:
        """Predicted time of a rewritten case, and its ratio to the time of the present form."""
        timed = time_form(kernel, written, self.machine, like=self.present)
        return timed, ratio_of_times(timed, self.present)

    def conversion(self, option: TriedLayout, old_bytes: int, new_bytes: int) -> Conversion:
        """Cost of converting arrays of ``old_bytes`` to a layout of ``new_bytes`` and back, against
        what a launch gains."""
        limits = self.machine.limits
        bandwidth = limits.reached_dram_gb_per_s
        moved = 2 * (new_bytes + old_bytes)
        launching = 2 * (limits.launch_overhead_ns or LAUNCH_NS)
        milliseconds = None if not bandwidth else (moved / bandwidth + launching) * 1e-6
        launches = None
        before, after = self.present.ms, None if option.timed is None else option.timed.ms
        if milliseconds is not None and before is not None and after is not None:
            launches = math.ceil(milliseconds / (before - after)) if after < before else None
        return Conversion(moved, milliseconds, launches)


def fastest_first(options: Sequence[Option]) -> tuple[Option, ...]:
    """Layouts by predicted time; those that are not proven or have no time come last."""
    return tuple(
        sorted(options, key=lambda o: (not o.proven, o.ratio.ratio if o.ratio else math.inf))
    )


def recommended(
    ranked: Sequence[Option], demand: Demand, awkwardness: Callable[[Option], tuple[int, ...]]
) -> Option | None:
    """The layout to recommend: among those nearly as fast as the fastest, the one with the least
    ``awkwardness``; None where none meets the demand."""
    good = [
        (o, o.ratio.ratio)
        for o in ranked
        if o.proven and o.ratio is not None and demand.is_met(o.ratio.ratio, o.ratio.faster)
    ]
    if not good:
        return None
    least = min(ratio for _, ratio in good)
    as_good = [(o, ratio) for o, ratio in good if ratio <= least * (1 + AS_GOOD)]
    return min(as_good, key=lambda pair: (awkwardness(pair[0]), pair[1]))[0]
