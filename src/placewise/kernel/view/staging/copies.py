"""Shared tiles that only copy a piece of an array, so that the kernel could read the array itself.

``tile[t] = a[first + t]`` by all threads, a barrier, and then nothing but ``tile[i]``: each of
these is ``a[first + i]``. A tile of two dimensions, ``tile[r][c] = a[first + r * n + c]``, is such
a copy as well, and so is one that each round of a loop fills anew and as a whole. Elements that the
fill leaves out, or sets to a number, where they lie outside the array stay so at each read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_parameters
from placewise.kernel.cases.case import Case
from placewise.kernel.source import ArrayUse, SourceView
from placewise.kernel.view.indices.conditions import facts_at
from placewise.kernel.view.indices.interval import Unbounded
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import element_type
from placewise.kernel.view.staging.fill import Affine, StagedValues, affine_of, filled_elements
from placewise.kernel.view.staging.guards import guards_of, holds_at
from placewise.kernel.view.staging.uses import (
    RefusedError,
    barrier_behind,
    check_reads,
    fill_of,
    indices_of,
    lone_barriers,
    stores_and_reads,
)
from placewise.kernel.view.tiles.chunks import changed_argument
from placewise.kernel.view.tiles.tile import make_bounder
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node, is_shared, shared_arrays
from placewise.kernel.view.tree.places import IndexTerm, balanced, term_place
from placewise.space import Way

_WIDE = 1 << 31
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
"""Variables of an expression; members, as in ``blockIdx.x``, are none."""
_DIMENSIONS = re.compile(r"\[(\d+)\]")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[fFuUlL]*", re.I)


@dataclass(frozen=True)
class StagedTile:
    """A shared tile that can be undone, and what to edit for that. All offsets are byte ranges of
    the source."""

    name: str
    array: str
    """The parameter that it copies from."""
    element: Affine
    """The array's element that each of the tile's elements copies."""
    guards: tuple[Affine, ...]
    """What must not be below zero, so that the fill copies the element."""
    otherwise: str
    """The number that an element is where a guard does not hold."""
    declaration: tuple[int, int]
    fill: tuple[int, int]
    barriers: tuple[tuple[int, int], ...]
    """The barriers that nothing else needs."""
    reads: tuple[StagedRead, ...]
    line: int


@dataclass(frozen=True)
class StagedRead:
    """A read of a shared tile."""

    start: int
    end: int
    indices: tuple[tuple[int, int], ...]
    """Byte range of each of its indices."""
    unproven: tuple[int, ...]
    """Numbers of the tile's guards that may fail here."""


def staged_tile(case: Case, view: SourceView, name: str) -> StagedTile:
    """What to edit so that reads of the shared tile ``name`` read the array that it copies.

    Raises UnsupportedError with the line and the reason where the tile is more than a copy that
    all threads make before they read it.
    """
    kernel = parse_kernel(case)
    try:
        return _Staged(case, kernel, view, name).tile()
    except RefusedError as error:
        raise UnsupportedError(
            f"shared array '{name}' cannot go back to global memory: {error.reason} "
            f"(line {error.line})",
            where=case.filename,
        ) from None


def own_array(case: Case, kernel: ParsedKernel, name: str) -> Node:
    """The declaration of the shared array ``name`` in the kernel's body; raises UnsupportedError
    where it has none of this name, or several."""
    found = [n for n in kernel.body.walk() if is_shared(n) and n.name == name]
    if len(found) != 1:
        raise UnsupportedError(
            f"kernel '{case.kernel}' has no shared array '{name}' of its own",
            where=case.filename,
            hint=f"its shared arrays: {', '.join(shared_arrays(kernel.body)) or 'none'}",
        )
    return found[0]


def static_shape(declaration: Node) -> tuple[int, ...]:
    """The dimensions of an array, as far as its type has numbers for them."""
    return tuple(int(n) for n in _DIMENSIONS.findall(declaration.type))


