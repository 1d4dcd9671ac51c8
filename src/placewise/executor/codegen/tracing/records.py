"""Trace records, written by the code that makes the accesses.

A record is 32 bytes (:data:`placewise.executor.device_memory.address_space.TRACE_RECORD`): two
addresses, and four words that are mostly constants of the site. The block, warp and phase of
records are written once for each run of them, whenever a warp begins or goes on. A buffer counts as
full a few hundred records before its end, so that a basic block has to check only once whether
there is room, and its accesses write their records without a call or a branch. The pointer to the
next record is kept in a register (``%rec``) within a block, and in the context between blocks and
for helpers.
"""

from __future__ import annotations

from placewise.executor.codegen.backend.processor import Processor
from placewise.executor.codegen.text import Text, lanes
from placewise.executor.device_memory.address_space import TRACE_RECORD, TRACE_RUN, Slot

UNCHECKED = 128
"""Most records that a basic block writes between two checks of the room that is left."""

_BYTES = TRACE_RECORD.itemsize
_LANES = lanes(list(range(16)) * 2)
_HALVES = lanes([0] * 16 + [1] * 16)
_FIRST = "<32 x i32> zeroinitializer"


def _field(t: Text, record: str, name: str) -> str:
    assert TRACE_RECORD.fields is not None
    offset = TRACE_RECORD.fields[name][1]
    return t.beyond(record, offset)


def _write(
    t: Text, record: str, site: str, mask: str, at: tuple[str, str], stride: str, row: str
) -> None:
    """Fill a record; ``at`` are device addresses (i64), site, mask, stride and row i32."""
    for name, value in zip(("base", "upper"), at, strict=True):
        t.do(f"store i64 {value}, ptr {_field(t, record, name)}, align 8")
    words = (site, stride, row, mask)
    known = ", ".join(f"i32 {'poison' if w.startswith('%') else w}" for w in words)
    four = f"<{known}>"
    for n, word in enumerate(words):
        if word.startswith("%"):
            four = t.op(f"insertelement <4 x i32> {four}, i32 {word}, i64 {n}")
    t.do(f"store <4 x i32> {four}, ptr {_field(t, record, 'site')}, align 8")


def _make_room(t: Text, next_slot: Slot, limit_slot: Slot) -> str:
    """Hand the buffer over if it is full; returns where to write next."""
    before, flush, on = t.label(), t.label(), t.label()
    t.do(f"br label %{before}")
    t.start(before)
    place = t.slot(next_slot, "ptr")
    full = t.op(f"icmp uge ptr {place}, {t.slot(limit_slot, 'ptr')}")
    t.do(f"br i1 {full}, label %{flush}, label %{on}, !prof !2")
    t.start(flush)
    t.do("call void @flush(ptr %ctx)")
    again = t.slot(next_slot, "ptr")
    t.do(f"br label %{on}")
    t.start(on)
    return t.op(f"phi ptr [ {place}, %{before} ], [ {again}, %{flush} ]")


def _row_number(t: Text, place: str, shift: int) -> str:
    """Number (i64) of the offset at ``place``, of ``1 << shift`` bytes, in the buffer of rows."""
    before = t.op(f"sub i64 {t.op(f'ptrtoint ptr {place} to i64')}, {t.slot(Slot.ROWS)}")
    return t.op(f"lshr i64 {before}, {shift}")


def _go_past(t: Text, record: str) -> None:
    """Emit that the next record comes after this one."""
    t.set_slot(Slot.RECORD, t.op(f"getelementptr i8, ptr {record}, i64 {_BYTES}"), "ptr")


# --- in the warp function


