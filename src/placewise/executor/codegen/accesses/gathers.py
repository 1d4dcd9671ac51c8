"""Loads and stores of 32 lanes wherever they point, in the way that is fast on the host.

Intel's processors gather 16 elements in about as many cycles. AMD's take some four cycles per
element, active or not (Fog, "Instruction tables", and https://uops.info, VPGATHERDD on Zen 2 to 5),
so there elements are loaded one by one. Where only a few lanes are active, as in the long rows of a
sparse matrix, only theirs are: the active lanes' offsets are compressed, and the loaded elements
expanded into the lanes again.
"""

from __future__ import annotations

from placewise.executor.codegen.backend.processor import Processor
from placewise.executor.codegen.text import Text, lanes

_FEW = 8
"""Most active lanes for which only the elements of these lanes are loaded."""


def gather(t: Text, processor: Processor, base: str, offsets: str, type_: str, bits: int) -> str:
    """32 elements of ``bits`` at ``base`` plus ``offsets`` (of LLVM type ``type_``) of the lanes in
    %mask; the others are zero. Ends in a block of its own."""
    e = f"i{bits}"
    v = f"<32 x {e}>"
    if not processor.slow_gather:
        return _hardware_gather(t, base, offsets, type_, e)
    flags = t.op("bitcast i32 %mask to <32 x i1>")
    lane = t.call("i32", "llvm.cttz.i32", ("i32", "%mask"), ("i1", "false"))
    first = t.op(f"extractelement <32 x {type_}> {offsets}, i32 {lane}")
    many, join = t.label(), t.label()
    ways: list[tuple[str, str]] = []
    if processor.avx512 and bits == 32 and type_ == "i32":
        few = t.label()
        active = t.call("i32", "llvm.ctpop.i32", ("i32", "%mask"))
        t.do(f"br i1 {t.op(f'icmp ule i32 {active}, {_FEW}')}, label %{few}, label %{many}")
        t.start(few)
        value = _gather_few(t, base, offsets, first)
        ways.append((value, _end(t, join)))
    else:
        t.do(f"br label %{many}")
    t.start(many)
    safe = t.op(
        f"select <32 x i1> {flags}, <32 x {type_}> {offsets}, "
        f"<32 x {type_}> {t.splat(type_, first)}"
    )
    value = "poison"
    for n in range(32):
        one = _load(t, base, t.op(f"extractelement <32 x {type_}> {safe}, i64 {n}"), type_, e)
        value = t.op(f"insertelement {v} {value}, {e} {one}, i64 {n}")
    value = t.op(f"select <32 x i1> {flags}, {v} {value}, {v} zeroinitializer")
    ways.append((value, _end(t, join)))
    t.start(join)
    return t.op(f"phi {v} " + ", ".join(f"[ {x}, %{label} ]" for x, label in ways))


def _end(t: Text, join: str) -> str:
    done = t.label()
    t.do(f"br label %{done}")
    t.start(done)
    t.do(f"br label %{join}")
    return done


def _load(t: Text, base: str, offset: str, type_: str, element: str) -> str:
    wide = offset if type_ == "i64" else t.op(f"sext {type_} {offset} to i64")
    place = t.op(f"getelementptr i8, ptr {base}, i64 {wide}")
    return t.op(f"load {element}, ptr {place}, align {int(element[1:]) // 8}")


