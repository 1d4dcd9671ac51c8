"""Constant and shared memory that a source's own variables take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def constant_bytes(declarations: Iterable[Any]) -> int:
    """Bytes of the ``__constant__`` variables among libclang's cursors ``declarations``."""
    return sum(_bytes(d) for d in declarations if _is_variable(d, "CUDACONSTANT_ATTR"))


def static_shared_bytes(kernel: Any, functions: Iterable[Any]) -> int:
    """Bytes of the ``__shared__`` variables in the body of libclang's cursor ``kernel`` and in
    those ``functions`` of its file that are no kernels themselves.

    Dynamic arrays, and sizes that a template leaves open, count nothing.
    """
    bodies = [kernel, *(f for f in functions if not _has(f, "CUDAGLOBAL_ATTR"))]
    return sum(
        _bytes(inside)
        for body in bodies
        for inside in body.walk_preorder()
        if _is_variable(inside, "CUDASHARED_ATTR")
    )


def _is_variable(cursor: Any, attribute: str) -> bool:
    return cursor.kind.name == "VAR_DECL" and _has(cursor, attribute)


def _has(cursor: Any, attribute: str) -> bool:
    return any(child.kind.name == attribute for child in cursor.get_children())


def _bytes(cursor: Any) -> int:
    return max(0, int(cursor.type.get_size()))
