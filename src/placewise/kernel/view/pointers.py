"""Where a pointer parameter goes in a kernel's body: its accesses, its aliases, and what no rewrite
can follow.

Every use of the parameter, and of local pointers that start from it, is climbed to the expression
that gives it meaning: a load, a store, an update, an atomic, an alias; anything else is an
obstacle. Every occurrence of the name in the text must be accounted for, so that a use that the
parser missed can never be left behind by a rewrite.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from placewise.kernel.source import AccessPlace, Term
from placewise.kernel.view.elements import HALVES, loads_by_intrinsic
from placewise.kernel.view.pointer_uses import Access, PointerVariable, Uses, element_type
from placewise.kernel.view.tree.around import ASSIGNMENT_CALLS, CASTS, COMPARISONS, STEPS
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import WRAPPERS, Node
from placewise.kernel.view.tree.places import IndexTerm, balanced, term_place
from placewise.space import LOAD_FUNCTIONS, Way

LOAD_INTRINSICS = frozenset(LOAD_FUNCTIONS)
MOVES = tuple(way for way in Way if not way.is_plain)
BY_INDEX = tuple(way for way in Way if way.facts.indexed)
"""Ways that need an element's index, because they cannot use a pointer to it."""
PER_BLOCK = tuple(way for way in Way if way.facts.per_block)
"""Ways that give each block a copy of its own."""
_ATOMIC = re.compile(r"atomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_block|_system)?")

READ_AS = "read as"
"""How a reason begins that names the type of elements to which a pointer is cast."""
_CONVERSION = "operator "
"""How the name of a conversion such as ``operator float`` begins; those of others have no space."""
_STATEMENTS = frozenset({"COMPOUND_STMT", "FOR_STMT", "IF_STMT", "WHILE_STMT", "DO_STMT"})


def follow(kernel: ParsedKernel, parameter: Node, read_as: str = "") -> Uses:
    """Everything the kernel's body does with ``parameter``. ``read_as``: the type of elements to
    which all of the body's uses cast it, so that indices count those."""
    follower = _Follower(kernel, parameter, read_as)
    follower.run()
    return Uses(
        _merged(follower.accesses),
        list(follower.variables.values()),
        follower.obstacles,
        follower.reinterpreted,
    )


@dataclass(eq=False)
class _Reach:
    """How far a pointer's value has been followed."""

    variable: PointerVariable
    pointer: Node
    element: str
    """Type of what it points to."""
    terms: list[IndexTerm] = field(default_factory=list)


