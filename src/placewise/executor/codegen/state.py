"""What the emitters of one warp function share: options, helpers wanted, the block in progress."""

from __future__ import annotations

from dataclasses import dataclass, field

from placewise.executor.codegen.accesses.access import Kind
from placewise.executor.codegen.accesses.texture_reader import Reader
from placewise.executor.codegen.backend.processor import Processor, this_processor
from placewise.executor.codegen.text import Values, vector
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.ir.matrix_lanes import Mma
from placewise.executor.ir.nodes import BITS, Access, Barrier, Program, Reg
from placewise.executor.passes.uniform import Flow, live_in_any


@dataclass(frozen=True)
class Options:
    """What the generated code depends on beside the program."""

    traced: frozenset[str]
    """Spaces whose accesses are recorded; empty without a consumer."""
    parallel: bool
    """Blocks run on several cores: use the host's atomics."""
    large: bool
    """Some array has 2 GiB or more."""
    texture_words: tuple[int, ...]
    """Per memory site, 32-bit words of a texel where it reads a texture plainly, else 0."""
    checked: frozenset[int] | None = None
    """Memory sites before which the checker is asked; None without a checker."""
    quick: bool = False
    """Whether code is to be compiled in little time, not to run fast."""
    processor: Processor = field(default_factory=this_processor)


@dataclass
class Needs:
    """Helper functions that the emitted code calls."""

    scalar_loads: set[Kind] = field(default_factory=set)
    vector_loads: set[Kind] = field(default_factory=set)
    general: set[Kind] = field(default_factory=set)
    scattered: set[Kind] = field(default_factory=set)
    checks: set[Check] = field(default_factory=set)
    stores: set[Kind] = field(default_factory=set)
    atomics: dict[str, Access] = field(default_factory=dict)
    group_reductions: set[str] = field(default_factory=set)
    matches: set[int] = field(default_factory=set)
    readers: set[Reader] = field(default_factory=set)
    host: bool = False
    permute: bool = False
    heap: set[str] = field(default_factory=set)
    products: set[Mma] = field(default_factory=set)


REACH = "{ <32 x i32>, ptr, i64, i64 }"
"""LLVM type of what is known of scattered accesses: offsets, host pointer, device address,
window."""


@dataclass(frozen=True)
class Reach:
    """A group of accesses of a block that differ by constants, checked against the bounds."""

    pattern: str
    """Kind of the root's pattern (i32), which says whether the rest is known."""
    place: str
    """Pointer to :data:`REACH` of the lowest access."""
    low: int
    """Constant part of the lowest access's address."""


@dataclass(frozen=True)
class Check:
    """Which accesses one checking helper serves."""

    action: str
    memory: str
    lane_bytes: int
    based: bool
    """Whether the array is found by the part of the addresses that all lanes share, instead of by
    the first active lane's address."""

    @property
    def name(self) -> str:
        own = "" if self.based else ".own"
        return f"@check.{self.action}.{self.memory}.{self.lane_bytes}{own}"

    @property
    def address(self) -> str:
        """LLVM type of one lane's address."""
        return "i64" if self.memory == "windowed" else "i32"


@dataclass(frozen=True)
class Frame:
    """Where registers are kept while a warp waits at a barrier; offset 0 holds the lane mask."""

    offsets: dict[int, int]
    waiting: dict[int, int]
    """Places of the masks of lanes that wait at blocks, kept where a warp gives way."""
    bytes: int


