"""Whether a kernel writes all that a tile leaves to it, so that nothing needs to be filled in."""

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
"""Most sets of conditions that are looked at."""
_STEPS = ("threadIdx.", WITHIN_CHUNK)
"""Start of the keys of what takes every value of a range, each once: a thread's index, and the
variable of a loop that steps by 1 in chunks."""


def is_written_whole(
    values: Values, indices: Sequence[Index], launch: Launch,
    coordinates: Callable[[Index], tuple[Poly, ...]],
) -> bool:  # fmt: skip
    """Whether each element of the tile that conditions leave is written, by one thread alone.

    So it is where one access, or accesses to the same element in both branches of a condition,
    write it, each coordinate steps by 1 with a thread index of its own, or with the variable of the
    loop whose chunk the tile holds, every thread index that the block has is among them, and each
    condition bounds one coordinate alone, or the index.
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
        if len(varying) != 1 or not varying[0].key.startswith(_STEPS):
            return False
        split = poly.split(varying[0])
        if split is None or split[0].value != 1:
            return False
        axes.append(varying[0].key)
    used = {f"threadIdx.{name}" for name, size in zip("xyz", launch.block, strict=True) if size > 1}
    if len(set(axes)) < len(axes) or not used <= set(axes):
        return False
    conditions = _of_all([frozenset(conditions_at(i.access.node)) for i in indices])
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


def _of_all(accesses: Sequence[_Conditions]) -> _Conditions | None:
    """The conditions under which some of several accesses are made, whatever else holds: those of
    each access are given. None where that differs. A condition that holds for one access and fails
    for another, with the same others, is none for both together."""
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
    """Whether an access is assigned to, or updated, as it stands, not a member or a part of it."""
    outer = access
    while outer.parent is not None and outer.parent.kind == "PAREN_EXPR":
        outer = outer.parent
    above = outer.parent
    if above is None or above.children[0] is not outer:
        return False
    if above.kind == "CALL_EXPR":
        return above.name in ASSIGNMENT_CALLS
    return above.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or above.operator in ("=", *STEPS)


def _may_leave_before(access: Node) -> bool:
    """Whether a thread may leave the kernel, or a loop's iteration, before an access in another way
    than by those that are among its conditions."""
    inner = access
    for outer in access.above():
        if outer.kind == "COMPOUND_STMT":
            for statement in outer.children:
                if statement is inner:
                    break
                is_condition = statement.kind == "IF_STMT" and len(statement.children) == 2
                if is_condition and leaves(statement.children[1]):
                    continue
                jumps = own_jumps(statement) if statement.kind not in _REPEATING else []
                if jumps or returns_inside(statement):
                    return True
        inner = outer
    return False
