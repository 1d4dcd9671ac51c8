"""Which bundled machine describes a GPU at hand."""

from __future__ import annotations

from placewise.machine.device_name import machine_named
from placewise.machine.load import load_machine, machine_names
from placewise.machine.machine import Machine


def machine_for(device_name: str, capability: tuple[int, int]) -> Machine:
    """The machine of that name (:func:`machine_named`).

    Failing that, the machine nearest in compute capability, the same generation first: it then
    stands in for the limits that decide which placements are legal; what the GPU itself refuses
    is an error of its record.
    """
    named = machine_named(device_name)
    if named is not None:
        return load_machine(named)
    machines = [load_machine(name) for name in machine_names()]

    def distance(machine: Machine) -> tuple[bool, int]:
        major, minor = machine.limits.compute_capability
        return major != capability[0], abs(10 * (capability[0] - major) + capability[1] - minor)

    return min(machines, key=distance)
