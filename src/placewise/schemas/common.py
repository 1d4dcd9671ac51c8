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


class CacheHint(TypedDict):
    """What a load asks of the caches."""

    priority: str | None
    """How the caches are to treat its line; null: as that of any load."""
    prefetch_bytes: int
    """Bytes that L2 is to fetch on a miss; 0: as for any load."""


class HintFate(TypedDict):
    """A cache hint of the loads of one source line, and what the compiler made of it."""

    text: str
    """Hint and fate in words."""
    file: str
    """Source file."""
    line: int
    """Source line; 0 for a kernel without source lines, whose loads are taken together."""
    asked: CacheHint
    """The hint that the PTX asks for."""
    fate: str
    """What became of it."""
    found: list[str]
    """Opcodes of the line's loads in the machine code."""
