"""Reads of constant banks.

Bank 0 starts with words that the driver writes for a launch; NVIDIA does not document their
offsets, which were read off NVRTC's code. The kernel's parameters follow. Bank 3 holds
``__constant__`` variables, banks 2 and 4 the compiler's literals and addresses of variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placewise.executor.device_memory.address_space import (
    GRID_WINDOW,
    TABLES_WINDOW,
    WINDOW_OF_SPACE,
    WINDOW_SHIFT,
    address,
)
from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.kernel.binary.cubin import CubinKernel, Variable
from placewise.kernel.binary.sass import Constant

if TYPE_CHECKING:
    from placewise.executor.lower_sass.context import Context


@dataclass(frozen=True)
class _LaunchWords:
    """Byte offsets in bank 0 of the words that the driver writes for a launch."""

    geometry: dict[int, str]
    windows: dict[int, str]
    """Generic addresses (64 bits) at which shared and local memory start, by offset."""
    stack_top: int
    """Initial value of R1, the stack pointer."""
    descriptor: int
    """Descriptor of global memory, used only in the descriptor operand of addresses."""
    grid: dict[int, int]
    """Halves of the address of the grid barrier's memory (environment registers 1 and 2): by
    offset, the bits that the address is shifted right by."""


def _geometry(block: int, grid: int) -> dict[int, str]:
    places = ((block, "ntid"), (grid, "nctaid"))
    return {at + 4 * n: f"{name}.{axis}" for at, name in places for n, axis in enumerate("xyz")}


_WINDOWS = {0x18: "shared", 0x20: "local"}
_TURING = _LaunchWords(_geometry(0x0, 0xC), _WINDOWS, 0x28, 0x118, {0x8C: 32, 0x90: 0})
_HOPPER = _LaunchWords(_geometry(0x0, 0xC), _WINDOWS, 0x28, 0x208, {0x44: 32, 0x48: 0})
_BLACKWELL = _LaunchWords(
    # The grid's words lie 0xA0 lower for each block of a cluster; a launch has no clusters here.
    _geometry(0x360, 0x370),
    {0x2F8: "local"},
    0x37C,
    0x358,
    {0x254: 32, 0x258: 0},
)
_USER, _COMPILER = 3, (2, 4)
FUNCTION_WINDOW = 0x7F << 56
"""Addresses from here on stand for functions of the driver, in the cubin's order."""
_DESCRIPTORS = 2
"""Bank with the addresses of functions. In modules of several kernels a function pointer is an
offset into it."""
_LONGEST_TABLE = 256
"""Largest table, in bytes, whose entries are selected by comparisons instead of a load."""
_NOWHERE = 0x7E << 56
"""Address, in no window, of variables that the kernel's PTX does not have and so cannot read."""


