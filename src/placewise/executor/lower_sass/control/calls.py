"""Lowers calls and returns: to inlined subroutines, to those lowered once, through pointers.

:mod:`placewise.executor.lower_sass.control.subroutines` decides which subroutines are inlined. A
return to another address than the one after its call ends the run as a trap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from placewise.executor.ir.nodes import Block, Branch, Jump, Node, Place, Switch, Trap
from placewise.executor.lower_sass.control.subroutines import Calls
from placewise.executor.lower_sass.memory.constant_banks import FUNCTION_WINDOW
from placewise.executor.lowering.traps import NO_FUNCTION
from placewise.kernel.binary.sass import Instruction, Register

if TYPE_CHECKING:
    from placewise.executor.lower_sass.control.control import Control

_FAILURES = frozenset({"__assertfail", "__assert_fail"})
_HEAP = frozenset({"malloc", "free"})


@dataclass
class _Once:
    """A subroutine that is lowered once."""

    leave: Block
    back: dict[int, int] = field(default_factory=dict)
    """Numbers of the blocks to return to, by the return address that the caller sets."""
    place: Place = field(default_factory=lambda: Place(0, None))


class Calling:
    """The calls of one kernel."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.b = control.b
        self.c = control.c
        self.subroutines = control.subroutines
        self.once: dict[int, _Once] = {}

    def call(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """CALL, which ends its block."""
        c = self.c
        c.without_effect("NOINC", "REL")
        if c.flag("ABS"):
            self._driver(calls, i, guard)
            return True
        if isinstance(i.operands[0], Register):
            self._through_pointer(calls, i, guard)
            return True
        (target,) = i.operands
        start = self.subroutines.start_of(target)
        if start is None:
            c.unsupported(i, f"'{target}' is not in the kernel's code")
        if start not in self.subroutines.starts:
            # A call into the caller's own code is a jump, from which nothing returns.
            self.control.branch_if(calls, i, guard, target)
            return True
        if guard is not None:
            self.control.fork(calls, i, guard)
        self.b.finish(Jump(self._enter(calls, i, start)))
        return True

    def _enter(self, calls: Calls, i: Instruction, start: int) -> int:
        """Number of the block where a call's subroutine starts."""
        if start not in self.subroutines.shared:
            if i.offset in calls:
                self.c.unsupported(i, "a subroutine that jumps into one that calls it")
            return self.control.go((*calls, i.offset), start)
        back = self.subroutines.return_address(i, self.subroutines.return_registers(start))
        self._once(start).back[back] = self.control.go(calls, back)
        return self.control.go((~start,), start)

    def _once(self, start: int) -> _Once:
        found = self.once.get(start)
        if found is None:
            found = self.once[start] = _Once(self.b.new_block())
        return found

    def return_(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """RET, which ends its block."""
        c = self.c
        c.without_effect("NODEC", "REL")
        if c.modifiers or not calls:
            c.unsupported(i)
        if guard is not None:
            self.control.fork(calls, i, guard)
        register = c.i32(i.operands[0])
        if calls[-1] < 0:
            once = self._once(~calls[-1])
            once.place = c.place
            self.b.set(self.b.reg(f"return{~calls[-1]:x}", "i32"), register)
            self.b.finish(Jump(once.leave.number))
            return True
        returns_by = self.subroutines.return_register(i)
        back = self.subroutines.return_address(self.control.at(calls[-1]), {returns_by})
        right = c.b.icmp("eq", register, c.b.const("i32", back))
        lost = self.b.new_block()
        self.b.finish(Branch(right, self.control.go(calls[:-1], back), lost.number))
        c.start(lost)
        self.b.finish(Trap(c.place))
        return True

    def finish(self) -> None:
        """Connect the returns of subroutines that are lowered once to their callers."""
        for start, once in self.once.items():
            lost = self.b.new_block()
            self.c.start(lost)
            self.b.finish(Trap(once.place))
            self.c.start(once.leave)
            register = self.b.get(self.b.reg(f"return{start:x}", "i32"))
            index = self.b.const("i32", len(once.back))
            for n, offset in enumerate(once.back):
                here = self.b.icmp("eq", register, self.b.const("i32", offset))
                index = self.b.select(here, self.b.const("i32", n), index)
            self.b.finish(Switch(index, (*once.back.values(), lost.number)))

    # --- callees that only the run knows

    def _cases(self, value: Node, cases: dict[int, list[int]]) -> None:
        """Branch to the block, a key of ``cases``, whose list of numbers contains ``value`` (i64).
        Trap if none does."""
        callee = self.b.reg("callee", "i64")
        self.b.set(callee, value)
        for block, numbers in cases.items():
            known = self.b.get(callee)
            here = None
            for number in numbers:
                same = self.b.icmp("eq", known, self.b.const("i64", number))
                here = same if here is None else self.c.binary("or", here, same)
            assert here is not None
            on = self.b.new_block()
            self.b.finish(Branch(here, block, on.number))
            self.c.start(on)
        self.b.finish(Trap(self.c.place, NO_FUNCTION))

    def _through_pointer(self, calls: Calls, i: Instruction, guard: Node | None) -> None:
        """Call by pointer: a function's offset in this code, or its address in the module."""
        if guard is not None:
            self.control.fork(calls, i, guard)
        value = self.c.i64(i.operands[0])
        cases = {
            self._enter(calls, i, start): [start, address]
            for start, address in self.subroutines.pointed
        }
        self._cases(value, cases)

    def _driver(self, calls: Calls, i: Instruction, guard: Node | None) -> None:
        """CALL.ABS: call a function that the driver provides."""
        c = self.c
        (target,) = i.operands
        address = c.i64(target)
        after = self.control.fork(calls, i, guard)
        number = address.attr if address.op == "const" else None
        if isinstance(number, int):
            name = c.banks.function(number)
            if not self._provided(name, after):
                c.unsupported(i, f"'{name}'" if name else "the callee is not known")
            return
        cases: dict[int, list[int]] = {}
        known: list[tuple[Block, str]] = []
        for n, name in enumerate(c.banks.facts.externals):
            block = self.b.new_block()
            cases[block.number] = [FUNCTION_WINDOW + n]
            known.append((block, name))
        self._cases(address, cases)
        for block, name in known:
            c.start(block)
            if not self._provided(name, after):
                c.unsupported(i, f"'{name}'")

    def _provided(self, name: str | None, after: int) -> bool:
        """Lower a driver's function and go on at block ``after``; returns whether it is known."""
        c = self.c
        if name in _FAILURES:
            # Expression, file, line and function.
            line = self.b.resize(c.i32(Register("R", 8)), "i64")
            text, file, function = (c.i64(Register("R", n)) for n in (4, 6, 10))
            self.b.effect("host", "i64", text, file, line, function, attr="assert")
            self.b.finish(Trap(c.place))
        elif name in _HEAP:
            given = c.i64(Register("R", 4))
            c.write_wide(Register("R", 4), self.b.effect("heap", "i64", given, attr=name))
            self.b.finish(Jump(after))
        elif name == "vprintf":
            # By the convention of calls: the format in R4 and R5, the arguments in R6 and R7.
            text, values = (c.i64(Register("R", n)) for n in (4, 6))
            count = self.b.effect("host", "i64", text, values, attr="printf")
            c.write(Register("R", 4), self.b.resize(count, "i32"))
            self.b.finish(Jump(after))
        else:
            return False
        return True
