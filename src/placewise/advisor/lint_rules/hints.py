"""Cache hints that the source asks for and the machine code does not have."""

from __future__ import annotations

import math

from placewise.advisor.lint import Remark, Rule
from placewise.kernel.binary.surviving_hints import Fate, hint_fates
from placewise.kernel.kernel import Kernel
from placewise.memory.simulate.metrics.ncu_metrics import SourceLine


def dropped_hints(kernel: Kernel) -> list[Remark]:
    """A note for each cache hint of a source line that the compiler changed or dropped."""
    return [
        Remark(
            Rule.dropped_hint,
            False,
            f"a cache hint did not survive compilation: {fate.text}",
            SourceLine(fate.file, fate.line) if fate.line else None,
            None,
            math.inf,
            0.0,
            "load",
        )
        for fate in hint_fates(kernel)
        if fate.fate is not Fate.SURVIVED
    ]
