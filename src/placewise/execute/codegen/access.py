"""Memory accesses of a warp: one LLVM helper per kind of access, called by every site of that kind.

A helper first asks whether the addresses of each half warp are consecutive or all the same, which
most accesses are; then two plain loads do, and only the two ends have to be checked against the
bounds of the array. All other accesses are gathered, every lane checked. What a helper finds out
about the addresses also makes the trace record.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.execute.codegen.text import Text, lanes
from placewise.execute.ir import Access
from placewise.execute.layout import (
    WINDOW_OF_SPACE,
    WINDOW_SHIFT,
    WINDOW_WORDS,
    WINDOWS,
    Fault,
    Slot,
)

LOW_HALF = list(range(16))
ALL = "<32 x i32> " + lanes(range(32))


@dataclass(frozen=True)
class Kind:
    """What one helper serves."""

    action: str
    """load or store."""
    memory: str
    """windowed, shared or local."""
    bits: int
    count: int
    traced: bool

    @property
    def name(self) -> str:
        trace = ".t" if self.traced else ""
        return f"@{self.action}.{self.memory}.{self.bits}x{self.count}{trace}"

    @property
    def element(self) -> str:
        return f"i{self.bits}"

    @property
    def lane_bytes(self) -> int:
        return self.bits // 8 * self.count

    @property
    def address(self) -> str:
        """LLVM type of one lane's address."""
        return "i64" if self.memory == "windowed" else "i32"

    @property
    def vector_result(self) -> str:
        one = f"<32 x {self.element}>"
        return one if self.count == 1 else "{ " + ", ".join([one] * self.count) + " }"

    @property
    def scalar_result(self) -> str:
        one = self.element
        return one if self.count == 1 else "{ " + ", ".join([one] * self.count) + " }"


def kind_of(access: Access, *, traced: bool) -> Kind:
    """The helper that serves an access (atomics have their own)."""
    memory = access.space if access.space in ("shared", "local") else "windowed"
    return Kind(access.kind, memory, access.bits, access.count, traced)


@dataclass(frozen=True)
class Range:
    """The memory that an access may reach: start address, size, host pointer, array number."""

    start: str
    size: str
    host: str
    array: str
    window: str | None


def find_range(t: Text, kind: Kind, address: str) -> Range:
    """The range around one lane's address (an LLVM value of the helper's address type)."""
    if kind.memory == "shared":
        size = t.slot(Slot.SHARED_BYTES, invariant=True)
        return Range("0", size, t.slot(Slot.SHARED, "ptr", invariant=True), "-1", None)
    shifted = t.op(f"lshr i64 {address}, {WINDOW_SHIFT}")
    window = t.op(f"and i64 {shifted}, {WINDOWS - 1}")
    table = t.slot(Slot.WINDOWS, "ptr", invariant=True)
    entry = t.op(f"getelementptr [{WINDOW_WORDS} x i64], ptr {table}, i64 {window}")
    start = t.op(f"load i64, ptr {entry}, !invariant.load !0")
    fields = []
    size = 1 if kind.action == "load" else 4
    for n, type_ in ((size, "i64"), (2, "ptr"), (3, "i64")):
        pointer = t.op(f"getelementptr i64, ptr {entry}, i64 {n}")
        fields.append(t.op(f"load {type_}, ptr {pointer}, !invariant.load !0"))
    return Range(start, fields[0], fields[1], fields[2], window)


def touch(t: Text, found: Range, action: str) -> None:
    """Note that the window was read or written."""
    if found.window is None:
        return
    table = t.slot(Slot.TOUCHED, "ptr", invariant=True)
    index = t.op(f"shl i64 {found.window}, 1")
    for offset in {"load": (0,), "store": (1,), "atomic": (0, 1)}[action]:
        at = t.op(f"add i64 {index}, {offset}") if offset else index
        t.do(f"store i8 1, ptr {t.op(f'getelementptr i8, ptr {table}, i64 {at}')}")


def fault_code(t: Text, misaligned: str) -> str:
    """Bounds or misaligned, as an i64."""
    return t.op(f"select i1 {misaligned}, i64 {int(Fault.MISALIGNED)}, i64 {int(Fault.BOUNDS)}")


