"""Lowers calls: inlined, to functions lowered once, through pointers, and to the device runtime.

A function that is lowered once (see :mod:`placewise.executor.lower_ptx.control.callgraph`) gets its
arguments and the number of its caller in registers (``name!…``), and returns by a switch on that
number. Its other registers (``name:…``) belong to one activation; a recursive call saves them on
the thread's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from placewise.executor.device_memory.address_space import function_address
from placewise.executor.ir.builder import Builder, int_type
from placewise.executor.ir.nodes import Block, Branch, Jump, Node, Reg, Switch, Trap
from placewise.executor.lower_ptx.context import Context, Frame
from placewise.executor.lower_ptx.control.callgraph import CallGraph, call_graph
from placewise.executor.lowering.module_variables import place_variables
from placewise.executor.lowering.traps import NO_FUNCTION
from placewise.kernel.ptx import Arguments, Instruction, Operand, Register, Symbol
from placewise.kernel.ptx.module import Function, Module, Prototype, Variable

_FAILURES = frozenset({"__assertfail", "__assert_fail"})
_HEAP = frozenset({"malloc", "free"})

Lower = Callable[["Calls", Context, Function, Block], None]


def has_alloca(function: Function) -> bool:
    """Whether a function takes stack memory by ``alloca``."""
    return any(isinstance(i, Instruction) and i.parts[0] == "alloca" for i in function.body)


@dataclass
class _Shared:
    """A function that is lowered once, with the blocks where it starts and returns."""

    function: Function
    context: Context
    entry: Block
    leave: Block
    sites: list[int] = field(default_factory=list)
    """Numbers of the blocks to return to, by the caller's number."""

    def transfer(self, b: Builder, what: str, type_: str) -> Reg:
        """A register that carries something from or to a caller."""
        return b.reg(f"{self.function.name}!{what}", type_)


