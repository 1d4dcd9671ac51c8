"""LLVM IR as text: names, types and values in their scalar and 32-lane forms."""

from __future__ import annotations

from placewise.executor.device_memory.address_space import Slot
from placewise.executor.ir.nodes import BITS, Node

LLVM = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "i128": "i128",
    "f16": "half",
    "f32": "float",
    "f64": "double",
}


def vector(type_: str) -> str:
    """LLVM type of the 32-lane vector of an IR or LLVM type."""
    return f"<32 x {LLVM.get(type_, type_)}>"


def lanes(values: range | list[int], type_: str = "i32") -> str:
    """A constant vector with these elements."""
    return "<" + ", ".join(f"{type_} {v}" for v in values) + ">"


class Text:
    """Lines of one function under construction."""

    def __init__(self, declarations: set[str]) -> None:
        self.lines: list[str] = []
        self.declarations = declarations
        self.width = 32
        """Lanes of the vectors that nodes' values are made of."""
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def op(self, text: str) -> str:
        """Append ``name = text`` and return the name."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(text)

    def beyond(self, pointer: str, offset: int | str) -> str:
        """Emit the pointer ``offset`` bytes beyond ``pointer``, which it is itself for 0."""
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def stack(self, type_: str) -> str:
        """Reserve space for a value on the stack, once, at the start of the function."""
        name = self.name()
        self.lines.insert(0, f"{name} = alloca {type_}")
        return name

    def label(self) -> str:
        self._count += 1
        return f"l{self._count}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def call(self, result: str, function: str, *arguments: tuple[str, str]) -> str:
        """Emit the call of an intrinsic, and declare it."""
        types = ", ".join(t for t, _ in arguments)
        self.declarations.add(f"declare {result} @{function}({types})")
        return self.op(f"call {result} @{function}({', '.join(f'{t} {v}' for t, v in arguments)})")

    def splat(self, type_: str, value: str) -> str:
        """Emit a vector with a scalar in all lanes; ``type_`` is the scalar's LLVM type."""
        wide = f"<{self.width} x {type_}>"
        single = self.op(f"insertelement {wide} poison, {type_} {value}, i64 0")
        first = f"<{self.width} x i32> zeroinitializer"
        return self.op(f"shufflevector {wide} {single}, {wide} poison, {first}")

    def wide(self, type_: str) -> str:
        """LLVM type of the vector of an IR or LLVM type, of the present width."""
        return f"<{self.width} x {LLVM.get(type_, type_)}>"

    def overload(self, type_: str, *, wide: bool) -> str:
        """Suffix of an overloaded intrinsic, such as ``v32f32``."""
        return f"v{self.width}{type_}" if wide else type_

    def slot(self, slot: int, type_: str = "i64", *, invariant: bool = False) -> str:
        """Read a word of the context; ``invariant`` ones never change during a run."""
        pointer = self.slot_pointer(slot)
        mark = ", !invariant.load !0" if invariant else ""
        return self.op(f"load {type_}, ptr {pointer}{mark}")

    def set_identity(self, name: str, value: str) -> None:
        """Set block, warp or phase (i32) of the trace records that follow."""
        self.do(f"store i32 {value}, ptr {self._identity(name)}")

    def next_phase(self, more: str) -> None:
        """Add to the phase (i32) of the trace records that follow."""
        place = self._identity("phase")
        now = self.op(f"add i32 {self.op(f'load i32, ptr {place}')}, {more}")
        self.do(f"store i32 {now}, ptr {place}")

    def _identity(self, name: str) -> str:
        part = ("", "block", "warp", "phase").index(name)
        return self.op(f"getelementptr i32, ptr {self.slot_pointer(Slot.IDENTITY)}, i64 {part}")

    def slot_pointer(self, slot: int) -> str:
        return self.op(f"getelementptr i64, ptr %ctx, i64 {int(slot)}")

    def set_slot(self, slot: Slot, value: str, type_: str = "i64") -> None:
        pointer = self.slot_pointer(slot)
        self.do(f"store {type_} {value}, ptr {pointer}")


class Values(Text):
    """Text with the scalar, vector and mask form of each IR node's value. A form is emitted when it
    is first asked for."""

    def __init__(self, declarations: set[str]) -> None:
        super().__init__(declarations)
        self.scalars: dict[int, str] = {}
        self.vectors: dict[int, str] = {}
        self.masks: dict[int, str] = {}
        self.rounded: dict[str, str] = {}
        """Functions for operations rounded other than to nearest, by name."""

    def forget(self) -> None:
        """Forget all values at the start of a basic block, since those of other blocks are not
        visible there."""
        self.scalars = {}
        self.vectors = {}
        self.masks = {}

    def is_wide(self, n: Node) -> bool:
        """Whether a node's value is a vector: one that differs between lanes, unless one lane alone
        is computed."""
        return self.width > 1 and not n.uniform

    def scalar(self, n: Node) -> str:
        """The value of a node that is no vector."""
        found = self.scalars.get(n.number)
        if found is None:
            assert n.op == "const", n
            found = self.scalars[n.number] = self._literal(n)
        return found

    def _literal(self, n: Node) -> str:
        value = n.attr
        assert isinstance(value, int)
        if n.type == "i1":
            return "true" if value else "false"
        if n.type[0] == "f":
            if value == 0:
                return "0.0"
            return f"bitcast (i{BITS[n.type]} {value} to {LLVM[n.type]})"
        bits = BITS[n.type]
        return str(value - (1 << bits) if value >> (bits - 1) else value)

    def vector(self, n: Node) -> str:
        """A node's value as a vector."""
        found = self.vectors.get(n.number)
        if found is None:
            if n.number in self.masks and n.type == "i1" and not n.uniform:
                found = self._flags_of(self.masks[n.number])
            elif n.op == "const" and n.type[0] == "i":
                literal = self._literal(n)
                found = f"splat ({n.type} {literal})"
            elif n.op == "const":
                found = "zeroinitializer" if n.attr == 0 else self._float_splat(n)
            else:
                found = self.splat(LLVM[n.type], self.scalar(n))
            self.vectors[n.number] = found
        return found

    def _float_splat(self, n: Node) -> str:
        bits = BITS[n.type]
        of = self.wide(f"i{bits}")
        return self.op(f"bitcast {of} splat (i{bits} {n.attr}) to {self.wide(n.type)}")

    def _flags_of(self, mask: str) -> str:
        """A mask (i32) as a vector of i1."""
        if self.width < 32:
            mask = self.op(f"trunc i32 {mask} to i{self.width}")
        return self.op(f"bitcast i{self.width} {mask} to {self.wide('i1')}")

    def _bits_of(self, flags: str) -> str:
        """A vector of i1 as a mask (i32)."""
        found = self.op(f"bitcast {self.wide('i1')} {flags} to i{self.width}")
        return found if self.width == 32 else self.op(f"zext i{self.width} {found} to i32")

    def mask_of(self, n: Node) -> str:
        """An i1 node as a 32-bit mask."""
        found = self.masks.get(n.number)
        if found is None:
            if n.op == "const":
                found = "-1" if n.attr else "0"
            elif n.uniform:
                found = self.op(f"sext i1 {self.scalar(n)} to i32")
            else:
                found = self._bits_of(self.vector(n))
            self.masks[n.number] = found
        return found

    def set(self, n: Node, value: str) -> None:
        """Record the emitted value of a node."""
        if self.is_wide(n):
            self.vectors[n.number] = value
        else:
            self.scalars[n.number] = value

    def set_mask(self, n: Node, value: str) -> None:
        """Record an i1 node that was made as a mask."""
        self.masks[n.number] = value
