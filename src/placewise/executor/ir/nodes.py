"""The warp IR: what PTX (and machine code) is lowered to before LLVM sees it.

A program is a list of blocks over registers. Inside a block everything is a :class:`Node`, a value
of one lane computed once; a register is read by a ``get`` node and written by a ``set`` node. All
instructions are executed by every active lane of a warp at once; which values are the same in all
lanes is found later (:mod:`placewise.executor.passes.uniform`), not stated here.

Types are ``i1 i8 i16 i32 i64 i128 f16 f32 f64``. The operations, by what ``args`` hold:

==================  ===================================================================
``const``           no args; ``attr`` the bits
``get``, ``set``    ``attr`` the :class:`Reg`; ``set`` takes the value
``special``         ``attr`` a :data:`SPECIAL` name
``param``           ``attr`` the byte offset in the kernel's parameter buffer
elementwise         the operands; see :data:`ELEMENTWISE`
``icmp``, ``fcmp``  two operands, ``attr`` the LLVM condition
``load``            address[, guard]; ``attr`` an :class:`Access`
``store``           address, values…[, guard]; ``attr`` an :class:`Access`
``atomic``          address, operands…[, guard]; ``attr`` an :class:`Access`
``texture``         handle, index[, guard]; ``attr`` an :class:`Access`; parts: four channels
``sample``          handle, four coordinates[, guard]; likewise
``host``            up to four i64; ``attr`` printf or assert, see :mod:`.host_calls`; i64
``surface``         handle, four coordinates, values…[, guard]; ``attr`` an :class:`Access`
``part``            a multi-valued node; ``attr`` the number of the value
``shuffle``         value, lane operand, clamp operand; ``attr`` the mode; parts: value, in range
``vote``            predicate[, members]; ``attr`` all, any, uni or ballot
``match``           value[, members]; ``attr`` any or all; parts: mask, all equal
``reduce``          value[, members]; ``attr`` the operation
``activemask``      no args
``first``           value; that of the first active lane
``sync``            operands as of its ``attr``, a :class:`Sync`
``permute``         value; ``attr`` the lane that each lane takes it from
``heap``            bytes or address (i64); ``attr`` malloc or free; the address given, or 0
``mma``             registers of A, B and C; ``attr`` an :class:`Mma`; parts: registers of D
``count``           predicate; counts the lanes where it holds; ``attr`` the counter's number
==================  ===================================================================

``members`` is a mask of the lanes taking part, where it is not simply all active ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from placewise.executor.ir.matrix_lanes import Mma

SPECIAL = frozenset(
    [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + ["laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clock", "dynamic_shared"]
    + ["total_shared"]
    + [f"lanemask_{c}" for c in ("eq", "le", "lt", "ge", "gt")]
)
"""Special values: ``i32`` except ``clock`` (``i64``)."""

_INTEGER = (
    "add sub mul mulhi_s mulhi_u and or xor shl lshr ashr sdiv udiv srem urem smin smax umin umax "
    "sadd_sat ssub_sat uadd_sat usub_sat ctlz cttz ctpop bitreverse fshl fshr"
)
_CONVERSION = "trunc zext sext bitcast fptrunc fpext fptosi fptoui sitofp uitofp"
_FLOAT = (
    "fadd fsub fmul fdiv fma fneg fabs copysign fmin fmax fmin_nan fmax_nan sqrt floor ceil ftrunc "
    "rint sin cos exp2 log2 tanh"
)
ELEMENTWISE = frozenset(f"{_INTEGER} {_CONVERSION} {_FLOAT} icmp fcmp select".split())
"""Operations on each lane by itself, named as in LLVM where it has them. Of fadd, fmul, fma, fdiv,
sqrt, fptrunc, sitofp and uitofp, ``attr`` may be a rounding mode (rz, rm, rp)."""

BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "f16": 16,
    "i32": 32,
    "f32": 32,
    "i64": 64,
    "f64": 64,
    "i128": 128,
}


@dataclass(frozen=True)
class Place:
    """Where an instruction comes from."""

    line: int
    """Line in the PTX text."""
    source: tuple[int, int] | None
    """(file number, line)."""


@dataclass(frozen=True)
class Access:
    """What a memory node does, lane by lane."""

    kind: str
    """load, store or atomic."""
    space: str
    """global, shared, local, constant, generic or texture; param for indexed parameters."""
    bits: int
    """Bits of one element (8 … 128)."""
    count: int
    """Elements per lane."""
    opcode: str
    place: Place
    offset: int = 0
    """Constant bytes added to the address."""
    operation: str = ""
    """Of an atomic: add, fadd, smin, …, exch, cas, inc, dec; of textures and surfaces see
    :mod:`placewise.executor.texture.texture_request`."""
    result_used: bool = True
    site: int = -1
    """Number among the program's memory instructions."""


