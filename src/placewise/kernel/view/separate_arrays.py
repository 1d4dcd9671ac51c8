"""Arrays of numbers that a kernel indexes alike, so that they could be fields of one struct.

Arrays of the same length such as ``x``, ``y`` and ``z`` are a structure of arrays (SoA) without a
name; each access ``x[i]`` becomes that of a field, ``p[i].x``, where they are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import ArrayArgument
from placewise.kernel.source import SourceView
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import above_comment, balanced

_WRAPPERS = ("PAREN_EXPR", "UNEXPOSED_EXPR")


@dataclass(frozen=True)
class ElementUse:
    """One access ``x[index]``, as byte ranges of the source."""

    array: str
    start: int
    end: int
    index: tuple[int, int]
    line: int


@dataclass(frozen=True)
class SeparateArrays:
    """Arrays that can be joined, and every use of them."""

    arrays: tuple[str, ...]
    """In the order of the kernel's parameters."""
    uses: tuple[ElementUse, ...]
    above: int
    """Offset of the line that the kernel, or the comment above it, begins with."""


def separate_arrays(case: Case, view: SourceView, arrays: Sequence[str]) -> SeparateArrays:
    """Every use of some arrays of ``case``, whose arguments have their parameters' names.

    Raises CaseError for what is no array of numbers, for arrays of different lengths or fewer than
    two; UnsupportedError, with the line, where one is used other than as ``x[index]``.
    """
    names = tuple(p.name for p in view.parameters if p.name in arrays)
    _check(case, view, arrays, names)
    kernel = parse_kernel(case)
    uses = tuple(use for name in names for use in _uses(kernel, name, case.filename))
    line_start = kernel.text.rfind(b"\n", 0, kernel.signature_start) + 1
    return SeparateArrays(names, uses, above_comment(kernel.text, line_start))


def joinable(case: Case, view: SourceView) -> tuple[tuple[str, ...], ...]:
    """Groups of arrays that can be joined and of which each is indexed by the same expression as
    another one of its group."""
    kernel = parse_kernel(case)
    lengths = {a.name: a.data.size for a in case.inputs.arguments if isinstance(a, ArrayArgument)}
    seen: dict[tuple[int, str], set[str]] = {}
    for parameter in view.parameters:
        name = parameter.name
        if not parameter.is_pointer or parameter.element_dtype is None or name not in lengths:
            continue
        try:
            _check(case, view, (name, name), (name, name))
            uses = _uses(kernel, name, case.filename)
        except (CaseError, UnsupportedError):
            continue
        for use in uses:
            index = b"".join(kernel.text[slice(*use.index)].split()).decode()
            seen.setdefault((lengths[name], index), set()).add(name)
    groups: list[set[str]] = []
    for together in seen.values():
        touching = [g for g in groups if g & together]
        groups = [g for g in groups if not g & together]
        groups.append(set().union(together, *touching))
    order = [p.name for p in view.parameters]
    found = [tuple(sorted(g, key=order.index)) for g in groups if len(g) > 1]
    return tuple(sorted(found, key=lambda group: order.index(group[0])))


def _check(case: Case, view: SourceView, wanted: Sequence[str], names: tuple[str, ...]) -> None:
    """Raise CaseError unless the arrays are at least two, of numbers, and of one length."""
    known = {p.name: p for p in view.parameters}
    for name in wanted:
        parameter = known.get(name)
        if parameter is None or not parameter.is_pointer or parameter.element_dtype is None:
            raise CaseError(
                f"'{name}' is no array of numbers of the kernel's",
                where="join",
                hint="arrays: " + ", ".join(p.name for p in view.parameters if p.is_pointer),
            )
    if len(names) < 2:
        raise CaseError("one array alone cannot be joined", where="join")
    lengths = {}
    for argument in case.inputs.arguments:
        if argument.name in names:
            if not isinstance(argument, ArrayArgument):
                raise CaseError(f"argument '{argument.name}' is no array", where="join")
            lengths[argument.name] = argument.data.size
    first, *others = names
    for name in others:
        if lengths[name] != lengths[first]:
            raise CaseError(
                f"'{first}' has {lengths[first]} elements and '{name}' {lengths[name]}; only "
                "arrays of one length can be joined",
                where="join",
            )


def _uses(kernel: ParsedKernel, name: str, filename: str) -> list[ElementUse]:
    parameter = next(p for p in kernel.parameters if p.name == name)
    for start, end in kernel.skipped:
        if kernel.body.start <= start < kernel.body.end and name.encode() in kernel.text[start:end]:
            line = kernel.text.count(b"\n", 0, start) + 1
            raise _refused(name, "is used in a branch left out by the preprocessor", line, filename)
    found = []
    for node in kernel.body.walk():
        if node.kind == "DECL_REF_EXPR" and node.target == parameter.id:
            found.append(_use(kernel, node, filename))
    return found


def _use(kernel: ParsedKernel, node: Node, filename: str) -> ElementUse:
    inner, around = node, node.parent
    while around is not None and around.kind in _WRAPPERS:
        inner, around = around, around.parent
    if around is None or around.kind != "ARRAY_SUBSCRIPT_EXPR" or around.children[0] is not inner:
        what = "is used other than by an index"
        raise _refused(node.name, what, node.line, filename)
    index = around.children[1]
    for part in (around, index, node):
        if part.start < 0 or part.end <= part.start or not balanced(_text(kernel, part)):
            raise _refused(node.name, "is accessed in a macro", node.line, filename)
    if _text(kernel, node) != node.name.encode():
        raise _refused(node.name, "is accessed in a macro", node.line, filename)
    return ElementUse(node.name, around.start, around.end, (index.start, index.end), node.line)


def _text(kernel: ParsedKernel, node: Node) -> bytes:
    return kernel.text[node.start : node.end]


def _refused(name: str, what: str, line: int, filename: str) -> UnsupportedError:
    return UnsupportedError(f"'{name}' {what} (line {line}), it cannot be joined", where=filename)
