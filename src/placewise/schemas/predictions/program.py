"""The document of advice on programs of several launches."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.advice import AdviceDocument, Verification
from placewise.schemas.common import document


class FormOfKernel(TypedDict):
    """One kernel of a program and where its arrays move."""

    kernel: str
    """Name of the kernel in the source."""
    placement: dict[str, str]
    """Space of every array that moves, by the kernel's parameter; empty: as it is."""
    chunk_iterations: int | None
    """Iterations of the loop whose data is in shared memory at a time, if tiles are filled by
    chunks."""
    chunk_buffers: int
    """Tiles of such iterations that each array has: with 2, one is fetched while the block computes
    with the other."""


class ArrayCopies(TypedDict):
    """Copies of one array to memory that the host fills."""

    array: str
    """Name of the program's array."""
    bytes: int
    """Size of the array."""
    before_launches: list[int]
    """Launches of each round that it is copied again in front of; none: once at the start."""
    times: int
    """Copies beside those that the program makes at present, in all rounds."""
    milliseconds: float
    """Predicted time of all of them."""


class ProgramForm(TypedDict):
    """A form for each kernel of a program."""

    kernels: list[FormOfKernel]
    """One for each kernel, in the order of their first launches."""
    milliseconds: float
    """Predicted time of the whole program, copies included."""
    ratio: float
    """Predicted time over that of the program as it is."""
    ratio_range: tuple[float, float]
    """The ratio's 80 % interval."""
    faster: float | None
    """Probability that it is faster; null where it is not known."""
    copies: list[ArrayCopies]
    """Copies that the placements need."""


class ProgramStep(TypedDict):
    """One launch of a program."""

    number: int
    """Place among the launches, from 1."""
    times: int
    """How often it is launched in a row."""
    arrays: dict[str, str]
    """The program's array of each parameter."""
    written: list[str]
    """Arrays of the program that it writes."""
    present_milliseconds: float
    """Predicted time of one launch as it is."""
    advice: AdviceDocument
    """The advice on this launch alone."""


@document
class ProgramDocument(TypedDict):
    """Where arrays of a program should live in each of its kernels: `placewise advise --json` of a
    file with several launches."""

    schema: Literal["placewise-program"]
    schema_version: Literal[1]
    program: str
    """Name of the program."""
    source_file: str
    """File of the kernels."""
    machine: str
    """Name of the machine."""
    rounds: int
    """How often all launches run."""
    present_milliseconds: float
    """Predicted time of the program as it is."""
    recommended: ProgramForm | None
    """The recommended forms; null: keep the program as it is."""
    combinations: list[ProgramForm]
    """Forms of all kernels together, the fastest first."""
    launches: list[ProgramStep]
    """The launches, in their order."""
    source: str | None
    """The source with all kernels in the recommended forms; null where nothing is recommended."""
    host: str | None
    """Host code that the recommended forms need."""
    verification: Verification | None
    """What came out when the written program ran in sequence."""
    verdict: str
    """The answer in a sentence."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""
    seconds: float
    """Time that the advice took."""
