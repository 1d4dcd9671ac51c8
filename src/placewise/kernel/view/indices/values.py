"""The values of expressions in a kernel's body, as polynomials over what they are made of.

A pointer counts as its distance from the start of its array, in elements.

A variable has the value of its definition as long as the statements between decide it: straight
lines and branches are followed, loop variables become ranges, anything else is unknown, with the
line that made it so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from placewise.kernel.view.elements import is_integer, is_unsigned, unqualified
from placewise.kernel.view.indices.conditions import facts_of
from placewise.kernel.view.indices.escapes import escaped
from placewise.kernel.view.indices.flow import Flow, changes
from placewise.kernel.view.indices.interval import Bounder
from placewise.kernel.view.indices.loops import loop_of, loop_variable
from placewise.kernel.view.indices.symbolic import Poly, compound, ranged, uniform, unknown
from placewise.kernel.view.pointer_uses import element_type
from placewise.kernel.view.tree.around import CASTS, STEPS, initial_values
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node

BUILTINS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_CONVERSIONS = CASTS | {"UNEXPOSED_EXPR"}
_WARP_SIZE = 32
_ONE = Poly.constant(1)
_SPANS = {
    "unsigned char": (0, 255), "bool": (0, 1), "char": (-128, 127), "signed char": (-128, 127),
}  # fmt: skip
"""Least and greatest value of the smallest types: what is loaded of them is bounded."""
_JUMPS = frozenset({"GOTO_STMT", "INDIRECT_GOTO_STMT"})
_CALL_DEPTH = 64
"""Most parameters bound at the same time, so that recursive functions are not followed for ever."""


@dataclass(frozen=True, eq=False)
class _Variables:
    """What a kernel's body says of its variables, whatever the launch."""

    locals: Mapping[int, Node]
    """Declarations by the variable's identity."""
    changes: Mapping[int, list[Node]]
    escaped: frozenset[int]
    names: Mapping[str, int]
    """How often each name is declared, parameters included; 0 for others."""
    jumps: bool


@lru_cache(maxsize=8)
def _variables(kernel: ParsedKernel) -> _Variables:
    """Looked up once for a kernel: its index expressions are valued again for every loop and length
    of its chunks."""
    nodes = list(kernel.body.walk())
    names = Counter(n.name for n in nodes if n.kind in ("VAR_DECL", "PARM_DECL"))
    names.update(p.name for p in kernel.parameters)
    return _Variables(
        locals={n.id: n for n in nodes if n.kind == "VAR_DECL"},
        changes=changes(kernel.body),
        escaped=escaped(kernel),
        names=names,
        jumps=any(n.kind in _JUMPS for n in nodes),
    )