def frame_of(program: Program, flow: Flow) -> Frame:
    """Registers that live across a barrier, each with its place in a warp's frame."""
    saved = 0
    for block in program.blocks:
        if isinstance(block.terminator, Barrier):
            saved |= flow.live_in[block.terminator.target]
    waiting = 0
    for number in flow.gives_way:
        saved |= flow.live_in[number] | live_in_any(flow.live_in, flow.pending[number])
        waiting |= flow.pending[number]
    offsets: dict[int, int] = {}
    end = 64
    for reg in program.regs:
        if saved >> reg.number & 1:
            offsets[reg.number] = end
            size = BITS[reg.type] * 4 if flow.varying >> reg.number & 1 else 8
            end += -(-max(size, 8) // 64) * 64
    masks: dict[int, int] = {}
    for block in program.blocks:
        if waiting >> block.number & 1:
            masks[block.number] = end
            end += 4
    return Frame(offsets, masks, -(-end // 64) * 64)


class State(Values):
    """Text and values of the function under construction."""

    def __init__(
        self, program: Program, flow: Flow, options: Options, declarations: set[str]
    ) -> None:
        super().__init__(declarations)
        self.program = program
        self.flow = flow
        self.options = options
        self.needs = Needs()
        self.frame = frame_of(program, flow)
        self.resumes: list[Barrier | int] = []
        """Barriers, and blocks where warps give way, in the order of resume numbers from 1."""
        self.counted_sites: set[int] = set()
        """Sites that do not run with their block, and count for themselves."""
        self.waits = 0
        """Bit set of blocks where lanes may wait."""
        for p in flow.pending:
            self.waits |= p
        self.live = 0
        """Bit set of registers that live across blocks."""
        for live in flow.live_in:
            self.live |= live
        first = 2 * len(program.blocks) + len(program.accesses) + len(program.guards)
        self.meetings = {b.number: first + k for k, b in enumerate(program.meetings())}
        """Counter of arriving groups of lanes, by number of the block at which lanes reconverge."""
        self.number = 0
        """The present block."""
        self.mask = ""
        """Active lanes of the present block (i32)."""
        self.words = ""
        """Words of the block's trace records that depend on its active lanes."""
        self.hot = False
        """The present block is in a loop."""
        self.pairs: dict[tuple[int, int], str] = {}
        """Values of nodes that have two, by node and number."""
        self.structs: dict[int, tuple[str, str]] = {}
        """LLVM type and name of nodes whose value is a struct."""
        self.patterns: dict[tuple[int, int], tuple[str, str, str]] = {}
        """By address root and stride: kind of pattern, value in lane 0 and in lane 16."""
        self.ends: dict[tuple[object, ...], str] = {}
        """Parts of trace records: addresses of lanes 0 and 16, by their root and what is added."""
        self.reaches: dict[tuple[object, ...], Reach] = {}
        """Checks of groups of accesses, by what the accesses have in common."""
        self.reserved: list[str] = []
        """Space on the stack that the function needs, as LLVM text."""
        self.displacements: dict[tuple[object, ...], tuple[int, int, int]] = {}
        """Lowest and highest constant of their addresses, and their number."""
        self._flags = ""

    def begin_block(self) -> None:
        """Forget the values of the previous block."""
        self.forget()
        self.pairs = {}
        self.structs = {}
        self.patterns = {}
        self.ends = {}
        self.reaches = {}
        self._flags = ""

    def asks(self, access: Access) -> bool:
        """Whether the checker is asked before this access."""
        return self.options.checked is not None and access.site in self.options.checked

    def flags(self) -> str:
        """The block's mask as <32 x i1>."""
        if not self._flags:
            self._flags = self.op(f"bitcast i32 {self.mask} to <32 x i1>")
        return self._flags

    def varies(self, reg: Reg) -> bool:
        """Whether a register may differ between lanes."""
        return bool(self.flow.varying >> reg.number & 1)

    def reg_type(self, reg: Reg) -> str:
        """LLVM type that a register is kept in: lane masks for predicates."""
        if not self.varies(reg):
            return reg.type
        return "i32" if reg.type == "i1" else vector(reg.type)

    def first_lane(self, mask: str | None = None) -> str:
        """Number of the lowest lane of a nonzero mask, the block's by default."""
        return self.call("i32", "llvm.cttz.i32", ("i32", mask or self.mask), ("i1", "false"))

    def count(self, counter: int, value: str) -> None:
        """Add to one of the counters."""
        pointer = self.op(f"getelementptr i64, ptr %counters, i64 {counter}")
        total = self.op(f"add i64 {self.op(f'load i64, ptr {pointer}')}, {value}")
        self.do(f"store i64 {total}, ptr {pointer}")

    def count_site(self, site: int) -> None:
        """Count an execution of a site that does not run with its block."""
        self.count(2 * len(self.program.blocks) + site, "1")
        self.counted_sites.add(site)

    def fault(self, code: int, block: int) -> None:
        """Report a fault at the end of a block, and leave."""
        self.do(
            f"call void @fault(ptr %ctx, i64 {code}, i32 {-2 - block}, "
            f"i32 {self.first_lane()}, i64 0)"
        )
        self.do("ret i32 -1")

    def invariant(self, slot: Slot | int, type_: str = "i64") -> str:
        """Read a context word that never changes during a run."""
        return self.slot(slot, type_, invariant=True)
