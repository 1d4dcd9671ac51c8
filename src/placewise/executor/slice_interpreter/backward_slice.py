"""The backward slice of a program from its branches and addresses (Weiser 1981).

It holds the nodes that decide which way warps go and what they access.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.executor.ir.nodes import Node, Program, Reg
from placewise.executor.slice_interpreter.guarded import Guarded

MEMORY = frozenset({"load", "store", "atomic", "texture"})
_EVERYWHERE = "generic"
_WORD_BYTES = 4


class PathTooLongError(UnsupportedError):
    """More nodes would have to be computed than are allowed; ``with_guards`` tells whether there
    would be fewer without the guards of arithmetic."""

    def __init__(self, message: str, *, with_guards: bool) -> None:
        super().__init__(message)
        self.with_guards = with_guards


def plain_operands(n: Node) -> int:
    """Number of operands of a memory node before its guard."""
    access = n.access
    if n.op == "load":
        return 1
    if n.op == "texture":
        return 2
    if n.op == "store":
        return 1 + access.count
    return 1 + (2 if access.operation == "cas" else access.count)


def guard_of(n: Node) -> Node | None:
    """The guard of a memory node, if it has one."""
    return n.args[-1] if len(n.args) > plain_operands(n) else None


class BackwardSlice:
    """``nodes`` are those whose value is needed, ``contents`` the loads and stores whose data is.

    A load's data is needed where a needed node uses it. Then so are all stores that may have put
    it there: those to the same space, or to any where the address is generic. ``words`` gives, for
    each memory instruction that reads a texture of linear memory, the 32-bit words of a texel.
    Without ``guards``, the guards of arithmetic instructions are left out.
    """

    def __init__(self, program: Program, words: Sequence[int], *, guards: bool = True) -> None:
        self._words = words
        self.nodes: set[Node] = set()
        self.contents: set[Node] = set()
        self._regs: set[Reg] = set()
        self._spaces: set[str] = set()
        self._writers: dict[Reg, list[Node]] = {}
        self._stores: list[Node] = []
        for block in program.blocks:
            for n in block.nodes:
                if n.op == "set":
                    self._writers.setdefault(n.reg, []).append(n)
                elif n.op in ("store", "atomic"):
                    self._stores.append(n)
        self._guarded = Guarded()
        self._addresses: dict[Node, Node] = {}
        self._find(self._roots(program))
        without = len(self.nodes)
        self._find(n.args[0] for b in program.blocks for n in b.nodes if n.op == "count" and guards)
        self.needs_guards = len(self.nodes) > without
        """Whether it holds nodes that guards alone need."""

    def _find(self, roots: Iterator[Node]) -> None:
        self._work = list(roots)
        while self._work:
            self._need(self._work.pop())

    def _need(self, n: Node) -> None:
        if n in self.nodes:
            return
        self.nodes.add(n)
        if n.op == "get":
            if n.reg not in self._regs:
                self._regs.add(n.reg)
                self._work += self._writers.get(n.reg, [])
        elif n.op in MEMORY:
            self._need_contents(n)
        else:
            self._work += n.args

    def _need_contents(self, n: Node) -> None:
        """Add what the value of a load or atomic depends on, stores to its space included."""
        access = n.access
        self.contents.add(n)
        self._work += (self.address(n), *n.args[1:])
        if access.space in self._spaces:
            return
        self._spaces.add(access.space)
        for store in self._stores:
            other = store.access
            if _EVERYWHERE in (access.space, other.space) or access.space == other.space:
                self.contents.add(store)
                self._work += (self.address(store), *store.args[1:])

    def address(self, n: Node) -> Node:
        """Address of a memory node in the lanes where its guard holds.

        May consist of new nodes that stand in no block, see :class:`.guarded.Guarded`.
        """
        found = self._addresses.get(n)
        if found is None:
            guard = guard_of(n)
            place = n.args[0] if n.op != "texture" else self._texel(n)
            found = place if guard is None else self._guarded.address(place, guard)
            self._addresses[n] = found
        return found

    def _texel(self, n: Node) -> Node:
        """Address of a texel in linear memory: its texture's window plus index times size."""
        object_, index = n.args[:2]

        def made(op: str, *args: Node, attr: int | None = None) -> Node:
            return Node(op, "i64", args, attr, n.number)

        window = made("and", object_, made("const", attr=-1 << WINDOW_SHIFT & (1 << 64) - 1))
        size = made("const", attr=_WORD_BYTES * self._words[n.access.site])
        return made("add", window, made("mul", made("zext", index), size))

    def _roots(self, program: Program) -> Iterator[Node]:
        for block in program.blocks:
            yield from block.steering()
            for n in block.nodes:
                if n.op in MEMORY:
                    yield self.address(n)
                    guard = guard_of(n)
                    if guard is not None:
                        yield guard
