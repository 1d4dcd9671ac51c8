"""Lowers control flow: blocks, branches, barriers, and the end of threads.

For calls and returns see :mod:`placewise.executor.lower_sass.control.calls`.
"""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.executor.ir.nodes import (
    Barrier,
    Block,
    Branch,
    Exit,
    Jump,
    Node,
    Place,
    Switch,
    Trap,
)
from placewise.executor.lower_sass import table
from placewise.executor.lower_sass.context import Context, is_predicate
from placewise.executor.lower_sass.control.calls import Calling
from placewise.executor.lower_sass.control.subroutines import MAY_END, Calls, Subroutines
from placewise.executor.lower_sass.special import BARRIER_RESULT
from placewise.kernel.binary.cubin import CubinKernel
from placewise.kernel.binary.sass import (
    INSTRUCTION_BYTES,
    Immediate,
    Instruction,
    Listing,
    Operand,
)

_LONGEST = 200_000
"""Most instructions of a kernel with its subroutines inlined; more take minutes to compile."""


class Control:
    """Lowers all code that a kernel reaches from its first instruction."""

    def __init__(
        self,
        context: Context,
        listing: Listing,
        facts: CubinKernel,
        files: dict[str, int],
        subroutines: Subroutines,
    ) -> None:
        self.c = context
        self.b = context.b
        self.facts = facts
        self.files = files
        """Numbers of source files by name."""
        self.code = listing.instructions
        self.subroutines = subroutines
        self.calling = Calling(self)
        self.branches = {x.offset: x.targets for x in facts.indirect_branches}
        self.leaders = self._leaders()
        self.blocks: dict[tuple[Calls, int], Block] = {}
        self.waiting: list[tuple[Calls, int]] = []
        self.lowered = 0

    def run(self) -> None:
        """Lower all code that the kernel reaches."""
        self._block((), 0)
        while self.waiting:
            calls, offset = self.waiting.pop()
            self._lower(calls, offset)
        self.calling.finish()

    def _leaders(self) -> set[int]:
        """Code offsets at which basic blocks start."""
        found = set(self.subroutines.starts)
        for i in self.code:
            if i.parts[0] in MAY_END:
                found.add(i.offset + INSTRUCTION_BYTES)
            if i.parts[0] in ("BRA", "JMP", "CALL"):
                found |= {int(o.value) for o in i.operands if isinstance(o, Immediate)}
        for targets in self.branches.values():
            found |= set(targets)
        for i in self.code:
            if i.parts[0] == "CALL":
                for start in self.subroutines.callees(i):
                    registers = self.subroutines.return_registers(start)
                    found.add(self.subroutines.return_address(i, registers))
        return found

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

    def go(self, calls: Calls, offset: int) -> int:
        """Number of the block at ``offset`` in the copy of a subroutine that ``calls`` names."""
        return self._block(calls, offset).number

    def _lower(self, calls: Calls, offset: int) -> None:
        """Lower one block, up to a control instruction or the start of the next block."""
        self.c.start(self._block(calls, offset))
        at = offset
        while True:
            i = self.at(at)
            if self._instruction(calls, i):
                return
            at += INSTRUCTION_BYTES
            if at in self.leaders:
                self.b.finish(Jump(self.go(calls, at)))
                return

    def at(self, offset: int) -> Instruction:
        """The instruction at ``offset``."""
        if offset >= len(self.code) * INSTRUCTION_BYTES:
            raise UnsupportedError("the machine code runs off its end", where=self.c.filename)
        return self.code[offset // INSTRUCTION_BYTES]

    def _instruction(self, calls: Calls, i: Instruction) -> bool:
        """Lower one instruction; returns whether it ended the block."""
        c = self.c
        self.lowered += 1
        if self.lowered > _LONGEST:
            raise UnsupportedError(
                "its subroutines are too long to be inlined at each call", where=c.where(i)
            )
        self.b.block.instructions += 1
        self.b.block.places.append(i.offset)
        c.instruction = i
        c.opcode = i.opcode
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
        """(condition, other operands) of a branch: guard and predicate operands combined."""
        condition = guard
        rest = list(i.operands)
        while rest and is_predicate(rest[0]):
            extra = self.c.predicate(rest.pop(0))
            condition = extra if condition is None else self.c.binary("and", condition, extra)
        return condition, rest

    def _branch(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BRA, taken where its predicates hold."""
        if "DIV" in self.c.modifiers or "CONV" in self.c.modifiers:
            return self._branch_together(calls, i, guard)
        self.c.without_effect("U", "INC", "DEC")
        any_ = self.c.flag("ANY")
        condition, rest = self._condition(i, guard)
        (operand,) = rest
        if any_ and condition is not None:
            condition = self.b.effect("vote", "i1", condition, attr="any")
        self.branch_if(calls, i, condition, operand)
        return True

    def branch_if(
        self, calls: Calls, i: Instruction, condition: Node | None, operand: Operand
    ) -> None:
        """End the block: to ``operand`` where the condition holds, else behind ``i``."""
        target = self.go(calls, self.c.literal(operand))
        if condition is None:
            self.b.finish(Jump(target))
        else:
            self.b.finish(Branch(condition, target, self.go(calls, i.offset + INSTRUCTION_BYTES)))

    def _branch_together(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BRA.DIV and BRA.CONV: branch if the lanes of a mask are diverged, or converged.

        The compiler uses them to take a slower path for warp-wide functions of diverged lanes.
        The executor needs no such path, so only the guards of the active lanes count.
        """
        converged = self.c.flag("CONV")
        self.c.without_effect("DIV")
        if guard is None and not converged:
            return False
        condition = None
        if guard is not None:
            condition = self.b.effect("vote", "i1", guard, attr="all")
            condition = condition if converged else self.c.negate(condition)
        self.branch_if(calls, i, condition, i.operands[-1])
        return True

    def _indirect(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BRX: branch to the next instruction's offset plus a register plus a literal."""
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
        self.b.finish(Switch(index, tuple(self.go(calls, t) for t in targets)))
        return True

    def fork(self, calls: Calls, i: Instruction, guard: Node | None) -> int:
        """Branch to a new block where ``guard`` holds; returns the block number behind ``i``."""
        after = self.go(calls, i.offset + INSTRUCTION_BYTES)
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
            self.fork(calls, i, condition)
        self.b.finish(Exit())
        return True

    def _trap(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        self.c.without_effect("TRAP", "INT", "PAUSE")
        if guard is not None:
            self.fork(calls, i, guard)
        self.b.finish(Trap(self.c.place))
        return True

    # --- barriers

    def _barrier(self, calls: Calls, i: Instruction, guard: Node | None) -> bool:
        """BAR.SYNC, BAR.ARV and BAR.RED; B2R.RESULT reads the reduction's result."""
        c = self.c
        c.without_effect("DEFER_BLOCKING", "SYNC")
        arrive = c.flag("ARV")
        # Operands are read in the block that the barrier ends, so after the fork.
        after = self.fork(calls, i, guard)
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
    "CALL": lambda control, calls, i, guard: control.calling.call(calls, i, guard),
    "RET": lambda control, calls, i, guard: control.calling.return_(calls, i, guard),
    "BAR": Control._barrier,
}
