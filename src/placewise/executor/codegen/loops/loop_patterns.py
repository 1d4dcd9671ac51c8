"""Accesses in loops: a fast path where the pattern of addresses is known.

In a loop the addresses of several accesses often differ by a value common to all lanes: unrolled
iterations, fields of a struct, neighbours of a stencil. Whether the lanes of such an address are
consecutive or alike is then asked once, of their common root, and each access only adds. Where they
are neither, accesses that differ by constants are checked against the bounds together.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.codegen.accesses.access import (
    Kind,
    Range,
    all_inside,
    find_range,
    load_elements,
    touch,
)
from placewise.executor.codegen.accesses.calls import helper_call, keep, place
from placewise.executor.codegen.state import REACH, Check, Reach, State
from placewise.executor.codegen.text import Text, lanes
from placewise.executor.codegen.tracing import records
from placewise.executor.ir.nodes import Access, Node

_HALVES = "<32 x i32> " + lanes([0] * 16 + [1] * 16)
_CONSECUTIVE, _SAME, _SCATTERED = 1, 2, 3


@dataclass(frozen=True)
class Parts:
    """An address as a root that differs between lanes, values common to all, and a constant."""

    root: Node
    terms: tuple[tuple[str, Node], ...]
    """Operations that make the part common to all lanes: ``add`` or ``sub``, and the operand."""
    constant: int


def parts_of(n: Node, access: Access) -> Parts:
    terms: list[tuple[str, Node]] = []
    constant = access.offset
    bits = 64 if n.type == "i64" else 32
    while n.op in ("add", "sub") and not n.uniform:
        a, b = n.args
        op = n.op
        if b.uniform:
            n, other = a, b
        elif a.uniform and op == "add":
            n, other = b, a
        else:
            break
        if other.op == "const" and isinstance(other.attr, int):
            value = other.attr - (other.attr >> (bits - 1) << bits)
            constant += value if op == "add" else -value
        else:
            terms.append((op, other))
    return Parts(n, tuple(reversed(terms)), constant)


def moved(s: State, type_: str, value: str, parts: Parts) -> str:
    """``value`` plus the part of the address that is common to all lanes."""
    for op, term in parts.terms:
        value = s.op(f"{op} {type_} {value}, {s.scalar(term)}")
    return s.op(f"add {type_} {value}, {parts.constant}") if parts.constant else value


def _pattern(s: State, root: Node, stride: int) -> tuple[str, str, str]:
    """Kind of a root's pattern (i32), and the values of lanes 0 and 16. Only a full warp can have a
    pattern; -1 stands for a partial warp whose active lanes have one, which the helper serves."""
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
    inactive = s.op(f"xor i32 {s.mask}, -1")
    kind = "0"
    for expected, number in ((bases, _SAME), (ramp, _CONSECUTIVE)):
        equal = s.op(f"icmp eq {t} {value}, {expected}")
        bits = s.op(f"or i32 {s.op(f'bitcast <32 x i1> {equal} to i32')}, {inactive}")
        which = s.op(f"select i1 {full}, i32 {number}, i32 -1")
        kind = s.op(f"select i1 {s.op(f'icmp eq i32 {bits}, -1')}, i32 {which}, i32 {kind}")
    found = s.patterns[root.number, stride] = (kind, a0, a16)
    return found


def _ends(s: State, parts: Parts) -> str:
    """A vector of four: the addresses of lanes 0 and 16 without their constant part, and two
    zeros."""
    a = parts.root.type
    key: tuple[object, ...] = (parts.root.number,)
    if key not in s.ends:
        whole, picks = f"<32 x {a}>", lanes([0, 16, 32, 32])
        root = s.vector(parts.root)
        s.ends[key] = s.op(
            f"shufflevector {whole} {root}, {whole} zeroinitializer, <4 x i32> {picks}"
        )
    for op, term in parts.terms:
        value, key = s.ends[key], (*key, op, term.number)
        if key not in s.ends:
            s.ends[key] = s.op(f"{op} <4 x {a}> {value}, {_twice(s, term)}")
    return s.ends[key]


def _twice(s: State, term: Node) -> str:
    """A vector of four: a value common to all lanes twice, and two zeros."""
    key, four = ("twice", term.number), f"<4 x {term.type}>"
    if key not in s.ends:
        one = s.op(f"insertelement {four} zeroinitializer, {term.type} {s.scalar(term)}, i64 0")
        picks = lanes([0, 0, 1, 1])
        s.ends[key] = s.op(f"shufflevector {four} {one}, {four} poison, <4 x i32> {picks}")
    return s.ends[key]


def emit(s: State, n: Node, access: Access, kind: Kind) -> None:
    """Emit an access in a loop: a fast path where the root of its addresses has a pattern, the
    helper elsewhere."""
    parts = parts_of(n.args[0], access)
    pattern, a0, a16 = _pattern(s, parts.root, kind.lane_bytes)
    at = [moved(s, kind.address, start, parts) for start in (a0, a16)]
    ends = _ends(s, parts) if kind.traced else ""
    load = n.op == "load"
    # Vectors made in one of the branches below would not be visible after them.
    plain = 1 if load else 1 + access.count
    for operand in n.args[:plain]:
        s.vector(operand)
    reach = _reach(s, parts, kind, pattern)
    pattern = reach.pattern if reach else pattern
    ways = [(_CONSECUTIVE, kind.lane_bytes)]
    if load:
        ways.append((_SAME, 0))
    labels = {number: s.label() for number, _ in ways}
    if reach:
        labels[_SCATTERED] = s.label()
    slow, join = s.label(), s.label()
    cases = " ".join(f"i32 {number}, label %{label}" for number, label in labels.items())
    s.do(f"switch i32 {pattern}, label %{slow} [ {cases} ]")
    results: list[tuple[str, str]] = []

    def end(value: str) -> None:
        done = s.label()
        s.do(f"br label %{done}")
        s.start(done)
        s.do(f"br label %{join}")
        results.append((value, done))

    for number, step in ways:
        s.start(labels[number])
        end(_fast_path(s, n, access, kind, at, step, slow, ends, parts.constant))
    if reach:
        s.start(labels[_SCATTERED])
        end(_scattered(s, n, access, kind, reach, parts))
    s.start(slow)
    result, call = helper_call(s, n, access, kind, plain, s.mask)
    if load or access.count == 1:
        # The helper need not look for a pattern again.
        s.needs.general.add(kind)
        names = (f"{kind.name}.general", kind.name)
        known = s.op(f"icmp eq i32 {pattern}, 0")
        way = s.op(f"select i1 {known}, ptr {names[0]}, ptr {names[1]}")
        call = call.replace(f"{kind.name}(", f"{way}(", 1)
    end(place(s, result, call))
    s.start(join)
    if load:
        incoming = ", ".join(f"[ {value}, %{label} ]" for value, label in results)
        keep(s, n, access, result, s.op(f"phi {result} {incoming}"))


# --- lanes that are neither consecutive nor alike


def group_of(parts: Parts, kind: Kind) -> tuple[object, ...]:
    """What accesses have in common whose bounds can be checked together."""
    terms = tuple((op, n.number) for op, n in parts.terms)
    low = parts.constant % kind.lane_bytes
    return (parts.root.number, terms, kind.action, kind.memory, kind.lane_bytes, low)


def displacements(kinds: dict[Node, Kind]) -> dict[tuple[object, ...], tuple[int, int, int]]:
    """Lowest and highest constant of the addresses in each group of accesses of a block, and how
    many accesses it has."""
    found: dict[tuple[object, ...], tuple[int, int, int]] = {}
    for n, kind in kinds.items():
        parts = parts_of(n.args[0], n.access)
        key = group_of(parts, kind)
        low, high, count = found.get(key, (parts.constant, parts.constant, 0))
        found[key] = (min(low, parts.constant), max(high, parts.constant), count + 1)
    return found


def _reach(s: State, parts: Parts, kind: Kind, pattern: str) -> Reach | None:
    """The check of a group of accesses, made where its first one is; None for a single one."""
    key = group_of(parts, kind)
    low, high, count = s.displacements[key]
    too_far = kind.memory == "windowed" and s.options.large
    if count == 1 or high - low >= 1 << 20 or too_far:
        return None
    known = s.reaches.get(key)
    if known is not None:
        return known
    check = Check(kind.action, kind.memory, kind.lane_bytes, bool(parts.terms))
    s.needs.checks.add(check)
    place_ = f"%reach{len(s.reserved)}"
    s.reserved.append(f"{place_} = alloca {REACH}")
    before, look, on = s.label(), s.label(), s.label()
    s.do(f"br label %{before}")
    s.start(before)
    s.do(f"br i1 {s.op(f'icmp eq i32 {pattern}, 0')}, label %{look}, label %{on}")
    s.start(look)
    a = kind.address
    common = moved(s, a, "0", Parts(parts.root, parts.terms, low))
    number = s.op(
        f"call fastcc i32 {check.name}(ptr %ctx, <32 x {a}> {s.vector(parts.root)}, "
        f"i32 {s.mask}, {a} {common}, {a} {high - low}, ptr {place_})"
    )
    s.do(f"br label %{on}")
    s.start(on)
    merged = s.op(f"phi i32 [ {pattern}, %{before} ], [ {number}, %{look} ]")
    s.reaches[key] = Reach(merged, place_, low)
    return s.reaches[key]


def check_function(check: Check, declarations: set[str]) -> str:
    """Whether accesses at 32 addresses and up to ``%spread`` bytes further are aligned and in the
    bounds of one array in all active lanes; if so, 3, and where that is goes to ``%out``."""
    t = Text(declarations)
    a = check.address
    v = f"<32 x {a}>"
    anchor = "%common"
    if not check.based:
        lane = t.call("i32", "llvm.cttz.i32", ("i32", "%mask"), ("i1", "false"))
        anchor = t.op(f"add {a} {t.op(f'extractelement {v} %root, i32 {lane}')}, %common")
    found = find_range(t, check, anchor)
    size, common = found.size, "%common"
    if a == "i32":
        size = t.op(f"trunc i64 {size} to i32")
    else:
        common = t.op(f"sub {a} %common, {found.start}")
    lowest = t.op(f"add {v} %root, {t.splat(a, common)}")
    inside = all_inside(
        t, a, lowest, t.call(a, f"llvm.usub.sat.{a}", (a, size), (a, "%spread")), check.lane_bytes
    )
    bits = t.op(f"bitcast <32 x i1> {inside} to i32")
    good = t.op(f"or i32 {bits}, {t.op('xor i32 %mask, -1')}")
    short = lowest if a == "i32" else t.op(f"trunc {v} {lowest} to <32 x i32>")
    values = (
        ("<32 x i32>", short),
        ("ptr", found.host),
        ("i64", found.place),
        ("i64", found.window or "0"),
    )
    for n, (type_, value) in enumerate(values):
        t.do(
            f"store {type_} {value}, ptr {t.op(f'getelementptr {REACH}, ptr %out, i64 0, i32 {n}')}"
        )
    every = t.op(f"icmp eq i32 {good}, -1")
    t.do(f"ret i32 {t.op(f'select i1 {every}, i32 {_SCATTERED}, i32 0')}")
    head = (
        f"define internal fastcc i32 {check.name}(ptr %ctx, {v} %root, i32 %mask, {a} %common, "
        f"{a} %spread, ptr %out) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def _scattered(s: State, n: Node, access: Access, kind: Kind, reach: Reach, parts: Parts) -> str:
    """An access whose lanes are known to be in bounds; returns a load's value."""

    def part(number: int, type_: str) -> str:
        at = s.op(f"getelementptr {REACH}, ptr {reach.place}, i64 0, i32 {number}")
        return s.op(f"load {type_}, ptr {at}")

    further = parts.constant - reach.low
    offsets, base = part(0, "<32 x i32>"), part(1, "ptr")
    window = part(3, "i64") if kind.memory == "windowed" else None
    touch(s, Range("", "", base, "", window), kind.action)
    if kind.traced:
        at = s.op(f"add <32 x i32> {offsets}, splat (i32 {further})") if further else offsets
        place(
            s,
            "void",
            f"call fastcc void @record.general.i32(ptr %ctx, i32 {access.site}, i32 {s.mask}, "
            f"i64 {part(2, 'i64')}, <32 x i32> {at})",
        )
    if further:
        base = s.op(f"getelementptr i8, ptr {base}, i64 {further}")
    s.needs.scattered.add(kind)
    values = [f", <32 x {kind.element}> {s.vector(a)}" for a in n.args[1 : 1 + access.count]]
    given = "".join(values) if n.op == "store" else ""
    result = "void" if n.op == "store" else kind.vector_result
    call = (
        f"call fastcc {result} {kind.name}.any(ptr {base}, <32 x i32> {offsets}, "
        f"i32 {s.mask}{given})"
    )
    if n.op == "store":
        s.do(call)
        return ""
    return s.op(call)


# --- lanes that are


# Called from one place, with the pieces of the access that it emits.
def _fast_path(
    s: State,
    n: Node,
    access: Access,
    kind: Kind,
    at: list[str],
    step: int,
    slow: str,
    ends: str,
    further: int,
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
        if kind.memory == "shared":
            # Shared addresses wrap in 32 bits, so the constant is added before they are widened.
            near = s.op(f"add <4 x i32> {ends}, {lanes([further, further, 0, 0])}")
            ends, further = s.op(f"zext <4 x i32> {near} to <4 x i64>"), int(found.place)
        records.write_line(s, access.site, ends, further, step)
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
