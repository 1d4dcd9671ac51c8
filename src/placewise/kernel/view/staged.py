"""Shared tiles that only copy a piece of an array, so that the kernel could read the array itself.

``tile[t] = a[first + t]`` by all threads, a barrier, and then nothing but ``tile[i]``: each of
these is ``a[first + i]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_parameters
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import element_type
from placewise.kernel.view.tiles.chunks import changed_argument
from placewise.kernel.view.tiles.tile import make_bounder
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node, is_shared, shared_arrays
from placewise.kernel.view.tree.places import IndexTerm, balanced, term_place
from placewise.kernel.view.written_out.pointer_roots import changes
from placewise.space import Way

_BARRIER = "__syncthreads"
_WIDE = 1 << 31
_EXITS = frozenset({"RETURN_STMT", "GOTO_STMT", "INDIRECT_GOTO_STMT", "ASM_STMT", "MS_ASM_STMT"})


@dataclass(frozen=True)
class StagedTile:
    """A shared tile that can be undone, and what to edit for that. All offsets are byte ranges of
    the source."""

    name: str
    array: str
    """The parameter that it copies from."""
    first: str
    """C++ expression of the array's element that the tile's first one copies; ``0`` for the start.
    """
    declaration: tuple[int, int]
    fill: tuple[int, int]
    barrier: tuple[int, int] | None
    """The barrier behind the fill, where nothing else needs it."""
    reads: tuple[tuple[int, int, int, int], ...]
    """Of each read: start and end, and those of its index."""
    line: int


def staged_tile(case: Case, view: SourceView, name: str) -> StagedTile:
    """What to edit so that reads of the shared tile ``name`` read the array that it copies.

    Raises UnsupportedError with the line and the reason where the tile is more than a copy that
    all threads make before they read it.
    """
    kernel = parse_kernel(case)
    try:
        return _Staged(case, kernel, view, name).tile()
    except _NotACopyError as error:
        raise UnsupportedError(
            f"shared array '{name}' cannot go back to global memory: {error.reason} "
            f"(line {error.line})",
            where=case.filename,
        ) from None


class _NotACopyError(Exception):
    def __init__(self, reason: str, node: Node) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = node.line


class _Staged:
    def __init__(self, case: Case, kernel: ParsedKernel, view: SourceView, name: str) -> None:
        self.kernel = kernel
        self.text = kernel.text
        self.view = view
        found = [n for n in kernel.body.walk() if is_shared(n) and n.name == name]
        if len(found) != 1:
            raise UnsupportedError(
                f"kernel '{case.kernel}' has no shared array '{name}' of its own",
                where=case.filename,
                hint=f"its shared arrays: {', '.join(shared_arrays(kernel.body)) or 'none'}",
            )
        self.declaration = found[0]
        self.statements = kernel.body.children
        inputs = bind_parameters(case, view.parameters).inputs
        self.values = Values(kernel, make_bounder(case.launch, inputs))

    def tile(self) -> StagedTile:
        """The tile, or _NotACopyError."""
        declared = self.declared()
        store, fill, barrier, reads = self.uses()
        source = store.children[-1].bare()
        array, index = self.source_of(source)
        self.check_alone(fill)
        first = self.values.value(index) - self.values.value(store.children[0].bare().children[1])
        plain = first.uniform and not self.values.jumps
        self.check_names(array, first.text if plain else "", store)
        if not plain or changed_argument(self.values):
            raise _NotACopyError(f"it is no plain copy of a piece of '{array}'", store)
        return StagedTile(
            name=self.declaration.name,
            array=array,
            first=first.text,
            declaration=declared,
            fill=self.with_semicolon(fill),
            barrier=self.idle_barrier(barrier),
            reads=tuple(self.read(node) for node in reads),
            line=self.declaration.line,
        )

    def declared(self) -> tuple[int, int]:
        """The tile's declaration, which must be of this one array of one dimension."""
        node, statement = self.declaration, self.declaration.parent
        if node.type_kind != "CONSTANTARRAY" or node.type.count("[") != 1:
            raise _NotACopyError("it has not one dimension of fixed size", node)
        if statement is None or len(statement.children) != 1:
            raise _NotACopyError("it is declared beside others", node)
        if not balanced(self.text[statement.start : statement.end]):
            raise _NotACopyError("its declaration comes from a macro", node)
        return self.with_semicolon(statement)

    def uses(self) -> tuple[Node, Node, Node, list[Node]]:
        """The store that fills the tile, the statement of the body that does so, the barrier behind
        it, and the reads."""
        stores: list[Node] = []
        reads: list[Node] = []
        for node in self.kernel.body.walk():
            if node.kind != "DECL_REF_EXPR" or node.target != self.declaration.id:
                continue
            if self.text[node.start : node.end].decode() != node.name:
                raise _NotACopyError("used inside a macro", node)
            access = node.parent
            while access is not None and access.kind in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
                access = access.parent
            if access is None or access.kind != "ARRAY_SUBSCRIPT_EXPR":
                raise _NotACopyError("used as a pointer", node)
            outer = access
            while outer.parent is not None and outer.parent.kind in (
                "PAREN_EXPR", "MEMBER_REF_EXPR",
            ):  # fmt: skip
                outer = outer.parent
            above = outer.parent
            is_target = above is not None and _assigns(above) and above.children[0] is outer
            if above is not None and is_target and outer.bare() is access:
                stores.append(above)
            elif (
                above is not None
                and above.kind == "UNEXPOSED_EXPR"
                and (above.type_kind != "POINTER")
            ):
                reads.append(access)  # turned into a value
            else:
                raise _NotACopyError("changed or passed on", node)
        if len(stores) != 1:
            raise _NotACopyError(
                "nothing fills it" if not stores else "filled in several places",
                stores[1] if stores else self.declaration,
            )
        fill = self.fill_of(stores[0])
        barrier = self.barrier_behind(fill)
        early = next((r for r in reads if r.start < barrier.end), None)
        if early is not None:
            raise _NotACopyError("read before the barrier behind its fill", early)
        return stores[0], fill, barrier, reads

    def fill_of(self, store: Node) -> Node:
        """The statement of the kernel's body that fills the tile: the store itself or a plain loop
        around it. What it stores is the array's element by the tile's index, whoever stores it."""
        statement = store
        for outer in store.above():
            if outer is self.kernel.body:
                break
            if outer.kind == "COMPOUND_STMT" and len(outer.children) == 1:
                continue
            if outer.kind != "FOR_STMT" or statement is not store:
                raise _NotACopyError("filled under a condition, in a loop or beside others", store)
            statement = outer
        declared = {n.id for n in statement.walk() if n.kind == "VAR_DECL"}
        for node in statement.walk():
            changed = changes(node) and node is not store
            if changed and node.children[0].bare().target not in declared:
                raise _NotACopyError("its fill changes other variables", node)
            if node.kind in ("CALL_EXPR", "LAMBDA_EXPR") and node is not store:
                raise _NotACopyError("its fill calls a function", node)
        at = next(n for n, s in enumerate(self.statements) if s is statement)
        for earlier in self.statements[:at]:
            leaves = next((n for n in earlier.walk() if n.kind in _EXITS), None)
            if leaves is not None:
                raise _NotACopyError("threads may leave before they fill their part", leaves)
        return statement

    def barrier_behind(self, fill: Node) -> Node:
        """The first barrier behind the fill, among the statements of the body."""
        for statement in self.statements:
            call = statement.bare()
            if statement.start >= fill.end and call.kind == "CALL_EXPR" and call.name == _BARRIER:
                return statement
        raise _NotACopyError("no barrier of all threads follows its fill", fill)

    def idle_barrier(self, barrier: Node) -> tuple[int, int] | None:
        """The barrier, where nothing but the tile needed it."""
        calls = [n for n in self.kernel.body.walk() if n.kind == "CALL_EXPR"]
        own = {f.id for f in self.kernel.functions}
        waits = [n for n in calls if "sync" in n.name or n.target in own]
        stored = any(
            a.kind != "load" and a.start < barrier.start for u in self.view.arrays
            for a in u.accesses
        )  # fmt: skip
        hidden = any(u.written and u.obstacle(Way.KERNEL_BUFFER) for u in self.view.arrays)
        if len(waits) > 1 or len(shared_arrays(self.kernel.body)) > 1 or stored or hidden:
            return None
        return self.with_semicolon(barrier)

    def source_of(self, source: Node) -> tuple[str, Node]:
        """The array that the tile copies, and the index there."""
        if source.kind != "ARRAY_SUBSCRIPT_EXPR":
            raise _NotACopyError("filled with more than elements of an array", source)
        pointer = source.children[0].bare()
        named = {u.name: u for u in self.view.arrays}
        parameter = next((p for p in self.kernel.parameters if p.id == pointer.target), None)
        if parameter is None or pointer.kind != "DECL_REF_EXPR" or parameter.name not in named:
            raise _NotACopyError("filled from no parameter of the kernel", source)
        use = named[parameter.name]
        if use.written or use.reassigned or "volatile" in parameter.type:
            raise _NotACopyError(f"the kernel changes '{parameter.name}'", source)
        if use.elements >= _WIDE:
            raise _NotACopyError(f"indices of '{parameter.name}' need 64 bits", source)
        element = self.declaration.type.partition("[")[0].strip()
        if element != element_type(parameter):
            raise _NotACopyError(f"its elements are not those of '{parameter.name}'", source)
        return parameter.name, source.children[1]

    def check_alone(self, fill: Node) -> None:
        """Raise where the fill's text is not its own."""
        if fill.start < 0 or not balanced(self.text[fill.start : fill.end]):
            raise _NotACopyError("its fill comes from a macro", fill)

    def check_names(self, array: str, first: str, store: Node) -> None:
        """Raise where a local variable hides what the new reads name."""
        words = {array, *re.findall(r"[A-Za-z_]\w*", first)}
        for node in self.kernel.body.walk():
            if node.kind in ("VAR_DECL", "PARM_DECL") and node.name in words:
                raise _NotACopyError(f"'{node.name}' has another meaning here", node)
        if self.kernel.errors:
            raise _NotACopyError("the parser does not understand all of the file", store)

    def read(self, access: Node) -> tuple[int, int, int, int]:
        place = term_place(IndexTerm(1, access.children[1]), self.text)
        if place is None or not balanced(self.text[access.start : access.end]):
            raise _NotACopyError("used inside a macro", access)
        return access.start, access.end, place.start, place.end

    def with_semicolon(self, statement: Node) -> tuple[int, int]:
        """A statement with its semicolon."""
        end = statement.end
        if self.text[end - 1 : end] in (b";", b"}"):
            return statement.start, end
        behind = self.text[end:]
        blank = len(behind) - len(behind.lstrip())
        if behind.lstrip()[:1] != b";":
            raise _NotACopyError("its text is not that of one statement", statement)
        return statement.start, end + blank + 1


def _assigns(node: Node) -> bool:
    """Whether a node assigns, of numbers or of structs."""
    return node.operator == "=" or (node.kind == "CALL_EXPR" and node.name == "operator=")
