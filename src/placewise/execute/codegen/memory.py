"""Memory nodes: calls of the access helpers, and the short way where a pattern is known.

In a loop the addresses of several accesses often differ by a value common to all lanes: unrolled
iterations, fields of a struct, neighbours of a stencil. Whether the lanes of such an address are
consecutive or alike is then asked once, of their common root, and each access only adds.
"""

from __future__ import annotations

from placewise.execute.codegen import checks, records
from placewise.execute.codegen.access import (
    Kind,
    find_range,
    kind_of,
    load_elements,
    touch,
)
from placewise.execute.codegen.atomics import name_of
from placewise.execute.codegen.state import State
from placewise.execute.codegen.text import lanes
from placewise.execute.ir import Access, Node

_HALVES = "<32 x i32> " + lanes([0] * 16 + [1] * 16)
_EVERY = "<32 x i32> " + lanes(range(32))


def emit(s: State, n: Node) -> None:
    """Emit one access, under a guard only if it holds in some lane."""
    access = n.attr
    assert isinstance(access, Access)
    plain = {"load": 1, "store": 1 + access.count}.get(n.op, 0)
    plain = plain or (3 if access.operation == "cas" else 2)
    guarded = len(n.args) > plain
    if n.op == "atomic":
        _atomic(s, n, access, plain, guarded=guarded)
        return
    traced = access.space in s.options.traced
    kind = kind_of(access, traced=traced)
    if n.op == "load" and n.uniform:
        _uniform_load(s, n, access, kind, guarded=guarded)
    elif (
        s.hot
        and not (guarded or s.asks(access))
        and kind.memory != "local"
        and (n.op == "load" or kind.count == 1)
    ):
        _patterned(s, n, access, kind)
    else:
        mask = guard_mask(s, n, guarded=guarded)
        result, call = _helper_call(s, n, access, kind, plain, mask)
        _finish(s, n, access, call, result, mask, guarded=guarded)


def guard_mask(s: State, n: Node, *, guarded: bool) -> str:
    """Lanes that do the access: those that the guard and, in a checked run, the checker let go."""
    mask = s.op(f"and i32 {s.mask}, {s.mask_of(n.args[-1])}") if guarded else s.mask
    access = n.attr
    return checks.allowed(s, n, mask) if isinstance(access, Access) and s.asks(access) else mask


def _address(s: State, n: Node, access: Access) -> str:
    """The address vector, offset added."""
    type_ = n.args[0].type
    text = s.vector(n.args[0])
    if access.offset:
        text = s.op(f"add <32 x {type_}> {text}, splat ({type_} {access.offset})")
    return text


def _helper_call(
    s: State, n: Node, access: Access, kind: Kind, plain: int, mask: str
) -> tuple[str, str]:
    """Result type and text of the call that does an access by 32 addresses."""
    values = [f", <32 x {kind.element}> {s.vector(a)}" for a in n.args[1:plain]]
    if n.op == "store":
        s.needs.stores.add(kind)
        result = "void"
    else:
        s.needs.vector_loads.add(kind)
        result = kind.vector_result
    address = _address(s, n, access)
    return result, (
        f"call fastcc {result} {kind.name}(ptr %ctx, <32 x {kind.address}> {address}, "
        f"i32 {mask}, i32 {access.site}{''.join(values)})"
    )


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
    # This helper is put in place, and so can record where the warp function does.
    call += ", ptr {record}, <4 x i32> %identity)" if kind.traced else ")"
    _finish(s, n, access, call, kind.scalar_result, mask, guarded=guarded)


def _atomic(s: State, n: Node, access: Access, plain: int, *, guarded: bool) -> None:
    traced = access.space in s.options.traced
    parallel = s.options.parallel and access.space != "shared"
    name = name_of(access, traced=traced, parallel=parallel)
    s.needs.atomics[name] = access
    result = f"<32 x i{access.bits}>"
    values = [*(s.vector(a) for a in n.args[1:plain]), "zeroinitializer"][:2]
    tail = "".join(f", {result} {x}" for x in values)
    address = "i32" if access.space == "shared" else "i64"
    where = _address(s, n, access)
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
        value = _place(s, result, call)
    if result != "void":
        _keep(s, n, access, result, value)