class Values:
    """Polynomials for the expressions of one kernel, for one launch where a sign decides."""

    def __init__(
        self, kernel: ParsedKernel, bounder: Bounder, given: Mapping[Node, Poly] | None = None
    ) -> None:
        """``given`` is the value that the variable of a ``for`` loop has inside it, by loop, in
        place of its whole range."""
        self.kernel = kernel
        self.bounder = bounder
        self.given = given or {}
        self.parameters = {p.id: p for p in kernel.parameters}
        self.functions = {f.id: f for f in kernel.functions}
        own = _variables(kernel)
        self.locals, self.changes, self.escaped = own.locals, own.changes, own.escaped
        self.names, self.jumps = own.names, own.jumps
        self._known: dict[Node, Poly] = {}
        self._active: set[Node] = set()

    def of_this_launch(self) -> Values:
        """Values of the same expressions with closer bounds, which hold for this launch alone."""
        closer = replace(self.bounder, within_period=True, assumed=set())
        return Values(self.kernel, closer, self.given)

    def value(self, node: Node, given: Mapping[int, Poly] | None = None) -> Poly:
        """Value of an expression; ``given`` are the arguments while a function is looked into."""
        if given is not None:
            return self._compute(node, given)
        if node not in self._known:
            if node in self._active:
                return unknown(f"@{id(node)}", f"it changes in a loop (line {node.line})")
            self._active.add(node)
            try:
                self._known[node] = self._compute(node, None)
            finally:
                self._active.discard(node)
        return self._known[node]

    def _compute(self, node: Node, given: Mapping[int, Poly] | None) -> Poly:
        if node.value is not None and is_integer(unqualified(node.type)):
            return Poly.constant(node.value)
        kind = node.kind
        if kind == "PAREN_EXPR":
            return self.value(node.children[0], given)
        if kind in _CONVERSIONS and node.children:
            return self._cast(node, node.children[-1], given)
        if kind == "BINARY_OPERATOR":
            return self._binary(node, given)
        if kind == "UNARY_OPERATOR":
            return self._unary(node, given)
        if kind == "CONDITIONAL_OPERATOR":
            return self._conditional(node, given)
        if kind == "MEMBER_REF_EXPR":
            return self._member(node)
        if kind == "CALL_EXPR":
            return self._call(node, given)
        if kind == "DECL_REF_EXPR":
            if given is not None and node.target in given:
                return given[node.target]
            return self._variable(node)
        if kind == "ARRAY_SUBSCRIPT_EXPR":
            span = _SPANS.get(unqualified(node.type))
            if span is not None:
                return ranged(f"@{id(node)}", (Poly.constant(span[0]),), (Poly.constant(span[1]),))
            return unknown_at(node, f"it depends on data loaded from {_base_name(node)}")
        return unknown_at(node, "it is computed in a way that is not followed")

    def _cast(self, node: Node, inner: Node, given: Mapping[int, Poly] | None) -> Poly:
        if node.type_kind == inner.type_kind == "POINTER":
            value = self.value(inner, given)
            if element_type(node) == element_type(inner) or value == Poly():
                return value
            return unknown_at(node, f"it counts elements that are read as {element_type(node)}")
        target, source = unqualified(node.type), unqualified(inner.type)
        if not is_integer(target):
            return unknown_at(node, f"it is of type {node.type}")
        if not is_integer(source) and "enum" not in source:
            return unknown_at(node, "it is computed in floating point")
        value = self.value(inner, given)
        if node.size > inner.size and self._may_wrap(inner, value):
            return unknown_at(node, "an unsigned value may fall below zero")
        if node.size >= min(4, inner.size):
            return value
        return unknown_at(node, f"it is cut to {target}")

    def _binary(self, node: Node, given: Mapping[int, Poly] | None) -> Poly:
        operator = node.operator
        if operator in ("==", "!=", "<", ">", "<=", ">=", "&&", "||", "<=>"):
            return ranged(f"@{id(node)}", (Poly(),), (_ONE,))
        if all(c.type_kind == "POINTER" for c in node.children):
            return unknown_at(node, "it is a distance between pointers")
        left, right = (self.value(c, given) for c in node.children)
        if operator in ("/", ">>", "%") and self._may_wrap(node, left, right):
            return unknown_at(node, "an unsigned value may fall below zero")
        return self.combine(node, operator, left, right)

    def _may_wrap(self, node: Node, *operands: Poly) -> bool:
        """Whether unsigned operands may be below zero as whole numbers, in this launch or another:
        order, quotients and remainders of what they wrap to are different."""
        is_unsigned_here = is_unsigned(unqualified(node.type))
        return is_unsigned_here and not all(map(self.bounder.stays_natural, operands))

    def combine(self, node: Node, operator: str, left: Poly, right: Poly) -> Poly:
        """Value of two values under a binary operator; ``node`` is where it stands."""
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        if operator == "<<" and right.value is not None and 0 <= right.value < 32:
            return left * Poly.constant(1 << right.value)
        if operator in ("/", "%", ">>"):
            return compound(operator, left, right)
        if operator == "&":
            # The mask is the constant side; both may be.
            return compound("&", right, left) if left.value is not None else compound(
                "&", left, right
            )  # fmt: skip
        return unknown_at(node, f"it is computed with '{operator}'")

    def _unary(self, node: Node, given: Mapping[int, Poly] | None) -> Poly:
        if node.operator in ("-", "+"):
            inner = self.value(node.children[0], given)
            return -inner if node.operator == "-" else inner
        if node.operator in STEPS:
            before = self.value(node.children[0], given)
            by = 0 if node.operator.startswith("p") else STEPS[node.operator]
            return before + Poly.constant(by)
        if node.operator == "&" and node.children[0].bare().kind == "ARRAY_SUBSCRIPT_EXPR":
            base, index = node.children[0].bare().children
            return self.value(base, given) + self.value(index, given)
        if node.operator == "!":
            return ranged(f"@{id(node)}", (Poly(),), (_ONE,))
        if node.operator == "*":
            return unknown_at(node, f"it depends on data loaded from {_base_name(node)}")
        return unknown_at(node, f"it is computed with '{node.operator.removeprefix('p')}'")

    def _conditional(self, node: Node, given: Mapping[int, Poly] | None) -> Poly:
        if len(node.children) != 3:
            return unknown_at(node, "it is computed in a way that is not followed")
        condition, yes, no = node.children
        return self.select(condition, self.value(yes, given), self.value(no, given), given)

    def select(
        self, condition: Node, yes: Poly, no: Poly, given: Mapping[int, Poly] | None
    ) -> Poly:
        """``condition ? yes : no``, as minimum or maximum where it is one."""
        facts = facts_of(condition, True, lambda n: self.value(n, given), bounder=self.bounder)
        if len(facts) == 1:
            # With fact >= 0 for yes and fact <= -1 for no: the smaller of both is picked if
            # no - yes is the fact, or 1 more; the larger if yes - no is.
            if (no - yes - facts[0]).value in (0, 1):
                return compound("min", yes, no)
            if (yes - no - facts[0]).value in (0, 1):
                return compound("max", yes, no)
        return compound("select", yes, no)

    def _member(self, node: Node) -> Poly:
        base = node.children[0].bare() if node.children else node
        if (
            base.kind == "DECL_REF_EXPR"
            and base.name in BUILTINS
            and base.target not in self.locals
        ):
            key = f"{base.name}.{node.name}"
            if base.name != "threadIdx":
                return uniform(key, f"int({key})")
            last = uniform(f"blockDim.{node.name}", f"int(blockDim.{node.name})") - _ONE
            return ranged(key, (Poly(),), (last,))
        parameter = self.parameters.get(base.target)
        key = f"{base.name}.{node.name}"
        if parameter is not None and key in self.bounder.values and not self._member_changes(base):
            return uniform(key, f"int({key})")
        return unknown_at(node, f"it depends on the member '{node.name}'")

    def _member_changes(self, base: Node) -> bool:
        """Whether a structure passed by value is changed anywhere in the body."""
        return base.target in self.changes or any(
            n.kind == "MEMBER_REF_EXPR"
            and n.children
            and n.children[0].bare().target == base.target
            and n.parent is not None
            and (
                n.parent.kind in ("COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR")
                or (n.parent.operator == "=" and n.parent.children[0] is n)
            )
            for n in self.kernel.body.walk()
        )

    def _call(self, node: Node, given: Mapping[int, Poly] | None) -> Poly:
        """Value of a call of a known function, or of one of the file that only returns a value."""
        arguments = node.children[1:]
        name = node.name
        if name in ("min", "max", "umin", "umax") and len(arguments) == 2:
            left, right = (self.value(a, given) for a in arguments)
            if self._may_wrap(node, left, right):
                return unknown_at(node, "an unsigned value may fall below zero")
            return compound(name.removeprefix("u"), left, right)
        if name == "abs" and len(arguments) == 1:
            return compound("abs", self.value(arguments[0], given))
        if name in ("__mul24", "__umul24") and len(arguments) == 2:
            return self.value(arguments[0], given) * self.value(arguments[1], given)
        if name.startswith("__ld") and arguments:
            return unknown_at(node, f"it depends on data loaded from {_base_name(arguments[0])}")
        function = self.functions.get(node.target)
        result = _returned(function) if function is not None else None
        if function is not None and result is not None and len(given or ()) < _CALL_DEPTH:
            parameters = function.parameters
            if len(parameters) == len(arguments):
                values = {
                    p.id: self.value(a, given) for p, a in zip(parameters, arguments, strict=True)
                }
                return self.value(result, values)
        return unknown_at(node, f"it is the result of {name or 'a function'}()")

    # One branch for each kind of variable that CUDA C++ has.
    def _variable(self, node: Node) -> Poly:
        """Value of a variable or parameter where ``node`` names it."""
        identity = node.target
        if node.name == "warpSize" and identity not in self.locals:
            return Poly.constant(_WARP_SIZE)
        pointer = node.type_kind == "POINTER"
        if not pointer and not is_integer(unqualified(node.type)):
            return unknown_at(node, f"'{node.name}' is of type {node.type}")
        parameter = self.parameters.get(identity)
        declaration = self.locals.get(identity)
        if parameter is None and declaration is None:
            return unknown_at(node, f"it depends on the variable '{node.name}'")
        if declaration is not None and any(
            c.kind in ("CUDASHARED_ATTR", "CUDACONSTANT_ATTR") for c in declaration.children
        ):
            return unknown_at(node, f"it depends on the shared variable '{node.name}'")
        if declaration is not None and "REFERENCE" in declaration.type_kind:
            return unknown_at(node, f"'{node.name}' is another name of a variable")
        if identity in self.escaped:
            return unknown_at(node, f"'{node.name}' may change through another name")
        loop = None if self.jumps else loop_of(self, node)
        if loop is not None:
            known = loop in self.given and node.within(loop.children[-1])
            return self.given[loop] if known else loop_variable(self, loop, node)
        start = unknown_at(node, f"'{node.name}' has no value yet")
        if parameter is not None:
            # A pointer's value is its distance from the start of its array.
            start = Poly() if pointer else self._argument(parameter)
        if identity in self.changes and self.jumps:
            return unknown_at(node, f"'{node.name}' changes, and the kernel has a goto")
        if identity not in self.changes:
            return start if declaration is None else self.initial(declaration, start)
        if any(a.kind == "LAMBDA_EXPR" for c in self.changes[identity] for a in c.above()):
            return unknown_at(node, f"'{node.name}' changes in a lambda")
        scope: Node | None = self.kernel.body
        if declaration is not None:
            scope = next((a for a in declaration.above() if a.kind == "COMPOUND_STMT"), None)
        if scope is None:
            return unknown_at(node, f"'{node.name}' changes")
        return Flow(self, identity, node).value_in(scope, start)

    def _argument(self, parameter: Node) -> Poly:
        if parameter.name not in self.bounder.values:
            return unknown_at(parameter, f"the value of '{parameter.name}' is not a whole number")
        as_is = parameter.type in ("int", "const int")
        return uniform(parameter.name, parameter.name if as_is else f"int({parameter.name})")

    def initial(self, declaration: Node, otherwise: Poly) -> Poly:
        """Value of a declaration's initialiser."""
        found = initial_values(declaration)
        return self.value(found[-1]) if found else otherwise


def unknown_at(node: Node, reason: str) -> Poly:
    """A value that is not known, with the line to say so."""
    return unknown(f"@{id(node)}", f"{reason} (line {node.line})")


def _returned(function: Node) -> Node | None:
    """The expression of a function that only returns one."""
    body = function.children[-1] if function.children else None
    if body is None or body.kind != "COMPOUND_STMT" or len(body.children) != 1:
        return None
    statement = body.children[0]
    return statement.children[0] if statement.kind == "RETURN_STMT" and statement.children else None


def _base_name(node: Node) -> str:
    """Name of the array that an expression reads."""
    for inner in node.walk():
        if inner.kind == "DECL_REF_EXPR":
            return inner.name
    return "memory"
