"""Element types as CUDA C++ spells them, and what each way of access can read."""

from __future__ import annotations

import re

_DTYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
    "__half": "float16",
}
"""NumPy dtype by canonical type, for 64-bit Linux, as NVRTC has it."""
_VECTOR = re.compile(r"u?(char|short|int|long|longlong|float|double)([1234])$")
_TEXEL_SCALARS = frozenset(
    {"char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int",
     "float"}
)  # fmt: skip
_WIDE_SCALARS = frozenset({"double", "long", "unsigned long", "long long", "unsigned long long"})


_RARE_NUMBERS = frozenset({"__nv_bfloat16", "__int128", "unsigned __int128"})
HALVES = frozenset({"__half", "__half2", "__nv_bfloat16", "__nv_bfloat162"})
"""CUDA's numbers of 16 bits and pairs of them: classes, whose conversions only read."""


def dtype_of(type_text: str) -> str | None:
    """NumPy dtype name of a canonical scalar type, None for structs and vectors."""
    return _DTYPES.get(type_text)


def type_of(dtype: str) -> str | None:
    """The canonical type of a NumPy dtype's name, None where no scalar type is the same."""
    return next((text for text, name in reversed(_DTYPES.items()) if name == dtype), None)


def unqualified(type_text: str) -> str:
    """A type without ``const`` and ``volatile``."""
    return type_text.replace("const ", "").replace("volatile ", "").strip()


def is_integer(type_text: str) -> bool:
    """Whether a canonical type is a whole number."""
    dtype = _DTYPES.get(type_text, "")
    return dtype.startswith(("int", "uint")) or dtype == "bool"


def is_number(type_text: str) -> bool:
    """Whether a canonical type is a number of C: whole, real or bool, no vector and no half."""
    return type_text in _DTYPES and not type_text.startswith("__")


def is_one_number(type_text: str) -> bool:
    """Whether a canonical type is a number of C or CUDA, halves among them, and no vector."""
    return type_text in _DTYPES or type_text in _RARE_NUMBERS


def is_vector(type_text: str) -> bool:
    """Whether a canonical type is a vector of CUDA, such as ``float4``."""
    return _VECTOR.match(type_text) is not None


def is_unsigned(type_text: str) -> bool:
    """Whether arithmetic in a canonical type wraps at zero."""
    return _DTYPES.get(type_text, "").startswith("uint")


def loads_by_intrinsic(type_text: str) -> bool:
    """Whether ``__ldg`` has an overload: numbers of 1 to 8 bytes and vectors of 2 or 4 of them, 16
    bytes at most (CUDA C++ Programming Guide, "Read-Only Data Cache Load Function")."""
    if type_text in HALVES:
        return True
    vector = _VECTOR.match(type_text)
    if vector is None:
        return type_text in _DTYPES and type_text != "bool"
    base, lanes = vector.groups()
    if type_text.startswith("u") and base in ("float", "double"):
        return False
    return lanes == "2" or (lanes == "4" and base in ("char", "short", "int", "float"))


def vector_parts(type_text: str) -> tuple[str, int] | None:
    """NumPy dtype of the numbers of a number or vector, and how many they are; None for other
    types."""
    dtype = _DTYPES.get(type_text)
    if dtype is not None:
        return dtype, 1
    vector = _VECTOR.match(type_text)
    if vector is None:
        return None
    base, lanes = vector.groups()
    base = "long long" if base == "longlong" else "signed char" if base == "char" else base
    known = _DTYPES.get(f"unsigned {base.removeprefix('signed ')}" if type_text[0] == "u" else base)
    return None if known is None else (known, int(lanes))


def texel(type_text: str) -> tuple[str, int] | None:
    """(texel type, lanes) to read an element of ``type_text`` from a linear texture.

    8- to 32-bit numbers and vectors of 1, 2 or 4 of them are texels themselves; 64-bit numbers
    travel as ``int2`` and pairs of doubles as ``int4``. None where there is no such texel.
    """
    if type_text in _TEXEL_SCALARS:
        return type_text, 1
    if type_text in _WIDE_SCALARS:
        return "int2", 2
    if type_text == "double2":
        return "int4", 4
    vector = _VECTOR.match(type_text)
    if vector is None:
        return None
    base, lanes = vector.groups()
    if base in ("long", "longlong", "double") or lanes == "3":
        return None
    return type_text, int(lanes)