def declare(t: Text) -> None:
    """Emit, at the start of a warp function, that the records to come are this warp's, in its
    present phase."""
    t.do("%rec = alloca ptr")
    record = t.slot(Slot.RECORD, "ptr")
    bytes_ = t.op(f"sub i64 {t.op(f'ptrtoint ptr {record} to i64')}, {t.slot(Slot.RECORDS)}")
    first = t.op(f"trunc i64 {t.op(f'lshr i64 {bytes_}, {_BYTES.bit_length() - 1}')} to i32")
    last = t.slot(Slot.RUN, "ptr")
    # A run without records gives way to this one.
    used = t.op(f"icmp ne i32 {t.op(f'load i32, ptr {last}')}, {first}")
    run = t.op(f"getelementptr i8, ptr {last}, i64 {t.op(f'select i1 {used}, i64 16, i64 0')}")
    _open_run(t, run, first)


def _open_run(t: Text, run: str, first: str) -> None:
    who = t.slot(Slot.IDENTITY, "<4 x i32>")
    t.do(
        f"store <4 x i32> {t.op(f'insertelement <4 x i32> {who}, i32 {first}, i64 0')}, "
        f"ptr {run}, align 8"
    )
    t.set_slot(Slot.RUN, run, "ptr")


def begin(t: Text) -> None:
    """Emit the check of the buffer's room at the start of a basic block that records, and again
    within long ones."""
    t.do(f"store ptr {_make_room(t, Slot.RECORD, Slot.RECORD_LIMIT)}, ptr %rec")


def begin_rows(t: Text) -> None:
    """Make room for up to :data:`UNCHECKED` rows of offsets, for accesses of a few lanes."""
    _make_room(t, Slot.ROW, Slot.ROW_LIMIT)
    begin(t)


def give_back(t: Text) -> None:
    """Store the pointer to the next record in the context, for a helper or another basic block."""
    t.set_slot(Slot.RECORD, t.op("load ptr, ptr %rec"), "ptr")


def take_over(t: Text) -> None:
    """Read the pointer to the next record from the context, after a helper may have recorded."""
    t.do(f"store ptr {t.slot(Slot.RECORD, 'ptr')}, ptr %rec")


def write_line(t: Text, site: int, ends: str, further: int, stride: int) -> None:
    """Record a full warp of two affine halves, without a check of the room. ``ends`` is a vector
    of four i64: the addresses of lanes 0 and 16 less ``further``, and two zeros, so that one
    addition makes the whole record."""
    words = lanes([further, further, stride << 32 | site, -1], "i64")
    t.do(f"store <4 x i64> {t.op(f'add <4 x i64> {ends}, {words}')}, ptr {take(t)}, align 8")


def write_row(
    t: Text, site: int, mask: str, address: str, offsets: str, count: str, *, large: bool
) -> None:
    """Record the offsets of ``count`` active lanes (i64), the first of which is at ``address``.

    ``offsets`` is a vector that begins with these. It is written without a check of the room.
    """
    kept = "i64" if large else "i32"
    place = t.slot(Slot.ROW, "ptr")
    t.do(f"store {t.wide(kept)} {offsets}, ptr {place}, align 4")
    t.set_slot(Slot.ROW, t.op(f"getelementptr {kept}, ptr {place}, i64 {count}"), "ptr")
    row = t.op(f"trunc i64 {_row_number(t, place, 3 if large else 2)} to i32")
    _write(t, take(t), str(site), mask, (address, address), "0", row)


def twice(t: Text, address: str) -> str:
    """An address (i64) as the first two words of a record, the others zero."""
    one = t.op(f"insertelement <4 x i64> zeroinitializer, i64 {address}, i64 0")
    return t.op(f"insertelement <4 x i64> {one}, i64 {address}, i64 1")