def _place(s: State, result: str, call: str) -> str:
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


def _keep(s: State, n: Node, access: Access, result: str, value: str) -> None:
    if access.count > 1:
        s.structs[n.number] = (result, value)
    else:
        s.set(n, value)


def if_any(s: State, mask: str, result: str, call: str, site: int) -> str:
    """Do ``call`` and count it if ``mask`` is not empty; its value, or zero."""
    before, yes, on = s.label(), s.label(), s.label()
    s.do(f"br label %{before}")
    s.start(before)
    s.do(f"br i1 {s.op(f'icmp ne i32 {mask}, 0')}, label %{yes}, label %{on}")
    s.start(yes)
    s.count_site(site)
    value = _place(s, result, call)
    done = s.label()
    s.do(f"br label %{done}")
    s.start(done)
    s.do(f"br label %{on}")
    s.start(on)
    if not value:
        return ""
    return s.op(f"phi {result} [ zeroinitializer, %{before} ], [ {value}, %{done} ]")


# --- accesses whose lanes are consecutive or alike, by a root asked once


def _decompose(n: Node) -> tuple[Node, list[tuple[str, Node]]]:
    """A node as a root plus values common to all lanes."""
    terms: list[tuple[str, Node]] = []
    while n.op in ("add", "sub") and not n.uniform:
        a, b = n.args
        if b.uniform:
            terms.append((n.op, b))
            n = a
        elif a.uniform and n.op == "add":
            terms.append(("add", a))
            n = b
        else:
            break
    return n, terms


def _pattern(s: State, root: Node, stride: int) -> tuple[str, str, str]:
    """Kind of a root's pattern (1 consecutive halves, 2 equal halves, 0 other; i32), and the
    values of lanes 0 and 16. Only a full warp has a pattern."""
    known = s.patterns.get((root.number, stride))
    if known is not None:
        return known
    type_ = root.type
    t = f"<32 x {type_}>"
    value = s.vector(root)
    a0 = s.op(f"extractelement {t} {value}, i64 0")
    a16 = s.op(f"extractelement {t} {value}, i64 16")
    pair = s.op(f"insertelement {t} poison, {type_} {a0}, i64 0")
    pair = s.op(f"insertelement {t} {pair}, {type_} {a16}, i64 1")
    bases = s.op(f"shufflevector {t} {pair}, {t} poison, {_HALVES}")
    steps = lanes([stride * k for k in list(range(16)) * 2], type_)
    ramp = s.op(f"add {t} {bases}, {steps}")
    full = s.op(f"icmp eq i32 {s.mask}, -1")
    kinds = []
    for expected in (ramp, bases):
        equal = s.op(f"icmp eq {t} {value}, {expected}")
        all_ = s.op(f"icmp eq i32 {s.op(f'bitcast <32 x i1> {equal} to i32')}, -1")
        kinds.append(s.op(f"and i1 {all_}, {full}"))
    same = s.op(f"select i1 {kinds[1]}, i32 2, i32 0")
    kind = s.op(f"select i1 {kinds[0]}, i32 1, i32 {same}")
    found = s.patterns[root.number, stride] = (kind, a0, a16)
    return found


def _patterned(s: State, n: Node, access: Access, kind: Kind) -> None:
    """An access in a loop: short where its root has a pattern, by the helper elsewhere."""
    root, terms = _decompose(n.args[0])
    pattern, a0, a16 = _pattern(s, root, kind.lane_bytes)
    at = []
    for start in (a0, a16):
        value = start
        for op, term in reversed(terms):
            value = s.op(f"{op} {kind.address} {value}, {s.scalar(term)}")
        if access.offset:
            value = s.op(f"add {kind.address} {value}, {access.offset}")
        at.append(value)
    load = n.op == "load"
    # Vectors made in one of the branches below would not be visible after them.
    plain = 1 if load else 1 + access.count
    for operand in n.args[:plain]:
        s.vector(operand)
    ways = [(1, kind.lane_bytes), (2, 0)] if load else [(1, kind.lane_bytes)]
    labels = {number: s.label() for number, _ in ways}
    slow, join = s.label(), s.label()
    cases = " ".join(f"i32 {number}, label %{label}" for number, label in labels.items())
    s.do(f"switch i32 {pattern}, label %{slow} [ {cases} ]")
    results: list[tuple[str, str]] = []
    for number, step in ways:
        s.start(labels[number])
        value = _short_way(s, n, access, kind, at, step, slow)
        done = s.label()
        s.do(f"br label %{done}")
        s.start(done)
        s.do(f"br label %{join}")
        results.append((value, done))
    s.start(slow)
    result, call = _helper_call(s, n, access, kind, plain, s.mask)
    value = _place(s, result, call)
    s.do(f"br label %{join}")
    s.start(join)
    if load:
        results.append((value, slow))
        incoming = ", ".join(f"[ {value}, %{label} ]" for value, label in results)
        _keep(s, n, access, result, s.op(f"phi {result} {incoming}"))


