"""The source line of every instruction of a kernel, from its cubin's line table.

The table (section ``.debug_line``) is a line number program of DWARF 2 to 4, section 6.2. NVIDIA
adds one extended opcode for inlined functions (LLVM's "DWARF Extensions for NVPTX"; ptxas writes it
where PTX has ``inlined_at``): the row of the table that the call stands in, and the callee's name.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from placewise.errors import CompileError
from placewise.kernel.binary.cubin import open_cubin
from placewise.kernel.binary.sass.instruction import INSTRUCTION_BYTES
from placewise.kernel.source_name import named_file

Place = tuple[str, int]
"""Source file and line."""
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_INLINED_CALL = 0x90
_NOT_INLINED = 0
_VERSIONS = (2, 3, 4)
_LENGTH_BYTES = 4
_REMEMBERED = 64


@lru_cache(maxsize=_REMEMBERED)
def source_places(cubin: bytes, entry: str) -> dict[int, Place]:
    """Place of each instruction of ``entry`` that has one, by offset; of code that was inlined the
    place of the outermost call. Empty for code without a line table of a version that is known.

    Raises CompileError where ``cubin`` is no cubin or its line table is damaged.
    """
    elf = open_cubin(cubin)
    section: Any = elf.get_section_by_name(".debug_line")
    code: Any = elf.get_section_by_name(f".text.{entry}")
    if section is None or code is None:
        return {}
    try:
        begins = _begins(elf)
        rows: list[_Row] = []
        data = section.data()
        at = 0
        while at + 4 <= len(data):
            length, version = struct.unpack_from("<IH", data, at)
            at += _LENGTH_BYTES + length
            if version not in _VERSIONS:
                continue
            unit = _Unit(data, at - length, at)
            for start, found in unit.sequences():
                section_name, first = begins.get(start, ("", 0))
                if section_name == code.name:
                    rows += [_Row(first + row.address, row.place) for row in found]
    except (ELFError, struct.error, LookupError, ValueError) as error:
        raise CompileError(f"the line table of the machine code is damaged: {error}") from error
    return _spread(rows, int(code["sh_size"]))


def _spread(rows: list[_Row], size: int) -> dict[int, Place]:
    """Source places of all instructions: a row of the table stands for those up to the next row."""
    places: dict[int, Place] = {}
    ordered = sorted(rows, key=lambda row: row.address)
    ends = [*(row.address for row in ordered), size][1:]
    for row, end in zip(ordered, ends, strict=True):
        for offset in range(row.address, end, INSTRUCTION_BYTES):
            places[offset] = row.place
    return places


def _begins(elf: ELFFile) -> dict[int, tuple[str, int]]:
    """(section, offset in it) of the symbol that an address in the line table counts from. The
    address stands at a byte of ``.debug_line``."""
    symbols: Any = elf.get_section_by_name(".symtab")
    found: dict[int, tuple[str, int]] = {}
    for name in (".rel.debug_line", ".rela.debug_line"):
        relocations: Any = elf.get_section_by_name(name)
        for relocation in relocations.iter_relocations() if relocations is not None else ():
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            index = symbol["st_shndx"]
            if isinstance(index, int):
                place = elf.get_section(index).name, int(symbol["st_value"])
                found[int(relocation["r_offset"])] = place
    return found


@dataclass(frozen=True)
class _Row:
    address: int
    """Bytes from where the run of code begins; once it is placed, from the section's start."""
    place: Place
    """Source place of the outermost inlined call."""


class _Unit:
    """One line number program of the section, from its version at byte ``start`` to ``end``."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.data, self.end = data, end
        version, header = struct.unpack_from("<HI", data, start)
        self.at = start + struct.calcsize("<HI")
        self.program = self.at + header
        # DWARF 4 added the operations of an instruction word.
        fields = struct.unpack_from("<BBbBB" if version < 4 else "<BxBbBB", data, self.at)
        self.step, _, self.line_base, self.line_range, self.opcode_base = fields
        self.at += 5 if version < 4 else 6
        self.operands = data[self.at : self.at + self.opcode_base - 1]
        self.at += self.opcode_base - 1
        self.files = self._files()

    def _files(self) -> list[str]:
        folders = [""]
        while name := self._text():
            folders.append(name)
        files = []
        while name := self._text():
            folder = folders[self._unsigned()]
            self._unsigned()
            self._unsigned()
            files.append(named_file(f"{folder}/{name}" if folder else name))
        return files

    def sequences(self) -> list[tuple[int, list[_Row]]]:
        """(byte of the section at which its address stands, rows) of each run of code."""
        self.at = self.program
        made: list[tuple[int, list[_Row]]] = []
        places: list[Place] = []
        address, file, line, context = 0, 1, 1, _NOT_INLINED
        rows: list[_Row] = []

        def emit() -> None:
            place = self.files[file - 1], line
            # A call stands in an earlier row of the sequence, counted from 1, whose outermost place
            # is known already.
            places.append(places[context - 1] if context != _NOT_INLINED else place)
            rows.append(_Row(address, places[-1]))

        while self.at < self.end:
            opcode = self._byte()
            if opcode >= self.opcode_base:
                advance, more = divmod(opcode - self.opcode_base, self.line_range)
                address += advance * self.step
                line += self.line_base + more
                emit()
            elif opcode == 0:
                size = self._unsigned()
                here = self.at
                kind = self._byte()
                if kind == _SET_ADDRESS:
                    rows, places = [], []
                    made.append((self.at, rows))
                    (address,) = struct.unpack_from("<Q", self.data, self.at)
                elif kind == _INLINED_CALL:
                    context = self._unsigned()
                elif kind == _END_SEQUENCE:
                    address, file, line, context = 0, 1, 1, _NOT_INLINED
                self.at = here + size
            elif opcode == _COPY:
                emit()
            elif opcode == _ADVANCE_PC:
                address += self._unsigned() * self.step
            elif opcode == _ADVANCE_LINE:
                line += self._signed()
            elif opcode == _SET_FILE:
                file = self._unsigned()
            elif opcode == _CONST_ADD_PC:
                address += (255 - self.opcode_base) // self.line_range * self.step
            elif opcode == _FIXED_ADVANCE_PC:
                (advance,) = struct.unpack_from("<H", self.data, self.at)
                address += advance
                self.at += 2
            else:
                for _ in range(self.operands[opcode - 1]):
                    self._unsigned()
        return made

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _text(self) -> str:
        end = self.data.index(0, self.at)
        found = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return found

    def _leb128(self) -> tuple[int, int]:
        """A number of variable length, and how many bits it has."""
        value = bits = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << bits
            bits += 7
            if not byte & 0x80:
                return value, bits

    def _unsigned(self) -> int:
        return self._leb128()[0]

    def _signed(self) -> int:
        value, bits = self._leb128()
        return value - (1 << bits) if value >> (bits - 1) else value
