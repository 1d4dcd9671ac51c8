"""Lanes and warps that blocks of few threads leave empty."""

from __future__ import annotations

from placewise.advisor.explain.block_size import (
    block_size_in_words,
    lanes_per_thread,
    warps_missing,
)
from placewise.advisor.lint import WORTH_A_NOTE, Remark, Rule
from placewise.memory.simulate.launch import SimulatedLaunch


def block_size(run: SimulatedLaunch) -> list[Remark]:
    """A remark where a quarter more lanes or warps are there than a launch's blocks fill; a warning
    where there are twice as many."""
    text = block_size_in_words(run.launch, run.machine, run.occupancy)
    if not text:
        return []
    lanes = lanes_per_thread(run.launch)
    times = max(lanes, warps_missing(run.launch, run.machine, run.occupancy))
    message = text[0].lower() + text[1:].rstrip(".")
    return [
        Remark(
            Rule.block_size, times >= WORTH_A_NOTE, message, None, None, times, 1.0 - 1.0 / times
        )
    ]
