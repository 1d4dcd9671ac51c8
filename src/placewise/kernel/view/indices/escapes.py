"""Variables that are written to by more than their own name: through a reference or a pointer, by
assembly, or by a function that they are passed to."""

from __future__ import annotations

import re

from placewise.kernel.view.tree.around import CASTS
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.written_out.pointer_roots import changes

_ASSEMBLY = frozenset({"ASM_STMT", "GCC_ASM_STMT", "MS_ASM_STMT"})
_REFERENCES = frozenset({"LVALUEREFERENCE", "RVALUEREFERENCE"})
_NAME = re.compile(r"[A-Za-z_]\w*")
_BY_REFERENCE = re.compile(r"&\s*\w+\s*[={(]([^,\]]*)")
"""What a captured reference stands for."""
_ADDRESSES = re.compile(r"[={(][^,\]]*&\s*([A-Za-z_]\w*)")
"""A variable whose address is captured."""


def escaped(kernel: ParsedKernel) -> frozenset[int]:
    """Identities of the variables of a kernel's body that something else may write to, from
    wherever that was handed them on."""
    found: set[int] = set()
    for node in kernel.body.walk():
        if node.kind == "DECL_REF_EXPR" and escapes(node):
            found.add(node.target)
        elif node.kind == "LAMBDA_EXPR":
            found |= _captured_anew(kernel, node)
    return frozenset(found)


def _captured_anew(kernel: ParsedKernel, function: Node) -> set[int]:
    """Variables that a lambda has another name or a pointer for, as in ``[&z = j]`` and
    ``[z = &j]``: libclang does not show what such a name stands for."""
    body = function.children[-1] if function.children else function
    declared = {n.name: n.id for n in kernel.body.walk() if n.kind in ("VAR_DECL", "PARM_DECL")}
    declared |= {p.name: p.id for p in kernel.parameters}
    captures = kernel.text[function.start : body.start].decode()
    words = [w for c in _BY_REFERENCE.findall(captures) for w in _NAME.findall(c)]
    words += _ADDRESSES.findall(captures)
    return {declared[w] for w in words if w in declared}


def escapes(reference: Node) -> bool:
    """Whether a mention of a variable hands it over to something that may write to it later.

    Where only its value is used, libclang has the mention inside a conversion (UNEXPOSED_EXPR).
    """
    inner, outer, chosen = reference, reference.parent, False
    while outer is not None and (outer.kind == "PAREN_EXPR" or _is_chosen(inner, outer)):
        chosen = chosen or outer.kind != "PAREN_EXPR"
        inner, outer = outer, outer.parent
    if outer is None or outer.kind == "UNEXPOSED_EXPR":
        return False
    if outer.kind in _ASSEMBLY or outer.kind in ("INIT_LIST_EXPR", "RETURN_STMT"):
        return True
    if outer.kind == "CALL_EXPR":
        return "const" not in reference.type
    if outer.kind == "VAR_DECL":
        return outer.type_kind in _REFERENCES
    if outer.kind in CASTS:
        return outer.type == reference.type
    if outer.kind == "UNARY_OPERATOR" and outer.operator == "&":
        return True
    is_target = bool(outer.children) and outer.children[0] is inner
    return chosen and is_target and changes(outer)


def _is_chosen(inner: Node, outer: Node) -> bool:
    """Whether ``outer`` stands for the variable that ``inner`` names, by a condition or behind a
    comma."""
    if outer.kind == "CONDITIONAL_OPERATOR":
        return inner is not outer.children[0]
    return outer.operator == "," and inner is outer.children[-1]
