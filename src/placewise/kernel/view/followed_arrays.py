"""Where a kernel, and the functions that it calls, use arrays that are to be joined.

A pointer into one of the arrays is followed from where it is made to wherever it is used: through
local pointers and through functions that get it. So is a struct of pointers that has the arrays as
its members. A use that no rewrite knows is refused, with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from placewise.errors import UnsupportedError
from placewise.kernel.view.tree.around import COMPARISONS, STEPS, outside, parameter_of, wrapped
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import WRAPPERS, Node
from placewise.kernel.view.tree.places import balanced
from placewise.space import LOAD_FUNCTIONS

_STATEMENTS = ("COMPOUND_STMT", "FOR_STMT", "DECL_STMT", "NULL_STMT")
_ATOMIC = "atomic"
"""Names of the functions that update a number in memory start so."""


@dataclass(frozen=True)
class ElementUse:
    """One access to an element, such as ``x[index]`` or ``*q``, as byte ranges of the source."""

    field: str
    """The array that the element is of."""
    start: int
    end: int
    pointer: tuple[int, int]
    index: tuple[int, int] | None
    """None: the pointer's own element."""
    is_address: bool
    """The element's address is asked for: ``__ldg(q + i)``."""
    is_enclosed: bool
    """The pointer is a name, or stands in parentheses."""
    line: int


@dataclass(frozen=True)
class RetypedPointer:
    """A local pointer, or a parameter of a function, that leads into one of the arrays."""

    start: int
    end: int
    """End of the pointer's type, where its name begins."""
    is_constant: bool


