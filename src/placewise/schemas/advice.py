"""Documents of `placewise advise` and `placewise.rewrite`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from placewise.schemas.common import CaseLaunch, HintFate, MachineNames, document
from placewise.schemas.predictions.prediction import Prediction

Placement = dict[str, str]
"""Space of every array, by its name."""


class AdviceOccupancy(TypedDict):
    """Resident blocks of an SM."""

    blocks_per_sm: int
    """Resident blocks."""
    warps_per_sm: int
    """Resident warps."""
    max_warps_per_sm: int
    """The most warps that an SM can hold."""
    bound_by: list[str]
    """What allows no more blocks: threads, blocks, registers, shared memory."""


class TracedRun(TypedDict):
    """The run that the advice rests on."""

    arch: str
    """Target that the kernel was compiled for, such as `sm_90`."""
    registers: int | None
    """Registers of a thread."""
    occupancy: AdviceOccupancy
    """Resident blocks of an SM."""
    warp_instructions: int
    """Instructions that warps executed."""
    thread_instructions: int
    """Instructions that threads executed."""
    traced_accesses: int
    """Warp accesses in the trace."""
    traced_blocks: int
    """Blocks in the trace."""
    blocks: int
    """Blocks of the launch."""
    seconds: float
    """Time of the run on the CPU."""


class Service(TypedDict):
    """What one array asks for in one space, and which memories serve it."""

    space: str
    """The space."""
    path: str
    """The data path that leads to it."""
    requests: float
    """Warp accesses of the whole launch."""
    lanes_per_request: float
    """Active lanes of a warp access."""
    transactions_per_request: float
    """Transactions of a warp access in the memory nearest to the cores."""
    served: list[tuple[str, float]]
    """Pairs of a memory and the share of the transactions that it serves."""
    cycles: float
    """Cost in the measure of the `path` model."""


class ArrayUse(TypedDict):
    """How the kernel uses an array at present."""

    array: str
    """Name of the array."""
    bytes: int
    """Size of the array."""
    service: Service
    """What it asks for, and which memories serve it."""
    share: float
    """Share of the present placement's memory cost."""
    heaviest_line: int | None
    """Source line of the instruction with the most transactions."""


Move = TypedDict(
    "Move",
    {
        "array": Annotated[str, Field(description="Name of the array.")],
        "from": Annotated[str, Field(description="Space that it is in at present.")],
        "to": Annotated[str, Field(description="Space that it moves to.")],
    },
)
Move.__doc__ = "An array that is elsewhere than at present."


class FormTime(TypedDict):
    """Time of a form from its own machine code."""

    ms: float | None
    """Predicted time; null where there is none."""
    range_ms: tuple[float, float] | None
    """Lowest and highest time that the model leaves open."""
    why_not: str | None
    """Why there is no time."""
    prediction: Prediction | None
    """The model's answer in full."""


class Reason(TypedDict):
    """Why an array gains or loses by its move."""

    text: str
    """The reason in a sentence."""
    array: str
    """Name of the array."""
    before: Service
    """What serves it at present."""
    after: Service
    """What serves it after the move."""


class MoveCost(TypedDict):
    """What a move costs beside the kernel's own time."""

    array: str
    """Name of the array."""
    text: str
    """The cost in a sentence."""
    host_bytes: int
    """Bytes that the host copies before the launch."""
    host_us: float | None
    """Time of that copy; null where the machine file has no bandwidth of copies."""
    staged_bytes: int
    """Bytes that each launch moves between global and shared memory, all blocks together."""


class Verification(TypedDict):
    """What came out when the form ran on the case's own inputs."""

    identical: bool
    """All outputs are the same bits."""
    detail: str
    """What differs, or what was compared."""
    arrays: list[str]
    """Arrays that were compared."""


class Option(TypedDict):
    """One placement with its prediction."""

    placement: Placement
    """Space of every array."""
    moves: list[Move]
    """Arrays that are in another space than at present."""
    chunk_iterations: int | None
    """Iterations of the loop whose data is in shared memory at a time, if tiles are filled by
    chunks."""
    chunk_buffers: int
    """Tiles of such iterations that each array has: with 2, one is fetched while the block computes
    with the other."""
    padded: list[str]
    """Shared arrays of the source itself with unused elements in between, so that fewer lanes meet
    in the same bank."""
    ratio: float
    """Predicted time over the present placement's."""
    ratio_low: float
    """Lower end of the ratio's 80 % interval."""
    ratio_high: float
    """Upper end of the ratio's 80 % interval."""
    probability_faster: float | None
    """Probability that it is faster; null where it is not known."""
    predicted_ms: float | None
    """Predicted time, or the measured time of the present form times `ratio` if one was given."""
    memory_ratio: float
    """Memory time over the present placement's, by the trace of the present form; 1 for a constant
    or shared array of the source itself, which the trace does not have."""
    timed: FormTime | None
    """The form's own time; null where it was not timed."""
    prediction: Prediction
    """Memory time by the trace of the present form."""
    reasons: list[Reason]
    """Why each moved array gains or loses."""
    costs: list[MoveCost]
    """What each move costs beside the kernel's own time."""
    verification: Verification | None
    """Outcome of the run of the form; null where it was not run."""
    hints: list[HintFate]
    """What the compiler made of the form's cache hints."""
    source: str | None
    """The form's source; null where it was not written."""
    host: str | None
    """Host code that the form needs."""


