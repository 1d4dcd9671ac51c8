"""The elements of a one-dimensional shared array of the source itself, which may be spread.

``temp[e]`` may stand anywhere in memory, say at ``temp[e + e / 32]``, as long as every access of
the array names an element by its index, and every one is changed alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.view.staging.copies import own_array, static_shape
from placewise.kernel.view.staging.uses import (
    RefusedError,
    indexed_accesses,
    is_factor,
    last_length,
)
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node, is_shared

_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)
_DYNAMIC = re.compile(rb"\bextern\b[^;{}]*\b__shared__\b|\b__shared__\b[^;{}]*\bextern\b")


@dataclass(frozen=True)
class OwnElements:
    """The elements of a shared array, and what to edit to spread them. Byte ranges are those of the
    source."""

    name: str
    element_bytes: int
    elements: int | None
    """How many there are; None where the launch says so (dynamic shared memory)."""
    length: tuple[int, int] | None
    """Byte range of the expression that says how many there are; None where the launch does."""
    is_factor: bool
    """Whether that expression needs no parentheses beside an operator."""
    indices: tuple[tuple[int, int], ...]
    """Byte range of the index of each access."""
    line: int
    accesses: frozenset[int]
    """Lines that access the array."""


def own_elements(case: Case, name: str) -> OwnElements:
    """The elements of the kernel's own shared array ``name``, of one dimension.

    Raises UnsupportedError, with the line and the reason, where an access may reach an element in
    another way than by its index.
    """
    kernel = parse_kernel(case)
    declared = own_array(case, kernel, name)
    try:
        return _elements(kernel, declared)
    except RefusedError as error:
        raise UnsupportedError(
            f"elements of shared array '{name}' cannot be spread: {error.reason} "
            f"(line {error.line})",
            where=case.filename,
        ) from None


def _elements(kernel: ParsedKernel, declared: Node) -> OwnElements:
    if kernel.errors:
        raise RefusedError("the parser does not understand all of the file", declared)
    length = _length(kernel, declared)
    accesses = indexed_accesses(kernel, declared)
    shape = static_shape(declared)
    return OwnElements(
        declared.name,
        accesses.element_bytes,
        shape[0] if shape else None,
        length,
        length is not None and is_factor(kernel, *length),
        accesses.indices,
        declared.line,
        accesses.lines,
    )


def _length(kernel: ParsedKernel, declared: Node) -> tuple[int, int] | None:
    """Byte range of the number of elements between the brackets of a declaration, None of dynamic
    shared memory. Raises where the array is neither."""
    if declared.type_kind == "INCOMPLETEARRAY":
        others = (n for part in (kernel.body, *kernel.functions) for n in part.walk())
        for other in others:
            dynamic = is_shared(other) and other.type_kind == "INCOMPLETEARRAY"
            if dynamic and other is not declared:
                raise RefusedError("another array begins where it does", other)
        if b"dynamic_smem" in kernel.text or b"total_smem" in kernel.text:
            raise RefusedError("the kernel may ask how much shared memory it has", declared)
        own = kernel.text[declared.start : declared.end] if declared.start >= 0 else b""
        code = _COMMENT.sub(b" ", kernel.text)
        if len(_DYNAMIC.findall(code)) != 1 or not _DYNAMIC.search(own):
            raise RefusedError("another array of the file may begin where it does", declared)
        return None
    if declared.type_kind != "CONSTANTARRAY" or len(static_shape(declared)) != 1:
        raise RefusedError("it has not one dimension of fixed size", declared)
    return last_length(kernel, declared, 1)