@dataclass
class ArrayFollower:
    """Collects the uses of some arrays; ``kernel`` is their kernel, ``filename`` is for errors."""

    kernel: ParsedKernel
    filename: str
    members: frozenset[str] = frozenset()
    """Members of the struct of pointers that are followed."""
    uses: dict[tuple[int, int], ElementUse] = field(default_factory=dict)
    roots: set[tuple[int, int]] = field(default_factory=set)
    """Where an array itself is named: there the array of structs takes its place."""
    retyped: dict[int, RetypedPointer] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    """End of each function's parameter that is the struct of pointers, by its declaration."""
    handed: set[int] = field(default_factory=set)
    """Ends of arguments that are the struct of pointers."""
    types: dict[str, str] = field(default_factory=dict)
    """Type of each member that is used, such as ``const float *``."""
    _pointers: dict[int, str] = field(default_factory=dict)
    _fixed: set[int] = field(default_factory=set)
    _structs: set[int] = field(default_factory=set)
    _pending: list[int] = field(default_factory=list)
    _compared: list[tuple[Node, str, list[Node]]] = field(default_factory=list)
    """(expression, array, pointers in it that must lead into that array); some of them may be
    known only when all is followed."""

    def follow_arrays(self, arrays: Mapping[int, str]) -> None:
        """Collect every use of the kernel's parameters ``arrays``: names by declaration.

        Raises UnsupportedError, with the line, for a use that cannot be written otherwise.
        """
        self._pointers |= arrays
        self._fixed |= set(arrays)
        self._pending += arrays
        self._follow()

    def follow_struct(self, parameter: Node) -> None:
        """Collect every use of the members of a struct of pointers, ``parameter`` of the kernel.

        Raises UnsupportedError, with the line, for a use that cannot be written otherwise.
        """
        self._structs.add(parameter.id)
        self._pending.append(parameter.id)
        self._follow()

    def _follow(self) -> None:
        roots = (self.kernel.body, *self.kernel.functions)
        while self._pending:
            wanted = self._pending.pop()
            for root in roots:
                for node in root.walk():
                    if node.kind != "DECL_REF_EXPR" or node.target != wanted:
                        continue
                    if self._text(node) != node.name.encode():
                        self._refuse(node, "is accessed in a macro", node.name)
                    if wanted in self._structs:
                        self._struct(node)
                    else:
                        if wanted in self._fixed:
                            self.roots.add((node.start, node.end))
                        self._pointer(node, self._pointers[wanted], is_fixed=wanted in self._fixed)
        for around, name, pointers in self._compared:
            if not self._all_lead_into(pointers, name):
                self._refuse(around, "is assigned, or compared with another pointer", name)
        self._check_calls(roots)

    def _struct(self, node: Node) -> None:
        """A use of the struct of pointers."""
        inner = wrapped(node)
        around = inner.parent
        if around is not None and around.kind == "MEMBER_REF_EXPR":
            if around.name in self.members:
                if not balanced(self._text(around)):
                    self._refuse(around, "is accessed in a macro", around.name)
                self.types[around.name] = around.type
                self.roots.add((around.start, around.end))
                self._pointer(around, around.name, is_fixed=True)
            return
        if around is not None and _is_copy(around):
            inner = wrapped(around)
            around = inner.parent
        if around is not None and around.kind == "VAR_DECL":
            self._know_struct(around)
            return
        if around is not None and around.kind == "CALL_EXPR":
            parameter = self._parameter_of(around, inner)
            if parameter is not None and parameter.type_kind in ("RECORD", "LVALUEREFERENCE"):
                self.handed.add(inner.end)
                self.received[parameter.id] = parameter.end
                self._know_struct(parameter)
                return
        self._refuse(node, "is used as a whole", node.name)

    def _know_struct(self, node: Node) -> None:
        if node.id not in self._structs:
            self._structs.add(node.id)
            self._pending.append(node.id)

    def _pointer(self, node: Node, name: str, *, is_fixed: bool) -> None:
        """``node`` is a pointer into array ``name``, its own start where ``is_fixed``; what is done
        with it?"""
        while True:
            around = node.parent
            if around is None:
                self._refuse(node, "is used in a way that is not known", name)
            kind, operator = around.kind, around.operator
            if kind in WRAPPERS:
                node = around
            elif kind == "ARRAY_SUBSCRIPT_EXPR" and around.children[0] is node:
                return self._element(around, node, around.children[1], name)
            elif kind == "UNARY_OPERATOR" and operator == "*":
                return self._element(around, node, None, name)
            elif kind == "UNARY_OPERATOR" and operator in STEPS and not is_fixed:
                node = around
            elif self._stays_inside(around, name):
                node, is_fixed = around, False
            elif kind in ("COMPOUND_ASSIGNMENT_OPERATOR", "BINARY_OPERATOR"):
                return self._reckoned(around, node, name, is_fixed=is_fixed)
            elif kind in _STATEMENTS:
                return None
            else:
                return self._handed_on(around, node, name)

    def _stays_inside(self, around: Node, name: str) -> bool:
        """Whether an expression of a pointer leads into the same array, such as ``x + i``."""
        if around.kind == "BINARY_OPERATOR":
            return around.operator in ("+", "-") and around.type_kind == "POINTER"
        if around.kind == "CONDITIONAL_OPERATOR":
            self._compared.append((around, name, around.children[1:]))
            return True
        return False

    def _element(self, node: Node, pointer: Node, index: Node | None, name: str) -> None:
        """``node`` is an element. Its address is a pointer again, unless an atomic function or a
        load takes it at once."""
        around = outside(node)
        if around is not None and around.kind == "UNARY_OPERATOR" and around.operator == "&":
            user = outside(around)
            if user is None or not _takes_address(user):
                self._pointer(around, name, is_fixed=False)
                return
        self._use(node, pointer, index, name)

    def _reckoned(self, around: Node, node: Node, name: str, *, is_fixed: bool) -> None:
        """Assignment, difference and comparison of pointers."""
        left = around.children[0]
        if around.operator in ("+=", "-=") and left is node and not is_fixed:
            return
        assigned = around.operator == "=" and (left is not node or not is_fixed)
        self._compared.append((around, name, around.children))
        if not assigned and around.operator not in ("-", *COMPARISONS):
            self._refuse(around, "is assigned, or compared with another pointer", name)

    def _handed_on(self, around: Node, node: Node, name: str) -> None:
        """A pointer that a variable is made from, or that a function gets."""
        if around.kind == "VAR_DECL":
            self._declare(around, name)
            return
        if around.kind == "CALL_EXPR":
            if _takes_address(around):
                self._use(node, node, None, name, is_address=True)
                return
            parameter = self._parameter_of(around, node)
            if parameter is not None and parameter.type_kind == "POINTER":
                self._declare(parameter, name)
                return
        self._refuse(around, "is used in a way that is not known", name)

    def _declare(self, node: Node, name: str) -> None:
        """Follow a variable or a function's parameter that leads into the array."""
        known = self._pointers.get(node.id)
        if known is not None and known != name:
            self._refuse(node, f"and '{known}' both become '{node.name}'", name)
        if known is not None:
            return
        statement = node.parent
        if statement is not None and statement.kind == "DECL_STMT" and len(statement.children) > 1:
            self._refuse(node, f"leads to '{node.name}', which shares its declaration", name)
        before = self.kernel.text[node.start : node.location]
        if node.start < 0 or not before or not balanced(before):
            self._refuse(node, f"leads to '{node.name}', which a macro declares", name)
        is_constant = node.type.removeprefix("__restrict ").startswith("const ")
        self.retyped[node.id] = RetypedPointer(node.start, node.location, is_constant)
        self._pointers[node.id] = name
        self._pending.append(node.id)

    def _use(
        self, node: Node, pointer: Node, index: Node | None, name: str, *, is_address: bool = False
    ) -> None:
        bare = pointer.bare()
        is_name = bare.kind in ("DECL_REF_EXPR", "MEMBER_REF_EXPR")
        shown = bare if is_name else pointer
        for part in (node, shown, *([] if index is None else [index])):
            if part.start < 0 or part.end <= part.start or not balanced(self._text(part)):
                self._refuse(node, "is accessed in a macro", name)
        self.uses[node.start, node.end] = ElementUse(
            field=name,
            start=node.start,
            end=node.end,
            pointer=(shown.start, shown.end),
            index=None if index is None else (index.start, index.end),
            is_address=is_address,
            is_enclosed=is_name or pointer.kind == "PAREN_EXPR",
            line=node.line,
        )

    def _all_lead_into(self, nodes: list[Node], name: str) -> bool:
        """Whether each of some expressions leads into array ``name``, or is no pointer."""
        return all(self._array_of(n) == name or n.bare().type_kind != "POINTER" for n in nodes)

    def _array_of(self, node: Node) -> str | None:
        """The array that a pointer expression leads into; None where that is not known."""
        for part in node.walk():
            if part.kind == "MEMBER_REF_EXPR" and part.type_kind == "POINTER":
                owner = part.children[0].bare() if part.children else part
                return part.name if owner.target in self._structs else None
            if part.kind == "DECL_REF_EXPR" and part.type_kind == "POINTER":
                return self._pointers.get(part.target)
        return None

    def _parameter_of(self, call: Node, argument: Node) -> Node | None:
        """The parameter of a function of the file that gets ``argument``."""
        return parameter_of(self.kernel.functions, call, call.children[1:], argument)

    def _check_calls(self, roots: tuple[Node, ...]) -> None:
        """Every call of a function whose parameters change must pass what was followed."""
        for function in self.kernel.functions:
            parameters = function.parameters
            changed = [n for n, p in enumerate(parameters)
                       if p.id in self.retyped or p.id in self.received]  # fmt: skip
            calls = (n for root in roots for n in root.walk()
                     if n.kind == "CALL_EXPR" and n.target == function.id and changed)  # fmt: skip
            for call in calls:
                for position in changed:
                    argument, parameter = call.children[1 + position], parameters[position]
                    if parameter.id in self.received:
                        is_known = argument.end in self.handed
                    else:
                        is_known = self._array_of(argument) == self._pointers[parameter.id]
                    if not is_known:
                        what = f"gets something else as its '{parameter.name}' in another call"
                        self._refuse(call, what, function.name)

    def _text(self, node: Node) -> bytes:
        return self.kernel.text[node.start : node.end]

    def _refuse(self, node: Node, what: str, name: str) -> NoReturn:
        raise UnsupportedError(
            f"'{name}' {what} (line {node.line}), it cannot be joined", where=self.filename
        )


def _takes_address(call: Node) -> bool:
    return call.kind == "CALL_EXPR" and (
        call.name in LOAD_FUNCTIONS or call.name.startswith(_ATOMIC)
    )


def _is_copy(node: Node) -> bool:
    """Whether a call makes a copy of its one argument, a struct."""
    return node.kind == "CALL_EXPR" and node.type_kind == "RECORD" and len(node.children) == 1
