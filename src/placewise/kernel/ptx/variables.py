"""Variable and parameter declarations of PTX, with their initial values as bytes."""

from __future__ import annotations

import math
import re
import struct

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.ptx.module import Variable
from placewise.kernel.ptx.stream import Stream

_TYPE = re.compile(r"\.(b|u|s|f|bf)(8|16|32|64|128)(x2)?$")
_IGNORED = frozenset({".ptr", ".global", ".const", ".shared", ".local", ".managed"})
_MOST_REGISTERS = 1 << 24
"""Registers of one declaration: far more than compilers name. NVIDIA's assembler takes gigabytes of
memory for a hundred times as many."""
_MOST_BYTES = {"shared": 227 << 10, "local": 512 << 10, "const": 640 << 10, "param": 32_764}
"""Largest variable of a state space on any GPU (CUDA C++ Programming Guide, "Technical
Specifications"; PTX ISA, ".const" and ".param"). NVIDIA's assembler counts the sizes of larger ones
modulo 2^32, so that it accepts some. Global memory is bounded where it is allocated."""
_MOST_BYTES_SET = 1 << 30
"""Largest variable in global memory that has an initial value."""


def type_bytes(word: str) -> int | None:
    """Bytes of a fundamental type such as ``.b32``, or None if ``word`` is not one."""
    if word in (".texref", ".samplerref", ".surfref"):
        return 8
    found = _TYPE.match(word)
    return int(found[2]) * (2 if found[3] else 1) // 8 if found else None


# One branch for each part of the grammar, in the order of the text.
def parse_variable(s: Stream, *, external: bool, terminated: bool = True) -> list[Variable]:
    """Parse ``.space [.align n] .type name[n] [= initialiser] {, name} ;`` from its space on."""
    line = s.line()
    space = s.take()[1:]
    align: int | None = None
    element = 0
    vector = 1
    is_float = False
    type_ = ""
    while s.peek().startswith("."):
        word = s.take()
        if word == ".align":
            align = s.integer()
        elif word in (".v2", ".v4", ".v8"):
            vector = int(word[2:])
        elif word == ".attribute":
            s.skip_group("(", ")")
        elif word in _IGNORED:
            if word == ".ptr":
                # `.ptr [.space] .align n` states where a parameter points, not its own alignment.
                while s.peek() in _IGNORED:
                    s.take()
                if s.accept(".align"):
                    s.integer()
        else:
            size = type_bytes(word)
            if size is None:
                raise CaseError(f"unknown type '{word}' in PTX", where=s.where())
            element = size
            type_ = word[1:]
            is_float = word.startswith(".f")
    found: list[Variable] = []
    while True:
        name = s.take()
        count = 1
        while s.accept("["):
            count *= 0 if s.peek() == "]" else s.integer()
            s.expect("]")
        initial: bytes | None = None
        relocations: tuple[tuple[int, str, int], ...] = ()
        size = element * vector * count
        if s.accept("="):
            initial, relocations = _initialiser(s, element, is_float)
            size = max(size, len(initial))
        most = _MOST_BYTES.get(space, _MOST_BYTES_SET if initial is not None else size)
        if size > most:
            raise CaseError(
                f"'{name}' has {size:,} bytes; .{space} variables have at most {most:,}",
                where=s.where(),
            )
        if initial is not None:
            initial = initial.ljust(size, b"\0")
        found.append(
            Variable(
                name=name,
                space=space,
                size=size,
                align=align or element * vector,
                initial=initial,
                relocations=relocations,
                external=external,
                line=line,
                type=type_,
            )
        )
        if not terminated or not s.accept(","):
            break
    if terminated:
        s.expect(";")
    return found


def parse_registers(s: Stream) -> tuple[str, list[tuple[str, int | None]]]:
    """Parse ``.reg .type name, name<n>;``: the type, and each name with its count, None for one.

    Raises CaseError for more registers than :data:`_MOST_REGISTERS`.
    """
    s.expect(".reg")
    kind = s.take()[1:]
    declared: list[tuple[str, int | None]] = []
    while True:
        name, count = s.take(), None
        if s.accept("<"):
            count = s.integer()
            if count > _MOST_REGISTERS:
                raise CaseError(
                    f"{count:,} registers '{name}'; at most {_MOST_REGISTERS:,} are read",
                    where=s.where(),
                )
            s.expect(">")
        declared.append((name, count))
        if not s.accept(","):
            break
    s.expect(";")
    return kind, declared


def check_declarations(s: Stream) -> None:
    """Parse what the text declares in registers, shared and local memory, wherever it stands.

    Raises CaseError for what is too large: NVIDIA's assembler must not get it.
    """
    for at, word in enumerate(s.words):
        # Register parameters follow a parenthesis or a comma, the space of a pointer `.ptr`.
        if word in (".reg", ".shared", ".local") and s.words[at - 1] not in ("(", ",", ".ptr"):
            s.position = at
            if word == ".reg":
                parse_registers(s)
            else:
                parse_variable(s, external=False)


def parse_parameters(s: Stream) -> tuple[Variable, ...]:
    """Parse ``(.param .b32 a, …)``, the declarations of parameters or results."""
    s.expect("(")
    found: list[Variable] = []
    while not s.accept(")"):
        if s.peek() == ".reg":
            raise UnsupportedError("a device function with register parameters", where=s.where())
        found.extend(parse_variable(s, external=False, terminated=False))
        s.accept(",")
    return tuple(found)


def _initialiser(
    s: Stream, element: int, is_float: bool
) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
    """Bytes of a scalar or (nested) braced initialiser, and the addresses to fill in."""
    data = bytearray()
    relocations: list[tuple[int, str, int]] = []

    def value() -> None:
        if s.accept("{"):
            while not s.accept("}"):
                value()
                s.accept(",")
            return
        word = s.peek()
        if word and (word[0].isalpha() or word[0] in "_$"):
            generic = s.take()
            symbol = generic
            if generic == "generic":
                s.expect("(")
                symbol = s.take()
                s.expect(")")
            addend = 0
            while s.peek() in ("+", "-"):
                sign = 1 if s.take() == "+" else -1
                addend += sign * s.integer()
            relocations.append((len(data), symbol, addend))
            data.extend(bytes(element))
            return
        data.extend(_literal_bytes(s, element, is_float))

    value()
    return bytes(data), tuple(relocations)


def _literal_bytes(s: Stream, element: int, is_float: bool) -> bytes:
    negative = s.accept("-")
    word = s.take()
    kind = word[:2].lower()
    if kind in ("0f", "0d") and len(word) in (10, 18):
        raw = int(word[2:], 16)
        if kind == "0f":
            number: float = struct.unpack("<f", raw.to_bytes(4, "little"))[0]
        else:
            number = struct.unpack("<d", raw.to_bytes(8, "little"))[0]
        if (element == 4) == (kind == "0f"):
            bits = raw
            if negative:
                bits ^= 1 << (element * 8 - 1)
            return bits.to_bytes(element, "little")
        return struct.pack("<f" if element == 4 else "<d", -number if negative else number)
    if is_float or "." in word:
        number = float(word)
        return struct.pack(
            "<f" if element == 4 else "<d", math.copysign(number, -1) if negative else number
        )
    try:
        integer = int(word.rstrip("U"), 0)
    except ValueError:
        raise CaseError(f"expected a value in PTX, found '{word}'", where=s.where()) from None
    return ((-integer if negative else integer) % (1 << (8 * element))).to_bytes(element, "little")
