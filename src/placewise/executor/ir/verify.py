"""Checks that a program of the warp IR is well formed, after lowering and after every pass.

A violation is a bug of Placewise, never of the kernel: lowering refuses what it does not cover.
:func:`verify` states the rules in the order in which it checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from placewise.executor.ir.matrix_lanes import Mma, register_bits
from placewise.executor.ir.nodes import (
    BITS,
    ELEMENTWISE,
    SPECIAL,
    Access,
    Barrier,
    Block,
    Branch,
    Node,
    Program,
    Reg,
    Switch,
    Sync,
)
from placewise.executor.ir.operation_types import (
    ARGUMENTS,
    CASTS,
    CHANNELS,
    CONDITIONS,
    FLOATS,
    INTEGERS,
    MODES,
    ON_FLOATS,
    ROUNDED,
    SHORT_SPACES,
    STRINGS,
    SYNC_OPERANDS,
)


class BrokenProgramError(RuntimeError):
    """A pass left a program that is not well formed: a bug of Placewise."""


class _Broken(Exception):  # noqa: N818 - turned into BrokenProgramError, which says where
    """What is wrong with the node or block that is being checked."""


def verify(program: Program, after: str) -> Program:
    """Return ``program`` if it is well formed.

    ``after`` names the pass that made it. Raises BrokenProgramError, which names the pass, the
    block, the node and the line of code, if one of these rules does not hold:

    * A block's number is its position. Terminators lead to existing blocks.
    * Registers are numbered by their position in ``regs``.
    * A node stands in one block, once. Its operands stand before it in the same block, as do the
      values that the block's terminator uses. Only registers carry values between blocks.
    * A block sets each register at most once, and does not read it afterwards.
    * Number and types of operands, the result type and the attribute fit the operation.
    * Each access and each synchronising instruction has one node at most, with its own number.
    """
    _Verifier(program, after).run()
    return program


class _Verifier:
    def __init__(self, program: Program, after: str) -> None:
        self.program = program
        self.after = after
        self.sites: set[int] = set()
        self.syncs: set[int] = set()
        self.placed: set[Node] = set()

    def run(self) -> None:
        for number, reg in enumerate(self.program.regs):
            if reg.number != number or reg.type not in BITS:
                raise BrokenProgramError(
                    f"after {self.after}: {self.program.name}: register {reg} has number "
                    f"{reg.number} and type {reg.type}, at position {number}"
                )
        if not self.program.blocks:
            raise BrokenProgramError(f"after {self.after}: {self.program.name} has no blocks")
        for number, block in enumerate(self.program.blocks):
            self._block(number, block)

    def _block(self, number: int, block: Block) -> None:
        here: set[Node] = set()
        written: set[Reg] = set()
        n: Node | None = None
        try:
            _require(block.number == number, f"it stands at position {number}")
            for n in block.nodes:
                for a in n.args:
                    if a not in here:
                        raise _Broken(f"operand %{a.number} does not stand before it in its block")
                check = _RULES.get(n.op)
                if check is None:
                    raise _Broken("there is no such operation")
                check(self, n)
                if n.op == "get" or n.op == "set":
                    _require(n.attr not in written, "its block has set this register before")
                    if n.op == "set":
                        written.add(n.attr)  # type: ignore[arg-type]
                here.add(n)
            n = None
            _require(len(here) == len(block.nodes), "it holds a node twice")
            _require(self.placed.isdisjoint(here), "it holds a node of another block")
            self.placed |= here
            self._terminator(block, here)
        except _Broken as broken:
            raise BrokenProgramError(self._message(block, n, str(broken))) from None

    def _message(self, block: Block, n: Node | None, what: str) -> str:
        """Pass, kernel, block, node and the nearest known place, then what is wrong."""
        where = f"block {block.number}"
        place = block.place
        if n is not None:
            where += f", {n!r}"
            for earlier in block.nodes[: block.nodes.index(n) + 1]:
                if isinstance(earlier.attr, Access | Sync):
                    place = earlier.attr.place
        if place is not None:
            source = f"file {place.source[0]} line {place.source[1]}, " if place.source else ""
            where += f" ({source}PTX line or code offset {place.line})"
        return f"after {self.after}: {self.program.name}: {where}: {what}"

    def _terminator(self, block: Block, here: set[Node]) -> None:
        t = block.terminator
        for target in block.successors():
            inside = 0 <= target < len(self.program.blocks)
            _require(inside, f"its end leads to block {target}, which does not exist")
        for value, types in _uses(t):
            _require(value in here, f"its end uses %{value.number}, which does not stand in it")
            _require(value.type in types, f"its end uses %{value.number} of type {value.type}")
        if isinstance(t, Switch):
            _require(bool(t.targets), "it ends in a switch without targets")
        if isinstance(t, Barrier) and t.reduce is not None:
            operation, _, reg = t.reduce
            _require(operation in ("popc", "and", "or"), f"no reduction '{operation}' at a barrier")
            self._register(reg, "i32")

    def _register(self, reg: object, type_: str) -> None:
        if not isinstance(reg, Reg):
            raise _Broken("its attribute is no register")
        regs = self.program.regs
        if not (reg.number < len(regs) and regs[reg.number] is reg):
            raise _Broken(f"register {reg} is not one of the program's")
        if reg.type != type_:
            raise _Broken(f"register {reg} has type {reg.type}")

    # --- one rule for each kind of node

    def _const(self, n: Node) -> None:
        _operands(n)
        fits = isinstance(n.attr, int) and 0 <= n.attr < 1 << BITS[n.type]
        _require(fits, "the constant's bits do not fit its type")

    def _get(self, n: Node) -> None:
        _operands(n)
        self._register(n.attr, n.type)

    def _set(self, n: Node) -> None:
        _operands(n, n.type)
        self._register(n.attr, n.type)

    def _special(self, n: Node) -> None:
        _operands(n)
        _require(n.attr in SPECIAL, "there is no such special value")
        _require(
            n.type == ("i64" if n.attr == "clock" else "i32"),
            "its type is not that of this special value",
        )

    def _param(self, n: Node) -> None:
        _operands(n)
        _require(isinstance(n.attr, int) and n.attr >= 0, "its attribute is no byte offset")

    def _part(self, n: Node) -> None:
        _require(len(n.args) == 1, "it needs exactly one operand")
        values = _values(n.args[0])
        within = isinstance(n.attr, int) and 0 <= n.attr < values
        _require(within, f"its operand has {values} values")

    def _access(self, n: Node) -> None:
        access = n.attr
        if not isinstance(access, Access):
            raise _Broken("its attribute is no access")
        number = access.site
        known = 0 <= number < len(self.program.accesses)
        _require(known and number not in self.sites, f"site {number} is taken or unknown")
        self.sites.add(number)
        element = f"i{access.bits}"
        values = (element,) * access.count
        kind = access.kind
        address: tuple[str, ...] = ("i32",) if access.space in SHORT_SPACES else ("i64",)
        if n.op == "texture":
            address = ("i64", "i32")
        elif n.op in ("sample", "surface"):
            address = ("i64", *("i32",) * CHANNELS)
        else:
            _require(kind == n.op, f"its access is a {kind}")
        if kind == "atomic":
            values = (element,) * (2 if access.operation == "cas" else access.count)
        elif kind == "load":
            values = ()
        _guarded(n, *address, *values)
        _require(n.type == ("i1" if kind == "store" else element), f"elements are {element}")

    def _sync(self, n: Node) -> None:
        sync = n.attr
        if not isinstance(sync, Sync):
            raise _Broken("its attribute is no synchronising instruction")
        known = 0 <= sync.number < len(self.program.syncs)
        _require(known and sync.number not in self.syncs, f"number {sync.number} is not its own")
        self.syncs.add(sync.number)
        guard = ("i1",) if sync.guarded else ()
        _operands(n, *("i32",) * SYNC_OPERANDS.get(sync.kind, 0), *guard)

    def _count(self, n: Node) -> None:
        _operands(n, "i1")
        known = isinstance(n.attr, int) and 0 <= n.attr < len(self.program.guards)
        _require(known, "there is no such counter of guards")

    def _across(self, n: Node) -> None:
        """shuffle, vote, match and reduce; a member mask may follow the operands."""
        _require(n.attr in STRINGS[n.op], f"there is no {n.op} '{n.attr}'")
        if n.op == "shuffle":
            _operands(n, "i32", "i32", "i32")
        elif n.op == "vote":
            _with_members(n, "i1")
        elif n.op == "match":
            _with_members(n, n.args[0].type if n.args else "i32")
        else:
            _with_members(n, "i32")
        wanted = "i1" if n.op == "vote" and n.attr != "ballot" else "i32"
        _require(n.type == wanted, f"its type is not {wanted}")

    def _activemask(self, n: Node) -> None:
        _operands(n)
        _require(n.type == "i32", "its type is not i32")

    def _first(self, n: Node) -> None:
        _operands(n, n.type)

    def _permute(self, n: Node) -> None:
        _operands(n, n.type)
        order = n.attr
        lanes = isinstance(order, tuple) and len(order) == 32 and all(0 <= x < 32 for x in order)
        _require(lanes, "its attribute does not name a lane for each of 32 lanes")

    def _runtime(self, n: Node) -> None:
        """Calls of the device runtime: host and heap."""
        _require(n.attr in STRINGS[n.op], f"there is no {n.op} '{n.attr}'")
        most = 1 if n.op == "heap" else 4
        _require(len(n.args) <= most, f"it has more than {most} operands")
        _require(n.type == "i64", "its type is not i64")
        _operands(n, *("i64",) * len(n.args))

    def _mma(self, n: Node) -> None:
        mma = n.attr
        if not isinstance(mma, Mma):
            raise _Broken("its attribute is no matrix product")
        sizes = (
            (mma.a_registers, mma.a),
            (mma.b_registers, mma.b),
            (mma.accumulators(mma.c), mma.c),
        )
        wanted = [f"i{register_bits(type_)}" for count, type_ in sizes for _ in range(count)]
        _operands(n, *wanted)
        _require(n.type == f"i{register_bits(mma.d)}", "its type is not that of D's registers")

    def _elementwise(self, n: Node) -> None:
        if n.attr is not None and not (n.op in ROUNDED and n.attr in MODES):
            raise _Broken(f"attribute {n.attr}")
        if n.type not in (FLOATS if n.op in ON_FLOATS else INTEGERS):
            raise _Broken(f"type {n.type}")
        _operands(n, *(n.type,) * ARGUMENTS.get(n.op, 2))

    def _cast(self, n: Node) -> None:
        of_types, to_types, fits = CASTS[n.op]
        _require(len(n.args) == 1, "it needs exactly one operand")
        of = n.args[0].type
        good = of in of_types and n.type in to_types
        good = good and (fits is None or fits(BITS[of], BITS[n.type]))
        if not good:
            raise _Broken(f"from {of} to {n.type}")
        if n.attr is not None and not (n.op in ROUNDED and n.attr in MODES):
            raise _Broken(f"attribute {n.attr}")

    def _compare(self, n: Node) -> None:
        _require(n.attr in CONDITIONS[n.op], f"there is no condition '{n.attr}'")
        _require(n.type == "i1" and len(n.args) == 2, "it compares two values to an i1")
        kind = n.args[0].type
        _require(kind in (FLOATS if n.op == "fcmp" else INTEGERS), f"of type {kind}")
        _operands(n, kind, kind)

    def _select(self, n: Node) -> None:
        _operands(n, "i1", n.type, n.type)


def _uses(terminator: object) -> Iterator[tuple[Node, frozenset[str] | set[str]]]:
    """Values that a terminator uses, with the types that they may have."""
    if isinstance(terminator, Branch):
        yield terminator.condition, {"i1"}
    elif isinstance(terminator, Switch):
        yield terminator.index, {"i32"}
    elif isinstance(terminator, Barrier):
        for value in (terminator.number, terminator.threads):
            if value is not None:
                yield value, {"i32"}
        if terminator.reduce is not None:
            yield terminator.reduce[1], {"i1"}


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Broken(otherwise)


def _operands(n: Node, *types: str) -> None:
    have = tuple([a.type for a in n.args])
    if have != types:
        raise _Broken(f"operands of types ({', '.join(have)}) instead of ({', '.join(types)})")


def _guarded(n: Node, *types: str) -> None:
    """Operands of these types, and perhaps a guard behind them."""
    guard = ("i1",) if len(n.args) > len(types) else ()
    _operands(n, *types, *guard)


def _with_members(n: Node, type_: str) -> None:
    """One operand, and perhaps a member mask behind it."""
    _operands(n, type_, *("i32",) if len(n.args) > 1 else ())


def _values(n: Node) -> int:
    """Values of a multi-valued node, 0 for any other."""
    if n.op in ("shuffle", "match"):
        return 2
    if isinstance(n.attr, Mma):
        return n.attr.accumulators(n.attr.d)
    return n.attr.count if isinstance(n.attr, Access) else 0


_Rule = Callable[[_Verifier, Node], None]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(ELEMENTWISE, _Verifier._elementwise),
    **dict.fromkeys(CASTS, _Verifier._cast),
    **dict.fromkeys(CONDITIONS, _Verifier._compare),
    **dict.fromkeys(("load", "store", "atomic"), _Verifier._access),
    **dict.fromkeys(("texture", "sample", "surface"), _Verifier._access),
    **dict.fromkeys(("shuffle", "vote", "match", "reduce"), _Verifier._across),
    **dict.fromkeys(("heap", "host"), _Verifier._runtime),
    "select": _Verifier._select,
    "const": _Verifier._const,
    "get": _Verifier._get,
    "set": _Verifier._set,
    "special": _Verifier._special,
    "param": _Verifier._param,
    "part": _Verifier._part,
    "sync": _Verifier._sync,
    "count": _Verifier._count,
    "activemask": _Verifier._activemask,
    "first": _Verifier._first,
    "permute": _Verifier._permute,
    "mma": _Verifier._mma,
}
