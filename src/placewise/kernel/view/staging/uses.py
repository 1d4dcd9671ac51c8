"""Where a kernel fills, reads and updates an array that its source declares itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.kernel.view.indices.values import BUILTINS
from placewise.kernel.view.pointers import is_atomic
from placewise.kernel.view.tree.around import STEPS, wrapped
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import LOOPS, WRAPPERS, Node
from placewise.kernel.view.tree.places import balanced, bracketed
from placewise.kernel.view.written_out.pointer_roots import changes

_BARRIER = "__syncthreads"
_EXITS = frozenset({"RETURN_STMT", "GOTO_STMT", "INDIRECT_GOTO_STMT", "ASM_STMT", "MS_ASM_STMT"})
_LEAVES_LOOP = frozenset({"BREAK_STMT", "CONTINUE_STMT"})
_TO_LINE_END = re.compile(rb"//|^[ \t]*#", re.M)
"""Comments and directives, behind which nothing can be written in their line."""


@dataclass(frozen=True)
class IndexedAccesses:
    """All accesses of an array that the kernel declares."""

    indices: tuple[tuple[int, int], ...]
    """Byte range, in the source, of the last index of each access, of which a bracket is next."""
    lines: frozenset[int]
    element_bytes: int
    """0 where it is not known."""


class RefusedError(Exception):
    """An array cannot be placed or laid out in another way: why, and where."""

    def __init__(self, reason: str, node: Node) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = node.line


def stores_and_reads(
    kernel: ParsedKernel, tile: Node, dimensions: int
) -> tuple[list[Node], list[Node]]:
    """The statements that store elements of the tile, and the reads of its elements. Raises
    RefusedError for any other use."""
    stores: list[Node] = []
    reads: list[Node] = []
    for node in kernel.body.walk():
        if node.kind != "DECL_REF_EXPR" or node.target != tile.id:
            continue
        if kernel.text[node.start : node.end].decode() != node.name:
            raise RefusedError("used inside a macro", node)
        access = element_at(node, dimensions)
        outer = _with_member(access)
        if outer.parent is not None and outer.bare() is access and is_assigned(access):
            stores.append(outer.parent)
        elif is_read(access):
            reads.append(access)
        else:
            raise RefusedError("changed or passed on", node)
    return stores, reads


def _with_member(access: Node) -> Node:
    """An access of an element, or of a member of it, with its parentheses."""
    outer = access
    while outer.parent is not None and outer.parent.kind in ("PAREN_EXPR", "MEMBER_REF_EXPR"):
        outer = outer.parent
    return outer


def is_assigned(access: Node) -> bool:
    """Whether an access of an element, or of a member of it, is assigned to by ``=``."""
    outer = _with_member(access)
    above = outer.parent
    return above is not None and _assigns(above) and above.children[0] is outer


def is_read(access: Node) -> bool:
    """Whether an access of an element, or of a member of it, is turned into a value."""
    above = _with_member(access).parent
    return above is not None and above.kind == "UNEXPOSED_EXPR" and above.type_kind != "POINTER"


def is_updated(kernel: ParsedKernel, access: Node) -> bool:
    """Whether an access is changed where it stands, or by an atomic function."""
    node = access
    while node.parent is not None and node.parent.kind == "PAREN_EXPR":
        node = node.parent
    above = node.parent
    if above is None:
        return False
    if above.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
        return above.children[0] is node
    if above.kind != "UNARY_OPERATOR":
        return False
    if above.operator != "&":
        return above.operator in STEPS
    call = next((a for a in above.above() if a.kind == "CALL_EXPR"), None)
    if call is None or not is_atomic(kernel, call):
        return False
    return len(call.children) > 1 and call.children[1].bare() is above


def indexed_accesses(kernel: ParsedKernel, declared: Node, dimensions: int = 1) -> IndexedAccesses:
    """The accesses of an array of so many dimensions, by which it may be laid out in another way.
    Raises RefusedError where an element is reached in another way than by its indices, where an
    index is not seen in the source, and where the name stands for something else, too, or in a
    branch that the preprocessor left out."""
    indices, lines, sizes, names = set(), set(), set(), {declared.location}
    for node in kernel.body.walk():
        if node.kind != "DECL_REF_EXPR" or node.target != declared.id:
            continue
        access = element_at(node, dimensions)
        if not (is_read(access) or is_assigned(access) or is_updated(kernel, access)):
            raise RefusedError("changed or passed on", node)
        if _binds_reference(access):
            raise RefusedError("passed on", node)
        if b"operator" in kernel.text and not _is_number(access.children[1]):
            raise RefusedError("its index is no number, and may have operators of its own", node)
        indices.add(_index(kernel.text, node, access))
        lines.add(node.line)
        sizes.add(access.size)
        names.add(node.start)
    for name, offset, line in kernel.identifiers:
        if name == declared.name and offset not in names:
            raise RefusedError(f"another use of the name in line {line}", declared)
    (element_bytes,) = sizes if len(sizes) == 1 else (0,)
    return IndexedAccesses(tuple(sorted(indices)), frozenset(lines), element_bytes)


def _binds_reference(access: Node) -> bool:
    """Whether a number is bound to a reference to a constant: as a value it would not be const."""
    above = _with_member(access).parent
    is_const = above is not None and above.type.startswith("const ")
    return is_const and access.type_kind != "RECORD" and is_read(access)


def _is_number(index: Node) -> bool:
    """Whether an index is a number before any conversion."""
    node = index
    while node.type_kind not in ("RECORD", "ENUM") and node.children:
        is_conversion = node.kind == "CALL_EXPR" and node.name.startswith("operator ")
        if is_conversion or node.kind not in WRAPPERS:
            return not is_conversion
        node = node.children[0]
    return node.type_kind not in ("RECORD", "ENUM")


def last_length(kernel: ParsedKernel, declared: Node, dimensions: int) -> tuple[int, int]:
    """Byte range of the text, without blanks, between the last brackets of the declaration of an
    array of so many dimensions. Raises RefusedError where it is no plain declaration."""
    own = kernel.text[declared.start : declared.end] if declared.start >= 0 else b""
    inside = own[own.rfind(b"[") + 1 : -1]
    plain = own.count(b"[") == dimensions and own.endswith(b"]") and balanced(own)
    if not plain or ends_lines(inside):
        raise RefusedError(f"it is not declared as 'type name{'[length]' * dimensions}'", declared)
    end = declared.end - 1
    return end - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())


def ends_lines(text: bytes) -> bool:
    """Whether an expression has comments or directives that take the rest of their line."""
    return _TO_LINE_END.search(text) is not None


def is_factor(kernel: ParsedKernel, start: int, end: int) -> bool:
    """Whether an expression needs no parentheses beside any operator: a number, a name, or a macro
    that stands for a number."""
    text = kernel.text[start:end].decode()
    bodies = [m.body for m in kernel.macros if start <= m.start < end]
    numbers = all(len(b) == 1 and b[0].text[:1].isdigit() for b in bodies)
    return re.fullmatch(r"\w+", text) is not None and numbers


def _index(text: bytes, name: Node, access: Node) -> tuple[int, int]:
    """Byte range of the index of an access. Raises where it is not to be seen in the source."""
    start, end = bracketed(access, text)
    written = text[name.start : name.end].decode(errors="replace") == name.name
    if not written or start >= end or not balanced(text[start:end]):
        raise RefusedError("used inside a macro", name)
    if ends_lines(text[start:end]):
        raise RefusedError("its index has a comment or directive of a whole line", name)
    return start, end


def element_at(name: Node, dimensions: int) -> Node:
    """The access of one element around a mention of the tile's name."""
    access = name
    for _ in range(dimensions):
        inner = wrapped(access)
        outer = inner.parent
        if outer is None or outer.kind != "ARRAY_SUBSCRIPT_EXPR" or outer.children[0] is not inner:
            raise RefusedError("used as a pointer", name)
        access = outer
    return access


