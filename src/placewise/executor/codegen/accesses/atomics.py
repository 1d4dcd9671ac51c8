"""Atomic operations: lane after lane, lowest first, so results do not depend on chance."""

from __future__ import annotations

from placewise.executor.codegen.accesses import mbarrier
from placewise.executor.codegen.accesses.access import Kind, general_range, give, touch
from placewise.executor.codegen.accesses.lanewise import lane_pointer
from placewise.executor.codegen.text import Text
from placewise.executor.codegen.tracing import records
from placewise.executor.ir.nodes import Access

_RMW = {
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "exch": "xchg",
    "smin": "min",
    "smax": "max",
    "umin": "umin",
    "umax": "umax",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
    "fadd": "fadd",
}


def atomic_kind(access: Access, *, traced: bool) -> Kind:
    """The memory an atomic works on, as the load helpers name it."""
    if access.space == "shared":
        memory = "shared"
    else:
        memory = "windowed"
    return Kind("atomic", memory, access.bits, access.count, traced)


def operands_of(access: Access) -> int:
    """Number of values that an atomic takes from each lane, beside the address."""
    return 2 if access.operation == "cas" else access.count


def name_of(access: Access, *, traced: bool, parallel: bool) -> str:
    kind = atomic_kind(access, traced=traced)
    return f"@atomic.{access.operation}.{kind.memory}.{access.bits}x{access.count}" + (
        (".t" if traced else "") + (".p" if parallel else "")
    )


