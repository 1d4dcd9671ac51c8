"""Documents of `placewise layout` and `placewise advise --layouts`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document
from placewise.schemas.predictions.program import ProgramForm


class LineUse(TypedDict):
    """Bytes that one source line uses of an array of structs, and bytes that it moves."""

    array: str
    """Name of the array."""
    line: int | None
    """Source line."""
    kind: str
    """Kind of access: load, store or atomic."""
    fields: list[str]
    """Fields that the line accesses."""
    requests: int
    """Warp accesses."""
    used_bytes: int
    """Bytes that the lanes use."""
    moved_bytes: int
    """Bytes of the sectors that the requests move."""


class TriedLayout(TypedDict):
    """A layout that was written out, run and timed."""

    arrays: list[str]
    """Arrays that are laid out anew."""
    layout: str
    """Groups of fields in braces, with `@` the alignment in bytes; or matrices and their order."""
    kind: str
    """AoS, SoA, SoAoS, AoSoA, transposed or padded."""
    proven: bool
    """All arrays hold the same bits after conversion back."""
    detail: str
    """What the proof found, or why there is none."""
    milliseconds: float | None
    """Predicted time."""
    ratio: float | None
    """Time over that of the present layout."""
    ratio_range: tuple[float, float] | None
    """The ratio's 80 % interval."""
    faster: float | None
    """Probability that it is faster."""


class LayoutOption(TriedLayout):
    """One layout of one struct type."""

    struct: str
    """Name of the struct type."""


class StructLayoutOption(LayoutOption):
    """One layout of one struct type, judged by its accesses, too."""

    sectors_ratio: float | None
    """Sectors that the traced accesses move, over those of the present layout; null where none is
    traced."""
    static_ratio: float | None
    """Static cost (`layout --static`) over that of the present layout; null where the source cannot
    be read for it."""


class Conversion(TypedDict):
    """What it takes to convert the arrays once to the layout and once back, on the GPU."""

    bytes: int
    """Bytes read and written, both ways."""
    milliseconds: float | None
    """Time at the bandwidth of DRAM; null where the machine has no figure."""
    launches: int | None
    """Launches after which it is paid back; null where nothing is gained or known."""


class StructAdvice(TypedDict):
    """Layouts of one struct type."""

    struct: str
    """Name of the struct type."""
    arrays: list[str]
    """Arrays of that type."""
    obstacle: str | None
    """Why the layout cannot change; null or empty where it can."""
    present: str
    """The present layout."""
    present_milliseconds: float | None
    """Predicted time of the present layout."""
    lines: list[LineUse]
    """Bytes used and moved by source line, in the present layout."""
    recommended: str | None
    """The recommended layout; null: keep the present one."""
    conversion: Conversion | None
    """Cost of the conversion to the recommended layout."""
    options: list[StructLayoutOption]
    """Other layouts, the fastest first."""


class MatrixUse(TypedDict):
    """What the traced accesses to a matrix move."""

    array: str
    """Name of the array."""
    rows: int
    """Rows of the matrix."""
    columns: int
    """Columns of the matrix."""
    requests: int
    """Accesses of warps that were traced."""
    sectors: int
    """32-byte sectors that they move as it is."""
    best: str | None
    """The order that moves fewest; null where it is the present one."""
    best_sectors: int
    """Sectors in that order."""


class MatrixAdvice(TypedDict):
    """Orders of the arrays that the kernel indexes as matrices."""

    present_milliseconds: float | None
    """Predicted time as it is."""
    matrices: list[MatrixUse]
    """What their accesses move."""
    recommended: str | None
    """The recommended orders; null: keep the present ones."""
    conversion: Conversion | None
    """Cost of the conversion to them."""
    options: list[TriedLayout]
    """Other orders, the fastest first."""