class _Staged:
    def __init__(self, case: Case, kernel: ParsedKernel, view: SourceView, name: str) -> None:
        self.case = case
        self.kernel = kernel
        self.text = kernel.text
        self.view = view
        self.declaration = own_array(case, kernel, name)
        self.shape = static_shape(self.declaration)

    # One test for each reason why an array is no plain copy.
    def tile(self) -> StagedTile:
        """The tile, or RefusedError."""
        declared = self.declared()
        stores, reads = stores_and_reads(self.kernel, self.declaration, len(self.shape))
        store, others = self.copying(stores)
        fill = fill_of(self.kernel, store, others)
        barrier = barrier_behind(self.kernel, fill)
        check_reads(reads, barrier)
        source, conditions, number = self.copied(fill, store, others)
        use, index = self.source_of(source)
        if fill.start < 0 or not balanced(self.text[fill.start : fill.end]):
            raise RefusedError("its fill comes from a macro", fill)
        inputs = bind_parameters(self.case, self.view.parameters).inputs
        bounder = make_bounder(self.case.launch, inputs)
        around = [n for n in barrier.above() if n.kind == "FOR_STMT"]
        values = StagedValues(self.kernel, bounder, around)
        at = [values.value(i) for i in indices_of(store.children[0].bare())]
        element = None if values.jumps else affine_of(values.value(index), at)
        guards = guards_of(values, conditions, at)
        sums = [] if element is None else [element, *(guards or ())]
        self.check_names(use.name, sums, values, store)
        if element is None or changed_argument(values):
            raise RefusedError(f"it is no plain copy of a piece of '{use.name}'", store)
        if guards is None or any(self.places(values, o) != at for o in others):
            raise RefusedError("filled under a condition of another kind", store)
        self.check_rows(values, [store.children[0].bare(), *reads])
        if around:
            self.check_filled(values, at, store, barrier, reads)
        found = tuple(self.read(values, node, guards) for node in reads)
        open_guards = any(r.unproven for r in found)
        if open_guards and use.parameter.element_dtype is None:
            raise RefusedError("filled under a condition, with elements that are no numbers", store)
        if open_guards and around and not number:
            raise RefusedError("a read may find what an earlier round filled", store)
        return StagedTile(
            name=self.declaration.name,
            array=use.name,
            element=element,
            guards=guards,
            otherwise=number or "0",
            declaration=declared,
            fill=self.with_semicolon(fill),
            barriers=self.idle_barriers(),
            reads=found,
            line=self.declaration.line,
        )

    def declared(self) -> tuple[int, int]:
        """The tile's declaration, which must be of this one array of one or two dimensions."""
        node, statement = self.declaration, self.declaration.parent
        if node.type_kind != "CONSTANTARRAY" or not 1 <= len(self.shape) <= 2:
            raise RefusedError("it has not one or two dimensions of fixed size", node)
        if statement is None or len(statement.children) != 1:
            raise RefusedError("it is declared beside others", node)
        if not balanced(self.text[statement.start : statement.end]):
            raise RefusedError("its declaration comes from a macro", node)
        return self.with_semicolon(statement)

    def copying(self, stores: list[Node]) -> tuple[Node, tuple[Node, ...]]:
        """The store that copies, and one beside it, if there is one, that sets the elements left
        out to a number: the branches of one condition."""
        numbers = tuple(s for s in stores if self.number(s.children[-1]))
        copies = [s for s in stores if s not in numbers]
        if not stores:
            raise RefusedError("nothing fills it", self.declaration)
        if len(copies) != 1 or len(numbers) > 1 or (numbers and not _are_branches(*stores)):
            raise RefusedError("filled in several places", stores[-1])
        return copies[0], numbers

    def number(self, node: Node) -> str:
        """The text of a number; empty for any other expression."""
        bare = node.bare()
        text = self.text[bare.start : bare.end].decode()
        return text if bare.start >= 0 and _NUMBER.fullmatch(text) else ""

    def copied(
        self, fill: Node, store: Node, others: tuple[Node, ...]
    ) -> tuple[Node, list[tuple[Node, bool]], str]:
        """The element that the fill copies, the conditions that it does so under, and the number
        that elements get which they leave out; empty where these stay as they are."""
        conditions: list[tuple[Node, bool]] = []
        inner = store
        for outer in store.above():
            if not outer.within(fill):
                break
            if outer.kind == "IF_STMT":
                conditions.append((outer.children[0], inner is outer.children[1]))
            inner = outer
        source, number = store.children[-1].bare(), ""
        if others:
            number = self.number(others[0].children[-1])
        elif source.kind == "CONDITIONAL_OPERATOR" and len(source.children) == 3:
            condition, yes, no = source.children
            chosen, other = (no, yes) if self.number(yes) else (yes, no)
            number = self.number(other)
            if not number or conditions:
                raise RefusedError("filled with more than elements of an array", source)
            conditions.append((condition, chosen is yes))
            source = chosen.bare()
        if others and len(conditions) > 1:
            raise RefusedError("filled under several conditions", store)
        return source, conditions, number

    def source_of(self, source: Node) -> tuple[ArrayUse, Node]:
        """The array that the tile copies, and the index there."""
        if source.kind != "ARRAY_SUBSCRIPT_EXPR":
            raise RefusedError("filled with more than elements of an array", source)
        pointer = source.children[0].bare()
        named = {u.name: u for u in self.view.arrays}
        parameter = next((p for p in self.kernel.parameters if p.id == pointer.target), None)
        if parameter is None or pointer.kind != "DECL_REF_EXPR" or parameter.name not in named:
            raise RefusedError("filled from no parameter of the kernel", source)
        use = named[parameter.name]
        if use.written or use.reassigned or "volatile" in parameter.type:
            raise RefusedError(f"the kernel changes '{parameter.name}'", source)
        if use.elements >= _WIDE:
            raise RefusedError(f"indices of '{parameter.name}' need 64 bits", source)
        element = self.declaration.type.partition("[")[0].strip()
        if element != element_type(parameter):
            raise RefusedError(f"its elements are not those of '{parameter.name}'", source)
        return use, source.children[1]

    def check_names(
        self, array: str, sums: list[Affine], values: StagedValues, store: Node
    ) -> None:
        """Raise where a local variable hides what the new reads name."""
        texts = " ".join(p.text for s in sums for p in (s.first, *s.strides))
        words = {array, *_NAMES.findall(texts)}
        stepped = {values.locals[v].name: v for v in values.stepped if v in values.locals}
        for node in self.kernel.body.walk():
            if node.kind not in ("VAR_DECL", "PARM_DECL") or node.name not in words:
                continue
            # A variable that a loop around the fill steps is known inside that loop.
            own = stepped.get(node.name)
            if own is None or (node.id != own and node.within(values.stepped[own])):
                raise RefusedError(f"'{node.name}' has another meaning here", node)
        if self.kernel.errors:
            raise RefusedError("the parser does not understand all of the file", store)

    def places(self, values: StagedValues, store: Node) -> list[Poly]:
        """The tile's indices at a store."""
        return [values.value(i) for i in indices_of(store.children[0].bare())]

    def check_rows(self, values: StagedValues, accesses: list[Node]) -> None:
        """Raise where an access may name an element of another row by a column beyond its own: the
        row that it names is then not the one it uses."""
        for access in accesses if len(self.shape) > 1 else ():
            try:
                low, high = span_of(values, access.children[1])
            except Unbounded as error:
                raise RefusedError(f"a column of it has no bound: {error}", access) from None
            if low < 0 or high >= self.shape[1]:
                raise RefusedError("a column of it may lie beyond its row", access)

    def check_filled(
        self, values: StagedValues, at: list[Poly], store: Node, barrier: Node, reads: list[Node]
    ) -> None:
        """Raise where a read may find what an earlier round of the loop left."""
        block = next(a for a in barrier.above() if a.kind == "COMPOUND_STMT")
        loops = [n for n in store.above() if n.kind == "FOR_STMT" and n.within(block)]
        filled = filled_elements(values, at, loops[::-1], self.shape, self.case.launch)
        if filled is None:
            raise RefusedError("it is not told which part each round of the loop fills", store)
        for read in reads:
            spans = []
            for index, n in zip(indices_of(read), self.shape, strict=True):
                try:
                    low, high = span_of(values, index)
                    spans.append(slice(max(low, 0), high + 1))
                except Unbounded:
                    spans.append(slice(0, n))
            if not filled[tuple(spans)].all():
                raise RefusedError("a read may find what an earlier round filled", read)

    def idle_barriers(self) -> tuple[tuple[int, int], ...]:
        """The kernel's barriers, where nothing but the tile needed them."""
        stores = [a.start for u in self.view.arrays for a in u.accesses if a.kind != "load"]
        hidden = any(u.written and u.obstacle(Way.KERNEL_BUFFER) for u in self.view.arrays)
        if hidden or len(shared_arrays(self.kernel.body)) > 1:
            return ()
        return tuple(self.with_semicolon(w) for w in lone_barriers(self.kernel, stores))

    def read(self, values: StagedValues, access: Node, guards: tuple[Affine, ...]) -> StagedRead:
        indices = indices_of(access)
        places = [term_place(IndexTerm(1, index), self.text) for index in indices]
        found = tuple((p.start, p.end) for p in places if p is not None)
        if len(found) < len(places) or not balanced(self.text[access.start : access.end]):
            raise RefusedError("used inside a macro", access)
        fail = (n for n, g in enumerate(guards) if not holds_at(values, g, indices))
        return StagedRead(access.start, access.end, found, tuple(fail))

    def with_semicolon(self, statement: Node) -> tuple[int, int]:
        """A statement with its semicolon."""
        end = statement.end
        if self.text[end - 1 : end] in (b";", b"}"):
            return statement.start, end
        behind = self.text[end:]
        blank = len(behind) - len(behind.lstrip())
        if behind.lstrip()[:1] != b";":
            raise RefusedError("its text is not that of one statement", statement)
        return statement.start, end + blank + 1


def _are_branches(one: Node, other: Node) -> bool:
    """Whether two stores are the branches of one condition, alone in them."""
    tops = []
    for store in (one, other):
        top = store
        while top.parent is not None and (
            top.parent.kind == "COMPOUND_STMT" and len(top.parent.children) == 1
        ):
            top = top.parent
        tops.append(top)
    chosen = tops[0].parent
    return chosen is not None and chosen.kind == "IF_STMT" and chosen is tops[1].parent


def span_of(values: Values, index: Node) -> tuple[int, int]:
    """Least and greatest value of an index under the conditions around it; raises Unbounded."""
    value, facts = values.value(index), facts_at(index, values)
    low, high = values.bounder.lowest(value, facts), values.bounder.highest(value, facts)
    return int(low.min()), int(high.max())
