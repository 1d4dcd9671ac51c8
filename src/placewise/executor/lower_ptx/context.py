"""State shared by the lowering of all PTX instructions: operands in, results out."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NoReturn

from placewise.errors import UnsupportedError
from placewise.executor.ir.builder import Builder, int_type
from placewise.executor.ir.nodes import BITS, Node, Reg
from placewise.executor.lower_ptx.memory.stack import Stack
from placewise.executor.lower_ptx.special import special
from placewise.executor.lowering.lowering_context import LoweringContext
from placewise.kernel.ptx import (
    Function,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
)

_WIDTH = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "e4m3": 8, "e5m2": 8}
for _n in (16, 32, 64, 128):
    for _letter in "bus":
        _WIDTH[f"{_letter}{_n}"] = _n
_WIDTH.update({f"{k}{n}": n for k in "us" for n in (2, 4)})
_WIDTH.update({"u16x2": 32, "s16x2": 32, "b16x2": 32})
_WIDTH.update({"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "tf32": 32, "f32": 32, "f64": 64})


def width(type_: str) -> int:
    """Bits of a PTX type such as ``s32``."""
    return _WIDTH[type_]


@dataclass(frozen=True)
class Frame:
    """The local variables of one activation of a function."""

    register: Reg
    """Holds the frame's address in local memory."""
    offsets: dict[str, int]


@dataclass(frozen=True)
class ModuleScope:
    """The module that is being lowered, and where its variables lie."""

    module: Module
    filename: str
    symbols: dict[str, int]
    """Generic addresses of module variables and functions, by name."""
    shared: dict[str, int]
    """Byte offsets of shared variables."""
    locals: dict[str, int]
    """Byte offsets of local variables in a thread's local memory."""
    stack: Stack


