"""State shared by the lowering of all machine instructions: operands in, results out.

Nothing of an instruction may be passed over: a handler takes the modifiers that it knows from
:attr:`Context.modifiers`, and what is left at the end is refused, as is a sign or a suffix of an
operand that the handler did not ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from placewise.errors import UnsupportedError
from placewise.executor.ir.builder import Builder, int_type
from placewise.executor.ir.nodes import Access, Block, Node, Place
from placewise.executor.lower_sass.arithmetic.register_pairs import Pairs
from placewise.executor.lower_sass.memory.constant_banks import Banks
from placewise.executor.lowering.shorthand import Shorthand
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


class Context(Shorthand):
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
        """Bytes of shared memory that the system keeps below the kernel's own."""
        self.guard: Node | None = None
        self.place = Place(0, None)
        self.members: tuple[Node, ...] = ()
        """After WARPSYNC.EXCLUSIVE the mask of lanes that each lane goes on with."""
        self.modifiers: list[str] = []
        """Of the present instruction, those not yet taken."""
        self.instruction: Instruction | None = None

    # --- messages

    def where(self, i: Instruction) -> str:
        """``source:line (machine code at 0x…)``"""
        if i.place:
            name = self.names.get(i.place[0], i.place[0])
            return f"{name}:{i.place[1]} (machine code at {i.offset:#06x})"
        return f"{self.filename} (machine code at {i.offset:#06x})"

    def unsupported(self, i: Instruction, why: str = "") -> NoReturn:
        """Refuse an instruction, naming it and its place."""
        detail = f" ({why})" if why else ""
        raise UnsupportedError(
            f"machine instruction '{i.opcode}' is not covered{detail}", where=self.where(i)
        )

    def refuse(self, why: str) -> NoReturn:
        """Refuse the present instruction."""
        assert self.instruction is not None
        self.unsupported(self.instruction, why)

    # --- modifiers

    def flag(self, name: str) -> bool:
        """Take a modifier; whether it is there."""
        if name in self.modifiers:
            self.modifiers.remove(name)
            return True
        return False

    def one_of(self, *names: str) -> str | None:
        """Take the first of these modifiers that is there."""
        for name in names:
            if self.flag(name):
                return name
        return None

    def without_effect(self, *names: str) -> None:
        """Take modifiers that do not change results."""
        for name in names:
            while self.flag(name):
                pass

    # --- sources

    def register(self, file: str, number: int | None) -> Node:
        """A 32-bit register; RZ is zero."""
        if number is None:
            return self.b.const("i32", 0)
        return self.b.get(self.b.reg(f"{file}{number}", "i32"))

    def _plain(self, operand: Operand) -> Node:
        """32 bits, with whatever is done to them still to do."""
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
        """32 bits as they are; signs and suffixes are left to the caller."""
        return self._plain(operand)

    def _signs(self, operand: Operand, *, absolute: bool = False) -> None:
        """Refuse what was not asked for."""
        if isinstance(operand, _SUFFIXED) and operand.suffixes:
            self.refuse(f"operand suffix '{operand.suffixes[0]}'")
        if not absolute and getattr(operand, "absolute", False):
            self.refuse("the magnitude of an integer operand")

    def i32(self, operand: Operand) -> Node:
        """32 bits as an integer, negated or complemented as the operand says."""
        self._signs(operand)
        return self._integer(operand, self._plain(operand))

    def i64(self, operand: Operand) -> Node:
        """A pair of registers, or 64 bits of a constant bank, as an integer."""
        self._signs(operand)
        return self._integer(operand, self._plain_wide(operand))

    def _integer(self, operand: Operand, value: Node) -> Node:
        if is_inverted(operand):
            value = self.negate(value)
        if is_negated(operand):
            value = self.both("sub", self.b.const(value.type, 0), value)
        return value

    def f32(self, operand: Operand) -> Node:
        """Single precision; a literal's bits are those of the encoding."""
        self._signs(operand, absolute=True)
        if isinstance(operand, Immediate):
            assert self.instruction is not None
            return self.b.const("f32", self.instruction.word)
        return self._floating(operand, self.b.bitcast(self._plain(operand), "f32"))

    def f64(self, operand: Operand) -> Node:
        """Double precision; a literal is the upper word."""
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
            value = self.b.select(self.guard, value, self.b.get(reg))
        self.b.set(reg, value)

    def _target(self, operand: Operand, files: tuple[str, ...]) -> Register:
        if not isinstance(operand, Register) or operand.file not in files:
            self.refuse(f"destination {operand}")
        if operand.negated or operand.inverted or operand.absolute or operand.suffixes:
            self.refuse(f"destination {operand}")
        return operand

    def write(self, operand: Operand, *values: Node) -> None:
        """Write 32-bit values to consecutive registers; where guarded off, they keep theirs."""
        target = self._target(operand, _DATA)
        if target.number is None:
            return
        for n, value in enumerate(values):
            bits = self.b.resize(self.b.as_int(value), "i32")
            self._set(f"{target.file}{target.number + n}", "i32", bits)

    def write_wide(self, operand: Operand, value: Node) -> None:
        """Write 64 bits to a pair of registers."""
        self.write(operand, *self.pairs.halves(self.b.as_int(value)))

    def write_predicate(self, operand: Operand, value: Node) -> None:
        target = self._target(operand, _PREDICATES)
        if target.number is not None:
            self._set(f"{target.file}{target.number}", "i1", value)

    # --- memory

    def access(
        self, kind: str, space: str, bits: int, count: int, offset: int, operation: str = ""
    ) -> Access:
        """An access by the present instruction; ``count`` elements of ``bits`` per lane."""
        assert self.instruction is not None
        return Access(
            kind=kind,
            space=space,
            bits=bits,
            count=count,
            opcode=self.instruction.opcode,
            place=self.place,
            offset=offset,
            operation=operation,
            site=self.b.next_site,
        )

    def guards(self) -> tuple[Node, ...]:
        """The guard as the last operand of a memory node."""
        return (self.guard,) if self.guard is not None else ()

    def memory_load(
        self, space: str, bits: int, count: int, address: Node, offset: int
    ) -> list[Node]:
        """Load ``count`` elements of ``bits``."""
        access = self.access("load", space, bits, count, offset)
        type_ = int_type(bits)
        node = self.b.access("load", type_, access, address, *self.guards())
        return [self.b.part(node, n, type_) for n in range(count)] if count > 1 else [node]

    # --- shorthands

    def start(self, block: Block) -> None:
        """Go on with a new block: nothing is known of values in registers."""
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
