"""The document inside an HTML report: what its page draws beside a command's own document."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class ChartUnit(TypedDict):
    """A box of the memory chart."""

    id: str
    """`kernel`, `global`, `local`, `texture`, `shared`, `constant`, `l1`, `shared_memory`,
    `constant_cache`, `l2` or `dram`."""
    amount: float
    """What the unit was asked: instructions, requests, sectors or wavefronts."""
    unit: str
    """Unit of `amount`."""
    hit_share: float | None
    """Share of the sectors of loads that a cache held; null where it is no cache."""
    size_bytes: int | None
    """Capacity; null where it is not known or has no meaning."""


class ChartLink(TypedDict):
    """An arrow of the memory chart."""

    source: str
    """Box that it leaves."""
    target: str
    """Box that it leads to."""
    kind: Literal["read", "write", "request"]
    """What goes along it."""
    amount: float
    """How much, in the whole launch."""
    unit: str
    """Unit of `amount`: requests, sectors, wavefronts or bytes."""
    peak_share: float | None
    """Share of the launch's predicted time for which the link alone would be busy; null where no
    time is predicted."""


class MemoryChart(TypedDict):
    """Requests, sectors and bytes between the memories of a GPU."""

    units: list[ChartUnit]
    """The boxes."""
    links: list[ChartLink]
    """The arrows; those without traffic are left out."""


class LineHeat(TypedDict):
    """What one source line asked of the memories in the whole launch."""

    file: str
    """Source file."""
    line: int
    """Line number."""
    instructions: float
    """Instructions that warps executed; 0 where the PTX was executed."""
    requests: float
    """Warp accesses, all memories together."""
    cached_requests: float
    """Warp accesses to global, local and texture memory."""
    sectors: float
    """Sectors that these asked for."""
    least_sectors: float
    """Sectors that the same accesses would ask for if the lanes' elements lay side by side."""
    wavefronts: float
    """Passes through shared and constant memory."""
    least_wavefronts: float
    """Passes that the same accesses would take without conflicts."""
    l2_sectors: float
    """Sectors asked of L2."""
    dram_sectors: float
    """Sectors read from DRAM."""
    saving: float
    """Largest share of the predicted time that mending what lint remarks on the line could save; 0
    where nothing is remarked or no time is predicted."""


class WarpSample(TypedDict):
    """One access of one warp, lane by lane."""

    opcode: str
    """Instruction, as in the code that was executed."""
    place: int
    """Byte offset of the instruction in the machine code, or its line of the PTX."""
    file: str | None
    """Source file."""
    line: int | None
    """Source line."""
    kind: str
    """load, store or atomic."""
    space: str
    """Memory space of the access."""
    array: str | None
    """Name of the array; null for shared and local memory."""
    lane_bytes: int
    """Bytes of each lane."""
    block: int
    """Linear number of the block."""
    warp: int
    """Number of the warp in its block."""
    offsets: list[int | None]
    """Byte of each of the 32 lanes, from the start of the array or of the block's shared memory;
    null for a lane that takes no part."""
    transactions: int
    """Sectors of the access, or wavefronts in shared memory."""
    sector_bytes: int
    """Bytes of a sector; of a bank's word in shared memory."""
    chosen: Literal["first", "most"]
    """The first access that was seen, or the one with the most transactions."""


class CodeLine(TypedDict):
    """One line of a listing."""

    text: str
    """The instruction."""
    file: str | None
    """Source file."""
    line: int | None
    """Source line that it was compiled from."""
    place: int
    """Byte offset of the instruction in the machine code, or its line of the PTX."""
    executions: int | None
    """Warps that executed it; null where that is not known."""


class RooflinePoint(TypedDict):
    """Work and traffic of a launch, and the peaks of the machine."""

    milliseconds: float
    """Predicted time."""
    operations: float
    """Single-precision additions and multiplications of all threads; a multiply-add counts two."""
    warp_instructions: float
    """Instructions that warps executed."""
    l2_bytes: float
    """Bytes between L1 and L2."""
    dram_bytes: float
    """Bytes between L2 and DRAM."""
    peak_operations_per_s: float
    """Single-precision operations of the whole GPU in a second."""
    peak_instructions_per_s: float | None
    """Warp instructions of the whole GPU in a second; null where the issue rate is not known."""
    peak_l2_bytes_per_s: float
    """Bandwidth of L2."""
    peak_dram_bytes_per_s: float | None
    """Bandwidth of DRAM; null where it is not known."""


