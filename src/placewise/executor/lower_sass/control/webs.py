"""One register for each value that lives in a machine register.

The compiler uses a machine register for one purpose after another. Whether lanes share its value is
known per register of the warp IR, so each web of definitions and uses (Chaitin 1982) becomes a
register of its own: a pointer's step that is the same in all lanes stays so, whatever its
register holds later. A value that a loop hands on to code behind it is copied where it leaves the
loop: lanes that have left it have other values than those that go on, which share a counter.
"""

from __future__ import annotations

from dataclasses import replace

from placewise.executor.ir.nodes import Barrier, Block, Node, Program, Reg
from placewise.executor.passes import cfg


def split_webs(program: Program) -> Program:
    """``program`` with a register per web; blocks must be numbered by their place in the list."""
    webs = _Webs(program)
    for block in program.blocks:
        kept = []
        for n in block.nodes:
            if n.op == "get":
                assert isinstance(n.attr, Reg)
                n.attr = webs.at_entry(block, n.attr)
            elif n.op == "set":
                assert isinstance(n.attr, Reg)
                if not webs.is_live_after(block, n.attr):
                    continue
                n.attr = webs.defined_in(block, n.attr)
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
        for from_loop, behind in webs.handed_on(block):
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
    """Webs as sets of places: a register at the entry of a block, or as a block defines it."""

    def __init__(self, program: Program) -> None:
        self.old = program.regs
        self.live = cfg.live_in(program.blocks)
        self.blocks = program.blocks
        self.parent: dict[int, int] = {}
        self.regs: list[Reg] = []
        self._of_web: dict[int, Reg] = {}
        self._defined = defined = [_defines(block) for block in program.blocks]
        around = cfg.loops({b.number: b.successors() for b in program.blocks})
        changed: dict[int, int] = {}
        for block in program.blocks:
            for loop in around[block.number]:
                changed[loop] = changed.get(loop, 0) | defined[block.number]
        self._handed_on: dict[int, set[tuple[int, int]]] = {}
        for block in program.blocks:
            for after in block.successors():
                left = self.live[after]
                handed_on = 0
                for loop in set(around[block.number]) - set(around[after]):
                    handed_on |= left & changed[loop]
                handed_on &= ~_reduced(block)
                left &= ~handed_on
                while handed_on:
                    low = handed_on & -handed_on
                    handed_on ^= low
                    self._handed_on.setdefault(block.number, set()).add(
                        (after, low.bit_length() - 1)
                    )
                while left:
                    low = left & -left
                    left ^= low
                    number = low.bit_length() - 1
                    own = bool(defined[block.number] & low)
                    self._join(
                        self._place(block.number, number, defined=own),
                        self._place(after, number, defined=False),
                    )

    def handed_on(self, block: Block) -> list[tuple[Reg, Reg]]:
        """Registers whose values leave a loop at the end of ``block``: in it, and behind it."""
        found = []
        for after, number in sorted(self._handed_on.get(block.number, ())):
            reg = self.old[number]
            own = bool(self._defined[block.number] >> number & 1)
            inside = self._reg(self._place(block.number, number, defined=own), reg)
            behind = self._reg(self._place(after, number, defined=False), reg)
            if inside is not behind and (inside, behind) not in found:
                found.append((inside, behind))
        return found

    def _place(self, block: int, number: int, *, defined: bool) -> int:
        return (2 * block + defined) * len(self.old) + number

    def _find(self, place: int) -> int:
        root = place
        while (up := self.parent.get(root, root)) != root:
            root = up
        while (up := self.parent.get(place, place)) != root:
            self.parent[place] = root
            place = up
        return root

    def _join(self, a: int, b: int) -> None:
        x, y = self._find(a), self._find(b)
        if x != y:
            self.parent[max(x, y)] = min(x, y)

    def is_live_after(self, block: Block, reg: Reg) -> bool:
        """Whether some path from the end of ``block`` reads ``reg``."""
        return any(self.live[s] >> reg.number & 1 for s in block.successors())

    def at_entry(self, block: Block, reg: Reg) -> Reg:
        """The web of the value that ``reg`` has when ``block`` starts."""
        return self._reg(self._place(block.number, reg.number, defined=False), reg)

    def defined_in(self, block: Block, reg: Reg) -> Reg:
        """The web of the value that ``block`` gives to ``reg``."""
        return self._reg(self._place(block.number, reg.number, defined=True), reg)

    def _reg(self, place: int, reg: Reg) -> Reg:
        root = self._find(place)
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
            assert isinstance(n.attr, Reg)
            found |= 1 << n.attr.number
    return found | _reduced(block)


def _reduced(block: Block) -> int:
    """The same of the register that the barrier at its end writes."""
    t = block.terminator
    return 1 << t.reduce[2].number if isinstance(t, Barrier) and t.reduce is not None else 0
