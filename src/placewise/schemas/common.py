"""Parts that several documents share."""

from __future__ import annotations

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

document = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""Decorates the class of a whole document: keys that it does not describe are errors, and the texts
under its keys are their descriptions in the JSON Schema."""

Extent = tuple[int, int, int]
"""Numbers along x, y and z."""


class CaseNames(TypedDict):
    """The kernel that a case launches."""

    name: str
    """Name of the case."""
    source: str
    """File of the kernel."""
    kernel: str
    """Name of the kernel, as in C++."""


class CaseLaunch(TypedDict):
    """The launch that a case describes."""

    name: str
    """Name of the case."""
    source: str
    """File of the kernel."""
    kernel: str
    """Name of the kernel, as in C++."""
    grid: Extent
    """Blocks along x, y and z."""
    block: Extent
    """Threads of a block along x, y and z."""
    shared_bytes: int
    """Dynamic shared memory of a block."""


class MachineNames(TypedDict):
    """A machine."""

    name: str
    """Name of the machine file, such as `A100`."""
    title: str
    """The GPU in full."""


class Output(TypedDict):
    """One output array beside what it should be."""

    array: str
    """Name of the array."""
    identical: bool
    """All its bits are the same."""
    different: int
    """Elements that differ."""
    elements: int
    """Elements in all."""
    max_ulp: int | None
    """Largest difference in units of the last place. Null for numbers that are not floating-point,
    and where one side alone is not a number."""
