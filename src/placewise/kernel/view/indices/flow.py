"""The value of a variable that changes, followed through straight lines and branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from placewise.kernel.view.indices.conditions import bound_of, facts_of, leaves
from placewise.kernel.view.indices.escapes import escapes
from placewise.kernel.view.indices.loops import last_rounds, step_direction
from placewise.kernel.view.indices.symbolic import Atom, AtomKind, Poly, ranged, unknown
from placewise.kernel.view.tree.around import STEPS
from placewise.kernel.view.tree.node import LOOPS, WRAPPERS, Node

if TYPE_CHECKING:
    from placewise.kernel.view.indices.values import Values


def changes(body: Node) -> dict[int, list[Node]]:
    """Every node that may change a variable, by the variable's identity."""
    found: dict[int, list[Node]] = {}
    for node in body.walk():
        for changed in _changed_by(node):
            found.setdefault(changed, []).append(node)
    return found


def _changed_by(node: Node) -> Iterator[int]:
    if node.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or node.operator in ("=", *STEPS):
        target = node.children[0].bare()
        if target.kind == "DECL_REF_EXPR":
            yield target.target
    elif node.kind == "DECL_REF_EXPR" and escapes(node):
        yield node.target


class Flow:
    """Follows one variable up to one reference to it."""

    def __init__(self, values: Values, variable: int, reference: Node) -> None:
        self.values = values
        self.variable = variable
        self.reference = reference

    def value_in(self, scope: Node, start: Poly) -> Poly:
        """Value at the reference, from ``start`` at the beginning of the variable's scope."""
        return self._through(scope, start)[0]

    def _through(self, node: Node, now: Poly) -> tuple[Poly, bool]:
        """(value after ``node``, or at the reference if that is inside it; whether it is)."""
        here = self.reference.within(node)
        if node.kind == "DECL_STMT":
            for child in node.children:
                if self._changes(child):
                    return self._lost(node), here
                if self.reference.within(child):
                    return now, True
                if child.id == self.variable and child.kind == "VAR_DECL":
                    now = self.values.initial(child, now)
            return now, False
        if not self._changes(node) and not self._declares(node):
            return now, here
        if node.kind == "COMPOUND_STMT":
            for child in node.children:
                now, found = self._through(child, now)
                if found:
                    return now, True
            return now, False
        if node.kind == "IF_STMT" and len(node.children) in (2, 3):
            return self._branch(node, now)
        if node.kind == "WHILE_STMT" and len(node.children) == 2:
            return self._while(node, now)
        if node.kind == "FOR_STMT":
            return self._for(node, now)
        if node.kind in WRAPPERS and len(node.children) == 1:
            return self._through(node.children[0], now)
        return self._assignment(node, now, here)

    def _assignment(self, node: Node, now: Poly, here: bool) -> tuple[Poly, bool]:
        if not node.children or node.children[0].bare().target != self.variable:
            return self._lost(node), here
        if node.operator in STEPS:
            return (now, True) if here else (now + Poly.constant(STEPS[node.operator]), False)
        if node.kind not in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            return self._lost(node), here
        right = node.children[1]
        if any(c is not node for c in self._changes(node)):
            return self._lost(node), here
        if here:
            return now, True
        if node.operator == "=":
            return self.values.value(right), False
        operator = node.operator.removesuffix("=")
        return self.values.combine(node, operator, now, self.values.value(right)), False

    def _branch(self, node: Node, now: Poly) -> tuple[Poly, bool]:
        condition, then, *rest = node.children
        if self._changes(condition):
            return self._lost(node), self.reference.within(node)
        if self.reference.within(condition):
            return now, True
        yes, found = self._through(then, now)
        if found:
            return yes, True
        no = now
        if rest:
            no, found = self._through(rest[0], now)
            if found:
                return no, True
        if leaves(then):
            return no, False
        if rest and leaves(rest[0]):
            return yes, False
        return self.values.select(condition, yes, no, None), False

    def _while(self, node: Node, now: Poly) -> tuple[Poly, bool]:
        """``while (i < n) { …; i += stride; }``: from its start to the condition's limit."""
        condition, body = node.children
        here = self.reference.within(node)
        inside = self._changes(node)
        if len(inside) != 1 or not here or body.kind != "COMPOUND_STMT":
            return self._lost(node), here
        change = inside[0]
        last = body.children[-1]
        if change is not last or self.reference.within(last) or self.reference.within(condition):
            return self._lost(node), here
        if change.operator in STEPS:
            direction = STEPS[change.operator]
        elif change.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            direction = step_direction(self.values, change.operator, change.children[1], now)
        else:
            return self._lost(node), here
        key = f"loop {self.variable} {id(node)}"
        limits = []
        atom = Poly.atom(Atom(key, AtomKind.RANGE))
        for fact in facts_of(condition, True, lambda n: self._at_condition(n, atom)):
            bound = bound_of(fact, key)
            if bound is not None and bound[0] == (direction > 0):
                limits.append(bound[1])
        reason = f"the loop has no bound that is known (line {node.line})"
        if direction > 0:
            return ranged(key, (now,), tuple(limits), reason), True
        if direction < 0:
            return ranged(key, tuple(limits), (now,), reason), True
        return self._lost(node), True

    def _for(self, node: Node, now: Poly) -> tuple[Poly, bool]:
        """``for (…) { …; i += stride; }``: one stride per round at most."""
        here = self.reference.within(node)
        inside = self._changes(node)
        change = inside[0]
        around = next((a for a in change.above() if a.kind in LOOPS), None)
        in_head = any(change.within(part) for part in node.children[:-1])
        rounds = last_rounds(self.values, node)
        amount = self._amount(change)
        if len(inside) != 1 or around is not node or in_head or not rounds or amount is None:
            return self._lost(node), here
        in_body = self.reference.within(node.children[-1])
        if in_body and self.reference.start < change.start:
            when, most = "before", rounds
        else:
            when, most = "behind", tuple(r + Poly.constant(1) for r in rounds)
        key = f"loop {self.variable} {id(node)} {when} {here}"
        ends = tuple(now + amount * r for r in most)
        if (self.values.bounder.evaluate(amount) >= 0).all():
            return ranged(key, (now,), ends), here
        if (self.values.bounder.evaluate(amount) <= 0).all():
            return ranged(key, ends, (now,)), here
        return self._lost(node), here

    def _amount(self, change: Node) -> Poly | None:
        """What a change adds, where that is the same for all threads and rounds."""
        if change.operator in STEPS:
            return Poly.constant(STEPS[change.operator])
        if change.operator not in ("+=", "-="):
            return None
        amount = self.values.value(change.children[1])
        if not amount.uniform:
            return None
        return amount if change.operator == "+=" else -amount

    def _at_condition(self, node: Node, here: Poly) -> Poly:
        inner = node.bare()
        if inner.kind == "DECL_REF_EXPR" and inner.target == self.variable:
            return here
        return self.values.value(node)

    def _changes(self, node: Node) -> list[Node]:
        return [c for c in self.values.changes.get(self.variable, []) if c.within(node)]

    def _declares(self, node: Node) -> bool:
        declaration = self.values.locals.get(self.variable)
        return declaration is not None and declaration.within(node)

    def _lost(self, node: Node) -> Poly:
        # A new key every time: two values of a variable that changes are never taken as equal.
        return unknown(
            f"@{id(node)} {id(self.reference)}", f"a variable of it changes (line {node.line})"
        )
