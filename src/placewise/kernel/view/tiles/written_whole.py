"""Whether a kernel writes every element that a tile's extents leave, so that copying the tile back
needs no fill before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from placewise.kernel.launch import Launch
from placewise.kernel.view.indices.conditions import conditions_at, exact_facts, leaves
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tiles.loop_guards import own_jumps, returns_inside
from placewise.kernel.view.tiles.tile_axes import WITHIN_CHUNK, Index
from placewise.kernel.view.tree.around import ASSIGNMENT_CALLS, STEPS
from placewise.kernel.view.tree.node import LOOPS, Node

_REPEATING = LOOPS | {"LAMBDA_EXPR", "SWITCH_STMT"}
_MOST_CONDITIONS = 64
"""Most sets of conditions that are combined with the others."""
_COUNTING = ("threadIdx.", WITHIN_CHUNK)
"""Key prefixes of atoms that take each whole number of a range exactly once: thread indices, and
the variable of a chunked loop, whose stride must be 1."""


def is_written_whole(
    values: Values, indices: Sequence[Index], launch: Launch,
    coordinates: Callable[[Index], tuple[Poly, ...]],
) -> bool:  # fmt: skip
    """Whether each element of a tile that the source's conditions leave is written, by one thread
    alone.

    ``indices`` are those of the writes, ``coordinates`` gives an index's row and column, or the
    index itself in a tile of one dimension. The answer is yes if all of this holds:

    - All writes go to the same element: one write, or several in the branches of a condition.
    - Each coordinate rises by 1 with a variable of its own: a thread index, or the variable of the
      loop whose chunk the tile holds.
    - Every thread index of which the block has more than one value is one of these variables.
    - Each condition bounds one coordinate alone, or the index.
    """
    if not indices or values.jumps or len({i.poly for i in indices}) > 1:
        return False
    for index in indices:
        node = index.access.node
        repeated = any(n.kind in _REPEATING and n not in values.given for n in node.above())
        if repeated or not _is_stored_whole(node) or _may_leave_before(node):
            return False
    found = coordinates(indices[0])
    axes: list[str] = []
    for poly in found:
        varying = [a for a in poly.atoms if not a.uniform]
        if len(varying) != 1 or not varying[0].key.startswith(_COUNTING):
            return False
        split = poly.split(varying[0])
        if split is None or split[0].value != 1:
            return False
        axes.append(varying[0].key)
    used = {f"threadIdx.{name}" for name, size in zip("xyz", launch.block, strict=True) if size > 1}
    if len(set(axes)) < len(axes) or not used <= set(axes):
        return False
    conditions = _joint_conditions([frozenset(conditions_at(i.access.node)) for i in indices])
    if conditions is None:
        return False
    for condition, holds in conditions:
        facts = exact_facts(condition, holds, values)
        if facts is None:
            return False
        bounded = (*found, indices[0].poly)
        if not all(any((f + p).uniform or (f - p).uniform for p in bounded) for f in facts):
            return False
    return True


_Conditions = frozenset[tuple[Node, bool]]
"""(condition, whether it holds), all of which an access needs."""


def _joint_conditions(accesses: Sequence[_Conditions]) -> _Conditions | None:
    """The conditions under which one of several accesses is sure to be made, and without which none
    is; ``accesses`` has those of each. None where no such set is found.

    Two accesses that differ only in that a condition holds for one and fails for the other need
    only what they share: ``if (a) { if (b) x = 1; else x = 2; }`` writes ``x`` wherever ``a``
    holds.
    """
    known = list(dict.fromkeys(accesses))
    for at in range(_MOST_CONDITIONS):
        if at >= len(known):
            break
        for other in known[:at]:
            apart = known[at] ^ other
            both = known[at] & other
            if len(apart) == 2 and len({c for c, _ in apart}) == 1 and both not in known:
                known.append(both)
    return next((k for k in known if all(k <= one for one in accesses)), None)


def _is_stored_whole(access: Node) -> bool:
    """Whether an assignment or an update writes the whole element, not only a member of it."""
    outer = access
    while outer.parent is not None and outer.parent.kind == "PAREN_EXPR":
        outer = outer.parent
    above = outer.parent
    if above is None or above.children[0] is not outer:
        return False
    if above.kind == "CALL_EXPR":
        return above.name in ASSIGNMENT_CALLS
    return above.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or above.operator in ("=", *STEPS)


def _jumps_on(statement: Node) -> bool:
    """Whether a statement contains a jump that ends more than itself: a ``break`` ends no more than
    a loop or a ``switch``, a ``continue`` no more than a loop's iteration."""
    if statement.kind in LOOPS or statement.kind == "LAMBDA_EXPR":
        return False
    jumps = {jump.kind for jump in own_jumps(statement)}
    return bool(jumps - {"BREAK_STMT"} if statement.kind == "SWITCH_STMT" else jumps)


def _may_leave_before(access: Node) -> bool:
    """Whether a thread may leave the kernel, or a loop's iteration, before an access by a jump that
    is not among the access's conditions."""
    inner = access
    for outer in access.above():
        if outer.kind == "COMPOUND_STMT":
            for statement in outer.children:
                if statement is inner:
                    break
                is_condition = statement.kind == "IF_STMT" and len(statement.children) == 2
                if is_condition and leaves(statement.children[1]):
                    continue
                if _jumps_on(statement) or returns_inside(statement):
                    return True
        inner = outer
    return False
