"""Pointers into an array that are no plain name of it, written out as indices of it.

``const float *p; if (c) p = A; else p = A + n;`` becomes ``int p_at; if (c) p_at = 0; else p_at =
n;``, and ``p[i]`` becomes ``A[p_at + i]``; ``A += n;`` becomes ``const int A_at = n;``. What
compares pointers, subtracts them or chooses among them compares, subtracts and chooses indices, so
that a rewrite can follow the array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from placewise.kernel.view.pointer_uses import element_type
from placewise.kernel.view.pointers import follow
from placewise.kernel.view.tree.around import COMPARISONS, STEPS
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import WRAPPERS, Node
from placewise.kernel.view.tree.places import IndexTerm, balanced, term_place
from placewise.kernel.view.written_out.pieces import (
    Piece,
    WrittenOut,
    piece,
    unique_name,
    write_out,
)
from placewise.kernel.view.written_out.pointer_roots import (
    ELSEWHERE,
    FOLLOWED,
    NOWHERE,
    PointerRoots,
    changes,
    pointer_roots,
    spine,
)
from placewise.kernel.view.written_out.single_steps import single_steps

_WORD = re.compile(rb"[A-Za-z_]\w*")
_STATEMENTS = frozenset({"COMPOUND_STMT", "FOR_STMT", "IF_STMT", "WHILE_STMT", "DO_STMT"})
_WIDE = frozenset({"LONG", "ULONG", "LONGLONG", "ULONGLONG"})

_Edit = tuple[int, int, bytes]


def write_indices(kernel: ParsedKernel, *, wide: bool) -> WrittenOut | None:
    """The kernel's file with pointers as indices of those of its arrays that no rewrite can follow
    otherwise, or that the body moves first; None where there are none. ``wide``: an index may need
    64 bits."""
    indexer = _Indexer(kernel, wide=wide)
    return write_out(kernel.text, indexer.pieces())


class _UnclearError(Exception):
    """The text is not what the syntax tree says: a macro hides it."""


class _Indexer:
    def __init__(self, kernel: ParsedKernel, *, wide: bool) -> None:
        self.kernel = kernel
        self.text = kernel.text
        self.roots: PointerRoots = pointer_roots(kernel)
        self.kind = b"long long" if wide else b"int"
        self.steps = single_steps(kernel)
        self.taken = {word.decode() for word in _WORD.findall(self.text)}
        self.arrays: dict[int, Node] = {}
        """Arrays whose pointers become indices."""
        self.names: dict[tuple[int, str], bytes] = {}
        """Name of an index by array and by the name of the pointer."""
        self.locals: dict[int, Node] = {}
        """Local pointers by identity, of all arrays."""

    def pieces(self) -> list[Piece]:
        """What to write in which places."""
        declared = [n for n in self.kernel.body.walk() if n.kind in ("VAR_DECL", "PARM_DECL")]
        own = {n.name for n in declared}
        wanted = [p for p in self.kernel.parameters if p.type_kind == "POINTER"]
        for array in wanted:
            pure = self.roots.arrays[array.id] == {array.id}
            if pure and array.name not in own and self.is_hidden(array):
                self.arrays[array.id] = array
        while self.arrays:
            self.locals = {
                n.id: n for n in declared if n.id in self.roots.arrays and self.array(n) is not None
            }
            try:
                edits = list(self.edits(self.kernel.body))
            except _UnclearError as error:
                (identity,) = error.args
                del self.arrays[identity]
                continue
            heads = [
                b"\n    %s %s = 0;" % (self.kind, self.names[identity, self.arrays[identity].name])
                for identity in self.arrays
                if (identity, self.arrays[identity].name) in self.names
                and identity not in self.steps
            ]
            start = self.kernel.body.start + 1
            if heads:
                edits.append((start, start, b"".join(heads)))
            return [piece(self.text, *edit) for edit in edits]
        return []

    def is_hidden(self, array: Node) -> bool:
        """Whether a rewrite cannot follow an array as the source has it, and an index may help."""
        element = element_type(array)
        if "volatile" in array.type or "[" in element or "(" in element:
            return False
        return array.id in self.steps or bool(follow(self.kernel, array).obstacles)

    def array(self, declaration: Node) -> Node | None:
        """The array that a local pointer always points into, if it becomes an index."""
        arrays = self.roots.arrays[declaration.id] - {NOWHERE}
        if len(arrays) != 1:
            return None
        (identity,) = arrays
        array = self.arrays.get(identity)
        if array is None or not self.can_declare(declaration):
            return None
        if NOWHERE in self.roots.arrays[declaration.id] and self.is_tested(declaration):
            return None
        return array

    def can_declare(self, declaration: Node) -> bool:
        """Whether its declaration can be told apart from others beside it."""
        statement = declaration.parent
        assert statement is not None
        if statement.parent is not None and statement.parent.kind == "COMPOUND_STMT":
            return True
        kinds = [self.roots.arrays.get(c.id, frozenset({ELSEWHERE})) for c in statement.children]
        known = set(self.arrays)
        return all(len(k - {NOWHERE}) == 1 and (k - {NOWHERE}) <= known for k in kinds)

    def is_tested(self, declaration: Node) -> bool:
        """Whether a pointer that may be null is compared, or asked whether it is."""
        for node in self.kernel.body.walk():
            if node.kind != "DECL_REF_EXPR" or node.target != declaration.id:
                continue
            around = node.parent
            while around is not None and around.kind in WRAPPERS:
                if around.type_kind == "BOOL":
                    return True
                around = around.parent
            if around is not None and around.operator in (*COMPARISONS, "!", "&&", "||"):
                return True
        return False

    def owner(self, node: Node) -> Node | None:
        """The array that an expression of pointer type points into, if it is to have an index."""
        if node.type_kind != "POINTER":
            return None
        arrays = self.roots.of(node) - {NOWHERE}
        if len(arrays) != 1:
            return None
        array = self.arrays.get(next(iter(arrays)))
        return array if array is not None and self.is_known(node) else None

    def is_known(self, node: Node) -> bool:
        """Whether all that a pointer is made from has an index."""
        if self.roots.of(node) == {NOWHERE}:
            return True
        if node.kind == "DECL_REF_EXPR":
            return node.target in self.locals or node.target in self.arrays
        return all(self.is_known(n) for n in spine(node))

    def is_plain(self, node: Node) -> bool:
        """Whether a pointer is the array and terms alone, which needs no other text."""
        if node.kind == "DECL_REF_EXPR":
            return node.target in self.arrays and node.target not in self.roots.moved
        if changes(node):
            return False
        made = spine(node)
        return len(made) == 1 and self.is_plain(made[0])

    # One branch for each kind of expression around a pointer.
    def edits(self, node: Node) -> Iterator[_Edit]:
        """What to write inside a node; ranges do not overlap."""
        if node.kind == "DECL_STMT":
            made = self.declared(node)
            if made is not None:
                yield node.start, node.end, made
                return
        if node in self.steps.values() and (moved := self.owner(node.children[0])) is not None:
            yield node.start, node.end, self.step(node, moved)
            return
        pointer = node.children[0] if node.children else None
        array = None if pointer is None else self.owner(pointer)
        if pointer is not None and array is not None and not self.is_plain(pointer):
            new = self.access(node, pointer, array)
            if new is not None:
                yield node.start, node.end, new
                return
        if self.are_indices(node):
            yield node.start, node.end, self.reckoned(node)
            return
        array = self.owner(node)
        if array is not None and not self.is_plain(node):
            yield node.start, node.end, self.pointer(node, array)
            return
        for child in node.children:
            if node.kind == "LAMBDA_EXPR" and child.kind == "DECL_REF_EXPR":
                continue  # an implicit capture
            yield from self.edits(child)

    def step(self, node: Node, array: Node) -> bytes:
        """The declaration of a constant index in the place of the only step of an array."""
        sign = -1 if node.operator == "-=" else 1
        value = _bare(_sum([self.term(sign, node.children[1], array)]))
        return b"const %s %s = %s" % (self.kind, self.name(array, array.name), value)

    def access(self, node: Node, pointer: Node, array: Node) -> bytes | None:
        """An element that is reached by a pointer; None where ``node`` is none."""
        if node.kind == "ARRAY_SUBSCRIPT_EXPR":
            terms = [*self.terms(pointer, array), self.term(1, node.children[1], array)]
            return self.element(array, terms)
        if node.kind == "UNARY_OPERATOR" and node.operator == "*":
            return self.element(array, self.terms(pointer, array))
        if node.kind == "MEMBER_REF_EXPR" and pointer.type_kind == "POINTER":
            behind = self.text[pointer.end : node.end].lstrip()
            if not behind.startswith(b"->"):
                raise _UnclearError(array.id)
            member = behind[2:].lstrip()
            return self.element(array, self.terms(pointer, array)) + b"." + member
        return None

    def are_indices(self, node: Node) -> bool:
        """Whether a node compares or subtracts two pointers into one array."""
        if node.kind != "BINARY_OPERATOR" or node.operator not in (*COMPARISONS, "-"):
            return False
        owners = [self.owner(c) for c in node.children]
        return len(owners) == 2 and owners[0] is not None and owners[0] is owners[1]

    def reckoned(self, node: Node) -> bytes:
        left, right = node.children
        array = self.owner(left)
        assert array is not None
        one, two = (_sum(self.terms(n, array)) for n in (left, right))
        if node.operator == "-":
            less = b"" if two == b"0" else b" - " + _grouped(two)
            return b"((long long)%s%s)" % (_grouped(one), less)
        operands = (b"(%s)" % t if re.search(rb"\W", t) else t for t in (one, two))
        return (b" %s " % node.operator.encode()).join(operands)

    def pointer(self, node: Node, array: Node) -> bytes:
        """A pointer where it is a value of its own, or a statement."""
        around = node.parent
        if around is not None and (around.kind in _STATEMENTS or around.operator == ","):
            return _bare(_sum(self.terms(node, array)))
        return b"(%s + %s)" % (array.name.encode(), _grouped(_sum(self.terms(node, array))))

    def element(self, array: Node, terms: list[tuple[int, bytes, Node | None]]) -> bytes:
        return b"%s[%s]" % (array.name.encode(), _sum(terms))

    def terms(self, node: Node, array: Node) -> list[tuple[int, bytes, Node | None]]:
        """The index of a pointer, as terms with their signs and, of expressions of the source,
        their nodes."""
        inner = spine(node)
        if self.roots.of(node) == {NOWHERE}:
            return []
        if node.kind == "DECL_REF_EXPR":
            if self.text[node.start : node.end] != node.name.encode():
                raise _UnclearError(array.id)
            is_array = node.target == array.id
            if is_array and array.id not in self.roots.moved:
                return []
            return [(1, self.name(array, node.name), None)]
        if node.kind in FOLLOWED:
            return self.terms(inner[0], array)
        if node.kind == "BINARY_OPERATOR" and node.operator in ("+", "-"):
            left, right = node.children
            if left.end > right.start:
                raise _UnclearError(array.id)
            other = right if inner[0] is left else left
            sign = -1 if node.operator == "-" else 1
            return [*self.terms(inner[0], array), self.term(sign, other, array)]
        if node.kind == "UNARY_OPERATOR" and node.operator == "&":
            element = node.children[0].bare()
            terms = self.terms(inner[0], array)
            if element.kind == "ARRAY_SUBSCRIPT_EXPR":
                terms.append(self.term(1, element.children[1], array))
            return terms
        if node.operator in STEPS:
            inside = _sum(self.terms(inner[0], array))
            step = node.operator[-2:].encode()
            return [(1, inside + step if node.operator.startswith("p") else step + inside, None)]
        return [(1, b"(%s)" % self.chosen(node, array), None)]

    def chosen(self, node: Node, array: Node) -> bytes:
        """An index that is assigned, or chosen by a condition."""
        first, last = node.children[0], node.children[-1]
        if node.kind == "CONDITIONAL_OPERATOR":
            one, two = (_sum(self.terms(n, array)) for n in node.children[1:])
            return b"%s ? %s : %s" % (self.inside(first, array), one, two)
        target = _sum(self.terms(first, array))
        if node.operator == "=":
            return b"%s = %s" % (target, self.index(last, array))
        return b"%s %s %s" % (target, node.operator.encode(), self.inside(last, array))

    def index(self, node: Node, array: Node) -> bytes:
        """What an index is set to: without parentheses around a choice."""
        return _bare(_sum(self.terms(node, array)))

    def term(self, sign: int, node: Node, array: Node) -> tuple[int, bytes, Node | None]:
        place = term_place(IndexTerm(sign, node), self.text)
        if place is None:
            raise _UnclearError(array.id)
        text = self.edited(place.start, place.end, self.edits(node), array)
        if place.very_loose or (sign < 0 and place.loose):
            text = b"(%s)" % text
        return sign, text, node

    def inside(self, node: Node, array: Node) -> bytes:
        if node.start < 0 or node.end <= node.start:
            raise _UnclearError(array.id)
        return self.edited(node.start, node.end, self.edits(node), array)

    def edited(self, start: int, end: int, edits: Iterator[_Edit], array: Node) -> bytes:
        out, at = b"", start
        for first, last, new in sorted(set(edits)):
            if first < at or last > end:
                raise _UnclearError(array.id)
            out += self.text[at:first] + new
            at = last
        out += self.text[at:end]
        if not balanced(out):
            raise _UnclearError(array.id)
        return out

    def name(self, array: Node, pointer: str) -> bytes:
        key = array.id, pointer
        if key not in self.names:
            self.names[key] = unique_name(f"{pointer}_at", self.taken).encode()
        return self.names[key]

    def declared(self, statement: Node) -> bytes | None:
        """A statement that declares pointers, with indices in their place; None where it declares
        none of them."""
        variables = [c for c in statement.children if c.kind == "VAR_DECL"]
        if not any(v.id in self.locals for v in variables):
            return None
        first = next(a for v in variables if v.id in self.locals and (a := self.array(v)))
        if len(variables) < len(statement.children):
            raise _UnclearError(first.id)
        made: list[tuple[bool, bytes]] = []
        base, start = _base_type(self.text[statement.start : variables[0].location])
        at = statement.start + start
        for variable in variables:
            array = self.array(variable) if variable.id in self.locals else None
            if variable.end <= at or not self.text[at : variable.location].isascii():
                raise _UnclearError(first.id)
            if array is None:
                inside = (e for c in variable.children for e in self.edits(c))
                text = self.edited(at, variable.end, inside, first).strip()
                made.append((False, base + b" " + text))
            else:
                made.append((True, self.declaration(variable, array)))
            comma = self.text.find(b",", variable.end, statement.end)
            at = comma + 1 if comma >= 0 else statement.end
        return self.joined(statement, variables, made)

    def joined(
        self, statement: Node, variables: Sequence[Node], made: Sequence[tuple[bool, bytes]]
    ) -> bytes:
        """Declarations of ``variables`` in place of the ``statement`` that declared all of them:
        ``made`` has for each whether it is an index now, and its text."""
        if len(made) > 1 and all(is_index for is_index, _ in made):
            return self.kind + b" " + b", ".join(text for _, text in made) + b";"
        line_start = self.text.rfind(b"\n", 0, statement.start) + 1
        indent = self.text[line_start : statement.start]
        between = b" " if indent.strip() else b"\n" + indent
        return between.join(
            (self.head(v) if is_index else b"") + text + b";"
            for v, (is_index, text) in zip(variables, made, strict=True)
        )

    def head(self, variable: Node) -> bytes:
        fixed = variable.id not in self.roots.moved and any(
            c.type_kind in ("POINTER", "NULLPTR") for c in variable.children
        )
        return (b"const " if fixed else b"") + self.kind + b" "

    def declaration(self, variable: Node, array: Node) -> bytes:
        name = self.name(array, variable.name)
        value = next((c for c in variable.children if c.type_kind in ("POINTER", "NULLPTR")), None)
        return name if value is None else name + b" = " + self.index(value, array)


def _sum(terms: list[tuple[int, bytes, Node | None]]) -> bytes:
    """The terms as one expression. Where 64 bits meet an unsigned number of 32, this is widened:
    as a pointer's step it did not wrap either."""
    wide = any(n is not None and n.type_kind in _WIDE for _, _, n in terms)
    out = b""
    for sign, text, node in terms:
        if text == b"0":
            continue
        if wide and len(terms) > 1 and node is not None and node.type_kind == "UINT":
            text = b"(long long)(%s)" % text
        if not out:
            out = text if sign > 0 else b"-" + _grouped(text)
        else:
            out += (b" + " if sign > 0 else b" - ") + text
    return out or b"0"


def _grouped(text: bytes) -> bytes:
    is_one = re.fullmatch(rb"\w+|\(.*\)", text, re.S) and balanced(text[1:-1] or text)
    return text if is_one else b"(%s)" % text


def _bare(text: bytes) -> bytes:
    """``(a = b)`` without its parentheses where they belong together."""
    inside = text[1:-1]
    is_one = text.startswith(b"(") and text.endswith(b")") and balanced(inside)
    return inside if is_one and re.search(rb"[=?]", inside) else text


def _base_type(head: bytes) -> tuple[bytes, int]:
    """The type that all variables of a declaration share, and where the first one's own part
    begins: of ``const float *p``, ``const float`` and the star."""
    depth = 0
    for at in range(len(head)):
        char = head[at : at + 1]
        depth += (char == b"<") - (char == b">")
        if depth == 0 and char in b"*&":
            return head[:at].rstrip(), at
    return head.rstrip(), len(head)
