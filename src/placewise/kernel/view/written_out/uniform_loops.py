"""Loops whose bounds differ from thread to thread, written so that all threads of a block count
alike.

``for (int i = start; i < end; i++) s += x[i];``, in which each thread goes over a run of its own,
becomes ``for (int i_step = 0; i_step < per; i_step++) { int i = start + i_step; if (i < end) … }``,
where ``per`` is the most steps of any thread of the block. Such a loop can run in chunks, for which
the block fills tiles together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from placewise.kernel.view.indices.conditions import facts_at
from placewise.kernel.view.indices.interval import Bounder, Facts, Numbers, Unbounded
from placewise.kernel.view.indices.loops import Count, count_of
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tiles.counted_loops import is_plain
from placewise.kernel.view.tiles.loop_guards import leaves_loop, reads_memory
from placewise.kernel.view.tiles.tile_axes import of_arguments
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import balanced, statement_end
from placewise.kernel.view.written_out.pieces import Piece, WrittenOut, unique_name, write_out
from placewise.kernel.view.written_out.pointer_roots import changes

_ORDERS = frozenset({"<", "<=", ">", ">="})
_MOST_STEPS = 1 << 20
"""Most steps of a loop that is written out."""
_WORTHWHILE = 0.6
"""Largest share of the steps that another bound must leave, so that it is written, too."""


def write_uniform_loops(kernel: ParsedKernel, bounder: Bounder) -> WrittenOut | None:
    """The kernel's file with such loops written out, those around others first; None where there
    are none, or where nothing that is the same in a block bounds their steps."""
    values = Values(kernel, bounder)
    if values.jumps:
        return None
    taken = set(re.findall(r"[A-Za-z_]\w*", kernel.text.decode()))
    pieces: list[Piece] = []
    done: list[Node] = []
    for node in kernel.body.walk():
        if node.kind != "FOR_STMT" or any(node.within(outer) for outer in done):
            continue
        made = _written(kernel, values, node, taken)
        if made is not None:
            pieces.append(made)
            done.append(node)
    return write_out(kernel.text, pieces)


def _written(kernel: ParsedKernel, values: Values, node: Node, taken: set[str]) -> Piece | None:
    """What to write in place of one loop; None where it stays."""
    count = count_of(values, node)
    if count is None or not is_plain(count) or not _is_simple(node, count):
        return None
    start, condition = count.parts.start, count.parts.condition
    assert start is not None
    assert condition is not None
    stepping = count.stepping
    if stepping.stride != 1 or stepping.direction < 0 or not stepping.exact:
        return None
    if count.first.uniform and all(p.uniform for p in stepping.limits):
        return None
    text = kernel.text
    body_end = statement_end(count.parts.body, text)
    first = _initial_text(text, start.children[0])
    holds = text[condition.start : condition.end].decode()
    if body_end is None or first is None or not balanced(holds.encode()):
        return None
    facts = facts_at(node, values)
    begin = Poly() if count.first.uniform else count.first
    beyond = _beyond(values, [p - begin for p in stepping.limits], facts)
    if not beyond:
        return None
    kind, name = start.children[0].type, count.name
    if count.first.uniform:
        ends = " && ".join(f"{name} < {end}" for end in beyond)
        head = [f"for ({kind} {name} = {first}; {ends}; {name}++) {{"]
    else:
        step = unique_name(f"{name}_step", taken)
        ends = " && ".join(f"{step} < {end}" for end in beyond)
        head = [
            f"for (int {step} = 0; {ends}; {step}++) {{",
            f"    {kind} {name} = {first} + {step};",
        ]
    return _piece(text, node, count.parts.body.start, body_end, [*head, f"    if ({holds}) "])


def _is_simple(node: Node, count: Count) -> bool:
    """Whether a loop declares its variable, goes round for as long as comparisons hold whose
    operands stay, and has neither a way out nor a barrier in it."""
    start, condition = count.parts.start, count.parts.condition
    assert start is not None
    assert condition is not None
    if start.kind != "DECL_STMT" or leaves_loop(node):
        return False
    if not all(leaf.operator in _ORDERS for leaf in _leaves(condition)):
        return False
    if reads_memory(condition) or reads_memory(start):
        return False
    used = {n.target for part in (start, condition) for n in part.walk() if n.target}
    used.discard(count.variable)
    for inner in node.walk():
        if inner.kind == "LAMBDA_EXPR" or "sync" in inner.name:
            return False
        if changes(inner) and inner.children[0].bare().target in used:
            return False
    return not any(a.kind == "LAMBDA_EXPR" for a in node.above())


def _leaves(condition: Node) -> Iterator[Node]:
    """The parts of a condition that must all hold."""
    node = condition.bare()
    if node.kind == "BINARY_OPERATOR" and node.operator == "&&":
        for child in node.children:
            yield from _leaves(child)
    else:
        yield node


def _initial_text(text: bytes, variable: Node) -> str | None:
    """The expression that a variable starts with, as a summand."""
    found = [c for c in variable.children if not c.kind.endswith(("_ATTR", "_REF"))]
    if len(found) != 1 or found[0].start < 0:
        return None
    value = text[found[0].start : found[0].end]
    if not value or not balanced(value):
        return None
    return value.decode() if re.fullmatch(rb"\w+", value) else f"({value.decode()})"


def _beyond(values: Values, lasts: Sequence[Poly], facts: Facts) -> list[str]:
    """Texts of numbers, the same in all threads of a block, of which in every launch each is beyond
    one of ``lasts``: the least; others that are far less in some blocks; and one in terms of
    arguments alone, which bounds what the loop reads in every block. Empty where there are none, or
    where they are too large."""
    bounder = Bounder(values.bounder.values)
    found: list[tuple[Numbers, Poly]] = []
    for last in lasts:
        bounder.assumed.clear()
        try:
            bounds = [b + Poly.constant(1) for b in bounder.bounds(last, True, facts)]
            if not bounder.assumed:
                found += [(np.maximum(bounder.evaluate(b), 0), b) for b in bounds]
        except Unbounded:
            continue
    found.sort(key=lambda f: (f[0].mean(), len(f[1].text), f[1].text))
    chosen: list[Poly] = []
    least = np.full((1, 1, 1), _MOST_STEPS, np.int64)
    for numbers, bound in found:
        less = np.minimum(least, numbers)
        general = of_arguments(bound) and not any(map(of_arguments, chosen))
        if general or less.mean() < _WORTHWHILE * least.mean():
            least = less
            chosen.append(bound)
    return [b.text for b in chosen] if 1 < least.max() < _MOST_STEPS else []


def _piece(text: bytes, node: Node, body: int, end: int, head: Sequence[str]) -> Piece:
    """A loop with a new head, and its body one level deeper."""
    before = text[text.rfind(b"\n", 0, node.start) + 1 : node.start]
    indent = before[: len(before) - len(before.lstrip())]
    line = text.count(b"\n", 0, node.start) + 1
    lines = [(head[0].encode(), line)]
    lines += [(indent + one.encode(), line) for one in head[1:]]
    inner = text[body:end].split(b"\n")
    at = text.count(b"\n", 0, body) + 1
    lines[-1] = (lines[-1][0] + inner[0], at)
    whole = any(one.rstrip().endswith(b"\\") for one in inner)
    deeper = b"" if whole else b"    "
    lines += [(deeper + one, at + n) for n, one in enumerate(inner[1:], 1)]
    lines.append((indent + b"}", at + len(inner) - 1))
    return Piece(node.start, end, tuple(lines))
