"""Memory nodes: which helper does an access, under which guard."""

from __future__ import annotations

from placewise.executor.codegen import checks
from placewise.executor.codegen.accesses.access import Kind, kind_of
from placewise.executor.codegen.accesses.atomics import atomic_kind, name_of, operands_of
from placewise.executor.codegen.accesses.calls import address_of, helper_call, keep, place
from placewise.executor.codegen.loops import loop_patterns
from placewise.executor.codegen.state import State
from placewise.executor.codegen.tracing import records
from placewise.executor.ir.nodes import Access, Node


def emit(s: State, n: Node) -> None:
    """Emit one access. An access under a guard is made only if the guard holds in some lane."""
    access = n.access
    plain = {"load": 1, "store": 1 + access.count}.get(n.op, 1 + operands_of(access))
    guarded = len(n.args) > plain
    if n.op == "atomic":
        _atomic(s, n, access, plain, guarded=guarded)
        return
    traced = access.space in s.options.traced
    kind = kind_of(access, traced=traced)
    if n.op == "load" and n.uniform:
        _uniform_load(s, n, access, kind, guarded=guarded)
    elif _in_pattern(s, n, kind):
        loop_patterns.emit(s, n, access, kind)
    else:
        mask = guard_mask(s, n, guarded=guarded)
        result, call = helper_call(s, n, access, kind, plain, mask)
        _finish(s, n, access, call, result, mask, guarded=guarded)


def _in_pattern(s: State, n: Node, kind: Kind) -> bool:
    """Whether to emit the fast path for addresses of a known pattern: in a loop, for accesses by
    all lanes of the block."""
    access = n.access
    unguarded = len(n.args) == (1 if n.op == "load" else 1 + access.count)
    simple = kind.memory != "local" and (n.op == "load" or kind.count == 1)
    return s.hot and unguarded and simple and not n.uniform and not s.asks(access)


def groups(s: State, nodes: list[Node]) -> dict[tuple[object, ...], tuple[int, int, int]]:
    """Accesses of a block that differ by a constant, as :func:`loop_patterns.displacements` finds
    them."""
    kinds: dict[Node, Kind] = {}
    for n in nodes:
        if n.op in ("load", "store"):
            kind = kind_of(n.access, traced=n.access.space in s.options.traced)
            if _in_pattern(s, n, kind):
                kinds[n] = kind
    return loop_patterns.displacements(kinds)


def guard_mask(s: State, n: Node, *, guarded: bool) -> str:
    """Lanes that make the access: those whose guard holds and, in a checked run, that the checker
    allows."""
    mask = s.op(f"and i32 {s.mask}, {s.mask_of(n.args[-1])}") if guarded else s.mask
    return checks.allowed(s, n, mask) if s.asks(n.access) else mask


def _uniform_load(s: State, n: Node, access: Access, kind: Kind, *, guarded: bool) -> None:
    s.needs.scalar_loads.add(kind)
    text = s.scalar(n.args[0])
    if access.offset:
        text = s.op(f"add {kind.address} {text}, {access.offset}")
    mask = guard_mask(s, n, guarded=guarded)
    call = (
        f"call fastcc {kind.scalar_result} {kind.name}.one(ptr %ctx, {kind.address} {text}, "
        f"i32 {mask}, i32 {access.site}"
    )
    if kind.traced:
        # This helper is inlined, so it can write its record where the warp function writes its own.
        words = s.words if mask == s.mask else records.words_of(s, mask)
        call += f", ptr {{record}}, <4 x i32> {records.same_place(s, access.site, words)}"
    call += ")"
    _finish(s, n, access, call, kind.scalar_result, mask, guarded=guarded)


def _atomic(s: State, n: Node, access: Access, plain: int, *, guarded: bool) -> None:
    traced = access.space in s.options.traced
    parallel = s.options.parallel and access.space != "shared"
    name = name_of(access, traced=traced, parallel=parallel)
    s.needs.atomics[name] = access
    one, result = f"<32 x i{access.bits}>", atomic_kind(access, traced=traced).vector_result
    values = [s.vector(a) for a in n.args[1:plain]]
    values += ["zeroinitializer"] * (2 - len(values))
    tail = "".join(f", {one} {x}" for x in values)
    address = "i32" if access.space == "shared" else "i64"
    where = address_of(s, n, access)
    mask = guard_mask(s, n, guarded=guarded)
    call = (
        f"call fastcc {result} {name}(ptr %ctx, <32 x {address}> {where}, i32 {mask}, "
        f"i32 {access.site}{tail})"
    )
    _finish(s, n, access, call, result, mask, guarded=guarded)


def _finish(
    s: State, n: Node, access: Access, call: str, result: str, mask: str, *, guarded: bool
) -> None:
    """Place the call, in a branch where it is guarded, and record its value."""
    if guarded or s.asks(access):
        value = if_any(s, mask, result, call, access.site)
    else:
        value = place(s, result, call)
    if result != "void":
        keep(s, n, access, result, value)


def if_any(s: State, mask: str, result: str, call: str, site: int) -> str:
    """Do ``call`` and count it if ``mask`` is not empty; its value, or zero."""
    before, yes, on = s.label(), s.label(), s.label()
    s.do(f"br label %{before}")
    s.start(before)
    s.do(f"br i1 {s.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{on}")
    s.start(yes)
    s.count_site(site)
    value = place(s, result, call)
    done = s.label()
    s.do(f"br label %{done}")
    s.start(done)
    s.do(f"br label %{on}")
    s.start(on)
    if not value:
        return ""
    return s.op(f"phi {result} [ zeroinitializer, %{before} ], [ {value}, %{done} ]")
