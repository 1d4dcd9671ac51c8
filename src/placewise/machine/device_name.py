"""Which bundled machine a device's name stands for."""

from __future__ import annotations

import re

from placewise.machine.load import machine_names


def machine_named(device_name: str) -> str | None:
    """The machine whose name is a word of the device's, or several of its words in a row
    (``NVIDIA A100-SXM4-40GB``: A100; ``NVIDIA GeForce RTX 3090``: RTX3090); a machine's name with a
    memory size, as A100_80, goes before one without where the device's has it too. None where there
    is no such machine.
    """
    words = re.split(r"[\s-]+", device_name.lower())
    ends = range(1, len(words) + 1)
    joined = {"".join(words[start:end]) for end in ends for start in range(end)}

    def parts(machine: str) -> list[str]:
        board, *sizes = machine.lower().split("_")
        return [board, *(f"{size}gb" for size in sizes)]

    fitting = [name for name in machine_names() if joined.issuperset(parts(name))]
    return max(fitting, key=lambda name: len(parts(name)), default=None)
