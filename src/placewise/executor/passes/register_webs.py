"""Splits each register into its webs of definitions and uses (Chaitin 1982).

The compiler uses one machine register for one value after another. Uniformity is known per
register of the warp IR, so each web becomes a register of its own: a stride that is the same in all
lanes stays uniform, whatever its machine register holds later. A value that leaves a loop is copied
at the exit, because lanes that have left the loop hold other values than lanes still inside.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.executor.ir.nodes import Barrier, Block, Node, Program, Reg
from placewise.executor.passes import cfg
from placewise.executor.passes.disjoint_sets import smallest_of_sets

_NONE = np.zeros(0, np.int64)


def split_webs(program: Program) -> Program:
    """``program`` with a register per web, and without writes that nothing reads."""
    webs = _Webs(program)
    for block in program.blocks:
        kept = []
        for n in block.nodes:
            if n.op == "get":
                n.attr = webs.at_entry(block, n.reg)
            elif n.op == "set":
                if not webs.is_live_after(block, n.reg):
                    continue
                n.attr = webs.defined_in(block, n.reg)
            kept.append(n)
        block.nodes = kept
        t = block.terminator
        if isinstance(t, Barrier) and t.reduce is not None:
            operation, predicate, reg = t.reduce
            block.terminator = replace(
                t, reduce=(operation, predicate, webs.defined_in(block, reg))
            )
    number = 1 + max((n.number for block in program.blocks for n in block.nodes), default=0)
    for block in program.blocks:
        for from_loop, behind in webs.leaving(block):
            made = [Node("get", from_loop.type, (), from_loop, number)]
            given = [n.args[0] for n in block.nodes if n.op == "set" and n.attr is from_loop]
            value = given[-1] if given else made[0]
            block.nodes = [
                *(made if not given else ()),
                *block.nodes,
                Node("set", behind.type, (value,), behind, number + 1),
            ]
            number += 2
    return replace(program, regs=webs.regs)


class _Webs:
    """Webs as disjoint sets of elements: a register at a block's entry, or as the block sets it."""

    def __init__(self, program: Program) -> None:
        self.old = program.regs
        self.live = cfg.live_in(program.blocks)
        self.blocks = program.blocks
        self.regs: list[Reg] = []
        self._of_web: dict[int, Reg] = {}
        self._defined = defined = [_defines(block) for block in program.blocks]
        around = cfg.loops({b.number: b.successors() for b in program.blocks})
        changed: dict[int, int] = {}
        for block in program.blocks:
            for loop in around[block.number]:
                changed[loop] = changed.get(loop, 0) | defined[block.number]
        self._leaving: dict[int, set[tuple[int, int]]] = {}
        ends, entries = [_NONE], [_NONE]
        for block in program.blocks:
            own = self._numbers(defined[block.number])
            for after in block.successors():
                left = self.live[after]
                leaving = 0
                for loop in set(around[block.number]) - set(around[after]):
                    leaving |= left & changed[loop]
                leaving &= ~_reduced(block)
                self._leaving.setdefault(block.number, set()).update(
                    (after, number) for number in self._numbers(leaving).tolist()
                )
                number = self._numbers(left & ~leaving)
                is_defined = np.isin(number, own, assume_unique=True)
                ends.append((2 * block.number + is_defined) * len(self.old) + number)
                entries.append(2 * after * len(self.old) + number)
        self._root = smallest_of_sets(np.concatenate(ends), np.concatenate(entries))

    def _numbers(self, bits: int) -> NDArray[np.int64]:
        """Numbers of the registers in a bit set, ascending."""
        held = np.frombuffer(bits.to_bytes(-(-len(self.old) // 8), "little"), np.uint8)
        return np.flatnonzero(np.unpackbits(held, bitorder="little"))

    def leaving(self, block: Block) -> list[tuple[Reg, Reg]]:
        """(register inside, register behind) of values that leave a loop after ``block``."""
        found = []
        for after, number in sorted(self._leaving.get(block.number, ())):
            reg = self.old[number]
            own = bool(self._defined[block.number] >> number & 1)
            inside = self._reg(self._element(block.number, number, defined=own), reg)
            behind = self._reg(self._element(after, number, defined=False), reg)
            if inside is not behind and (inside, behind) not in found:
                found.append((inside, behind))
        return found

    def _element(self, block: int, number: int, *, defined: bool) -> int:
        return (2 * block + defined) * len(self.old) + number

    def is_live_after(self, block: Block, reg: Reg) -> bool:
        """Whether some path from the end of ``block`` reads ``reg``."""
        return any(self.live[s] >> reg.number & 1 for s in block.successors())

    def at_entry(self, block: Block, reg: Reg) -> Reg:
        """Register of the web that ``reg`` belongs to when ``block`` starts."""
        return self._reg(self._element(block.number, reg.number, defined=False), reg)

    def defined_in(self, block: Block, reg: Reg) -> Reg:
        """Register of the web that ``block`` writes when it sets ``reg``."""
        return self._reg(self._element(block.number, reg.number, defined=True), reg)

    def _reg(self, element: int, reg: Reg) -> Reg:
        root = self._root.get(element, element)
        found = self._of_web.get(root)
        if found is None:
            found = Reg(f"{reg.name}.{len(self.regs)}", reg.type, len(self.regs))
            self._of_web[root] = found
            self.regs.append(found)
        return found


def _defines(block: Block) -> int:
    """Bit set of the registers that a block writes."""
    found = 0
    for n in block.nodes:
        if n.op == "set":
            found |= 1 << n.reg.number
    return found | _reduced(block)


def _reduced(block: Block) -> int:
    """Bit set with the register that a block's barrier reduction writes, if it has one."""
    t = block.terminator
    return 1 << t.reduce[2].number if isinstance(t, Barrier) and t.reduce is not None else 0
