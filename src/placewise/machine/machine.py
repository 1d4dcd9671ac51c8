"""A machine: what an MSL file says of a GPU, resolved and ready for the models."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

from placewise.disk_cache import key_of
from placewise.errors import MachineError
from placewise.short_repr import ShortRepr
from placewise.space import MemorySpace, Way

if TYPE_CHECKING:
    from placewise.machine.condition import SerialCondition


@dataclass(frozen=True)
class Processor:
    """Composition of the die (MSL ``processorSpec``)."""

    tpcs: int
    sms_per_tpc: int
    cores_per_sm: int
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (field, source) pairs."""

    @property
    def sms(self) -> int:
        return self.tpcs * self.sms_per_tpc


@dataclass(frozen=True)
class MemoryDetail:
    """How a memory is built, beyond MSL's ``memSpec``; ``None`` or empty where unknown."""

    line_bytes: int | None = None
    """Bytes that one tag of a cache stands for."""
    sector_bytes: int | None = None
    """Bytes that are fetched at a time."""
    ways: int | None = None
    """Lines that a set of a cache holds."""
    policy: str | None = None
    """Replacement: one of :data:`placewise.machine.msl.details.POLICIES`."""
    way_probabilities: tuple[float, ...] = ()
    """Share of the replacements that each way has, for the policy ``weighted``."""
    index: str | None = None
    """How a line's set follows from its number: ``modulo`` or ``hashed``."""
    writes: str | None = None
    """When stores reach the next level: at once (``through``) or on eviction (``back``)."""
    write_miss: str | None = None
    """What a store that misses does: ``allocate`` a line, or ``bypass`` the cache."""
    slices: int | None = None
    """Parts of L2 that lines are spread over."""
    slice_hashes: tuple[int, ...] = ()
    """Masks of address bits whose parities are the bits of a line's slice, the lowest first."""
    partitions: int | None = None
    """Parts of L2 with as many slices each, every one near to an equal share of the SMs."""
    far_lines: str | None = None
    """``kept`` where the partition near an SM keeps lines that belong to another one, too."""
    unified_bytes: int | None = None
    """Size of the array that the cache shares with shared memory."""
    carve_outs_bytes: tuple[int, ...] = ()
    """Sizes that shared memory's part of that array can have, ascending."""
    holds: str | None = None
    """``instructions`` for a cache of machine code; None for one of data."""
    tags_per_cycle: int | None = None
    """Lines whose tags are looked up in a cycle."""
    bytes_per_cycle: float | None = None
    """What one instance of the memory (per share scope) moves in a cycle."""
    conflict_cycles: float | None = None
    """What each further wavefront of a bank conflict adds to the latency."""
    far_latency_cycles: float | None = None
    """Latency where the data lies in another partition than the SM."""
    same_address_cycles: float | None = None
    """L2 only: cycles of each atomic operation, of all SMs together, on one address."""
    merged_stores: float | None = None
    """L1 only: share of the stores that merge with the store directly before, of the same warp to
    the same sector, and reach the next level with it."""
    partial_store_cycles: float | None = None
    """L1 only: cycles of an SM for each line of a store that writes at most half of its sectors'
    bytes."""
    most_dirty: float | None = None
    """L2 only: share of its sectors that may be dirty."""
    near_bytes: int | None = None
    """Shared memory only: stores beyond so many bytes from the start of an SM's are slower."""
    far_stores: float | None = None
    """Shared memory only: extra wavefronts of a store beyond ``near_bytes``, on average."""
    set_aside_bytes: int | None = None
    """L2 only: most of it that can be set aside for persisting accesses."""
    window_bytes: int | None = None
    """L2 only: the longest access policy window."""
    write_delay_ns: float | None = None
    """DRAM only: how much longer a read takes where DRAM is busy all the time and half of what it
    moves is written; None where it is not known to."""
    background_gb_per_s: float | None = None
    """What is read from it at all times, whatever runs (a display, say)."""
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (setting, source) pairs."""


@dataclass(frozen=True)
class Memory:
    """One MSL ``memSpec`` with inferrable fields filled in; ``None`` stands for ``?`` or ``na``."""

    name: str
    id: int
    """Number by which other entries of the file may name it."""
    software_managed: bool
    """Whether programs place data there; False for a cache."""
    readable: bool
    writable: bool
    dim: int | None
    """Dimensions that arrays must have to be placed there; None: any number."""
    size_bytes: int | None
    """Capacity. Where a file gives it in elements, elements of 4 bytes are meant for a cache; for a
    memory that holds arrays it is None, and ``size_elements`` limits each array."""
    block_bytes: int | None
    """Size of one transaction or cache block."""
    banks: int | None
    """Banks that each serve a word at a time."""
    latency_cycles: float
    """Latency of a read transaction served here."""
    write_latency_cycles: float
    """Latency of a write transaction."""
    upper: tuple[str, ...]
    """Names of the memories nearer to the cores on the way here, nearest first."""
    lower: tuple[str, ...]
    """Names of the memories farther from the cores, nearest first."""
    scope: str
    """Share scope: core, sm, tpc or die."""
    concurrency: tuple[float, float] | None
    """Factors α for memory- and compute-intensive kernels; None: the model's default."""
    condition: SerialCondition
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (field, source) pairs."""
    size_elements: int | None = None
    """Largest number of elements of an array, where that is how the machine limits it."""
    detail: MemoryDetail = MemoryDetail()


@dataclass(frozen=True)
class Limits:
    """Launch limits and resources of one SM; ``None`` where unknown."""

    compute_capability: tuple[int, int]
    """(major, minor)."""
    clock_mhz: float | None
    """Highest clock of the SMs that the maker promises for typical loads (boost)."""
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    """Most threads of a block along x, y and z."""
    max_grid: tuple[int, int, int]
    """Most blocks of a grid along x, y and z."""
    max_threads_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int
    max_registers_per_thread: int
    shared_bytes_per_block: int
    """Largest shared memory of a block, after the opt-in that some machines need."""
    shared_bytes_per_sm: int
    copy_bandwidth_gb_per_s: float | None
    """Bandwidth of copies from host to device, for the cost of filling constant or texture
    memory."""
    dram_bandwidth_gb_per_s: float | None
    """Peak bandwidth of DRAM."""
    dram_bandwidth_achieved_gb_per_s: float | None = None
    """Highest bandwidth of DRAM that streaming kernels were measured to get."""
    schedulers_per_sm: int | None = None
    """Warp schedulers of an SM: one in each of its partitions."""
    issues_per_scheduler: int | None = None
    """Warp instructions that one scheduler can issue in a cycle."""
    launch_overhead_ns: float | None = None
    """Time of a kernel that does nothing, on the device."""
    instruction_buffer_bytes: int | None = None
    """Size of the instruction cache that each scheduler has for itself."""
    instruction_bytes_per_cycle: float | None = None
    """Bytes that an SM's schedulers together fetch in a cycle from the instruction caches behind
    their own."""
    clock_base_mhz: float | None = None
    """Clock that the maker guarantees under any load."""
    clock_sustained_mhz: float | None = None
    """Clock that boards were measured to hold under load."""
    clock_highest_mhz: float | None = None
    """Highest clock that boards reach under load, where that is above the maker's boost clock."""
    max_texture_2d: tuple[int, int] | None = None
    """Texels in a row and rows of the largest texture of two dimensions over linear memory."""
    texture_pitch_bytes: int | None = None
    """What the bytes from one row of such a texture to the next must be a multiple of."""
    time_factor: float | None = None
    """Measured over predicted time of a kernel on the very board, at its sustained clock; None
    where the board was not calibrated."""
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (field, source) pairs."""

    @property
    def reached_dram_gb_per_s(self) -> float | None:
        """Bandwidth of DRAM that streaming kernels get; the peak where none was measured."""
        return self.dram_bandwidth_achieved_gb_per_s or self.dram_bandwidth_gb_per_s


@dataclass(frozen=True)
class Pipe:
    """An execution pipe of the SMs; ``None`` where unknown."""

    name: str
    lanes_per_cycle: float | None = None
    """Threads' instructions that one SM can begin in a cycle, of all its partitions together."""
    latency_cycles: float | None = None
    """From issue until a dependent instruction can be issued."""
    executes: tuple[str, ...] = ()
    """Opcodes as in ``nvdisasm``'s listings; one that several pipes list goes to any of them."""
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (setting, source) pairs."""


@dataclass(frozen=True)
class InstructionTiming:
    """Figures of one instruction that replace its pipe's; ``None`` where the pipe's hold."""

    opcode: str
    """Opcode with the modifiers that matter, such as ``LDS.128``."""
    lanes_per_cycle: float | None = None
    latency_cycles: float | None = None
    issue_cycles: float | None = None
    """Cycles from when a scheduler issues it until it can issue another instruction of any warp; 1
    where ``None``."""
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (setting, source) pairs."""


