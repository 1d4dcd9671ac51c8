"""Arrays whose pointer the body moves once, before anything uses it: ``A += row * n;``."""

from __future__ import annotations

from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.written_out.pointer_roots import changes


def single_steps(kernel: ParsedKernel) -> dict[int, Node]:
    """The expression ``A += n`` or ``A -= n``, a statement of the kernel's body, by the identity of
    the array that it moves; of arrays that nothing else moves, and nothing uses before."""
    nodes = list(kernel.body.walk())
    if any(n.kind == "LABEL_STMT" for n in nodes):
        return {}
    found: dict[int, Node] = {}
    for statement in kernel.body.children:
        step = statement.bare()
        if step.operator not in ("+=", "-=") or not step.children:
            continue
        array = step.children[0].bare()
        if not _is_pointer(kernel, array):
            continue
        uses = [n for n in nodes if n.kind == "DECL_REF_EXPR" and n.target == array.target]
        moves = [n for n in nodes if changes(n) and n.children[0].bare().target == array.target]
        beside = [n for n in uses if n is not array and n.start < step.end]
        if len(moves) == 1 and not beside:
            found[array.target] = step
    return found


def _is_pointer(kernel: ParsedKernel, node: Node) -> bool:
    """Whether a node is the name of a pointer parameter, as it stands in the source."""
    named = kernel.text[node.start : node.end].decode() == node.name
    return named and any(
        p.id == node.target and p.type_kind == "POINTER" for p in kernel.parameters
    )
