"""Memory accesses of a warp: one LLVM helper per kind of access, called by every site of that kind.

A helper first asks whether the addresses of each half warp are consecutive or all the same, which
most accesses are; then two plain loads suffice, and only the first and the last address have to be
checked against the bounds of the array. All other accesses are gathers, and every lane is checked.
What a helper finds out about the addresses also goes into the trace record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from placewise.executor.codegen.text import Text
from placewise.executor.device_memory.address_space import (
    WINDOW_OF_SPACE,
    WINDOW_SHIFT,
    WINDOW_WORDS,
    WINDOWS,
    Fault,
    Slot,
    address,
)
from placewise.executor.ir.nodes import Access

_SHARED = str(address(WINDOW_OF_SPACE["shared"]))


@dataclass(frozen=True)
class Kind:
    """A kind of memory access that one LLVM helper function serves."""

    action: str
    """``load`` or ``store``."""
    memory: str
    """``windowed``, ``shared`` or ``local``."""
    bits: int
    count: int
    traced: bool

    @property
    def name(self) -> str:
        trace = ".t" if self.traced else ""
        return f"@{self.action}.{self.memory}.{self.bits}x{self.count}{trace}"

    @property
    def element(self) -> str:
        return f"i{self.bits}"

    @property
    def lane_bytes(self) -> int:
        return self.bits // 8 * self.count

    @property
    def address(self) -> str:
        """LLVM type of one lane's address."""
        return "i64" if self.memory == "windowed" else "i32"

    @property
    def vector_result(self) -> str:
        one = f"<32 x {self.element}>"
        return one if self.count == 1 else "{ " + ", ".join([one] * self.count) + " }"

    @property
    def scalar_result(self) -> str:
        one = self.element
        return one if self.count == 1 else "{ " + ", ".join([one] * self.count) + " }"


_MEMORY = {"shared": "shared", "local": "local", "stack": "local"}


def kind_of(access: Access, *, traced: bool) -> Kind:
    """The kind of helper that serves an access. Atomics have helpers of their own."""
    memory = _MEMORY.get(access.space, "windowed")
    return Kind(access.kind, memory, access.bits, access.count, traced)


@dataclass(frozen=True)
class Range:
    """The memory that an access may reach: start address, size, host pointer, and the address of
    its start in the device address space, which differs where a space has its own addresses."""

    start: str
    size: str
    host: str
    place: str
    window: str | None


class BoundedAccess(Protocol):
    """The properties of an access that decide which bounds it has."""

    @property
    def action(self) -> str: ...

    @property
    def memory(self) -> str: ...


def find_range(t: Text, kind: BoundedAccess, address: str) -> Range:
    """The range around one lane's address (an LLVM value of the helper's address type)."""
    if kind.memory == "shared":
        size = t.slot(Slot.SHARED_BYTES, invariant=True)
        return Range("0", size, t.slot(Slot.SHARED, "ptr", invariant=True), _SHARED, None)
    shifted = t.op(f"lshr i64 {address}, {WINDOW_SHIFT}")
    window = t.op(f"and i64 {shifted}, {WINDOWS - 1}")
    table = t.slot(Slot.WINDOWS, "ptr", invariant=True)
    entry = t.op(f"getelementptr [{WINDOW_WORDS} x i64], ptr {table}, i64 {window}")
    start = t.op(f"load i64, ptr {entry}, !invariant.load !0")
    fields = []
    reach = 1 if kind.action == "load" else 4
    for n, type_ in ((reach, "i64"), (2, "ptr")):
        pointer = t.op(f"getelementptr i64, ptr {entry}, i64 {n}")
        fields.append(t.op(f"load {type_}, ptr {pointer}, !invariant.load !0"))
    return Range(start, fields[0], fields[1], start, window)


def touch(t: Text, found: Range, action: str) -> None:
    """Note in the window's flags that it was read or written."""
    if found.window is None:
        return
    table = t.slot(Slot.TOUCHED, "ptr", invariant=True)
    index = t.op(f"shl i64 {found.window}, 1")
    for offset in {"load": (0,), "store": (1,), "atomic": (0, 1)}[action]:
        at = t.op(f"add i64 {index}, {offset}") if offset else index
        t.do(f"store i8 1, ptr {t.op(f'getelementptr i8, ptr {table}, i64 {at}')}")


def fault_code(t: Text, misaligned: str) -> str:
    """Code of the fault, out of bounds or misaligned, as an i64."""
    return t.op(f"select i1 {misaligned}, i64 {int(Fault.MISALIGNED)}, i64 {int(Fault.BOUNDS)}")


def first_lane(t: Text, mask: str) -> str:
    return t.call("i32", "llvm.cttz.i32", ("i32", mask), ("i1", "false"))


def load_elements(t: Text, kind: Kind, pointer: str) -> list[str]:
    values = []
    for n in range(kind.count):
        at = t.op(f"getelementptr i8, ptr {pointer}, i64 {n * kind.bits // 8}") if n else pointer
        values.append(t.op(f"load {kind.element}, ptr {at}, align {kind.bits // 8}"))
    return values


def give(t: Text, result: str, values: list[str], one: str) -> None:
    """Emit the return of one value, or of several as a struct."""
    if len(values) == 1:
        t.do(f"ret {result} {values[0]}")
        return
    whole = "poison"
    for n, value in enumerate(values):
        whole = t.op(f"insertvalue {result} {whole}, {one} {value}, {n}")
    t.do(f"ret {result} {whole}")


def all_inside(t: Text, type_: str, offsets: str, room: str, bytes_: int) -> str:
    """Which of the lanes' offsets are aligned and leave ``bytes_`` within ``room``, as i1.

    An offset that is rotated right by log2(``bytes_``) is below the number of elements only if it
    is aligned, not negative and not too large.
    """
    v = t.wide(type_)
    shift = bytes_.bit_length() - 1
    units = t.op(f"lshr {type_} {room}, {shift}") if shift else room
    if shift:
        by = f"splat ({type_} {shift})"
        offsets = t.call(v, f"llvm.fshr.v{t.width}{type_}", (v, offsets), (v, offsets), (v, by))
    return t.op(f"icmp ult {v} {offsets}, {t.splat(type_, units)}")


def general_range(t: Text, kind: Kind) -> tuple[Range, str, str, str]:
    """The range of the first active lane's address; the lanes' offsets in it; the mask of the lanes
    that are inside it or inactive; the mask of inactive lanes."""
    a = kind.address
    if kind.memory == "windowed":
        first = t.op(f"extractelement <32 x i64> %address, i32 {first_lane(t, '%mask')}")
        found = find_range(t, kind, first)
        relative = t.op(f"sub <32 x i64> %address, {t.splat('i64', found.start)}")
        size = found.size
    else:
        found = find_range(t, kind, "")
        relative = "%address"
        size = t.op(f"trunc i64 {found.size} to i32")
    inside = all_inside(t, a, relative, size, kind.lane_bytes)
    bits = t.op(f"bitcast <32 x i1> {inside} to i32")
    inactive = t.op("xor i32 %mask, -1")
    return found, relative, t.op(f"or i32 {bits}, {inactive}"), inactive


def gather_index(t: Text, kind: Kind, relative: str, large: bool) -> tuple[str, str]:
    """(index type, index). Gathers by indices of 32 bits are faster; arrays that are too large for
    them (``large``) need 64."""
    if kind.address == "i32" or large:
        return kind.address, relative
    return "i32", t.op(f"trunc <32 x i64> {relative} to <32 x i32>")
