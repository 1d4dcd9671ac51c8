"""Arrays that a kernel's body uses only as elements of another type than its parameter's.

``reinterpret_cast<const float4 *>(a)[i]`` wherever ``a`` is used makes ``a`` an array of
``float4``, whatever the parameter says: an array of floats, or of a struct.
"""

from __future__ import annotations

from placewise.kernel.view.elements import loads_by_intrinsic
from placewise.kernel.view.pointer_uses import element_type
from placewise.kernel.view.tree.around import CASTS, outside
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node


def read_as(kernel: ParsedKernel, parameter: Node) -> tuple[str, int] | None:
    """The type of elements, and its bytes, to which each use of ``parameter`` in the body casts it
    at once; None where there is a use of another kind."""
    found: set[tuple[str, int]] = set()
    for node in kernel.body.walk():
        if node.kind != "DECL_REF_EXPR" or node.target != parameter.id:
            continue
        if node.parent is not None and node.parent.kind == "LAMBDA_EXPR":
            continue
        around = outside(node)
        if around is None or around.kind not in CASTS or around.type_kind != "POINTER":
            return None
        found.add((element_type(around), around.size))
    if len(found) != 1:
        return None
    ((element, size),) = found
    is_other = element != element_type(parameter)
    return (element, size) if is_other and size > 0 and loads_by_intrinsic(element) else None
