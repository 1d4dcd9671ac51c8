"""What conditions say: inequalities between polynomials, and bounds of atoms that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from placewise.kernel.view.elements import is_unsigned, unqualified
from placewise.kernel.view.indices.interval import NO_FACTS, Bounder, Facts, Unbounded
from placewise.kernel.view.indices.symbolic import Poly, compound
from placewise.kernel.view.tree.around import wrapped
from placewise.kernel.view.tree.node import Node

if TYPE_CHECKING:
    from placewise.kernel.view.indices.values import Values

_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_ONE = Poly.constant(1)
_LEAVES = frozenset({"RETURN_STMT", "CONTINUE_STMT", "BREAK_STMT"})


def facts_of(
    condition: Node, holds: bool, value: Callable[[Node], Poly], unequal: str | None = None,
    bounder: Bounder | None = None, known: Facts = NO_FACTS,
) -> list[Poly]:  # fmt: skip
    """Polynomials that are at least 0 where ``condition`` holds (or does not).

    ``unequal`` is what ``!=`` stands for, as in a loop that counts up to a limit. With a
    ``bounder``, unsigned comparisons whose operands may have wrapped say nothing, and ``!=`` stands
    for ``<`` or ``>`` where one of them cannot be, by what is ``known`` there.
    """
    node = condition.bare()
    if node.kind == "UNARY_OPERATOR" and node.operator == "!":
        return facts_of(node.children[0], not holds, value, unequal, bounder, known)
    if node.kind != "BINARY_OPERATOR" or len(node.children) != 2:
        return []
    left, right = node.children
    if node.operator == ("&&" if holds else "||"):
        return [
            *facts_of(left, holds, value, unequal, bounder, known),
            *facts_of(right, holds, value, unequal, bounder, known),
        ]
    if node.operator not in _NEGATED:
        return []
    operator = node.operator if holds else _NEGATED[node.operator]
    if operator == "!=" and unequal is not None:
        operator = unequal
    smaller, larger = value(left), value(right)
    if bounder is not None and is_unsigned(unqualified(left.type)):
        sides = [(smaller, larger), (larger, smaller)]
        compared = {"<": sides[:1], "<=": sides[:1], ">": sides[1:], ">=": sides[1:]}
        bits = left.size * 8
        if not all(_holds_unwrapped(bounder, *s, bits) for s in compared.get(operator, sides)):
            return []
    difference = smaller - larger
    if operator == "!=" and bounder is not None:
        one_side = (d for d in (difference, -difference) if bounder.stays_natural(d, known))
        return [d - _ONE for d in one_side][:1]
    facts = {
        "<": [-difference - _ONE],
        "<=": [-difference],
        ">": [difference - _ONE],
        ">=": [difference],
        "==": [difference, -difference],
        "!=": [],
    }[operator]
    return [each for fact in facts for each in _by_operand(fact)]


def _by_operand(fact: Poly) -> list[Poly]:
    """``fact >= 0`` as a fact for each operand of a ``min`` or ``max`` that varies in a block.

    ``min(a, b) - i >= 0`` says that ``a - i >= 0`` and ``b - i >= 0``; ``i - max(a, b) >= 0`` says
    that ``i - a >= 0`` and ``i - b >= 0``.
    """
    for atom in fact.atoms:
        sign = {"min": 1, "max": -1}.get(atom.operator)
        if sign is None or atom.uniform:
            continue
        split = fact.split(atom)
        if split is not None and split[0].value == sign:
            rest = split[1]
            sides = [rest + operand if sign > 0 else rest - operand for operand in atom.operands]
            return [each for side in sides for each in _by_operand(side)]
    return [fact]


def exact_facts(condition: Node, holds: bool, values: Values) -> list[Poly] | None:
    """Polynomials that are all at least 0 if, and only if, ``condition`` holds (or does not). None
    where no such polynomials are found, as for a condition on data."""
    node = condition.bare()
    if node.kind == "UNARY_OPERATOR" and node.operator == "!":
        return exact_facts(node.children[0], not holds, values)
    if node.kind == "BINARY_OPERATOR" and node.operator == ("&&" if holds else "||"):
        sides = [exact_facts(c, holds, values) for c in node.children]
        return None if None in sides else [f for side in sides if side is not None for f in side]
    facts = facts_of(node, holds, values.value, bounder=values.bounder)
    return facts if facts and _is_exact(values, node) else None


def _holds_unwrapped(bounder: Bounder, smaller: Poly, larger: Poly, bits: int) -> bool:
    """Whether two whole numbers compare ``smaller < larger`` wherever the unsigned numbers of
    ``bits`` bits that they wrap to do.

    That is so where the larger is not negative and the smaller does not overflow. A negative
    smaller number does no harm: it wraps to a huge one, for which the comparison fails.
    """
    if not bounder.stays_natural(larger):
        return False
    try:
        return bits > 32 or bool((bounder.highest(smaller) < 1 << bits).all())
    except Unbounded:
        return False


def _is_exact(values: Values, comparison: Node) -> bool:
    """Whether a comparison compares the numbers themselves, not unsigned ones to which negative
    numbers have wrapped."""
    node = comparison.bare()
    if node.operator not in _NEGATED or not is_unsigned(unqualified(node.children[0].type)):
        return True
    return all(values.bounder.stays_natural(values.value(n)) for n in node.children)


def bound_of(fact: Poly, key: str) -> tuple[bool, Poly] | None:
    """``(is upper, bound)`` of the atom ``key`` from ``fact >= 0``; None if it says nothing."""
    atom = next((a for a in fact.atoms if a.key == key), None)
    split = fact.split(atom) if atom is not None else None
    if split is None:
        return None
    coefficient, rest = split
    factor = coefficient.value
    if factor is None or factor == 0:
        return None
    # Division rounds towards zero, which can only widen the range.
    if factor > 0:
        return False, compound("/", -rest, Poly.constant(factor))
    return True, compound("/", rest, Poly.constant(-factor))


def facts_at(node: Node, values: Values) -> Facts:
    """Bounds of atoms from the conditions that hold where ``node`` is evaluated. None in a kernel
    with ``goto``, by which control may come there past any condition."""
    conditions = [] if values.jumps else conditions_at(node)
    facts = _facts_of_all(conditions, values, NO_FACTS)
    if any(n.operator in ("==", "!=") for condition, _ in conditions for n in condition.walk()):
        # The other conditions may say which side of an inequality holds.
        facts = _facts_of_all(conditions, values, facts)
    return facts


def _facts_of_all(conditions: Sequence[tuple[Node, bool]], values: Values, known: Facts) -> Facts:
    """Bounds of atoms from ``conditions``, which all hold (or do not, where False); ``known`` holds
    as well."""
    lower: dict[str, tuple[Poly, ...]] = {}
    upper: dict[str, tuple[Poly, ...]] = {}
    inequalities: list[Poly] = []
    for condition, holds in conditions:
        for fact in facts_of(condition, holds, values.value, bounder=values.bounder, known=known):
            inequalities.append(fact)
            for atom in fact.atoms:
                bound = bound_of(fact, atom.key) if not atom.uniform else None
                if bound is not None and bound[1].uniform:
                    side = upper if bound[0] else lower
                    side[atom.key] = (*side.get(atom.key, ()), bound[1])
    return Facts(lower, upper, tuple(inequalities))


def conditions_at(node: Node) -> list[tuple[Node, bool]]:
    """Conditions that hold, or do not (False), whenever ``node`` is evaluated."""
    found: list[tuple[Node, bool]] = []
    inner = node
    for outer in node.above():
        if outer.kind == "LAMBDA_EXPR" and not _called_at_once(outer):
            break
        if outer.kind in ("IF_STMT", "CONDITIONAL_OPERATOR") and len(outer.children) in (2, 3):
            condition = outer.children[0]
            if inner is not condition:
                found.append((condition, inner is outer.children[1]))
        elif outer.kind == "BINARY_OPERATOR" and outer.operator in ("&&", "||"):
            if inner is outer.children[1]:
                found.append((outer.children[0], outer.operator == "&&"))
        elif outer.kind == "COMPOUND_STMT" and not _entered_elsewhere(outer):
            for statement in outer.children:
                if statement is inner:
                    break
                if statement.kind == "IF_STMT" and len(statement.children) == 2:
                    condition, then = statement.children
                    if leaves(then):
                        found.append((condition, False))
        inner = outer
    return found


def _called_at_once(function: Node) -> bool:
    """Whether a lambda is called where it stands, as calls that are written out are: what holds
    there holds in it."""
    node = wrapped(function)
    call = node.parent
    return call is not None and call.kind == "CALL_EXPR" and call.children[0] is node


def _entered_elsewhere(block: Node) -> bool:
    """Whether control may enter a block after its start: at a case or a label."""
    if block.parent is not None and block.parent.kind == "SWITCH_STMT":
        return True
    return any(map(_has_label, block.children))


def _has_label(statement: Node) -> bool:
    """Whether a statement has a label, or a case of a ``switch`` around it."""
    if statement.kind in ("LABEL_STMT", "CASE_STMT", "DEFAULT_STMT"):
        return True
    return statement.kind != "SWITCH_STMT" and any(map(_has_label, statement.children))


def leaves(statement: Node) -> bool:
    """Whether control never goes on after ``statement``."""
    if statement.kind == "COMPOUND_STMT":
        return bool(statement.children) and leaves(statement.children[-1])
    return statement.kind in _LEAVES
