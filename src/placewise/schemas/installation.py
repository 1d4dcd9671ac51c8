"""Documents of `placewise doctor` and `placewise cases`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import Extent, document


class DoctorCheck(TypedDict):
    """One thing that was looked at."""

    name: str
    """What it is."""
    state: Literal["works", "not installed", "fails"]
    """`not installed`: optional and not there. `fails`: needed, and missing or broken."""
    detail: str
    """Version and place, or what does not work without it."""
    hint: str
    """How to get it; empty where it works."""


class CacheFolder(TypedDict):
    """One cache on disk."""

    what: str
    """What the cache holds."""
    path: str
    """Folder of the cache."""
    files: int
    """Number of files in the cache."""
    bytes: int
    """Size of the cache's files."""
    most_files: int | None
    """Files kept at most; null where the number is fixed."""


@document
class DoctorDocument(TypedDict):
    """What works on this machine: `placewise doctor --json`."""

    schema: Literal["placewise-doctor"]
    schema_version: Literal[1]
    version: str
    """Version of Placewise."""
    healthy: bool
    """Nothing that is needed is missing."""
    checks: list[DoctorCheck]
    """What was looked at."""
    caches: list[CacheFolder]
    """The caches."""
    freed_bytes: int | None
    """Bytes that `--clear-caches` deleted; null without it."""


class BundledCase(TypedDict):
    """A case that comes with Placewise."""

    name: str
    """Name to give to commands."""
    group: str
    """Kind of kernel, such as `linear algebra`."""
    papers: list[str]
    """Papers that evaluate this kernel, with their name for it, such as `PORPLE mm`."""
    kernel: str
    """Name of the kernel."""
    description: str
    """What it computes."""
    grid: Extent
    """Blocks along x, y and z."""
    block: Extent
    """Threads of a block along x, y and z."""


@document
class CasesDocument(TypedDict):
    """The bundled cases: `placewise cases --json`."""

    schema: Literal["placewise-cases"]
    schema_version: Literal[1]
    cases: list[BundledCase]
    """By kind of kernel, then by name."""


class DraftedArgument(TypedDict):
    """One parameter of a drafted kernel."""

    name: str
    """Name of the parameter."""
    dtype: str
    """Type of its numbers, such as `float32`."""
    array: bool
    """Whether the argument is an array; else it is a scalar."""


@document
class DraftDocument(TypedDict):
    """A drafted case file: `placewise draft my.cu --json`."""

    schema: Literal["placewise-draft"]
    schema_version: Literal[1]
    file: str
    """The case file that was written."""
    source: str
    """The source that was read."""
    kernel: str
    """Name of the kernel, with template arguments where it is a template."""
    block: list[int]
    """Threads of a block along each dimension."""
    problem: list[int]
    """Threads in all along each dimension."""
    arguments: list[DraftedArgument]
    runs: bool | None
    """The kernel runs with the guesses; null where that was not tried."""
    unreached: list[str]
    """Arrays that it accesses nowhere with them."""
    stopped_by: str | None
    """The error that stops it."""