class IllegalPlacement(TypedDict):
    """A space that an array cannot be in."""

    array: str
    """Name of the array."""
    space: str
    """The space."""
    reason: str
    """Why not."""


class ReadersCopy(TypedDict):
    """A form in which the readers of an array see a copy of it."""

    space: str
    """Where the copy is."""
    ratio: float | None
    """Predicted time over the present form's, the copy in front of each launch counted; null where
    times are not predicted."""
    ratio_range: tuple[float, float] | None
    """The ratio's 80 % interval."""
    faster: float | None
    """Probability that it is faster."""
    source: str
    """The form's source; the copy is a further parameter behind the array."""


class BenignRace(TypedDict):
    """An array that threads race on, and whose result on these inputs does not depend on it."""

    array: str
    """Name of the array."""
    same_value: bool
    """Threads write the same value to one element."""
    read_beside: bool
    """Threads read elements that others write, in no order."""
    lines: list[int]
    """Source lines of the accesses."""
    copy_bytes: int
    """Bytes that the copy in front of each launch takes."""
    copy_ms: float
    """Predicted time of that copy."""
    copies: list[ReadersCopy]
    """Forms with a copy for the readers that compute the same bits, the fastest first."""
    text: str
    """The race, and what a copy would gain, in sentences."""


@document
class AdviceDocument(TypedDict):
    """Where each array should live: `placewise advise --json`."""

    schema: Literal["placewise-advice"]
    schema_version: Literal[1]
    case: CaseLaunch
    """The launch."""
    machine: MachineNames
    """The machine."""
    run: TracedRun
    """The run that the advice rests on."""
    arrays: list[ArrayUse]
    """Arrays, the most expensive first."""
    present: Option
    """The present placement."""
    options: list[Option]
    """Other placements, the best first."""
    recommended: Placement | None
    """The recommended placement; null: keep the present one."""
    verdict: str
    """The answer in a sentence."""
    why: str
    """What limits the present form and what the recommended one makes of that, in sentences; empty
    where neither has a predicted time."""
    placements_compared: int
    """Legal placements that were compared."""
    illegal: list[IllegalPlacement]
    """Spaces that arrays cannot be in."""
    patterns: list[str]
    """Scattered accesses that no move cures, in sentences."""
    benign_races: list[BenignRace]
    """Arrays that threads race on without harm; a copy for their readers is never recommended."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""
    seconds: float
    """Time that the advice took."""


@document
class RewrittenDocument(TypedDict):
    """A placement written out: `placewise.rewrite(…).to_dict()`."""

    schema: Literal["placewise-rewritten"]
    schema_version: Literal[1]
    placement: Placement
    """Space of every array."""
    source: str
    """The new source."""
    host: str
    """Host code that the form needs."""
    edits: list[str]
    """One sentence for each change."""
    renamed: dict[str, str]
    """New names of arrays that are another argument or a constant now."""


@document
class WrittenDocument(TypedDict):
    """A placement written out and proven: `placewise rewrite --place … --json`."""

    schema: Literal["placewise-written"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    machine: str
    """Name of the machine."""
    placement: Placement
    """Space of every array that was moved."""
    source: str
    """The new source."""
    host: str
    """Host code that the form needs."""
    edits: list[str]
    """One sentence for each change."""
    renamed: dict[str, str]
    """New names of arrays that are another argument or a constant now."""
    verification: Verification
    """What came out when the form ran on the case's inputs."""


class AgnosticVersion(TypedDict):
    """A kernel with its arrays in one placement."""

    kernel: str
    """The kernel's name in the source."""
    placement: Placement
    """Space of every array that was moved."""
    chunk: int | None
    """Iterations of a loop that shared tiles hold at a time; null where they hold all."""
    best_on: list[str]
    """Machines that it is the best form for."""
    verification: Verification
    """What came out when it ran on the case's inputs."""


@document
class AgnosticDocument(TypedDict):
    """A kernel whose placement a host program chooses: `placewise rewrite --agnostic --json`."""

    schema: Literal["placewise-agnostic"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    machines: list[str]
    """Names of the machines."""
    source: str
    """The source with all versions in it."""
    header_name: str
    """File name under which the source includes the header."""
    header: str
    """The host side."""
    versions: list[AgnosticVersion]
    """Coarse-grained versions."""
    any_kernel: str
    """Name of the fine-grained kernel, in which every access asks where its array is."""
    spaces: dict[str, list[str]]
    """Memories that the fine-grained kernel may have each array in, the present one first."""
    settings_run: int
    """Settings of the fine-grained kernel that were run; all computed the same bits."""
    settings_possible: int
    """All its settings, those that do not fit included."""
    notes: list[str]
    """What was left out, in sentences."""
