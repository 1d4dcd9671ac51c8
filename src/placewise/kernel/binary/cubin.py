"""What a cubin says of one kernel: resources, parameters, constant banks, symbols, relocations.

A cubin is an ELF file. NVIDIA documents the figures that it holds (CUDA Binary Utilities,
"cuobjdump -res-usage" and "-elf"), not their encoding; that of the ``.nv.info`` attributes was
read off cubins of kernels whose figures ``ptxas -v`` prints, for every target of NVRTC 11.8, 12.9
and 13, and the tests compare them still.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from placewise.errors import CompileError

UNBOUNDED = 0xFFFFFFFF
"""Stack size of a kernel whose call depth is not known before it runs."""
_MICROSECTION = re.compile(r"\.nv\.constant(?P<bank>\d+)(?:\.(?P<kernel>.+))?")
_ENTRY_FLAG = 0x10
"""STO_CUDA_ENTRY of a symbol's ``st_other``, a bit that pyelftools passes over."""
_BARRIERS_FLAG = 20
"""Position of the lowest bit of the number of barriers in ``sh_flags``."""
_OTHER_OFFSET = 5
"""Offset of ``st_other`` in an Elf64_Sym."""
_REMEMBERED = 64
_OLD_ABI = 7
"""Newest ELF ABI version, that of CUDA 12, with the target in the lowest byte of the flags; later
versions have it in the next byte."""


class _Attribute(IntEnum):
    """Attributes of ``.nv.info`` sections, as ``cuobjdump -elf`` names them (EIATTR_…)."""

    MAX_THREADS = 0x05
    PARAM_CBANK = 0x0A
    REQNTID = 0x10
    FRAME_SIZE = 0x11
    MIN_STACK_SIZE = 0x12
    KPARAM_INFO = 0x17
    EXIT_INSTR_OFFSETS = 0x1C
    REGCOUNT = 0x2F
    INDIRECT_BRANCH_TARGETS = 0x34
    KPARAM_INFO_V2 = 0x45
    NUM_BARRIERS = 0x4C


_SIZED_VALUE = 4
"""Format of an attribute whose value follows a 16-bit size; others hold 16 bits in place."""


@dataclass(frozen=True)
class Relocation:
    """A place that the loader fills with the address of a symbol."""

    offset: int
    """Bytes from the start of the section (or bank)."""
    type: int
    """R_CUDA_…; 2 is a 64-bit address."""
    symbol: str
    addend: int


@dataclass(frozen=True)
class ConstantBank:
    """Contents of ``c[bank]``: 0 parameters and launch, 2 and 4 the compiler's, 3 the user's."""

    bank: int
    data: bytes
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True)
class Variable:
    """A ``__device__``, ``__constant__`` or string object of the module."""

    name: str
    section: str
    """``.nv.global``, ``.nv.global.init`` or ``.nv.constant3``."""
    offset: int
    """Bytes from the start of the section."""
    size: int
    data: bytes
    """Initial contents; empty for one that starts as zeros."""
    relocations: tuple[Relocation, ...] = ()
    """Relocations inside the variable; offsets from its start."""


@dataclass(frozen=True)
class Function:
    """A function whose code stands in the kernel's section."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class CubinParameter:
    """One kernel parameter in constant bank 0."""

    index: int
    offset: int
    """Bytes from the first parameter (``CubinKernel.parameter_offset`` in the bank)."""
    size: int


@dataclass(frozen=True)
class IndirectBranch:
    """A branch through a table, and all places it can go to; bytes from the code's start."""

    offset: int
    targets: tuple[int, ...]


@dataclass(frozen=True)
class CubinKernel:
    """Machine code of one kernel and what the compiler says of it; sizes in bytes."""

    entry: str
    target: int
    """Compute capability times ten."""
    code: bytes
    registers: int
    """Per thread, as allocated by ptxas."""
    static_shared_bytes: int
    """Static shared memory of a block, without what the system reserves."""
    shared_base: int
    """Shared memory address of the first static byte. The system has reserved what lies below."""
    stack_bytes: int | None
    """Local memory per thread: frames of the deepest chain of calls; None where not bounded (for a
    recursive kernel ptxas 12.9 writes 0 instead)."""
    frame_bytes: int
    """Local memory per thread of the kernel's own frame."""
    barriers: int
    """Hardware barriers in use."""
    max_threads: tuple[int, int, int] | None
    """Block extents that ``__launch_bounds__`` allows at most."""
    required_threads: tuple[int, int, int] | None
    parameter_offset: int
    """Where parameters start in constant bank 0."""
    parameter_bytes: int
    parameters: tuple[CubinParameter, ...]
    banks: tuple[ConstantBank, ...]
    functions: tuple[Function, ...]
    """Subroutines in the kernel's section, by offset, without the kernel itself."""
    variables: tuple[Variable, ...]
    externals: tuple[str, ...]
    """Names that only the driver provides, such as ``vprintf``."""
    relocations: tuple[Relocation, ...]
    """Relocations of the code."""
    exits: tuple[int, ...]
    """Offsets of EXIT instructions."""
    indirect_branches: tuple[IndirectBranch, ...]

    def bank(self, number: int) -> ConstantBank:
        """Constant bank ``number``, empty where the kernel has none."""
        return next((b for b in self.banks if b.bank == number), ConstantBank(number, b""))