class Rows:
    """Records of accesses of the ``count`` (i64) lanes in ``mask``, one after another, each with a
    row of offsets; written without a check of the room."""

    def __init__(self, t: Text, mask: str, count: str, *, large: bool) -> None:
        self._t = t
        self._offset, shift = ("i64", 3) if large else ("i32", 2)
        self._count = count
        self._bytes = t.op(f"shl i64 {count}, {shift}")
        self._row = t.slot(Slot.ROW, "ptr")
        before = t.op(f"sub i64 {t.op(f'ptrtoint ptr {self._row} to i64')}, {t.slot(Slot.ROWS)}")
        high = t.op(f"shl i64 {t.op(f'zext i32 {mask} to i64')}, 32")
        last = t.op(f"or i64 {t.op(f'lshr i64 {before}, {shift}')}, {high}")
        first = t.op(f"insertelement <4 x i64> zeroinitializer, i64 {last}, i64 3")
        self._written = 0
        self._before: dict[int, tuple[str, int, int, int]] = {-1: (first, 0, 0, 0)}
        """By group of accesses (-1: records without address): the last record, its site, its
        number, and what is added to its offsets."""
        self._steps: dict[tuple[int, int, int], str] = {}

    def write(
        self, site: int, group: int, start: str, offsets: str, further: int, widths: tuple[int, ...]
    ) -> None:
        """Record an access of the lanes, whose offsets are those at the pointer ``offsets``, the
        ones of its ``group`` of accesses, plus ``further``. They count from the address in
        ``start`` (made by :func:`twice`), and are copied by vectors of these widths; what the last
        one copies beyond the last lane is overwritten by the next row."""
        t, e = self._t, self._offset
        size, at, first = 4 if e == "i32" else 8, 0, ""
        for width in widths:
            v = f"<{width} x {e}>"
            source, target = (
                t.op(f"getelementptr i8, ptr {x}, i64 {at * size}") for x in (offsets, self._row)
            )
            value = t.op(f"load {v}, ptr {source}, align {width * size}")
            if further:
                value = t.op(f"add {v} {value}, splat ({e} {further})")
            t.do(f"store {v} {value}, ptr {target}, align 4")
            first = first or value
            at += width
        if group in self._before:
            whole = self._next(group, site, further)
        else:
            n = widths[0]
            picks = [0, n, 0, n, n, n, n, n] if e == "i32" else [0, 0, n, n]
            v = f"<{n} x {e}>"
            whole = t.op(
                f"shufflevector {v} {first}, {v} zeroinitializer, "
                f"<{len(picks)} x i32> {lanes(picks)}"
            )
            if e == "i32":
                whole = t.op(f"bitcast <8 x i32> {whole} to <4 x i64>")
            whole = t.op(f"add <4 x i64> {whole}, {start}")
            whole = t.op(f"add <4 x i64> {whole}, {self._next(-1, site, 0)}")
            self._before[group] = (whole, site, self._written, further)
        t.do(f"store <4 x i64> {whole}, ptr {take(t)}, align 8")
        self._row = t.op(f"getelementptr i8, ptr {self._row}, i64 {self._bytes}")
        self._written += 1

    def _next(self, group: int, site: int, further: int) -> str:
        """The record to be written, made of the last one of its group."""
        t = self._t
        whole, last_site, number, before = self._before[group]
        step = further - before, site - last_site, self._written - number
        if step not in self._steps:
            by = f"<i64 {step[0]}, i64 {step[0]}, i64 {step[1]}, i64 0>"
            rows = t.op(f"mul i64 {self._count}, {step[2]}")
            self._steps[step] = t.op(f"insertelement <4 x i64> {by}, i64 {rows}, i64 3")
        whole = t.op(f"add <4 x i64> {whole}, {self._steps[step]}")
        self._before[group] = whole, site, self._written, further
        return whole

    def finish(self) -> None:
        """Emit that the next records and rows come after these."""
        self._t.set_slot(Slot.ROW, self._row, "ptr")
        give_back(self._t)


def take(t: Text) -> str:
    """Pointer to a record that is to be written at once."""
    record = t.op("load ptr, ptr %rec")
    t.do(f"store ptr {t.op(f'getelementptr i8, ptr {record}, i64 {_BYTES}')}, ptr %rec")
    return record


