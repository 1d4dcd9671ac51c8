"""Shared tiles that only copy a piece of an array, so that the kernel could read the array itself.

``tile[t] = a[first + t]`` by all threads, a barrier, and then nothing but ``tile[i]``: each of
these is ``a[first + i]``.
"""

from __future__ import annotations

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
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import IndexTerm, balanced, term_place

_BARRIER = "__syncthreads"
_EXITS = frozenset({"RETURN_STMT", "GOTO_STMT", "INDIRECT_GOTO_STMT", "ASM_STMT", "MS_ASM_STMT"})
_CONDITIONAL = frozenset(
    {"IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "SWITCH_STMT", "LAMBDA_EXPR"}
)


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
    reads: tuple[tuple[int, int, int, int], ...]
    """Of each read: start and end, and those of its index."""
    line: int


def shared_tiles(kernel: ParsedKernel) -> tuple[str, ...]:
    """Names of the shared arrays that the kernel's body declares."""
    return tuple(dict.fromkeys(n.name for n in kernel.body.walk() if _is_shared(n)))


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
        found = [n for n in kernel.body.walk() if _is_shared(n) and n.name == name]
        if len(found) != 1:
            raise UnsupportedError(
                f"kernel '{case.kernel}' has no shared array '{name}' of its own",
                where=case.filename,
                hint=f"its shared arrays: {', '.join(shared_tiles(kernel)) or 'none'}",
            )
        self.declaration = found[0]
        self.statements = kernel.body.children
        inputs = bind_parameters(case, view.parameters).inputs
        self.values = Values(kernel, make_bounder(case.launch, inputs))

    def tile(self) -> StagedTile:
        """The tile, or _NotACopyError."""
        declared = self.declared()
        store, fill, reads = self.uses()
        source = store.children[1].bare()
        array, index = self.source_of(source)
        self.check_alone(fill)
        first = self.values.value(index) - self.values.value(store.children[0].bare().children[1])
        if not first.uniform or self.values.jumps or changed_argument(self.values):
            raise _NotACopyError(f"it is no plain copy of a piece of '{array}'", store)
        self.check_names(array, first.text, store)
        return StagedTile(
            name=self.declaration.name,
            array=array,
            first=first.text,
            declaration=declared,
            fill=self.with_semicolon(fill),
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

    def uses(self) -> tuple[Node, Node, list[Node]]:
        """The store that fills the tile, the statement of the body that does so, and the reads."""
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
            while outer.parent is not None and outer.parent.kind == "PAREN_EXPR":
                outer = outer.parent
            above = outer.parent
            if above is not None and above.operator == "=" and above.children[0] is outer:
                stores.append(above)
            elif above is not None and above.kind == "UNEXPOSED_EXPR":
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
        return stores[0], fill, reads

    def fill_of(self, store: Node) -> Node:
        """The statement of the kernel's body that fills the tile, by all threads: the store itself
        or a plain loop around it."""
        statement = store
        for outer in store.above():
            if outer is self.kernel.body:
                break
            if outer.kind == "COMPOUND_STMT" and len(outer.children) == 1:
                continue
            is_loop = outer.kind == "FOR_STMT" and statement is store
            if not is_loop:
                raise _NotACopyError("filled under a condition, in a loop or beside others", store)
            statement = outer
        at = next(n for n, s in enumerate(self.statements) if s is statement)
        for earlier in self.statements[:at]:
            leaves = next((n for n in earlier.walk() if n.kind in _EXITS), None)
            if leaves is not None:
                raise _NotACopyError("threads may leave before they fill their part", leaves)
        if statement is store:
            self.check_every_thread(store.children[0].bare().children[1], store)
        else:
            self.check_loop(statement, store)
        return statement

    def check_every_thread(self, index: Node, store: Node) -> None:
        """Raise unless threads of a row of a block fill consecutive elements."""
        value = self.values.value(index)
        keys = {a.key for a in value.atoms}
        if not (keys and all(k.startswith("threadIdx") for k in keys)):
            raise _NotACopyError("not filled by the threads in their order", store)

    def check_loop(self, loop: Node, store: Node) -> None:
        """Raise unless the loop's header only counts."""
        body = loop.children[-1]
        counted = store.children[0].bare().children[1].bare()
        declared = [n for n in loop.walk() if n.kind == "VAR_DECL"]
        if len(declared) != 1 or counted.target != declared[0].id:
            raise _NotACopyError("its fill is no plain loop", store)
        for node in loop.walk():
            if node.kind == "CALL_EXPR" or (node.kind in _CONDITIONAL and node is not loop):
                raise _NotACopyError("its fill is no plain loop", store)
        changed = [n for n in body.walk() if n.target == declared[0].id and _is_changed(n)]
        if changed:
            raise _NotACopyError("its fill is no plain loop", store)

    def barrier_behind(self, fill: Node) -> Node:
        """The barrier right behind the fill, among the statements of the body."""
        at = next(n for n, s in enumerate(self.statements) if s is fill)
        for statement in self.statements[at + 1 :]:
            if statement.kind == "CALL_EXPR" and statement.name == _BARRIER:
                return statement
            if any(n.kind in _EXITS or n.kind in _CONDITIONAL for n in statement.walk()):
                break
        raise _NotACopyError("no barrier follows its fill", fill)

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
        for node in self.kernel.body.walk():
            if node.kind in ("VAR_DECL", "PARM_DECL") and (node.name == array or node.name in first):
                if node.name and self.is_word_of(node.name, array, first):
                    raise _NotACopyError(f"'{node.name}' has another meaning there", node)
        reason = next((line for line, _ in self.kernel.errors), None)
        if reason is not None:
            raise _NotACopyError("the parser does not understand all of the file", store)

    def is_word_of(self, name: str, array: str, first: str) -> bool:
        words = "".join(c if c.isalnum() or c == "_" else " " for c in first).split()
        return name == array or name in words

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


def _is_shared(node: Node) -> bool:
    return node.kind == "VAR_DECL" and any(c.kind == "CUDASHARED_ATTR" for c in node.children)


def _is_changed(node: Node) -> bool:
    around = node.parent
    while around is not None and around.kind == "PAREN_EXPR":
        around = around.parent
    if around is None:
        return False
    if around.kind == "UNARY_OPERATOR":
        return around.operator in ("++", "--", "p++", "p--", "&")
    is_target = bool(around.children) and around.children[0] is node
    return is_target and (
        around.operator == "=" or around.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
    )
