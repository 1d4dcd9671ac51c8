"""What stands around an expression in the syntax tree."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.view.tree.node import WRAPPERS, Node

STEPS = {"++": 1, "p++": 1, "--": -1, "p--": -1}
"""What the operators that step a variable add to it; ``p``: behind it."""
ASSIGNMENT_CALLS = frozenset(
    f"operator{op}" for op in ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
)
PURE_CALLS = frozenset({"min", "max", "abs", "umin", "umax", "__mul24", "__umul24"})
"""Functions of whole numbers that only compute."""
COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
CASTS = frozenset(
    {"CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR", "CXX_CONST_CAST_EXPR", "CXX_FUNCTIONAL_CAST_EXPR",
     "CXX_REINTERPRET_CAST_EXPR"}
)  # fmt: skip


def initial_values(variable: Node) -> list[Node]:
    """The expressions that initialise a declared variable; libclang lists attributes and names of
    types beside them."""
    return [c for c in variable.children if not c.kind.endswith(("_ATTR", "_REF"))]


def outside(node: Node) -> Node | None:
    """The expression or statement around ``node``, parentheses and conversions left out."""
    return wrapped(node).parent


def wrapped(node: Node) -> Node:
    """``node`` with the parentheses and conversions around it."""
    while node.parent is not None and node.parent.kind in WRAPPERS:
        node = node.parent
    return node


def inside(around: Node, node: Node) -> Node:
    """The child of ``around`` that ``node`` is, or is in."""
    while node.parent is not None and node.parent is not around:
        node = node.parent
    return node


def stays_pointer(node: Node) -> bool:
    """Whether an expression of a pointer is a pointer into the same array: ``p + i``, ``p++``."""
    if node.kind == "BINARY_OPERATOR":
        return node.operator in ("+", "-") and node.type_kind == "POINTER"
    if node.kind == "UNARY_OPERATOR":
        return node.operator in STEPS
    return node.kind == "CONDITIONAL_OPERATOR"


def parameter_of(
    functions: Sequence[Node], call: Node, arguments: Sequence[Node], argument: Node
) -> Node | None:
    """The parameter, of one of ``functions``, that gets ``argument``, one of the ``arguments`` of a
    call; None where the call is of another function, or of a template."""
    function = next((f for f in functions if f.id == call.target), None)
    if function is None or function.kind == "FUNCTION_TEMPLATE":
        return None
    position = next((n for n, a in enumerate(arguments) if a is argument), None)
    if position is None or position >= len(function.parameters):
        return None
    return function.parameters[position]


def call_arguments(call: Node) -> list[Node]:
    """Arguments of a call; the callee is its first child, but in the middle of an operator's."""
    if call.name.startswith("operator") and len(call.children) == 3:
        return [call.children[0], call.children[2]]
    return call.children[1:]