class _Follower:
    def __init__(self, kernel: ParsedKernel, parameter: Node, read_as: str) -> None:
        self.kernel = kernel
        self.text = kernel.text
        element = read_as or element_type(parameter)
        self.variables = {
            parameter.id: PointerVariable(parameter.name, parameter.id, parameter, element=element)
        }
        self.reinterpreted = False
        self.pending = [parameter.id]
        """Variables to follow; it grows as aliases are found."""
        self.accesses: list[Access] = []
        self.obstacles: dict[Way, str] = {}
        if "volatile" in parameter.type:
            self.obstruct("declared volatile", parameter)
        if "[" in element or "(" in element:
            self.obstruct(f"points to arrays or functions, '{parameter.type}'", parameter)

    def run(self) -> None:
        for identity in self.pending:
            variable = self.variables[identity]
            for node in self.kernel.body.walk():
                if node.kind != "DECL_REF_EXPR" or node.target != identity:
                    continue
                if node.parent is not None and node.parent.kind == "LAMBDA_EXPR":
                    continue  # an implicit capture: its uses inside the lambda follow
                if self.text[node.start : node.end].decode() != variable.name:
                    self.obstruct("used inside a macro", node)
                    continue
                if node.start not in variable.tokens:
                    variable.tokens.append(node.start)
                self.climb(node, variable)
            self.account_for_tokens(variable)

    def obstruct(self, reason: str, node: Node, ways: tuple[Way, ...] = MOVES) -> None:
        for way in ways:
            self.obstacles.setdefault(way, f"{reason} (line {node.line})")

    def account_for_tokens(self, variable: PointerVariable) -> None:
        others = {
            offset
            for node in self.kernel.body.walk()
            if node.name == variable.name and node.target != variable.id
            for offset in (node.location, node.start)
        }
        for name, offset, line in self.kernel.identifiers:
            if name != variable.name or offset < self.kernel.body.start:
                continue
            if offset in variable.tokens or offset in others:
                continue
            if any(start <= offset < end for start, end in self.kernel.skipped):
                continue
            for way in MOVES:
                self.obstacles.setdefault(
                    way, f"the parser could not follow the use of '{name}' (line {line})"
                )

    def climb(self, node: Node, variable: PointerVariable) -> None:
        """Follow a pointer's value outwards."""
        self.follow_pointer(node, _Reach(variable, node, variable.element))

    # One branch for each kind of expression that a pointer can stand in.
    def follow_pointer(self, node: Node, reach: _Reach) -> None:
        while (parent := node.parent) is not None:
            if parent.kind in WRAPPERS:
                if parent.type_kind != "POINTER":
                    return self.obstruct("used as a truth value", parent)
            elif parent.kind in CASTS:
                if not self.can_cast(parent, reach):
                    return self.obstruct(f"reinterpreted as '{parent.type}'", parent)
            elif parent.kind == "BINARY_OPERATOR" and parent.operator in ("+", "-"):
                left, right = parent.children
                other = right if node is left else left
                if left.end > right.start:
                    self.obstruct("a macro holds a part of its index", parent, BY_INDEX)
                if other.type_kind == "POINTER":
                    return self.obstruct("subtracted from another pointer", parent, BY_INDEX)
                reach.terms.append(IndexTerm(-1 if parent.operator == "-" else 1, other))
            elif parent.kind == "ARRAY_SUBSCRIPT_EXPR":
                if node is not parent.children[0]:
                    return self.obstruct("used as an index", parent)
                reach.terms.append(IndexTerm(1, parent.children[1]))
                return self.element_at(parent, reach)
            elif parent.kind == "UNARY_OPERATOR" and parent.operator == "*":
                return self.element_at(parent, reach)
            elif parent.operator in STEPS or parent.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
                if node is not parent.children[0]:
                    return self.obstruct("used as a pointer", parent)
                reach.variable.changed = reach.variable.changed or parent.line
            elif parent.kind == "BINARY_OPERATOR" and parent.operator in COMPARISONS:
                return self.obstruct("compared as a pointer", parent, BY_INDEX)
            elif parent.kind == "VAR_DECL":
                return self.alias(parent, reach)
            elif parent.kind == "CALL_EXPR":
                return self.call(parent, node, reach)
            elif parent.kind in _STATEMENTS or parent.operator == ",":
                return None  # a statement of its own, such as ``p += n;``
            elif parent.kind == "CONDITIONAL_OPERATOR":
                return self.obstruct("one of several pointers that a condition chooses", parent)
            elif parent.operator == "=" and node is parent.children[1]:
                name = parent.children[0].name
                return self.obstruct(f"assigned to '{name}', which is more than an index", parent)
            elif parent.operator == "=":
                return self.obstruct("assigned another pointer", parent)
            else:
                return self.obstruct("used as a pointer", parent)
            node = parent
            if not reach.terms:
                reach.pointer = node
        return None

    def can_cast(self, cast: Node, reach: _Reach) -> bool:
        """Whether a pointer's cast can be followed: to its own type, or to numbers and vectors that
        load functions read, which leaves the ways that keep pointers."""
        if cast.type_kind != "POINTER" or "volatile" in cast.type:
            return False
        element = element_type(cast)
        if element != reach.element:
            if not loads_by_intrinsic(element):
                return False
            self.obstruct(f"{READ_AS} '{element}'", cast, BY_INDEX)
            self.reinterpreted = True
            reach.element = element
        return True

    def alias(self, declaration: Node, reach: _Reach) -> None:
        """Follow a local variable that a pointer is stored in where it is declared."""
        other = declaration.type_kind != "POINTER" or element_type(declaration) != reach.element
        if other or "volatile" in declaration.type:
            return self.obstruct(f"becomes '{declaration.type}'", declaration)
        places = self.places(reach)
        statement = declaration.parent
        if (
            places is None
            or statement is None
            or statement.kind != "DECL_STMT"
            or len(statement.children) != 1
        ):
            self.obstruct(f"'{declaration.name}' is not declared alone", declaration, BY_INDEX)
        if declaration.id not in self.variables:
            self.pending.append(declaration.id)
            self.variables[declaration.id] = PointerVariable(
                declaration.name,
                declaration.id,
                declaration,
                reach.variable,
                reach.pointer,
                tuple(reach.terms),
                places or (),
                reach.element,
            )
        return None

    def call(self, call: Node, argument: Node, reach: _Reach) -> None:
        if len(call.children) > 1 and call.children[1] is argument:
            if call.name in LOAD_INTRINSICS:
                return self.record(argument, argument, reach, "load", "pointer", call)
            if call.name.startswith("atomic"):
                if not is_atomic(self.kernel, call):
                    # The function may access what lies beside the element.
                    self.obstruct(f"passed to function '{call.name}'", call, PER_BLOCK)
                return self.record(argument, argument, reach, "atomic", "pointer")
        return self.obstruct(f"passed to function '{call.name}'", call)

    def element_at(self, access: Node, reach: _Reach) -> None:
        """Follow an element outwards to what is done with it."""
        node = member = access
        while (parent := node.parent) is not None:
            if parent.kind == "MEMBER_REF_EXPR":
                if parent.type_kind in ("UNEXPOSED", "FUNCTIONPROTO"):
                    if reach.element in HALVES and parent.name.startswith(_CONVERSION):
                        break
                    return self.obstruct(f"method '{parent.name}' called on an element", parent)
                member = parent
            elif parent.kind == "ARRAY_SUBSCRIPT_EXPR":
                if member is access or node is not parent.children[0]:
                    break
                member = parent
            elif parent.kind == "UNARY_OPERATOR" and parent.operator == "&":
                return self.address(access, member, parent, reach)
            elif parent.kind in CASTS and b"&" in self.text[parent.start : node.start]:
                return self.obstruct(f"reinterpreted as '{parent.type} &'", parent)
            elif parent.kind not in WRAPPERS:
                break
            node = parent
        kind = self.kind(node)
        if kind is not None:
            self.record(access, member, reach, kind, _form(access))
        return None

    def kind(self, node: Node) -> str | None:
        """load, store or update, from the parent of an element's outermost expression; None where
        an obstacle was recorded."""
        parent = node.parent
        if parent is None:
            return "load"
        first = bool(parent.children) and node is parent.children[0]
        if parent.kind == "BINARY_OPERATOR" and parent.operator == "=" and first:
            return "store"
        if parent.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and first:
            return "update"
        if parent.kind == "UNARY_OPERATOR" and parent.operator in STEPS:
            return "update"
        if parent.kind == "CALL_EXPR" and parent.name in ASSIGNMENT_CALLS and first:
            return "store" if parent.name == "operator=" else "update"
        declared = self.text[max(0, parent.start) : max(0, parent.location)]
        is_value = parent.kind != "VAR_DECL" or b"const" in declared
        if "const" in node.type and is_value:
            return "load"
        bare = node.kind not in WRAPPERS or node.kind == "PAREN_EXPR"
        if parent.kind == "VAR_DECL" and parent.type_kind == "LVALUEREFERENCE" and bare:
            self.obstruct(f"bound to the reference '{parent.name}'", parent)
            return None
        if parent.kind == "CALL_EXPR" and bare:
            self.obstruct(f"passed by reference to '{parent.name}'", parent)
            return None
        return "load"

    def address(self, access: Node, member: Node, node: Node, reach: _Reach) -> None:
        if member is access:
            return self.follow_pointer(node, reach)
        while node.parent is not None and node.parent.kind in WRAPPERS:
            node = node.parent
        call = node.parent
        if call is not None and call.kind == "CALL_EXPR" and call.children[1:2] == [node]:
            if call.name in LOAD_INTRINSICS:
                return self.record(access, member, reach, "load", _form(access), call)
            if call.name.startswith("atomic"):
                return self.record(access, member, reach, "atomic", _form(access))
        return self.obstruct("address of a member taken", node)

    def record(
        self, access: Node, member: Node, reach: _Reach, kind: str, form: str,
        outer: Node | None = None,
    ) -> None:  # fmt: skip
        """Note an access, provided that its text is what its node says: macros can differ."""
        places = self.places(reach)
        whole = outer or access
        # In ``(*p).x`` the member stands outside of the parentheses that hold the access.
        with_member = form != "pointer" and balanced(self.text[access.start : member.end])
        if places is None or not self.reads_as(access, form) or not balanced(self.range(whole)):
            return self.obstruct("used inside a macro", access)
        place = AccessPlace(
            line=access.line,
            column=access.column,
            start=access.start,
            end=access.end,
            kind=kind,
            pointer=reach.variable.name,
            pointer_start=reach.pointer.start,
            pointer_end=reach.pointer.end,
            terms=places,
            form=form,
            outer_start=whole.start,
            outer_end=whole.end,
            intrinsic=outer.name if outer else None,
            member_end=member.end if with_member else access.end,
            member_type=member.type if with_member else reach.element,
        )
        self.accesses.append(
            Access(place, access, reach.pointer, tuple(reach.terms), reach.variable)
        )
        return None

    def reads_as(self, access: Node, form: str) -> bool:
        text = self.range(access)
        if form == "element":
            return text.endswith(b"]") and balanced(text)
        return balanced(text) and (form == "pointer" or text.startswith(b"*"))

    def range(self, node: Node) -> bytes:
        return self.text[node.start : node.end]

    def places(self, reach: _Reach) -> tuple[Term, ...] | None:
        """The terms' ranges in the text, or None where a macro hides them."""
        places = [term_place(t, self.text) for t in reach.terms]
        found = [p for p in places if p is not None]
        if len(found) < len(places) or not balanced(self.range(reach.pointer)):
            return None
        return tuple(found)


def is_atomic(kernel: ParsedKernel, call: Node) -> bool:
    """Whether a call updates one element by an atomic function of CUDA."""
    own = any(call.target == function.id for function in kernel.functions)
    return not own and _ATOMIC.fullmatch(call.name) is not None


def _form(access: Node) -> str:
    return "element" if access.kind == "ARRAY_SUBSCRIPT_EXPR" else "dereference"


def _merged(accesses: list[Access]) -> list[Access]:
    """One access per place: a macro that repeats its argument accesses it in several ways."""
    merged: dict[tuple[int, int], Access] = {}
    for access in accesses:
        key = (access.place.start, access.place.end)
        earlier = merged.setdefault(key, access)
        if earlier.place.kind != access.place.kind:
            merged[key] = replace(earlier, place=replace(earlier.place, kind="update"))
    return [merged[key] for key in sorted(merged)]
