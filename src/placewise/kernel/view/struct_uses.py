"""Every use of the elements of arrays of structs, in the kernel and the functions that it calls.

A variable that points or refers to an element is followed from where it is declared to wherever it
is used; a use that no rewrite knows is an obstacle, with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from placewise.kernel.cases.case import Case
from placewise.kernel.struct_uses import Retyped, StructArrays, StructUse, UseKind
from placewise.kernel.view.tree.around import (
    ASSIGNMENT_CALLS,
    COMPARISONS,
    call_arguments,
    inside,
    outside,
    parameter_of,
    stays_pointer,
    wrapped,
)
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import WRAPPERS, Node
from placewise.kernel.view.tree.places import balanced, declares
from placewise.kernel.view.tree.records import DeclaredRecord
from placewise.kernel.view.tree.template import template_parameters
from placewise.space import LOAD_FUNCTIONS

_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|__restrict__|__restrict|restrict)\b")
_FUNCTIONS = ("FUNCTION_DECL", "FUNCTION_TEMPLATE", "LAMBDA_EXPR")
_ATOMIC = "atomic"
"""Names of the functions that update a number in memory start so."""
_CHANGING = ASSIGNMENT_CALLS | {"operator++", "operator--"}


def find_struct_arrays(case: Case) -> tuple[StructArrays, ...]:
    """The kernel's arrays of structs, one answer for each struct type, in the parameters' order.

    Raises UnsupportedError where the kernel's definition cannot be found.
    """
    kernel = parse_kernel(case)
    by_type: dict[str, list[DeclaredRecord]] = {}
    for declared in kernel.records:
        by_type.setdefault(declared.type_name, []).append(declared)
    return tuple(_Follower(kernel, found).answer() for found in by_type.values())


class _ObstacleError(Exception):
    """A use that no rewrite knows."""


@dataclass
class _Variable:
    """A declaration whose name stands for a pointer to an element, or for the element itself."""

    node: Node
    is_reference: bool


@dataclass
class _Follower:
    """Collects the uses of one struct type's arrays."""

    kernel: ParsedKernel
    declared: list[DeclaredRecord]
    uses: dict[tuple[int, int, str], StructUse] = field(default_factory=dict)
    retyped: dict[int, Retyped] = field(default_factory=dict)
    variables: dict[int, _Variable] = field(default_factory=dict)
    pending: list[int] = field(default_factory=list)
    makes_pointers: bool = False
    reckonings: list[Node] = field(default_factory=list)
    """Assignments, differences and comparisons of pointers; some of these may be known only when
    all is followed."""
    choices: list[Node] = field(default_factory=list)
    """Pointers that a condition chooses."""

    def answer(self) -> StructArrays:
        first = self.declared[0]
        obstacle = first.obstacle
        names = tuple(d.parameter for d in self.declared)
        if obstacle is None:
            try:
                self.follow(names)
            except _ObstacleError as found:
                obstacle = str(found)
        return StructArrays(
            record=first.record,
            type_name=first.type_name,
            fields=first.fields,
            parameters=names,
            uses=tuple(sorted(self.uses.values(), key=lambda u: (u.start, -u.end))),
            retyped=tuple(sorted(self.retyped.values(), key=lambda r: r.start)),
            above=self.above(),
            makes_pointers=self.makes_pointers,
            obstacle=obstacle,
        )

    # One branch for each reason why the uses cannot be followed.
    def follow(self, names: tuple[str, ...]) -> None:
        kernel = self.kernel
        if kernel.unread_line is not None:
            raise _ObstacleError(f"the parser does not understand line {kernel.unread_line}")
        if kernel.redeclared is not None:
            raise _ObstacleError(f"the kernel is declared again ({kernel.redeclared})")
        self.check_skipped()
        found = template_parameters(kernel.text, kernel.instance, kernel.signature_start)
        types = {t.name for t in found if t.is_type}
        for node in kernel.parameters:
            if node.name in names:
                whole = node.start >= 0 and declares(self.text(node), node.name)
                if not whole or types & set(re.findall(r"\w+", self.text(node).decode())):
                    why = "is the template's" if whole else "comes from a macro"
                    raise _ObstacleError(f"the type of '{node.name}' {why} (line {node.line})")
                self.variables[node.id] = _Variable(node, is_reference=False)
                self.pending.append(node.id)
        roots = (kernel.body, *kernel.functions)
        while self.pending:
            wanted = self.pending.pop()
            for root in roots:
                for node in root.walk():
                    if node.kind == "DECL_REF_EXPR" and node.target == wanted:
                        self.follow_name(node, self.variables[wanted])
        for around in self.reckonings:
            if not all(self.is_followed(child) for child in around.children):
                raise self.unknown(around)
        for choice in self.choices:
            if not all(self.is_followed(child) for child in choice.children[1:]):
                raise self.unknown(choice)
        self.check_calls(roots)

    def check_skipped(self) -> None:
        """Refuse branches of the body that the preprocessor left out: they would keep old text."""
        body = self.kernel.body
        names = "|".join(re.escape(d.parameter) for d in self.declared).encode()
        for start, end in self.kernel.skipped:
            left_out = self.kernel.text[start:end]
            if body.start <= start < body.end and re.search(rb"\b(?:%s)\b" % names, left_out):
                line = self.kernel.text.count(b"\n", 0, start) + 1
                raise _ObstacleError(f"used in a branch left out by the preprocessor (line {line})")

    def check_calls(self, roots: tuple[Node, ...]) -> None:
        """Every call of a function whose parameter gets another type must pass such a value."""
        owners = {
            p.id: (f, n)
            for f in self.kernel.functions
            for n, p in enumerate(f.parameters)
            if p.id in self.retyped
        }
        for root in roots:
            for node in root.walk():
                if node.kind != "CALL_EXPR":
                    continue
                for parameter, (function, position) in owners.items():
                    if function.id != node.target:
                        continue
                    argument = call_arguments(node)[position]
                    if not self.is_followed(argument):
                        name = self.retyped[parameter].name
                        raise _ObstacleError(
                            f"'{function.name}' gets something else as its '{name}' in another "
                            f"call (line {node.line})"
                        )

    def is_followed(self, argument: Node) -> bool:
        """Whether an argument's text becomes a pointer of the new layout."""
        for node in argument.walk():
            if node.kind == "DECL_REF_EXPR" and node.target in self.variables:
                return True
            if node.kind == "DECL_REF_EXPR" and node.type_kind in ("POINTER", "RECORD"):
                return False
        return False

    def follow_name(self, node: Node, variable: _Variable) -> None:
        """Classify one use of a variable by the expressions around it."""
        if self.text(node) != node.name.encode():
            raise _ObstacleError(f"'{node.name}' stands in a macro (line {node.line})")
        if variable.is_reference:
            self.element(node, node, None)
        else:
            self.pointer(node)

    def pointer(self, node: Node) -> None:
        """``node`` is an expression of pointer type; what is done with it?"""
        while True:
            around = node.parent
            if around is None:
                raise self.unknown(node)
            kind, operator = around.kind, around.operator
            if kind in WRAPPERS:
                node = around
            elif kind == "ARRAY_SUBSCRIPT_EXPR" and around.children[0] is node:
                return self.element(around, node, around.children[1])
            elif kind == "UNARY_OPERATOR" and operator == "*":
                return self.element(around, node, None)
            elif kind == "MEMBER_REF_EXPR":
                return self.member(around, node, None)
            elif stays_pointer(around):
                self.makes_pointers = True
                if kind == "CONDITIONAL_OPERATOR":
                    self.choices.append(around)
                node = around
            elif kind in ("COMPOUND_ASSIGNMENT_OPERATOR", "BINARY_OPERATOR"):
                return self.reckoned(around, node)
            elif kind in ("COMPOUND_STMT", "FOR_STMT", "DECL_STMT", "NULL_STMT"):
                return None
            else:
                return self.handed_on(around, node, to_reference=False)

    def reckoned(self, around: Node, node: Node) -> None:
        """Assignment, difference and comparison of pointers."""
        self.makes_pointers = True
        if around.operator in ("+=", "-=") and around.children[0] is node:
            return
        if around.operator not in ("=", "-", *COMPARISONS):
            raise self.unknown(around)
        self.reckonings.append(around)

    def element(self, node: Node, pointer: Node, index: Node | None) -> None:
        """``node`` is an element; what is done with it?"""
        outer = wrapped(node)
        around = outer.parent
        if around is None:
            raise self.unknown(node)
        kind = around.kind
        if kind == "MEMBER_REF_EXPR":
            return self.member(around, pointer, index)
        if kind == "UNARY_OPERATOR" and around.operator == "&":
            self.makes_pointers = True
            self.use(UseKind.ADDRESS, around, pointer, index)
            return self.pointer(around)
        if kind == "CALL_EXPR" and around.name == "operator=":
            if around.children[0] is outer:
                return self.stored(around, pointer, index)
            return self.use(UseKind.LOAD, node, pointer, index)
        if kind == "BINARY_OPERATOR" and around.operator == "=" and around.children[0] is outer:
            return self.stored(around, pointer, index)
        if kind == "VAR_DECL" and around.type_kind != "LVALUEREFERENCE":
            return self.use(UseKind.LOAD, node, pointer, index)
        if kind == "CALL_EXPR" and around.type_kind == "RECORD" and self.is_copy(around):
            return self.use(UseKind.LOAD, node, pointer, index)
        if kind in ("CXX_UNARY_EXPR", "UNARY_OPERATOR"):
            raise self.unknown(around)
        return self.refer(around, outer, node, pointer, index)

    def refer(
        self, around: Node, outer: Node, node: Node, pointer: Node, index: Node | None
    ) -> None:
        """An element that a reference is bound to, or that a function gets."""
        if around.kind == "VAR_DECL":
            self.makes_pointers = True
            self.use(UseKind.ADDRESS, node, pointer, index)
            return self.declare(around, is_reference=True)
        if around.kind == "CALL_EXPR":
            parameter = self.parameter_of(around, outer)
            constant = parameter is None or "const " in parameter.type
            if parameter is None and around.name.startswith("operator"):
                if outer is around.children[0] and around.name in _CHANGING:
                    raise self.unknown(around)
                constant = True
            elif parameter is None:
                raise self.unknown(around)
            if parameter is not None and parameter.type_kind != "LVALUEREFERENCE":
                constant = True
            if constant:
                return self.use(UseKind.LOAD, node, pointer, index)
            self.makes_pointers = True
            self.use(UseKind.ADDRESS, node, pointer, index)
            assert parameter is not None
            return self.declare(parameter, is_reference=True)
        if around.kind == "RETURN_STMT":
            self.check_return(around)
        if around.kind == "CONDITIONAL_OPERATOR" and self.may_change(around):
            raise self.unknown(around)
        if around.kind in ("RETURN_STMT", "INIT_LIST_EXPR", "CONDITIONAL_OPERATOR"):
            return self.use(UseKind.LOAD, node, pointer, index)
        raise self.unknown(around)

    def may_change(self, choice: Node) -> bool:
        """Whether more is done with an element that a condition chooses than to copy it."""
        around = outside(choice)
        if around is None:
            return True
        if around.kind == "MEMBER_REF_EXPR":
            converted = around.parent is not None and around.parent.kind == "UNEXPOSED_EXPR"
            return not converted or "[" in around.type
        if around.kind == "CALL_EXPR" and around.name != "operator=":
            parameter = self.parameter_of(around, inside(around, choice))
            if parameter is None or "const " in parameter.type:
                return False
            return parameter.type_kind == "LVALUEREFERENCE"
        is_first = bool(around.children) and inside(around, choice) is around.children[0]
        return around.type_kind == "LVALUEREFERENCE" or (is_first and around.kind != "VAR_DECL")

    def member(self, around: Node, pointer: Node, index: Node | None) -> None:
        if around.name not in self.declared[0].record.names:
            what = f"'{around.name}' of {self.declared[0].type_name}"
            raise _ObstacleError(f"function {what} is called on an element (line {around.line})")
        self.check_address(around)
        self.use(UseKind.MEMBER, around, pointer, index, member=around.name)

    def check_address(self, member: Node) -> None:
        """Refuse a field's address that is kept: what lies beside the field is another thing in
        another layout. Atomics and loads that take it at once are fine."""
        taken = outside(member)
        if taken is None or taken.kind != "UNARY_OPERATOR" or taken.operator != "&":
            return
        user = outside(taken)
        if user is not None and user.kind == "CALL_EXPR":
            known = user.name in LOAD_FUNCTIONS or user.name.startswith(_ATOMIC)
            if known and user.children.index(inside(user, taken)) == 1:
                return
        if user is not None and user.kind == "UNARY_OPERATOR" and user.operator == "*":
            return
        raise _ObstacleError(
            f"the address of field '{member.name}' is handed on (line {member.line})"
        )

    def check_return(self, node: Node) -> None:
        """Refuse an element that a function returns by reference."""
        function = node.parent
        while function is not None and function.kind not in _FUNCTIONS:
            function = function.parent
        if function is None or "&" in function.type.partition("(")[0]:
            raise _ObstacleError(f"an element is returned by reference (line {node.line})")

    def stored(self, assignment: Node, pointer: Node, index: Node | None) -> None:
        around = outside(assignment)
        statement = around is None or around.kind.endswith("_STMT")
        if not statement:
            raise _ObstacleError(
                f"an assignment of an element has a value (line {assignment.line})"
            )
        value = assignment.children[-1]
        self.use(UseKind.STORE, assignment, pointer, index, value=value)

    def handed_on(self, around: Node, node: Node, *, to_reference: bool) -> None:
        """A pointer that a variable is made from, or that a function gets."""
        if around.kind == "VAR_DECL":
            self.makes_pointers = True
            return self.declare(around, is_reference=to_reference)
        if around.kind == "CALL_EXPR":
            if around.name in LOAD_FUNCTIONS and around.type_kind == "RECORD":
                # ``__ldg(&p[i])`` loads a vector type as a whole.
                return self.use(UseKind.LOAD, around, node, None)
            parameter = self.parameter_of(around, node)
            if parameter is None:
                raise _ObstacleError(f"its address goes to '{around.name}' (line {around.line})")
            self.makes_pointers = True
            return self.declare(parameter, is_reference=to_reference)
        raise self.unknown(around)

    def parameter_of(self, call: Node, argument: Node) -> Node | None:
        """The parameter of a function of the file that gets ``argument``."""
        return parameter_of(self.kernel.functions, call, call_arguments(call), argument)

    def declare(self, node: Node, *, is_reference: bool) -> None:
        """Follow a variable that points or refers to an element."""
        if node.id in self.variables:
            return
        statement = node.parent
        if statement is not None and statement.kind == "DECL_STMT" and len(statement.children) > 1:
            raise _ObstacleError(f"'{node.name}' shares its declaration (line {node.line})")
        before = self.kernel.text[node.start : node.location]
        if node.start < 0 or not before or not balanced(before):
            raise _ObstacleError(f"'{node.name}' is declared by a macro (line {node.line})")
        self.variables[node.id] = _Variable(node, is_reference)
        self.pending.append(node.id)
        self.retyped[node.id] = Retyped(node.name, node.start, node.location, node.line)

    def use(
        self, kind: UseKind, node: Node, pointer: Node, index: Node | None, *,
        member: str = "", value: Node | None = None,
    ) -> None:  # fmt: skip
        for part in (node, pointer, *(n for n in (index, value) if n is not None)):
            if part.start < 0 or part.end <= part.start or not balanced(self.text(part)):
                raise _ObstacleError(f"an access stands in a macro (line {part.line})")
        own = self.declared[0].own_copy
        if own is not None and kind in (UseKind.LOAD, UseKind.STORE):
            raise _ObstacleError(f"{own}, and an element is copied (line {node.line})")
        self.uses[node.start, node.end, kind] = StructUse(
            kind=kind,
            start=node.start,
            end=node.end,
            pointer=(pointer.start, pointer.end),
            index=None if index is None else (index.start, index.end),
            member=member,
            value=None if value is None else (value.start, value.end),
            line=node.line,
        )

    def is_copy(self, call: Node) -> bool:
        """Whether a call makes a struct of the followed type from one element."""
        return len(call.children) == 1 and _bare_type(call.type) == self.declared[0].type_name

    def above(self) -> int:
        """Start of the line of the first function that the uses are in, or of its comment."""
        places = [u.start for u in self.uses.values()] + [r.start for r in self.retyped.values()]
        return self.kernel.above(places)

    def text(self, node: Node) -> bytes:
        return self.kernel.text[node.start : node.end]

    def unknown(self, node: Node) -> _ObstacleError:
        text = self.text(node).decode(errors="replace").split("\n")[0][:60]
        return _ObstacleError(f"no rewrite is known of '{text}' (line {node.line})")


def _bare_type(text: str) -> str:
    return _QUALIFIERS.sub("", text).replace("&", "").strip()
