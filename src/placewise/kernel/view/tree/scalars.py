"""The numbers and addresses that a type of the source consists of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from clang import cindex

from placewise.kernel.source import Scalar
from placewise.kernel.view.elements import dtype_of, unqualified

MOST_SCALARS = 1024
"""Most numbers of one element that are told apart."""
_COMPLEX = re.compile(r"(?:^|::)complex<(float|double|__half)>$")
"""Complex numbers of CuPy, Thrust and libcu++, which keep the real part first."""
_ADDRESSES = frozenset({"POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE", "NULLPTR"})
_SIXTEEN_BITS = frozenset({"__nv_bfloat16"})
"""Numbers that NumPy has no type for: whoever passes them passes their bits."""


def scalars_of(type_: Any) -> tuple[Scalar, ...]:
    """What a value of libclang's type ``type_`` consists of, by offset.

    Empty for a type that is not complete or has more than :data:`MOST_SCALARS` numbers.
    """
    found = []
    for scalar in _within(type_.get_canonical(), 0):
        found.append(scalar)
        if len(found) > MOST_SCALARS:
            return ()
    return tuple(sorted(found, key=lambda s: s.offset))


def _within(type_: Any, at: int) -> Iterator[Scalar]:
    """The scalars of a canonical type at byte ``at``."""
    kind, text = type_.kind.name, unqualified(type_.spelling)
    if kind in ("CONSTANTARRAY", "VECTOR"):
        element = type_.element_type.get_canonical()
        size = element.get_size()
        for n in range(type_.element_count if size > 0 else 0):
            yield from _within(element, at + n * size)
        return
    if parts := _COMPLEX.search(text):
        # Known even where the parser has not read the class.
        part = np.dtype(dtype_of(parts[1]))
        yield from (Scalar(at + n * part.itemsize, part.itemsize, part.name) for n in (0, 1))
        return
    if (dtype := _dtype(type_, kind, text)) is not None:
        yield Scalar(at, type_.get_size(), dtype)
    elif kind == "RECORD" and type_.get_size() > 0:
        yield from _members(type_, at)


def _dtype(type_: Any, kind: str, text: str) -> str | None:
    """NumPy dtype name of a type that is one scalar, None for others."""
    if kind in _ADDRESSES:
        return "uint64"
    if text in _SIXTEEN_BITS:
        return "uint16"
    if kind == "ENUM":
        return f"int{8 * type_.get_size()}" if type_.get_size() > 0 else None
    return dtype_of(text)


def _members(type_: Any, at: int) -> Iterator[Scalar]:
    """The scalars of a struct's members; of one that cannot be told apart, all of it as unknown."""
    fields = list(type_.get_fields())
    offsets = [type_.get_offset(f.spelling) if f.spelling else -1 for f in fields]
    if not fields or min(offsets) < 0 or _is_mixed(type_, fields):
        yield Scalar(at, type_.get_size(), "")
        return
    for field, bits in zip(fields, offsets, strict=True):
        yield from _within(field.type.get_canonical(), at + bits // 8)


def _is_mixed(type_: Any, fields: list[Any]) -> bool:
    """Whether members share bytes, or lie behind those of a base class."""
    declaration = type_.get_declaration()
    if declaration.kind.name == "UNION_DECL" or any(f.is_bitfield() for f in fields):
        return True
    template = cindex.conf.lib.clang_getSpecializedCursorTemplate(declaration)
    declared = [declaration, *([template] if template is not None else [])]
    return any(c.kind.name == "CXX_BASE_SPECIFIER" for d in declared for c in d.get_children())


def members_of(type_: Any) -> tuple[tuple[str, int], ...]:
    """Names and byte offsets of a struct's own members, bit-fields left out."""
    if type_.kind.name != "RECORD":
        return ()
    fields = [f for f in type_.get_fields() if f.spelling and not f.is_bitfield()]
    # Negative offsets are libclang's errors, such as of a type that is not complete.
    places = [(f.spelling, type_.get_offset(f.spelling)) for f in fields]
    return tuple((name, bits // 8) for name, bits in places if bits >= 0)