def _short_way(
    s: State, n: Node, access: Access, kind: Kind, at: list[str], step: int, slow: str
) -> str:
    """Two plain accesses of half a warp each, after one check; returns a load's value."""
    found = find_range(s, kind, at[0])
    relative = []
    for value in at:
        wide = value if kind.address == "i64" else s.op(f"zext i32 {value} to i64")
        start = found.start
        relative.append(wide if start == "0" else s.op(f"sub i64 {wide}, {start}"))
    span = 15 * step + kind.lane_bytes
    inside = []
    for offset in relative:
        end = s.op(f"add i64 {offset}, {span}")
        inside.append(s.op(f"icmp ule i64 {end}, {found.size}"))
    low = s.op(f"and i64 {s.op(f'or i64 {relative[0]}, {relative[1]}')}, {kind.lane_bytes - 1}")
    both = s.op(f"and i1 {inside[0]}, {inside[1]}")
    fine = s.op(f"and i1 {both}, {s.op(f'icmp eq i64 {low}, 0')}")
    good = s.label()
    s.do(f"br i1 {fine}, label %{good}, label %{slow}, !prof !1")
    s.start(good)
    touch(s, found, kind.action)
    if kind.traced:
        records.write_here(s, access.site, "-1", found.array, (relative[0], relative[1]), step)
    pointers = [s.op(f"getelementptr i8, ptr {found.host}, i64 {x}") for x in relative]
    if n.op == "store":
        _store_halves(s, kind, pointers, s.vector(n.args[1]))
        return ""
    return _load_halves(s, kind, pointers, step)


def _store_halves(s: State, kind: Kind, pointers: list[str], value: str) -> None:
    e = kind.element
    for pointer, start in zip(pointers, (0, 16), strict=True):
        picks = lanes(range(start, start + 16))
        piece = s.op(f"shufflevector <32 x {e}> {value}, <32 x {e}> poison, <16 x i32> {picks}")
        s.do(f"store <16 x {e}> {piece}, ptr {pointer}, align {kind.bits // 8}")


def _load_halves(s: State, kind: Kind, pointers: list[str], step: int) -> str:
    e, count = kind.element, kind.count
    values = []
    if step:
        wide = f"<{16 * count} x {e}>"
        pieces = [s.op(f"load {wide}, ptr {p}, align {kind.bits // 8}") for p in pointers]
        for part in range(count):
            picks = [part + count * lane for lane in range(16)]
            picks += [16 * count + p for p in picks]
            index = f"<32 x i32> {lanes(picks)}"
            values.append(s.op(f"shufflevector {wide} {pieces[0]}, {wide} {pieces[1]}, {index}"))
    else:
        t = f"<32 x {e}>"
        for low, high in zip(*(load_elements(s, kind, p) for p in pointers), strict=True):
            pair = s.op(f"insertelement {t} poison, {e} {low}, i64 0")
            pair = s.op(f"insertelement {t} {pair}, {e} {high}, i64 1")
            values.append(s.op(f"shufflevector {t} {pair}, {t} poison, {_HALVES}"))
    if count == 1:
        return values[0]
    whole = "poison"
    for part, value in enumerate(values):
        whole = s.op(f"insertvalue {kind.vector_result} {whole}, <32 x {e}> {value}, {part}")
    return whole
