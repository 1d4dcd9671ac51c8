"""Declarations of a kernel that do not define it.

A rewrite that replaces a parameter changes a prototype in the same file along with the definition.
One in an included file keeps the old parameters: it then declares another function of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TEMPLATE = "FUNCTION_TEMPLATE"
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OF_INSTANCE = re.compile(rb"\btemplate\b(?!\s*<\s*[^>\s])")


@dataclass(frozen=True)
class Prototype:
    """One declaration of the kernel besides its definition."""

    where: str
    """``line 12``, or ``header.h:12`` of an included file."""
    parameters: tuple[tuple[int, int], ...]
    """Byte ranges of its parameters in the kernel's file; empty in an included file."""
    binds: bool
    """The kernel must keep its parameters: the prototype cannot be changed, and beside it the
    kernel cannot have others."""


def prototypes(
    kernel: Any, others: list[Any], filename: str, offset: Callable[[Any], int]
) -> tuple[Prototype, ...]:
    """The prototypes of libclang's cursor ``kernel`` among ``others``, declarations of its file
    and those that it includes; ``offset`` gives the place of a location in ``filename``."""
    found = (_prototype(kernel, other, filename, offset) for other in others)
    return tuple(p for p in found if p is not None)


@dataclass(frozen=True)
class NamedInstance:
    """``template __global__ void k<float>(const float *);``, or a definition for one type."""

    line: int
    arguments: str
    """``<float>`` without blanks; empty where they follow from the parameters."""


def named_instances(text: bytes, kernel: str, start: int, end: int) -> tuple[NamedInstance, ...]:
    """The instances of a kernel template that its file names besides the definition in bytes
    ``start:end``. libclang has no cursors for them."""
    text = _COMMENT.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), text)
    name = kernel.partition("<")[0].rpartition("::")[2].strip().encode()
    found = []
    for match in re.finditer(rb"\b%s\b\s*(<[^()]*>)?\s*\(" % re.escape(name), text):
        at = match.start()
        first = max(text.rfind(mark, 0, at) for mark in (b";", b"{", b"}")) + 1
        if not start <= at < end and _OF_INSTANCE.search(text, first, at):
            arguments = b"".join((match[1] or b"").split()).decode()
            found.append(NamedInstance(text.count(b"\n", 0, at) + 1, arguments))
    return tuple(found)


def _prototype(
    kernel: Any, other: Any, filename: str, offset: Callable[[Any], int]
) -> Prototype | None:
    """A declaration as a prototype of ``kernel``; None where it is none."""
    if not other.kind.name.startswith("FUNCTION") or other.spelling != kernel.spelling:
        return None
    file = other.location.file
    if other.is_definition() or file is None:
        return None
    # Canonical types, since a prototype may leave out the ``const`` of a parameter's own value.
    same = other.type.get_canonical().spelling == kernel.type.get_canonical().spelling
    is_template = _TEMPLATE in (kernel.kind.name, other.kind.name)
    if file.name != filename:
        where = f"{Path(file.name).name}:{other.location.line}"
        binds = is_template or other.mangled_name == other.spelling
        return Prototype(where, (), binds) if same else None
    declared = [c for c in other.get_children() if c.kind.name == "PARM_DECL"]
    ranges = tuple((offset(c.extent.start), offset(c.extent.end)) for c in declared)
    whole = all(end > start for start, end in ranges)
    return Prototype(f"line {other.location.line}", ranges, is_template or not same or not whole)
