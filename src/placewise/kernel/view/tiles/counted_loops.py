"""The loops of a kernel that count up between bounds which all threads of a block share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.kernel.view.indices.interval import Unbounded
from placewise.kernel.view.indices.loops import Count, count_of
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tiles.loop_guards import leaves_loop, reads_memory
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.written_out.pieces import unique_name
from placewise.kernel.view.written_out.pointer_roots import changes

_COMPARED = frozenset({"<", "<=", ">", ">=", "!="})
"""Comparisons that may bound such a loop."""
_MOST_LOOPS = 32
"""Most loops of a kernel that are looked at."""


@dataclass(frozen=True, eq=False)
class CountedLoop:
    """A loop with bounds that all threads of a block share."""

    node: Node
    count: Count
    first_name: str
    """Name, new in the source, for the variable that holds a chunk's first value."""
    ends: tuple[Poly, ...]
    """Values that the variable stays below."""
    trips: int
    """The most iterations in any block of the launch."""


def counted_loops(kernel: ParsedKernel, values: Values) -> dict[Node, CountedLoop]:
    """Loops that rise by a number between bounds that a block shares, in source order."""
    found: dict[Node, CountedLoop] = {}
    nodes = [n for n in kernel.body.walk() if n.kind == "FOR_STMT"][:_MOST_LOOPS]
    taken = set(re.findall(r"[A-Za-z_]\w*", kernel.text.decode()))
    for node in nodes:
        if any(a.kind == "LAMBDA_EXPR" for a in node.above()) or leaves_loop(node):
            continue
        loop = _counted(node, values, taken)
        if loop is not None:
            found[node] = loop
    return found


def _counted(node: Node, values: Values, taken: set[str]) -> CountedLoop | None:
    """The loop ``node`` with bounds that a block shares; None where it has none. ``taken`` are the
    source's identifiers, to which the name of its first value is added."""
    count = count_of(values, node)
    if count is None or not is_plain(count):
        return None
    stepping = count.stepping
    if stepping.direction < 0 or stepping.stride is None or not count.first.uniform:
        return None
    if not stepping.exact:
        return None
    assert count.parts.condition is not None
    limits = stepping.limits
    leaves = conjuncts(count.parts.condition)
    if not all(leaf.operator in _COMPARED for leaf in leaves):
        return None
    if not limits or len(limits) != len(leaves) or not all(p.uniform for p in limits):
        return None
    bounder = values.bounder
    try:
        span = min(int((bounder.evaluate(p) - bounder.evaluate(count.first)).max()) for p in limits)
    except Unbounded:
        return None
    trips = span // stepping.stride + 1
    if trips < 2:
        return None
    name = unique_name(f"{count.name}_chunk", taken)
    return CountedLoop(node, count, name, tuple(p + Poly.constant(1) for p in limits), trips)


def is_plain(count: Count) -> bool:
    """Whether the header is one start, a condition and one step, all in the file itself, of which
    the step does nothing but count."""
    start, condition, step = count.parts.start, count.parts.condition, count.parts.step
    if start is None or condition is None or step is None or not _only_counts(count, step):
        return False
    if start.kind == "DECL_STMT" and len(start.children) != 1:
        return False
    if any(changes(n) for n in condition.walk()):
        return False
    return all(n.start >= 0 and n.end > n.start for n in (start, condition, step))


def _only_counts(count: Count, step: Node) -> bool:
    """Whether a step changes the loop's variable and nothing else. Whole chunks add to the variable
    without it."""
    node = step.bare()
    if not node.children or node.children[0].bare().target != count.variable:
        return False
    return not any(reads_memory(c) for c in node.children[1:])


def conjuncts(condition: Node) -> list[Node]:
    """The operands of the ``&&`` in a condition, all of which must hold; else the condition."""
    node = condition.bare()
    if node.kind == "BINARY_OPERATOR" and node.operator == "&&":
        return [leaf for child in node.children for leaf in conjuncts(child)]
    return [node]
