"""Calls of the access helpers from the warp function."""

from __future__ import annotations

from placewise.executor.codegen.accesses.access import Kind
from placewise.executor.codegen.state import State
from placewise.executor.codegen.tracing import records
from placewise.executor.ir.nodes import Access, Node


def address_of(s: State, n: Node, access: Access) -> str:
    """Emit the vector of addresses of an access, its constant offset added."""
    type_ = n.args[0].type
    text = s.vector(n.args[0])
    if access.offset:
        text = s.op(f"add <32 x {type_}> {text}, splat ({type_} {access.offset})")
    return text


def helper_call(
    s: State, n: Node, access: Access, kind: Kind, plain: int, mask: str
) -> tuple[str, str]:
    """Result type and text of the call that does an access by 32 addresses; ``plain`` is the number
    of its operands beside a guard."""
    values = [f", <32 x {kind.element}> {s.vector(a)}" for a in n.args[1:plain]]
    if n.op == "store":
        s.needs.stores.add(kind)
        result = "void"
    else:
        s.needs.vector_loads.add(kind)
        result = kind.vector_result
    address = address_of(s, n, access)
    return result, (
        f"call fastcc {result} {kind.name}(ptr %ctx, <32 x {kind.address}> {address}, "
        f"i32 {mask}, i32 {access.site}{''.join(values)})"
    )


def place(s: State, result: str, call: str) -> str:
    """Emit a call that may write trace records; returns its value, if it has one."""
    if "{record}" in call:
        return s.op(call.replace("{record}", records.take(s)))
    if s.options.traced:
        records.give_back(s)
    value = ""
    if result == "void":
        s.do(call)
    else:
        value = s.op(call)
    if s.options.traced:
        records.take_over(s)
    return value


def keep(s: State, n: Node, access: Access, result: str, value: str) -> None:
    """Make the value of a load known to the nodes that use it."""
    if access.count > 1:
        s.structs[n.number] = (result, value)
    else:
        s.set(n, value)
