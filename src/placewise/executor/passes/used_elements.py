"""Which elements of vector loads a program uses.

Compilers join neighbouring loads into one of 16 bytes and may read an element between or behind
them that the source never asks for. What such an element holds does not matter.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import (
    ELEMENTWISE,
    Barrier,
    Branch,
    Node,
    Program,
    Reg,
    Switch,
)

_WITHOUT_EFFECT = ELEMENTWISE | {"const", "get", "set", "special", "param", "part"}


def used_elements(program: Program) -> dict[int, int]:
    """Mask of the elements (bit 0 the first) that anything depends on, by the number of the memory
    instruction, for loads of more than one element.

    A register counts as read where any block reads it, so that an unused element may count as used
    where its register is used again for another value, as in machine code.
    """
    nodes = [n for b in program.blocks for n in b.nodes]
    writes: dict[Reg, list[Node]] = {}
    for node in nodes:
        if node.op == "set":
            writes.setdefault(node.reg, []).append(node)
    pending = [n for n in nodes if n.op not in _WITHOUT_EFFECT] + _steering(program)
    seen = set(map(id, pending))
    used: dict[int, int] = {}
    while pending:
        node = pending.pop()
        needed = list(node.args)
        if node.op == "get":
            needed += writes.get(node.reg, [])
        elif node.op == "part" and node.args[0].op == "load":
            site = node.args[0].access.site
            used[site] = used.get(site, 0) | 1 << node.integer
        for other in needed:
            if id(other) not in seen:
                seen.add(id(other))
                pending.append(other)
    return {
        n.access.site: used.get(n.access.site, 0)
        for n in nodes
        if n.op == "load" and n.access.count > 1
    }


def _steering(program: Program) -> list[Node]:
    """The values that decide which block comes next."""
    found: list[Node] = []
    for block in program.blocks:
        match block.terminator:
            case Branch(condition=condition):
                found.append(condition)
            case Switch(index=index):
                found.append(index)
            case Barrier(number=number, threads=threads, reduce=reduce):
                found += [n for n in (number, threads, reduce and reduce[1]) if n]
            case _:
                pass
    return found
