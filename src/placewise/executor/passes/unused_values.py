"""Drops values that nothing uses, and writes of registers that lead to no use.

Machine code writes many registers under a predicate: the new value where it holds, the old one
elsewhere. If the register is only read under that predicate, the old value is read for a write that
nothing uses. Ordinary liveness counts such a read as a use, so that the register looks alive far
before. Here a read counts only if something that has an effect, or the way that warps take, depends
on it (strong liveness: Giegerich, Möncke and Wilhelm, "Invariance of approximate semantics with
respect to program transformations", 1981).
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.ir.nodes import EFFECTS, Barrier, Block, Node, Program

_KEPT = EFFECTS | {"sync"}


def drop_unused(program: Program) -> Program:
    """``program``, whose blocks are numbered by their place, without nodes that change neither
    what it does nor which way its warps take. Changes its blocks in place."""
    facts = [_facts(block) for block in program.blocks]
    live = _live_in(program.blocks, facts)
    for block in program.blocks:
        used = used_nodes(block, live, _KEPT)
        block.nodes = [n for n in block.nodes if n in used]
    return program


def used_nodes(block: Block, live_in: list[int], effects: frozenset[str]) -> set[Node]:
    """Nodes of a block whose value or effect is wanted. ``live_in`` are the registers that are live
    at the start of each block, as bit sets; ``effects`` the operations that count as such."""
    out = _live_out(block, live_in)
    used = set(block.steering())
    for n in reversed(block.nodes):
        if n.op == "set":
            if out >> n.reg.number & 1:
                used.add(n)
                out &= ~(1 << n.reg.number)
        elif n.op in effects:
            used.add(n)
        if n in used:
            used.update(n.args)
            if n.op == "get":
                out |= 1 << n.reg.number
    return used


@dataclass(frozen=True)
class _Facts:
    """What a block reads and writes; bit sets are of numbers of registers."""

    uses: int
    """Registers whose values at the block's start an effect or its terminator depends on."""
    defines: int
    """Registers that it writes."""
    needs: dict[int, int]
    """For each register that it writes: those whose values at its start the new one depends on."""


def _facts(block: Block) -> _Facts:
    depends: dict[Node, int] = {}
    needs: dict[int, int] = {}
    uses = 0
    for n in block.nodes:
        if n.op == "get":
            depends[n] = needs.get(n.reg.number, 1 << n.reg.number)
            continue
        needed = 0
        for operand in n.args:
            needed |= depends[operand]
        depends[n] = needed
        if n.op == "set":
            needs[n.reg.number] = needed
        elif n.op in _KEPT:
            uses |= needed
    for node in block.steering():
        uses |= depends[node]
    end = block.terminator
    if isinstance(end, Barrier) and end.reduce is not None:
        needs[end.reduce[2].number] = 0
    defines = 0
    for number in needs:
        defines |= 1 << number
    return _Facts(uses, defines, needs)


def _live_in(blocks: list[Block], facts: list[_Facts]) -> list[int]:
    """Bit set of the registers at each block's start that something depends on."""
    live = [one.uses for one in facts]
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            one = facts[block.number]
            out = _live_out(block, live)
            now = one.uses | out & ~one.defines
            written = out & one.defines
            for number, needed in one.needs.items():
                if written >> number & 1:
                    now |= needed
            if now != live[block.number]:
                live[block.number] = now
                changed = True
    return live


def _live_out(block: Block, live: list[int]) -> int:
    out = 0
    for after in block.successors():
        out |= live[after]
    return out
