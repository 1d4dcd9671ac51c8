"""Recognises 64-bit values in pairs of 32-bit registers.

Machine code adds 64-bit numbers in two steps, with a carry between them. Turned back into one
64-bit addition, an address costs one operation instead of six, and the executor can see that lanes
access consecutive memory. Anything that is not recognised is computed in two steps.
"""

from __future__ import annotations

from typing import NamedTuple

from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Node


class Carry(NamedTuple):
    """Origin of a carry: ``low = a + b``, or ``a - b`` if ``subtract``."""

    a: Node
    b: Node
    low: Node
    subtract: bool


class Pairs:
    """Which pairs of nodes of the current block are the halves of a 64-bit node."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder
        self._wide: dict[tuple[int, int], Node] = {}
        self._carries: dict[int, Carry] = {}

    def forget(self) -> None:
        """Drop everything at the start of a new block."""
        self._wide = {}
        self._carries = {}

    def note(self, low: Node, high: Node, wide: Node) -> None:
        """Note that ``low`` and ``high`` are the halves of ``wide``."""
        self._wide[low.number, high.number] = wide

    def note_carry(self, flag: Node, carry: Carry) -> None:
        self._carries[flag.number] = carry

    def carry(self, flag: Node) -> Carry | None:
        """Origin of a carry, if this block computed it."""
        return self._carries.get(flag.number)

    def halves(self, wide: Node) -> tuple[Node, Node]:
        """Low and high word of a 64-bit integer."""
        b = self.b
        low = b.resize(wide, "i32")
        if wide.op == "const":
            high = b.const("i32", wide.integer >> 32)
        else:
            high = b.resize(b.pure("lshr", "i64", wide, b.const("i64", 32)), "i32")
        self.note(low, high, wide)
        return low, high

    def known(self, low: Node, high: Node) -> Node | None:
        """The 64-bit value of a pair; None where its halves must be joined. Where one condition
        chooses both halves, what it chooses from may be joined."""
        if _chosen_alike(low, high):
            return self.wide(low, high)
        return self._without_join(low, high)

    def _without_join(self, low: Node, high: Node) -> Node | None:
        """The 64-bit value of a pair that is no choice, where its halves need not be joined."""
        found = self._wide.get((low.number, high.number))
        if found is not None:
            return found
        b = self.b
        if high.op == "const":
            if low.op == "const":
                return b.const("i64", high.integer << 32 | low.integer)
            if high.integer == 0:
                return b.pure("zext", "i64", low)
        if low.op == high.op == "param" and high.integer == low.integer + 4:
            return b.pure("param", "i64", attr=low.integer)
        if high.op == "ashr" and high.args[0] is low and _is_31(high.args[1]):
            return b.pure("sext", "i64", low)
        return None

    def wide(self, low: Node, high: Node) -> Node:
        """The 64-bit value of a pair."""
        # A stack in place of recursion: unrolled loops have chains of a thousand choices.
        pairs = [(low, high)]
        while pairs:
            first, second = pairs[-1]
            value = self._without_join(first, second)
            if value is None and _chosen_alike(first, second):
                parts = [(first.args[k], second.args[k]) for k in (1, 2)]
                open_parts = [p for p in parts if (p[0].number, p[1].number) not in self._wide]
                if open_parts:
                    pairs += reversed(open_parts)
                    continue
                yes, no = (self._wide[x.number, y.number] for x, y in parts)
                value = self.b.select(first.args[0], yes, no)
            self.note(first, second, value or self._joined(first, second))
            pairs.pop()
        return self._wide[low.number, high.number]

    def _joined(self, low: Node, high: Node) -> Node:
        b = self.b
        upper = b.pure("shl", "i64", b.pure("zext", "i64", high), b.const("i64", 32))
        return b.pure("or", "i64", b.pure("zext", "i64", low), upper)

    def extended(self, carry: Carry, first: Node, second: Node) -> Node:
        """The 64-bit sum whose low words gave ``carry``, with the high words of its terms.

        Any pairing of high with low words gives the same sum; known pairs are preferred. For a
        difference ``first`` is of the minuend.
        """
        a, b = carry.a, carry.b
        if not carry.subtract and self._score(a, first, b, second) < self._score(
            a, second, b, first
        ):
            first, second = second, first
        op = "sub" if carry.subtract else "add"
        total = self.b.pure(op, "i64", self.wide(a, first), self.wide(b, second))
        high = self.b.resize(self.b.pure("lshr", "i64", total, self.b.const("i64", 32)), "i32")
        self.note(carry.low, high, total)
        return high

    def _score(self, a: Node, a_high: Node, b: Node, b_high: Node) -> int:
        return sum(self.known(x, y) is not None for x, y in ((a, a_high), (b, b_high)))


def _chosen_alike(low: Node, high: Node) -> bool:
    """Whether one condition chooses both halves."""
    return low.op == high.op == "select" and low.args[0] is high.args[0]


def _is_31(node: Node) -> bool:
    return node.op == "const" and node.integer == 31