class Calls:
    """The calls of one program."""

    def __init__(self, root: Context, module: Module, entry: str, lower: Lower) -> None:
        self.b = root.b
        self.root = root
        self.module = module
        self.graph: CallGraph = call_graph(module, entry)
        self.lower = lower
        self.shared: dict[str, _Shared] = {}
        self.waiting: list[_Shared] = []

    def call(self, c: Context, i: Instruction) -> bool:
        """Lower one call; returns whether it never returns."""
        operands = list(i.operands)
        results: tuple[Operand, ...] = ()
        if isinstance(operands[0], Arguments):
            results = operands.pop(0).elements  # type: ignore[union-attr]
        callee = operands.pop(0)
        listed = operands.pop(0) if operands and isinstance(operands[0], Arguments) else None
        arguments = listed.elements if isinstance(listed, Arguments) else ()
        if any(not isinstance(o, Symbol) for o in results):
            c.unsupported(i, "results in registers are not covered")
        if isinstance(callee, Register):
            self._through_pointer(c, i, callee, operands, arguments, results)
            return False
        if not isinstance(callee, Symbol):
            c.unsupported(i)
        function = self.module.functions.get(callee.name)
        if function is not None:
            self._direct(c, i, function, arguments, results)
            return False
        return self._external(c, i, callee.name, arguments, results)

    def finish(self) -> None:
        """Lower the functions that calls jump to, and connect their returns."""
        while self.waiting:
            self._body(self.waiting.pop())
        for shared in self.shared.values():
            self._leave(shared)
        self.root.stack.fill()

    # --- what the device runtime provides

    def _external(
        self,
        c: Context,
        i: Instruction,
        name: str,
        arguments: tuple[Operand, ...],
        results: tuple[Operand, ...],
    ) -> bool:
        b = self.b
        if name in _FAILURES:
            bits = (64, 64, 32, 64)
            texts = [
                b.resize(self._argument(c, a, 0, n), "i64")
                for a, n in zip(arguments, bits, strict=False)
            ]
            b.effect("host", "i64", *texts, attr="assert")
            b.finish(Trap(c.place))
            return True
        if name == "vprintf":
            given = [self._argument(c, a, 0, 64) for a in arguments]
            count = b.resize(b.effect("host", "i64", *given, attr="printf"), "i32")
            for result in results:
                assert isinstance(result, Symbol)
                c.store_argument(result.name, 0, count)
            return False
        if name not in _HEAP or len(arguments) != 1:
            c.unsupported(i, f"'{name}' has no body in the module")
        value = b.effect("heap", "i64", self._argument(c, arguments[0], 0, 64), attr=name)
        for result in results:
            assert isinstance(result, Symbol)
            c.store_argument(result.name, 0, value)
        return False

    # --- functions of the module

    def _direct(
        self,
        c: Context,
        i: Instruction,
        function: Function,
        arguments: tuple[Operand, ...],
        results: tuple[Operand, ...],
    ) -> None:
        if len(arguments) != len(function.parameters) or len(results) != len(function.results):
            c.unsupported(i, "its arguments are not those of the function")
        if function.name in self.graph.shared:
            self._jump(c, function, arguments, results)
        else:
            self._inline(c, function, arguments, results)

    def _through_pointer(
        self,
        c: Context,
        i: Instruction,
        callee: Register,
        operands: list[Operand],
        arguments: tuple[Operand, ...],
        results: tuple[Operand, ...],
    ) -> None:
        """Compare the pointer with every function that it may point to."""
        named = operands[0] if operands else None
        prototype = c.function.prototypes.get(named.name) if isinstance(named, Symbol) else None
        if not isinstance(prototype, Prototype):
            c.unsupported(i, "its prototype is not in this function")
        pointer = c.src(callee, "i64")
        saved = self.b.reg(f"{c.prefix}%callee", "i64")
        self.b.set(saved, pointer)
        join = self.b.new_block()
        checksum = self.module.checksum
        for function in self.graph.candidates(prototype):
            here, on = self.b.new_block(), self.b.new_block()
            address = self.b.const("i64", function_address(function.line, checksum))
            match = self.b.icmp("eq", self.b.get(saved), address)
            self.b.finish(Branch(match, here.number, on.number))
            self.b.start(here)
            self._direct(c, i, function, arguments, results)
            self.b.finish(Jump(join.number))
            self.b.start(on)
        self.b.finish(Trap(c.place, NO_FUNCTION))
        self.b.start(join)

    def _inline(
        self,
        c: Context,
        function: Function,
        arguments: tuple[Operand, ...],
        results: tuple[Operand, ...],
    ) -> None:
        b = self.b
        aliases: dict[str, str] = {}
        formal = [*function.parameters, *function.results]
        for variable, operand in zip(formal, [*arguments, *results], strict=True):
            if isinstance(operand, Symbol):
                unique = c.aliases.get(operand.name) or c.prefix + operand.name
                b.arguments.setdefault(unique, {})
            else:
                unique = f"{c.prefix}arg{len(b.arguments)}"
                b.arguments[unique] = {0: 8 * variable.size}
                type_ = int_type(8 * variable.size)
                b.set(b.reg(f"{unique}+0", type_), c.src(operand, type_))
            aliases[variable.name] = unique
        frame = None
        if has_alloca(function):
            frame = Frame(b.reg(f"{b.next_call()}:%frame", "i32"), {})
            c.stack.enter(frame.register, 0)
        inner = c.inside(function, f"{b.next_call()}:", aliases, frame)
        after = b.new_block()
        self.lower(self, inner, function, after)
        b.start(after)
        if frame is not None:
            c.stack.move(b.get(frame.register))

    def _jump(
        self,
        c: Context,
        function: Function,
        arguments: tuple[Operand, ...],
        results: tuple[Operand, ...],
    ) -> None:
        b = self.b
        shared = self._instance(function)
        cycles = self.graph.cycle_of
        if function.name in cycles and cycles.get(c.function.name) == cycles[function.name]:
            kept = c.stack.around(c.prefix, c.place)
            b.finish(Jump(kept.save.number))
            b.start(kept.arguments)
            after, on = kept.restore, kept.on
        else:
            after = on = b.new_block()
        for variable, operand in zip(function.parameters, arguments, strict=True):
            for offset, bits in pieces(variable):
                value = self._argument(c, operand, offset, bits)
                where = shared.transfer(b, f"{variable.name}+{offset}", value.type)
                b.set(where, value)
        number = b.const("i32", len(shared.sites))
        b.set(shared.transfer(b, "caller", "i32"), number)
        shared.sites.append(after.number)
        b.finish(Jump(shared.entry.number))
        b.start(on)
        for variable, operand in zip(function.results, results, strict=True):
            assert isinstance(operand, Symbol)
            for offset, bits in pieces(variable):
                found = shared.transfer(b, f"{variable.name}+{offset}", int_type(bits))
                c.store_argument(operand.name, offset, b.get(found))

    def _argument(self, c: Context, operand: Operand, offset: int, bits: int) -> Node:
        if isinstance(operand, Symbol):
            return c.load_argument(operand.name, offset, bits)
        return c.src(operand, int_type(bits))

    # --- functions lowered once

    def _instance(self, function: Function) -> _Shared:
        found = self.shared.get(function.name)
        if found is None:
            b = self.b
            prefix = f"{function.name}:"
            aliases = {v.name: prefix + v.name for v in (*function.parameters, *function.results)}
            frame = None
            own = [v for v in function.locals if v.space == "local"]
            recursive = function.name in self.graph.cycle_of
            if has_alloca(function) or (recursive and own):
                offsets = place_variables(own)[0] if recursive else {}
                frame = Frame(b.reg(prefix + "%frame", "i32"), offsets)
            context = self.root.inside(function, prefix, aliases, frame)
            found = _Shared(function, context, b.new_block(), b.new_block())
            self.shared[function.name] = found
            self.waiting.append(found)
        return found

    def _body(self, shared: _Shared) -> None:
        b, c = self.b, shared.context
        b.start(shared.entry)
        for variable in shared.function.parameters:
            for offset, bits in pieces(variable):
                value = b.get(shared.transfer(b, f"{variable.name}+{offset}", int_type(bits)))
                c.store_argument(variable.name, offset, value)
        caller = b.get(shared.transfer(b, "caller", "i32"))
        b.set(b.reg(c.prefix + "%caller", "i32"), caller)
        if c.frame is not None:
            own = [v for v in shared.function.locals if v.name in c.frame.offsets]
            c.stack.enter(c.frame.register, place_variables(own)[1])
        self.lower(self, c, shared.function, shared.leave)

    def _leave(self, shared: _Shared) -> None:
        b, c = self.b, shared.context
        b.start(shared.leave)
        for variable in shared.function.results:
            for offset, bits in pieces(variable):
                value = c.load_argument(variable.name, offset, bits)
                b.set(shared.transfer(b, f"{variable.name}+{offset}", value.type), value)
        if c.frame is not None:
            c.stack.move(b.get(c.frame.register))
        caller = b.get(b.reg(c.prefix + "%caller", "i32"))
        if len(shared.sites) == 1:
            b.finish(Jump(shared.sites[0]))
        else:
            b.finish(Switch(caller, tuple(shared.sites)))


def pieces(variable: Variable) -> Iterator[tuple[int, int]]:
    """(byte offset, bits) of the registers that carry a parameter or result."""
    offset = 0
    while offset < variable.size:
        size = next(s for s in (8, 4, 2, 1) if s <= variable.size - offset)
        yield offset, 8 * size
        offset += size