@dataclass(frozen=True)
class Tlb:
    """One level of address translation; ``None`` or empty where unknown."""

    name: str
    entries: int | None = None
    """Pages that it knows at a time."""
    ways: tuple[int, ...] = ()
    """Number of entries of each set."""
    page_bytes: int | None = None
    scope: str | None = None
    """Who shares one: sm, tpc or die."""
    before: str | None = None
    """The memory nearest to the cores whose accesses are translated here; hits in nearer memories
    need no translation."""
    policy: str | None = None
    """Replacement: one of :data:`placewise.machine.msl.details.POLICIES`."""
    latency_cycles: float | None = None
    """Cycles that an access takes longer if this level holds its page."""
    walk_cycles: float | None = None
    """Last level only: cycles that an access takes longer if this level misses its page."""
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (setting, source) pairs."""


@dataclass(frozen=True)
class Dram:
    """How the DRAM is addressed and timed; ``None`` or empty where unknown.

    Address bits are numbered from 0. A hash is a mask of address bits whose parity is one bit of
    the bank's or channel's number (Huang and Li 2017, Algorithm 1, extended to hashes).
    """

    channels: int | None = None
    banks: int | None = None
    """Banks of one channel."""
    row_bytes: int | None = None
    """Bytes that one row buffer holds."""
    column_bits: tuple[int, ...] = ()
    """Address bits of the place within a row."""
    row_bits: tuple[int, ...] = ()
    """Address bits of the row; they may also be hashed into bank or channel."""
    bank_hashes: tuple[int, ...] = ()
    channel_hashes: tuple[int, ...] = ()
    hit_ns: float | None = None
    """Latency of a load whose row is open."""
    miss_ns: float | None = None
    """Latency of a load whose bank has no row open."""
    conflict_ns: float | None = None
    """Latency of a load whose bank must close another row first."""
    sources: tuple[tuple[str, str], ...] = ()
    """Where each figure is from: (setting, source) pairs."""


@dataclass(frozen=True, repr=False)
class Machine(ShortRepr):
    """A GPU as MSL describes it, with all figures that the models use."""

    name: str
    title: str
    processor: Processor
    memories: tuple[Memory, ...]
    spaces: tuple[MemorySpace, ...]
    limits: Limits
    warnings: tuple[str, ...] = field(default=())
    pipes: tuple[Pipe, ...] = ()
    instructions: tuple[InstructionTiming, ...] = ()
    tlbs: tuple[Tlb, ...] = ()
    """Levels of address translation, nearest to the cores first."""
    dram: Dram | None = None
    warm_caches: bool = False
    """Whether L2 holds, when a launch begins, what an earlier launch on the same data left there.
    No machine file says so: it is a condition that times are asked for."""

    def _in_short(self) -> str:
        return f"{self.name}: {self.title}, {self.processor.sms} SMs"

    @cached_property
    def digest(self) -> str:
        """Machines with other figures have another digest; caches on disk are named by it."""
        return key_of(repr([getattr(self, figure.name) for figure in fields(self)]))

    def memory(self, name: str) -> Memory:
        """Memory called ``name``; raises MachineError if there is none."""
        for memory in self.memories:
            if memory.name == name:
                return memory
        raise MachineError(f"machine {self.name} has no memory '{name}'")

    def space(self, name: str) -> MemorySpace:
        """Space called ``name``; raises MachineError if there is none."""
        for space in self.spaces:
            if space.name == name:
                return space
        known = ", ".join(s.name for s in self.spaces)
        raise MachineError(f"machine {self.name} has no space '{name}'", hint=f"it has: {known}")

    def levels(self, space: str) -> tuple[Memory, ...]:
        """Memories an access to ``space`` may reach, nearest first, the home memory last."""
        return tuple(self.memory(name) for name in self.space(space).levels)

    @cached_property
    def direct_space(self) -> MemorySpace:
        """The space of plain pointers, where arrays are before any move and from where tiles are
        filled; the first space where a machine has none."""
        return next((s for s in self.spaces if s.way.is_plain), self.spaces[0])

    @cached_property
    def l2(self) -> Memory | None:
        """The cache that all SMs share; None where there is none, or its size is not known."""
        caches = (m for m in self.memories if m.scope == "die" and not m.software_managed)
        return next((m for m in caches if m.size_bytes), None)

    @cached_property
    def joint_memories(self) -> frozenset[str]:
        """Names of the memories that bound several paths together: what arrays live in, which is
        one DRAM whatever the space, and caches that several paths lead through."""
        paths: dict[str, set[str]] = {}
        for space in self.spaces:
            if not space.way.facts.per_block:
                paths.setdefault(space.levels[-1], set()).update(("", space.path))
                for cache in space.levels[:-1]:
                    paths.setdefault(cache, set()).add(space.path)
        return frozenset(name for name, reached in paths.items() if len(reached) > 1)

    @cached_property
    def constant_memories(self) -> frozenset[str]:
        """Names of the memories that only constant placements reach."""
        reached: dict[str, list[bool]] = {}
        for space in self.spaces:
            for name in space.levels:
                reached.setdefault(name, []).append(space.way.facts.host_filled)
        return frozenset(name for name, constant in reached.items() if all(constant))


def standard_memory(machine: Machine, way: Way) -> str | None:
    """The memory that CUDA itself reaches in this way. Where a machine has several it is the one
    with CUDA's name (``sharedMem``, ``constantMem``), else the first; None where it has none."""
    homes = [s.levels[-1] for s in machine.spaces if s.way is way]
    named = [h for h in homes if way.facts.implied.part in h.lower().replace("_", "")]
    return next(iter((*named, *homes)), None)
