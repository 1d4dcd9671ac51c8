"""Document of `placewise probe`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import Extent, document


class Device(TypedDict):
    """What the driver says of the GPU."""

    name: str
    """The GPU."""
    compute_capability: tuple[int, int]
    """Major and minor number."""
    sms: int
    """Number of SMs."""
    clock_mhz: float | None
    """Clock of the SMs."""
    memory_bytes: int
    """Size of DRAM."""
    l2_bytes: int
    """Size of L2."""
    constant_bytes: int
    """Constant memory of a module."""
    max_threads_per_block: int
    """Threads of a block, at most."""
    max_block: Extent
    """Threads of a block along x, y and z, at most."""
    max_grid: Extent
    """Blocks along x, y and z, at most."""
    max_threads_per_sm: int
    """Resident threads of an SM, at most."""
    max_blocks_per_sm: int
    """Resident blocks of an SM, at most."""
    registers_per_sm: int
    """Registers of an SM."""
    shared_bytes_per_block: int
    """Shared memory of a block, at most."""
    shared_bytes_per_sm: int
    """Shared memory of an SM."""
    dram_gb_per_s: float | None
    """Peak bandwidth of DRAM."""


class ProbedLevel(TypedDict):
    """A cache, or a TLB whose lines are pages. Null means not found or not looked at."""

    latency_cycles: float
    """Median time of a load that hits here; of a TLB, what such a hit adds to a load."""
    capacity_bytes: int | None
    """Capacity."""
    sector_bytes: int | None
    """Bytes fetched at a time."""
    line_bytes: int | None
    """Bytes of a line; of a TLB, of a page."""
    ways: list[int]
    """Ways of each set."""
    policy: str | None
    """Replacement policy."""
    way_probabilities: list[float]
    """Share of each way among those replaced, for the policy `weighted`."""
    index: str | None
    """How lines are mapped to sets: `modulo`, `hashed` or `table`."""
    run: int | None
    """Neighbouring lines that lie in the same set."""
    labels: list[int]
    """Set of each line, where all sets were looked at."""
    doubts: list[str]
    """What does not fit together; empty where confidence is high."""
    sets: int | None
    """Number of sets."""
    confidence: Literal["high", "low"]
    """Low where there are doubts."""


class ProbedPath(TypedDict):
    """Caches and TLBs of one data path."""

    caches: list[ProbedLevel]
    """Nearest to the cores first."""
    memory_cycles: float
    """Time of a load that no cache serves."""
    tlbs: list[ProbedLevel]
    """Nearest to the cores first."""
    walk_cycles: float
    """What a miss of all TLBs adds to a load."""
    doubts: list[str]
    """What does not fit together."""


class PatternLatency(TypedDict):
    """Latency of one combination of cache and TLB hits and misses."""

    number: int
    """Number of the pattern."""
    cycles: float
    """Latency of the pattern."""
    what: str
    """What hits and what misses."""


class BankTimes(TypedDict):
    """Shared-memory loads with one stride between lanes."""

    stride: int
    """Words between lanes."""
    width: int
    """Bytes of a lane's load."""
    latency_cycles: float
    """Latency of one load."""
    cycles_per_access: float
    """Cycles between loads that follow one another."""


class InstructionTimes(TypedDict):
    """One opcode's latency and throughput."""

    opcode: str
    """The opcode."""
    latency_cycles: float
    """Cycles until the result is there."""
    lanes_per_cycle: float
    """Threads that an SM serves in a cycle."""


class StreamTimes(TypedDict):
    """Bandwidth of one level with a number of warps."""

    level: str
    """The memory."""
    warps_per_sm: int
    """Warps on each SM."""
    gb_per_s: float
    """The bandwidth."""


class DramMapping(TypedDict):
    """How addresses map to DRAM. Bits are numbered from 0."""

    column_bits: list[int]
    """Address bits of the column."""
    row_bits: list[int]
    """Address bits of the row; some may be hashed into the bank, too."""
    bank_hashes: list[int]
    """Masks of address bits; the parity of each is a bit of the bank."""
    undetermined_bits: list[int]
    """Bits whose part in a hash loads cannot tell from another bit's."""
    hit_ns: float
    """Time of a load whose row is open."""
    miss_ns: float
    """Time of a load that finds no row open."""
    conflict_ns: float
    """Time of a load that finds another row open."""
    doubts: list[str]
    """What does not fit together."""


class LatencyCurve(TypedDict):
    """Average latency over the size of an array that is read in random order."""

    bytes: list[float]
    """Sizes of the array."""
    cycles: list[float]
    """Average latency at each size."""


class NotFound(TypedDict):
    """A part that the probe did not find."""

    part: str
    """The part."""
    reason: str
    """Why not."""


@document
class ProbeDocument(TypedDict):
    """What a probe found: `placewise probe --json`."""

    schema: Literal["placewise-probe"]
    schema_version: Literal[1]
    device: Device
    """What the driver says."""
    seconds: float
    """Time that the probe took."""
    paths: dict[str, ProbedPath]
    """Caches and TLBs by data path."""
    shared_cycles: float | None
    """Latency of shared memory."""
    patterns: list[PatternLatency]
    """Latencies of combinations of cache and TLB hits and misses."""
    banks: list[BankTimes]
    """Bank conflicts of shared memory."""
    instructions: list[InstructionTimes]
    """Latency and throughput of opcodes."""
    bandwidth: list[StreamTimes]
    """Bandwidths."""
    dram: DramMapping | None
    """Row, column and bank bits of DRAM."""
    launch_ns: float | None
    """Time of an empty kernel."""
    curve: LatencyCurve | None
    """Latency over the size of an array."""
    not_found: list[NotFound]
    """Parts that were not found."""
