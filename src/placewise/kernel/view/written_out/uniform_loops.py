"""Loops whose bounds vary between the threads of a block, rewritten with uniform bounds.

In ``for (int i = start; i < end; i++) s += x[i];`` each thread may have a start and an end of its
own. The loop becomes ``for (int i_step = 0; i_step < per; i_step++) { int i = start + i_step;
if (i < end) s += x[i]; }``, where no thread of the block needs more than ``per`` steps. All threads
then make the same number of steps, so the loop can run in chunks, for which the block fills tiles
together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from placewise.kernel.view.indices.conditions import facts_at
from placewise.kernel.view.indices.interval import Bounder, Facts, Numbers, Unbounded
from placewise.kernel.view.indices.loops import Count, count_of
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tiles.chunks import changed_argument
from placewise.kernel.view.tiles.counted_loops import conjuncts, is_plain
from placewise.kernel.view.tiles.loop_guards import leaves_loop, reads_memory
from placewise.kernel.view.tiles.tile_axes import of_arguments
from placewise.kernel.view.tree.around import initial_values
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import balanced, statement_end
from placewise.kernel.view.written_out.pieces import Piece, WrittenOut, unique_name, write_out
from placewise.kernel.view.written_out.pointer_roots import changes

_INT_BYTES = 4
"""A counter of a smaller type may never reach a bound that the block shares."""
_ORDERS = frozenset({"<", "<=", ">", ">="})
"""Comparisons that may bound such a loop."""
_MOST_STEPS = 1 << 20
"""A loop of this many steps or more stays as it is."""
_WORTHWHILE = 0.6
"""A further bound is written only if it leaves less than this share of the steps, in the mean over
all blocks."""


def write_uniform_loops(kernel: ParsedKernel, bounder: Bounder) -> WrittenOut | None:
    """The kernel's file with uniform bounds for loops whose bounds vary in a block. Of loops inside
    one another only the outermost changes; another call takes the next. None where no loop changes.
    """
    values = Values(kernel, bounder)
    if values.jumps or changed_argument(values):
        return None
    taken = set(re.findall(r"[A-Za-z_]\w*", kernel.text.decode()))
    pieces: list[Piece] = []
    done: list[Node] = []
    for node in kernel.body.walk():
        if node.kind != "FOR_STMT" or any(node.within(outer) for outer in done):
            continue
        made = _uniform_loop(kernel, values, node, taken)
        if made is not None:
            pieces.append(made)
            done.append(node)
    return write_out(kernel.text, pieces)


def _uniform_loop(
    kernel: ParsedKernel, values: Values, node: Node, taken: set[str]
) -> Piece | None:
    """What to write in place of one loop; None where it stays. ``taken`` are the source's
    identifiers, to which the name of the new loop's counter is added."""
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
    bounds = _uniform_bounds(values, [p - begin for p in stepping.limits], facts)
    if not bounds:
        return None
    kind, name = start.children[0].type, count.name
    if count.first.uniform:
        ends = " && ".join(f"{name} < {end}" for end in bounds)
        head = [f"for ({kind} {name} = {first}; {ends}; {name}++) {{"]
    else:
        step = unique_name(f"{name}_step", taken)
        ends = " && ".join(f"{step} < {end}" for end in bounds)
        head = [
            f"for (int {step} = 0; {ends}; {step}++) {{",
            f"    {kind} {name} = {first} + {step};",
        ]
    head.append(f"    if ({holds}) ")
    return _with_head(text, node, count.parts.body.start, body_end, head)


def _is_simple(node: Node, count: Count) -> bool:
    """Whether a loop declares its variable, runs as long as comparisons hold whose other operands
    do not change in it, and contains neither a ``break`` nor a barrier."""
    start, condition = count.parts.start, count.parts.condition
    assert start is not None
    assert condition is not None
    if start.kind != "DECL_STMT" or start.children[0].size < _INT_BYTES or leaves_loop(node):
        return False
    if not all(leaf.operator in _ORDERS for leaf in conjuncts(condition)):
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


def _initial_text(text: bytes, variable: Node) -> str | None:
    """The expression that initialises a variable, as text that a ``+`` may follow; None where it is
    not found."""
    found = initial_values(variable)
    if len(found) != 1 or found[0].start < 0:
        return None
    value = text[found[0].start : found[0].end]
    if not value or not balanced(value):
        return None
    return value.decode() if re.fullmatch(rb"\w+", value) else f"({value.decode()})"


def _uniform_bounds(values: Values, lasts: Sequence[Poly], facts: Facts) -> list[str]:
    """C++ texts of bounds that the counter of a loop stays below, the same in all threads of a
    block and valid in every launch. No thread passes any of ``lasts``, the last values that its
    conditions allow.

    The tightest bound comes first, in the mean over all blocks. Others follow that are far tighter
    in some blocks, and one in terms of arguments alone, which limits what the loop reads in every
    block. Empty where no bound is known, or where the loop makes too many or too few steps.
    """
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


def _with_head(text: bytes, node: Node, body: int, end: int, head: Sequence[str]) -> Piece:
    """The loop ``node`` with the lines ``head``, which open a brace, in front of its body
    ``body:end``. The body is indented one level deeper; the brace is closed behind it."""
    before = text[text.rfind(b"\n", 0, node.start) + 1 : node.start]
    indent = before[: len(before) - len(before.lstrip())]
    line = text.count(b"\n", 0, node.start) + 1
    lines = [(head[0].encode(), line)]
    lines += [(indent + one.encode(), line) for one in head[1:]]
    inner = text[body:end].split(b"\n")
    at = text.count(b"\n", 0, body) + 1
    lines[-1] = (lines[-1][0] + inner[0], at)
    # A line that a backslash continues may be part of a string: then no line moves.
    is_continued = any(one.rstrip().endswith(b"\\") for one in inner)
    deeper = b"" if is_continued else b"    "
    lines += [(deeper + one, at + n) for n, one in enumerate(inner[1:], 1)]
    lines.append((indent + b"}", at + len(inner) - 1))
    return Piece(node.start, end, tuple(lines))