def _assigns(node: Node) -> bool:
    """Whether a node assigns, of numbers or of structs."""
    return node.operator == "=" or (node.kind == "CALL_EXPR" and node.name == "operator=")


def indices_of(access: Node) -> tuple[Node, ...]:
    """The indices of an access to a tile's element, the first dimension's first."""
    base = access.children[0].bare()
    inner = indices_of(base) if base.kind == "ARRAY_SUBSCRIPT_EXPR" else ()
    return (*inner, access.children[1])


def fill_of(kernel: ParsedKernel, store: Node, others: tuple[Node, ...]) -> Node:
    """The whole statement that fills the tile: the store, or with the loops and conditions around
    it that do nothing else. ``others`` are further stores that belong to it."""
    statement = inner = store
    for outer in store.above():
        if outer is kernel.body or outer.kind not in ("COMPOUND_STMT", "FOR_STMT", "IF_STMT"):
            break
        if outer.kind == "COMPOUND_STMT" and len(outer.children) > 1:
            break
        if outer.kind == "IF_STMT" and not all(
            c is inner or any(o.within(c) for o in others) for c in outer.children[1:]
        ):
            break
        statement = inner = outer
    while statement.kind == "COMPOUND_STMT":
        statement = statement.children[0]  # a loop's body keeps its braces
    declared = {n.id for n in statement.walk() if n.kind == "VAR_DECL"}
    for node in statement.walk():
        own = node is store or node in others
        if changes(node) and not own and node.children[0].bare().target not in declared:
            raise RefusedError("its fill changes other variables", node)
        if node.kind in ("CALL_EXPR", "LAMBDA_EXPR") and not own:
            raise RefusedError("its fill calls a function", node)
    return statement


