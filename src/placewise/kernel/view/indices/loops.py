"""``for`` loops: their parts, and the range of the variable that they step.

libclang lists a loop's parts without saying which are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placewise.kernel.view.elements import is_unsigned, unqualified
from placewise.kernel.view.indices.conditions import bound_of, facts_of
from placewise.kernel.view.indices.interval import Unbounded
from placewise.kernel.view.indices.symbolic import Atom, AtomKind, Poly, compound, ranged, unknown
from placewise.kernel.view.tree.around import STEPS
from placewise.kernel.view.tree.node import Node

if TYPE_CHECKING:
    from placewise.kernel.view.indices.values import Values

_OPPOSITE = {1: "<", -1: ">"}
_COMPARED = frozenset({"<", "<=", ">", ">=", "!="})


@dataclass(frozen=True)
class Count:
    """A ``for`` loop that counts: its variable, where it starts and how it moves."""

    variable: int
    """Identity of the variable's declaration."""
    name: str
    first: Poly
    stepping: Stepping
    parts: ForParts


@dataclass(frozen=True)
class ForParts:
    """``for (start; condition; step) body``; None for what is left out."""

    start: Node | None
    condition: Node | None
    step: Node | None
    body: Node


def for_parts(loop: Node, text: bytes) -> ForParts | None:
    """The parts of ``loop``, told apart by the semicolons between them; None where a macro hides
    these."""
    *head, body = loop.children
    semicolons = _semicolons(text, loop.start, body.start, head)
    if len(semicolons) != 2:
        return None
    first, second = semicolons
    parts: list[Node | None] = [None, None, None]
    for node in head:
        at = 0 if node.start < first else 1 if node.start < second else 2
        if parts[at] is not None:
            return None
        parts[at] = node
    return ForParts(parts[0], parts[1], parts[2], body)


def loop_of(values: Values, node: Node) -> Node | None:
    """The ``for`` around a reference whose step alone changes the variable, once started there."""
    changes = values.changes.get(node.target, [])
    if node.target in values.escaped:
        return None
    for outer in node.above():
        if outer.kind == "FOR_STMT":
            parts = for_parts(outer, values.kernel.text)
            if parts is not None and _steps(node.target, parts, changes, outer):
                return outer
    return None


def _steps(variable: int, parts: ForParts, changes: list[Node], loop: Node) -> bool:
    start, step = parts.start, parts.step
    if start is None or step is None:
        return False
    around = set(loop.above())
    if any(a.kind == "LAMBDA_EXPR" and a not in around for c in changes for a in c.above()):
        return False
    inside = [c for c in changes if c.within(loop)]
    starting = [c for c in inside if c.within(start)]
    stepping = [c for c in inside if c.within(step)]
    declared = any(n.id == variable and n.kind == "VAR_DECL" for n in start.walk())
    if len(stepping) != 1 or len(starting) + 1 != len(inside):
        return False
    return declared or bool(starting)


def loop_variable(values: Values, loop: Node, node: Node) -> Poly:
    """The stepped variable at ``node``: from its start to where the condition ends the loop."""
    variable = node.target
    parts = for_parts(loop, values.kernel.text)
    if parts is None or parts.start is None or parts.step is None:
        return unknown(f"@{id(node)}", f"'{node.name}' changes in a loop (line {loop.line})")
    first = _start(values, variable, parts.start)
    if node.within(parts.start):
        return first
    key = f"loop {variable} {id(loop)}"
    stepping = _stepping(values, variable, parts, first, key)
    if stepping is None:
        return unknown(key, f"the step of '{node.name}' is not followed (line {loop.line})")
    by, limits = Poly.constant(stepping.stride or 1), stepping.limits
    if stepping.stride not in (None, 1):
        # Only whole strides from the start are reached.
        limits += tuple(
            first + compound("/", limit - first, by) * by
            for limit in stepping.limits
            if (limit - first).uniform
        )
    reason = _why_unbounded(values, parts, node.name, loop)
    if not node.within(parts.body):
        # In the loop's head the variable also has the value that ends the loop.
        key, beyond = f"{key} head", Poly.constant(stepping.direction) * by
        limits = () if stepping.stride is None else tuple(limit + beyond for limit in limits)
    if stepping.direction > 0:
        return ranged(key, (first,), limits, reason)
    return ranged(key, limits, (first,), reason)