def _hardware_gather(t: Text, base: str, offsets: str, type_: str, e: str) -> str:
    flags = t.op("bitcast i32 %mask to <32 x i1>")
    pointers = t.op(f"getelementptr i8, ptr {base}, <32 x {type_}> {offsets}")
    return t.call(
        f"<32 x {e}>",
        f"llvm.masked.gather.v32{e}.v32p0",
        ("<32 x ptr>", pointers),
        ("i32", str(int(e[1:]) // 8)),
        ("<32 x i1>", flags),
        (f"<32 x {e}>", "zeroinitializer"),
    )


def _gather_few(t: Text, base: str, offsets: str, first: str) -> str:
    """Load at most :data:`_FEW` lanes of 32 bits, with AVX-512's compress and expand."""
    h = "<16 x i32>"
    halves = [lanes(range(start, start + 16)) for start in (0, 16)]
    masks = [t.op(f"trunc i32 {x} to i16") for x in ("%mask", t.op("lshr i32 %mask, 16"))]
    flags = [t.op(f"bitcast i16 {m} to <16 x i1>") for m in masks]
    below = t.op(f"zext i16 {t.call('i16', 'llvm.ctpop.i16', ('i16', masks[0]))} to i32")
    single = t.op(f"insertelement {h} poison, i32 {first}, i64 0")
    # Places after the active lanes' offsets are loaded from as well, so they hold a valid offset.
    spare = t.op(f"shufflevector {h} {single}, {h} poison, {'<16 x i32> zeroinitializer'}")
    together = t.stack("[32 x i32]")
    for n in range(2):
        half = t.op(
            f"shufflevector <32 x i32> {offsets}, <32 x i32> poison, <16 x i32> {halves[n]}"
        )
        packed = t.call(
            h,
            "llvm.x86.avx512.mask.compress.v16i32",
            (h, half),
            (h, spare),
            ("<16 x i1>", flags[n]),
        )
        at = t.op(f"getelementptr i32, ptr {together}, i32 {below if n else 0}")
        t.do(f"store {h} {packed}, ptr {at}, align 4")
    values = "zeroinitializer"
    for n in range(_FEW):
        at = t.op(f"getelementptr i32, ptr {together}, i64 {n}")
        one = _load(t, base, t.op(f"load i32, ptr {at}, align 4"), "i32", "i32")
        values = t.op(f"insertelement {h} {values}, i32 {one}, i64 {n}")
    single = t.op(f"insertelement {h} poison, i32 {below}, i64 0")
    skip = t.op(f"shufflevector {h} {single}, {h} poison, {'<16 x i32> zeroinitializer'}")
    index = t.op(f"add {h} {skip}, {lanes(range(16))}")
    upper = t.call(h, "llvm.x86.avx512.permvar.si.512", (h, values), (h, index))
    apart = [
        t.call(
            h,
            "llvm.x86.avx512.mask.expand.v16i32",
            (h, x),
            (h, "zeroinitializer"),
            ("<16 x i1>", f),
        )
        for x, f in zip((values, upper), flags, strict=True)
    ]
    return t.op(f"shufflevector {h} {apart[0]}, {h} {apart[1]}, <32 x i32> {lanes(range(32))}")


def scatter(
    t: Text, processor: Processor, base: str, offsets: str, type_: str, value: str, bits: int
) -> None:
    """Store 32 elements, lowest lane first. Ends in a block of its own."""
    e = f"i{bits}"
    v = f"<32 x {e}>"
    if not processor.slow_gather:
        flags = t.op("bitcast i32 %mask to <32 x i1>")
        pointers = t.op(f"getelementptr i8, ptr {base}, <32 x {type_}> {offsets}")
        name = f"llvm.masked.scatter.v32{e}.v32p0"
        t.declarations.add(f"declare void @{name}({v}, <32 x ptr>, i32, <32 x i1>)")
        t.do(
            f"call void @{name}({v} {value}, <32 x ptr> {pointers}, i32 {bits // 8}, "
            f"<32 x i1> {flags})"
        )
        return
    places, values = t.stack(f"<32 x {type_}>"), t.stack(v)
    t.do(f"store <32 x {type_}> {offsets}, ptr {places}")
    t.do(f"store {v} {value}, ptr {values}")
    before, head, body, out = t.label(), t.label(), t.label(), t.label()
    t.do(f"br label %{before}")
    t.start(before)
    t.do(f"br label %{head}")
    t.start(head)
    left, rest = t.name(), t.name()
    t.do(f"{left} = phi i32 [ %mask, %{before} ], [ {rest}, %{body} ]")
    t.do(f"br i1 {t.op(f'icmp eq i32 {left}, 0')}, label %{out}, label %{body}")
    t.start(body)
    lane = t.call("i32", "llvm.cttz.i32", ("i32", left), ("i1", "true"))
    offset = t.op(f"load {type_}, ptr {t.op(f'getelementptr {type_}, ptr {places}, i32 {lane}')}")
    one = t.op(f"load {e}, ptr {t.op(f'getelementptr {e}, ptr {values}, i32 {lane}')}")
    wide = offset if type_ == "i64" else t.op(f"sext {type_} {offset} to i64")
    place = t.op(f"getelementptr i8, ptr {base}, i64 {wide}")
    t.do(f"store {e} {one}, ptr {place}, align {bits // 8}")
    t.do(f"{rest} = and i32 {left}, {t.op(f'sub i32 {left}, 1')}")
    t.do(f"br label %{head}")
    t.start(out)
