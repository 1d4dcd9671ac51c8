"""Declarations of a kernel that do not define it.

A rewrite that replaces a parameter changes a prototype in the same file along with the definition.
One in an included file keeps the old parameters: it then declares another function of that name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TEMPLATE = "FUNCTION_TEMPLATE"


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


def _prototype(
    kernel: Any, other: Any, filename: str, offset: Callable[[Any], int]
) -> Prototype | None:
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