def words_of(t: Text, mask: str) -> str:
    """The last four words of a record, with the mask (i32) and zeros for the constants."""
    return t.op(f"insertelement <4 x i32> zeroinitializer, i32 {mask}, i64 3")


def same_place(t: Text, site: int, words: str) -> str:
    """The last four words of the record of an access whose lanes have one address, made from those
    of :func:`words_of`."""
    return t.op(f"or <4 x i32> {words}, {lanes([site, 0, -1, 0])}")


def write_there(t: Text, address: str) -> None:
    """Fill the record at ``%record``, a parameter of an inlined helper: one address for all lanes,
    and its parameter ``%words``."""
    for name in ("base", "upper"):
        t.do(f"store i64 {address}, ptr {_field(t, '%record', name)}, align 8")
    t.do(f"store <4 x i32> %words, ptr {_field(t, '%record', 'site')}, align 8")


# --- in helpers, whose parameters are %ctx, %mask and %site


def append(t: Text, at: tuple[str, str], stride: int, mask: str = "%mask") -> None:
    """Record two affine half warps that start ``at`` these addresses (i64)."""
    record = _make_room(t, Slot.RECORD, Slot.RECORD_LIMIT)
    _write(t, record, "%site", mask, at, str(stride), "-1")
    _go_past(t, record)


def append_any(t: Text, start: str, offsets: str, type_: str) -> None:
    """Record an access by its 32 offsets, of LLVM type ``type_``, from address ``start``."""
    t.do(
        f"call fastcc void @record.general.{type_}(ptr %ctx, i32 %site, i32 %mask, i64 {start}, "
        f"<32 x {type_}> {offsets})"
    )


def functions(declarations: set[str], processor: Processor, *, large: bool) -> str:
    """The writers of records with offsets, which are kept in 64 bits where arrays are ``large``."""
    writers = [_general(declarations, processor, given, large) for given in ("i32", "i64")]
    return "\n".join([_flush_function(), *writers])


def _flush_function() -> str:
    """``@flush(ctx)``: hand the buffer over, to compiled code where there is some that takes it."""
    t = Text(set())
    t.do("br label %head")
    t.start("head")
    taker = t.slot(Slot.TAKE, "ptr")
    stop = t.op(f"load volatile i64, ptr {t.slot_pointer(Slot.STOP)}")
    own = t.op(f"icmp ne ptr {taker}, null")
    goes_on = t.op(f"icmp eq i64 {stop}, 0")
    t.do(f"br i1 {t.op(f'and i1 {own}, {goes_on}')}, label %take, label %ask")
    t.start("take")
    listed = [("i64", t.slot(Slot.TAKE_STATE))]
    for start, next_, bytes_ in (
        (Slot.RECORDS, Slot.RECORD, _BYTES),
        (Slot.RUNS, Slot.RUN, TRACE_RUN.itemsize),
        (Slot.ROWS, Slot.ROW, 0),
    ):
        first = t.slot(start)
        used = t.op(f"sub i64 {t.slot(next_)}, {first}")
        if bytes_:
            count = t.op(f"lshr i64 {used}, {bytes_.bit_length() - 1}")
        else:
            count = t.op(f"lshr i64 {used}, {t.slot(Slot.OFFSET_SHIFT)}")
        if start == Slot.RUNS:
            count = t.op(f"add i64 {count}, 1")
        listed += [("i64", first), ("i64", count)]
    status = t.op(f"call i64 {taker}({', '.join(f'{a} {b}' for a, b in listed)})")
    t.do(f"br i1 {t.op(f'icmp eq i64 {status}, 0')}, label %taken, label %refused")
    t.start("taken")
    t.set_slot(Slot.RECORD, t.slot(Slot.RECORDS))
    t.set_slot(Slot.ROW, t.slot(Slot.ROWS))
    _open_run(t, t.slot(Slot.RUNS, "ptr"), "0")
    t.do("ret void")
    t.start("refused")
    _ask(t)
    t.do("br label %head")
    t.start("ask")
    _ask(t)
    _open_run(t, t.slot(Slot.RUNS, "ptr"), "0")
    t.do("ret void")
    head = "define internal void @flush(ptr %ctx) cold noinline #0 {"
    return "\n".join([head, *t.lines, "}"])


