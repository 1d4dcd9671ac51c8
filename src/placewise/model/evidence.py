"""Evidence of one launch, from its kernel and inputs."""

from __future__ import annotations

from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.machine.machine import Machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.base import Evidence

RECORDS = 2_000_000
"""Warp accesses traced, about: enough for a few waves of most launches."""


def evidence_of(kernel: Kernel, launch: Launch, inputs: Inputs, machine: Machine) -> Evidence:
    """What ``kernel`` does in ``launch`` on ``machine``; errors as of
    :func:`placewise.memory.simulate.launch.simulate_launch`."""
    return Evidence(run=simulate_launch(kernel, launch, inputs, machine, records=RECORDS))
