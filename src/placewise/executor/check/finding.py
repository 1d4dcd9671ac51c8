"""What the checker reports: one finding for each kind of mistake at each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How certain it is that a finding is a mistake."""

    error = "error"
    """The kernel is wrong, or its result depends on chance."""
    warning = "warning"
    """The kernel relies on behaviour that CUDA does not guarantee."""
    note = "note"
    """Common and mostly harmless, such as threads that store the same value to one address. A
    kernel that has only notes counts as clean."""


class Kind(StrEnum):
    """Kinds of findings; the value is how JSON and SARIF name them."""

    out_of_bounds = "out-of-bounds"
    misaligned = "misaligned"
    read_only = "write-to-read-only"
    null = "null-pointer"
    uninitialised = "uninitialised-read"
    shared_race = "shared-race"
    global_race = "global-race"
    copy_pending = "async-copy-not-awaited"
    barrier = "barrier-not-reached"
    barrier_mismatch = "barrier-mismatch"
    mask = "lane-mask"
    shuffle = "shuffle-of-inactive-lane"
    endless = "does-not-end"
    trap = "trap"
    stopped = "stopped"


RULES = {
    Kind.out_of_bounds: "An access outside of its array.",
    Kind.misaligned: "An access at an address that is not a multiple of its size.",
    Kind.read_only: "A write to memory that kernels can only read.",
    Kind.null: "An access through a null pointer or a number that is no address.",
    Kind.uninitialised: "A read of memory that was never written.",
    Kind.shared_race: "Accesses of shared memory by threads that nothing orders, one a write.",
    Kind.global_race: "Accesses of global memory by threads that nothing orders, one a write.",
    Kind.copy_pending: "Shared memory used before its asynchronous copy was waited for.",
    Kind.barrier: "A barrier that not all threads of the block reach.",
    Kind.barrier_mismatch: "Warps of a block that meet at different barriers.",
    Kind.mask: "A member mask that does not fit the lanes that execute the instruction.",
    Kind.shuffle: "A shuffle that reads a lane that takes no part in it.",
    Kind.endless: "A kernel that exceeds the limit of instructions.",
    Kind.trap: "A trap or failed assertion.",
    Kind.stopped: "The run was ended by another mistake.",
}
"""One sentence for each kind."""


@dataclass(frozen=True)
class Place:
    """A line of source."""

    file: str
    line: int | None
    """None where the compiler gave no line."""
    instruction: str
    """Opcode, as in the PTX."""
    ptx_line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else f"{self.file} (PTX {self.ptx_line})"


@dataclass(frozen=True)
class Thread:
    """A thread of a launch: (x, y, z) of its block and of itself."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return f"block {self.block}, thread {self.thread}"


def together(findings: Sequence[Finding]) -> list[Finding]:
    """Merge the findings of each mistake into its first among the most severe; counts add up."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for found in findings:
        groups.setdefault(found.mistake, []).append(found)
    severities = list(Severity)
    return [
        replace(
            min(group, key=lambda f: severities.index(f.severity)),
            count=sum(f.count for f in group),
            launch=min(f.launch for f in group),
        )
        for group in groups.values()
    ]


@dataclass(frozen=True)
class Finding:
    """One mistake of a kernel: its first occurrence in full, and how often it occurred."""

    kind: Kind
    severity: Severity
    message: str
    place: Place
    thread: Thread | None
    other_place: Place | None
    """Place of a race's earlier access, or of the other barrier."""
    other_thread: Thread | None
    array: str | None
    """Array, shared variable, or space of memory."""
    index: tuple[int, ...] | None
    """Element of the array, one number per dimension if its shape is known."""
    byte_offset: int | None
    count: int
    """Occurrences: accesses of single lanes."""
    hint: str
    kernel: str = ""
    launch: int = 0
    """The first launch of the program that it occurred in, counted from 0."""
    launches: int = 1
    """Number of launches that it occurred in."""

    @property
    def mistake(self) -> tuple[object, ...]:
        """Key of the mistake: kernel, kind, array and source lines. Equal keys are one mistake."""
        lines = frozenset({str(self.place), str(self.other_place or self.place)})
        return self.kernel, self.kind, self.array, lines

    @property
    def counts(self) -> bool:
        """Whether a kernel with this finding is not clean."""
        return self.severity is not Severity.note
