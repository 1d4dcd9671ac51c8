"""Numbers in the types of a source, as far as its text tells: names of NumPy's types for those of
C++, for names that the source gives them, and for the members of its structs."""

from __future__ import annotations

import re
from dataclasses import dataclass

DTYPES = {
    "float": "float32", "double": "float64", "int": "int32", "unsigned": "uint32",
    "unsigned int": "uint32", "char": "int8", "unsigned char": "uint8", "short": "int16",
    "unsigned short": "uint16", "long": "int64", "long long": "int64", "size_t": "uint64",
    "unsigned long": "uint64", "unsigned long long": "uint64", "bool": "bool", "half": "float16",
    "__half": "float16", "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16",
    "uint16_t": "uint16", "int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64",
    "uint64_t": "uint64", "uint": "uint32", "uchar": "uint8", "ushort": "uint16",
}  # fmt: skip
VECTOR = re.compile(r"(float|double|int|uint|char|uchar|short|ushort)([234])")
"""A type of CUDA's with several numbers: their type, and how many."""
# Every part has a bound: without, an unclosed bracket that comes often takes quadratic time.
_ALIAS = re.compile(
    r"\btypedef\s+(?P<old>\w+(?:\s+\w+){0,2}?)\s+(?P<new>\w+)\s*;"
    r"|\busing\s+(?P<new2>\w+)\s*=\s*(?P<old2>\w+(?:\s+\w+){0,2})\s*;"
    r"|#[ \t]*define[ \t]+(?P<new3>\w+)[ \t]+(?P<old3>\w+(?:[ \t]+\w+){0,2})[ \t]*$",
    re.M,
)
_STRUCT = re.compile(
    r"\bstruct\s*(?:__align__\s*\(\d+\)\s*)?(?P<tag>\w+)?\s*\{(?P<body>[^{}]{1,4000})\}"
    r"\s*(?P<name>\w+)?\s*;"
)
_MEMBERS = re.compile(r"(?P<kind>\w+(?:\s+\w+){0,2}?)\s+(?P<names>\w+[\w\s,\[\]]*)")
_INITIAL = re.compile(r"=[^,;]*")
_MEMBER = re.compile(r"(?P<name>\w+)\s*(?:\[\s*(?P<count>[1-9]\d{0,3})\s*\])?")


@dataclass(frozen=True)
class DraftedMember:
    """A member of a struct: ``count`` numbers, or one where it is no array (``count`` 0)."""

    name: str
    dtype: str
    count: int


@dataclass(frozen=True)
class DraftedTypes:
    """What a source's text says of its types."""

    dtypes: dict[str, str]
    """NumPy's name of each type of one number."""
    structs: dict[str, tuple[DraftedMember, ...]]
    """Members of each struct that holds nothing but numbers."""


def drafted_types(text: str) -> DraftedTypes:
    """Types of numbers and structs that ``text``, without comments, names."""
    dtypes = dict(DTYPES)
    for match in _ALIAS.finditer(text):
        old = match["old"] or match["old2"] or match["old3"]
        new = match["new"] or match["new2"] or match["new3"]
        known = dtypes.get(" ".join(old.split()))
        if known is not None:
            dtypes.setdefault(new, known)
    structs: dict[str, tuple[DraftedMember, ...]] = {}
    for match in _STRUCT.finditer(text):
        members = _members(match["body"], dtypes)
        if members:
            structs |= {name: members for name in (match["tag"], match["name"]) if name}
    return DraftedTypes(dtypes, structs)


def _members(body: str, dtypes: dict[str, str]) -> tuple[DraftedMember, ...]:
    """Members of a struct; none where one of its declarations is not of plain numbers."""
    found = []
    plain = _INITIAL.sub("", body)
    for declaration in filter(None, (part.strip() for part in plain.split(";"))):
        match = _MEMBERS.fullmatch(declaration)
        dtype = dtypes.get(" ".join(match["kind"].split())) if match else None
        parts = (
            [_MEMBER.fullmatch(one.strip()) for one in match["names"].split(",")] if match else []
        )
        if dtype is None or not all(parts):
            return ()
        found += [DraftedMember(m["name"], dtype, int(m["count"] or 0)) for m in parts if m]
    return tuple(found)