def barrier_behind(kernel: ParsedKernel, fill: Node) -> Node:
    """The first barrier behind the fill, in the innermost block around it that has one. All threads
    come by the fill before they come to it."""
    inner = fill
    for outer in fill.above():
        if outer.kind not in ("COMPOUND_STMT", "FOR_STMT"):
            raise RefusedError("filled under a condition", fill)
        barrier = next((c for c in outer.children if _is_barrier(c, inner.end)), None)
        if outer.kind == "COMPOUND_STMT" and barrier is not None:
            _check_all_fill(kernel, fill, barrier)
            return barrier
        if outer is kernel.body:
            break
        inner = outer
    raise RefusedError("no barrier of all threads follows its fill", fill)


def _is_barrier(statement: Node, behind: int) -> bool:
    """Whether a statement is a barrier of all threads, and stands behind an offset."""
    call = statement.bare()
    return statement.start >= behind and call.kind == "CALL_EXPR" and call.name == _BARRIER


def _check_all_fill(kernel: ParsedKernel, fill: Node, barrier: Node) -> None:
    """Raise where a thread may leave the kernel, or a round of a loop around the fill, without its
    part of the fill."""
    loops = [n for n in fill.above() if n.kind in LOOPS]
    for node in kernel.body.walk():
        before = node.start < fill.start or any(node.within(n) for n in loops)
        if node.kind in _EXITS and before:
            raise RefusedError("threads may leave before they fill their part", node)
        if node.kind in _LEAVES_LOOP and node.start < barrier.start:
            around = next((a for a in node.above() if a.kind in LOOPS), None)
            if around in loops:
                raise RefusedError("threads may leave before they fill their part", node)


def check_reads(reads: list[Node], barrier: Node) -> None:
    """Raise where a read may come before the barrier, or after the round of the loop around the
    fill."""
    block = barrier.parent
    for read in reads:
        if read.start < barrier.end:
            raise RefusedError("read before the barrier behind its fill", read)
        if block is not None and not read.within(block):
            raise RefusedError("read behind the loop that fills it", read)


def lone_barriers(kernel: ParsedKernel, stores: list[int]) -> tuple[Node, ...]:
    """The kernel's barriers, where they order nothing but shared memory: no store to global memory
    comes before one of them. ``stores`` are the offsets of these; empty where others stay."""
    if _names_global_variables(kernel):
        return ()
    calls = [n for n in kernel.body.walk() if n.kind == "CALL_EXPR"]
    own = {f.id for f in kernel.functions}
    waits = [n for n in calls if "sync" in n.name or n.target in own]
    loops = [a for n in waits for a in n.above() if a.kind in LOOPS]
    last = max((w.start for w in waits), default=0)
    if any(s < last or any(n.start <= s < n.end for n in loops) for s in stores):
        return ()
    alone = all(
        w.name == _BARRIER and w.parent is not None and w.parent.kind == "COMPOUND_STMT"
        for w in waits
    )
    return tuple(waits) if alone else ()


def _names_global_variables(kernel: ParsedKernel) -> bool:
    """Whether the body names variables of the file that threads may tell one another by."""
    declared = {n.id for n in kernel.body.walk() if n.kind in ("VAR_DECL", "PARM_DECL")}
    declared |= {p.id for p in kernel.parameters}
    constants = {c.name for c in kernel.constants}
    return any(
        n.kind == "DECL_REF_EXPR"
        and n.target not in declared
        and n.value is None
        and not n.type_kind.startswith("FUNCTION")
        and "fn type" not in n.type  # a function that the compiler knows
        and n.name not in (*BUILTINS, *constants)
        and "const" not in n.type
        for n in kernel.body.walk()
    )
