"""Which bundled machine describes a GPU at hand."""

from __future__ import annotations

import re

from placewise.machine import Machine, load_machine, machine_names


def machine_for(device_name: str, capability: tuple[int, int]) -> Machine:
    """The machine whose name is a word of the device's, or several of its words in a row
    (``NVIDIA A100-SXM4-80GB``: A100; ``NVIDIA GeForce RTX 3090``: RTX3090).

    Failing that, the machine nearest in compute capability, the same generation first: it then
    stands in for the limits that decide which placements are legal; what the GPU itself refuses
    is an error of its record.
    """
    words = re.split(r"[\s-]+", device_name.lower())
    ends = range(1, len(words) + 1)
    names = {"".join(words[start:end]) for end in ends for start in range(end)}
    machines = [load_machine(name) for name in machine_names()]
    named = [machine for machine in machines if machine.name.lower() in names]
    if named:
        return named[0]

    def distance(machine: Machine) -> tuple[bool, int]:
        major, minor = machine.limits.compute_capability
        return major != capability[0], abs(10 * (capability[0] - major) + capability[1] - minor)

    return min(machines, key=distance)