@dataclass(frozen=True)
class Sync:
    """An instruction that orders what threads do; it computes nothing, and only checks ask for it.

    ``kind`` is warp, fence, commit, wait, collective or shuffle. The first operand of warp,
    collective and shuffle is the member mask; a shuffle's next are its lane and clamp operands.
    """

    kind: str
    opcode: str
    place: Place
    operand: int = 0
    """Scope of a fence (1 block, 2 device); groups that a wait leaves pending (-1: none)."""
    mode: str = ""
    """Of a shuffle: up, down, bfly or idx."""
    guarded: bool = False
    """The last operand is a guard."""
    number: int = -1
    """Number among the program's synchronising instructions."""


class Reg:
    """A register that lives across blocks."""

    __slots__ = ("name", "number", "type")

    def __init__(self, name: str, type_: str, number: int) -> None:
        self.name = name
        self.type = type_
        self.number = number

    def __repr__(self) -> str:
        return self.name


Attr = int | str | Reg | Access | Mma | Sync | tuple[int, ...] | None


class Node:
    """One operation and its value. ``uniform`` is filled in by the analysis."""

    __slots__ = ("args", "attr", "number", "op", "type", "uniform", "used")

    def __init__(
        self, op: str, type_: str, args: tuple[Node, ...], attr: Attr, number: int
    ) -> None:
        self.op = op
        self.type = type_
        self.args = args
        self.attr = attr
        self.number = number
        self.uniform = False
        self.used = False

    def __repr__(self) -> str:
        args = ", ".join(f"%{a.number}" for a in self.args)
        attr = "" if self.attr is None else f" {self.attr}"
        return f"%{self.number} = {self.op} {self.type} {args}{attr}"


@dataclass(frozen=True)
class Jump:
    target: int


@dataclass(frozen=True)
class Branch:
    """To ``taken`` in lanes where ``condition`` holds, else to ``other``."""

    condition: Node
    taken: int
    other: int


@dataclass(frozen=True)
class Switch:
    """To ``targets[index]``; an index out of range is undefined in PTX and goes to the last."""

    index: Node
    targets: tuple[int, ...]


@dataclass(frozen=True)
class Exit:
    pass


@dataclass(frozen=True)
class Trap:
    """End of the run with an error; ``reason`` says which, the empty one is trap or assertion."""

    place: Place
    reason: str = ""


@dataclass(frozen=True)
class Barrier:
    """Wait for the block's other warps, then go on at ``target``.

    ``reduce`` is (operation, predicate, result register) of ``bar.red``.
    """

    target: int
    number: Node | None
    threads: Node | None
    place: Place
    arrive_only: bool = False
    reduce: tuple[str, Node, Reg] | None = None


Terminator = Jump | Branch | Switch | Exit | Trap | Barrier


@dataclass
class Block:
    number: int
    nodes: list[Node] = field(default_factory=list)
    terminator: Terminator = field(default_factory=Exit)
    instructions: int = 0
    """Instructions of the original code in this block."""
    place: Place | None = None
    """Where its first instruction comes from."""
    places: list[int] = field(default_factory=list)
    """PTX line, or offset of machine code, of each of its instructions."""
    meets: bool = False
    """Its first instruction is where lanes meet again: each group of them that arrives executes it,
    and all go on together."""

    def successors(self) -> tuple[int, ...]:
        t = self.terminator
        if isinstance(t, Jump | Barrier):
            return (t.target,)
        if isinstance(t, Branch):
            return (t.taken, t.other)
        if isinstance(t, Switch):
            return tuple(dict.fromkeys(t.targets))
        return ()


@dataclass
class Program:
    """One kernel in the warp IR."""

    name: str
    blocks: list[Block]
    regs: list[Reg]
    accesses: list[Access]
    """One per memory site, in program order."""
    shared_bytes: int
    """Static shared memory; dynamic shared memory follows at this offset."""
    local_bytes: int
    """Local memory per thread."""
    param_bytes: int
    waiting: frozenset[int] = frozenset()
    """Blocks whose innermost loop waits for what other warps do."""
    syncs: list[Sync] = field(default_factory=list)
    """Instructions that order what threads do."""
    tables: bytes = b""
    """Contents of :data:`placewise.executor.device_memory.address_space.TABLES_WINDOW`."""
    shared_base: int = 0
    """Generic addresses of shared memory begin so many bytes into its window."""
    guards: list[list[int]] = field(default_factory=list)
    """For each counter of ``count`` nodes the places of the instructions that it counts for."""

    def meetings(self) -> list[Block]:
        """Blocks that begin where lanes meet again."""
        return [b for b in self.blocks if b.meets]

    def barriers(self) -> list[Barrier]:
        """All barriers."""
        return [b.terminator for b in self.blocks if isinstance(b.terminator, Barrier)]

    def has_plain_barriers(self) -> bool:
        """Every barrier is one and the same, and waits for the whole block."""
        numbers = set()
        for b in self.barriers():
            if b.threads is not None or b.arrive_only:
                return False
            if b.number is not None and b.number.op != "const":
                return False
            numbers.add(0 if b.number is None else b.number.attr)
        return len(numbers) <= 1
