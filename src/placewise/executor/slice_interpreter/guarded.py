"""Simplifies addresses by what the guard of their access implies.

A guarded instruction leaves its register unchanged in the other lanes, so the register may hold
anything there, for instance an old float. An access under the same guard never uses that value.
Dropping it keeps the kernel's arithmetic out of the slice.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import ELEMENTWISE, Node

_DEEPEST = 400
"""Most nodes visited for one address; a longer computation is left as it is."""
_UNKNOWN = frozenset({"get", "load", "atomic", "texture"})
"""Operations whose value is unknown, and irrelevant in lanes that do not use it."""


class Guarded:
    """Simplified address nodes of one program. New nodes belong to no block."""

    def __init__(self) -> None:
        self._known: dict[Node, dict[Node, Node]] = {}
        """By guard: the simplified form of each node where the guard holds."""
        self._of_unknown: dict[Node, bool] = {}
        self._implied: dict[Node, dict[Node, bool]] = {}

    def address(self, address: Node, guard: Node) -> Node:
        """``address`` with every select replaced by the operand that ``guard`` implies.

        The result contains new nodes wherever this changes an operand.
        """
        if not self._is_of_unknown(address):
            return address
        known = self._known.setdefault(guard, {})
        holds = self._implications(guard)
        stack = [address]
        looked_at = 0
        while stack:
            n = stack[-1]
            if n in known:
                stack.pop()
                continue
            looked_at += 1
            if looked_at > _DEEPEST:
                return address
            needed = self._needed(n, holds)
            missing = [a for a in needed if a not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            found = tuple([known[a] for a in needed])
            if n.op == "select" and len(needed) == 1:
                known[n] = found[0]
            elif found == needed:
                known[n] = n
            else:
                known[n] = Node(n.op, n.type, found, n.attr, n.number)
        return known[address]

    def _is_of_unknown(self, address: Node) -> bool:
        """Whether ``address`` depends on a value of an unknown operation."""
        known = self._of_unknown
        if address in known:
            return known[address]
        work = [address]
        while work:
            n = work[-1]
            missing = [a for a in n.args if a not in known] if n.op not in _UNKNOWN else []
            if missing:
                work += missing
                continue
            work.pop()
            known[n] = n.op in _UNKNOWN or any(known[a] for a in n.args)
        return known[address]

    @staticmethod
    def _needed(n: Node, holds: dict[Node, bool]) -> tuple[Node, ...]:
        """Operands that the value of ``n`` depends on where the guard holds."""
        # Other than elementwise nodes may read other lanes, where the guard may not hold.
        if n.op not in ELEMENTWISE:
            return ()
        if n.op == "select" and n.args[0] in holds:
            return (n.args[1 if holds[n.args[0]] else 2],)
        return n.args

    def _implications(self, guard: Node) -> dict[Node, bool]:
        """Nodes (i1) that are known to be true or false wherever ``guard`` holds."""
        found = self._implied.get(guard)
        if found is None:
            found = self._implied[guard] = {}
            work = [(guard, True)]
            while work:
                n, value = work.pop()
                found[n] = value
                if n.type != "i1":
                    continue
                if (n.op == "and" and value) or (n.op == "or" and not value):
                    work += [(a, value) for a in n.args]
                elif n.op == "xor":
                    # The complement: the other operand is a constant.
                    for a, b in (n.args, n.args[::-1]):
                        if b.op == "const":
                            work.append((a, value != bool(b.attr)))
        return found


def made_nodes(address: Node, own: set[Node]) -> list[Node]:
    """Nodes of an address that are not in ``own``, operands first; adds them to ``own``."""
    found: list[Node] = []
    work = [address]
    while work:
        n = work[-1]
        missing = [a for a in n.args if a not in own] if n not in own else []
        if missing:
            work += missing
            continue
        work.pop()
        if n not in own:
            own.add(n)
            found.append(n)
    return found
