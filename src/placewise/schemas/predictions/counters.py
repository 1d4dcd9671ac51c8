"""Document of `placewise counters`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import CaseLaunch, MachineNames, document


class Counter(TypedDict):
    """One predicted counter."""

    value: float
    """The prediction."""
    standard_error: float
    """Standard error of a part of the launch scaled to the whole; 0 where all was simulated."""
    upper_bound: bool
    """The counter is at most `value`."""


Counters = dict[str, Counter]


class Occupancy(TypedDict):
    """Resident blocks of an SM."""

    blocks_per_sm: int
    """Resident blocks."""
    warps_per_sm: int
    """Resident warps."""


class MovedArray(TypedDict):
    """An array that `counters` has elsewhere."""

    array: str
    """Name of the array."""
    space: str
    """Space that it is in."""


class ConstantCache(TypedDict):
    """A cache of constant memory."""

    name: str
    """Name in the machine file."""
    lines_asked: float
    """Lines that loads asked it for."""
    lines_missed: float
    """Lines that it did not hold."""


class TlbLevel(TypedDict):
    """A level of address translation, in the part of the launch that was simulated."""

    name: str
    """Name in the machine file."""
    requests: int
    """Lines whose page was asked for."""
    hits: int
    """How many of them it found."""


class Levels(TypedDict):
    """What was asked of the caches of constant memory and of address translation."""

    constant_caches: list[ConstantCache]
    """Lines asked of caches of constant memory; empty where the machine file describes none."""
    tlbs: list[TlbLevel]
    """Pages asked of address translation; empty where the machine file describes none."""


class LineCounters(TypedDict):
    """Counters of one source line."""

    file: str
    """Source file."""
    line: int
    """Line number."""
    counters: Counters
    """Counters by name."""
    constant_caches: list[ConstantCache]
    """Lines asked of caches of constant memory; empty where the machine file describes none."""
    tlbs: list[TlbLevel]
    """Pages asked of address translation; empty where the machine file describes none."""


class OtherL2(TypedDict):
    """Misses of an L2 of another size."""

    size_bytes: int
    """Size of the cache."""
    estimated: float
    """Miss rate of a fully associative cache with LRU replacement, from reuse distances."""
    simulated: float
    """Miss rate with the machine's ways and replacement policy."""


class CrossingSectors(TypedDict):
    """Sectors that cross between partitions of L2."""

    loads: int
    """Sectors of loads that cross."""
    stores: int
    """Sectors of stores that cross."""
    atomics: int
    """Sectors of atomics that cross."""


class Slices(TypedDict):
    """Sectors asked of each slice of L2 by the blocks that were simulated."""

    loads: list[int]
    """Sectors of loads by slice."""
    stores: list[int]
    """Sectors of stores by slice."""
    atomics: list[int]
    """Sectors of atomics by slice."""
    crossed: CrossingSectors | None
    """Null where L2 has no partitions."""


class DramBanks(TypedDict):
    """What banks of DRAM are asked in the launch."""

    requests: list[float]
    """Requests, by bank."""
    hits: list[float]
    """Requests that found their row open."""
    misses: list[float]
    """Requests that found no row open."""
    conflicts: list[float]
    """Requests that found another row open."""


@document
class CountersDocument(TypedDict):
    """Predicted hardware counters: `placewise counters --json`."""

    schema: Literal["placewise-counters"]
    schema_version: Literal[1]
    case: CaseLaunch
    """The launch."""
    machine: MachineNames
    """The machine."""
    arch: str
    """Target that the kernel was compiled for."""
    executed: Literal["machine code", "PTX"]
    """What was executed."""
    occupancy: Occupancy
    """Resident blocks of an SM."""
    traced_share_of_blocks: float
    """Share of the blocks whose memory accesses were simulated; 1: nothing was scaled."""
    moves: list[MovedArray]
    """What `--place` put elsewhere."""
    counters: Counters
    """Counters by Nsight Compute's names. Requests, sectors and wavefronts that are zero are left
    out."""
    counters_as_it_is: Counters | None
    """With `--place`: counters of the case without moves."""
    background_microseconds: float | None
    """Time for which the machine's own reads are counted; null where none are."""
    measured: dict[str, float] | None
    """Recorded counters by name."""
    measured_with: list[str]
    """In what the recorded launch differs from this one."""
    arrays: dict[str, Counters]
    """Counters of each array."""
    array_levels: dict[str, Levels]
    """What each array asked of caches of constant memory and of translation."""
    lines: list[LineCounters]
    """Counters of each source line."""
    constant_caches: list[ConstantCache]
    """Lines asked of caches of constant memory; empty where the machine file describes none."""
    tlbs: list[TlbLevel]
    """Pages asked of address translation; empty where the machine file describes none."""
    l2_sizes: list[OtherL2]
    """With `--sizes`: misses of L2s of other sizes."""
    l2_slices: Slices | None
    """Null where the machine file does not say how many slices L2 has."""
    dram_banks: DramBanks | None
    """Null where the machine file does not describe how addresses map to banks."""
    notes: list[str]
    """Assumptions and what was left out, in sentences."""
