"""Text of device-side ``printf``: format strings and their arguments as CUDA takes them.

CUDA C++ Programming Guide, section "Formatted Output": flags ``# 0 - + space``, width and precision
(a number or ``*``), sizes ``h hh l ll``, types ``% c d i o u x X p e E f F g G a A s``. What is no
such conversion is printed as it stands. The text is what C's printf makes of it.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

_CONVERSION = re.compile(
    rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|j|z|t)?([%cdiouxXpeEfFgGaAs])"
)
_SIZES = {b"hh": 8, b"h": 16, b"l": 64, b"ll": 64, b"j": 64, b"z": 64, b"t": 64}

MOST_WIDTH = 1 << 12
"""Widths and precisions are cut to this many characters, so that no text fills the memory."""


@dataclass(frozen=True)
class Conversion:
    """One ``%`` of a format string."""

    flags: bytes
    width: int | None
    """-1 where the width is an argument."""
    precision: int | None
    """-1 where the precision is an argument."""
    bits: int
    """Bits of an integer."""
    type: str

    @property
    def argument_bytes(self) -> int:
        """Bytes that the value takes in the argument buffer."""
        return 8 if self.bits == 64 or self.type in "pseEfFgGaA" else 4


Piece = bytes | Conversion


def parse_format(text: bytes) -> tuple[Piece, ...]:
    """A format string as literal text and conversions."""
    pieces: list[Piece] = []
    end = 0
    for found in _CONVERSION.finditer(text):
        pieces.append(text[end : found.start()])
        end = found.end()
        flags, width, precision, size, type_ = found.groups()
        if type_ == b"%":
            pieces.append(b"%")
            continue
        pieces.append(
            Conversion(
                flags,
                _number(width),
                None if precision is None else _number(precision or b"0"),
                _SIZES.get(size, 32),
                type_.decode(),
            )
        )
    pieces.append(text[end:])
    return tuple(p for p in pieces if p)


def _number(text: bytes | None) -> int | None:
    if text is None:
        return None
    return -1 if text == b"*" else min(int(text), MOST_WIDTH)


def format_text(
    pieces: tuple[Piece, ...],
    arguments: Callable[[int, int], bytes],
    string: Callable[[int], bytes],
) -> bytes:
    """The text of one call.

    ``arguments(offset, size)`` are bytes of the argument buffer, where each argument lies at a
    multiple of its size; ``string(address)`` is a string in device memory.
    """
    out: list[bytes] = []
    offset = 0

    def take(size: int) -> bytes:
        nonlocal offset
        start = -(-offset // size) * size
        offset = start + size
        return arguments(start, size)

    for piece in pieces:
        if isinstance(piece, bytes):
            out.append(piece)
            continue
        flags, width, precision = piece.flags, piece.width, piece.precision
        if width == -1:
            width = struct.unpack("<i", take(4))[0]
            if width < 0:
                flags, width = flags + b"-", -width
            width = min(width, MOST_WIDTH)
        if precision == -1:
            given = struct.unpack("<i", take(4))[0]
            precision = None if given < 0 else min(given, MOST_WIDTH)
        value = take(piece.argument_bytes)
        out.append(_converted(piece, flags, width or 0, precision, value, string))
    return b"".join(out)


def _converted(
    piece: Conversion,
    flags: bytes,
    width: int,
    precision: int | None,
    value: bytes,
    string: Callable[[int], bytes],
) -> bytes:
    kind = piece.type
    number = int.from_bytes(value, "little")
    if kind == "c":
        return _padded(b"", value[:1], flags, width)
    if kind == "s":
        text = string(number) if number else b"(null)"
        return _padded(b"", text[:precision], flags, width)
    if kind == "p":
        return _padded(b"", f"{number:#x}".encode() if number else b"(nil)", flags, width)
    if kind in "diouxX":
        sign, digits = _integer(piece, flags, precision, number)
        return _padded(sign, digits, flags, width, zeros=precision is None)
    real = struct.unpack("<d", value)[0]
    sign = b"-" if math.copysign(1, real) < 0 else _plus(flags)
    if not math.isfinite(real):
        word = "nan" if math.isnan(real) else "inf"
        return _padded(sign, (word.upper() if kind.isupper() else word).encode(), flags, width)
    if kind in "aA":
        body = _hexadecimal(abs(real), precision, point=b"#" in flags).encode()
        if kind == "A":
            return _padded(sign + b"0X", body.upper(), flags, width, zeros=True)
        return _padded(sign + b"0x", body, flags, width, zeros=True)
    alternate = "#" if b"#" in flags else ""
    places = 6 if precision is None else precision
    return _padded(
        sign, (f"%{alternate}.{places}{kind}" % abs(real)).encode(), flags, width, zeros=True
    )


def _plus(flags: bytes) -> bytes:
    return b"+" if b"+" in flags else b" " if b" " in flags else b""


def _integer(
    piece: Conversion, flags: bytes, precision: int | None, number: int
) -> tuple[bytes, bytes]:
    """Sign or prefix, and digits."""
    number &= (1 << piece.bits) - 1
    kind = piece.type
    sign = b""
    if kind in "di":
        if number >> (piece.bits - 1):
            number, sign = (1 << piece.bits) - number, b"-"
        else:
            sign = _plus(flags)
    digits = format(number, {"x": "x", "X": "X", "o": "o"}.get(kind, "d"))
    if precision is not None:
        digits = "" if precision == 0 and number == 0 else digits.zfill(precision)
    if b"#" in flags:
        if kind == "o" and not digits.startswith("0"):
            digits = "0" + digits
        elif kind in "xX" and number:
            sign = b"0" + kind.encode()
    return sign, digits.encode()


def _padded(sign: bytes, body: bytes, flags: bytes, width: int, *, zeros: bool = False) -> bytes:
    room = width - len(sign) - len(body)
    if room <= 0:
        return sign + body
    if b"-" in flags:
        return sign + body + b" " * room
    if zeros and b"0" in flags:
        return sign + b"0" * room + body
    return b" " * room + sign + body


def _hexadecimal(value: float, precision: int | None, *, point: bool) -> str:
    """A number of ``%a`` without sign and ``0x``: one digit, then ``precision`` more."""
    text = value.hex().removeprefix("0x")
    mantissa, exponent = text.split("p")
    whole, _, fraction = mantissa.partition(".")
    digits = fraction.ljust(13, "0")
    if precision is None:
        digits = digits.rstrip("0")
    elif precision < 13:
        # Half to even, as the host's C library rounds.
        scaled = int(whole + digits, 16)
        shift = 4 * (13 - precision)
        rest, scaled = scaled & ((1 << shift) - 1), scaled >> shift
        half = 1 << (shift - 1)
        scaled += rest > half or (rest == half and scaled & 1)
        whole, digits = f"{scaled >> 4 * precision:x}", ""
        if precision:
            digits = f"{scaled & ((1 << 4 * precision) - 1):0{precision}x}"
    else:
        digits = digits.ljust(precision, "0")
    dot = "." if digits or point else ""
    return f"{whole}{dot}{digits}p{exponent}"
