"""Calls from compiled kernels to Python, for what only Python can do."""

from __future__ import annotations

from placewise.executor.codegen.state import State
from placewise.executor.codegen.text import Text, vector
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.ir.nodes import Node
from placewise.executor.runtime.host_calls import HostCall

_WIDE = vector("i64")
_OPERANDS = 4


def emit(s: State, n: Node) -> None:
    """Emit a ``host`` node: a call of Python."""
    s.needs.host = True
    operands = [s.vector(a) for a in n.args]
    operands += ["zeroinitializer"] * (_OPERANDS - len(operands))
    listed = ", ".join(f"{_WIDE} {x}" for x in operands)
    call = HostCall[str(n.attr).upper()]
    s.set(n, s.op(f"call fastcc {_WIDE} @host(ptr %ctx, i64 {int(call)}, i32 {s.mask}, {listed})"))


def host_function() -> str:
    """``@host(ctx, call, mask, operands…)``: put the operands into memory and call Python."""
    t = Text(set())
    operands = t.stack(f"[{_OPERANDS} x {_WIDE}]")
    results = t.stack(_WIDE)
    for n in range(_OPERANDS):
        t.do(f"store {_WIDE} %x{n}, ptr {t.op(f'getelementptr {_WIDE}, ptr {operands}, i64 {n}')}")
    t.do(f"store {_WIDE} zeroinitializer, ptr {results}")
    function = t.slot(Slot.HOST, "ptr", invariant=True)
    mask = t.op("zext i32 %mask to i64")
    t.do(f"call void {function}(i64 %call, i64 {mask}, ptr {operands}, ptr {results})")
    t.do(f"ret {_WIDE} {t.op(f'load {_WIDE}, ptr {results}')}")
    listed = ", ".join(f"{_WIDE} %x{n}" for n in range(_OPERANDS))
    head = (
        f"define internal fastcc {_WIDE} @host(ptr %ctx, i64 %call, i32 %mask, {listed}) "
        "cold noinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])
