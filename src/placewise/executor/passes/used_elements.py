"""Which elements of vector loads a program uses.

Compilers join neighbouring loads into one of 16 bytes and may read an element between or behind
them that the source never asks for. What such an element holds does not matter.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import ELEMENTWISE, Node, Program, Reg

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
    pending = [n for n in nodes if n.op not in _WITHOUT_EFFECT]
    pending += [n for b in program.blocks for n in b.steering()]
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