class Banks:
    """Reads operands ``c[bank][…]`` of one kernel."""

    def __init__(
        self,
        facts: CubinKernel,
        symbols: dict[str, int],
        pointed: tuple[tuple[int, int], ...],
        local_bytes: int,
    ) -> None:
        self.facts = facts
        self.symbols = symbols
        """Addresses of module variables."""
        self.pointed = pointed
        """(code offset, address) of each function that a pointer may hold."""
        self.tables = bytearray()
        """Contents of the compiler's tables that are loaded from memory."""
        self._placed: dict[int, int] = {}
        """Offset in ``tables`` of each bank's table."""
        self.local_bytes = local_bytes
        self._variables = tuple(
            v for v in facts.variables if v.section == f".nv.constant{_USER}" and v.size
        )

    def read(self, c: Context, operand: Constant, bits: int) -> Node:
        """32 or 64 bits of a constant bank."""
        operand = _at_known_place(c, operand)
        if operand.base is not None:
            return self.load(c, operand, bits, 1)[0]
        if operand.bank == _USER:
            return self.load(c, operand, bits, 1)[0]
        if bits == 64:
            low, high = (self._word(c, operand.bank, operand.offset + n) for n in (0, 4))
            return c.pairs.wide(low, high)
        return self._word(c, operand.bank, operand.offset)

    def load(self, c: Context, operand: Constant, bits: int, count: int) -> list[Node]:
        """``count`` elements of ``bits`` from a bank; the offset may be known only at run time."""
        operand = _at_known_place(c, operand)
        if operand.bank == 0 and operand.base is None and self._is_parameter(operand.offset):
            start = operand.offset - self.facts.parameter_offset
            places = [start + n * bits // 8 for n in range(count)]
            return [c.b.pure("param", int_type(bits), attr=at) for at in places]
        if operand.bank == 0 and operand.base is None and bits <= 32:
            places = [operand.offset + n * bits // 8 for n in range(count)]
            return [self._part_of_launch_word(c, at, bits) for at in places]
        offset: Node = c.b.const("i32", operand.offset)
        if operand.base is not None:
            base = c.register(operand.base.file, operand.base.number)
            offset = c.binary("add", base, offset) if operand.offset else base
        if operand.bank == 0:
            first = (WINDOW_OF_SPACE["param"] << WINDOW_SHIFT) - self.facts.parameter_offset
            address = c.binary("add", c.b.pure("zext", "i64", offset), c.b.const("i64", first))
            space = "param"
        elif operand.bank == _USER:
            if bits * count > 32 and not self._is_aligned(operand, bits * count // 8):
                return self._by_words(c, operand, bits, count)
            address = self._user_address(c, operand, offset)
            space = "constant"
        else:
            if bits < 32 or count > 1:
                c.refuse("a table of the compiler read in other than words")
            return [self._table(c, operand, offset, bits)]
        return c.load(space, bits, count, address, 0)

    def _is_aligned(self, operand: Constant, size: int) -> bool:
        """Whether an aligned access of bank 3 is aligned, and ends, inside its variable."""
        if operand.base is not None:
            return all(v.offset % size == 0 for v in self._variables)
        return any(
            v.offset <= operand.offset
            and operand.offset + size <= v.offset + v.size
            and (operand.offset - v.offset) % size == 0
            for v in self._variables
        )

    def _by_words(self, c: Context, operand: Constant, bits: int, count: int) -> list[Node]:
        """An access of bank 3, word by word, since it is unaligned in, or crosses, a variable."""
        words = [
            self.load(c, operand._replace(offset=operand.offset + n), 32, 1)[0]
            for n in range(0, bits * count // 8, 4)
        ]
        if bits == 32:
            return words
        return [c.pairs.wide(low, high) for low, high in zip(words[::2], words[1::2], strict=True)]

    def _user_address(self, c: Context, operand: Constant, offset: Node) -> Node:
        """The generic address of an offset in bank 3."""
        if operand.base is None:
            inside = [v for v in self._variables if v.offset <= operand.offset < v.offset + v.size]
            if not inside:
                c.refuse(f"no variable at {operand.offset:#x} of constant bank {operand.bank}")
            start = self._symbol(c, inside[0])
            return c.b.const("i64", start + operand.offset - inside[0].offset)
        wide = c.b.pure("zext", "i64", offset)
        result: Node | None = None
        for v in sorted(self._variables, key=lambda v: v.offset):
            here = c.binary("add", wide, c.b.const("i64", self._symbol(c, v) - v.offset))
            if result is None:
                result = here
            else:
                beyond = c.b.icmp("uge", wide, c.b.const("i64", v.offset))
                result = c.b.select(beyond, here, result)
        if result is None:
            c.refuse(f"constant bank {operand.bank} holds no variable")
        return result

    def _symbol(self, c: Context, variable: Variable) -> int:
        if variable.name not in self.symbols:
            c.refuse(f"the variable '{variable.name}' is not in the kernel's PTX")
        return self.symbols[variable.name]

    def _word(self, c: Context, bank: int, offset: int) -> Node:
        """32 bits of a bank at a constant offset."""
        if bank == 0:
            return self._launch_word(c, offset)
        if bank in _COMPILER:
            return c.b.const("i32", self._compiler_word(c, bank, offset))
        return c.refuse(f"constant bank {bank}")

    def _part_of_launch_word(self, c: Context, offset: int, bits: int) -> Node:
        """8, 16 or 32 bits at a constant offset in the driver's part of bank 0."""
        word = self._launch_word(c, offset & ~3)
        shift = c.b.const("i32", 8 * (offset & 3))
        return c.b.resize(c.binary("lshr", word, shift) if offset & 3 else word, int_type(bits))

    def _is_parameter(self, offset: int) -> bool:
        """Whether an offset in bank 0 lies among the kernel's parameters."""
        return self.facts.parameter_bytes > 0 and offset >= self.facts.parameter_offset

    def _launch_word(self, c: Context, offset: int) -> Node:
        if self._is_parameter(offset):
            return c.b.pure("param", "i32", attr=offset - self.facts.parameter_offset)
        words = _TURING if c.target < 90 else _HOPPER if c.target < 100 else _BLACKWELL
        if offset in words.geometry:
            return c.b.pure("special", "i32", attr=words.geometry[offset])
        if offset == words.stack_top:
            return c.b.const("i32", self.local_bytes)
        for place, space in words.windows.items():
            if offset in (place, place + 4):
                window = WINDOW_OF_SPACE[space] << WINDOW_SHIFT
                return c.b.const("i32", window >> 8 * (offset - place))
        if offset in words.grid:
            return c.b.const("i32", address(GRID_WINDOW) >> words.grid[offset])
        if offset - words.descriptor in (0, 4):
            return c.zero()
        return c.refuse(f"what constant bank 0 holds at {offset:#x} is not known")

    def _compiler_word(self, c: Context, bank: int, offset: int) -> int:
        content = self.facts.bank(bank)
        symbol = self._relocated(bank, offset)
        if symbol is not None and self._address(symbol) is None:
            c.refuse(f"the address of '{symbol}'")
        if not 0 <= offset <= len(content.data) - 4:
            c.refuse(f"constant bank {bank} has nothing at {offset:#x}")
        return self._table_word(bank, offset)

    def _table_word(self, bank: int, offset: int) -> int:
        """32 bits of a bank; variables that the kernel cannot read lie in no window."""
        content = self.facts.bank(bank)
        for r in content.relocations:
            if r.offset in (offset, offset - 4):
                found = self._address(r.symbol)
                value = _NOWHERE if found is None else found + r.addend
                return value >> 8 * (offset - r.offset) & 0xFFFFFFFF
        return int.from_bytes(content.data[offset : offset + 4], "little")

    def _relocated(self, bank: int, offset: int) -> str | None:
        """The symbol whose address is stored at an offset of a bank."""
        at = (offset, offset - 4)
        return next((r.symbol for r in self.facts.bank(bank).relocations if r.offset in at), None)

    def _address(self, symbol: str) -> int | None:
        if symbol in self.facts.externals:
            return FUNCTION_WINDOW + self.facts.externals.index(symbol)
        return self.symbols.get(symbol)

    def _place(self, bank: int) -> int:
        """Offset of a bank's table in ``tables``, added at its first use."""
        if bank not in self._placed:
            self._placed[bank] = len(self.tables)
            length = len(self.facts.bank(bank).data) // 4 * 4
            words = [self._table_word(bank, at) for at in range(0, length, 4)]
            self.tables += b"".join(word.to_bytes(4, "little") for word in words)
            self.tables += bytes(-len(self.tables) % 16)
        return self._placed[bank]

    def _table(self, c: Context, operand: Constant, offset: Node, bits: int) -> Node:
        """An entry of a compiler's table (switch targets, addresses) at a run-time offset."""
        functions = []
        if operand.bank == _DESCRIPTORS:
            for start, pointer in self.pointed:
                known = (pointer & 0xFFFFFFFF) + operand.offset
                functions.append((start, c.b.icmp("eq", offset, c.b.const("i32", known))))
        for _, here in functions:
            offset = c.b.select(here, c.zero(), offset)
        result = self._entry(c, operand, offset, bits)
        for start, here in functions:
            result = c.b.select(here, c.b.const(result.type, start), result)
        return result

    def _entry(self, c: Context, operand: Constant, offset: Node, bits: int) -> Node:
        length, step = len(self.facts.bank(operand.bank).data), bits // 8
        if length > _LONGEST_TABLE:
            first = address(TABLES_WINDOW) + self._place(operand.bank)
            where = c.binary("add", c.b.pure("zext", "i64", offset), c.b.const("i64", first))
            return c.load("param", bits, 1, where, 0)[0]
        result = c.zero(int_type(bits))
        for at in range(operand.offset % step, length - step + 1, step):
            words = [self._table_word(operand.bank, at + n) for n in range(0, step, 4)]
            entry = sum(word << 32 * n for n, word in enumerate(words))
            here = c.b.icmp("eq", offset, c.b.const("i32", at))
            result = c.b.select(here, c.b.const(result.type, entry), result)
        return result

    def function(self, number: int) -> str | None:
        """Name of the driver's function at an address from :data:`FUNCTION_WINDOW` on."""
        index = number - FUNCTION_WINDOW
        return self.facts.externals[index] if 0 <= index < len(self.facts.externals) else None


def _at_known_place(c: Context, operand: Constant) -> Constant:
    """The operand with a constant offset, if its index register holds a known literal."""
    if operand.base is None:
        # A listing shows the upper half of a bank with the sign of 16 bits.
        return operand._replace(offset=operand.offset & 0xFFFF)
    index = c.register(operand.base.file, operand.base.number)
    if index.op != "const" or not isinstance(index.attr, int):
        return operand
    return operand._replace(base=None, offset=operand.offset + index.attr)
