"""Lowers function bodies: labels, branches, barriers and calls."""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.executor.ir.builder import Builder
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
from placewise.executor.lower_ptx import table
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lower_ptx.control import sync
from placewise.executor.lower_ptx.control.calls import Calls, has_alloca
from placewise.kernel.ptx import Instruction, Operand, Symbol
from placewise.kernel.ptx.module import Function, Label, Module

_MALFORMED = (ValueError, KeyError, IndexError, StopIteration, AssertionError)
"""What handlers raise for an instruction whose operands are not as the PTX ISA defines them."""


class FunctionLowering:
    """Lowers one body into the builder's current block and those after it."""

    def __init__(
        self,
        context: Context,
        function: Function,
        after: Block | None,
        calls: Calls,
    ) -> None:
        self.c = context
        self.b: Builder = context.b
        self.function = function
        self.after = after
        """Where ``ret`` goes: the block after the call, None in the entry."""
        self.calls = calls
        self.labels: dict[str, Block] = {}

    def run(self) -> None:
        """Lower every instruction; the current block ends with the body."""
        for item in self.function.body:
            if isinstance(item, Label):
                self.labels[item.name] = self.b.new_block()
        ended = False
        for item in self.function.body:
            if isinstance(item, Label):
                block = self.labels[item.name]
                if not ended:
                    self.b.finish(Jump(block.number))
                self.b.start(block)
                ended = False
                continue
            if ended:
                # Nothing branches here: unreachable, dropped later.
                self.b.start(self.b.new_block())
            ended = self._instruction(item)
        if not ended:
            self._return()

    def _return(self) -> None:
        self.b.finish(Jump(self.after.number) if self.after else Exit())

    def _instruction(self, i: Instruction) -> bool:
        """Lower one instruction; returns whether control never goes on to the next one."""
        c = self.c
        self.b.block.instructions += 1
        self.b.block.places.append(i.line)
        c.opcode = i.opcode
        c.place = Place(i.line, i.place)
        if self.b.block.place is None:
            self.b.block.place = c.place
        name = i.parts[0]
        guard: Node | None = None
        if i.guard is not None:
            guard = c.src(i.guard, "i1")
            if i.guard_negated:
                guard = c.negate(guard)
        control = {
            "bra": self._branch,
            "brx": self._switch,
            "ret": self._leave,
            "exit": self._leave,
            "trap": self._trap,
            "brkpt": self._trap,
            "bar": self._barrier,
            "barrier": self._barrier,
            "call": self._call,
        }.get(name)
        if control is not None:
            try:
                return control(i, guard)
            except _MALFORMED as error:
                raise UnsupportedError(
                    f"instruction '{i.opcode}' has a form that is not covered", where=c.where(i)
                ) from error
        if table.does_nothing(i):
            return False
        handler = table.handler(i)
        if handler is None:
            c.unsupported(i)
        table.check_modifiers(c, i)
        c.guard = guard
        try:
            handler(c, i)
        except _MALFORMED as error:
            raise UnsupportedError(
                f"instruction '{i.opcode}' has a form that is not covered", where=c.where(i)
            ) from error
        finally:
            c.guard = None
        return False

    def _fork(self, guard: Node) -> Block:
        """Go to a new block where ``guard`` holds, and on to the returned one elsewhere."""
        taken, on = self.b.new_block(), self.b.new_block()
        self.b.finish(Branch(guard, taken.number, on.number))
        self.b.start(taken)
        return on

    def _target(self, i: Instruction, operand: Operand) -> int:
        if not isinstance(operand, Symbol) or operand.name not in self.labels:
            self.c.unsupported(i, "the target is no label of this function")
        return self.labels[operand.name].number

    def _branch(self, i: Instruction, guard: Node | None) -> bool:
        target = self._target(i, i.operands[0])
        if guard is None:
            self.b.finish(Jump(target))
            return True
        on = self.b.new_block()
        self.b.finish(Branch(guard, target, on.number))
        self.b.start(on)
        return False

    def _switch(self, i: Instruction, guard: Node | None) -> bool:
        """brx.idx index, name: where name lists the targets."""
        on = self._fork(guard) if guard is not None else None
        index = self.c.src(i.operands[0], "i32")
        name = i.operands[1]
        if not isinstance(name, Symbol) or name.name not in self.function.branch_targets:
            self.c.unsupported(i, "its list of targets is not in this function")
        targets = self.function.branch_targets[name.name]
        self.b.finish(Switch(index, tuple(self.labels[t].number for t in targets)))
        if on is not None:
            self.b.start(on)
        return on is None

    def _leave(self, i: Instruction, guard: Node | None) -> bool:
        on = self._fork(guard) if guard is not None else None
        if i.parts[0] == "exit":
            self.b.finish(Exit())
        else:
            self._return()
        if on is not None:
            self.b.start(on)
        return on is None

    def _trap(self, _i: Instruction, guard: Node | None) -> bool:
        on = self._fork(guard) if guard is not None else None
        self.b.finish(Trap(self.c.place))
        if on is not None:
            self.b.start(on)
        return on is None

    def _barrier(self, i: Instruction, guard: Node | None) -> bool:
        """bar.sync, bar.arrive, bar.red and their ``barrier`` spellings; bar.warp.sync."""
        parts = i.parts
        if "warp" in parts:
            self.c.guard = guard
            sync.warp(self.c, i)
            self.c.guard = None
            return False
        if "cluster" in parts:
            # A cluster has one block here, so waiting for the cluster is waiting for that block.
            if "arrive" in parts:
                return False
            parts = ("barrier", "sync")
        rejoin = self._fork(guard) if guard is not None else None
        operands = list(i.operands)
        reduce = None
        if "red" in parts:
            op = next(p for p in parts if p in ("popc", "and", "or"))
            target = operands.pop(0)
            predicate = self.c.src(operands.pop(), "i1")
            register = self.b.reg(f"{self.c.prefix}%barrier", "i32")
            reduce = (op, predicate, register)
        numbers = [self.c.src(o, "i32") for o in operands]
        on = self.b.new_block()
        self.b.finish(
            Barrier(
                on.number,
                numbers[0] if numbers else None,
                numbers[1] if len(numbers) > 1 else None,
                self.c.place,
                arrive_only="arrive" in parts,
                reduce=reduce,
            )
        )
        self.b.start(on)
        if reduce is not None:
            value = self.b.get(reduce[2])
            if reduce[0] != "popc":
                value = self.b.icmp("ne", value, self.b.const("i32", 0))
            self.c.dst(target, value)
        if rejoin is not None:
            self.b.finish(Jump(rejoin.number))
            self.b.start(rejoin)
        return False

    def _call(self, i: Instruction, guard: Node | None) -> bool:
        on = self._fork(guard) if guard is not None else None
        if self.calls.call(self.c, i):
            if on is None:
                return True
        elif on is not None:
            self.b.finish(Jump(on.number))
        if on is not None:
            self.b.start(on)
        return False


def _lower(calls: Calls, context: Context, function: Function, after: Block) -> None:
    """Lower a called function's body; it returns to ``after``."""
    FunctionLowering(context, function, after, calls).run()


def lower_body(context: Context, module: Module, entry: str) -> None:
    """Lower the entry and what it calls."""
    b = context.b
    calls = Calls(context, module, entry, _lower)
    b.start(b.new_block())
    if calls.graph.cycle_of or any(has_alloca(f) for f in module.functions.values()):
        context.stack.move(b.const("i32", context.stack.start))
    FunctionLowering(context, module.functions[entry], None, calls).run()
    calls.finish()
