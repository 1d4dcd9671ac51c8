"""Arrays that each thread has for itself, in the kernel's body, and what to edit to move them.

The compiler keeps such an array in local memory where its indices are not known when it compiles.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.view.elements import is_one_number, is_vector
from placewise.kernel.view.staging.copies import static_shape
from placewise.kernel.view.staging.uses import RefusedError, ends_lines, indexed_accesses
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node, is_shared

_DECLARED = re.compile(rb"\s*(?P<type>[\w:<>, ]+?)\s*$")
_ZEROS = re.compile(rb"\s*=?\s*\{\s*(0(\.0*)?[fFuUlL]*)?\s*\}\s*")
"""An initialiser by which all elements are zero."""
_LENGTH = re.compile(rb"\s*\[([^][]+)\]")
_NOT_PLAIN = "it is not declared as 'type name[length]'"
_OTHER_STORAGE = re.compile(
    rb"\b(?:static|extern|const|constexpr|volatile|register|thread_local)\b"
)


@dataclass(frozen=True)
class LocalArray:
    """An array of each thread. Byte ranges are those of the source."""

    name: str
    bytes: int
    """Bytes of one thread's array."""
    lengths: tuple[str, ...]
    """How many elements it has in each dimension, as the source says it."""
    start: int
    """Where its declaration begins, with the type."""
    dimensions_end: int
    """Where the brackets of its declaration end."""
    initialiser_end: int
    """Where what sets all elements to zero ends; ``dimensions_end`` where nothing does."""
    end: int
    """Where the statement that declares it ends, behind the semicolon."""
    access_ends: tuple[int, ...]
    """Where each access ends, behind its last bracket."""
    line: int
    accesses: frozenset[int]
    """Lines that access the array."""


def local_array_names(case: Case) -> tuple[str, ...]:
    """Names of the arrays of numbers of elements that are known, which each thread has for itself,
    as the kernel's body declares them."""
    return tuple(dict.fromkeys(n.name for n in _declared(parse_kernel(case))))


def local_array(case: Case, name: str) -> LocalArray:
    """The array ``name`` that each thread has for itself.

    Raises UnsupportedError, with the line and the reason, where an access may reach an element in
    another way than by its index, and where the declaration is not a plain one.
    """
    kernel = parse_kernel(case)
    found = next((n for n in _declared(kernel) if n.name == name), None)
    if found is None:
        raise UnsupportedError(
            f"kernel '{case.kernel}' has no array '{name}' of its threads' own",
            where=case.filename,
            hint=f"theirs: {', '.join(local_array_names(case)) or 'none'}",
        )
    try:
        return _array(kernel, found)
    except RefusedError as error:
        raise UnsupportedError(
            f"array '{name}' of each thread stays in local memory: {error.reason} "
            f"(line {error.line})",
            where=case.filename,
        ) from None


@dataclass(frozen=True)
class LocalArraysAt:
    """The threads' own arrays that some lines of the source access."""

    movable: tuple[LocalArray, ...]
    refused: dict[str, str]
    """Why the others cannot be moved, by name."""


def local_arrays_at(case: Case, lines: Collection[int]) -> LocalArraysAt:
    """The arrays that each thread has for itself and that one of these lines accesses."""
    kernel = parse_kernel(case)
    uses = [n for n in kernel.body.walk() if n.kind == "DECL_REF_EXPR" and n.line in lines]
    used = {n.target for n in uses}
    declared = [n for n in _declared(kernel) if n.id in used and not _is_static(kernel, n)]
    movable, refused = [], {}
    for one in declared:
        try:
            movable.append(_array(kernel, one))
        except RefusedError as error:
            refused[one.name] = f"{error.reason} (line {error.line})"
    return LocalArraysAt(tuple(movable), refused)


def _is_static(kernel: ParsedKernel, declared: Node) -> bool:
    """Whether all threads have the array in common."""
    return re.search(rb"\bstatic\b", kernel.text[declared.start : declared.location]) is not None


def _declared(kernel: ParsedKernel) -> list[Node]:
    return [
        n
        for n in kernel.body.walk()
        if n.kind == "VAR_DECL" and n.type_kind == "CONSTANTARRAY" and not is_shared(n)
    ]


# One branch for each reason why an array cannot move.
def _array(kernel: ParsedKernel, declared: Node) -> LocalArray:
    """The array with what to edit; raises RefusedError where it cannot move."""
    if kernel.errors:
        raise RefusedError("the parser does not understand all of the file", declared)
    if [n.name for n in _declared(kernel)].count(declared.name) > 1:
        raise RefusedError("several arrays have this name", declared)
    statement, text = declared.parent, kernel.text
    block = statement.parent if statement is not None else None
    if statement is None or block is None or block.kind != "COMPOUND_STMT":
        raise RefusedError("it is not declared in a statement of its own", declared)
    if [c for c in statement.children if c.kind == "VAR_DECL"] != [declared]:
        raise RefusedError("its declaration has other variables", declared)
    if any(n.kind == "LAMBDA_EXPR" for n in kernel.body.walk()):
        raise RefusedError("a lambda may copy it", declared)
    before = text[declared.start : declared.location]
    if (
        declared.start < 0
        or not _DECLARED.fullmatch(before)
        or _has_other_storage(kernel, declared)
    ):
        raise RefusedError(_NOT_PLAIN, declared)
    element = declared.type.partition("[")[0].strip().removeprefix("struct ")
    if not is_one_number(element) and not is_vector(element):
        # Shared variables are not constructed.
        raise RefusedError("its elements are neither numbers nor vectors that change", declared)
    lengths, behind = _lengths(text, declared)
    set_to = text[behind : declared.end]
    if set_to.strip() and not _ZEROS.fullmatch(set_to):
        raise RefusedError("it is set to other values than zero where it is declared", declared)
    if set_to.strip() and not is_one_number(element):
        raise RefusedError("it is set where it is declared, and has no numbers", declared)
    end = text.find(b";", declared.end)
    if end < 0 or text[declared.end : end].strip():
        raise RefusedError("it is not declared in a statement of its own", declared)
    accesses = indexed_accesses(kernel, declared, len(lengths))
    return LocalArray(
        declared.name,
        prod(static_shape(declared)) * accesses.element_bytes,
        lengths,
        declared.start,
        behind,
        declared.end if set_to.strip() else behind,
        end + 1,
        tuple(text.index(b"]", end) + 1 for _, end in accesses.indices),
        declared.line,
        accesses.lines,
    )


def _lengths(text: bytes, declared: Node) -> tuple[tuple[str, ...], int]:
    """What stands between the brackets of a declaration, and where these end."""
    at = declared.location + len(declared.name.encode())
    lengths = []
    for _ in static_shape(declared):
        found = _LENGTH.match(text, at, declared.end)
        if found is None or ends_lines(found[1]):
            raise RefusedError(_NOT_PLAIN, declared)
        lengths.append(found[1].decode().strip())
        at = found.end()
    return tuple(lengths), at


def _has_other_storage(kernel: ParsedKernel, declared: Node) -> bool:
    """Whether a declaration says, maybe by a macro, that its variable is not one of the thread that
    it may change."""
    start, end = declared.start, declared.location
    macros = [m for m in kernel.macros if start <= m.start < end]
    written = " ".join(t.text for m in macros for t in m.body)
    return _OTHER_STORAGE.search(kernel.text[start:end] + b" " + written.encode()) is not None