def count_of(values: Values, loop: Node) -> Count | None:
    """How ``loop`` counts; None where it steps no variable that can be followed."""
    parts = for_parts(loop, values.kernel.text)
    if parts is None or parts.start is None or parts.step is None:
        return None
    for node in parts.step.walk():
        stepped = node.children[0].bare() if node.children else node
        if node.operator in STEPS or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            variable = stepped.target
            if variable in values.escaped:
                return None
            if not _steps(variable, parts, values.changes.get(variable, []), loop):
                continue
            first = _start(values, variable, parts.start)
            found = _stepping(values, variable, parts, first, f"loop {variable} {id(loop)}")
            return None if found is None else Count(variable, stepped.name, first, found, parts)
    return None


def last_rounds(values: Values, loop: Node) -> tuple[Poly, ...]:
    """Upper bounds of the number of a loop's last round, counted from 0."""
    count = count_of(values, loop)
    if count is None or count.stepping.stride is None:
        return ()
    by = Poly.constant(count.stepping.stride * count.stepping.direction)
    return tuple(compound("/", limit - count.first, by) for limit in count.stepping.limits)


@dataclass(frozen=True)
class Stepping:
    """How a loop's variable moves."""

    direction: int
    """1 up, -1 down."""
    stride: int | None
    """How far, where that is a number."""
    limits: tuple[Poly, ...]
    """Values that the loop's condition keeps it from passing."""
    exact: bool
    """Whether the condition holds for all values between the start and the limits."""


def _stepping(
    values: Values, variable: int, parts: ForParts, first: Poly, key: str
) -> Stepping | None:
    """How a loop's step moves ``variable``; None where that is not followed."""
    if parts.step is None:
        return None
    direction = _direction(values, variable, parts.step, first)
    if direction == 0:
        return None
    limits: list[Poly] = []
    exact = False
    if parts.condition is not None and not _may_wrap(values, parts.condition, variable):
        atom = Atom(key, AtomKind.RANGE)
        here = {variable: Poly.atom(atom)}
        unequal = _OPPOSITE[direction]
        facts = facts_of(parts.condition, True, lambda n: _with(values, n, here), unequal)
        bounds = [bound_of(fact, key) for fact in facts]
        limits = [b[1] for b in bounds if b is not None and b[0] == (direction > 0)]
        splits = [fact.split(atom) for fact in facts]
        exact = all(s is not None and s[0].value in (1, -1) for s in splits)
        exact = (
            exact
            and len(limits) == len(facts)
            and _never_wraps(values, parts.condition, first, variable)
        )
    return Stepping(direction, _stride(values, variable, parts.step), tuple(limits), exact)


def _unsigned_comparisons(condition: Node) -> list[Node]:
    """The comparisons of unsigned numbers in a condition."""
    return [
        n
        for n in condition.walk()
        if n.kind == "BINARY_OPERATOR"
        and n.operator in _COMPARED
        and is_unsigned(unqualified(n.children[0].type))
    ]


def _may_wrap(values: Values, condition: Node, variable: int) -> bool:
    """Whether a condition compares unsigned numbers that are computed from the loop's variable, or
    compares it with one that may be below zero: what they wrap to is no limit."""
    for comparison in _unsigned_comparisons(condition):
        for side in comparison.children:
            if side.bare().target == variable:
                continue
            if any(n.target == variable for n in side.walk()):
                return True
            try:
                if (values.bounder.lowest(values.value(side)) < 0).any():
                    return True
            except Unbounded:
                # A limit that is not known limits nothing anyway.
                continue
    return False


def _never_wraps(values: Values, condition: Node, first: Poly, variable: int) -> bool:
    """Whether the loop's start is not below zero, nor what its variable is compared with in any
    launch, where the condition compares unsigned numbers."""
    comparisons = _unsigned_comparisons(condition)
    limits = [s for c in comparisons for s in c.children if s.bare().target != variable]
    if any(number < 0 for s in limits for _, number in values.value(s).terms):
        return False
    compared = [first, *(values.value(s) for s in limits)]
    return not comparisons or all(map(values.bounder.stays_natural, compared))


