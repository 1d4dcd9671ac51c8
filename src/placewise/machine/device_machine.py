"""The bundled machine that describes the GPU at hand, by its device name."""

from __future__ import annotations

import re

from placewise.machine.load import load_machine, machine_names
from placewise.machine.machine import Machine

_VARIANTS = frozenset({"ti", "super", "d", "laptop", "max", "mobile"})
"""Words of a device's name that stand for a board of its own."""


def machine_named(device_name: str) -> str | None:
    """Name of the bundled machine that a device's name contains; None where there is none.

    The machine's name must be a word of the device's, or several of its words in a row: ``NVIDIA
    A100-SXM4-40GB`` is an A100, ``NVIDIA GeForce RTX 3090`` an RTX3090. A name with a memory size
    or a variant, such as A100_80 or RTX3060_Laptop, is preferred where the device's name has that
    too. A device of a variant (Ti, Super, D, Laptop, Max-Q, Mobile) is no machine without it: an
    RTX 3080 Ti is no RTX3080.
    """
    words = re.split(r"[\s-]+", device_name.lower())
    ends = range(1, len(words) + 1)
    joined = {"".join(words[start:end]) for end in ends for start in range(end)}

    def parts(machine: str) -> list[str]:
        board, *sizes = machine.lower().split("_")
        return [board, *(f"{size}gb" if size.isdigit() else size for size in sizes)]

    def is_variant(machine: str) -> bool:
        return all(
            any(part.endswith(word) for part in parts(machine))
            for word in _VARIANTS.intersection(words)
        )

    names = [name for name in machine_names() if is_variant(name)]
    fitting = [name for name in names if joined.issuperset(parts(name))]
    return max(fitting, key=lambda name: len(parts(name)), default=None)


def machine_for(device_name: str, capability: tuple[int, int]) -> Machine:
    """The machine of that name (:func:`machine_named`), else the nearest in compute capability.

    The same major version goes before a nearer number. Such a machine only stands in for the
    limits that decide which placements are legal; the GPU itself refuses what it cannot do.
    """
    named = machine_named(device_name)
    if named is not None:
        return load_machine(named)
    machines = [load_machine(name) for name in machine_names()]

    def distance(machine: Machine) -> tuple[bool, int]:
        major, minor = machine.limits.compute_capability
        return major != capability[0], abs(10 * (capability[0] - major) + capability[1] - minor)

    return min(machines, key=distance)
