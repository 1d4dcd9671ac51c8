"""Orders blocks so that lanes of one warp that wait for each other at a spin lock make progress.

In ``while (atomicCAS(lock, 0, 1) != 0);`` one lane gets the lock and leaves the loop. If the loop
ran first, the other lanes would spin for ever, while the lane that holds the lock waits for them
behind the loop. So the critical section goes before the loop in the order of blocks, up to its
write to the lock. It is recognised by two facts: the loop ends on a value that other threads
change, and the code behind the loop writes to the address of that value. Compare-and-swap loops
that only retry need no such order, since one lane succeeds in every round.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import Access, Barrier, Block, Branch, Jump, Node, Reg

_SHARED_VALUES = (".volatile", ".relaxed", ".acquire", ".mmio", ".STRONG")


def order_spin_loops(
    blocks: dict[int, Block], order: list[int], around: dict[int, tuple[int, ...]]
) -> list[int]:
    """``order`` with the critical sections of spin loops moved before the loops.

    ``around`` names the loops around each block. A barrier at the end of a critical section gets a
    block of its own, where the warp's lanes reconverge; such blocks are added to ``blocks``.
    """
    tainted = _tainted_registers(blocks)
    result = list(order)
    for number in order:
        block = blocks[number]
        t = block.terminator
        if not around[number] or not isinstance(t, Branch) or not _taints(t.condition, tainted):
            continue
        loop = around[number][-1]
        members = [n for n in result if loop in around.get(n, ())]
        watched = {
            _expression(n.args[0], n.attr)
            for m in members
            for n in blocks[m].nodes
            if is_shared_value(n) and isinstance(n.attr, Access)
        }
        for target in (t.taken, t.other):
            if loop not in around.get(target, ()):
                section = _critical_section(blocks, target, loop, around, watched)
                _move(blocks, result, section, members[0])
    return result


def is_shared_value(n: Node) -> bool:
    """Whether a node is an access that sees what other threads write meanwhile."""
    if n.op == "atomic":
        return True
    return isinstance(n.attr, Access) and any(mark in n.attr.opcode for mark in _SHARED_VALUES)


def _expression(n: Node, access: Access | None = None, depth: int = 6) -> object:
    """A key of an address: equal for equal computations of up to ``depth`` nodes from registers."""
    offset = access.offset if access is not None else 0
    if depth == 0:
        return n.number
    return (n.op, n.attr, offset, *(_expression(a, None, depth - 1) for a in n.args))


def _taints(n: Node, tainted: set[Reg]) -> bool:
    """Whether a value comes from memory that other threads write."""
    work, seen = [n], {n}
    while work:
        n = work.pop()
        if is_shared_value(n) or (n.op == "get" and n.attr in tainted):
            return True
        if isinstance(n.attr, Access):
            continue
        for a in n.args:
            if a not in seen:
                seen.add(a)
                work.append(a)
    return False


def _tainted_registers(blocks: dict[int, Block]) -> set[Reg]:
    sets = [n for b in blocks.values() for n in b.nodes if n.op == "set"]
    tainted: set[Reg] = set()
    if not any(is_shared_value(n) for b in blocks.values() for n in b.nodes):
        return tainted
    changed = True
    while changed:
        changed = False
        for n in sets:
            if n.reg not in tainted and _taints(n.args[0], tainted):
                tainted.add(n.reg)
                changed = True
    return tainted


def _critical_section(
    blocks: dict[int, Block],
    start: int,
    loop: int,
    around: dict[int, tuple[int, ...]],
    watched: set[object],
) -> list[int]:
    """Blocks from a loop's exit to the first that writes a watched address; empty if none does."""
    found: list[int] = []
    at = start
    while at not in found and at != 0 and loop not in around.get(at, ()):
        found.append(at)
        block = blocks[at]
        for n in block.nodes:
            if n.op in ("store", "atomic") and isinstance(n.attr, Access):
                if _expression(n.args[0], n.attr) in watched:
                    return found
            elif n.op in ("shuffle", "vote", "match", "reduce"):
                return []
        after = block.successors()
        if len(after) != 1 or isinstance(block.terminator, Barrier):
            return []
        at = after[0]
    return []


def _move(blocks: dict[int, Block], order: list[int], section: list[int], before: int) -> None:
    for number in section:
        block = blocks[number]
        t = block.terminator
        if isinstance(t, Barrier) and t.reduce is None and t.threads is None:
            if t.number is not None and t.number.op != "const":
                continue
            rest = Block(max(blocks) + 1, [], t, 0, t.place)
            block.terminator = Jump(rest.number)
            blocks[rest.number] = rest
            order.insert(order.index(number) + 1, rest.number)
    first = order.index(before)
    late = [n for n in section if order.index(n) > first]
    for n in late:
        order.remove(n)
    first = order.index(before)
    order[first:first] = late
