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
_STEPS = ("threadIdx.", WITHIN_CHUNK)
"""Start of the keys of what takes every value of a range, each once: a thread's index, and the
variable of a loop that steps by 1 in chunks."""


def is_written_whole(
    values: Values, indices: Sequence[Index], launch: Launch,
    coordinates: Callable[[Index], tuple[Poly, ...]],
) -> bool:  # fmt: skip
    """Whether one access writes each element of the tile that its conditions leave, by one thread.

    So it is where each coordinate steps by 1 with a thread index of its own, or with the variable
    of the loop whose chunk the tile holds, every thread index that the block has is among them, and
    each condition bounds one coordinate alone, or the index.
    """
    if len(indices) != 1 or values.jumps:
        return False
    (index,) = indices
    if not _is_stored_whole(index.access.node) or _may_leave_before(index.access.node):
        return False
    found = coordinates(index)
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
    for condition, holds in conditions_at(index.access.node):
        facts = exact_facts(condition, holds, values)
        if facts is None:
            return False
        bounded = (*found, index.poly)
        if not all(any((f + p).uniform or (f - p).uniform for p in bounded) for f in facts):
            return False
    return not any(
        n.kind in _REPEATING and n not in values.given for n in index.access.node.above()
    )


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