# Long because it is one LLVM function as text, read from top to bottom.
def atomic_helper(access: Access, declarations: set[str], *, traced: bool, parallel: bool) -> str:
    """LLVM function of an atomic. With ``parallel`` it uses the host's atomic instructions, for
    blocks that run on several cores at once."""
    kind = atomic_kind(access, traced=traced)
    t = Text(declarations)
    e, a = kind.element, kind.address
    found, relative, good, _ = general_range(t, kind)
    addresses = t.stack(f"<32 x {a}>")
    values_wide = range(max(2, operands_of(access)))
    given = [t.stack(f"<32 x {e}>") for _ in values_wide]
    results = [t.stack(f"<32 x {e}>") for _ in range(access.count)]
    t.do(f"store <32 x {a}> {relative}, ptr {addresses}")
    for n, place in enumerate(given):
        t.do(f"store <32 x {e}> %value{n}, ptr {place}")
    for place in results:
        t.do(f"store <32 x {e}> zeroinitializer, ptr {place}")
    t.do(f"br i1 {t.op(f'icmp eq i32 {good}, -1')}, label %near, label %far, !prof !1")

    def loop(start: str, pointer_of: object) -> None:
        head, body, on = t.label(), t.label(), t.label()
        before = start
        t.do(f"br label %{head}")
        t.start(head)
        left, rest = t.name(), t.name()
        t.do(f"{left} = phi i32 [ %mask, %{before} ], [ {rest}, %{on} ]")
        t.do(f"br i1 {t.op(f'icmp eq i32 {left}, 0')}, label %out, label %{body}")
        t.start(body)
        lane = t.call("i32", "llvm.cttz.i32", ("i32", left), ("i1", "false"))
        where = t.op(f"load {a}, ptr {t.op(f'getelementptr {a}, ptr {addresses}, i32 {lane}')}")
        assert callable(pointer_of)
        pointer = pointer_of(where, lane, on)
        values = [
            t.op(f"load {e}, ptr {t.op(f'getelementptr {e}, ptr {p}, i32 {lane}')}") for p in given
        ]
        for n, place in enumerate(results):
            at = t.op(f"getelementptr i8, ptr {pointer}, i64 {n * kind.bits // 8}")
            old = _operate(t, access, e, at, values[n:] + values[:n], parallel=parallel)
            t.do(f"store {e} {old}, ptr {t.op(f'getelementptr {e}, ptr {place}, i32 {lane}')}")
        t.do(f"br label %{on}")
        t.start(on)
        t.do(f"{rest} = and i32 {left}, {t.op(f'sub i32 {left}, 1')}")
        t.do(f"br label %{head}")

    t.start("near")
    touch(t, found, "atomic")
    if traced:
        records.append_any(t, found.place, relative, kind.address)
    t.do("br label %near.loop")
    t.start("near.loop")
    loop("near.loop", lambda at, _lane, _on: _host(t, found.host, kind, at))
    t.start("far")
    t.do(f"store <32 x {a}> %address, ptr {addresses}")
    t.do("br label %far.loop")
    t.start("far.loop")
    loop("far.loop", lambda at, lane, on: lane_pointer(t, kind, "atomic", at, lane, on))
    t.start("out")
    old = [t.op(f"load <32 x {e}>, ptr {place}") for place in results]
    give(t, kind.vector_result, old, f"<32 x {e}>")
    parameters = "".join(f", <32 x {e}> %value{n}" for n in values_wide)
    name = name_of(access, traced=traced, parallel=parallel)
    head = (
        f"define internal fastcc {kind.vector_result} {name}"
        f"(ptr %ctx, <32 x {a}> %address, i32 %mask, i32 %site{parameters}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def _host(t: Text, host: str, kind: Kind, at: str) -> str:
    wide = at if kind.address == "i64" else t.op(f"zext i32 {at} to i64")
    return t.op(f"getelementptr i8, ptr {host}, i64 {wide}")


def _operate(
    t: Text, access: Access, e: str, pointer: str, values: list[str], *, parallel: bool
) -> str:
    """Emit the operation of one lane; returns the value that memory held before."""
    op = access.operation
    first, second, *_ = values
    if parallel:
        if op == "cas":
            pair = t.op(f"cmpxchg ptr {pointer}, {e} {first}, {e} {second} seq_cst seq_cst")
            return t.op(f"extractvalue {{ {e}, i1 }} {pair}, 0")
        if op == "fadd":
            real = "float" if e == "i32" else "double"
            value = t.op(f"bitcast {e} {first} to {real}")
            old = t.op(f"atomicrmw fadd ptr {pointer}, {real} {value} seq_cst")
            return t.op(f"bitcast {real} {old} to {e}")
        return t.op(f"atomicrmw {_RMW[op]} ptr {pointer}, {e} {first} seq_cst")
    old = t.op(f"load {e}, ptr {pointer}")
    t.do(f"store {e} {_new_value(t, op, e, old, first, second)}, ptr {pointer}")
    return old


def _new_value(t: Text, op: str, e: str, old: str, first: str, second: str) -> str:
    if op in ("add", "and", "or", "xor"):
        return t.op(f"{op} {e} {old}, {first}")
    if op.startswith("mbarrier_"):
        return mbarrier.new_state(t, op.removeprefix("mbarrier_"), old, first)
    if op in ("smin", "smax", "umin", "umax"):
        return t.call(e, f"llvm.{op}.{e}", (e, old), (e, first))
    if op[:5] in ("fadd_", "fmin_", "fmax_"):
        return _of_halves(t, op[:4], op[5:], e, old, first)
    if op == "fadd":
        real = "float" if e == "i32" else "double"
        x, y = (t.op(f"bitcast {e} {v} to {real}") for v in (old, first))
        return t.op(f"bitcast {real} {t.op(f'fadd {real} {x}, {y}')} to {e}")
    if op == "exch":
        return first
    if op == "cas":
        same = t.op(f"icmp eq {e} {old}, {first}")
        return t.op(f"select i1 {same}, {e} {second}, {e} {old}")
    if op == "inc":
        more = t.op(f"add {e} {old}, 1")
        return t.op(f"select i1 {t.op(f'icmp uge {e} {old}, {first}')}, {e} 0, {e} {more}")
    less = t.op(f"sub {e} {old}, 1")
    none = t.op(f"icmp eq {e} {old}, 0")
    above = t.op(f"icmp ugt {e} {old}, {first}")
    return t.op(f"select i1 {t.op(f'or i1 {none}, {above}')}, {e} {first}, {e} {less}")


def _of_halves(t: Text, op: str, type_: str, e: str, old: str, value: str) -> str:
    """Sum, minimum or maximum of one or two half or bfloat16 numbers, rounded from single."""
    if not type_.endswith("x2"):
        return _of_one(t, op, type_, old, value)
    parts = []
    for shift in (0, 16):
        a, b = (t.op(f"trunc i32 {t.op(f'lshr i32 {v}, {shift}')} to i16") for v in (old, value))
        total = t.op(f"zext i16 {_of_one(t, op, type_.removesuffix('x2'), a, b)} to i32")
        parts.append(t.op(f"shl i32 {total}, {shift}"))
    return t.op(f"or {e} {parts[0]}, {parts[1]}")


def _computed(t: Text, op: str, real: str, x: str, y: str) -> str:
    if op == "fadd":
        return t.op(f"fadd {real} {x}, {y}")
    name = {"fmin": "llvm.minimumnum", "fmax": "llvm.maximumnum"}[op]
    return t.call(real, f"{name}.{'f16' if real == 'half' else 'f32'}", (real, x), (real, y))


def _of_one(t: Text, op: str, type_: str, old: str, value: str) -> str:
    if type_ == "f16":
        x, y = (t.op(f"bitcast i16 {v} to half") for v in (old, value))
        return t.op(f"bitcast half {_computed(t, op, 'half', x, y)} to i16")
    wide = [
        t.op(f"bitcast i32 {t.op(f'shl i32 {w}, 16')} to float")
        for w in [t.op(f"zext i16 {v} to i32") for v in (old, value)]
    ]
    bits = t.op(f"bitcast float {_computed(t, op, 'float', *wide)} to i32")
    lowest = t.op(f"and i32 {t.op(f'lshr i32 {bits}, 16')}, 1")
    rounded = t.op(f"add i32 {t.op(f'add i32 {bits}, 32767')}, {lowest}")
    magnitude = t.op(f"and i32 {bits}, 2147483647")
    nan = t.op(f"icmp ugt i32 {magnitude}, 2139095040")
    upper = t.op(f"trunc i32 {t.op(f'lshr i32 {rounded}, 16')} to i16")
    return t.op(f"select i1 {nan}, i16 32767, i16 {upper}")