def entries(cubin: bytes) -> tuple[str, ...]:
    """Mangled names of the kernels of a cubin; raises CompileError where it is no cubin."""
    elf = open_cubin(cubin)
    table: Any = elf.get_section_by_name(".symtab")
    raw = table.data() if table is not None else b""
    return tuple(
        symbol.name
        for index, symbol in enumerate(_symbols(elf))
        if symbol.entry.st_info.type == "STT_FUNC"
        and raw[index * table["sh_entsize"] + _OTHER_OFFSET] & _ENTRY_FLAG
    )


@lru_cache(maxsize=_REMEMBERED)
def read_cubin(cubin: bytes, entry: str) -> CubinKernel:
    """What ``cubin`` says of the kernel ``entry`` (its mangled name).

    Raises CompileError where it is no cubin, is damaged, or has no such kernel.
    """
    try:
        return _read(cubin, entry)
    except (ELFError, struct.error, LookupError, ValueError, AttributeError, TypeError) as error:
        raise CompileError(f"the machine code is damaged: {error}") from error


def _read(cubin: bytes, entry: str) -> CubinKernel:
    elf = open_cubin(cubin)
    code = elf.get_section_by_name(f".text.{entry}")
    if code is None:
        raise CompileError(
            f"the machine code has no kernel '{entry}'",
            hint=f"it has: {', '.join(entries(cubin)) or 'none'}",
        )
    symbols = _symbols(elf)
    own = dict(_attributes(elf, f".nv.info.{entry}"))
    frames = _by_symbol(elf, symbols, _Attribute.FRAME_SIZE)
    stack = _by_symbol(elf, symbols, _Attribute.MIN_STACK_SIZE).get(entry, UNBOUNDED)
    place, size = struct.unpack("<HH", own.get(_Attribute.PARAM_CBANK, bytes(8))[4:8])
    base = _shared_base(elf)
    shared = elf.get_section_by_name(f".nv.shared.{entry}")
    return CubinKernel(
        entry=entry,
        target=_target(elf),
        code=code.data(),
        registers=_registers(elf, symbols, entry, code),
        static_shared_bytes=max(0, int(shared["sh_size"]) - base) if shared is not None else 0,
        shared_base=base,
        stack_bytes=None if stack == UNBOUNDED else stack,
        frame_bytes=frames.get(entry, 0),
        # Before CUDA 13 the number stood in the flags of the section.
        barriers=own[_Attribute.NUM_BARRIERS][0]
        if _Attribute.NUM_BARRIERS in own
        else int(code["sh_flags"]) >> _BARRIERS_FLAG & 0x7F,
        max_threads=_extents(own.get(_Attribute.MAX_THREADS)),
        required_threads=_extents(own.get(_Attribute.REQNTID)),
        parameter_offset=place,
        parameter_bytes=size,
        parameters=_parameters(elf, entry),
        banks=_banks(elf, symbols, entry),
        functions=_functions(elf, symbols, entry),
        variables=_variables(elf, symbols),
        externals=tuple(s.name for s in symbols if _is_external(s)),
        relocations=_relocations(elf, symbols, code.name),
        exits=_words(own.get(_Attribute.EXIT_INSTR_OFFSETS, b"")),
        indirect_branches=_indirect_branches(own.get(_Attribute.INDIRECT_BRANCH_TARGETS, b"")),
    )


def open_cubin(cubin: bytes) -> ELFFile:
    """The ELF file; raises CompileError where it is no cubin."""
    try:
        elf = ELFFile(io.BytesIO(cubin))
        machine = elf["e_machine"]
    except ELFError as error:
        raise CompileError(f"this is no cubin: {error}") from error
    if machine != "EM_CUDA":
        raise CompileError(f"this is no cubin: an ELF file for {machine}")
    return elf


def _target(elf: ELFFile) -> int:
    flags = int(elf["e_flags"])
    if elf.header["e_ident"]["EI_ABIVERSION"] <= _OLD_ABI:
        return flags & 0xFF
    return flags >> 8 & 0xFF


def _symbols(elf: ELFFile) -> list[Any]:
    table: Any = elf.get_section_by_name(".symtab")
    return list(table.iter_symbols()) if table is not None else []


def _attributes(elf: ELFFile, section: str) -> Iterator[tuple[int, bytes]]:
    """(attribute, value) pairs of an ``.nv.info`` section."""
    found = elf.get_section_by_name(section)
    data = found.data() if found is not None else b""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        if form == _SIZED_VALUE:
            yield attribute, data[at + 4 : at + 4 + size]
            at += 4 + size
        else:
            yield attribute, data[at + 2 : at + 4]
            at += 4


