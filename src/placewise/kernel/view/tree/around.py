"""What stands around an expression in the syntax tree."""

from __future__ import annotations

from placewise.kernel.view.tree.node import Node

WRAPPERS = ("PAREN_EXPR", "UNEXPOSED_EXPR")
"""Brackets and conversions without text."""
STEPS = frozenset({"++", "--", "p++", "p--"})
"""Operators that add one to what they stand at, or take one away; ``p``: behind it."""


def outside(node: Node) -> Node | None:
    """The expression or statement around ``node``, brackets and conversions left out."""
    around = node.parent
    while around is not None and around.kind in WRAPPERS:
        around = around.parent
    return around


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


def call_arguments(call: Node) -> list[Node]:
    """Arguments of a call; the callee is its first child, but in the middle of an operator's."""
    if call.name.startswith("operator") and len(call.children) == 3:
        return [call.children[0], call.children[2]]
    return call.children[1:]