class ChangedLine(TypedDict):
    """One line of a comparison of two sources."""

    kind: Literal["same", "removed", "added", "gap"]
    """`gap` stands for lines that are the same and left out."""
    before: int | None
    """Line number in the present source."""
    after: int | None
    """Line number in the written source."""
    text: str
    """The line; of a gap, how many lines are left out."""


class WaitedFor(TypedDict):
    """An instruction whose result others wait for."""

    place: int
    """Byte offset of the instruction in the machine code."""
    file: str | None
    """Source file."""
    line: int | None
    """Source line."""


class StallsAt(TypedDict):
    """What the warps that were watched waited for before they issued an instruction."""

    place: int
    """Byte offset of the instruction in the machine code."""
    file: str | None
    """Source file."""
    line: int | None
    """Source line."""
    issued: int
    """How often it was issued."""
    waits: list[float]
    """Cycles of all warps together for each of the timeline's `states` but the first."""
    waits_for: WaitedFor | None
    """The instruction whose results were waited for longest; null where there is none."""


class WarpTimeline(TypedDict):
    """The first blocks of one SM as the timeline has them."""

    cycles: float
    """Cycles that are shown."""
    cycles_per_column: float
    """Cycles of each stretch of time in `issue_share` and `warps`."""
    blocks: int
    """Blocks that were run on the SM."""
    warps_per_block: int
    """Warps of each."""
    is_complete: bool
    """Whether these blocks are shown to their end."""
    states: list[str]
    """What a warp does: `issued`, then what it waits for."""
    issue_share: list[float]
    """Share of the schedulers' issue slots that were used, by stretch of time."""
    warps: list[str]
    """What was mostly done at each place of the SM for a warp: a letter for each stretch of one
    state (`a` for the first of `states`, `-` for no warp), and how many columns it has if not
    one."""
    stalls: list[StallsAt]
    """In the order of the machine code."""


class Curve(TypedDict):
    """A curve of a page."""

    title: str
    """What it shows."""
    x_label: str
    """What the horizontal axis shows."""
    y_label: str
    """What the vertical axis shows."""
    x: list[float]
    """Positions, ascending."""
    y: list[float | None]
    """Values."""
    marks: list[tuple[float, str]]
    """Positions that are marked, each with its words."""


class PageForm(TypedDict):
    """One form of a kernel: as it is, or with arrays elsewhere."""

    title: str
    """What it is called on the page."""
    option: int | None
    """Position of the form among the options of the advice; null for the present form."""
    file: str
    """Name of its source file."""
    source: str
    """Source of the form; empty where there is none."""
    language: Literal["cuda", "ptx"]
    """Language of the source."""
    chart: MemoryChart | None
    """Memory chart of the form; null where it was not simulated."""
    lines: list[LineHeat]
    """What its source lines ask of the memories."""
    samples: list[WarpSample]
    """Accesses of single warps."""
    timeline: WarpTimeline | None
    """The warps of an SM over time; null where no time is predicted."""
    curves: list[Curve]
    """What caches of other sizes would miss."""
    ptx: list[CodeLine]
    """PTX of the form."""
    sass: list[CodeLine]
    """Machine code of the form; empty where none can be listed."""
    roofline: RooflinePoint | None
    """Null where no time is predicted."""
    notes: list[str]
    """What is missing, in sentences."""


class Changes(TypedDict):
    """What an option changes in the source."""

    option: int
    """Position among the options."""
    title: str
    """What the option is called on the page."""
    lines: list[ChangedLine]
    """The comparison."""


@document
class PageDocument(TypedDict):
    """What an HTML report shows: the JSON inside `--html FILE`."""

    schema: Literal["placewise-page"]
    schema_version: Literal[1]
    kind: Literal["advise", "layout", "time", "counters", "lint", "run", "validate", "probe"]
    """The command."""
    title: str
    """Title of the page."""
    verdict: str
    """The answer in a sentence."""
    version: str
    """Version of Placewise that made the page."""
    document: dict[str, Any]
    """The command's own document, as `--json` prints it."""
    forms: list[PageForm]
    """Forms of the kernel, the present one first."""
    changes: list[Changes]
    """What the written options change in the source."""
    curves: list[Curve]
    """Measured curves."""
