"""Arrays that a kernel only updates by one atomic function of whole numbers.

Such updates may be gathered in a copy per block and merged at the end: whole-number sums, minima
and bit operations do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.view.elements import is_integer
from placewise.kernel.view.pointer_uses import Access
from placewise.kernel.view.tree.node import Node

MERGED_BY = {
    "atomicAdd": "atomicAdd",
    "atomicSub": "atomicAdd",
    "atomicXor": "atomicXor",
    "atomicMin": "atomicMin",
    "atomicMax": "atomicMax",
    "atomicAnd": "atomicAnd",
    "atomicOr": "atomicOr",
}
"""Function that merges a copy into the array, by the function that updates it."""
_WITH_BODY = frozenset({"IF_STMT", "FOR_STMT", "WHILE_STMT"})
_BYTES = (4, 8)


def merging_function(element: str, element_bytes: int, accesses: Sequence[Access]) -> str:
    """The atomic function by which copies of an array merge; empty where it has none."""
    if not is_integer(element) or element_bytes not in _BYTES or not accesses:
        return ""
    merged = {MERGED_BY.get(_updating(a), "") for a in accesses}
    return merged.pop() if len(merged) == 1 else ""


def _updating(access: Access) -> str:
    """Name of the atomic function whose result nobody uses that makes the access; else empty."""
    if access.place.kind != "atomic":
        return ""
    call: Node | None = next((n for n in access.node.above() if n.kind == "CALL_EXPR"), None)
    if call is None or call.parent is None:
        return ""
    parent = call.parent
    while parent.kind == "UNEXPOSED_EXPR" and parent.parent is not None:
        call, parent = parent, parent.parent
    is_statement = (
        parent.kind == "COMPOUND_STMT"
        or (
            # The last branch, or the body of a loop; then the first of two branches.
            parent.kind in _WITH_BODY and call is parent.children[-1]
        )
        or (
            parent.kind == "IF_STMT"
            and len(parent.children) == 3
            and call is parent.children[1]
            and parent.children[0].kind != "DECL_STMT"
        )
    )
    return call.bare().name if is_statement else ""
