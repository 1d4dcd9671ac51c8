"""Control flow: branches, subroutines put in place, barriers, and the end of threads.

See :mod:`placewise.execute.lower_sass.subroutines` for what becomes of calls. A return to anywhere
else than where its call returns to ends the run as a trap.
"""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.execute.ir import Barrier, Block, Branch, Exit, Jump, Node, Place, Switch, Trap
from placewise.execute.lower_sass import table
from placewise.execute.lower_sass.context import Context, is_predicate
from placewise.execute.lower_sass.special import BARRIER_RESULT
from placewise.execute.lower_sass.subroutines import MAY_END, Calls, Subroutines
from placewise.kernel.cubin import CubinKernel
from placewise.kernel.sass import (
    INSTRUCTION_BYTES,
    Immediate,
    Instruction,
    Listing,
    Operand,
    Register,
)

_LONGEST = 200_000
"""Instructions of all copies together; more would take minutes to compile."""
_FAILURES = frozenset({"__assertfail", "__assert_fail"})
_HEAP = frozenset({"malloc", "free"})


class Control:
    """Lowers a kernel's section from its start, and whatever it reaches."""

    def __init__(
        self, context: Context, listing: Listing, facts: CubinKernel, files: dict[str, int]
    ) -> None:
        self.c = context
        self.b = context.b
        self.facts = facts
        self.files = files
        """Numbers of source files by name."""
        self.code = listing.instructions
        self.subroutines = Subroutines(facts, self.code)
        self.branches = {x.offset: x.targets for x in facts.indirect_branches}
        self.leaders = self._leaders()
        self.blocks: dict[tuple[Calls, int], Block] = {}
        self.waiting: list[tuple[Calls, int]] = []
        self.lowered = 0

    def run(self) -> None:
        """Lower all that the kernel reaches."""
        self._block((), 0)
        while self.waiting:
            calls, offset = self.waiting.pop()
            self._lower(calls, offset)

    def _leaders(self) -> set[int]:
        """Where blocks start."""
        found = set(self.subroutines.starts)
        for i in self.code:
            if i.parts[0] in MAY_END:
                found.add(i.offset + INSTRUCTION_BYTES)
            if i.parts[0] in ("BRA", "JMP", "CALL"):
                found |= {int(o.value) for o in i.operands if isinstance(o, Immediate)}
        for targets in self.branches.values():
            found |= set(targets)
        called = (i for i in self.code if i.parts[0] == "CALL")
        return found | {self.subroutines.return_address(i) for i in called}

    def _block(self, calls: Calls, offset: int) -> Block:
        key = (calls, offset)
        found = self.blocks.get(key)
        if found is None:
            if not 0 <= offset < len(self.code) * INSTRUCTION_BYTES or offset % INSTRUCTION_BYTES:
                raise UnsupportedError(
                    f"the machine code goes to {offset:#x}, where it has no instruction",
                    where=self.c.filename,
                )
            found = self.blocks[key] = self.b.new_block()
            self.waiting.append(key)
        return found

    def _go(self, calls: Calls, offset: int) -> int:
        return self._block(calls, offset).number

    def _lower(self, calls: Calls, offset: int) -> None:
        """One block, up to where control goes elsewhere or another one starts."""
        self.c.start(self._block(calls, offset))
        at = offset
        while True:
            i = self._at(at)
            if self._instruction(calls, i):
                return
            at += INSTRUCTION_BYTES
            if at in self.leaders:
                self.b.finish(Jump(self._go(calls, at)))
                return

    def _at(self, offset: int) -> Instruction:
        if offset >= len(self.code) * INSTRUCTION_BYTES:
            raise UnsupportedError("the machine code runs off its end", where=self.c.filename)
        return self.code[offset // INSTRUCTION_BYTES]

    def _instruction(self, calls: Calls, i: Instruction) -> bool:
        """Lower one instruction; whether it ended the block."""
        c = self.c
        self.lowered += 1
        if self.lowered > _LONGEST:
            raise UnsupportedError(
                "its subroutines, put in place at each call, are too long", where=c.where(i)
            )
        self.b.block.instructions += 1
        self.b.block.places.append(i.offset)
        c.instruction = i
        c.modifiers = list(i.parts[1:])
        source = (self.files[i.place[0]], i.place[1]) if i.place in self._known(i) else None
        c.place = Place(i.offset, source)
        if self.b.block.place is None:
            self.b.block.place = c.place
        try:
            guard = c.predicate(i.guard) if i.guard is not None else None
            if guard is not None:
                self.b.count_guard(guard, i.offset)
            if guard is not None and guard.op == "const":
                if not guard.attr:
                    return False
                guard = None
            control = _CONTROL.get(i.parts[0])
            ended = False
            if control is not None:
                ended = control(self, calls, i, guard)
            else:
                handler = table.handler(i)
                if handler is None:
                    c.unsupported(i)
                c.guard = guard
                handler(c, i)
        except (ValueError, KeyError, IndexError, AssertionError, AttributeError) as error:
            raise UnsupportedError(
                f"machine instruction '{i.opcode}' has a form that is not covered",
                where=c.where(i),
            ) from error
        finally:
            c.guard = None
        if c.modifiers:
            c.unsupported(i, f"modifier .{c.modifiers[0]}")
        return ended

    def _known(self, i: Instruction) -> tuple[tuple[str, int], ...]:
        return (i.place,) if i.place is not None and i.place[0] in self.files else ()

    # --- branches

    def _condition(self, i: Instruction, guard: Node | None) -> tuple[Node | None, list[Operand]]:
        """A branch's guard and predicate operands combined, and its other operands."""
        condition = guard
        rest = list(i.operands)
        while rest and is_predicate(rest[0]):
            extra = self.c.predicate(rest.pop(0))
            condition = extra if condition is None else self.c.both("and", condition, extra)
        return condition, rest

    def _branch(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BRA, taken where its predicates hold."""
        if "DIV" in self.c.modifiers or "CONV" in self.c.modifiers:
            return self._branch_together(calls, i, guard)
        self.c.without_effect("U", "INC", "DEC")
        condition, rest = self._condition(i, guard)
        (operand,) = rest
        self._branch_if(calls, i, condition, operand)
        return True

    def _branch_if(
        self, calls: Calls, i: Instruction, condition: Node | None, operand: Operand
    ) -> None:
        target = self._go(calls, self.c.literal(operand))
        if condition is None:
            self.b.finish(Jump(target))
        else:
            self.b.finish(Branch(condition, target, self._go(calls, i.offset + INSTRUCTION_BYTES)))

    def _branch_together(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BRA.DIV and BRA.CONV ask whether just the lanes of a mask are here with the guard.

        If not, the code goes a longer way around for functions across lanes. Lanes that are
        elsewhere need none here, so only the guard of those present counts.
        """
        converged = self.c.flag("CONV")
        self.c.without_effect("DIV")
        if guard is None and not converged:
            return False
        condition = None
        if guard is not None:
            condition = self.b.effect("vote", "i1", guard, attr="all")
            condition = condition if converged else self.c.negate(condition)
        self._branch_if(calls, i, condition, i.operands[-1])
        return True

    def _indirect(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BRX: to the register's value plus a literal, counted from the next instruction."""
        targets = self.branches.get(i.offset)
        if targets is None or guard is not None:
            self.c.unsupported(i, "its targets are not known")
        register, literal = i.operands
        base = i.offset + INSTRUCTION_BYTES + self.c.literal(literal)
        value = self.c.i32(register)
        index = self.c.zero()
        for n, target in enumerate(targets):
            here = self.c.b.icmp("eq", value, self.c.b.const("i32", target - base))
            index = self.b.select(here, self.c.b.const("i32", n), index)
        self.b.finish(Switch(index, tuple(self._go(calls, t) for t in targets)))
        return True

    def _fork(self, calls: Calls, i: Instruction, guard: Node | None) -> int:
        """Go to a new block where ``guard`` holds; returns the number of the block after ``i``."""
        after = self._go(calls, i.offset + INSTRUCTION_BYTES)
        if guard is not None:
            taken = self.b.new_block()
            self.b.finish(Branch(guard, taken.number, after))
            self.c.start(taken)
        return after

    def _exit(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        condition, rest = self._condition(i, guard)
        if rest:
            self.c.unsupported(i)
        if condition is not None:
            self._fork(calls, i, condition)
        self.b.finish(Exit())
        return True

    def _trap(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        self.c.without_effect("TRAP", "INT", "PAUSE")
        if guard is not None:
            self._fork(calls, i, guard)
        self.b.finish(Trap(self.c.place))
        return True

    # --- subroutines

    def _call(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        c = self.c
        c.without_effect("NOINC", "REL")
        if c.flag("ABS"):
            return self._call_driver(calls, i, guard)
        (target,) = i.operands
        start = self.subroutines.start_of(target)
        if start is None:
            c.unsupported(i, f"'{target}' is not in the kernel's code")
        if start not in self.subroutines.starts:
            # Into the middle of the code that calls: a jump, from which nothing returns.
            self._branch_if(calls, i, guard, target)
            return True
        if i.offset in calls:
            c.unsupported(i, "a subroutine that calls itself")
        if guard is not None:
            self._fork(calls, i, guard)
        self.b.finish(Jump(self._go((*calls, i.offset), start)))
        return True

    def _return(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        c = self.c
        c.without_effect("NODEC", "REL")
        if c.modifiers or not calls:
            c.unsupported(i)
        register = i.operands[0]
        if guard is not None:
            self._fork(calls, i, guard)
        back = self.subroutines.return_address(self._at(calls[-1]))
        right = c.b.icmp("eq", c.i32(register), c.b.const("i32", back))
        lost = self.b.new_block()
        self.b.finish(Branch(right, self._go(calls[:-1], back), lost.number))
        c.start(lost)
        self.b.finish(Trap(c.place))
        return True

    def _call_driver(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """CALL.ABS: to a function that only the driver has."""
        c = self.c
        (target,) = i.operands
        address = c.i64(target)
        number = address.attr if address.op == "const" else None
        name = c.banks.function(number) if isinstance(number, int) else None
        after = self._fork(calls, i, guard)
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
            c.unsupported(i, f"'{name}'" if name else "the callee is not known")
        return True

    # --- barriers

    def _barrier(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BAR.SYNC, BAR.ARV and BAR.RED, whose result B2R.RESULT fetches."""
        c = self.c
        c.without_effect("DEFER_BLOCKING", "SYNC")
        arrive = c.flag("ARV")
        # Operands belong to the block that the barrier ends.
        after = self._fork(calls, i, guard)
        reduce = None
        operands = list(i.operands)
        if c.flag("RED"):
            operation = c.one_of("POPC", "AND", "OR")
            if operation is None:
                c.unsupported(i)
            predicate = c.predicate(operands.pop())
            reduce = (operation.lower(), predicate, self.b.reg(BARRIER_RESULT, "i32"))
        numbers = [c.i32(o) for o in operands]
        if len(numbers) > 2:
            c.unsupported(i)
        self.b.finish(
            Barrier(
                after,
                numbers[0] if numbers else None,
                numbers[1] if len(numbers) > 1 else None,
                c.place,
                arrive_only=arrive,
                reduce=reduce,
            )
        )
        return True


_CONTROL = {
    "BRA": Control._branch,
    "JMP": Control._branch,
    "BRX": Control._indirect,
    "EXIT": Control._exit,
    "BPT": Control._trap,
    "CALL": Control._call,
    "RET": Control._return,
    "BAR": Control._barrier,
}
