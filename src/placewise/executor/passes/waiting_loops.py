"""Finds loops in which a warp waits for what other warps or blocks do.

``while (flag == 0);`` ends only after another warp has run, so a warp yields at the head of such a
loop. A loop waits if its exit depends on a value that other threads change: a volatile, relaxed or
acquire load, the result of an atomic, or a load from one address in a loop that writes nothing.
Two kinds of atomics do not wait for anyone: compare-and-swap with the value found last, which only
retries, and additions of a constant. A branch that ends the run as a trap is no exit: subroutines
of machine code have one, for a return to an unknown address.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import Access, Barrier, Block, Branch, Node, Reg, Switch, Trap
from placewise.executor.passes.spin_loops import is_shared_value

_WRITES = frozenset({"store", "atomic", "surface", "host"})


def waiting_blocks(blocks: dict[int, Block], around: dict[int, tuple[int, ...]]) -> frozenset[int]:
    """Blocks whose innermost loop waits for other warps; ``around`` names each block's loops."""
    members: dict[int, list[Block]] = {}
    for number, loops in around.items():
        for loop in loops:
            members.setdefault(loop, []).append(blocks[number])
    traps = frozenset(n for n, block in blocks.items() if isinstance(block.terminator, Trap))
    waiting = {loop for loop, inside in members.items() if _waits(loop, inside, around, traps)}
    return frozenset(n for n, loops in around.items() if loops and loops[-1] in waiting)


def _waits(
    loop: int, inside: list[Block], around: dict[int, tuple[int, ...]], traps: frozenset[int]
) -> bool:
    written = {n.reg for b in inside for n in b.nodes if n.op == "set"}
    silent = not any(n.op in _WRITES for b in inside for n in b.nodes) and not any(
        isinstance(b.terminator, Barrier) for b in inside
    )
    sources = {
        n
        for b in inside
        for n in b.nodes
        if _is_foreign(n) or (silent and n.op == "load" and _is_fixed(n.args[0], written))
    }
    if not sources:
        return False
    tainted = _tainted(inside, sources)
    sources -= {n for n in sources if _only_tries_again(n, sources, tainted)}
    tainted = _tainted(inside, sources)
    for block in inside:
        t = block.terminator
        exits = (s for s in block.successors() if s not in traps)
        leaves = any(loop not in around.get(s, ()) for s in exits)
        if leaves and isinstance(t, Branch) and _depends(t.condition, sources, tainted):
            return True
        if leaves and isinstance(t, Switch) and _depends(t.index, sources, tainted):
            return True
    return False


def _is_foreign(n: Node) -> bool:
    """Whether a node's value depends on what other threads write; not so for added constants."""
    if not is_shared_value(n):
        return False
    added = n.op == "atomic" and isinstance(n.attr, Access) and n.attr.operation == "add"
    return not (added and n.args[1].op == "const" and n.args[1].attr != 0)


def _is_fixed(address: Node, written: set[Reg]) -> bool:
    """Whether an address is the same in every round of the loop."""
    work = [address]
    while work:
        n = work.pop()
        if isinstance(n.attr, Access) or n.op in ("shuffle", "part") or n.attr in written:
            return False
        work += n.args
    return True


def _only_tries_again(n: Node, sources: set[Node], tainted: set[Reg]) -> bool:
    """Whether a node is a compare-and-swap with a value found before, as one of ``sources``."""
    compares = isinstance(n.attr, Access) and n.attr.operation == "cas"
    return compares and _depends(n.args[1], sources, tainted)


def _tainted(inside: list[Block], sources: set[Node]) -> set[Reg]:
    """Registers that hold values made from ``sources`` in the loop."""
    tainted: set[Reg] = set()
    changed = True
    while changed:
        changed = False
        for block in inside:
            for n in block.nodes:
                if n.op != "set" or n.reg in tainted:
                    continue
                if _depends(n.args[0], sources, tainted):
                    tainted.add(n.reg)
                    changed = True
    return tainted


def _depends(n: Node, sources: set[Node], tainted: set[Reg]) -> bool:
    work, seen = [n], {n}
    while work:
        n = work.pop()
        if n in sources or (n.op == "get" and n.attr in tainted):
            return True
        for a in n.args:
            if a not in seen:
                seen.add(a)
                work.append(a)
    return False