def record(t: Text, site: str, mask: str, array: str, base: str, stride: str, row: str) -> None:
    """Append one trace record; all i64 but site, mask, stride and row (i32)."""
    t.do(
        f"call fastcc void @record(ptr %ctx, i32 {site}, i32 {mask}, i64 {array}, i64 {base}, "
        f"i32 {stride}, i32 {row})"
    )


def scalar_load(kind: Kind, declarations: set[str]) -> str:
    """A load whose address is the same in all lanes."""
    t = Text(declarations)
    size = kind.lane_bytes
    found = find_range(t, kind, "%address")
    wide = "%address" if kind.address == "i64" else t.op("zext i32 %address to i64")
    relative = t.op(f"sub i64 {wide}, {found.start}")
    end = t.op(f"add i64 {relative}, {size}")
    inside = t.op(f"icmp ule i64 {end}, {found.size}")
    low = t.op(f"and i64 {relative}, {size - 1}")
    aligned = t.op(f"icmp eq i64 {low}, 0")
    t.do(f"br i1 {t.op(f'and i1 {inside}, {aligned}')}, label %good, label %bad, !prof !1")
    t.start("good")
    touch(t, found, "load")
    if kind.traced:
        _when_tracing(t, lambda: record(t, "%site", "%mask", found.array, relative, "0", "-1"))
    pointer = t.op(f"getelementptr i8, ptr {found.host}, i64 {relative}")
    _return(t, kind.scalar_result, load_elements(t, kind, pointer), kind.element)
    t.start("bad")
    t.do(
        f"call void @fault(ptr %ctx, i64 {fault_code(t, inside)}, i32 %site, i32 "
        f"{_first_lane(t, '%mask')}, i64 {wide})"
    )
    t.do(f"ret {kind.scalar_result} zeroinitializer")
    head = (
        f"define internal fastcc {kind.scalar_result} {kind.name}.one(ptr %ctx, {kind.address} "
        "%address, i32 %mask, i32 %site) alwaysinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])


def _first_lane(t: Text, mask: str) -> str:
    return t.call("i32", "llvm.cttz.i32", ("i32", mask), ("i1", "false"))


def load_elements(t: Text, kind: Kind, pointer: str) -> list[str]:
    values = []
    for n in range(kind.count):
        at = t.op(f"getelementptr i8, ptr {pointer}, i64 {n * kind.bits // 8}") if n else pointer
        values.append(t.op(f"load {kind.element}, ptr {at}, align {kind.bits // 8}"))
    return values


def _return(t: Text, result: str, values: list[str], one: str) -> None:
    """Return one value, or several as a struct."""
    if len(values) == 1:
        t.do(f"ret {result} {values[0]}")
        return
    whole = "poison"
    for n, value in enumerate(values):
        whole = t.op(f"insertvalue {result} {whole}, {one} {value}, {n}")
    t.do(f"ret {result} {whole}")


def _when_tracing(t: Text, emit: object) -> None:
    """Run ``emit`` in a branch taken while a traced block runs."""
    yes, on = t.label(), t.label()
    flag = t.op(f"icmp ne i64 {t.slot(Slot.TRACING)}, 0")
    t.do(f"br i1 {flag}, label %{yes}, label %{on}")
    t.start(yes)
    assert callable(emit)
    emit()
    t.do(f"br label %{on}")
    t.start(on)


class _Halves:
    """The test for two half warps of consecutive or equal addresses, and its two outcomes."""

    def __init__(self, t: Text, kind: Kind) -> None:
        self.t = t
        self.kind = kind
        a = kind.address
        self.high = t.op("lshr i32 %mask, 16")
        self.low = t.op("and i32 %mask, 65535")
        self.high_empty = t.op(f"icmp eq i32 {self.high}, 0")
        first = t.op("trunc i32 %mask to i1")
        upper_first = t.op(f"trunc i32 {self.high} to i1")
        upper = t.op(f"or i1 {upper_first}, {self.high_empty}")
        t.do(f"br i1 {t.op(f'and i1 {first}, {upper}')}, label %halves, label %general")
        t.start("halves")
        self.a0 = t.op(f"extractelement <32 x {a}> %address, i64 0")
        a16 = t.op(f"extractelement <32 x {a}> %address, i64 16")
        self.a16 = t.op(f"select i1 {self.high_empty}, {a} {self.a0}, {a} {a16}")
        pair = t.op(f"insertelement <32 x {a}> poison, {a} {self.a0}, i64 0")
        pair = t.op(f"insertelement <32 x {a}> {pair}, {a} {self.a16}, i64 1")
        indices = "<32 x i32> " + lanes([0] * 16 + [1] * 16)
        self.bases = t.op(f"shufflevector <32 x {a}> {pair}, <32 x {a}> poison, {indices}")
        steps = lanes([kind.lane_bytes * n for n in LOW_HALF * 2], a)
        expected = t.op(f"add <32 x {a}> {self.bases}, {steps}")
        self.inactive = t.op("xor i32 %mask, -1")
        self._fork(expected, "consecutive", "maybe.same")
        t.start("maybe.same")
        self._fork(self.bases, "same", "general")

    def _fork(self, expected: str, yes: str, no: str) -> None:
        t = self.t
        equal = t.op(f"icmp eq <32 x {self.kind.address}> %address, {expected}")
        bits = t.op(f"bitcast <32 x i1> {equal} to i32")
        all_ = t.op(f"or i32 {bits}, {self.inactive}")
        t.do(f"br i1 {t.op(f'icmp eq i32 {all_}, -1')}, label %{yes}, label %{no}")

    def relative(self, found: Range) -> tuple[str, str]:
        """Offsets of lanes 0 and 16 in the range, as i64."""
        t = self.t
        if self.kind.address == "i32":
            return t.op(f"zext i32 {self.a0} to i64"), t.op(f"zext i32 {self.a16} to i64")
        return (
            t.op(f"sub i64 {self.a0}, {found.start}"),
            t.op(f"sub i64 {self.a16}, {found.start}"),
        )

    def check(self, found: Range, at: tuple[str, str], step: int, good: str) -> None:
        """Branch to ``good`` if both halves are inside and aligned, else to the general case."""
        t = self.t
        size = self.kind.lane_bytes
        tests = []
        for offset, half in zip(at, (self.low, self.high), strict=True):
            span: str
            if step:
                leading = t.call("i32", "llvm.ctlz.i32", ("i32", half), ("i1", "false"))
                last = t.op(f"zext i32 {t.op(f'sub i32 31, {leading}')} to i64")
                if half == self.high:
                    last = t.op(f"select i1 {self.high_empty}, i64 0, i64 {last}")
                reach = t.op(f"mul i64 {last}, {step}")
                span = t.op(f"add i64 {reach}, {size}")
            else:
                span = str(size)
            # Both are far below 2**63, so this sum cannot wrap round.
            end = t.op(f"add i64 {offset}, {span}")
            tests.append(t.op(f"icmp ule i64 {end}, {found.size}"))
        either = t.op(f"or i64 {at[0]}, {at[1]}")
        low = t.op(f"and i64 {either}, {size - 1}")
        inside = t.op(f"and i1 {tests[0]}, {tests[1]}")
        fine = t.op(f"and i1 {inside}, {t.op(f'icmp eq i64 {low}, 0')}")
        t.do(f"br i1 {fine}, label %{good}, label %general, !prof !1")


def _trace_halves(t: Text, h: _Halves, found: Range, at: tuple[str, str], step: int) -> None:
    """A record of base and stride where the halves continue each other, else of all offsets."""

    def emit() -> None:
        affine, rows, on = t.label(), t.label(), t.label()
        follows = t.op(f"sub i64 {at[1]}, {at[0]}")
        one_line = t.op(f"icmp eq i64 {follows}, {16 * step}")
        whole = t.op(f"or i1 {one_line}, {h.high_empty}")
        t.do(f"br i1 {whole}, label %{affine}, label %{rows}")
        t.start(affine)
        record(t, "%site", "%mask", found.array, at[0], str(step), "-1")
        t.do(f"br label %{on}")
        t.start(rows)
        _record_row(t, h.kind, "%address", found)
        t.do(f"br label %{on}")
        t.start(on)

    _when_tracing(t, emit)


def _record_row(t: Text, kind: Kind, address: str, found: Range) -> None:
    start = found.start if kind.address == "i64" else "0"
    offsets = address
    if kind.address == "i32":
        offsets = t.op(f"zext <32 x i32> {address} to <32 x i64>")
    elif start != "0":
        offsets = t.op(f"sub <32 x i64> {address}, {t.splat('i64', start)}")
    t.do(
        f"call fastcc void @record.row(ptr %ctx, i32 %site, i32 %mask, i64 {found.array}, "
        f"<32 x i64> {offsets})"
    )


def _trace_general(t: Text, kind: Kind, relative: str, found: Range) -> None:
    """A record of any other access; ``relative`` are offsets as <32 x i64>."""
    _when_tracing(
        t,
        lambda: t.do(
            f"call fastcc void @record.general(ptr %ctx, i32 %site, i32 %mask, "
            f"i64 {found.array}, <32 x i64> {relative})"
        ),
    )


def _general_range(t: Text, kind: Kind) -> tuple[Range, str, str, str]:
    """Range of the first active lane, offsets, mask of good lanes | inactive ones, lane mask."""
    a = kind.address
    if kind.memory == "windowed":
        first = t.op(f"extractelement <32 x i64> %address, i32 {_first_lane(t, '%mask')}")
        found = find_range(t, kind, first)
        relative = t.op(f"sub <32 x i64> %address, {t.splat('i64', found.start)}")
        size = found.size
    else:
        found = find_range(t, kind, "")
        relative = "%address"
        size = t.op(f"trunc i64 {found.size} to i32")
    bytes_ = kind.lane_bytes
    # Too small a range takes the limit below zero, where nothing passes the signed test.
    limit = t.op(f"sub {a} {size}, {bytes_}")
    below = t.op(f"icmp sle <32 x {a}> {relative}, {t.splat(a, limit)}")
    positive = t.op(f"icmp sge <32 x {a}> {relative}, zeroinitializer")
    inside = t.op(f"and <32 x i1> {below}, {positive}")
    if bytes_ > 1:
        low = t.op(f"and <32 x {a}> {relative}, splat ({a} {bytes_ - 1})")
        aligned = t.op(f"icmp eq <32 x {a}> {low}, zeroinitializer")
        inside = t.op(f"and <32 x i1> {inside}, {aligned}")
    bits = t.op(f"bitcast <32 x i1> {inside} to i32")
    inactive = t.op("xor i32 %mask, -1")
    return found, relative, t.op(f"or i32 {bits}, {inactive}"), inactive


def _gather_index(t: Text, kind: Kind, relative: str, large: bool) -> tuple[str, str]:
    """(index type, index): 32 bits where no array is larger, since gathers by them are faster."""
    if kind.address == "i32" or large:
        return kind.address, relative
    return "i32", t.op(f"trunc <32 x i64> {relative} to <32 x i32>")


def _wide_offsets(t: Text, kind: Kind, relative: str) -> str:
    if kind.address == "i64":
        return relative
    return t.op(f"zext <32 x i32> {relative} to <32 x i64>")


def vector_load(kind: Kind, declarations: set[str], *, large: bool) -> str:
    """A load by 32 addresses."""
    t = Text(declarations)
    e, count = kind.element, kind.count
    h = _Halves(t, kind)
    t.start("consecutive")
    found = find_range(t, kind, h.a0)
    at = h.relative(found)
    h.check(found, at, kind.lane_bytes, "consecutive.good")
    t.start("consecutive.good")
    touch(t, found, "load")
    if kind.traced:
        _trace_halves(t, h, found, at, kind.lane_bytes)
    pointers = [t.op(f"getelementptr i8, ptr {found.host}, i64 {x}") for x in at]
    full = t.op("icmp eq i32 %mask, -1")
    t.do(f"br i1 {full}, label %full, label %partial")
    t.start("full")
    halves = [t.op(f"load <{16 * count} x {e}>, ptr {p}, align {kind.bits // 8}") for p in pointers]
    values = []
    for n in range(count):
        picks = [n + count * lane for lane in range(16)]
        picks += [16 * count + p for p in picks]
        values.append(
            t.op(
                f"shufflevector <{16 * count} x {e}> {halves[0]}, <{16 * count} x {e}> {halves[1]}, "
                f"<32 x i32> {lanes(picks)}"
            )
        )
    _return(t, kind.vector_result, values, f"<32 x {e}>")
    t.start("partial")
    if count == 1:
        pieces = []
        for pointer, half in zip(pointers, (h.low, h.high), strict=True):
            narrow = t.op(f"trunc i32 {half} to i16")
            flags = t.op(f"bitcast i16 {narrow} to <16 x i1>")
            pieces.append(
                t.call(
                    f"<16 x {e}>",
                    f"llvm.masked.load.v16{e}.p0",
                    ("ptr", pointer),
                    ("i32", str(kind.bits // 8)),
                    ("<16 x i1>", flags),
                    (f"<16 x {e}>", "zeroinitializer"),
                )
            )
        joined = t.op(f"shufflevector <16 x {e}> {pieces[0]}, <16 x {e}> {pieces[1]}, {ALL}")
        t.do(f"ret {kind.vector_result} {joined}")
    else:
        t.do("br label %general")
    t.start("same")
    found = find_range(t, kind, h.a0)
    at = h.relative(found)
    h.check(found, at, 0, "same.good")
    t.start("same.good")
    touch(t, found, "load")
    if kind.traced:
        _trace_halves(t, h, found, at, 0)
    low_high = [
        load_elements(t, kind, t.op(f"getelementptr i8, ptr {found.host}, i64 {x}")) for x in at
    ]
    values = []
    for low, high in zip(*low_high, strict=True):
        pair = t.op(f"insertelement <32 x {e}> poison, {e} {low}, i64 0")
        pair = t.op(f"insertelement <32 x {e}> {pair}, {e} {high}, i64 1")
        indices = "<32 x i32> " + lanes([0] * 16 + [1] * 16)
        values.append(t.op(f"shufflevector <32 x {e}> {pair}, <32 x {e}> poison, {indices}"))
    _return(t, kind.vector_result, values, f"<32 x {e}>")
    t.start("general")
    found, relative, good, _ = _general_range(t, kind)
    t.do(f"br i1 {t.op(f'icmp eq i32 {good}, -1')}, label %gather, label %lanes, !prof !1")
    t.start("gather")
    touch(t, found, "load")
    if kind.traced:
        _trace_general(t, kind, _wide_offsets(t, kind, relative), found)
    index_type, index = _gather_index(t, kind, relative, large)
    flags = t.op("bitcast i32 %mask to <32 x i1>")
    values = []
    for n in range(count):
        host = found.host
        if n:
            host = t.op(f"getelementptr i8, ptr {host}, i64 {n * kind.bits // 8}")
        pointers_ = t.op(f"getelementptr i8, ptr {host}, <32 x {index_type}> {index}")
        values.append(
            t.call(
                f"<32 x {e}>",
                f"llvm.masked.gather.v32{e}.v32p0",
                ("<32 x ptr>", pointers_),
                ("i32", str(kind.bits // 8)),
                ("<32 x i1>", flags),
                (f"<32 x {e}>", "zeroinitializer"),
            )
        )
    _return(t, kind.vector_result, values, f"<32 x {e}>")
    t.start("lanes")
    _lane_loop(t, kind, "load")
    head = (
        f"define internal fastcc {kind.vector_result} {kind.name}(ptr %ctx, <32 x {kind.address}> "
        "%address, i32 %mask, i32 %site) noinline #0 {"
    )
    return "\n".join([head, *t.lines, "}"])


def vector_store(kind: Kind, declarations: set[str], *, large: bool) -> str:
    """A store by 32 addresses; of lanes with the same address the highest one stays."""
    t = Text(declarations)
    e, count = kind.element, kind.count
    if count == 1:
        h = _Halves(t, kind)
        t.start("consecutive")
        found = find_range(t, kind, h.a0)
        at = h.relative(found)
        h.check(found, at, kind.lane_bytes, "consecutive.good")
        t.start("consecutive.good")
        touch(t, found, "store")
        if kind.traced:
            _trace_halves(t, h, found, at, kind.lane_bytes)
        pointers = [t.op(f"getelementptr i8, ptr {found.host}, i64 {x}") for x in at]
        pieces = []
        for start in (0, 16):
            picks = lanes(range(start, start + 16))
            pieces.append(
                t.op(f"shufflevector <32 x {e}> %value0, <32 x {e}> poison, <16 x i32> {picks}")
            )
        t.do(f"br i1 {t.op('icmp eq i32 %mask, -1')}, label %full, label %partial")
        t.start("full")
        for pointer, piece in zip(pointers, pieces, strict=True):
            t.do(f"store <16 x {e}> {piece}, ptr {pointer}, align {kind.bits // 8}")
        t.do("ret void")
        t.start("partial")
        for pointer, piece, half in zip(pointers, pieces, (h.low, h.high), strict=True):
            narrow = t.op(f"trunc i32 {half} to i16")
            flags = t.op(f"bitcast i16 {narrow} to <16 x i1>")
            name = f"llvm.masked.store.v16{e}.p0"
            t.declarations.add(f"declare void @{name}(<16 x {e}>, ptr, i32, <16 x i1>)")
            t.do(
                f"call void @{name}(<16 x {e}> {piece}, ptr {pointer}, i32 {kind.bits // 8}, "
                f"<16 x i1> {flags})"
            )
        t.do("ret void")
        t.start("same")
        t.do("br label %general")
    else:
        t.do("br label %general")
    t.start("general")
    found, relative, good, _ = _general_range(t, kind)
    t.do(f"br i1 {t.op(f'icmp eq i32 {good}, -1')}, label %scatter, label %lanes, !prof !1")
    t.start("scatter")
    touch(t, found, "store")
    if kind.traced:
        _trace_general(t, kind, _wide_offsets(t, kind, relative), found)
    index_type, index = _gather_index(t, kind, relative, large)
    flags = t.op("bitcast i32 %mask to <32 x i1>")
    for n in range(count):
        host = found.host
        if n:
            host = t.op(f"getelementptr i8, ptr {host}, i64 {n * kind.bits // 8}")
        pointers_ = t.op(f"getelementptr i8, ptr {host}, <32 x {index_type}> {index}")
        name = f"llvm.masked.scatter.v32{e}.v32p0"
        t.declarations.add(f"declare void @{name}(<32 x {e}>, <32 x ptr>, i32, <32 x i1>)")
        t.do(
            f"call void @{name}(<32 x {e}> %value{n}, <32 x ptr> {pointers_}, "
            f"i32 {kind.bits // 8}, <32 x i1> {flags})"
        )
    t.do("ret void")
    t.start("lanes")
    _lane_loop(t, kind, "store")
    values = ", ".join(f"<32 x {e}> %value{n}" for n in range(count))
    head = (
        f"define internal fastcc void {kind.name}(ptr %ctx, <32 x {kind.address}> %address, "
        f"i32 %mask, i32 %site, {values}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def _lane_loop(t: Text, kind: Kind, action: str) -> None:
    """One lane after another: pointers into several windows, and whatever is out of bounds."""
    e, a = kind.element, kind.address
    entry = t.label()
    t.do(f"br label %{entry}")
    t.start(entry)
    addresses = t.stack(f"<32 x {a}>")
    t.do(f"store <32 x {a}> %address, ptr {addresses}")
    values = [t.stack(f"<32 x {e}>") for _ in range(kind.count)]
    for n, place in enumerate(values):
        start = "zeroinitializer" if action == "load" else f"%value{n}"
        t.do(f"store <32 x {e}> {start}, ptr {place}")
    head, body, on, out = t.label(), t.label(), t.label(), t.label()
    t.do(f"br label %{head}")
    t.start(head)
    left_name, next_name = t.name(), t.name()
    t.do(f"{left_name} = phi i32 [ %mask, %{entry} ], [ {next_name}, %{on} ]")
    t.do(f"br i1 {t.op(f'icmp eq i32 {left_name}, 0')}, label %{out}, label %{body}")
    t.start(body)
    lane = _first_lane(t, left_name)
    address = t.op(f"load {a}, ptr {t.op(f'getelementptr {a}, ptr {addresses}, i32 {lane}')}")
    pointer = lane_pointer(t, kind, action, address, lane, on)
    for n, place in enumerate(values):
        at = t.op(f"getelementptr i8, ptr {pointer}, i64 {n * kind.bits // 8}") if n else pointer
        slot = t.op(f"getelementptr {e}, ptr {place}, i32 {lane}")
        source, target = (at, slot) if action == "load" else (slot, at)
        value = t.op(f"load {e}, ptr {source}, align {kind.bits // 8}")
        t.do(f"store {e} {value}, ptr {target}, align {kind.bits // 8}")
    t.do(f"br label %{on}")
    t.start(on)
    t.do(f"{next_name} = and i32 {left_name}, {t.op(f'sub i32 {left_name}, 1')}")
    t.do(f"br label %{head}")
    t.start(out)
    if action == "load":
        results = [t.op(f"load <32 x {e}>, ptr {place}") for place in values]
        _return(t, kind.vector_result, results, f"<32 x {e}>")
    else:
        t.do("ret void")


def lane_pointer(
    t: Text, kind: Kind, action: str, address: str, lane: str, skip: str, *, trace: bool = True
) -> str:
    """Host pointer of one lane's access; a bad one is reported and goes to label ``skip``.

    Accesses made lane by lane are traced as accesses of one lane each.
    """
    size = kind.lane_bytes
    wide = address if kind.address == "i64" else t.op(f"zext i32 {address} to i64")
    if kind.memory == "local":
        found = _own_local(t, lane)
        relative = wide
    else:
        found = find_range(t, kind, address)
        relative = t.op(f"sub i64 {wide}, {found.start}")
    if kind.memory == "windowed":
        found = _or_local(t, found, lane)
    good, bad = t.label(), t.label()
    end = t.op(f"add i64 {relative}, {size}")
    inside = t.op(f"icmp ule i64 {end}, {found.size}")
    aligned = t.op(f"icmp eq i64 {t.op(f'and i64 {relative}, {size - 1}')}, 0")
    t.do(f"br i1 {t.op(f'and i1 {inside}, {aligned}')}, label %{good}, label %{bad}, !prof !1")
    t.start(bad)
    t.do(
        f"call void @fault(ptr %ctx, i64 {fault_code(t, inside)}, i32 %site, i32 {lane}, i64 {wide})"
    )
    t.do(f"br label %{skip}")
    t.start(good)
    touch(t, found, action)
    if kind.traced and trace:
        bit = t.op(f"shl i32 1, {lane}")
        _when_tracing(t, lambda: record(t, "%site", bit, found.array, relative, "0", "-1"))
    return t.op(f"getelementptr i8, ptr {found.host}, i64 {relative}")


def _own_local(t: Text, lane: str) -> Range:
    """A lane's own local memory."""
    size = t.slot(Slot.LOCAL_BYTES, invariant=True)
    first = t.slot(Slot.LOCAL, "ptr")
    start = t.op(f"mul i64 {t.op(f'zext i32 {lane} to i64')}, {size}")
    return Range("0", size, t.op(f"getelementptr i8, ptr {first}, i64 {start}"), "-1", None)


def _or_local(t: Text, found: Range, lane: str) -> Range:
    """``found``, or the lane's local memory where a generic address points there.

    The window of local memory has no bytes in the table, so that only this way leads into it: the
    same generic address is another place in each lane.
    """
    own = _own_local(t, lane)
    local = t.op(f"icmp eq i64 {found.window}, {WINDOW_OF_SPACE['local']}")
    return Range(
        found.start,
        t.op(f"select i1 {local}, i64 {own.size}, i64 {found.size}"),
        t.op(f"select i1 {local}, ptr {own.host}, ptr {found.host}"),
        found.array,
        found.window,
    )


def local_access(kind: Kind, declarations: set[str]) -> str:
    """Loads and stores of local memory, where each lane has its own copy of every address."""
    t = Text(declarations)
    if kind.traced:
        found = Range("0", "0", "null", "-1", None)
        _trace_general(t, kind, _wide_offsets(t, kind, "%address"), found)
    quiet = Kind(kind.action, "local", kind.bits, kind.count, traced=False)
    _lane_loop(t, quiet, kind.action)
    values = ""
    if kind.action == "store":
        values = "".join(f", <32 x {kind.element}> %value{n}" for n in range(kind.count))
    result = kind.vector_result if kind.action == "load" else "void"
    head = (
        f"define internal fastcc {result} {kind.name}(ptr %ctx, <32 x i32> %address, "
        f"i32 %mask, i32 %site{values}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])