@document
class LayoutDocument(TypedDict):
    """How arrays should be laid out: `placewise layout --json`."""

    schema: Literal["placewise-layout"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    machine: str
    """Name of the machine."""
    structs: list[StructAdvice]
    """One for each struct type that the kernel has arrays of."""
    matrices: MatrixAdvice | None
    """Advice on arrays that are indexed as matrices; null: the kernel has none."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""


class JointForm(TypedDict):
    """A layout and a placement together."""

    layout: str | None
    """The layout; null: as it is."""
    layout_kind: str | None
    """AoS, SoA, SoAoS, AoSoA, transposed or padded; null: as it is."""
    placement: dict[str, str] | None
    """Space of every array that moves, by its name; null: as it is."""
    milliseconds: float | None
    """Predicted time."""
    ratio: float
    """Time over that of the kernel as it is."""
    ratio_range: tuple[float, float]
    """The ratio's 80 % interval."""
    faster: float | None
    """Probability that it is faster."""


@document
class JointDocument(TypedDict):
    """Layouts and placements searched together: `placewise advise --layouts --json`."""

    schema: Literal["placewise-joint"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    machine: str
    """Name of the machine."""
    present_milliseconds: float | None
    """Predicted time as it is."""
    recommended: JointForm | None
    """The recommended form; null: keep the kernel as it is."""
    forms: list[JointForm]
    """All proven forms, the fastest first."""
    layouts: LayoutDocument
    """What `placewise layout` says of the kernel."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""


class LaunchLineUse(LineUse):
    """Bytes that one source line of a launch uses and moves."""

    launch: int
    """Number of the launch, from 1."""


class ProgramConversion(TypedDict):
    """What it takes to convert the arrays that the host fills once to the layout, and those of them
    that launches write once back."""

    bytes: int
    """Bytes read and written."""
    milliseconds: float | None
    """Time on the GPU at the bandwidth of DRAM; null where the machine has no figure."""
    rounds: int | None
    """Rounds after which it is paid back; null where nothing is gained or known."""


class ProgramLayoutOption(LayoutOption):
    """One layout of one struct type in all kernels. Its ratio counts the conversion, its time does
    not."""

    kernels_ratio: float | None
    """Time without conversion over that of the program as it is."""
    launches_milliseconds: list[float | None]
    """Predicted time of one launch, for each launch of the program; empty if it is not proven."""
    conversion: ProgramConversion | None
    """Cost of the conversion; null where it is not proven."""


class ProgramStructAdvice(TypedDict):
    """Layouts of one struct type in all kernels of a program."""

    struct: str
    """Name of the struct type."""
    arrays: list[str]
    """The program's arrays of that type."""
    obstacle: str | None
    """Why the layout cannot change; null where it can."""
    present: str
    """The present layout."""
    lines: list[LaunchLineUse]
    """Bytes used and moved by source line, in the present layout."""
    recommended: str | None
    """The recommended layout; null: keep the present one."""
    options: list[ProgramLayoutOption]
    """Other layouts, the fastest first."""


class ProgramLayoutsTogether(TypedDict):
    """The recommended layouts of several struct types in one source."""

    layouts: dict[str, str]
    """The layout of each struct type, by the type's name."""
    detail: str
    """What the proof found."""
    milliseconds: float
    """Predicted time of the whole program, without conversion."""
    conversion_milliseconds: float
    """Predicted time of all conversions."""
    ratio: float
    """Time, conversions counted, over that of the program as it is."""
    ratio_range: tuple[float, float]
    """The ratio's 80 % interval."""
    faster: float | None
    """Probability that it is faster."""


class LaunchAsItIs(TypedDict):
    """One launch of a program as it is."""

    number: int
    """Place among the launches, from 1."""
    kernel: str
    """Name of the kernel."""
    launches: int
    """How often the whole program launches it."""
    arrays: dict[str, str]
    """The program's array of each parameter."""
    present_milliseconds: float
    """Predicted time of one launch."""


@document
class ProgramLayoutDocument(TypedDict):
    """How the arrays of a program should be laid out: `placewise layout --json` of a file with
    several launches."""

    schema: Literal["placewise-program-layout"]
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
    launches: list[LaunchAsItIs]
    """The launches, in their order."""
    structs: list[ProgramStructAdvice]
    """One for each struct type that the kernels have arrays of."""
    together: ProgramLayoutsTogether | None
    """The recommended layouts of several struct types at once; null: at most one is recommended, or
    they cannot be written together."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""


class ProgramJointForm(TypedDict):
    """A layout and placements of a program together."""

    layout: str | None
    """The layout; null: as it is."""
    layout_kind: str | None
    """AoS, SoA, SoAoS or AoSoA; null: as it is."""
    placements: ProgramForm | None
    """What moves in each kernel, with times under that layout; null: nothing."""
    milliseconds: float
    """Predicted time of the whole program, copies and conversion included."""
    ratio: float
    """Time over that of the program as it is."""
    ratio_range: tuple[float, float]
    """The ratio's 80 % interval."""
    faster: float | None
    """Probability that it is faster."""


@document
class ProgramJointDocument(TypedDict):
    """Layouts and placements of a program searched together: `placewise advise --layouts --json` of
    a file with several launches."""

    schema: Literal["placewise-program-joint"]
    schema_version: Literal[1]
    program: str
    """Name of the program."""
    machine: str
    """Name of the machine."""
    rounds: int
    """How often all launches run."""
    present_milliseconds: float
    """Predicted time as it is."""
    recommended: ProgramJointForm | None
    """The recommended form; null: keep the program as it is."""
    forms: list[ProgramJointForm]
    """All proven forms, the fastest first."""
    layouts: ProgramLayoutDocument
    """What `placewise layout` says of the program."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""
