"""The helper that serves texture reads and surface accesses: it asks the compiled sampler."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.codegen.accesses.access import Range, first_lane, touch
from placewise.executor.codegen.text import Text, vector
from placewise.executor.device_memory.address_space import (
    WINDOW_SHIFT,
    WINDOW_TEXTURE,
    WINDOW_WORDS,
    WINDOWS,
    Fault,
    Slot,
)
from placewise.executor.texture.texture_request import TEXELS

_WORD = vector("i32")


@dataclass(frozen=True)
class Reader:
    """What one helper serves: texture reads, or surface accesses of one width."""

    action: str
    """texture, load or store."""
    bits: int
    count: int
    traced: bool

    @property
    def name(self) -> str:
        trace = ".t" if self.traced else ""
        return f"@surface.{self.action}.{self.bits}x{self.count}{trace}"

    @property
    def result(self) -> str:
        if self.action == "store":
            return "void"
        return "{ " + ", ".join([f"<32 x i{self.bits}>"] * self.count) + " }"


# Long because it is one LLVM function as text, read from top to bottom.
def reader_function(reader: Reader, declarations: set[str]) -> str:
    """A helper: one call of the sampler for each object that lanes of the warp name."""
    t = Text(declarations)
    texture = reader.action == "texture"
    e, count, texels = f"i{reader.bits}", reader.count, TEXELS if texture else 1
    coordinates = t.stack(f"[4 x {_WORD}]")
    values = t.stack(f"[{count} x <32 x {e}>]")
    offsets = t.stack(f"[{texels} x <32 x i64>]")
    masks = t.stack(f"[{texels} x i32]")
    handles = t.stack("<32 x i64>")
    t.do(f"store <32 x i64> %handle, ptr {handles}")
    for n in range(4):
        at = t.op(f"getelementptr {_WORD}, ptr {coordinates}, i64 {n}")
        t.do(f"store {_WORD} %c{n}, ptr {at}")
    for n in range(count):
        at = t.op(f"getelementptr <32 x {e}>, ptr {values}, i64 {n}")
        given = f"%value{n}" if reader.action == "store" else "zeroinitializer"
        t.do(f"store <32 x {e}> {given}, ptr {at}")
    t.do("br label %start")
    t.start("start")
    t.do("br label %head")
    t.start("head")
    t.do("%left = phi i32 [ %mask, %start ], [ %rest, %on ]")
    t.do(f"br i1 {t.op('icmp eq i32 %left, 0')}, label %out, label %body")
    t.start("body")
    lane = first_lane(t, "%left")
    handle = t.op(f"load i64, ptr {t.op(f'getelementptr i64, ptr {handles}, i32 {lane}')}")
    same = t.op(f"icmp eq <32 x i64> %handle, {t.splat('i64', handle)}")
    group = t.op(f"and i32 {t.op(f'bitcast <32 x i1> {same} to i32')}, %left")
    t.do(f"%rest = and i32 %left, {t.op(f'xor i32 {group}, -1')}")
    found, words = _object(t, handle)
    t.do(f"br i1 {t.op(f'icmp ne ptr {words}, null')}, label %known, label %bad, !prof !1")
    t.start("known")
    slot = Slot.READ_TEXTURE if texture else Slot.ACCESS_SURFACE
    function = t.slot(slot, "ptr", invariant=True)
    status = t.op(
        f"call i64 {function}(ptr {words}, ptr {found.host}, ptr {coordinates}, i32 {group}, "
        f"i64 %request, ptr {values}, ptr {offsets}, ptr {masks})"
    )
    fine = t.op(f"icmp sge i64 {status}, 0") if texture else t.op(f"icmp eq i64 {status}, 0")
    t.do(f"br i1 {fine}, label %good, label %refused, !prof !1")
    t.start("good")
    touch(t, found, "store" if reader.action == "store" else "load")
    if reader.traced:
        _trace(t, found, offsets, masks, status if texture else "1")
    t.do("br label %on")
    t.start("refused")
    _refuse(t, handle, status, lane, texture=texture)
    t.do("br label %on")
    t.start("bad")
    t.do(
        f"call void @fault(ptr %ctx, i64 {int(Fault.NO_TEXTURE)}, i32 %site, i32 {lane}, "
        f"i64 {handle})"
    )
    t.do("br label %on")
    t.start("on")
    t.do("br label %head")
    t.start("out")
    if reader.action == "store":
        t.do("ret void")
    else:
        whole = "poison"
        for n in range(count):
            at = t.op(f"getelementptr <32 x {e}>, ptr {values}, i64 {n}")
            value = t.op(f"load <32 x {e}>, ptr {at}")
            whole = t.op(f"insertvalue {reader.result} {whole}, <32 x {e}> {value}, {n}")
        t.do(f"ret {reader.result} {whole}")
    given = "".join(f", <32 x {e}> %value{n}" for n in range(count))
    head = (
        f"define internal fastcc {reader.result} {reader.name}(ptr %ctx, <32 x i64> %handle, "
        f"{', '.join(f'{_WORD} %c{n}' for n in range(4))}, i32 %mask, i32 %site, i64 %request"
        f"{given if reader.action == 'store' else ''}) noinline #0 {{"
    )
    return "\n".join([head, *t.lines, "}"])


def _object(t: Text, handle: str) -> tuple[Range, str]:
    """The window of a handle's object, and its texture words: null unless there is such an
    object."""
    number = t.op(f"lshr i64 {handle}, {WINDOW_SHIFT}")
    window = t.op(f"and i64 {number}, {WINDOWS - 1}")
    table = t.slot(Slot.WINDOWS, "ptr", invariant=True)
    entry = t.op(f"getelementptr [{WINDOW_WORDS} x i64], ptr {table}, i64 {window}")
    start = t.op(f"load i64, ptr {entry}, !invariant.load !0")
    fields = []
    for n, type_ in ((1, "i64"), (2, "ptr"), (WINDOW_TEXTURE, "ptr")):
        pointer = t.op(f"getelementptr i64, ptr {entry}, i64 {n}")
        fields.append(t.op(f"load {type_}, ptr {pointer}, !invariant.load !0"))
    own = t.op(f"or i64 {start}, {window}")
    exact = t.op(f"icmp eq i64 {own}, {handle}")
    words = t.op(f"select i1 {exact}, ptr {fields[2]}, ptr null")
    return Range(start, fields[0], fields[1], start, window), words


def _refuse(t: Text, handle: str, status: str, lane: str, *, texture: bool) -> None:
    """Report what the sampler complains of: the object's shape, or a place outside a surface."""
    if texture:
        t.do(
            f"call void @fault(ptr %ctx, i64 {int(Fault.TEXTURE_SHAPE)}, i32 %site, i32 {lane}, "
            f"i64 {handle})"
        )
        return
    shape = t.op(f"icmp slt i64 {status}, 0")
    misaligned = t.op(f"icmp sgt i64 {status}, 64")
    who = t.op(f"and i64 {t.op(f'sub i64 {status}, 1')}, 31")
    place = t.op(
        f"select i1 {misaligned}, i64 {int(Fault.SURFACE_MISALIGNED)}, "
        f"i64 {int(Fault.SURFACE_BOUNDS)}"
    )
    code = t.op(f"select i1 {shape}, i64 {int(Fault.TEXTURE_SHAPE)}, i64 {place}")
    t.do(
        f"call void @fault(ptr %ctx, i64 {code}, i32 %site, i32 {t.op(f'trunc i64 {who} to i32')}, "
        f"i64 {handle})"
    )


def _trace(t: Text, found: Range, offsets: str, masks: str, count: str) -> None:
    """A record for each texel of the reads' footprints, of the lanes that touch it."""
    t.do("br label %each")
    t.start("each")
    t.do("%k = phi i64 [ 0, %good ], [ %k.next, %each.on ]")
    touched = t.op(f"load i32, ptr {t.op(f'getelementptr i32, ptr {masks}, i64 %k')}")
    t.do(f"br i1 {t.op(f'icmp ne i32 {touched}, 0')}, label %each.some, label %each.on")
    t.start("each.some")
    row = t.op(f"getelementptr <32 x i64>, ptr {offsets}, i64 %k")
    where = t.op(f"load <32 x i64>, ptr {row}")
    t.do(
        f"call fastcc void @record.general.i64(ptr %ctx, i32 %site, i32 {touched}, "
        f"i64 {found.place}, <32 x i64> {where})"
    )
    t.do("br label %each.on")
    t.start("each.on")
    t.do("%k.next = add i64 %k, 1")
    t.do(f"br i1 {t.op(f'icmp slt i64 %k.next, {count}')}, label %each, label %traced")
    t.start("traced")