class Context(LoweringContext):
    """Lowering of one function body. A call that is lowered in place has a context of its own."""

    def __init__(
        self,
        builder: Builder,
        scope: ModuleScope,
        function: Function,
        parameters: dict[str, int | None],
        *,
        prefix: str = "",
        aliases: dict[str, str] | None = None,
        frame: Frame | None = None,
    ) -> None:
        super().__init__(builder)
        self.scope = scope
        self.module = scope.module
        self.filename = scope.filename
        self.stack = scope.stack
        self.function = function
        self.function_parameters = parameters
        """Byte offsets of an entry's parameters in its parameter buffer; None for a call's."""
        self.prefix = prefix
        """Begins the names of this call's registers, so that no other call shares them."""
        self.aliases = aliases or {}
        """A call's formal parameters and results: the caller's variables that they stand for."""
        self.frame = frame
        """Local variables of a function that may be active twice in a thread."""

    def inside(
        self, function: Function, prefix: str, aliases: dict[str, str], frame: Frame | None
    ) -> Context:
        """The context of a called function's body."""
        parameters: dict[str, int | None] = dict.fromkeys(aliases)
        inner = Context(
            self.b, self.scope, function, parameters, prefix=prefix, aliases=aliases, frame=frame
        )
        inner.place = self.place
        return inner

    # --- messages

    def where(self, i: Instruction) -> str:
        """Source line and PTX line of an instruction, for messages."""
        if i.place:
            name = self.module.files.get(i.place[0], self.filename)
            return f"{name}:{i.place[1]} (PTX line {i.line})"
        return f"{self.filename} (PTX line {i.line})"

    def unsupported(self, i: Instruction, why: str = "") -> NoReturn:
        """Raise UnsupportedError, naming the instruction and its line."""
        detail = f" ({why})" if why else ""
        raise UnsupportedError(
            f"instruction '{i.opcode}' is not covered{detail}", where=self.where(i)
        )

    # --- operands

    def register(self, operand: Register) -> Reg:
        return self.b.reg(self.prefix + operand.name, int_type(width(operand.type)))

    def src(self, operand: Operand, type_: str, *, signed: bool = False) -> Node:
        """Value of a source operand as IR type ``type_``.

        A register of another width is truncated, or extended with zeros (the sign if ``signed``).
        """
        b = self.b
        if isinstance(operand, Register):
            value = b.get(self.register(operand))
            wanted = int_type(BITS[type_])
            return b.bitcast(b.resize(value, wanted, signed=signed), type_)
        if isinstance(operand, Immediate):
            return b.const(type_, self._literal(operand, type_))
        if isinstance(operand, Special):
            return b.bitcast(b.resize(self._special(operand), int_type(BITS[type_])), type_)
        if isinstance(operand, Symbol):
            return self.symbol(operand, type_)
        if isinstance(operand, Negated):
            return self.negate(self.src(operand.register, "i1"))
        raise UnsupportedError(f"operand {operand} is not covered", where=self.filename)

    def symbol(self, symbol: Symbol, type_: str) -> Node:
        """What a variable's or function's name stands for: an address in its own space."""
        if self.frame is not None and symbol.name in self.frame.offsets:
            start = self.b.resize(self.b.get(self.frame.register), type_)
            offset = self.b.const(type_, self.frame.offsets[symbol.name] + symbol.offset)
            return self.b.pure("add", type_, start, offset)
        return self.b.const(type_, self._symbol_value(symbol))

    def _symbol_value(self, symbol: Symbol) -> int:
        for table in (self.scope.shared, self.scope.locals, self.scope.symbols):
            if symbol.name in table:
                return table[symbol.name] + symbol.offset
        raise UnsupportedError(
            f"'{symbol.name}' is used as a value but is no variable this version knows",
            where=self.filename,
            hint="addresses of parameters of device functions are not covered",
        )

    def _literal(self, operand: Immediate, type_: str) -> int:
        value = operand.value
        if type_ == "i1":
            return 1 if value else 0
        if operand.float_bits:
            assert isinstance(value, int)
            if operand.float_bits == BITS[type_] or type_.startswith("i"):
                return value
            number = struct.unpack(
                "<f" if operand.float_bits == 32 else "<d",
                value.to_bytes(operand.float_bits // 8, "little"),
            )[0]
            return _float_bits(number, type_)
        if type_.startswith("f"):
            return _float_bits(float(value), type_)
        return int(value)

    def _special(self, operand: Special) -> Node:
        value = special(self.b, operand.name)
        if value is None:
            raise UnsupportedError(
                f"special register {operand.name} is not covered", where=self.filename
            )
        return value

    # --- results

    def dst(self, operand: Operand, value: Node, *, signed: bool = False) -> None:
        """Write a result; under a guard the other lanes keep their value."""
        if isinstance(operand, Pair):
            operand = operand.first
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise UnsupportedError(f"destination {operand} is not covered", where=self.filename)
        reg = self.register(operand)
        value = self.b.resize(self.b.as_int(value), reg.type, signed=signed)
        if self.guard is not None:
            value = self.b.select(self.guard, value, self.b.get(reg))
        self.b.set(reg, value)

    # --- arguments and results of calls

    def _chunks(self, name: str) -> tuple[str, dict[int, int]]:
        unique = self.aliases.get(name) or self.prefix + name
        return unique, self.b.arguments.setdefault(unique, {})

    def store_argument(self, name: str, offset: int, value: Node) -> None:
        """st.param: keep the bytes of an argument in a register of their own."""
        unique, chunks = self._chunks(name)
        value = self.b.as_int(value)
        bits = chunks.setdefault(offset, BITS[value.type])
        if bits != BITS[value.type]:
            raise UnsupportedError(
                "an argument written with different widths",
                where=f"{self.filename} (PTX line {self.place.line})",
            )
        self.b.set(self.b.reg(f"{unique}+{offset}", value.type), value)

    def load_argument(self, name: str, offset: int, bits: int) -> Node:
        """ld.param of a call's argument or result, from one stored chunk or several."""
        unique, chunks = self._chunks(name)
        type_ = int_type(bits)
        for start, have in chunks.items():
            if start <= offset and offset * 8 + bits <= start * 8 + have:
                value = self.b.get(self.b.reg(f"{unique}+{start}", int_type(have)))
                shift = self.b.const(value.type, 8 * (offset - start))
                moved = self.b.pure("lshr", value.type, value, shift) if offset > start else value
                return self.b.resize(moved, type_)
        total: Node | None = None
        for start, have in sorted(chunks.items()):
            if offset <= start and start * 8 + have <= offset * 8 + bits:
                value = self.b.get(self.b.reg(f"{unique}+{start}", int_type(have)))
                value = self.b.resize(value, type_)
                shift = self.b.const(type_, 8 * (start - offset))
                value = self.b.pure("shl", type_, value, shift) if start > offset else value
                total = value if total is None else self.b.pure("or", type_, total, value)
        # Bytes that nobody stored (padding of a structure) are undefined.
        return self.b.const(type_, 0) if total is None else total


def _float_bits(value: float, type_: str) -> int:
    code = {"f16": "e", "f32": "f", "f64": "d"}[type_]
    return int.from_bytes(struct.pack("<" + code, value), "little")
