"""State that the lowering of all machine instructions shares: reads operands, writes results.

No part of an instruction is ignored. A handler removes the modifiers that it knows from
:attr:`Context.modifiers`; one that is left over raises UnsupportedError, as does an operand's sign
or suffix that the handler did not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from placewise.errors import UnsupportedError
from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Block, Node
from placewise.executor.lower_sass.arithmetic.register_pairs import Pairs
from placewise.executor.lower_sass.memory.constant_banks import Banks
from placewise.executor.lowering.lowering_context import LoweringContext
from placewise.kernel.binary.sass import (
    Constant,
    Immediate,
    Instruction,
    Operand,
    Register,
    is_inverted,
    is_negated,
)

_PREDICATES = ("P", "UP")
_DATA = ("R", "UR")
_SUFFIXED = (Register, Constant)


def is_predicate(operand: Operand) -> bool:
    """Whether an operand is a predicate register."""
    return isinstance(operand, Register) and operand.file in _PREDICATES


def is_sink(operand: Operand) -> bool:
    """Whether a destination is RZ or PT, which keep nothing."""
    return isinstance(operand, Register) and operand.number is None


def _are_opposite(one: Node, other: Node) -> bool:
    """Whether one predicate is the complement of the other."""
    return any(
        a.op == "xor" and a.args[0] is b and a.args[1].op == "const"
        for a, b in ((one, other), (other, one))
    )


class Context(LoweringContext):
    """Lowering of one kernel's machine code."""

    def __init__(self, builder: Builder, banks: Banks, filename: str, target: int) -> None:
        super().__init__(builder)
        self.banks = banks
        self.filename = filename
        self.target = target
        """Compute capability times ten."""
        self.names: dict[str, str] = {}
        """Source files as the PTX names them, by their names in the listing."""
        self.pairs = Pairs(builder)
        self.shapes: Mapping[tuple[int, int] | None, frozenset[str]] = {}
        """Texture shapes that the PTX samples, by source line."""
        self.shared_base = 0
        """Bytes of shared memory that the system reserves below the kernel's own."""
        self.members: tuple[Node, ...] = ()
        """After WARPSYNC.EXCLUSIVE the mask of lanes that each lane goes on with."""
        self.modifiers: list[str] = []
        """Modifiers of the instruction that no handler has taken yet."""
        self.instruction: Instruction | None = None

    # --- messages

    def where(self, i: Instruction) -> str:
        """Source line and code offset of an instruction, for messages."""
        if i.place:
            name = self.names.get(i.place[0], i.place[0])
            return f"{name}:{i.place[1]} (machine code at {i.offset:#06x})"
        return f"{self.filename} (machine code at {i.offset:#06x})"

    def unsupported(self, i: Instruction, why: str = "") -> NoReturn:
        """Raise UnsupportedError, naming the instruction and its line."""
        detail = f" ({why})" if why else ""
        raise UnsupportedError(
            f"machine instruction '{i.opcode}' is not covered{detail}", where=self.where(i)
        )

    def refuse(self, why: str) -> NoReturn:
        """Raise UnsupportedError for the instruction that is being lowered."""
        assert self.instruction is not None
        self.unsupported(self.instruction, why)

    # --- modifiers

    def flag(self, name: str) -> bool:
        """Take a modifier; returns whether the instruction has it."""
        if name in self.modifiers:
            self.modifiers.remove(name)
            return True
        return False

    def one_of(self, *names: str) -> str | None:
        """Take the first of these modifiers that the instruction has."""
        for name in names:
            if self.flag(name):
                return name
        return None

    def without_effect(self, *names: str) -> None:
        """Take modifiers that change no result."""
        for name in names:
            while self.flag(name):
                pass

    # --- sources

    def register(self, file: str, number: int | None) -> Node:
        """A 32-bit register; RZ is zero."""
        if number is None:
            return self.b.const("i32", 0)
        return self._where_guard(self.b.get(self.b.reg(f"{file}{number}", "i32")), holds=True)

    @contextmanager
    def every_lane(self) -> Iterator[None]:
        """Read operands as all active lanes hold them: for instructions that look at other lanes,
        which the guard may leave out."""
        guard, self.guard = self.guard, None
        try:
            yield
        finally:
            self.guard = guard

    def _where_guard(self, value: Node, *, holds: bool) -> Node:
        """A register's value in the lanes where the guard ``holds``, the only ones that keep a
        result, or in the others: what the last writes under this guard and the opposite one left
        there."""
        guard = self.guard
        while guard is not None and value.op == "select":
            condition, new, old = value.args
            if condition is guard:
                value = new if holds else old
            elif _are_opposite(condition, guard):
                value = old if holds else new
            else:
                break
        return value

    def _plain(self, operand: Operand) -> Node:
        """32 bits of an operand, before its signs and suffixes are applied."""
        if isinstance(operand, Register) and operand.file in _DATA:
            return self.register(operand.file, operand.number)
        if isinstance(operand, Constant):
            return self.banks.read(self, operand, 32)
        if isinstance(operand, Immediate) and isinstance(operand.value, int):
            return self.b.const("i32", operand.value)
        return self.refuse(f"operand {operand}")

    def _plain_wide(self, operand: Operand) -> Node:
        if isinstance(operand, Register) and operand.file in _DATA:
            if operand.number is None:
                return self.b.const("i64", 0)
            lo = self.register(operand.file, operand.number)
            return self.pairs.wide(lo, self.register(operand.file, operand.number + 1))
        if isinstance(operand, Constant):
            return self.banks.read(self, operand, 64)
        if isinstance(operand, Immediate) and isinstance(operand.value, int):
            return self.b.const("i64", operand.value)
        return self.refuse(f"operand {operand}")

    def word(self, operand: Operand) -> Node:
        """32 bits of an operand; the caller applies its signs and suffixes."""
        return self._plain(operand)

    def _signs(self, operand: Operand, *, absolute: bool = False) -> None:
        """Raise UnsupportedError for suffixes, and for a magnitude if not ``absolute``."""
        if isinstance(operand, _SUFFIXED) and operand.suffixes:
            self.refuse(f"operand suffix '{operand.suffixes[0]}'")
        if not absolute and getattr(operand, "absolute", False):
            self.refuse("the magnitude of an integer operand")

    def i32(self, operand: Operand) -> Node:
        """An operand as i32, negated or complemented if it says so."""
        self._signs(operand)
        return self._integer(operand, self._plain(operand))

    def i64(self, operand: Operand) -> Node:
        """An operand as i64: a pair of registers, or 64 bits of a constant bank."""
        self._signs(operand)
        return self._integer(operand, self._plain_wide(operand))

    def _integer(self, operand: Operand, value: Node) -> Node:
        if is_inverted(operand):
            value = self.negate(value)
        if is_negated(operand):
            value = self.binary("sub", self.b.const(value.type, 0), value)
        return value

    def f32(self, operand: Operand) -> Node:
        """An operand as f32; a literal's bits come from the encoding."""
        self._signs(operand, absolute=True)
        if isinstance(operand, Immediate):
            assert self.instruction is not None
            return self.b.const("f32", self.instruction.word)
        return self._floating(operand, self.b.bitcast(self._plain(operand), "f32"))

    def f64(self, operand: Operand) -> Node:
        """An operand as f64; a literal gives the upper word."""
        self._signs(operand, absolute=True)
        if isinstance(operand, Immediate):
            assert self.instruction is not None
            return self.b.const("f64", self.instruction.word << 32)
        return self._floating(operand, self.b.bitcast(self._plain_wide(operand), "f64"))

    def _floating(self, operand: Operand, value: Node) -> Node:
        if is_inverted(operand):
            self.refuse("the complement of a floating-point operand")
        if getattr(operand, "absolute", False):
            value = self.b.pure("fabs", value.type, value)
        if is_negated(operand):
            value = self.b.pure("fneg", value.type, value)
        return value

    def predicate(self, operand: Operand) -> Node:
        """A predicate as i1; PT is true."""
        if not isinstance(operand, Register) or operand.file not in _PREDICATES:
            self.refuse(f"operand {operand}")
        if operand.number is None:
            return self.b.const("i1", 0 if operand.inverted else 1)
        value = self.b.get(self.b.reg(f"{operand.file}{operand.number}", "i1"))
        value = self._where_guard(value, holds=True)
        return self.negate(value) if operand.inverted else value

    def literal(self, operand: Operand) -> int:
        """The value of an integer literal."""
        if not isinstance(operand, Immediate) or not isinstance(operand.value, int):
            self.refuse("expected a literal")
        return operand.value

    # --- results

    def _set(self, name: str, type_: str, value: Node) -> None:
        reg = self.b.reg(name, type_)
        if self.guard is not None:
            old = self._where_guard(self.b.get(reg), holds=False)
            value = self.b.select(self.guard, value, old)
        self.b.set(reg, value)

    def _target(self, operand: Operand, files: tuple[str, ...]) -> Register:
        if not isinstance(operand, Register) or operand.file not in files:
            self.refuse(f"destination {operand}")
        if operand.negated or operand.inverted or operand.absolute or operand.suffixes:
            self.refuse(f"destination {operand}")
        return operand

    def write(self, operand: Operand, *values: Node) -> None:
        """Write 32-bit values to consecutive registers, in lanes where the guard holds."""
        target = self._target(operand, _DATA)
        if target.number is None:
            return
        for n, value in enumerate(values):
            bits = self.b.resize(self.b.as_int(value), "i32")
            self._set(f"{target.file}{target.number + n}", "i32", bits)

    def write_wide(self, operand: Operand, value: Node) -> None:
        """Write a 64-bit value to a pair of registers."""
        self.write(operand, *self.pairs.halves(self.b.as_int(value)))

    def write_predicate(self, operand: Operand, value: Node) -> None:
        target = self._target(operand, _PREDICATES)
        if target.number is not None:
            self._set(f"{target.file}{target.number}", "i1", value)

    # --- blocks and forms

    def start(self, block: Block) -> None:
        """Make ``block`` current; knowledge of register pairs is dropped."""
        self.b.start(block)
        self.pairs.forget()
        self.members = ()

    def zero(self, type_: str = "i32") -> Node:
        return self.b.const(type_, 0)

    def form(self, i: Instruction) -> tuple[Operand, list[Operand], list[Operand], list[Operand]]:
        """(destination, predicates beside it, sources, trailing predicates) of an instruction."""
        rest = list(i.operands)
        outs: list[Operand] = []
        while is_predicate(rest[0]):
            outs.append(rest.pop(0))
        target = rest.pop(0)
        while rest and is_predicate(rest[0]):
            outs.append(rest.pop(0))
        ins: list[Operand] = []
        while rest and is_predicate(rest[-1]):
            ins.insert(0, rest.pop())
        return target, outs, rest, ins


Lowering = Callable[[Context, Instruction], None]
"""A function that lowers one instruction."""