def _by_symbol(elf: ELFFile, symbols: list[Any], wanted: _Attribute) -> dict[str, int]:
    """Values of an attribute that the module's ``.nv.info`` gives per function."""
    found = {}
    for attribute, value in _attributes(elf, ".nv.info"):
        if attribute == wanted:
            index, figure = struct.unpack("<II", value)
            found[symbols[index].name] = figure
    return found


def _registers(elf: ELFFile, symbols: list[Any], entry: str, code: Any) -> int:
    counts = _by_symbol(elf, symbols, _Attribute.REGCOUNT)
    # Before CUDA 11 the count stood in the section's header, where all but the newest keep it too.
    return counts.get(entry, int(code["sh_info"]) >> 24)


def _shared_base(elf: ELFFile) -> int:
    """Address where the kernel's own shared memory begins. From compute capability 9.0 on it lies
    behind 1 KB that the system reserves, and the code adds that offset itself."""
    return 1024 if elf.get_section_by_name(".nv.shared.reserved.0") is not None else 0


def _extents(value: bytes | None) -> tuple[int, int, int] | None:
    if value is None:
        return None
    x, y, z = struct.unpack("<III", value)
    return x, y, z


def _words(value: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(value) // 4}I", value)


def _parameters(elf: ELFFile, entry: str) -> tuple[CubinParameter, ...]:
    found = []
    for attribute, value in _attributes(elf, f".nv.info.{entry}"):
        if attribute == _Attribute.KPARAM_INFO:
            _, index, offset, packed = struct.unpack("<IHHI", value)
            found.append(CubinParameter(index, offset, packed >> 18))
        elif attribute == _Attribute.KPARAM_INFO_V2:
            _, index, offset, size, _ = struct.unpack("<IHHHH", value)
            found.append(CubinParameter(index, offset, size))
    return tuple(sorted(found, key=lambda p: p.index))


def _banks(elf: ELFFile, symbols: list[Any], entry: str) -> tuple[ConstantBank, ...]:
    found = []
    for section in elf.iter_sections():
        match = _MICROSECTION.fullmatch(section.name)
        if match and match["kernel"] in (None, entry):
            found.append(
                ConstantBank(
                    int(match["bank"]), section.data(), _relocations(elf, symbols, section.name)
                )
            )
    return tuple(sorted(found, key=lambda b: b.bank))


def _functions(elf: ELFFile, symbols: list[Any], entry: str) -> tuple[Function, ...]:
    index = elf.get_section_index(f".text.{entry}")
    return tuple(
        sorted(
            (
                Function(s.name, int(s["st_value"]), int(s["st_size"]))
                for s in symbols
                if s.entry.st_info.type == "STT_FUNC" and s["st_shndx"] == index and s.name != entry
            ),
            key=lambda f: f.offset,
        )
    )


def _variables(elf: ELFFile, symbols: list[Any]) -> tuple[Variable, ...]:
    found = []
    relocations: dict[str, tuple[Relocation, ...]] = {}
    for symbol in symbols:
        if symbol.entry.st_info.type != "STT_OBJECT" or isinstance(symbol["st_shndx"], str):
            continue
        section = elf.get_section(symbol["st_shndx"])
        start, size = int(symbol["st_value"]), int(symbol["st_size"])
        empty = section["sh_type"] == "SHT_NOBITS"
        data = b"" if empty else section.data()[start : start + size]
        if section.name not in relocations:
            relocations[section.name] = _relocations(elf, symbols, section.name)
        inside = tuple(
            Relocation(r.offset - start, r.type, r.symbol, r.addend)
            for r in relocations[section.name]
            if start <= r.offset < start + size
        )
        found.append(Variable(symbol.name, section.name, start, size, data, inside))
    return tuple(found)


def _is_external(symbol: Any) -> bool:
    return (
        symbol["st_shndx"] == "SHN_UNDEF"
        and bool(symbol.name)
        and symbol.entry.st_info.type == "STT_FUNC"
    )


def _relocations(elf: ELFFile, symbols: list[Any], section: str) -> tuple[Relocation, ...]:
    found = []
    for prefix in (".rel", ".rela"):
        table: Any = elf.get_section_by_name(prefix + section)
        if table is None:
            continue
        for r in table.iter_relocations():
            addend = int(r["r_addend"]) if table.is_RELA() else 0
            symbol = symbols[r["r_info_sym"]].name
            found.append(Relocation(int(r["r_offset"]), int(r["r_info_type"]), symbol, addend))
    return tuple(found)


def _indirect_branches(value: bytes) -> tuple[IndirectBranch, ...]:
    found = []
    at = 0
    while at < len(value):
        offset, _, count = struct.unpack_from("<III", value, at)
        targets = struct.unpack_from(f"<{count}I", value, at + 12)
        found.append(IndirectBranch(offset, targets))
        at += 12 + 4 * count
    return tuple(found)