def _ask(t: Text) -> None:
    """Emit the call of Python that hands the buffer over."""
    function, own = t.slot(Slot.FLUSH, "ptr"), t.slot(Slot.SELF)
    t.do(f"call void {function}(i64 {own})")


# Long because it is one LLVM function as text, read from top to bottom.
def _general(declarations: set[str], processor: Processor, given: str, large: bool) -> str:
    """``@record.general.TYPE``: an affine record if the lanes of each half are on a line, else a
    row of the active lanes' offsets."""
    t = Text(declarations)
    kept = "i64" if large else "i32"
    offsets = "%offsets"
    if given != kept:
        step = "sext" if given == "i32" else "trunc"
        offsets = t.op(f"{step} <32 x {given}> %offsets to <32 x {kept}>")
    v = f"<32 x {kept}>"
    high = t.op("lshr i32 %mask, 16")
    none = t.op(f"icmp eq i32 {high}, 0")
    two = t.op(f"icmp eq i32 {t.op('and i32 %mask, 3')}, 3")
    known = t.op(f"or i1 {t.op(f'trunc i32 {high} to i1')}, {none}")
    t.do(f"br i1 {t.op(f'and i1 {two}, {known}')}, label %test, label %row")
    t.start("test")
    a, b, c = (t.op(f"extractelement {v} {offsets}, i64 {lane}") for lane in (0, 1, 16))
    wide = [a, b, c]
    if kept == "i32":
        wide = [t.op(f"sext i32 {x} to i64") for x in wide]
    step = t.op(f"sub i64 {wide[1]}, {wide[0]}")
    # A column of 32 bits holds the stride, and its products by 15 must not wrap.
    small = t.op(f"icmp ult i64 {t.op(f'add i64 {step}, {1 << 26}')}, {1 << 27}")
    follows = t.op(f"add i64 {wide[0]}, {t.op(f'shl i64 {step}, 4')}")
    upper = t.op(f"select i1 {none}, i64 {follows}, i64 {wide[2]}")
    starts = [wide[0], upper]
    short = step
    if kept == "i32":
        starts = [t.op(f"trunc i64 {x} to i32") for x in starts]
        short = t.op(f"trunc i64 {step} to i32")
    pair = t.op(f"insertelement {v} poison, {kept} {starts[0]}, i64 0")
    pair = t.op(f"insertelement {v} {pair}, {kept} {starts[1]}, i64 1")
    bases = t.op(f"shufflevector {v} {pair}, {v} poison, <32 x i32> {_HALVES}")
    ramp = t.op(f"mul {v} {t.splat(kept, short)}, {_LANES.replace('i32', kept)}")
    expected = t.op(f"add {v} {bases}, {ramp}")
    equal = t.op(f"bitcast <32 x i1> {t.op(f'icmp eq {v} {expected}, {offsets}')} to i32")
    inactive = t.op("xor i32 %mask, -1")
    every = t.op(f"icmp eq i32 {t.op(f'or i32 {equal}, {inactive}')}, -1")
    t.do(f"br i1 {t.op(f'and i1 {every}, {small}')}, label %line, label %row")
    t.start("line")
    record = _make_room(t, Slot.RECORD, Slot.RECORD_LIMIT)
    stride = t.op(f"trunc i64 {step} to i32")
    at = [t.op(f"add i64 {x}, %start") for x in (wide[0], upper)]
    _write(t, record, "%site", "%mask", (at[0], at[1]), stride, "-1")
    _go_past(t, record)
    t.do("ret void")
    t.start("row")
    _make_room(t, Slot.ROW, Slot.ROW_LIMIT)
    record = _make_room(t, Slot.RECORD, Slot.RECORD_LIMIT)
    # Both buffers may have been handed over by the second check of the room.
    place = t.slot(Slot.ROW, "ptr")
    lane = t.call("i32", "llvm.cttz.i32", ("i32", "%mask"), ("i1", "false"))
    first = t.op(f"extractelement {v} {offsets}, i32 {lane}")
    count = t.call("i32", "llvm.ctpop.i32", ("i32", "%mask"))
    if processor.avx512 and kept == "i32":
        _pack(t, place, offsets)
    else:
        _pack_lanewise(t, place, offsets, kept)
    t.set_slot(Slot.ROW, t.op(f"getelementptr {kept}, ptr {place}, i32 {count}"), "ptr")
    row = t.op(f"trunc i64 {_row_number(t, place, 3 if large else 2)} to i32")
    base = first if large else t.op(f"sext i32 {first} to i64")
    base = t.op(f"add i64 {base}, %start")
    _write(t, record, "%site", "%mask", (base, base), "0", row)
    _go_past(t, record)
    t.do("ret void")
    head = (
        f"define internal fastcc void @record.general.{given}(ptr %ctx, i32 %site, i32 %mask, "
        f"i64 %start, <32 x {given}> %offsets) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def _pack(t: Text, place: str, offsets: str) -> None:
    """Store the active lanes' 32-bit offsets one after another; what follows them is undefined."""
    h = "<16 x i32>"
    low = t.op("trunc i32 %mask to i16")
    for start, mask in ((0, low), (16, t.op(f"trunc i32 {t.op('lshr i32 %mask, 16')} to i16"))):
        picks = lanes(range(start, start + 16))
        half = t.op(f"shufflevector <32 x i32> {offsets}, <32 x i32> poison, <16 x i32> {picks}")
        flags = "<16 x i1>", t.op(f"bitcast i16 {mask} to <16 x i1>")
        given = h, half
        packed = t.call(h, "llvm.x86.avx512.mask.compress.v16i32", given, given, flags)
        t.do(f"store {h} {packed}, ptr {place}, align 4")
        if start == 0:
            lower = t.call("i16", "llvm.ctpop.i16", ("i16", low))
            place = t.op(f"getelementptr i32, ptr {place}, i16 {lower}")


def _pack_lanewise(t: Text, place: str, offsets: str, type_: str) -> None:
    """Pack the active lanes' offsets one lane after another."""
    aside = t.stack(f"<32 x {type_}>")
    t.do(f"store <32 x {type_}> {offsets}, ptr {aside}")
    before, head, body, out = t.label(), t.label(), t.label(), t.label()
    t.do(f"br label %{before}")
    t.start(before)
    t.do(f"br label %{head}")
    t.start(head)
    left, rest, at, after = t.name(), t.name(), t.name(), t.name()
    t.do(f"{left} = phi i32 [ %mask, %{before} ], [ {rest}, %{body} ]")
    t.do(f"{at} = phi ptr [ {place}, %{before} ], [ {after}, %{body} ]")
    t.do(f"br i1 {t.op(f'icmp eq i32 {left}, 0')}, label %{out}, label %{body}")
    t.start(body)
    lane = t.call("i32", "llvm.cttz.i32", ("i32", left), ("i1", "true"))
    one = t.op(f"load {type_}, ptr {t.op(f'getelementptr {type_}, ptr {aside}, i32 {lane}')}")
    t.do(f"store {type_} {one}, ptr {at}, align 4")
    t.do(f"{rest} = and i32 {left}, {t.op(f'sub i32 {left}, 1')}")
    t.do(f"{after} = getelementptr {type_}, ptr {at}, i64 1")
    t.do(f"br label %{head}")
    t.start(out)