def _start(values: Values, variable: int, start: Node) -> Poly:
    for inner in start.walk():
        if inner.kind == "VAR_DECL" and inner.id == variable:
            return values.initial(inner, unknown(f"@{id(inner)}", "it has no value yet"))
        if inner.kind == "BINARY_OPERATOR" and inner.operator == "=":
            target, value = inner.children
            if target.bare().target == variable:
                return values.value(value)
    return unknown(f"@{id(start)}", f"its start is not followed (line {start.line})")


def _with(values: Values, node: Node, here: Mapping[int, Poly]) -> Poly:
    """Value of a node with some variables given, as deep as sums and products go."""
    inner = node.bare()
    if inner.kind == "DECL_REF_EXPR" and inner.target in here:
        return here[inner.target]
    if inner.kind == "BINARY_OPERATOR" and inner.operator in ("+", "-", "*"):
        left, right = (_with(values, c, here) for c in inner.children)
        return values.combine(inner, inner.operator, left, right)
    return values.value(node)


def _why_unbounded(values: Values, parts: ForParts, name: str, loop: Node) -> str:
    if parts.condition is not None:
        for side in parts.condition.bare().children:
            for atom in values.value(side).atoms:
                if atom.kind is AtomKind.UNKNOWN:
                    return atom.reason
    return f"the loop over '{name}' has no bound that is known (line {loop.line})"


def _direction(values: Values, variable: int, step: Node, first: Poly) -> int:
    """1 where the step makes the variable larger, -1 smaller, 0 where that is not known."""
    for node in step.walk():
        if not node.children or node.children[0].bare().target != variable:
            continue
        if node.operator in STEPS:
            return STEPS[node.operator]
        if node.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            return step_direction(values, node.operator, node.children[1], first)
        if node.kind == "BINARY_OPERATOR" and node.operator == "=":
            change = node.children[1].bare()
            if len(change.children) == 2 and change.children[0].bare().target == variable:
                return step_direction(values, f"{change.operator}=", change.children[1], first)
    return 0


def _stride(values: Values, variable: int, step: Node) -> int | None:
    """How far a step goes, where that is a number."""
    for node in step.walk():
        if not node.children or node.children[0].bare().target != variable:
            continue
        if node.operator in STEPS:
            return 1
        if node.operator in ("+=", "-="):
            by = values.value(node.children[1]).value
            return abs(by) if by else None
    return None


def step_direction(values: Values, operator: str, amount: Node, first: Poly) -> int:
    """Direction of ``variable operator amount`` from ``first`` on: 1, -1, or 0 if not known."""
    bounder, by = values.bounder, values.value(amount)
    try:
        if operator in ("+=", "-="):
            sign = 1 if operator == "+=" else -1
            if (bounder.lowest(by) > 0).all():
                return sign
            return -sign if (bounder.highest(by) < 0).all() else 0
        if (bounder.lowest(first) < 0).any() or (bounder.lowest(by) < 0).any():
            return 0
    except Unbounded:
        return 0
    return {"*=": 1, "<<=": 1, "/=": -1, ">>=": -1}.get(operator, 0)


def _semicolons(text: bytes, start: int, end: int, head: list[Node]) -> list[int]:
    """Offsets of the semicolons in the loop's header. A declaration's node includes its own."""
    found = []
    at = start
    while at < end:
        inside = next((n for n in head if n.start <= at < n.end and n.kind != "DECL_STMT"), None)
        if inside is not None:
            at = inside.end
            continue
        declaration = next((n for n in head if n.start <= at < n.end), None)
        if declaration is not None:
            found.append(declaration.end - 1)
            at = declaration.end
            continue
        if text[at : at + 2] == b"//":
            at = text.find(b"\n", at)
        elif text[at : at + 2] == b"/*":
            at = text.find(b"*/", at) + 2
        else:
            if text[at : at + 1] == b";":
                found.append(at)
            at += 1
    return found
