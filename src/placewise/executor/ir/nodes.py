"""The warp IR: what PTX and machine code (SASS) are lowered to before LLVM sees them.

A program is a list of basic blocks. Inside a block everything is a :class:`Node`: a value per lane,
computed once. Only registers carry values from block to block; a ``get`` node reads one and a
``set`` node writes one. Every active lane of a warp executes each node. Which values are the same
in all lanes is found later (:mod:`placewise.executor.passes.uniform`). The rules that every program
keeps are stated and checked in :mod:`placewise.executor.ir.verify`.

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
``sample``          handle, four coordinates[, guard]; ``attr`` and parts as of ``texture``
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

``guard`` is an i1 that holds in the lanes that access memory; without it, all active lanes do.
``members`` is an i32 mask of the lanes that take part; without it, all active lanes do.
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
"""Operations on each lane by itself, named as in LLVM if it has them. ``attr`` of fadd, fmul, fma,
fdiv, sqrt, fptrunc, sitofp and uitofp may be a rounding mode (rz, rm, rp), None is to nearest."""

EFFECTS = frozenset(
    {"store", "atomic", "load", "heap", "texture", "sample", "surface", "host", "count"}
)
"""Operations with an effect, which matter even if no node uses their value; in checked runs, so do
``sync`` nodes."""

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
    """Line in the PTX text, or byte offset in the machine code."""
    source: tuple[int, int] | None
    """(file number, line) of the CUDA source, if the compiler noted it."""


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
    """What an atomic does: add, fadd, smin, …, exch, cas, inc, dec. For textures and surfaces see
    :mod:`placewise.executor.texture.texture_request`."""
    result_used: bool = True
    site: int = -1
    """Number among the program's memory instructions."""


@dataclass(frozen=True)
class Sync:
    """An instruction that orders what threads do. It computes nothing; only a checked run uses it.

    ``kind`` is warp, fence, commit, wait, collective or shuffle. The first operand of warp,
    collective and shuffle is the member mask; a shuffle's next are its lane and clamp operands.
    """

    kind: str
    opcode: str
    place: Place
    operand: int = 0
    """Scope of a fence (1 block, 2 device); groups that a wait leaves pending (-1: none)."""
    mode: str = ""
    """How a shuffle chooses lanes: up, down, bfly or idx."""
    guarded: bool = False
    """Whether the last operand is a guard."""
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
    """One operation and its value.

    ``uniform`` (the same in all lanes of a warp) is filled in by :mod:`.passes.uniform`.
    """

    __slots__ = ("args", "attr", "number", "op", "type", "uniform")

    def __init__(
        self, op: str, type_: str, args: tuple[Node, ...], attr: Attr, number: int
    ) -> None:
        self.op = op
        self.type = type_
        self.args = args
        self.attr = attr
        self.number = number
        self.uniform = False

    @property
    def reg(self) -> Reg:
        """The register of a get or set node."""
        assert isinstance(self.attr, Reg)
        return self.attr

    @property
    def access(self) -> Access:
        """The access of a memory node."""
        assert isinstance(self.attr, Access)
        return self.attr

    @property
    def integer(self) -> int:
        """Bits of a const, byte offset of a param, number of a part or count node."""
        assert isinstance(self.attr, int)
        return self.attr

    def __repr__(self) -> str:
        args = ", ".join(f"%{a.number}" for a in self.args)
        attr = "" if self.attr is None else f" {self.attr}"
        return f"%{self.number} = {self.op} {self.type} {args}{attr}"


@dataclass(frozen=True)
class Jump:
    target: int


@dataclass(frozen=True)
class Branch:
    """Go to ``taken`` in lanes where ``condition`` (i1) holds, else to ``other``."""

    condition: Node
    taken: int
    other: int


@dataclass(frozen=True)
class Switch:
    """Go to ``targets[index]``; an index out of range, undefined in PTX, goes to the last."""

    index: Node
    targets: tuple[int, ...]


@dataclass(frozen=True)
class Exit:
    pass


@dataclass(frozen=True)
class Trap:
    """End the run with an error.

    ``reason`` is one of :mod:`placewise.executor.lowering.traps`, or empty for the kernel's own
    traps and failed assertions.
    """

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
    """Whether it begins with an instruction where lanes reconverge (BSYNC). Each group of lanes
    that arrives executes it, then all go on together."""

    def successors(self) -> tuple[int, ...]:
        t = self.terminator
        if isinstance(t, Jump | Barrier):
            return (t.target,)
        if isinstance(t, Branch):
            return (t.taken, t.other)
        if isinstance(t, Switch):
            return tuple(dict.fromkeys(t.targets))
        return ()

    def steering(self) -> tuple[Node, ...]:
        """Nodes whose values the terminator uses."""
        t = self.terminator
        if isinstance(t, Branch):
            return (t.condition,)
        if isinstance(t, Switch):
            return (t.index,)
        if isinstance(t, Barrier):
            operands = (t.number, t.threads, t.reduce[1] if t.reduce else None)
            return tuple(n for n in operands if n is not None)
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
    waiting: frozenset[int] = frozenset()
    """Numbers of blocks whose innermost loop waits for what other warps do."""
    syncs: list[Sync] = field(default_factory=list)
    """Instructions that order what threads do."""
    tables: bytes = b""
    """Contents of :data:`placewise.executor.device_memory.address_space.TABLES_WINDOW`."""
    shared_base: int = 0
    """Generic addresses of shared memory begin so many bytes into its window."""
    guards: list[list[int]] = field(default_factory=list)
    """Per counter of ``count`` nodes: places (line or offset) of the instructions it serves."""

    def meetings(self) -> list[Block]:
        """Blocks that begin where lanes reconverge."""
        return [b for b in self.blocks if b.meets]

    def barriers(self) -> list[Barrier]:
        """The barriers at the ends of blocks, in block order."""
        return [b.terminator for b in self.blocks if isinstance(b.terminator, Barrier)]

    def has_plain_barriers(self) -> bool:
        """Whether all barriers have one number, and each waits for the whole block."""
        numbers = set()
        for b in self.barriers():
            if b.threads is not None or b.arrive_only:
                return False
            if b.number is not None and b.number.op != "const":
                return False
            numbers.add(0 if b.number is None else b.number.attr)
        return len(numbers) <= 1
